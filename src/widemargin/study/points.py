"""How the points of a search are kept, in memory and in journals: thousands of evaluations of thousands of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Switches that share a number: a float64 holds so many bits exactly.
TOGETHER = 48


class Points:
    """The layout of kept points: switches, which are 0 or 1, as the bits of numbers; after them all others as they are.

    Parameters
    ----------
    switches : ndarray of bool of shape (n,)
        Coordinates that are 0 or 1.

    Examples
    --------
    >>> points = Points(np.array([True, True, True, False]))
    >>> points.packed(np.array([1.0, 0.0, 1.0, 0.7])).tolist()
    [5.0, 0.7]
    >>> points.whole(np.array([5.0, 0.7])).tolist()
    [1.0, 0.0, 1.0, 0.7]
    """

    def __init__(self, switches: NDArray[np.bool_]) -> None:
        self._switches, self._others = np.flatnonzero(switches), np.flatnonzero(~switches)
        self._words, self._bits = np.divmod(np.arange(len(self._switches)), TOGETHER)
        self._n_words = -(-len(self._switches) // TOGETHER)

    @property
    def n_dims(self) -> int:
        """Numbers that a point is kept as."""
        return self._n_words + len(self._others)

    def packed(self, point: Vector) -> Vector:
        """Return a point as it is kept."""
        words = np.bincount(self._words, point[self._switches] * 2.0**self._bits, minlength=self._n_words)
        return np.concatenate([words[: self._n_words], point[self._others]])

    def whole(self, packed: Vector) -> Vector:
        """Return a kept point."""
        point = np.empty(len(self._switches) + len(self._others))
        point[self._switches] = packed[self._words].astype(np.int64) >> self._bits & 1
        point[self._others] = packed[self._n_words :]
        return point

    def column(self, packed: Matrix, place: int) -> Vector:
        """Return one coordinate of kept points, one a row."""
        number = int(np.searchsorted(self._switches, place))
        if number < len(self._switches) and self._switches[number] == place:
            bits = packed[:, self._words[number]].astype(np.int64) >> self._bits[number] & 1
            return np.asarray(bits, dtype=np.float64)
        return np.asarray(packed[:, self._n_words + int(np.searchsorted(self._others, place))])

"""Sums over pairs of positions of common oligomers, their derivatives, and what weights of values pull back to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.sequences.oligomers import Oligomers, Reading, oligomers_in, read_alike
from widemargin.kernels.sequences.texts import Sequences


@dataclass(frozen=True)
class Pulled:
    """What weights of values pull back to: the derivatives by log sigma, and by the log of each oligomer's weight."""

    by_sigma: float
    by_code: Vector

    def of(self, what: str, code: Any) -> float:
        """Return one of them."""
        return self.by_sigma if what == "sigma" else float(self.by_code[code])


def closeness(sigma: float, reach: int) -> Vector:
    """exp(-(d / (2 sigma))^2) for distances d = 0, 1, ..., reach.

    Examples
    --------
    >>> closeness(1.0, 2).round(4).tolist(), closeness(1e-20, 1).tolist(), closeness(1e20, 1).tolist()
    ([1.0, 0.7788, 0.3679], [1.0, 0.0], [1.0, 1.0])
    """
    return np.exp(-_squares(sigma, reach))


def closeness_slope(sigma: float, reach: int) -> Vector:
    """Return the derivatives of :func:`closeness` by log sigma.

    Examples
    --------
    >>> closeness_slope(1.0, 1).round(4).tolist(), closeness_slope(1e-20, 1).tolist()
    ([0.0, 0.3894], [0.0, 0.0])
    """
    squares = _squares(sigma, reach)
    return 2.0 * squares * np.exp(-squares)


def _squares(sigma: float, reach: int) -> Vector:
    with np.errstate(over="ignore"):
        # Beyond 1e4 the exponential is 0, and its product with what is infinite would be none.
        return np.minimum(np.square(np.arange(reach + 1) / (2.0 * sigma)), 1e4)


class OligoSums:
    """Sums for one length of oligomers, between two sets of sequences.

    Parameters
    ----------
    left, right : Sequences
    reading : Reading
        How oligomers are read.
    sigma : float
        Width of positions.
    weights : ndarray of shape (n_codes,), optional
        Weight of each oligomer by its code; 1 if not given.
    """

    def __init__(
        self, left: Sequences, right: Sequences, reading: Reading, sigma: float, weights: Vector | None = None
    ) -> None:
        self.left, self.right, self._reading = left, right, reading
        self._oligomers = read_alike(left, right, reading)
        ends = [_ends(one) for one in self._oligomers]
        self._low = min(low for low, _ in ends)
        self._width = max(high for _, high in ends) - self._low + 1
        self._n_codes = self._oligomers[0].n_codes
        self._sigma, self._weights = sigma, weights

    def values(self) -> Matrix:
        """Return the sums."""
        return self.values_of(None, None)

    def values_of(self, what: str | None, code: Any) -> Matrix:
        """Return the derivatives of the sums."""
        return self._values(*self._of(what, code, self._n_codes, self._width))

    def of_left(self, what: str | None = None, code: Any = None) -> Vector:
        """Return the sums of each sequence on the left with itself, or their derivatives."""
        return self._own(self.left, what, code)

    def of_right(self, what: str | None = None, code: Any = None) -> Vector:
        """Return those on the right."""
        return self._own(self.right, what, code)

    def _of(self, what: str | None, code: Any, n_codes: int, reach: int) -> tuple[Vector, Vector]:
        near = (closeness_slope if what == "sigma" else closeness)(self._sigma, reach)
        weights = np.ones(n_codes) if self._weights is None else self._weights
        if what == "weights":
            weights = np.where(np.arange(n_codes) == code, weights, 0.0)
        return near, weights

    def _own(self, X: Sequences, what: str | None, code: Any) -> Vector:
        texts, weights = X.whole, self._weights
        key = ("own", self._reading, self._sigma, None if weights is None else weights.tobytes(), what, code)
        return texts.made(key, lambda: self._all_own(oligomers_in(texts, self._reading), what, code))[X.ids]

    def _all_own(self, oligomers: Oligomers, what: str | None, code: Any) -> Vector:
        low, high = _ends(oligomers)
        near, weights = self._of(what, code, oligomers.n_codes, high - low + 1)
        found = np.empty(len(oligomers.origins))
        for i in range(len(found)):
            codes, places = self._part(oligomers, i)
            same = codes[:, np.newaxis] == codes
            found[i] = weights[codes] @ (same * near[np.abs(places[:, np.newaxis] - places)]).sum(axis=1)
        return found

    def _part(self, oligomers: Oligomers, i: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        codes = oligomers.codes[oligomers.begins[i] : oligomers.begins[i + 1]]
        places = np.arange(len(codes)) - oligomers.origins[i] - self._low
        return codes[codes >= 0], places[codes >= 0]

    def _table(self, i: int, near: Vector) -> Matrix:
        codes, places = self._part(self._oligomers[0], i)
        table = np.zeros((self._oligomers[0].n_codes, self._width))
        for code, place in zip(codes, places, strict=True):
            table[code] += near[np.abs(np.arange(self._width) - place)]
        return table

    def _values(self, near: Vector, weights: Vector) -> Matrix:
        right = [self._part(self._oligomers[1], j) for j in self.right.ids]
        found = np.empty((len(self.left), len(right)))
        for place, i in enumerate(self.left.ids):
            table = self._table(i, near) * weights[:, np.newaxis]
            found[place] = [table[codes, places].sum() for codes, places in right]
        return found

    def pull_back(self, W: Matrix) -> Pulled:
        """Return <W, d sums> for all derivatives."""
        right = [self._part(self._oligomers[1], j) for j in self.right.ids]
        near, weights = self._of(None, None, self._n_codes, self._width)
        steep, _ = self._of("sigma", None, self._n_codes, self._width)
        by_sigma, by_code = 0.0, np.zeros(self._n_codes)
        for i, row in zip(self.left.ids, W, strict=True):
            scattered = np.zeros((self._n_codes, self._width))
            for (codes, places), weight in zip(right, row, strict=True):
                np.add.at(scattered, (codes, places), weight)
            by_code += np.einsum("cq,cq->c", scattered, self._table(i, near))
            by_sigma += float(weights @ np.einsum("cq,cq->c", scattered, self._table(i, steep)))
        return Pulled(by_sigma, by_code * weights)

    def pull_back_diagonal(self, w: Vector, X: Sequences) -> Pulled:
        """Return what weights of the sums of each sequence with itself pull back to."""
        oligomers = oligomers_in(X.whole, self._reading)
        low, high = _ends(oligomers)
        near, weights = self._of(None, None, oligomers.n_codes, high - low + 1)
        steep, _ = self._of("sigma", None, oligomers.n_codes, high - low + 1)
        by_sigma, by_code = 0.0, np.zeros(oligomers.n_codes)
        for i, weight in zip(X.ids, w, strict=True):
            codes, places = self._part(oligomers, i)
            same = (codes[:, np.newaxis] == codes).astype(np.float64)
            apart = np.abs(places[:, np.newaxis] - places)
            np.add.at(by_code, codes, weight * (same * near[apart]).sum(axis=1))
            by_sigma += weight * float(weights[codes] @ (same * steep[apart]).sum(axis=1))
        return Pulled(by_sigma, by_code * weights)


def _ends(oligomers: Oligomers) -> tuple[int, int]:
    """Return the lowest and the highest position, and one more on either side."""
    lengths = np.diff(oligomers.begins)
    if not lengths.size:
        return 0, 1
    return int((-oligomers.origins).min()), int((lengths - oligomers.origins).max())

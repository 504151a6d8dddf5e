"""Sums over pairs of positions of common oligomers, their derivatives, and what weights of values pull back to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin import _core
from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.sequences.oligomers import Oligomers, Reading, oligomers_in, read_alike
from widemargin.kernels.sequences.texts import Sequences
from widemargin.runtime import allowed


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

    They take as many threads, and as much time, as a :class:`~widemargin.runtime.Allowance` allows.

    Factors of sequences multiply the sums: by default ones.

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
        self.left, self.right = left, right
        self._reading, self._sigma, self._weights = reading, sigma, weights
        self._oligomers = read_alike(left, right, reading)
        self._reach = _reach(*self._oligomers)

    @property
    def k(self) -> int:
        """Letters of the oligomers."""
        return self._reading.k

    @property
    def symmetric(self) -> bool:
        """Whether both sets are the same."""
        return self.left is self.right

    def values(self, left: Vector | None = None, right: Vector | None = None) -> Matrix:
        """Return the sums, times factors of both sides."""
        return self.values_of(None, None, left, right)

    def values_of(self, what: str | None, code: Any, left: Vector | None = None, right: Vector | None = None) -> Matrix:
        """Return the derivatives of the sums, times factors of both sides."""
        near, weights = self._of(what, code, self._oligomers[0].n_codes, self._reach)
        found = np.empty((len(self.left), len(self.right)))
        one, other = self._oligomers
        _core.oligo_sums(
            one.core,
            self.left.numbers,
            left,
            other.core,
            self.right.numbers,
            right,
            near,
            weights,
            self.symmetric,
            found,
            **allowed(),
        )
        return found

    def of_left(self, what: str | None = None, code: Any = None) -> Vector:
        """Return the sums of each sequence on the left with itself, or their derivatives."""
        return self._own(self.left, what, code)

    def of_right(self, what: str | None = None, code: Any = None) -> Vector:
        """Return those on the right."""
        return self._own(self.right, what, code)

    def _of(self, what: str | None, code: Any, n_codes: int, reach: int) -> tuple[Vector, Vector | None]:
        near = (closeness_slope if what == "sigma" else closeness)(self._sigma, reach)
        if what != "weights":
            return near, self._weights
        weights = np.zeros(n_codes)
        weights[code] = 1.0 if self._weights is None else self._weights[code]
        return near, weights

    def _own(self, X: Sequences, what: str | None, code: Any) -> Vector:
        texts, weights = X.whole, self._weights
        key = ("own", self._reading, self._sigma, None if weights is None else weights.tobytes(), what, code)
        return texts.made(key, lambda: self._all_own(oligomers_in(texts, self._reading), what, code))[X.ids]

    def _all_own(self, oligomers: Oligomers, what: str | None, code: Any) -> Vector:
        near, weights = self._of(what, code, oligomers.n_codes, _reach(oligomers))
        return np.array(_core.oligo_sums_within(oligomers.core, near, weights, **allowed()))

    def pull_back(self, W: Matrix, left: Vector | None = None, right: Vector | None = None) -> Pulled:
        """Return <W, d sums> for all derivatives, the sums times factors of both sides."""
        near, slope = closeness(self._sigma, self._reach), closeness_slope(self._sigma, self._reach)
        one, other = self._oligomers
        return _pulled(
            _core.oligo_pull_back(
                np.ascontiguousarray(W, dtype=np.float64),
                one.core,
                self.left.numbers,
                left,
                other.core,
                self.right.numbers,
                right,
                near,
                slope,
                self._weights,
                self.symmetric,
                **allowed(),
            )
        )

    def pull_back_diagonal(self, w: Vector, X: Sequences) -> Pulled:
        """Return what weights of the sums of each sequence with itself pull back to."""
        oligomers = oligomers_in(X.whole, self._reading)
        reach = _reach(oligomers)
        near, slope = closeness(self._sigma, reach), closeness_slope(self._sigma, reach)
        return _pulled(
            _core.oligo_pull_back_within(
                np.ascontiguousarray(w), oligomers.core, X.numbers, near, slope, self._weights, **allowed()
            )
        )

    def core_term(self, factors: Vector) -> tuple[_core.Oligomers, Vector, Vector | None, Vector]:
        """Return what the core makes rows of, for sequences that are on both sides and all that there are."""
        return self._oligomers[0].core, closeness(self._sigma, self._reach), self._weights, factors


def _pulled(found: tuple[float, list[float]]) -> Pulled:
    return Pulled(found[0], np.array(found[1]))


def _reach(*oligomers: Oligomers) -> int:
    """Return the largest distance of places in some sets of sequences."""
    cores = [one.core for one in oligomers]
    return max(0, max(one.high for one in cores) - min(one.low for one in cores))

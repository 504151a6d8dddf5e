"""Sums of oligo kernels of several lengths [Glasmachers2008, section 13.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from widemargin.kernels.base import WIDE, Bounds, Vector, value_written
from widemargin.kernels.sequences.base import reading, require_length, require_weights
from widemargin.kernels.sequences.oligo import POSITIONS, OligoKernel, Term
from widemargin.kernels.sequences.oligomers import Origin

#: Lengths of oligomers.
LENGTHS = (1, 2, 3, 4, 5, 6)


class CombinedOligo(OligoKernel):
    r"""The sum of normalised oligo kernels of several lengths, each with a width of its own.

    .. math:: k(x, z) = \sum_{K=1}^{6} \bar k_K(x, z), \qquad
              \bar k_K(x, z) = k_K(x, z) / \sqrt{k_K(x, x) k_K(z, z)}

    [Glasmachers2008, section 13.2]. The sum is not normalised again: k(x, x) is the number of lengths. `theta` holds
    the logarithms of the widths, in the order of `lengths`. Values and derivatives cost those of :class:`Oligo`, once
    for each length.

    Parameters
    ----------
    sigmas : sequence of floats or float, default=1.0
        Width of positions for each length; one number stands for all of them, each searched on its own.
    lengths : sequence of ints, default=(1, 2, 3, 4, 5, 6)
        Letters of oligomers.
    alphabet, reverse_complement, origin, fold_case
        As in :class:`Oligo`.
    sigmas_bounds : pair of floats or "fixed", default=(0.01, 1e4)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import CombinedOligo
    >>> k = CombinedOligo(sigmas=[0.5, 2.0], lengths=(1, 3), alphabet="ACGT")
    >>> k(["ACGTT", "AACGT"]).round(3).tolist()
    [[2.0, 1.232], [1.232, 2.0]]
    """

    _positive: ClassVar[tuple[str, ...]] = ("sigmas",)
    _instead = "take smaller lengths"

    def __init__(
        self,
        sigmas: Any = 1.0,
        lengths: Sequence[int] = LENGTHS,
        alphabet: str | None = None,
        reverse_complement: bool = False,
        origin: Origin = 0,
        sigmas_bounds: Bounds = POSITIONS,
        fold_case: bool = True,
    ) -> None:
        self.sigmas = sigmas
        self.lengths = lengths
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement
        self.origin = origin
        self.fold_case = fold_case
        self.sigmas_bounds = sigmas_bounds

    def _each(self, name: str) -> Vector:
        """Return a parameter as one number for each length."""
        given = np.asarray(getattr(self, name), dtype=np.float64)
        return np.broadcast_to(given, (len(self.lengths),)) if given.size == 1 else given

    def _numbers(self, name: str) -> Vector:
        return self._each(name)

    def _take_numbers(self, name: str, numbers: Vector) -> None:
        setattr(self, name, numbers.copy())

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        super()._take_from_data(X, gamma, weights)
        self._require_numbers()
        self.lengths = tuple(int(k) for k in self.lengths)
        for name in self._positive:
            if np.ndim(getattr(self, name)) == 0:
                setattr(self, name, self._each(name).copy())

    def _terms(self) -> list[Term]:
        return [
            Term(reading(self, k), float(sigma)) for k, sigma in zip(self.lengths, self._each("sigmas"), strict=True)
        ]

    def _slopes(self) -> Iterator[tuple[int, str, Any]]:
        if "sigmas" in self._free():
            for number in range(len(self.lengths)):
                yield number, "sigma", None

    def _require_numbers(self) -> None:
        self._require_given()
        name = type(self).__name__
        lengths = self.lengths
        if not isinstance(lengths, list | tuple | range | np.ndarray) or not len(lengths):
            raise ValueError(f"lengths of {name} is {lengths!r}; it must hold whole numbers from 1 on.")
        for k in lengths:
            require_length(name, "lengths", k, str(self.alphabet))
        for parameter in ("sigmas", "weights"):
            given = getattr(self, parameter, 1.0)
            numbers = _as_numbers(given)
            if numbers is None or numbers.shape not in ((), (1,), (len(lengths),)):
                raise ValueError(
                    f"{parameter} of {name} is {value_written(given)[:200]}; it must be a number, or a list of "
                    f"{len(lengths)} numbers, one for each length."
                )
        super()._require_numbers()


class WeightedOligo(CombinedOligo):
    r"""The weighted sum of normalised oligo kernels of several lengths.

    .. math:: k(x, z) = \sum_{K=1}^{6} \lambda_K \bar k_K(x, z), \qquad \lambda_K \ge 0

    [Glasmachers2008, section 13.2]. It is not normalised again: k(x, x) is the sum of the weights. `theta` holds the
    logarithms of the widths, then those of the weights. A weight of 0 leaves its length out; it has no logarithm and
    stays 0 in a search, and so does the width of this length stay what it is.

    Values and derivatives cost those of :class:`Oligo`, once for each length whose weight is not 0: n m L look-ups for
    a block of n x m values of sequences of L letters. Derivatives by the weights come with the values.

    Parameters
    ----------
    sigmas : sequence of floats or float, default=1.0
        As in :class:`CombinedOligo`.
    weights : sequence of floats or float, default=1.0
        :math:`\lambda_K` for each length, at least 0 and not all 0.
    lengths, alphabet, reverse_complement, origin, fold_case
        As in :class:`CombinedOligo`.
    sigmas_bounds : pair of floats or "fixed", default=(0.01, 1e4)
        Range to search in.
    weights_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import WeightedOligo
    >>> k = WeightedOligo(sigmas=[0.5, 2.0], weights=[0.25, 0.75], lengths=(1, 3), alphabet="ACGT")
    >>> k(["ACGTT", "AACGT"]).round(3).tolist(), k.n_dims
    ([[1.0, 0.621], [0.621, 1.0]], 4)
    """

    _positive: ClassVar[tuple[str, ...]] = ("sigmas", "weights")

    def __init__(
        self,
        sigmas: Any = 1.0,
        weights: Any = 1.0,
        lengths: Sequence[int] = LENGTHS,
        alphabet: str | None = None,
        reverse_complement: bool = False,
        origin: Origin = 0,
        sigmas_bounds: Bounds = POSITIONS,
        weights_bounds: Bounds = WIDE,
        fold_case: bool = True,
    ) -> None:
        super().__init__(sigmas, lengths, alphabet, reverse_complement, origin, sigmas_bounds, fold_case)
        self.weights = weights
        self.weights_bounds = weights_bounds

    def _counting(self) -> list[int]:
        """Return the places of the lengths whose weight is not 0."""
        return [place for place, weight in enumerate(self._each("weights")) if weight != 0.0]

    def _numbers(self, name: str) -> Vector:
        return self._each(name)[self._counting()]

    def _take_numbers(self, name: str, numbers: Vector) -> None:
        found = self._each(name).copy()
        found[self._counting()] = numbers
        setattr(self, name, found)

    def _terms(self) -> list[Term]:
        sigmas, weights = self._each("sigmas"), self._each("weights")
        return [Term(reading(self, self.lengths[i]), sigmas[i], factor=weights[i]) for i in self._counting()]

    def _slopes(self) -> Iterator[tuple[int, str, Any]]:
        free = self._free()
        for name, what in (("sigmas", "sigma"), ("weights", "factor")):
            if name in free:
                for number in range(len(self._counting())):
                    yield number, what, None

    def _require_positive(self, name: str) -> None:
        if name != "weights":
            super()._require_positive(name)
            return
        weights = self._each("weights")
        require_weights("WeightedOligo", self.weights, weights)
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not np.isfinite(total):
            raise ValueError(
                f"weights of WeightedOligo is {value_written(self.weights)[:200]}; their sum, k(x, x), must be finite."
            )


def _as_numbers(given: Any) -> Vector | None:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None

"""The oligo kernel with a weight for every oligomer [Glasmachers2008, section 13.2]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.base import WIDE, Bounds, Vector, value_written
from widemargin.kernels.sequences.alphabet import all_codes, in_alphabet, written
from widemargin.kernels.sequences.base import reading, require_length, require_weights
from widemargin.kernels.sequences.oligo import POSITIONS, OligoKernel, Term
from widemargin.kernels.sequences.oligomers import Origin
from widemargin.kernels.sequences.texts import Sequences

#: Most oligomers that have weights.
MOST_WEIGHTS = 2**16

#: Largest ratio of weights; sums of them leave float64 beyond it.
LARGEST_RATIO = 1e300

#: Mean of the logarithms of weights that are left as they are.
MEAN_ROUNDING = 1e-14


class TripletOligo(OligoKernel):
    r"""The triplet weighting oligo kernel: a weight for each of the 64 triplets, normalised last.

    .. math:: k(x, z) = \sum_{\omega \in A^3} \lambda_\omega \sum_{p \in S^x_\omega} \sum_{q \in S^z_\omega}
              e^{-(p - q)^2 / (4 \sigma^2)}

    divided by sqrt(k(x, x) k(z, z)) [Glasmachers2008, section 13.2]. Only the ratios of the weights matter, so a fitted
    kernel holds them at geometric mean 1. `theta` holds the logarithm of :math:`\sigma` in front, then those of the
    weights in the alphabetical order of the oligomers, as in `weights`. A weight of 0 leaves its oligomer out; it has
    no logarithm and stays 0 in a search.

    Values cost those of :class:`Oligo`; the sums of all 65 derivatives together cost one pass more.

    Parameters
    ----------
    sigma : float, default=1.0
        How far apart positions may be.
    weights : dict of str to float, default=None
        :math:`\lambda_\omega` by oligomer, at least 0; those that are not named have weight 1. Names are read as
        sequences are: lower case as upper case, and T and U stand for each other. A sequence of numbers in alphabetical
        order will do. None gives all of them weight 1.
    k : int, default=3
        Letters of an oligomer.
    alphabet, reverse_complement, origin, fold_case
        As in :class:`Oligo`.
    sigma_bounds : pair of floats or "fixed", default=(0.01, 1e4)
        Range to search in.
    weights_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import TripletOligo
    >>> k = TripletOligo(sigma=1.0, weights={"ATG": 4.0}).fitted(["ATGC", "AATG", "TTTT"])
    >>> k.n_dims, len(k.weights), round(k.weights["ATG"] / k.weights["TGC"], 6)
    (65, 64, 4.0)
    >>> k(["ATGC"], ["AATG", "TTGC"]).round(3).tolist()
    [[0.623, 0.316]]
    """

    _positive: ClassVar[tuple[str, ...]] = ("sigma", "weights")
    _instead = "take a smaller k, or weights above 0 for the oligomers that it holds"

    def __init__(
        self,
        sigma: float = 1.0,
        weights: Mapping[str, float] | None = None,
        k: int = 3,
        alphabet: str | None = None,
        reverse_complement: bool = False,
        origin: Origin = 0,
        sigma_bounds: Bounds = POSITIONS,
        weights_bounds: Bounds = WIDE,
        fold_case: bool = True,
    ) -> None:
        self.sigma = sigma
        self.weights: Any = weights
        self.k = k
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement
        self.origin = origin
        self.fold_case = fold_case
        self.sigma_bounds = sigma_bounds
        self.weights_bounds = weights_bounds

    def _oligomers(self) -> tuple[str, ...]:
        self._require_given()
        return names_of(self.alphabet, int(self.k), bool(self.reverse_complement))

    def _each(self) -> Vector:
        """Return the weights of all oligomers, in order."""
        names = self._oligomers()
        if self.weights is None:
            return np.ones(len(names))
        if isinstance(self.weights, Mapping):
            given = self._named(names)
            return np.array([float(given.get(name, 1.0)) for name in names])
        return np.asarray(self.weights, dtype=np.float64)

    def _named(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        """Return the given weights by oligomers as the alphabet writes them; refuse those that there are none of."""
        known = set_of(names)
        if self.weights.keys() <= known:
            return cast(Mapping[str, Any], self.weights)
        found: dict[str, tuple[Any, Any]] = {}
        for name, weight in self.weights.items():
            own = in_alphabet(name, self.alphabet, bool(self.fold_case)) if isinstance(name, str) else name
            if own not in known:
                raise ValueError(
                    f"weights of TripletOligo names {name!r}, which is no oligomer of {self.k} letters of the "
                    f"alphabet {self.alphabet!r}{', or its complement is named' if self.reverse_complement else ''}."
                )
            if own in found:
                raise ValueError(
                    f"weights of TripletOligo names {found[own][0]!r} and {name!r}, which are the same oligomer; give "
                    "it one weight."
                )
            found[own] = name, weight
        return {own: weight for own, (_, weight) in found.items()}

    def _numbers(self, name: str) -> Vector:
        if name != "weights":
            return super()._numbers(name)
        weights = self._each()
        return weights[weights > 0.0]

    def _take_numbers(self, name: str, numbers: Vector) -> None:
        if name != "weights":
            super()._take_numbers(name, numbers)
            return
        weights = self._each()
        weights[weights > 0.0] = numbers
        self._set_weights(weights)

    def _set_weights(self, weights: Vector) -> None:
        self.weights = dict(zip(self._oligomers(), weights.tolist(), strict=True))

    def _take_from_data(self, X: Sequences, gamma: float | None, weights: Vector | None) -> None:
        super()._take_from_data(X, gamma, weights)
        self._require_numbers()
        found = self._each()
        counting = found > 0.0
        logarithms = np.log(found[counting])
        mean = float(logarithms.mean())
        if abs(mean) > MEAN_ROUNDING or not isinstance(self.weights, dict) or tuple(self.weights) != self._oligomers():
            found[counting] = np.exp(logarithms - mean)
            self._set_weights(found)

    @property
    def leaves_to_data(self) -> bool:
        """Whether :meth:`fitted` takes the alphabet from the data, or fills in weights."""
        return self.alphabet is None or self.weights is None

    def _by_code(self) -> Vector:
        """Return the weights by the codes of oligomers."""
        codes = known_codes(self.alphabet, int(self.k), bool(self.reverse_complement))
        found = np.zeros(len(self.alphabet) ** int(self.k))
        weights = self._each()
        found[codes] = weights / weights.max()  # the kernel is normalised, and sums of huge weights are none
        return found

    def _terms(self) -> list[Term]:
        return [Term(reading(self, self.k), float(self.sigma), self._by_code())]

    def _slopes(self) -> Iterator[tuple[int, str, Any]]:
        free = self._free()
        if "sigma" in free:
            yield 0, "sigma", None
        if "weights" in free:
            codes = known_codes(self.alphabet, int(self.k), bool(self.reverse_complement))
            for code in codes[self._each() > 0.0]:
                yield 0, "weights", int(code)

    def _require_positive(self, name: str) -> None:
        if name != "weights":
            super()._require_positive(name)
            return
        names = self._oligomers()
        if isinstance(self.weights, Mapping):
            self._named(names)
        try:
            weights = self._each()
        except (TypeError, ValueError):
            raise ValueError(
                "weights of TripletOligo must be a dict of numbers by oligomer, or a number for every oligomer; got "
                f"{value_written(self.weights)[:200]}."
            ) from None
        if weights.shape != (len(names),):
            raise ValueError(
                f"weights of TripletOligo has the shape {weights.shape}; it must be a dict by oligomer, or a list of "
                f"{len(names)} numbers, one for each oligomer of {self.k} letters of the alphabet {self.alphabet!r}."
            )
        require_weights("TripletOligo", self.weights, weights)
        logarithms = np.log(weights[weights > 0.0])
        if np.ptp(logarithms) > np.log(LARGEST_RATIO):
            raise ValueError(
                f"weights of TripletOligo go from {np.exp(logarithms.min()):.3g} to {np.exp(logarithms.max()):.3g}; "
                f"the largest must be at most {LARGEST_RATIO:g} times the smallest that is not 0."
            )

    def _require_numbers(self) -> None:
        self._require_given()
        require_length("TripletOligo", "k", self.k, str(self.alphabet))
        if len(self.alphabet) ** int(self.k) > MOST_WEIGHTS:
            raise ValueError(
                f"k of TripletOligo is {self.k}, which makes {len(self.alphabet) ** int(self.k)} oligomers; at most "
                f"{MOST_WEIGHTS} can have weights."
            )
        super()._require_numbers()


@lru_cache(maxsize=16)
def known_codes(alphabet: str, k: int, reverse_complement: bool) -> NDArray[np.int64]:
    """Return the codes of the oligomers that have weights."""
    return all_codes(alphabet, k, reverse_complement)


@lru_cache(maxsize=16)
def names_of(alphabet: str, k: int, reverse_complement: bool) -> tuple[str, ...]:
    """Write these oligomers."""
    return tuple(written(known_codes(alphabet, k, reverse_complement), alphabet, k))


@lru_cache(maxsize=16)
def set_of(names: tuple[str, ...]) -> frozenset[str]:
    """Return the same names to look up."""
    return frozenset(names)

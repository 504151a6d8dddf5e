r"""Oligo kernels: common oligomers, the more alike the closer their positions [Glasmachers2008, section 13.2].

.. math:: k_K(x, z) = \sum_{\omega \in A^K} \lambda_\omega \sum_{p \in S^x_\omega} \sum_{q \in S^z_\omega}
          e^{-(p - q)^2 / (4 \sigma^2)}

All kernels of this family are sums of such terms, each of them divided by the roots of its k(x, x) and k(z, z) or not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.base import Bounds, Matrix, Vector
from widemargin.kernels.rows import RowSource
from widemargin.kernels.sequences.base import (
    SequenceKernel,
    reading,
    require_length,
    require_origin,
    require_truth_value,
)
from widemargin.kernels.sequences.oligomers import Origin, Reading
from widemargin.kernels.sequences.sums import OligoSums
from widemargin.kernels.sequences.texts import Sequences

#: Range of sigma to search in: below it only equal positions count, above it positions do not count.
POSITIONS: tuple[float, float] = (1e-2, 1e4)


@dataclass(frozen=True)
class Term:
    """Oligomers of one length: how they are read, the width of positions, weights of oligomers, and of the whole."""

    reading: Reading
    sigma: float
    weights: Vector | None = None
    factor: float = 1.0


class OligoKernel(SequenceKernel):
    """A sum of oligo kernels of different lengths."""

    has_row_source: ClassVar[bool] = True

    #: What else to do about a sequence without oligomers.
    _instead: ClassVar[str]

    #: Whether each term is divided by the roots of its k(x, x) and k(z, z).
    normalize: Any = True

    @abstractmethod
    def _terms(self) -> list[Term]:
        """Return the terms."""

    @abstractmethod
    def _slopes(self) -> Iterator[tuple[int, str, Any]]:
        """Yield for each number of `theta` the term it belongs to and which number it is.

        That is "sigma", "factor", or "weights" and the codes of the oligomers that have it.
        """

    def _sums(self, X: Any, Y: Any) -> list[OligoSums]:
        left = self.samples(X)
        right = left if X is Y else self.samples(Y)
        return [OligoSums(left, right, term.reading, term.sigma, term.weights) for term in self._terms()]

    def _scales(self, sums: OligoSums) -> tuple[Vector, Vector]:
        """1 / sqrt(k(x, x)) for both sides of a term."""
        left = self._inverse_roots(sums.of_left(), sums, sums.left)
        return left, left if sums.symmetric else self._inverse_roots(sums.of_right(), sums, sums.right)

    def _inverse_roots(self, squares: Vector, sums: OligoSums, X: Sequences) -> Vector:
        if not self.normalize:
            return np.ones(len(squares))
        if not (squares > 0.0).all():
            raise ValueError(
                f"{X.named(int(np.argmin(squares > 0.0)))} has k(x, x) = 0: it holds no oligomer of {sums.k} letters "
                f"of the alphabet {self.alphabet!r} that counts; leave it out, or {self._instead}."
            )
        return np.asarray(1.0 / np.sqrt(squares))

    def measurable(self, X: Any) -> NDArray[np.bool_]:
        """Tell which sequences hold oligomers of every length, without which they have no values."""
        texts = self.samples(X)
        found = np.ones(len(texts), dtype=np.bool_)
        for sums in self._sums(texts, texts) if self.normalize else []:
            found &= sums.of_left() > 0.0
        return found

    def _require_measurable(self, X: Sequences) -> None:
        if self.normalize:
            self.diagonal(X)

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the sequences `X` and `Y`, in float64."""
        found = None
        for term, sums in zip(self._terms(), self._sums(X, Y), strict=True):
            left, right = self._scales(sums)
            K = sums.values(term.factor * left, right)
            if sums.symmetric and self.normalize:
                np.fill_diagonal(K, term.factor)
            found = K if found is None else np.add(found, K, out=found)
        return cast(Matrix, found)

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the sequences `X`."""
        found = np.zeros(len(self.samples(X)))
        for term, sums in zip(self._terms(), self._sums(X, X), strict=True):
            squares = sums.of_left()
            if self.normalize:
                self._inverse_roots(squares, sums, sums.left)
            found += term.factor * (1.0 if self.normalize else squares)
        return found

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivatives, one parameter after the other."""
        terms, sums = self._terms(), self._sums(X, Y)
        scales, parts = [self._scales(own) for own in sums], dict[int, Matrix]()
        for number, what, codes in self._slopes():
            term, own = terms[number], sums[number]
            left, right = scales[number]
            if number not in parts:
                parts[number] = K if len(terms) == 1 else own.values(term.factor * left, right)
            values = parts[number]
            if what == "factor":
                yield values
                continue
            straight = own.values_of(what, codes, term.factor * left, right)
            if self.normalize:
                ends = own.of_left(what, codes) * left**2, own.of_right(what, codes) * right**2
                straight -= 0.5 * values * (ends[0][:, np.newaxis] + ends[1])
            yield straight

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield those of k(x, x): 0 where it is constant."""
        terms, sums = self._terms(), self._sums(X, X)
        for number, what, codes in self._slopes():
            term, own = terms[number], sums[number]
            if what == "factor":
                yield term.factor * (np.ones(len(own.left)) if self.normalize else own.of_left())
            elif self.normalize:
                yield np.zeros(len(own.left))
            else:
                yield term.factor * own.of_left(what, codes)

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block: one pass for each term, whatever the number of weights.

        A normalised term has the derivatives of the sums, over the roots of k(x, x) and k(z, z), less half of what the
        two diagonals take back from W * K.
        """
        found, slopes = np.zeros(self.n_dims), list(self._slopes())
        terms = self._terms()
        for number, (term, sums) in enumerate(zip(terms, self._sums(X, Y), strict=True)):
            mine = [place for place, (of, _, _) in enumerate(slopes) if of == number]
            if not mine:
                continue
            left, right = self._scales(sums)
            straight, total, ends = sums.pull_back(W, term.factor * left, right), 0.0, []
            if self.normalize or any(slopes[place][1] == "factor" for place in mine):
                V = W * (K if len(terms) == 1 else sums.values(term.factor * left, right))
                total = float(V.sum())
                if self.normalize:
                    ends = [
                        sums.pull_back_diagonal(V.sum(axis=1) * left**2, sums.left),
                        sums.pull_back_diagonal(V.sum(axis=0) * right**2, sums.right),
                    ]
            for place in mine:
                _, what, codes = slopes[place]
                if what == "factor":
                    found[place] = total
                else:
                    found[place] = straight.of(what, codes) - 0.5 * sum(end.of(what, codes) for end in ends)
        return found

    def row_source(self, X: Any) -> RowSource:
        """Kernel rows of the sequences `X`, which the core computes."""
        texts = self.samples(X).alone()
        terms = zip(self._terms(), self._sums(texts, texts), strict=True)
        parts = [sums.core_term(np.sqrt(term.factor) * self._scales(sums)[0]) for term, sums in terms]
        return _core.oligo_source(parts, self.diagonal(texts))

    def _require_positive(self, name: str) -> None:
        if name == "sigma" and np.ndim(self.sigma):
            raise ValueError(f"sigma of {type(self).__name__} is {self.sigma!r}; it must be one number.")
        super()._require_positive(name)

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_origin(type(self).__name__, self.origin, self.alphabet)


class Oligo(OligoKernel):
    r"""The oligo kernel: pairs of common oligomers, weighted by how close their positions are.

    .. math:: k(x, z) = \sum_{\omega \in A^k} \sum_{p \in S^x_\omega} \sum_{q \in S^z_\omega}
              e^{-(p - q)^2 / (4 \sigma^2)}

    where S^x_w are the positions of the oligomer w in x [Glasmachers2008, section 13.2]. By default it is divided by
    sqrt(k(x, x) k(z, z)). With a small :math:`\sigma` only oligomers at the same position count, with a large one
    positions make no difference. Sequences may differ in length; positions count from `origin`.

    A block of n x m values of sequences of length L costs n m L look-ups, whatever k and sigma; sums of its derivatives
    as much again.

    Parameters
    ----------
    k : int, default=3
        Letters of an oligomer.
    sigma : float, default=1.0
        How far apart positions may be; searched by its logarithm.
    normalize : bool, default=True
        Whether values are scaled to k(x, x) = 1. A sequence with k(x, x) = 0, which is too short or consists of unknown
        letters, is then refused.
    alphabet : str, default=None
        The letters. Oligomers that hold any other one, such as N, are skipped. None takes it from the training data:
        "ACGT" for DNA ("ACGU" for RNA), the twenty amino acids for proteins, else all letters that occur, in upper
        case. T and U stand for each other.
    reverse_complement : bool, default=False
        Whether an oligomer and its reverse complement are the same.
    origin : int or str, default=0
        The place that positions count from: a letter from the front, 0 being the first; a letter from the end, -1 being
        the last; or a text such as "|", which stands in every sequence before the letter to count from.
    sigma_bounds : pair of floats or "fixed", default=(0.01, 1e4)
        Range to search in.
    fold_case : bool, default=True
        Whether a letter that is not in the alphabet counts as its other case if that is, and alphabets are taken from
        the training data without regard to case. False keeps cases apart: with ``alphabet="ACGT"``, letters that were
        masked by lower case are then skipped.

    Examples
    --------
    >>> from widemargin.kernels import Oligo
    >>> k = Oligo(k=2, sigma=1.0, normalize=False, alphabet="ACGT")
    >>> k(["ACGT"], ["ACGG", "TACG"]).round(4).tolist()  # AC and CG: at the same places, one place away
    [[2.0, 1.5576]]
    >>> Oligo(k=2, sigma=1.0).fitted(["acgt", "ACGN"])(["ACGT"], ["TACG"]).round(4).tolist()
    [[0.5192]]
    """

    _positive: ClassVar[tuple[str, ...]] = ("sigma",)
    _instead = "take a smaller k or normalize=False"

    def __init__(
        self,
        k: int = 3,
        sigma: float = 1.0,
        normalize: bool = True,
        alphabet: str | None = None,
        reverse_complement: bool = False,
        origin: Origin = 0,
        sigma_bounds: Bounds = POSITIONS,
        fold_case: bool = True,
    ) -> None:
        self.k = k
        self.sigma = sigma
        self.normalize = normalize
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement
        self.origin = origin
        self.fold_case = fold_case
        self.sigma_bounds = sigma_bounds

    def _terms(self) -> list[Term]:
        return [Term(reading(self, self.k), float(self.sigma))]

    def _slopes(self) -> Iterator[tuple[int, str, Any]]:
        if self._free():
            yield 0, "sigma", None

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_length("Oligo", "k", self.k, self.alphabet)
        require_truth_value("Oligo", "normalize", self.normalize)

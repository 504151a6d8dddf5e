"""Kernels of DNA that do not know which strand a sequence was read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from widemargin.kernels.algebra import Composite
from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.sequences.alphabet import require_complements, turned
from widemargin.kernels.sequences.base import kernels_in
from widemargin.kernels.sequences.oligomers import located
from widemargin.kernels.sequences.texts import Sequences, Texts

#: Sequences that are compared with their other strands at a time, of which only pairs are needed.
PAIRS_AT_ONCE = 8


class BothStrands(Composite):
    r"""A kernel of DNA or RNA that is blind to strands: both strands of both sequences are compared.

    .. math:: \bar k(x, z) = \tfrac{1}{4} \left(k(x, z) + k(x, z') + k(x', z) + k(x', z')\right)

    where x' is the reverse complement of x, so that :math:`\bar k(x, z) = \bar k(x', z)`, whatever k. Each strand is
    read in its own direction: positions count from the letter at place `origin` of either strand, or from the same pair
    of letters where `origin` is a marker.

    With ``reverse_complement=True`` kernels of sequences take each oligomer for its reverse complement, but leave it
    where it is. That is blind to strands where positions do not count (`Spectrum`, `Gapped`), and not in oligo kernels.

    Values cost four times those of the kernel, and so do derivatives.

    Parameters
    ----------
    kernel : kernel
        Of sequences whose alphabets are "ACGT" or "ACGU"; sums, products and multiples of such kernels will do.

    Examples
    --------
    >>> from widemargin.kernels import BothStrands, Oligo
    >>> k = BothStrands(Oligo(k=2, sigma=1.0)).fitted(["ACGGT", "TTGCA"])
    >>> k(["ACGGT"], ["ACGGT", "ACCGT", "TTGCA"]).round(3).tolist()  # itself, its other strand, something else
    [[0.847, 0.847, 0.0]]
    """

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def samples(self, X: Any) -> Any:
        """Return sequences as the other methods take them."""
        self._require_sequences()
        return Sequences.of(X)

    def _turned(self, X: Any) -> Sequences:
        """Return the other strands of some sequences."""
        texts = self.samples(X)
        markers = {str(one.origin) for one in kernels_in(self.kernel) if isinstance(one.origin, str)}
        marker = markers.pop() if len(markers) == 1 else None
        if markers:
            raise ValueError(
                f"the kernels in {self!r} have different markers as origin; BothStrands needs the same one, or none."
            )
        whole = texts.whole.made(
            ("turned", marker),
            lambda: Texts([_other_strand(text, marker, place) for place, text in enumerate(texts.whole.texts)]),
        )
        return Sequences(whole, texts.ids)

    def _parts(self, X: Any, Y: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the four pairs of strands."""
        left, right = self.samples(X), self.samples(Y)
        left = right if X is Y else left
        others = self._turned(left), self._turned(right)
        if left is right:
            others = others[0], others[0]
        yield left, right
        yield left, others[1]
        yield others[0], right
        yield others

    def values(self, X: Any, Y: Any) -> Matrix:
        """Average the values of the four pairs of strands."""
        (kernel,) = self._kernels()
        parts = list(self._parts(X, Y))
        K = kernel.values(*parts[0])
        if parts[0][0] is parts[0][1]:
            across = kernel.values(*parts[1])
            K += across + across.T
            K += kernel.values(*parts[3])
            return np.asarray(0.25 * K)
        for left, right in parts[1:]:
            K += kernel.values(left, right)
        return np.asarray(0.25 * K)

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the sequences `X`."""
        (kernel,) = self._kernels()
        left, other = self.samples(X), self._turned(X)
        across = self._of_pairs(left, other, lambda one, two: [kernel.values(one, two)])
        found = kernel.diagonal(left) + kernel.diagonal(other)
        return np.asarray(0.25 * (found + 2.0 * next(across, np.zeros(0))))

    def _of_pairs(
        self, left: Sequences, right: Sequences, blocks: Callable[[Sequences, Sequences], Any]
    ) -> Iterator[Vector]:
        """Yield, of each matrix between sequences and their other strands, what stands on the diagonal."""
        found = []
        for begin in range(0, len(left), PAIRS_AT_ONCE):
            part = slice(begin, begin + PAIRS_AT_ONCE)
            found.append([np.diagonal(one) for one in blocks(left[part], right[part])])
        for each in zip(*found, strict=True):
            yield np.concatenate(each)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the averages of the derivatives of the four pairs of strands."""
        (kernel,) = self._kernels()
        parts = [(left, right, kernel.values(left, right)) for left, right in self._parts(X, Y)]
        for four in zip(*(kernel.derivatives(*part) for part in parts), strict=True):
            yield 0.25 * (four[0] + four[1] + four[2] + four[3])

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield those of k(x, x)."""
        (kernel,) = self._kernels()
        left, other = self.samples(X), self._turned(X)

        def slopes(one: Sequences, two: Sequences) -> Any:
            return kernel.derivatives(one, two, kernel.values(one, two))

        ends = zip(kernel.diagonal_derivatives(left), kernel.diagonal_derivatives(other), strict=True)
        for (one, two), across in zip(ends, self._of_pairs(left, other, slopes), strict=True):
            yield 0.25 * (one + two + 2.0 * across)

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block: those of the four pairs of strands together."""
        (kernel,) = self._kernels()
        found = np.zeros(self.n_dims)
        for left, right in self._parts(X, Y):
            found += kernel.pull_back(0.25 * W, left, right, kernel.values(left, right))
        return found

    def _require_sequences(self) -> None:
        if not kernels_in(self._kernels()[0]):
            raise ValueError(
                f"kernel of BothStrands is {self.kernel!r}; it must be a kernel of sequences, such as Oligo()."
            )

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        self._require_sequences()
        super()._take_from_data(X, gamma, weights)

    def _require_numbers(self) -> None:
        self._require_sequences()
        super()._require_numbers()
        for one in kernels_in(self._kernels()[0]):
            require_complements("BothStrands", one.alphabet, "both strands are compared")

    @property
    def kind_depends_on_data(self) -> bool:
        """Whether :attr:`kind` does."""
        return self.leaves_to_data


def _other_strand(text: str, marker: str | None, place: int) -> str:
    """Return the reverse complement of a sequence, with its marker before the same pair of letters.

    Examples
    --------
    >>> _other_strand("AC|GGT", "|", 0), _other_strand("ACGGU", None, 0)
    ('AC|CGT', 'ACCGU')
    """
    if marker is None:
        return turned(text)
    letters, zero = located(text, marker, place)
    if zero >= len(letters):
        raise ValueError(
            f"sequence {place} of X ends with origin={marker!r}; on the other strand there is no letter to count from."
        )
    other, at = turned(letters), len(letters) - 1 - zero
    return other[:at] + marker + other[at:]

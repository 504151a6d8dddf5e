"""Kernels that count common oligomers wherever they are: exact ones, with mismatches, and with gaps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.rows import RowSource, row_source
from widemargin.kernels.sequences.alphabet import Digits, codes_of, complements, digits_of
from widemargin.kernels.sequences.base import SequenceKernel, require_length, require_truth_value, require_whole
from widemargin.kernels.sequences.oligomers import Reading, oligomers_in
from widemargin.kernels.sequences.texts import Sequences, Texts

#: Oligomers that one window may count for.
MOST_OF_A_WINDOW = 2**20

#: Values that are computed between two looks for an interruption.
VALUES_AT_ONCE = 2**20


@dataclass(frozen=True)
class Counts:
    """How often sequences hold oligomers: a sparse row for each, a column for each oligomer that occurs anywhere."""

    rows: Any
    known: NDArray[np.int64]
    roots: Vector


class CountingKernel(SequenceKernel):
    """A dot product of counts of oligomers, wherever they are."""

    has_row_source: ClassVar[bool] = True

    k: Any
    normalize: Any

    @abstractmethod
    def _window(self) -> int:
        """Return how many letters are looked at together."""

    @abstractmethod
    def _counted(self, windows: Digits, letters: int) -> tuple[NDArray[np.intp], Digits]:
        """Return the oligomers that windows count for, and the number of the window of each.

        Windows and oligomers are rows of places in an alphabet of so many letters.
        """

    def _counts(self, texts: Texts) -> Counts:
        parameters = self.get_params(deep=False)
        del parameters["normalize"]
        return texts.made(("counts", type(self), *map(repr, parameters.items())), lambda: self._count(texts))

    def _count(self, texts: Texts) -> Counts:
        window, letters = self._window(), len(self.alphabet)
        found = oligomers_in(texts, Reading(self.alphabet, window))
        owners = np.repeat(np.arange(len(texts.texts)), np.diff(found.begins))[found.codes >= 0]
        codes, which = np.unique(found.codes[found.codes >= 0], return_inverse=True)
        occurring = sp.csr_array(
            (np.ones(len(owners)), (owners, which.reshape(-1))), shape=(len(texts.texts), len(codes))
        )
        numbers = codes if found.known is None else found.known[codes]
        of_window, oligomers = self._counted(digits_of(numbers, window, letters), letters)
        names = codes_of(oligomers, letters)
        if self.reverse_complement:
            names = np.minimum(names, codes_of(complements(oligomers, self.alphabet), letters))
        known, columns = np.unique(names, return_inverse=True)
        counting = sp.csr_array((np.ones(len(names)), (of_window, columns.reshape(-1))), shape=(len(codes), len(known)))
        rows = sp.csr_array(occurring @ counting)
        rows.sum_duplicates()
        return Counts(rows, known, np.sqrt(_squares(rows)))

    def _scaled(self, X: Sequences) -> Any:
        """Return the counts of some sequences, divided by their norms if they are to be."""
        counts = self._counts(X.whole)
        rows = counts.rows[X.ids]
        if not self.normalize:
            return rows
        roots = counts.roots[X.ids]
        if not (roots > 0.0).all():
            self._refuse(X, int(np.argmin(roots > 0.0)))
        rows.data /= np.repeat(roots, np.diff(rows.indptr))
        return rows

    def _refuse(self, X: Sequences, place: int) -> None:
        raise ValueError(
            f"{X.named(place)} has k(x, x) = 0: there are no {self._window()} letters of the alphabet "
            f"{self.alphabet!r} next to each other in it; leave it out, or take a smaller k or normalize=False."
        )

    def _require_measurable(self, X: Sequences) -> None:
        if self.normalize:
            self._scaled(X)

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the sequences `X` and `Y`, in float64."""
        left = self.samples(X)
        one = self._scaled(left)
        if X is Y:
            return _product(one, one)
        right = self.samples(Y)
        other = self._scaled(right)
        if left.whole is not right.whole:
            mine, theirs = self._counts(left.whole).known, self._counts(right.whole).known
            _, left_columns, right_columns = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
            one, other = one[:, left_columns], other[:, right_columns]
        return _product(one, other)

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the sequences `X`."""
        rows = self._scaled(self.samples(X))
        return np.ones(rows.shape[0]) if self.normalize else _squares(rows)

    def row_source(self, X: Any) -> RowSource:
        """Kernel rows of the sequences `X`, which the core computes."""
        return row_source(self._scaled(self.samples(X)), kernel="linear")

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield nothing: there are no parameters to search."""
        return iter(())

    def _require_numbers(self) -> None:
        super()._require_numbers()
        name = type(self).__name__
        require_length(name, "k", self.k, self.alphabet)
        require_truth_value(name, "normalize", self.normalize)


def _require_few(kernel: str, number: int) -> None:
    """Refuse windows that count for too many oligomers each."""
    if number > MOST_OF_A_WINDOW:
        raise ValueError(
            f"{kernel} counts every window for {number} oligomers, more than the {MOST_OF_A_WINDOW} that it can; take "
            "a smaller k, or fewer mismatches or gaps."
        )


def _squares(rows: Any) -> Vector:
    """Return the sum of squares of each row."""
    return np.asarray(rows.power(2).sum(axis=1), dtype=np.float64).ravel()


def _product(left: Any, right: Any) -> Matrix:
    """Return the dot products of rows, some rows at a time: the sparse product takes more memory than they do."""
    found, columns = np.empty((left.shape[0], right.shape[0])), right.T.tocsr()
    at_once = max(1, VALUES_AT_ONCE // max(1, right.shape[0]))
    for begin in range(0, len(found), at_once):
        found[begin : begin + at_once] = (left[begin : begin + at_once] @ columns).toarray()
    return found


class Spectrum(CountingKernel):
    r"""The spectrum kernel: common oligomers are counted wherever they are.

    .. math:: k(x, z) = \sum_{\omega \in A^k} \phi_\omega(x) \phi_\omega(z)

    where :math:`\phi_\omega(x)` is how often :math:`\omega` occurs in x [Leslie2002]; with `mismatches`, how many
    oligomers of x differ from it in at most so many letters. By default it is divided by sqrt(k(x, x) k(z, z)). It is
    what an oligo kernel becomes for a large sigma; there are no parameters to search.

    Counting takes n L (L letters in a sequence), times :math:`\binom{k}{m} (|A| - 1)^m` for each different oligomer
    with m mismatches; values cost as much as the sparse dot products of counts.

    Parameters
    ----------
    k : int, default=3
        Letters of an oligomer.
    mismatches : int, default=0
        In how many letters oligomers may differ, less than `k`.
    normalize : bool, default=True
        Whether values are scaled to k(x, x) = 1.
    alphabet, reverse_complement
        As in :class:`Oligo`.

    Examples
    --------
    >>> from widemargin.kernels import Spectrum
    >>> Spectrum(k=2, normalize=False, alphabet="ACGT")(["ACGT"], ["CGAC", "TTTT"]).tolist()
    [[2.0, 0.0]]
    >>> Spectrum(k=2, mismatches=1, normalize=False, alphabet="AC")(["AA"], ["AC", "CC"]).tolist()
    [[2.0, 2.0]]
    """

    def __init__(
        self,
        k: int = 3,
        mismatches: int = 0,
        normalize: bool = True,
        alphabet: str | None = None,
        reverse_complement: bool = False,
    ) -> None:
        self.k = k
        self.mismatches = mismatches
        self.normalize = normalize
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement

    def _window(self) -> int:
        return int(self.k)

    def _counted(self, windows: Digits, letters: int) -> tuple[NDArray[np.intp], Digits]:
        every = np.arange(len(windows))
        numbers, found = [every], [windows]
        for many in range(1, int(self.mismatches) + 1):
            for places in combinations(range(windows.shape[1]), many):
                for steps in product(range(1, letters), repeat=many):
                    changed = windows.copy()
                    changed[:, places] = (changed[:, places] + np.array(steps)) % letters
                    numbers.append(every)
                    found.append(changed)
        return np.concatenate(numbers), np.concatenate(found)

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_whole("Spectrum", "mismatches", self.mismatches, 0)
        if self.mismatches >= self.k:
            raise ValueError(f"mismatches of Spectrum is {self.mismatches}; it must be less than k={self.k}.")
        others = len(self.alphabet) - 1
        _require_few("Spectrum", sum(comb(self.k, many) * others**many for many in range(self.mismatches + 1)))


class Gapped(CountingKernel):
    r"""The gappy kernel: oligomers are counted wherever their letters follow each other, with gaps between.

    .. math:: k(x, z) = \sum_{\omega \in A^k} \phi_\omega(x) \phi_\omega(z)

    where :math:`\phi_\omega(x)` is how many windows of k + `gaps` letters of x hold the letters of :math:`\omega` in
    this order [Leslie2004]. By default it is divided by sqrt(k(x, x) k(z, z)). There are no parameters to search.

    Counting takes n L (L letters in a sequence), and :math:`\binom{k + g}{k}` for each different window; values cost as
    much as the sparse dot products of counts.

    Parameters
    ----------
    k : int, default=3
        Letters of an oligomer.
    gaps : int, default=1
        How many other letters may be between them.
    normalize : bool, default=True
        Whether values are scaled to k(x, x) = 1.
    alphabet, reverse_complement
        As in :class:`Oligo`.

    Examples
    --------
    >>> from widemargin.kernels import Gapped
    >>> k = Gapped(k=2, gaps=1, normalize=False, alphabet="ACGT")
    >>> k(["ACG"], ["ATG", "ACG", "AACT"]).tolist()  # AC, AG, CG in the first
    [[1.0, 3.0, 2.0]]
    """

    def __init__(
        self,
        k: int = 3,
        gaps: int = 1,
        normalize: bool = True,
        alphabet: str | None = None,
        reverse_complement: bool = False,
    ) -> None:
        self.k = k
        self.gaps = gaps
        self.normalize = normalize
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement

    def _window(self) -> int:
        return int(self.k) + int(self.gaps)

    def _counted(self, windows: Digits, letters: int) -> tuple[NDArray[np.intp], Digits]:
        ways = [windows[:, list(places)] for places in combinations(range(windows.shape[1]), int(self.k))]
        found = np.concatenate(ways)
        numbers = np.tile(np.arange(len(windows)), len(ways))
        # However often a window holds an oligomer, it counts once.
        once = np.unique(np.column_stack([numbers, codes_of(found, letters)]), axis=0, return_index=True)[1]
        return numbers[once], found[once]

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_whole("Gapped", "gaps", self.gaps, 0)
        require_length("Gapped", "k + gaps", self._window(), self.alphabet)
        _require_few("Gapped", comb(self._window(), int(self.k)))

"""Kernels that count common oligomers wherever they are: exact ones, with mismatches, and with gaps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.rows import RowSource, derived_rows, row_source
from widemargin.kernels.sequences.alphabet import partners_of
from widemargin.kernels.sequences.base import SequenceKernel, require_length, require_truth_value, require_whole
from widemargin.kernels.sequences.oligomers import letters_of
from widemargin.kernels.sequences.texts import Sequences, Texts
from widemargin.runtime import allowed, single_threaded_blas
from widemargin.runtime.memory import require_room

#: Oligomers that one window may count for.
MOST_OF_A_WINDOW = 2**20

#: Oligomers of one length up to which the core has a place for each, so that mismatches need not be listed.
MOST_PLACES = 2**20

#: Oligomers up to which dense rows of counts may be made, and the share of them that sequences then hold at least.
MOST_DENSE, DENSE = 2**20, 0.25

#: Bytes of lists of oligomers with mismatches, and of an entry of such a list.
LARGEST_LIST, BYTES_OF_AN_ENTRY = 2**28, 8

#: Whole numbers up to which float32 is exact.
EXACT_IN_FLOAT32 = 2**24

#: Rows of values that are scaled at a time.
ROWS_AT_ONCE = 256

#: Multiplications that are made between two looks for an interruption, and of which a matrix of all values may take.
MULTIPLICATIONS_AT_ONCE, WHOLE_MATRIX = 2**32, 2**35


class CountingKernel(SequenceKernel):
    """A dot product of counts of oligomers, wherever they are.

    With mismatches there are two ways to the same whole numbers: to list what every sequence counts for, or to spread
    one sequence of a pair over all oligomers, a place after the other, and have the other one look up the few that it
    holds. The first is faster where there are few oligomers or few that differ so little, the second where every
    sequence would have a list of thousands.
    """

    has_row_source: ClassVar[bool] = True

    k: Any
    normalize: Any

    #: Letters that may stand between those of an oligomer, and letters of it that may differ.
    gaps: Any = 0
    mismatches: Any = 0

    @abstractmethod
    def _counted_of_a_window(self) -> int:
        """Return how many oligomers a window may count for."""

    def _window(self) -> int:
        """Return how many letters are looked at together."""
        return int(self.k) + int(self.gaps)

    def _windows(self, texts: Texts) -> NDArray[np.int64]:
        """Count the windows of each sequence all of whose letters are known."""
        letters, width = letters_of(texts, self.alphabet, 0, bool(self.fold_case)), self._window()
        unknown = np.concatenate([[0], np.cumsum(letters.codes < 0)])
        known = unknown[width:] == unknown[:-width] if width < len(unknown) else np.zeros(0, dtype=np.bool_)
        before = np.concatenate([[0], np.cumsum(known)])
        begins, ends = letters.begins[:-1], letters.begins[1:] - (width - 1)
        long = ends > begins  # a window that begins later ends in the next sequence
        found = np.zeros(len(begins), dtype=np.int64)
        found[long] = before[ends[long]] - before[begins[long]]
        return found

    def _entries(self, texts: Texts) -> Vector:
        """Bound for each sequence how many oligomers it counts for."""
        windows = self._windows(texts).astype(np.float64)
        return np.asarray(np.minimum(windows * self._counted_of_a_window(), float(len(self.alphabet) ** int(self.k))))

    def _is_listed(self, *all_texts: Texts) -> bool:
        """Tell whether oligomers with mismatches are listed for each sequence."""
        n_oligomers = len(self.alphabet) ** int(self.k)
        if not self.mismatches or n_oligomers > MOST_PLACES:
            return True
        entries = np.concatenate([self._entries(texts) for texts in all_texts])
        n, mean = len(entries), float(entries.mean()) if len(entries) else 0.0
        letters = mean / self._counted_of_a_window()
        # Steps that a row of kernel values takes: with lists, or dense rows if these are shorter; and if it is spread.
        listed = n * min(mean**2 / n_oligomers, 0.05 * n_oligomers)
        spread = 0.5 * int(self.k) * int(self.mismatches) * n_oligomers + n * letters
        return listed <= spread and BYTES_OF_AN_ENTRY * n * mean <= LARGEST_LIST

    def _partners(self) -> NDArray[np.int64] | None:
        return np.array(partners_of(self.alphabet), dtype=np.int64) if self.reverse_complement else None

    def _made(self, texts: Texts, what: str, make: Any, listed: bool) -> Any:
        parameters = self.get_params(deep=False)
        del parameters["normalize"]
        return texts.made((what, type(self), listed, *map(repr, parameters.items())), make)

    def _counts(self, texts: Texts, listed: bool) -> _core.Counts:
        return self._made(texts, "counts", lambda: self._count(texts, listed), listed)  # type: ignore[no-any-return]

    def _count(self, texts: Texts, listed: bool) -> _core.Counts:
        letters = letters_of(texts, self.alphabet, 0, bool(self.fold_case))
        if listed:
            needed = int(2 * BYTES_OF_AN_ENTRY * self._entries(texts).sum())
            require_room(needed, f"{self!r} counts up to {self._counted_of_a_window()} oligomers in every window", "k")
        return _core.counts_of(
            letters.codes,
            letters.begins,
            len(self.alphabet),
            int(self.k),
            int(self.gaps),
            int(self.mismatches) if listed else 0,
            self._partners() if listed else None,
            **allowed(),
        )

    def _spreading(self, listed: bool) -> _core.Mismatches | None:
        if listed:
            return None
        return _core.Mismatches(len(self.alphabet), int(self.k), int(self.mismatches), self._partners())

    def _squares(self, X: Sequences) -> Vector:
        """Return k(x, x) before any scaling."""
        listed, texts = self._is_listed(X.whole), X.whole
        return np.asarray(
            self._made(
                texts,
                "squares",
                lambda: np.array(
                    _core.count_squares(self._counts(texts, listed), self._spreading(listed), **allowed()),
                    dtype=np.float64,
                ),
                listed,
            )[X.ids]
        )

    def _factors(self, X: Sequences, squares: Vector | None = None) -> Vector:
        """1 / sqrt(k(x, x)), or ones if values are not to be scaled."""
        if not self.normalize:
            return np.ones(len(X))
        self._require_measurable(X)
        return np.asarray(1.0 / np.sqrt(self._squares(X) if squares is None else squares))

    def measurable(self, X: Any) -> NDArray[np.bool_]:
        """Tell which sequences hold any oligomer, without which they have no values."""
        texts = self.samples(X)
        return np.asarray(self._windows(texts.whole)[texts.ids] > 0) | (not self.normalize)

    def _require_measurable(self, X: Sequences) -> None:
        measurable = self.measurable(X)
        if not measurable.all():
            raise ValueError(
                f"{X.named(int(np.argmin(measurable)))} has k(x, x) = 0: there are no {self._window()} letters of the "
                f"alphabet {self.alphabet!r} next to each other in it; leave it out, or take a smaller k or "
                "normalize=False."
            )

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the sequences `X` and `Y`, in float64."""
        left = self.samples(X)
        right = left if X is Y else self.samples(Y)
        symmetric = left is right
        if self.normalize:
            self._require_measurable(left)
            self._require_measurable(right)
        K = self._products(left, right)
        factors = self._factors(left, np.diagonal(K) if symmetric else None)
        others = factors if symmetric else self._factors(right)
        for begin in range(0, len(K), ROWS_AT_ONCE):  # a product of factors is the same either way round
            K[begin : begin + ROWS_AT_ONCE] *= factors[begin : begin + ROWS_AT_ONCE, np.newaxis] * others
        if symmetric and self.normalize:
            np.fill_diagonal(K, 1.0)
        return K

    def _products(self, left: Sequences, right: Sequences) -> Matrix:
        """Return the dot products of counts."""
        listed = self._is_listed(*({id(one.whole): one.whole for one in (left, right)}.values()))
        one, other = self._counts(left.whole, listed), self._counts(right.whole, listed)
        if listed and self._is_dense(one, left) and self._is_dense(other, right):
            return self._dense_products(left, right)
        if one is not other and len(self.alphabet) ** int(self.k) > MOST_PLACES:  # they number what they hold
            if one.n_stored < other.n_stored:
                one = one.numbered_as(other)
            else:
                other = other.numbered_as(one)
        spreading, turned = self._spreading(listed), len(right) < len(left)
        if spreading is None:
            turned = len(left) < len(right)
        if turned:  # rows are spread, and an index is made of columns: the fewer, the better
            one, left, other, right = other, right, one, left
        K = np.empty((len(left), len(right)))
        _core.count_products(one, left.numbers, other, right.numbers, spreading, left is right, K, **allowed())
        return np.ascontiguousarray(K.T) if turned else K

    def _is_dense(self, counts: _core.Counts, X: Sequences) -> bool:
        """Tell whether sequences hold a good part of all oligomers there are."""
        n_oligomers, n = len(self.alphabet) ** int(self.k), len(X.whole.texts)
        return 0 < n_oligomers <= MOST_DENSE and n > 0 and counts.n_stored >= DENSE * n * n_oligomers

    def _dense(self, X: Sequences, dtype: Any) -> NDArray[Any]:
        """Return a row of counts for each sequence."""
        counts = self._counts(X.whole, True)
        found = np.zeros((len(X), counts.n_codes), dtype=dtype)
        counts.write(X.numbers, found)
        return found

    def _dense_products(self, left: Sequences, right: Sequences) -> Matrix:
        # All sums are of whole numbers, none below 0: where float32 holds the largest, it holds all that lead there.
        squares = [self._squares(one).max(initial=0.0) for one in (left, right)]
        dtype = np.float32 if max(squares) < EXACT_IN_FLOAT32 else np.float64
        rows = self._dense(left, dtype)
        columns = rows if left is right else self._dense(right, dtype)
        K = np.empty((len(left), len(right)))
        at_once = max(1, MULTIPLICATIONS_AT_ONCE // max(1, columns.size))
        for begin in range(0, len(K), at_once):
            end = begin + at_once
            first = begin if left is right else 0
            with single_threaded_blas():
                K[begin:end, first:] = rows[begin:end] @ columns[first:].T
            if left is right:
                K[end:, begin:end] = K[begin:end, end:].T
        return K

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the sequences `X`."""
        texts = self.samples(X)
        if not self.normalize:
            return self._squares(texts)
        self._require_measurable(texts)
        return np.ones(len(texts))

    def row_source(self, X: Any) -> RowSource:
        """Kernel rows of the sequences `X`, which the core computes."""
        texts = self.samples(X).alone()
        listed, n = self._is_listed(texts.whole), len(texts)
        counts, spreading = self._counts(texts.whole, listed), self._spreading(listed)
        dense = listed and self._is_dense(counts, texts)
        if dense and n > counts.n_codes:
            dtype = np.float32 if counts.largest < EXACT_IN_FLOAT32 else np.float64
            rows = row_source(self._dense(texts, dtype), kernel="linear")
            return derived_rows(rows, scale=self._factors(texts)) if self.normalize else rows
        steps = 0.5 * n * counts.n_codes if dense else 10.0 * counts.n_codes + counts.n_stored
        if (dense or spreading is not None) and n * steps <= WHOLE_MATRIX:
            return _core.gram_source(
                self.values(texts, texts), counted=True
            )  # which takes less memory than counts of that length
        return _core.count_source(counts, spreading, self._factors(texts), self.diagonal(texts))

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


class Spectrum(CountingKernel):
    r"""The spectrum kernel: common oligomers are counted wherever they are.

    .. math:: k(x, z) = \sum_{\omega \in A^k} \phi_\omega(x) \phi_\omega(z)

    where :math:`\phi_\omega(x)` is how often :math:`\omega` occurs in x [Leslie2002]; with `mismatches`, how many
    oligomers of x differ from it in at most so many letters. By default it is divided by sqrt(k(x, x) k(z, z)). It is
    what an oligo kernel becomes for a large sigma; there are no parameters to search.

    Counting takes n L (L letters in a sequence). Values cost as much as the sparse dot products of counts, or dense
    ones where sequences hold a good part of all oligomers. With m mismatches every oligomer counts for about
    :math:`\binom{k}{m} (|A| - 1)^m`; where that makes lists too long, a row of kernel values takes :math:`k m |A|^k`
    additions and a look-up for each oligomer of the other sequences, and no memory to speak of.

    Parameters
    ----------
    k : int, default=3
        Letters of an oligomer.
    mismatches : int, default=0
        In how many letters oligomers may differ, less than `k`.
    normalize : bool, default=True
        Whether values are scaled to k(x, x) = 1.
    alphabet, reverse_complement, fold_case
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
        fold_case: bool = True,
    ) -> None:
        self.k = k
        self.mismatches = mismatches
        self.normalize = normalize
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement
        self.fold_case = fold_case

    def _counted_of_a_window(self) -> int:
        others = len(self.alphabet) - 1
        return sum(comb(int(self.k), many) * others**many for many in range(int(self.mismatches) + 1))

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_whole("Spectrum", "mismatches", self.mismatches, 0)
        if self.mismatches >= self.k:
            raise ValueError(f"mismatches of Spectrum is {self.mismatches}; it must be less than k={self.k}.")
        _require_few("Spectrum", self._counted_of_a_window())


class Gapped(CountingKernel):
    r"""The gappy kernel: oligomers are counted wherever their letters follow each other, with gaps between.

    .. math:: k(x, z) = \sum_{\omega \in A^k} \phi_\omega(x) \phi_\omega(z)

    where :math:`\phi_\omega(x)` is how many windows of k + `gaps` letters of x hold the letters of :math:`\omega` in
    this order [Leslie2004]. By default it is divided by sqrt(k(x, x) k(z, z)). There are no parameters to search.

    Counting takes n L (L letters in a sequence) times the number of different oligomers that a window holds, at most
    :math:`\binom{k + g}{k}`; values cost as much as the dot products of counts, sparse or dense.

    Parameters
    ----------
    k : int, default=3
        Letters of an oligomer.
    gaps : int, default=1
        How many other letters may be between them.
    normalize : bool, default=True
        Whether values are scaled to k(x, x) = 1.
    alphabet, reverse_complement, fold_case
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
        fold_case: bool = True,
    ) -> None:
        self.k = k
        self.gaps = gaps
        self.normalize = normalize
        self.alphabet = alphabet
        self.reverse_complement = reverse_complement
        self.fold_case = fold_case

    def _counted_of_a_window(self) -> int:
        return comb(self._window(), int(self.k))

    def _require_numbers(self) -> None:
        super()._require_numbers()
        require_whole("Gapped", "gaps", self.gaps, 0)
        require_length("Gapped", "k + gaps", self._window(), self.alphabet)
        _require_few("Gapped", self._counted_of_a_window())

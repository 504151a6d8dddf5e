"""The samples of a stream: they come and go, and kernel rows of them stay set up.

A store gives every sample a number. Those with numbers that nobody needs any more stay where they are until there are
too many of them. A store that others may hold never changes what they can see of it: :meth:`~Kept.with_more` writes to
numbers that were free, or makes another store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import (
    FixedKernel,
    KernelParameters,
    Parts,
    RowSource,
    call_kernel,
    canonical,
    core_samples,
    count,
    is_matrix,
    take,
)
from widemargin.runtime import as_allowed_here

#: Numbers of a small store that may be free.
FREE = 64

#: How many times as many samples the parts of each level hold: a part is set up again when so many smaller ones came.
LEVEL = 8

Numbers = NDArray[Any]


def joined(samples: Any, others: Any) -> Any:
    """Put two blocks of samples one after the other, in the container of the first.

    Examples
    --------
    >>> joined(np.array([[1.0]]), sp.csr_array(np.array([[2.0]]))).tolist(), joined(["ab"], ["c"]), joined(None, ["d"])
    ([[1.0], [2.0]], ['ab', 'c'], ['d'])
    """
    if samples is None:
        return others
    if sp.issparse(samples):
        return canonical(type(samples)(sp.vstack([samples, sp.csr_array(others)], format="csr")))
    if isinstance(samples, np.ndarray):
        return np.concatenate([samples, others.toarray() if sp.issparse(others) else np.asarray(others)])
    if hasattr(samples, "iloc"):
        import pandas as pd

        like = pd.Series if samples.ndim == 1 else pd.DataFrame
        return pd.concat([samples, like(others)], ignore_index=True)
    return [*samples, *others]


class Kept(ABC):
    """Samples by their numbers, and kernel rows of them."""

    @property
    @abstractmethod
    def rows(self) -> RowSource:
        """Kernel rows; the number of a sample is the same there."""

    @abstractmethod
    def with_more(self, samples: Any, begin: int) -> Kept:
        """Return a store in which these samples have the numbers from `begin` on, which nobody needs."""

    @abstractmethod
    def at(self, numbers: Numbers) -> Any:
        """Return samples in the container in which they came; not to be held while others come."""

    @abstractmethod
    def among(self, numbers: Numbers) -> tuple[Kept, Numbers]:
        """Return a store for these samples, of which others have gone, and their numbers in it."""

    def prepared_at(self, numbers: Numbers) -> Any:
        """Return samples as kernels take them: what was set up of them before need not be once more."""
        return self.at(numbers)


def kept_samples(kernel: KernelParameters, samples: Any) -> Kept:
    """Return a store for the samples of a stream, which numbers them from 0 on."""
    if count(samples) == 0:
        return KeptAnew(kernel, samples)  # until there are some
    if kernel.of_samples and is_matrix(samples):
        return KeptVectors(kernel, FREE, samples)
    if isinstance(kernel.kernel, FixedKernel) and not kernel.kernel.kernel.requires_vector_input:
        return KeptObjects(kernel, (Part(kernel.kernel, samples, 0),))
    return KeptAnew(kernel, samples)


def is_whole(numbers: Numbers, n: int) -> bool:
    """Whether these are the numbers of all samples, in order."""
    return len(numbers) == n and bool((numbers == np.arange(n)).all())


class KeptAnew(Kept):
    """Samples whose kernel rows are set up anew whenever some came: those of callables, and of matrices mapped by them.

    Parameters
    ----------
    kernel : KernelParameters
    samples : sequence
    """

    def __init__(self, kernel: KernelParameters, samples: Any) -> None:
        self.kernel, self.samples = kernel, samples
        self._rows: RowSource | None = None

    @property
    def rows(self) -> RowSource:
        """Kernel rows."""
        if self._rows is None:
            self._rows = self.kernel.rows_of(self.samples)
        return self._rows

    def with_more(self, samples: Any, begin: int) -> Kept:
        """Return a store with more samples."""
        if begin == 0:
            return kept_samples(self.kernel, samples)
        before = self.samples if begin == count(self.samples) else take(self.samples, np.arange(begin))
        return KeptAnew(self.kernel, joined(before, samples))

    def at(self, numbers: Numbers) -> Any:
        """Return some samples."""
        return take(self.samples, numbers)

    def among(self, numbers: Numbers) -> tuple[Kept, Numbers]:
        """Return a store for some samples."""
        if is_whole(numbers, count(self.samples)):
            return self, numbers
        return KeptAnew(self.kernel, self.at(numbers)), np.arange(len(numbers), dtype=np.int32)


class DenseMemory:
    """Rows of numbers, and room for more.

    Parameters
    ----------
    room : int
        Rows in all.
    *blocks : ndarray or sparse matrix of shape (n, d)
        The first rows, block after block.
    """

    def __init__(self, room: int, *blocks: Any) -> None:
        # Zeros, so that nothing of what memory held before is there.
        self.values = np.zeros((room, blocks[0].shape[1]), dtype=dtype_of(blocks))
        write_all(self, blocks)

    def fits(self, X: Any, begin: int) -> bool:
        """Whether there is room for these rows from `begin` on, and for all of their digits."""
        room, d = self.values.shape
        return begin + X.shape[0] <= room and X.shape[1] == d and np.can_cast(X.dtype, self.values.dtype)

    def write(self, X: Any, begin: int) -> None:
        """Write rows."""
        self.values[begin : begin + X.shape[0]] = X.toarray() if sp.issparse(X) else X

    def first(self, n: int) -> Any:
        """Return the first rows, where they are."""
        return self.values[:n]

    def core(self) -> _core.Samples:
        """Return all rows, those to come among them."""
        return _core.dense_samples(self.values)


class SparseMemory:
    """Sparse rows, and room for more.

    Parameters
    ----------
    room : int
        Rows in all.
    *blocks : CSR matrix or ndarray of shape (n, d)
        The first rows, block after block.
    """

    def __init__(self, room: int, *blocks: Any) -> None:
        n = sum(block.shape[0] for block in blocks)
        entries = sum(n_entries(block) for block in blocks) * room // max(1, n) + FREE
        self.like, self.n_columns = type(blocks[0]), blocks[0].shape[1]
        index = np.int32 if max(entries, self.n_columns) <= np.iinfo(np.int32).max else np.int64
        self.values, self.columns = np.zeros(entries, dtype=dtype_of(blocks)), np.zeros(entries, dtype=index)
        self.begins = np.zeros(room + 1, dtype=index)
        write_all(self, blocks)
        self.begins[n + 1 :] = self.begins[n]

    def fits(self, X: Any, begin: int) -> bool:
        """Whether there is room for these rows from `begin` on, and for all of their digits."""
        return (
            begin + X.shape[0] < len(self.begins)
            and X.shape[1] == self.n_columns
            and self.begins[begin] + n_entries(X) <= len(self.values)
            and np.can_cast(X.dtype, self.values.dtype)
        )

    def write(self, X: Any, begin: int) -> None:
        """Write rows."""
        X = canonical(X if sp.issparse(X) else sp.csr_array(X))
        at, ends = int(self.begins[begin]), X.indptr[1:]
        self.values[at : at + len(X.data)], self.columns[at : at + len(X.data)] = X.data, X.indices
        self.begins[begin + 1 : begin + 1 + len(ends)] = ends + at

    def first(self, n: int) -> Any:
        """Return the first rows, where they are."""
        end = int(self.begins[n])
        found = self.like((self.values[:end], self.columns[:end], self.begins[: n + 1]), shape=(n, self.n_columns))
        found.has_canonical_format = True
        return found

    def core(self) -> _core.Samples:
        """Return all rows, those to come among them."""
        return _core.csr_samples(self.values, self.columns, self.begins, self.n_columns)


def dtype_of(blocks: Sequence[Any]) -> type:
    """Return the type that has room for the digits of all blocks."""
    return np.float32 if all(block.dtype == np.float32 for block in blocks) else np.float64


def n_entries(X: Any) -> int:
    """Count the entries that a matrix has, or would have if it were sparse."""
    return int(X.nnz if sp.issparse(X) else np.count_nonzero(X))


def write_all(memory: DenseMemory | SparseMemory, blocks: Sequence[Any]) -> None:
    """Write blocks of rows one after the other."""
    begin = 0
    for block in blocks:
        memory.write(block, begin)
        begin += block.shape[0]


def memory_for(room: int, *blocks: Any) -> DenseMemory | SparseMemory:
    """Return memory for so many rows, the first of which are these, in the form of the first block."""
    return SparseMemory(room, *blocks) if sp.issparse(blocks[0]) else DenseMemory(room, *blocks)


class KeptVectors(Kept):
    """Rows of numbers for a kernel that the core computes: the core reads them where they are, and those that come too.

    Parameters
    ----------
    kernel : KernelParameters
    free : int
        Rows that there is to be room for beside these.
    *blocks : ndarray or CSR matrix of shape (n, d)
        Samples, block after block.
    """

    def __init__(self, kernel: KernelParameters, free: int, *blocks: Any) -> None:
        self.kernel, n = kernel, sum(block.shape[0] for block in blocks)
        self._memory = self._mapped = memory_for(n + free, *blocks)
        if kernel.map is not None:
            self._mapped = memory_for(n + free, *map(kernel.mapped, blocks))
        self._rows = _core.lasting_source(
            self._mapped.core(),
            core_samples(self._mapped.first(n)),
            str(kernel.kernel),
            float(kernel.gamma),
            float(kernel.coef0),
            int(kernel.degree),
        )

    @property
    def rows(self) -> RowSource:
        """Kernel rows."""
        return self._rows

    def with_more(self, samples: Any, begin: int) -> KeptVectors:
        """Return a store with more samples: this one, if it has room and its form suits them."""
        mapped = self.kernel.mapped(samples)
        suitable = self._memory.fits(samples, begin) and self._mapped.fits(mapped, begin)
        if begin and suitable and self._rows.suits(core_samples(mapped)):
            self._memory.write(samples, begin)
            if self._mapped is not self._memory:
                self._mapped.write(mapped, begin)
            return self
        return KeptVectors(self.kernel, begin + FREE, self._memory.first(begin), samples)

    def at(self, numbers: Numbers) -> Any:
        """Return some samples; all of them where they are, and only until others come."""
        n = int(numbers.max(initial=-1)) + 1
        first = self._memory.first(n)
        return first if is_whole(numbers, n) else first[numbers]

    def among(self, numbers: Numbers) -> tuple[Kept, Numbers]:
        """Return this store, or another one if most of the samples in it have gone."""
        n = len(numbers)
        if int(numbers.max(initial=-1)) < 2 * n + FREE:
            return self, numbers
        return KeptVectors(self.kernel, n + FREE, self.at(numbers)), np.arange(n, dtype=np.int32)


def level_of(n: int) -> int:
    """Return the level of a part of so many samples.

    Examples
    --------
    >>> [level_of(n) for n in (1, 7, 8, 63, 64, 600)]
    [0, 0, 1, 1, 2, 3]
    """
    return sum(n >= LEVEL**power for power in range(1, 11))


class Part:
    """Samples next to each other, from the number `begin` on, and what a kernel made of them for itself."""

    def __init__(self, kernel: FixedKernel, samples: Any, begin: int) -> None:
        self.samples, self.begin, self.end = samples, begin, begin + count(samples)
        self.prepared = kernel.prepared(samples)
        self.diagonal = kernel.diagonal(self.prepared)


def by_part(parts: tuple[Part, ...], numbers: Numbers) -> list[tuple[Any, NDArray[np.intp], NDArray[np.intp]]]:
    """Return samples as the kernel takes them, part by part; which of these are asked for, and where they belong.

    Where most of a part is asked for, that is all of it: nothing has to be taken from what was made of it.
    """
    found = []
    for part in parts:
        at = np.flatnonzero((part.begin <= numbers) & (numbers < part.end))
        own = numbers[at] - part.begin
        if 2 * len(own) >= part.end - part.begin:
            found.append((part.prepared, own, at))
        elif len(own):
            found.append((take(part.prepared, own), np.arange(len(own)), at))
    return found


class KeptObjects(Kept):
    """Samples that are no vectors, such as sequences, in parts of few sizes: what came last is set up most often.

    Parameters
    ----------
    kernel : KernelParameters
        With a kernel object.
    parts : tuple of Part
        One after the other, from number 0 on, each smaller than the one before.
    """

    def __init__(self, kernel: KernelParameters, parts: tuple[Part, ...]) -> None:
        self.kernel, self.parts = kernel, parts
        self._function: FixedKernel = kernel.kernel  # type: ignore[assignment]
        self._rows: RowSource | None = None

    @property
    def rows(self) -> RowSource:
        """Kernel rows."""
        if self._rows is None:
            diagonal = np.concatenate([np.empty(0), *(part.diagonal for part in self.parts)])
            values, parts, function = as_allowed_here(call_kernel), self.parts, self._function

            # The source holds this function, which must not hold the source in turn.
            def evaluate(rows: NDArray[np.int32], columns: NDArray[np.int32]) -> NDArray[np.float64]:
                found = np.empty((len(rows), len(columns)))
                for left, own, r in by_part(parts, rows):
                    for right, others, c in by_part(parts, columns):
                        found[np.ix_(r, c)] = values(function, left, right)[np.ix_(own, others)]
                return found

            self._rows = _core.callable_source(evaluate, len(diagonal), diagonal)
        return self._rows

    def with_more(self, samples: Any, begin: int) -> KeptObjects:
        """Return a store with more samples; small parts in front of these are set up once more, together with them."""
        before = [part for part in self.parts if part.begin < begin]
        if before and before[-1].end > begin:
            last = before.pop()
            samples, begin = joined(take(last.samples, np.arange(begin - last.begin)), samples), last.begin
        while before and level_of(before[-1].end - before[-1].begin) <= level_of(count(samples)):
            last = before.pop()
            samples, begin = joined(last.samples, samples), last.begin
        return KeptObjects(self.kernel, (*before, Part(self._function, samples, begin)))

    def at(self, numbers: Numbers) -> Any:
        """Return some samples."""
        return take(reduce(joined, [part.samples for part in self.parts]), numbers)

    def prepared_at(self, numbers: Numbers) -> Any:
        """Return some samples in their parts."""
        places, begin, found = np.empty(len(numbers), dtype=np.intp), 0, []
        for samples, own, at in by_part(self.parts, numbers):
            places[at] = begin + own
            begin += count(samples)
            found.append(samples)
        return Parts(found, places)

    def among(self, numbers: Numbers) -> tuple[Kept, Numbers]:
        """Return this store, or another one if most of the samples in it have gone."""
        n = len(numbers)
        if int(numbers.max(initial=-1)) < 2 * n + FREE:
            return self, numbers
        part = Part(self._function, self.at(numbers), 0)
        return KeptObjects(self.kernel, (part,)), np.arange(n, dtype=np.int32)

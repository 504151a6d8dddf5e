"""Kernel values between some samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.base import Matrix

Ids = NDArray[np.intp]

#: Gives kernel values in float64 between some samples and others, by their numbers.
Evaluate = Callable[[Ids, Ids], Matrix]


class KernelPart:
    """Kernel values between some of n samples and some others, to be found by the samples' numbers.

    `row_of` and `column_of` say where the values of a sample are, -1 if nowhere.

    Examples
    --------
    >>> part = KernelPart(np.array([[7.0, 8.0]]), np.array([3]), np.array([0, 5]), 6)
    >>> part.block(np.array([3]), np.array([5])).tolist()
    [[8.0]]
    """

    def __init__(self, values: Matrix, rows: Ids, columns: Ids, n: int) -> None:
        self.values, self._columns = values, columns
        self.row_of, self.column_of = np.full((2, n), -1)
        self.row_of[rows], self.column_of[columns] = np.arange(len(rows)), np.arange(len(columns))

    @classmethod
    def whole(cls, values: Matrix) -> KernelPart:
        """All values."""
        part = object.__new__(cls)
        part.values, part._columns = values, np.arange(len(values))
        part.row_of = part.column_of = part._columns
        return part

    def block(self, rows: Ids, columns: Ids) -> Matrix:
        """Values between given samples; not to be written to."""
        at_rows, at_columns = self.row_of[rows], self.column_of[columns]
        whole_rows, whole_columns = _counts_up(at_rows, len(self.values)), _counts_up(at_columns, len(self._columns))
        if whole_rows and whole_columns:
            return self.values
        if whole_columns:
            return np.asarray(self.values[at_rows])
        return np.asarray(self.values[:, at_columns] if whole_rows else self.values[np.ix_(at_rows, at_columns)])


def _counts_up(places: Ids, n: int) -> bool:
    return len(places) == n and bool((places == np.arange(n)).all())

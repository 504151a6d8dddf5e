"""Decision values of samples by models that have not seen them, gathered from folds, and the folds to get them by.

Which fold a sample belongs to depends on what it holds, not on where it stands: equal samples stay together, so that a
sample of weight 2 is a repeated one here, too, and the order of the samples makes no difference. No random numbers are
drawn.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.rows import canonical
from widemargin.machines.classifier import OTHERS, Pair
from widemargin.machines.dual import Vector

Indices = NDArray[np.intp]
Keys = NDArray[np.uint64]

N_FOLDS = 5

#: Numbers of dense samples that are looked at at once.
BLOCK_ENTRIES = 2**18


def function_name(classes: NDArray[Any], pair: Pair) -> tuple[Any, ...]:
    """Name a decision function by the labels of its classes: folds may know fewer classes, and number them otherwise.

    Examples
    --------
    >>> function_name(np.array(["a", "b", "c"]), (0, 2)), function_name(np.array(["a", "b", "c"]), (1, OTHERS))
    (('a', 'c'), ('b',))
    """
    return tuple(classes[[c for c in pair if c != OTHERS]].tolist())


@dataclass
class OutOfFold:
    """Decision values of samples, by the names of the classes that a function tells apart; averages of repeated ones.

    Parameters
    ----------
    n_samples : int

    Examples
    --------
    >>> held_out = OutOfFold(4)
    >>> held_out.add(("a", "b"), np.array([0, 1]), np.array([0.5, 2.0]))
    >>> held_out.add(("a", "b"), np.array([1, 3]), np.array([1.0, -1.0]))
    >>> held_out.values(("a", "b")).tolist(), held_out.values(("a", "c")).tolist()
    ([0.5, 1.5, nan, -1.0], [nan, nan, nan, nan])
    """

    n_samples: int
    _sums: dict[Hashable, tuple[Vector, Vector]] = field(default_factory=dict)

    def add(self, names: Hashable, rows: Indices, values: Vector) -> None:
        """Take decision values of some samples."""
        sums, counts = self._sums.setdefault(names, (np.zeros(self.n_samples), np.zeros(self.n_samples)))
        np.add.at(sums, rows, values)
        np.add.at(counts, rows, 1.0)

    def values(self, names: Hashable) -> Vector:
        """Return the values of all samples, NaN for those that were never held out."""
        missing = np.full(self.n_samples, np.nan)
        if names not in self._sums:
            return missing
        sums, counts = self._sums[names]
        return np.asarray(np.divide(sums, counts, out=missing, where=counts > 0))


def content_folds(X: Any, labels: Indices, weights: Vector, n_folds: int = N_FOLDS) -> Indices:
    """Return the fold of every sample: about as many different ones of each class in each, -1 for those of weight 0.

    Vectors are told apart by what they hold. Other objects, and rows of kernel matrices (`X` is None), are by their
    place.

    Examples
    --------
    >>> X, labels = np.array([[0.5], [1.5], [0.5], [2.5], [3.5], [4.5]]), np.array([0, 0, 0, 0, 1, 1])
    >>> folds = content_folds(X, labels, np.array([1, 1, 1, 1, 0, 1]), n_folds=3)
    >>> bool(folds[0] == folds[2]), sorted(folds[[0, 1, 3]].tolist()), int(folds[4])
    (True, [0, 1, 2], -1)
    """
    return folds_by_key(np.arange(len(labels)) if X is None else row_keys(X), labels, weights, n_folds)


def folds_by_key(keys: NDArray[Any], labels: Indices, weights: Vector, n_folds: int = N_FOLDS) -> Indices:
    """Deal samples into folds of even size, class by class, in the order of their keys; equal keys stay together.

    Examples
    --------
    >>> folds_by_key(np.array([7, 5, 7, 9]), np.zeros(4, dtype=int), np.array([1.0, 1.0, 1.0, 0.0])).tolist()
    [1, 0, 1, -1]
    """
    folds = np.full(len(labels), -1, dtype=np.intp)
    before = 0
    for c in range(int(labels.max()) + 1):
        own = np.flatnonzero((labels == c) & (weights > 0))
        different, numbers = np.unique(keys[own], return_inverse=True)
        folds[own] = (before + numbers) % n_folds
        before += len(different)
    return folds


def row_keys(X: Any) -> Keys:
    """Return a number for each sample that depends on what it holds alone, the same for sparse and for dense ones.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]])
    >>> keys = row_keys(X)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1]), bool((row_keys(sp.csr_array(X)) == keys).all())
    (True, False, True)
    """
    if sp.issparse(X):
        entries = canonical(X)
        mixed = _mixed(entries.data, entries.indices)
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(sums[entries.indptr[1:]] - sums[entries.indptr[:-1]])
    step = max(1, BLOCK_ENTRIES // X.shape[1])
    columns = np.arange(X.shape[1])
    parts = [_mixed(X[at : at + step], columns).sum(axis=1, dtype=np.uint64) for at in range(0, len(X), step)]
    return np.concatenate(parts)


def _mixed(values: NDArray[Any], columns: NDArray[Any]) -> Keys:
    """Scramble the bits of numbers and their columns by the finaliser of SplitMix64; 0 stays 0."""
    bits = values.astype(np.float64).view(np.uint64)
    bits += (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    bits[values == 0] = 0
    return bits

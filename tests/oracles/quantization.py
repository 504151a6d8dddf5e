"""Vector quantisation by splitting, as it is meant [Linde1980]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Cells(NamedTuple):
    labels: NDArray[np.intp]
    means: Matrix
    errors: NDArray[np.float64]  # weighted sums of squared distances to the mean


def measured(X: Matrix, w: NDArray[np.float64], labels: NDArray[np.intp], m: int) -> Cells:
    means, errors = np.zeros((m, X.shape[1])), np.zeros(m)
    for j in np.unique(labels):
        own = labels == j
        means[j] = np.average(X[own], axis=0, weights=w[own])
        errors[j] = w[own] @ ((X[own] - means[j]) ** 2).sum(axis=1)
    return Cells(labels, means, errors)


def filled(X: Matrix, w: NDArray[np.float64], cells: Cells, m: int) -> Cells:
    """Split cells, the worst first, until there are `m` without an empty one, or all samples of each are equal."""
    while True:
        empty = np.setdiff1d(np.arange(m), cells.labels)
        worst_first = np.argsort(-cells.errors, kind="stable")
        split = [j for j in worst_first if len(np.unique(X[cells.labels == j], axis=0)) > 1]
        if not len(empty) or not split:
            labels = np.unique(cells.labels, return_inverse=True)[1]
            return measured(X, w, labels, int(labels.max()) + 1)
        labels = cells.labels.copy()
        for j, free in zip(split, empty, strict=False):
            own = labels == j
            axis = np.argmax(w[own] @ (X[own] - cells.means[j]) ** 2)
            labels[own & (X[:, axis] > cells.means[j, axis])] = free
        cells = measured(X, w, labels, m)


def levels(X: Matrix, w: NDArray[np.float64] | None = None, *, tol: float = 1e-3, rounds: int = 100) -> Iterator[Cells]:
    """Give level after level, for ever."""
    w = np.ones(len(X)) if w is None else w
    cells, m = measured(X, w, np.zeros(len(X), dtype=np.intp), 1), 1
    while True:
        yield cells
        m = min(2 * m, len(X))
        cells = filled(X, w, cells, m)
        for _ in range(rounds):
            before = cells.errors.sum()
            nearest = ((X[:, np.newaxis] - cells.means) ** 2).sum(axis=2).argmin(axis=1)
            found = filled(X, w, measured(X, w, nearest, len(cells.means)), len(cells.means))
            cells = found if found.errors.sum() < before else cells
            if before - cells.errors.sum() <= tol * before:
                break

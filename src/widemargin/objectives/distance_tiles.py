"""Sums of D^k exp(-p D) by pairs of classes, for kernels that are one scale p of distances D."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.kernels import Kernel
from widemargin.objectives.base import Ids, Matrix, Task, Vector
from widemargin.runtime import Lock, free_memory

#: Rows and columns of a tile: with its powers it stays within the cache that a core has to itself.
EDGE = 256

#: Bytes of distances that are kept at most: 512 MiB, all of about 11,500 samples.
MOST_KEPT = 2**29


@dataclass(frozen=True)
class ScaledDistances:
    """A kernel with values exp(-p D), D = `unit` times the squared distance between `points`.

    `points` are the samples as the kernel maps them, whatever p is.
    """

    p: float
    unit: float
    points: Any


def scaled_distances(kernel: Kernel, X: Any) -> ScaledDistances | None:
    """Return a kernel as a scale of distances, or None if it is none.

    It is one if its only free parameter multiplies squared distances, exp(theta) times a constant, and leaves alone how
    samples are mapped. Both are tried out.

    Examples
    --------
    >>> from widemargin.kernels import DiagonalGaussian, Gaussian
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> found = scaled_distances(Gaussian(gamma=0.5), X)
    >>> round(found.p, 12), round(found.unit, 12)
    (0.5, 1.0)
    >>> scaled_distances(DiagonalGaussian(gammas=[1.0, 2.0]), X) is None
    True
    """
    core = kernel.core_kernel
    if kernel.n_dims != 1 or core is None or core.kernel != "rbf":
        return None
    X = kernel.samples(X)
    wider = kernel.clone_with_theta(kernel.theta - 1.0)
    points = kernel.mapped(X)
    core_wider = wider.core_kernel
    if core_wider is None or not np.isclose(core_wider.gamma * math.e, core.gamma, rtol=1e-9, atol=0.0):
        return None
    if not _equal(points[:2], wider.mapped(X[:2])):
        return None
    p = float(np.exp(kernel.theta[0]))
    return ScaledDistances(p, core.gamma / p, points)


@dataclass(frozen=True)
class _Tile:
    """Pairs of samples of classes `a` and `b`.

    Values count `factor` times, and by the `weights` of rows and columns where these differ. `begin` is where distances
    begin if those of all tiles are kept.
    """

    a: int
    b: int
    rows: Ids
    columns: Ids
    on_diagonal: bool
    factor: float
    weights: tuple[Matrix, Vector] | None
    begin: int


def _cut(classes: list[Ids], weights: Vector) -> tuple[list[_Tile], int]:
    """Cut the pairs of samples into tiles, each pair of samples into one, and count the pairs."""
    tiles, total = [], 0
    for a, of_a in enumerate(classes):
        for b in range(a, len(classes)):
            for top in range(0, len(of_a), EDGE):
                for left in range(top if a == b else 0, len(classes[b]), EDGE):
                    rows, columns = of_a[top : top + EDGE], classes[b][left : left + EDGE]
                    on_diagonal = a == b and top == left
                    factor = 2.0 if a == b and not on_diagonal else 1.0
                    each: tuple[Matrix, Vector] | None = weights[rows][:, np.newaxis], weights[columns]
                    if np.ptp(weights[rows]) == 0.0 and np.ptp(weights[columns]) == 0.0:
                        factor, each = factor * float(weights[rows[0]] * weights[columns[0]]), None
                    tiles.append(_Tile(a, b, rows, columns, on_diagonal, factor, each, total))
                    total += len(rows) * len(columns)
    return tiles, total


class DistanceTiles:
    """Squared distances between the samples of a task, tile by tile, each within one pair of classes.

    They are kept from one call to the next as long as samples are mapped the same way, if there is room. Threads may
    call at the same time.

    Parameters
    ----------
    task : Task
        Samples of weight 0 are left out.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        classes = [np.flatnonzero((task.y == c) & (task.weights > 0)) for c in range(task.n_classes)]
        self._tiles, self._n_pairs = _cut(classes, task.weights)
        self._distances: _Distances | None = None
        self._lock = Lock()

    def sums(self, scale: ScaledDistances, n_powers: int, classes: Ids) -> tuple[Matrix, int]:
        """Sum w_i w_j D_ij^k exp(-p D_ij) over pairs of classes, for k = 0 .. n_powers - 1.

        Parameters
        ----------
        scale : ScaledDistances
        n_powers : int
        classes : ndarray of int
            Classes to look at; the others have sums of 0.

        Returns
        -------
        sums : ndarray of shape (n_powers, n_classes, n_classes)
        evaluations : int
            Kernel values that were computed.
        """
        with self._lock:
            if self._distances is None or not _equal(self._distances.points, scale.points):
                self._distances = _Distances(scale.points, self._n_pairs)
            known = self._distances
        found = np.zeros((n_powers, self._task.n_classes, self._task.n_classes))
        room, scratch, evaluations = np.empty(EDGE * EDGE), np.empty(EDGE * EDGE), 0
        wanted = set(classes.tolist())
        for tile in self._tiles:
            if not {tile.a, tile.b} <= wanted:
                continue
            self._task.stop.check()
            distances = known.of(tile, room)
            values = scratch[: distances.size]
            np.multiply(distances, -scale.p * scale.unit, out=values)
            np.exp(values, out=values)
            evaluations += values.size
            if tile.weights is not None:
                matrix = values.reshape(len(tile.rows), -1)
                matrix *= tile.weights[0]
                matrix *= tile.weights[1]
            factor = tile.factor
            found[0, tile.a, tile.b] += factor * float(values.sum())
            for k in range(1, n_powers):
                if k > 1:
                    values *= distances
                factor *= scale.unit
                found[k, tile.a, tile.b] += factor * float(distances @ values)
        return found + np.triu(found, 1).transpose(0, 2, 1), evaluations


class _Distances:
    """Squared distances between points; those of all tiles are kept, once computed, if there is room.

    (|a|^2, a, 1)'(1, -2 b, |b|^2) is a squared distance: one product gives a whole tile.
    """

    def __init__(self, points: Any, n_pairs: int) -> None:
        self.points = points
        keep = 8 * n_pairs <= min(MOST_KEPT, free_memory() // 4)
        self._kept = np.empty(n_pairs) if keep else None
        self._known: set[int] = set()
        self._lock = Lock()
        if not sp.issparse(points):
            away = points - points.mean(axis=0)
            squares, ones = np.einsum("ij,ij->i", away, away), np.ones(len(away))
            self._left = np.column_stack((squares, away, ones))
            self._right = np.column_stack((ones, -2.0 * away, squares))

    def of(self, tile: _Tile, room: Vector) -> Vector:
        """Squared distances of a tile, row after row: those that were kept, or written to `room`."""
        size = len(tile.rows) * len(tile.columns)
        if self._kept is None:
            return self._written(tile, room[:size])
        found = self._kept[tile.begin : tile.begin + size]
        if tile.begin not in self._known:
            with self._lock:
                if tile.begin not in self._known:
                    self._written(tile, found)
                    self._known.add(tile.begin)
        return found

    def _written(self, tile: _Tile, out: Vector) -> Vector:
        matrix = out.reshape(len(tile.rows), -1)
        if sp.issparse(self.points):
            _sparse_distances(self.points[tile.rows], self.points[tile.columns], matrix)
        else:
            np.matmul(self._left[tile.rows], self._right[tile.columns].T, out=matrix)
        np.maximum(matrix, 0.0, out=matrix)
        if tile.on_diagonal:
            np.fill_diagonal(matrix, 0.0)
        return out


def _sparse_distances(A: Any, B: Any, out: Matrix) -> None:
    out[...] = (A @ B.T).toarray()
    out *= -2.0
    for part, axis in ((A, 1), (B, 0)):
        out += np.expand_dims(np.asarray(part.multiply(part).sum(axis=1)).ravel(), axis)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if sp.issparse(one):
        return bool(one.shape == other.shape and (one != other).nnz == 0)
    return bool(np.array_equal(one, other))

"""Naive twins of the objectives that train no machine: whole matrices, no blocks, one formula each."""

from __future__ import annotations

import numpy as np

from widemargin.kernels import Kernel
from widemargin.objectives import Task
from widemargin.testing.protocols import Matrix, Vector


def ideal_kernel(task: Task) -> Matrix:
    """Return the kernel matrix that labels would make: 1 within classes, -1 / (c - 1) between them.

    For regression it is the product of the targets, seen from their mean.

    Examples
    --------
    >>> ideal_kernel(Task(np.zeros((3, 1)), np.array([0, 1, 2]), 3, np.ones(3))).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    if task.n_classes == 0:
        away = task.y - (task.weights @ task.y) / task.weights.sum()
        return np.asarray(np.multiply.outer(away, away))
    same = task.y[:, np.newaxis] == task.y[np.newaxis, :]
    return np.where(same, 1.0, -1.0 / (task.n_classes - 1))


def centred(K: Matrix, weights: Vector) -> Matrix:
    """Return the kernel values between examples seen from their mean in feature space.

    Examples
    --------
    >>> centred(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2)).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weights / weights.sum())
    return np.asarray(H @ K @ H.T)


def polarization(task: Task, kernel: Kernel, *, seen_from_mean: bool = False) -> float:
    """Return kernel polarization, by the sum over all pairs."""
    K, T = kernel(task.X), ideal_kernel(task)
    if seen_from_mean:
        K = centred(K, task.weights)
    return float(np.sum(np.outer(task.weights, task.weights) * T * K))


def target_alignment(task: Task, kernel: Kernel, *, seen_from_mean: bool = False) -> float:
    """Return kernel target alignment, by its definition."""
    K, T = kernel(task.X), ideal_kernel(task)
    if seen_from_mean:
        K, T = centred(K, task.weights), centred(T, task.weights)
    pairs = np.outer(task.weights, task.weights)
    return float(np.sum(pairs * T * K) / np.sqrt(np.sum(pairs * T * T) * np.sum(pairs * K * K)))


def class_distances(task: Task, K: Matrix, problems: str = "one-against-all") -> list[float]:
    """Return the squared distance between the centres of the two sides, for every two-class problem.

    Examples
    --------
    >>> task = Task(np.zeros((2, 1)), np.array([0, 1]), 2, np.ones(2))
    >>> class_distances(task, np.array([[1.0, 0.25], [0.25, 1.0]]))
    [1.5]
    """
    c = task.n_classes
    if problems == "pairs" or c == 2:
        sides = [(task.y == a, task.y == b) for a in range(c) for b in range(a + 1, c)]
    else:
        sides = [(task.y == a, task.y != a) for a in range(c)]
    found = []
    for one, other in sides:
        first, second = (np.where(side, task.weights, 0.0) / task.weights[side].sum() for side in (one, other))
        found.append(float((first - second) @ K @ (first - second)))
    return found

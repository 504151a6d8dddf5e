"""Which samples of a pool are worth a label: near the decision boundary, and unlike each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.prediction import Matrix
from widemargin.machines.dual import Vector


def ambiguities(values: Matrix) -> Vector:
    """Return how far samples are from the nearest boundary, in units of the margin.

    Parameters
    ----------
    values : ndarray of shape (n, functions)
        Decision values of two classes, or of each class against all others: the two largest are compared, which differ
        by two margins where the one says +1 and the other -1.

    Examples
    --------
    >>> ambiguities(np.array([[-0.5], [2.0]])).tolist(), ambiguities(np.array([[1.0, -1.0, 0.5]])).tolist()
    ([0.5, 2.0], [0.25])
    """
    if values.shape[1] == 1:
        return np.abs(values[:, 0])
    second, first = np.partition(values, -2, axis=1)[:, -2:].T
    return np.asarray(0.5 * (first - second))


def near_and_diverse(ambiguity: Vector, distances: Callable[[int], Vector], n: int) -> NDArray[np.intp]:
    """Choose `n` samples one after the other, each the one with the least sum of ambiguity and similarity.

    The similarity of a sample to those chosen before is that to the nearest of them: 1 for an equal sample, 0 for one
    that is as far from it as samples are from the first choice on average, or farther. Distances, not angles as in
    [Brinker2003], so that it does not matter where a kernel has its origin. Of equal sums the first sample wins.

    Parameters
    ----------
    ambiguity : ndarray of shape (m,)
    distances : callable
        Squared distances of all m samples from one of them, in the feature space of the kernel.
    n : int
        At most m.

    Examples
    --------
    >>> x = np.array([0.0, 0.01, 0.02, 1.0])
    >>> near_and_diverse(np.array([0.1, 0.11, 0.12, 0.5]), lambda i: (x - x[i]) ** 2, 2).tolist()
    [0, 3]
    """
    cost, similarity, scale = ambiguity.astype(np.float64), np.zeros(len(ambiguity)), 0.0
    chosen = np.empty(n, dtype=np.intp)
    for number in range(n):
        total = cost + similarity
        chosen[number] = best = int(np.argmin(total))
        cost[best] = np.inf
        if number + 1 == n:
            break
        away = np.maximum(distances(best), 0.0)
        scale = scale if number else float(away.mean())
        if scale > 0:
            similarity = np.maximum(similarity, 1.0 - away / scale)
    return chosen

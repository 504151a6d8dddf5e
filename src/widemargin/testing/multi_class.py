"""Oracles for decisions among more than two classes: fuzzy memberships by their definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def fuzzy_one_against_all(values: ArrayLike) -> NDArray[np.float64]:
    """Memberships from one decision value a class [Abe2005, chapter 3].

    On the line orthogonal to the hyperplane of class j, class i has the membership min(1, D_i) for j = i and
    min(1, -D_j) else; the least of these counts.

    Examples
    --------
    >>> fuzzy_one_against_all([[2.0, -3.0, -0.5]]).tolist()
    [[0.5, -3.0, -2.0]]
    """
    D = np.asarray(values, dtype=np.float64)
    n, k = D.shape
    memberships = np.empty((n, k))
    for x in range(n):
        for i in range(k):
            memberships[x, i] = min(min(1.0, D[x, j]) if j == i else min(1.0, -D[x, j]) for j in range(k))
    return memberships


def fuzzy_one_versus_one(pair_values: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """Memberships from one decision value per pair i < j in lexicographic order, positive for class i.

    Examples
    --------
    >>> fuzzy_one_versus_one([[2.0, 0.5, -0.2]], 3).tolist()
    [[0.5, -2.0, -0.5]]
    """
    values = np.asarray(pair_values, dtype=np.float64)
    D = np.zeros((len(values), n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    D[:, first, second], D[:, second, first] = values, -values
    memberships = np.empty((len(values), n_classes))
    for x in range(len(values)):
        for i in range(n_classes):
            memberships[x, i] = min(min(1.0, D[x, i, j]) for j in range(n_classes) if j != i)
    return memberships

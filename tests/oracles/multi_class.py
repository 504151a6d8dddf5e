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


def vote_one_versus_one(pair_values: ArrayLike, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Votes and summed confidences of the classes, from one decision value per pair i < j in lexicographic order.

    A positive value is a vote for class i, any other value one for class j.

    Examples
    --------
    >>> votes, confidences = vote_one_versus_one([[1.0, 2.0, -3.0]], 3)
    >>> votes.tolist(), confidences.tolist()
    ([[2, 0, 1]], [[3.0, -4.0, 1.0]])
    """
    values = np.asarray(pair_values, dtype=np.float64)
    votes = np.zeros((len(values), n_classes), dtype=np.int64)
    confidences = np.zeros((len(values), n_classes))
    column = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            votes[:, i] += values[:, column] > 0.0
            votes[:, j] += values[:, column] <= 0.0
            confidences[:, i] += values[:, column]
            confidences[:, j] -= values[:, column]
            column += 1
    return votes, confidences


def predict_one_versus_one(pair_values: ArrayLike, n_classes: int, *, break_ties: bool = True) -> NDArray[np.int64]:
    """Return the class with most votes; among classes with equally many, the most confident one (or simply the first).

    Examples
    --------
    >>> predict_one_versus_one([[1.0, -5.0, 2.0]], 3).tolist()
    [2]
    >>> predict_one_versus_one([[1.0, -5.0, 2.0]], 3, break_ties=False).tolist()
    [0]
    """
    votes, confidences = vote_one_versus_one(pair_values, n_classes)
    if not break_ties:
        return np.asarray(votes.argmax(axis=1), dtype=np.int64)
    contenders = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(np.where(contenders, confidences, -np.inf).argmax(axis=1), dtype=np.int64)

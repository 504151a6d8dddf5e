"""Probabilities of more than two classes, from those of two-class machines.

Pairs [Wu2004, second approach]: with r_ij the probability of class i among i and j, p minimises
sum_{i < j} (r_ji p_i - r_ij p_j)^2 subject to sum_i p_i = 1, that is p'Qp with

Q_ii = sum_{s != i} r_si^2,  Q_ij = -r_ji r_ij;

the minimum is not negative anywhere, and is the solution of (Q + ee') p = e, scaled to sum 1 [Wu2004]. Against
all: the probabilities of the classes' own machines, scaled to sum 1.

Neither is bound to agree with what the machines predict. :func:`favoured` moves the probabilities to the nearest ones
that do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

#: Probabilities of two-class machines stay this far off 0 and 1, where there are more classes.
LEAST = 1e-7

#: Numbers of the systems of equations that are solved at once.
BLOCK_ENTRIES = 2**20

#: Factor between probabilities whose logarithms differ, however the compiler rounds these.
TOLD_APART = 1.0 + 2.0**-48


def coupled(pairs: Matrix, n_classes: int) -> Matrix:
    """Couple the probabilities of pairs: O(k^3) for each sample.

    Parameters
    ----------
    pairs : ndarray of shape (n, k (k - 1) / 2)
        Probability of the first class of each pair, in the order (0, 1), (0, 2), ..., (k - 2, k - 1).
    n_classes : int
        k.

    Returns
    -------
    ndarray of shape (n, k)

    Examples
    --------
    >>> coupled(np.array([[0.5, 0.8, 0.8]]), 3).round(4).tolist()
    [[0.4444, 0.4444, 0.1111]]
    """
    pairs = np.clip(pairs, LEAST, 1.0 - LEAST)
    found = np.empty((len(pairs), n_classes))
    first, second = np.triu_indices(n_classes, 1)
    step = max(1, BLOCK_ENTRIES // n_classes**2)
    for begin in range(0, len(pairs), step):
        some = pairs[begin : begin + step]
        beats = np.zeros((len(some), n_classes, n_classes))  # beats[:, i, j] is r_ij
        beats[:, first, second], beats[:, second, first] = some, 1.0 - some
        Q = -beats * beats.transpose(0, 2, 1)
        Q[:, range(n_classes), range(n_classes)] = np.square(beats).sum(axis=1)
        solved = np.linalg.solve(Q + 1.0, np.ones((len(some), n_classes, 1)))[..., 0]
        found[begin : begin + step] = np.maximum(solved, 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def shared(classes: Matrix) -> Matrix:
    """Scale the probabilities of classes, each against all others, to sum 1.

    Examples
    --------
    >>> shared(np.array([[0.6, 0.2, 0.4]])).round(4).tolist()
    [[0.5, 0.1667, 0.3333]]
    """
    some = np.clip(classes, LEAST, 1.0 - LEAST)
    return np.asarray(some / some.sum(axis=1, keepdims=True))


def favoured(probabilities: Matrix, winners: NDArray[np.intp]) -> Matrix:
    """Return the nearest probabilities, by Euclidean distance, whose largest is that of the winner of each row.

    Where another class is ahead, the winner and those ahead of it share what they have in equal parts: those that are
    above the mean of all who share, one after the other. Of equals, the winner has the larger number, by as little as
    their logarithms differ, too.

    Parameters
    ----------
    probabilities : ndarray of shape (n, k)
        Rows of sum 1.
    winners : ndarray of shape (n,)

    Examples
    --------
    >>> favoured(np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]), np.array([2, 1])).round(4).tolist()
    [[0.35, 0.3, 0.35], [0.2, 0.5, 0.3]]
    >>> favoured(np.array([[0.5, 0.4, 0.1]]), np.array([2])).round(4).tolist()
    [[0.3333, 0.3333, 0.3333]]
    """
    found = probabilities.copy()
    wrong = np.flatnonzero(found.argmax(axis=1) != winners)
    if not len(wrong):
        return found
    rows, own = found[wrong], winners[wrong]
    at = np.arange(len(wrong))
    others = rows.copy()
    others[at, own] = -np.inf
    ahead = -np.sort(-others, axis=1)  # the winner, with nothing, comes last
    means = (rows[at, own, np.newaxis] + np.cumsum(ahead[:, :-1], axis=1)) / np.arange(2, rows.shape[1] + 1)
    # The first mean that the next class does not exceed is what all before it share with the winner.
    last = np.argmax(means >= ahead[:, 1:], axis=1)
    level = means[at, last]
    sharing = others >= ahead[at, last][:, np.newaxis]
    sharing[at, own] = True
    rows = np.where(sharing, level[:, np.newaxis], rows)
    rows[at, own] = rows.max(axis=1) * TOLD_APART
    found[wrong] = rows
    return found

"""A machine for each class that separates it from all others.

The problems are those of :mod:`widemargin.machines.classifier`, with label +1 for a class and -1 for every other
example; all of them are over the same examples, and share their kernel values. k problems of n examples stand against
the k (k - 1) / 2 pairs, of 2 n / k examples each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.machines.classifier import OTHERS, PairExamples, PairSolution, Votes, sorted_by_class
from widemargin.machines.dual import Vector

#: Decision value of a class without examples.
ABSENT = -1.0


def classes_against_all(labels: NDArray[np.intp], n_classes: int, weights: Vector) -> list[PairExamples]:
    """List the classes that have examples of positive weight, each with its labels of all such examples.

    Examples
    --------
    >>> found = classes_against_all(np.array([0, 2, 2, 1]), 4, np.array([1.0, 1.0, 0.0, 1.0]))
    >>> [(one.pair[0], one.ids.tolist(), one.signs.tolist()) for one in found]
    [(0, [0, 1, 3], [1.0, -1.0, -1.0]), (1, [0, 1, 3], [-1.0, -1.0, 1.0]), (2, [0, 1, 3], [-1.0, 1.0, -1.0])]
    """
    ids = np.flatnonzero(weights > 0).astype(np.int32)
    own = labels[ids]
    return [
        PairExamples((c, OTHERS), ids, np.where(own == c, 1.0, -1.0))
        for c in range(n_classes)
        if 0 < np.count_nonzero(own == c) < len(ids)
    ]


def gather_against_all(machines: list[PairSolution], labels: NDArray[np.intp], n_classes: int) -> Votes:
    """Collect the coefficients, a row for each class; one without examples has no coefficients and never wins.

    Examples
    --------
    >>> from widemargin.kernels import row_source
    >>> from widemargin.machines.classifier import solve_pairs
    >>> from widemargin.machines.dual import SolverOptions, StopRule
    >>> labels, bounds = np.array([0, 1, 2]), np.ones(3)
    >>> rows = row_source(np.eye(3), kernel="linear")
    >>> problems = classes_against_all(labels, 3, bounds)
    >>> found = solve_pairs(rows, labels, 3, bounds, stop=StopRule(), options=SolverOptions(), problems=problems)
    >>> gather_against_all(found, labels, 3).dual_coef.round(3).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    coefficients = np.zeros((n_classes, len(labels)))
    intercept = np.full(n_classes, ABSENT)
    for machine in machines:
        coefficients[machine.pair[0], machine.ids] = machine.solution.alpha
        intercept[machine.pair[0]] = machine.solution.intercept
    return sorted_by_class(coefficients, intercept, labels, n_classes)

"""Classes against all others: what is listed, what is shared, and what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines.classifier import solve_pairs
from widemargin.machines.dual import SolverOptions, StopRule
from widemargin.machines.one_against_all import classes_against_all, solve_against_all
from widemargin.testing import certificate, classification_case, kernel_matrix, many_class_points

GAMMA, STOP = 0.5, StopRule(tolerance=1e-6)


def machines(X, y, bounds, n_classes, options):
    problems = classes_against_all(y, n_classes, bounds)

    def solve(rows, **how):
        return solve_pairs(rows, y, n_classes, bounds, **how)

    rows = row_source(X, kernel="rbf", gamma=GAMMA)
    return solve_against_all(solve, rows, problems, stop=STOP, options=options)


@pytest.mark.parametrize("cache_bytes", [None, 4096])
def test_each_machine_solves_its_own_problem(cache_bytes):
    X, y = many_class_points(3, 30)
    found = machines(X, y, np.ones(90), 3, SolverOptions(cache_bytes=cache_bytes))
    assert [one.pair[0] for one in found] == [0, 1, 2]
    for one in found:
        case = classification_case("", X, np.where(y == one.pair[0], 1.0, -1.0), 1.0, gamma=GAMMA)
        assert certificate(case, kernel_matrix(X, gamma=GAMMA), one.solution.alpha).kkt_violation < 1e-4


def test_a_matrix_that_is_shared_is_counted_once():
    X, y = many_class_points(4, 40)
    n = len(y)
    found = machines(X, y, np.ones(n), 4, SolverOptions())
    counts = [one.outcome.kernel_evaluations for one in found]
    assert counts[1] >= n * n
    assert max(counts[2:]) < n * n

"""The certificates against their definitions, the primal problem and hand-made solutions."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.testing import (
    Case,
    certificate,
    check_feasible,
    classification_case,
    duality_gap,
    intercept,
    kkt_violation,
    objective,
    project,
    small_cases,
    solve_exactly,
)

CASES = list(small_cases())


def _somewhere(case: Case, seed: int) -> np.ndarray:
    width = case.upper - case.lower
    return project(
        case.lower + width * np.random.default_rng(seed).uniform(-0.5, 1.5, width.size), case.lower, case.upper
    )


@pytest.mark.parametrize("case", [case for case in CASES if set(case.linear) == {-1.0, 1.0}], ids=str)
def test_gap_is_primal_minus_dual_for_a_classifier(case: Case) -> None:
    alpha = _somewhere(case, 1)
    gradient = case.linear - case.gram @ alpha
    b = intercept(case, alpha, gradient)
    norm = float(alpha @ case.gram @ alpha)
    slack = np.maximum(0.0, 1.0 - case.linear * (case.gram @ alpha + b))
    primal = 0.5 * norm + float(np.maximum(case.upper, -case.lower) @ slack)
    dual = float(case.linear @ alpha) - 0.5 * norm
    assert objective(case, alpha, gradient) == pytest.approx(dual, rel=1e-10, abs=1e-10)
    assert duality_gap(case, alpha, gradient) == pytest.approx(primal - dual, rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gap_bounds_the_distance_to_the_optimum(case: Case) -> None:
    best = certificate(case, case.gram, solve_exactly(case, case.gram)).objective
    for seed in range(5):
        found = certificate(case, case.gram, _somewhere(case, seed))
        assert best - found.objective <= found.duality_gap + 1e-9
        assert found.kkt_violation > 0.0
    assert best >= 0.0 == certificate(case, case.gram, np.zeros(case.linear.size)).objective


def test_violation_counts_only_variables_that_can_move() -> None:
    case = classification_case("three", np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0]), 1.0)
    gradient = np.array([5.0, 0.0, 3.0])
    assert kkt_violation(case, np.zeros(3), gradient) == 5.0
    # The first variable at its upper bound cannot rise, so the third one leads; the second can fall or not.
    assert kkt_violation(case, np.array([1.0, -0.5, 0.0]), gradient) == 3.0
    assert kkt_violation(case, np.array([1.0, -1.0, 0.0]), gradient) == 0.0


def test_violation_of_a_crossed_pair_is_zero() -> None:
    case = classification_case("two", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 1.0)
    assert kkt_violation(case, np.zeros(2), np.array([-1.0, 1.0])) == 0.0


def test_intercept_prefers_free_variables_then_the_middle() -> None:
    case = classification_case("two", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 1.0)
    gradient = np.array([0.25, 0.5])
    assert intercept(case, np.array([0.5, -0.5]), gradient) == 0.375
    assert intercept(case, np.array([0.5, -1.0]), gradient) == 0.25
    assert intercept(case, np.array([1.0, -1.0]), gradient) == 0.375
    frozen = Case("frozen", case.linear, np.zeros(2), np.zeros(2), case.gram, case.points, "rbf", 1.0)
    assert intercept(frozen, np.zeros(2), gradient) == 0.0


def test_gap_with_infinite_bounds() -> None:
    case = classification_case("hard", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), np.inf, kernel="linear")
    assert certificate(case, case.gram, np.array([2.0, -2.0])).duality_gap == 0.0
    assert certificate(case, case.gram, np.array([1.0, -1.0])).duality_gap == np.inf


def test_infeasible_points_are_named() -> None:
    case = classification_case("two", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 1.0)
    check_feasible(case, np.array([1.0, -1.0]))
    with pytest.raises(AssertionError, match="variable 0 must lie in"):
        check_feasible(case, np.array([1.5, -1.0]))
    with pytest.raises(AssertionError, match="variable 1 must lie in"):
        check_feasible(case, np.array([1.0, -1.0 - 1e-15 * 8]))
    with pytest.raises(AssertionError, match="must sum to"):
        check_feasible(case, np.array([1.0, -0.5]))
    with pytest.raises(AssertionError, match="variable 1 is not"):
        check_feasible(case, np.array([1.0, np.nan]))
    assert certificate(case, case.gram, np.array([1.5, -1.0])).infeasibility == 0.5

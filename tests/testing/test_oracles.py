"""The oracles against independent judges: scipy's optimisers, scikit-learn's kernels and scikit-learn's models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import coo_array, csr_matrix
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from widemargin.testing import (
    Case,
    certificate,
    check_feasible,
    chess_board_case,
    kernel_matrix,
    project,
    small_cases,
    solve_exactly,
)

CASES = list(small_cases())


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        ("linear", {}),
        ("poly", {"gamma": 0.3, "coef0": 1.5, "degree": 4}),
        ("rbf", {"gamma": 0.7}),
        ("sigmoid", {"gamma": 0.2, "coef0": -1.0}),
    ],
)
def test_kernels_agree_with_scikit_learn(kernel: str, parameters: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(12, 4)), rng.normal(size=(7, 4))
    expected = pairwise.pairwise_kernels(A, B, metric=kernel, **parameters)
    np.testing.assert_allclose(kernel_matrix(A, B, kernel=kernel, **parameters), expected, rtol=1e-12, atol=1e-14)
    found = kernel_matrix(csr_matrix(A), coo_array(B), kernel=kernel, **parameters)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_gaussian_kernel_does_not_cancel_under_an_offset() -> None:
    points = np.round(np.random.default_rng(1).normal(size=(9, 3)) * 64.0) / 64.0
    assert np.array_equal(kernel_matrix(points + 1e8), kernel_matrix(points))


def test_unknown_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kernel must be one of .* got 'cosine'"):
        kernel_matrix([[1.0]], kernel="cosine")


@given(
    st.lists(
        st.tuples(st.floats(-50, 50), st.floats(-10, 0), st.floats(0, 10)),
        min_size=1,
        max_size=12,
    )
)
def test_projection_is_feasible_and_nearest(rows: list[tuple[float, float, float]]) -> None:
    alpha, lower, upper = np.array(rows).T
    found = project(alpha, lower, upper)
    assert (found >= lower).all()
    assert (found <= upper).all()
    assert abs(found.sum()) <= 1e-9
    # Nearest point of a convex set: no feasible exchange between two variables may come closer to alpha.
    pull = alpha - found
    rising, falling = pull[found < upper], pull[found > lower]
    if rising.size and falling.size:
        assert rising.max() - falling.min() <= 1e-9


def test_projection_leaves_feasible_points_alone() -> None:
    for case in CASES:
        best = solve_exactly(case, case.gram)
        assert np.array_equal(project(best, case.lower, case.upper), best)


def test_projection_to_another_total_and_its_limits() -> None:
    np.testing.assert_allclose(project([0.0, 0.0], [0.0, 0.0], [1.0, 3.0], 3.0), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"total must lie between .* got 5.0"):
        project([0.0, 0.0], [0.0, 0.0], [1.0, 3.0], 5.0)


@pytest.mark.parametrize("case", [*CASES, chess_board_case(120, 1e4)], ids=str)
def test_exact_solver_reaches_a_vanishing_gap(case: Case) -> None:
    alpha = solve_exactly(case, case.gram)
    check_feasible(case, alpha)
    found = certificate(case, case.gram, alpha)
    assert found.kkt_violation <= 1e-10 * max(1.0, (np.abs(case.gram) @ np.abs(alpha)).max())
    assert abs(found.duality_gap) <= 1e-9 * max(1.0, abs(found.objective))


@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_exact_solver_agrees_with_a_general_optimiser(case: Case) -> None:
    outcome = minimize(
        lambda a: 0.5 * a @ case.gram @ a - case.linear @ a,
        np.zeros(case.linear.size),
        jac=lambda a: case.gram @ a - case.linear,
        method="SLSQP",
        bounds=list(zip(case.lower, case.upper, strict=True)),
        constraints=[LinearConstraint(np.ones((1, case.linear.size)), 0.0, 0.0)],
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    reached = certificate(case, case.gram, solve_exactly(case, case.gram)).objective
    assert reached == pytest.approx(-outcome.fun, rel=1e-6)
    assert reached >= -outcome.fun - 1e-8


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_exact_solver_agrees_with_scikit_learn(kernel: str) -> None:
    case = next(case for case in CASES if case.kernel == kernel and "bounded" not in case.name)
    weights = np.maximum(case.upper, -case.lower)
    model = SVC(kernel="precomputed", tol=1e-10).fit(case.gram, case.linear, sample_weight=weights)
    found = certificate(case, case.gram, solve_exactly(case, case.gram))
    np.testing.assert_allclose(
        model.decision_function(case.gram), case.linear - found.gradient + found.intercept, rtol=1e-4, atol=1e-4
    )
    theirs = np.zeros(case.linear.size)
    kept = np.flatnonzero(weights)
    # scikit-learn numbers support vectors among the rows of positive weight.
    theirs[kept[model.support_] if kept.size < weights.size else model.support_] = model.dual_coef_[0]
    assert certificate(case, case.gram, theirs).objective == pytest.approx(found.objective, rel=1e-7)


def test_exact_solver_honours_another_total() -> None:
    # The one-class problem: no linear term, boxes [0, 1], a fixed positive sum.
    points = np.random.default_rng(3).normal(size=(30, 2))
    gram = kernel_matrix(points, gamma=0.5)
    case = Case("one-class", np.zeros(30), np.zeros(30), np.ones(30), gram, points, "rbf", 0.5)
    alpha = solve_exactly(case, gram, total=6.0)
    check_feasible(case, alpha, total=6.0)
    assert certificate(case, gram, alpha, total=6.0).kkt_violation <= 1e-9


def test_exact_solver_says_when_it_fails() -> None:
    case = CASES[-1]
    with pytest.raises(RuntimeError, match="did not reach a violation"):
        solve_exactly(case, case.gram, max_iterations=1)

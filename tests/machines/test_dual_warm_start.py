"""A solve starts where the last one ended: another penalty, another fold, another gradient."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines.dual import DualProblem, Solution, SolverOptions, StopRule, solve
from widemargin.testing import Case, certificate, check_feasible, check_solution, chess_board_case, classification_case
from widemargin.testing.contracts import optimum

SOLVERS = ("smo", "block")


def _noisy(n: int, penalty: float) -> Case:
    rng = np.random.default_rng(5)
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return classification_case(
        f"noisy-{penalty}", rng.normal(size=(n, 4)) + 0.6 * labels[:, None], labels, penalty, gamma=0.2
    )


def _solve(case: Case, solver: str, tolerance: float = 1e-4, **start: np.ndarray | None) -> Solution:
    return solve(
        DualProblem(case.linear, case.lower, case.upper),
        row_source(case.gram, kernel="precomputed"),
        stop=StopRule(tolerance=tolerance),
        options=SolverOptions(solver=solver),
        **start,
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("factor", [1.05, 0.95, 3.0])
def test_another_penalty(solver: str, factor: float) -> None:
    before, after = _noisy(250, 2.0), _noisy(250, 2.0 * factor)
    first = _solve(before, solver)
    cold = _solve(after, solver)
    warm = _solve(after, solver, start=first.alpha)
    found = check_solution(after, after.gram, warm, 1e-4)
    best = certificate(after, after.gram, optimum(after)).objective
    assert found.objective == pytest.approx(best, rel=1e-6)
    if factor < 2.0:
        assert warm.outcome.iterations < cold.outcome.iterations


@pytest.mark.parametrize("solver", SOLVERS)
def test_scaling_the_start_with_the_penalty_is_allowed(solver: str) -> None:
    before, after = _noisy(150, 1.0), _noisy(150, 1.5)
    warm = _solve(after, solver, start=1.5 * _solve(before, solver).alpha)
    check_solution(after, after.gram, warm, 1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_folds_share_one_kernel_and_start_from_the_whole(solver: str) -> None:
    whole = _noisy(200, 2.0)
    everything = _solve(whole, solver)
    for fold in range(4):
        held = np.arange(200) % 4 == fold
        lower, upper = np.where(held, 0.0, whole.lower), np.where(held, 0.0, whole.upper)
        case = Case(f"fold-{fold}", whole.linear, lower, upper, whole.gram, whole.points, "rbf", whole.gamma)
        warm = _solve(case, solver, start=everything.alpha)
        found = check_solution(case, case.gram, warm, 1e-4)
        assert not warm.alpha[held].any()
        # The decision values of the held-out rows fall out of the gradient: f(x_n) = y_n - G_n + b.
        values = whole.gram[held] @ warm.alpha + found.intercept
        np.testing.assert_allclose(whole.linear[held] - warm.gradient[held] + found.intercept, values, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_interrupted_solve_is_continued(solver: str) -> None:
    case = chess_board_case(150, 1000.0)
    problem, rows = DualProblem(case.linear, case.lower, case.upper), row_source(case.gram, kernel="precomputed")
    state, rounds = None, 0
    while rounds < 10_000:
        rounds += 1
        state = solve(
            problem,
            rows,
            stop=StopRule(tolerance=1e-3, max_iterations=200),
            options=SolverOptions(solver=solver),
            start=None if state is None else state.alpha,
            start_gradient=None if state is None else state.gradient,
        )
        check_feasible(case, state.alpha)
        if state.outcome.reason == "converged":
            break
    assert rounds > 1
    check_solution(case, case.gram, state, 1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_wrong_gradient_cannot_make_a_wrong_claim(solver: str) -> None:
    case = _noisy(120, 2.0)
    start = 0.5 * optimum(case)
    # A gradient that says "optimal" where the point is not: what is reported is recomputed, so it must not be believed.
    solution = _solve(case, solver, start=start, start_gradient=np.zeros(120))
    check_solution(case, case.gram, solution, 1e-4)


def _moved_by_gradient(problem: DualProblem, start: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Raise what gains most, or lower what loses least, one after the other until the sum is met."""
    alpha = np.clip(start, problem.lower, problem.upper)
    kink = np.zeros(len(alpha)) if problem.kink is None else problem.kink
    sign = np.sign(problem.total[0] - alpha.sum())
    end = problem.upper if sign > 0 else -problem.lower
    while sign * (problem.total[0] - alpha.sum()) > 1e-9:
        gain = sign * gradient - np.where(sign * alpha < 0, -kink, kink)
        p = np.argmax(np.where(sign * alpha < end, gain, -np.inf))
        further = 0.0 if kink[p] > 0 and sign * alpha[p] < 0 else end[p]
        alpha[p] += sign * min(further - sign * alpha[p], sign * (problem.total[0] - alpha.sum()))
    return alpha


@pytest.mark.parametrize("known", [False, True], ids=["gradient unknown", "gradient known"])
@pytest.mark.parametrize("kinks", [False, True], ids=["smooth", "kinks"])
@pytest.mark.parametrize("shift", [-0.4, 0.0, 0.4])
def test_a_start_is_moved_onto_the_sum_by_its_gradient(shift: float, kinks: bool, known: bool) -> None:
    case, rng = _noisy(80, 2.0), np.random.default_rng(1)
    lower, upper = (-np.full(80, 2.0), np.full(80, 2.0)) if kinks else (case.lower, case.upper)
    problem = DualProblem(case.linear, lower, upper, kink=rng.uniform(0.1, 0.5, size=80) if kinks else None)
    start = np.where(rng.random(80) < 0.5, 0.0, np.clip(rng.normal(size=80) + shift, lower, upper))
    gradient = case.linear - case.gram @ start
    found = solve(
        problem,
        row_source(case.gram, kernel="precomputed"),
        stop=StopRule(max_iterations=0),
        start=start,
        start_gradient=gradient if known else None,
    )
    assert found.outcome.reason == "iteration budget"
    np.testing.assert_allclose(found.alpha, _moved_by_gradient(problem, start, gradient), atol=1e-8)
    assert np.count_nonzero(found.alpha != start) < 40
    np.testing.assert_allclose(found.gradient, case.linear - case.gram @ found.alpha, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_gradient_given_with_an_infeasible_start_is_that_of_the_start(solver: str) -> None:
    case = _noisy(120, 2.0)
    start = optimum(case) + 0.3
    solution = _solve(case, solver, start=start, start_gradient=case.linear - case.gram @ start)
    check_solution(case, case.gram, solution, 1e-4)


def test_a_start_with_nan_is_refused() -> None:
    case = _noisy(20, 1.0)
    start = np.zeros(20)
    start[3] = np.nan
    with pytest.raises(ValueError, match="start"):
        _solve(case, "smo", start=start)


@pytest.mark.parametrize("part", [0.7, 1.0 / 3.0, 2.0 / 3.0])
def test_rounding_makes_no_coefficient_when_a_start_is_moved_onto_the_sum(part: float) -> None:
    """Twenty variables go to their bounds, which makes up the sum but for rounding; the others stay at 0."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    start, gradient = np.repeat([1.0, part, 0.0], [44, 20, 16]), np.repeat([1.0, -1.0], [64, 16])
    problem = DualProblem(np.zeros(80), np.zeros(80), np.ones(80), (64.0, 0.0))
    rows, stop = row_source(X, gamma=0.02), StopRule(max_iterations=0)
    found = solve(problem, rows, stop=stop, start=start, start_gradient=gradient)
    np.testing.assert_array_equal(found.alpha, np.repeat([1.0, 0.0], [64, 16]))

"""Problems with kinks: they have the solutions of their mirrored twins, wherever a solve starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from oracles.reference import ReferenceSolver
from widemargin.kernels.rows import derived_rows, row_source
from widemargin.machines.dual import (
    COMBINATIONS,
    DualProblem,
    Solution,
    SolverOptions,
    StopRule,
    Subproblem,
    project,
    solve,
    solve_all,
)
from widemargin.testing import (
    Case,
    certificate,
    check_solution,
    duality_gap,
    intercept,
    kernel_matrix,
    kinked_cases,
    kkt_violation,
    mirror,
    objective,
    regression_case,
    solve_exactly,
    unmirror,
)
from widemargin.testing.checks import slopes

TOLERANCE = 1e-7
SEEDS = range(60)
CASES = list(kinked_cases())
ENDS = ("as-it-is", "no-kink", "no-kinks", "one-sided", "some-frozen", "with-a-sum", "huge-kink", "equal-targets")


def _case(seed: int, end: str) -> tuple[Case, float]:
    """Draw a problem that ends in one of several ways, and the sum of its variables."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    points = rng.normal(size=(n, 2))
    points[rng.random(n) < 0.2] = points[0]
    kernel = ("rbf", "linear", "poly")[seed % 3]
    # Bounds and targets on a grid: ties, and steps that end on several bounds at once.
    upper, targets = rng.choice([0.25, 1.0, 4.0], size=n), 0.5 * rng.integers(-4, 5, size=n)
    if seed % 2:
        upper, targets = 10.0 ** rng.uniform(-2.0, 1.0, size=n), rng.normal(size=n)
    case = regression_case(f"{end}-{seed}", points, targets, upper, rng.choice([0.05, 0.25, 1.0]), kernel=kernel)
    lower, kink, total = case.lower.copy(), np.array(case.kink), 0.0
    if end == "no-kink":
        kink[rng.random(n) < 0.5] = 0.0
    elif end == "no-kinks":
        kink[:] = 0.0
    elif end == "one-sided":
        side = rng.integers(0, 3, size=n)
        upper, lower = np.where(side == 1, 0.0, upper), np.where(side == 2, 0.0, lower)
    elif end == "some-frozen":
        frozen = rng.random(n) < 0.4
        upper, lower = np.where(frozen, 0.0, upper), np.where(frozen, 0.0, lower)
    elif end == "with-a-sum":
        total = float(0.8 * rng.uniform(lower.sum(), upper.sum()))
    elif end == "huge-kink":
        kink[rng.random(n) < 0.5] = 100.0
    elif end == "equal-targets":
        targets = np.full(n, 2.0)
    linear = np.asarray(targets, dtype=np.float64)
    return replace(case, linear=linear, lower=lower, upper=np.asarray(upper), kink=kink), total


def _solve(case: Case, total: float = 0.0, *, start: Any = None, start_gradient: Any = None, **parts: Any) -> Solution:
    return solve(
        DualProblem(case.linear, case.lower, case.upper, total=(total, 0.0), kink=case.kink),
        row_source(case.gram, kernel="precomputed"),
        stop=StopRule(tolerance=parts.pop("tolerance", TOLERANCE)),
        options=SolverOptions(**parts),
        start=start,
        start_gradient=start_gradient,
    )


def _check(case: Case, total: float, solution: Solution, best: float) -> None:
    found = certificate(case, case.gram, solution.alpha, total=total)
    outcome = solution.outcome
    assert outcome.reason == "converged"
    assert found.infeasibility <= 1e-11 * max(1.0, np.abs(solution.alpha).sum())
    np.testing.assert_allclose(solution.gradient, found.gradient, atol=1e-10)
    assert found.kkt_violation <= 1.001 * TOLERANCE
    assert outcome.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-9)
    assert outcome.objective == pytest.approx(found.objective, rel=1e-9, abs=1e-9)
    assert outcome.duality_gap == pytest.approx(found.duality_gap, abs=1e-7)
    assert outcome.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("end", ENDS)
def test_a_kinked_problem_has_the_solution_of_its_mirrored_twin(end: str, seed: int) -> None:
    case, total = _case(seed, end)
    best = certificate(case, case.gram, solve_exactly(case, case.gram, total=total)).objective
    twins, _ = mirror(case, case.gram)
    n = len(case.linear)
    mirrored = solve(
        DualProblem(twins.linear, twins.lower, twins.upper, total=(total, 0.0)),
        derived_rows(row_source(case.gram, kernel="precomputed"), base=np.tile(np.arange(n), 2)),
        stop=StopRule(tolerance=TOLERANCE),
        options=SolverOptions(dtype="float64"),
    )
    assert mirrored.outcome.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    for parts in (COMBINATIONS[seed % len(COMBINATIONS)], {"solver": "auto"}, {"solver": "smo"}, {"solver": "block"}):
        solution = _solve(case, total, **parts)
        _check(case, total, solution, best)
        # The function is unique where the coefficients are not.
        function = case.gram @ solution.alpha
        np.testing.assert_allclose(function, case.gram @ unmirror(mirrored.alpha), atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("end", ENDS)
def test_every_start_leads_to_the_same_solution(end: str, seed: int) -> None:
    case, total = _case(seed, end)
    best = solve_exactly(case, case.gram, total=total)
    gradient = case.linear - case.gram @ best
    highest = certificate(case, case.gram, best).objective
    rng = np.random.default_rng(seed)
    starts: dict[str, dict[str, Any]] = {
        "its end": {"start": best},
        "its end and gradient": {"start": best, "start_gradient": gradient},
        "the other sign": {"start": -best},
        "anywhere": {"start": rng.normal(size=len(best), scale=3.0)},
        "all at bounds": {"start": np.where(rng.random(len(best)) < 0.5, case.lower, case.upper)},
    }
    other = project(-best, DualProblem(case.linear, case.lower, case.upper, kink=case.kink), total)
    starts["the other sign and gradient"] = {"start": other, "start_gradient": case.linear - case.gram @ other}
    for name, start in starts.items():
        given = {key: value.copy() for key, value in start.items()}
        for solver in ("smo", "block", "auto"):
            solution = _solve(case, total, solver=solver, **given)
            _check(case, total, solution, highest)
            if name.startswith("its end"):
                assert solution.outcome.iterations <= 2, name
        for key, value in start.items():
            np.testing.assert_array_equal(given[key], value)


@pytest.mark.parametrize("solver", ["smo", "block", "auto"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(10))
def test_boxes_without_bounds_and_a_ridge(seed: int, epsilon: float, solver: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    points, y, ridge = rng.normal(size=(n, 2)), rng.normal(size=n), rng.uniform(0.05, 2.0, size=n)
    infinite, nothing, kink = np.full(n, np.inf), np.zeros(n), np.full(n, epsilon)
    rows, how = row_source(points), {"stop": StopRule(tolerance=TOLERANCE), "options": SolverOptions(solver=solver)}
    problem = DualProblem(y, -infinite, infinite, kink=kink)
    once = solve(problem, derived_rows(rows, ridge=ridge), **how)  # type: ignore[arg-type]
    mirrored = solve(
        DualProblem(np.r_[y - kink, y + kink], np.r_[nothing, -infinite], np.r_[infinite, nothing]),
        derived_rows(rows, base=np.tile(np.arange(n), 2), ridge=np.tile(ridge, 2)),
        **how,  # type: ignore[arg-type]
    )
    gram = kernel_matrix(points) + np.diag(ridge)
    found = certificate(problem, gram, once.alpha)
    assert once.outcome.reason == "converged"
    assert found.kkt_violation <= 1.001 * TOLERANCE
    assert once.outcome.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-10)
    assert once.outcome.objective == pytest.approx(found.objective, rel=1e-9)
    assert once.outcome.objective == pytest.approx(mirrored.outcome.objective, rel=1e-9)
    np.testing.assert_allclose(once.alpha, unmirror(mirrored.alpha), atol=1e-5)
    assert once.intercept == pytest.approx(mirrored.intercept, abs=1e-5)
    # The loss beyond the tube is squared: t^2 / (2 D) for what a residual exceeds epsilon by.
    beyond = np.maximum(0.0, np.abs(found.gradient + ridge * once.alpha - once.intercept) - epsilon)
    primal = 0.5 * once.alpha @ (gram - np.diag(ridge)) @ once.alpha + (beyond**2 / (2.0 * ridge)).sum()
    assert once.outcome.duality_gap == pytest.approx(primal - found.objective, abs=1e-9)
    resumed = solve(problem, derived_rows(rows, ridge=ridge), start=once.alpha, start_gradient=once.gradient, **how)  # type: ignore[arg-type]
    assert resumed.outcome.iterations <= 2


@pytest.mark.parametrize("budget", [0, 1, 3, 10, 30, 100])
@pytest.mark.parametrize("solver", ["smo", "block", "auto"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_budget_ends_with_numbers_of_both_sides_of_the_kinks(case: Case, solver: str, budget: int) -> None:
    # A solver that ends early may have variables at 0 on the side that matters less; what it reports is of both.
    problem = DualProblem(case.linear, case.lower, case.upper, kink=case.kink)
    stop = StopRule(tolerance=1e-9, max_iterations=budget)
    rows = row_source(case.gram, kernel="precomputed")
    solution = solve(problem, rows, stop=stop, options=SolverOptions(solver=solver))
    found = certificate(case, case.gram, solution.alpha)
    assert solution.outcome.iterations <= budget
    assert solution.outcome.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-9)
    assert solution.outcome.duality_gap == pytest.approx(found.duality_gap, abs=1e-7)
    assert solution.outcome.objective == pytest.approx(found.objective, abs=1e-8)


@pytest.mark.parametrize("solver", ["smo", "block", "auto"])
def test_a_solve_does_not_end_between_two_sides_that_both_look_optimal(solver: str) -> None:
    # After the first step the variables at 0 are all on sides without any violation, but not on the right ones.
    bounds = np.array([1.0, 0.5, 0.5, 0.5])
    linear = np.array([-3.0, -2.0, -4.0, 3.0])
    case = Case("sides", linear, -bounds, bounds, np.eye(4), np.eye(4), "linear", 1.0, np.zeros(4))
    check_solution(case, case.gram, _solve(case, solver=solver), TOLERANCE)


def test_some_examples_of_a_row_source() -> None:
    case = CASES[-1]
    ids = np.flatnonzero(np.arange(len(case.linear)) % 3 > 0).astype(np.int32)
    part = replace(
        case,
        linear=case.linear[ids],
        lower=case.lower[ids],
        upper=case.upper[ids],
        gram=case.gram[np.ix_(ids, ids)],
        kink=None if case.kink is None else case.kink[ids],
    )
    problem = DualProblem(part.linear, part.lower, part.upper, kink=part.kink)
    rows = row_source(case.points, kernel=case.kernel, gamma=case.gamma)
    (solution,) = solve_all([Subproblem(ids, problem)], rows, stop=StopRule(tolerance=1e-6), options=SolverOptions())
    check_solution(part, part.gram, solution, 1e-6)


def test_the_number_of_threads_changes_nothing() -> None:
    case = CASES[-1]
    problem = DualProblem(case.linear, case.lower, case.upper, kink=case.kink)
    rows = row_source(case.points, kernel=case.kernel, gamma=case.gamma)
    one, two = (solve(problem, rows, options=SolverOptions(n_threads=threads)) for threads in (1, 2))
    assert np.array_equal(one.alpha, two.alpha)
    assert one.outcome.iterations == two.outcome.iterations


def test_geometric_solvers_refuse_kinks() -> None:
    problem = DualProblem(np.zeros(3), np.zeros(3), np.ones(3), total=(1.0, 0.0), kink=np.zeros(3))
    with pytest.raises(ValueError, match=r"solver='mdm'.*has kinks; 'smo'"):
        solve(problem, row_source(np.eye(3), kernel="precomputed"), options=SolverOptions(solver="mdm"))


def test_the_reference_solver_refuses_kinks() -> None:
    case = CASES[0]
    with pytest.raises(ValueError, match="kinks"):
        ReferenceSolver()(case, case.gram, tolerance=1e-3)


def test_numbers_of_any_type_and_stride_are_converted() -> None:
    y, kink = np.array([3, -1, -2]), np.arange(6, dtype=np.float32)[::2] / 2
    rows = row_source(np.array([[0.0], [1.0], [3.0]]), kernel="linear")
    given = solve(DualProblem(y, -np.ones(6)[::2], np.ones(3), kink=kink), rows)  # type: ignore[arg-type]
    converted = DualProblem(y.astype(np.float64), -np.ones(3), np.ones(3), kink=kink.astype(np.float64))
    np.testing.assert_array_equal(given.alpha, solve(converted, rows).alpha)
    assert given.alpha.any()


def test_the_projection_knows_no_kinks() -> None:
    lower, upper, point = -np.ones(3), np.array([0.0, 1.0, 2.0]), np.array([3.0, -0.5, 0.7])
    plain = DualProblem(np.zeros(3), lower, upper)
    np.testing.assert_array_equal(project(point, replace(plain, kink=np.ones(3))), project(point, plain))


# What the tests above rest on.


@pytest.mark.parametrize("seed", range(8))
def test_slopes_are_the_differences_of_the_objective(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = CASES[seed]
    alpha = np.where(rng.random(len(case.linear)) < 0.5, 0.0, rng.normal(size=len(case.linear)))

    def value(point: np.ndarray) -> float:
        assert case.kink is not None
        return float(case.linear @ point - case.kink @ np.abs(point) - 0.5 * point @ case.gram @ point)

    assert objective(case, alpha, case.linear - case.gram @ alpha) == pytest.approx(value(alpha), rel=1e-12, abs=1e-12)
    upwards, downwards = slopes(case, alpha, case.linear - case.gram @ alpha)
    step = 1e-6
    for n, unit in enumerate(np.eye(len(alpha))[:10]):
        assert (value(alpha + step * unit) - value(alpha)) / step == pytest.approx(upwards[n], abs=1e-4)
        assert (value(alpha) - value(alpha - step * unit)) / step == pytest.approx(downwards[n], abs=1e-4)


@pytest.mark.parametrize("offset", [None, 0.3])
def test_the_gap_is_the_primal_objective_minus_the_dual_one(offset: float | None) -> None:
    case = CASES[2]
    alpha = 0.7 * solve_exactly(case, case.gram)
    gradient = case.linear - case.gram @ alpha
    b = intercept(case, alpha, gradient) if offset is None else offset
    residuals = np.abs(case.linear - case.gram @ alpha - b)
    primal = 0.5 * alpha @ case.gram @ alpha + case.upper @ np.maximum(0.0, residuals - case.kink)
    expected = primal - objective(case, alpha, gradient)
    assert expected > 1e-2
    assert duality_gap(case, alpha, gradient, offset) == pytest.approx(expected, rel=1e-12)


def test_the_exact_solver_agrees_with_a_general_one() -> None:
    rng = np.random.default_rng(1)
    case = regression_case("small", rng.normal(size=(8, 2)), rng.normal(size=8), rng.uniform(0.2, 2.0, size=8), 0.2)
    twins, gram = mirror(case, case.gram)
    reached = minimize(
        lambda a: 0.5 * a @ gram @ a - twins.linear @ a,
        np.zeros(16),
        jac=lambda a: gram @ a - twins.linear,
        method="SLSQP",
        bounds=list(zip(twins.lower, twins.upper, strict=True)),
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    alpha = solve_exactly(case, case.gram)
    found = certificate(case, case.gram, alpha)
    assert found.objective == pytest.approx(-reached.fun, rel=1e-8)
    assert found.kkt_violation <= 1e-9
    assert kkt_violation(case, 0.9 * alpha, case.linear - 0.9 * case.gram @ alpha) > 1e-3
    np.testing.assert_allclose(alpha, unmirror(reached.x), atol=1e-4)


@pytest.mark.parametrize("max_iterations", [1, 10, 50])
def test_steps_beyond_the_tolerance_that_end_early_do_not_spoil_it(max_iterations: int) -> None:
    """Targets below the tolerance: 0 is good enough, and steps towards the exact solution run out of budget."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, targets, bound = rng.normal(size=(40, 2)), 7e-5 * rng.normal(size=40), np.full(40, 1e5)
        for share, gamma in ((1e-3, 1.0), (0.3, 0.01)):
            problem = DualProblem(targets, -bound, bound, kink=np.full(40, share * np.abs(targets).max()))
            rows = row_source(X, gamma=gamma)
            found = solve(problem, rows, stop=StopRule(1e-3, max_iterations=max_iterations))
            assert found.outcome.reason == "converged"
            assert found.outcome.kkt_violation <= 1e-3

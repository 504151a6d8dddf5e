"""The builders of regression: every combination of solver parts gives the certified optimum of the machine itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from widemargin.kernels.rows import row_source
from widemargin.machines.dual import COMBINATIONS, DualProblem, SolverOptions, StopRule
from widemargin.machines.regression import (
    Regression,
    nu_tube,
    rescaled_start,
    solve_nu_tube,
    solve_tube,
    tube,
)
from widemargin.testing import kernel_matrix, mirror, objective, solve_exactly

N, GAMMA, EPSILON, NU, TOLERANCE = 40, 0.5, 0.15, 0.4, 1e-6
MACHINES = ("epsilon_insensitive", "squared_epsilon_insensitive", "nu")
#: How many variables each machine has for its N examples.
VARIABLES = dict(zip(MACHINES, (N, N, 2 * N), strict=True))


def _data(n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    X[1] = X[0]
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)
    bounds = rng.uniform(0.2, 5.0, size=n)
    bounds[3] = 0.0
    return X, y, bounds


X, Y, BOUNDS = _data()
GRAM = kernel_matrix(X, gamma=GAMMA)


def _train(
    machine: str, *, tolerance: float = TOLERANCE, rows: Any = None, start: Any = None, **parts: Any
) -> Regression:
    how: dict[str, Any] = {
        "stop": StopRule(tolerance=tolerance, max_iterations=parts.pop("max_iterations", 100_000)),
        "options": SolverOptions(**parts),
        "start": start,
    }
    source = row_source(X, gamma=GAMMA) if rows is None else rows
    if machine == "nu":
        return solve_nu_tube(source, Y, BOUNDS, nu=NU, **how)
    return solve_tube(source, Y, BOUNDS, epsilon=EPSILON, loss=machine, **how)


def _primal(machine: str, found: Regression) -> float:
    """The objective of the machine itself, from its function alone."""
    values = GRAM @ found.coefficients + found.intercept
    beyond = np.maximum(0.0, np.abs(Y - values) - found.epsilon)
    loss = beyond**2 if machine.startswith("squared") else beyond
    if machine == "nu":
        loss = loss + NU * found.epsilon
    return float(0.5 * found.coefficients @ GRAM @ found.coefficients + BOUNDS @ loss)


def _sides(machine: str, found: Regression) -> tuple[np.ndarray, np.ndarray]:
    """The two variables of every example in the problems of the papers, one for each side of the tube."""
    if machine == "nu":
        upper, lower = found.variables.reshape(2, N)
        return upper, lower
    return np.maximum(0.0, found.variables), np.minimum(0.0, found.variables)


def _dual(machine: str, found: Regression) -> float:
    beta, width = found.coefficients, 0.0 if machine == "nu" else EPSILON
    value = Y @ beta - width * np.abs(found.variables).sum() - 0.5 * beta @ GRAM @ beta
    if machine.startswith("squared"):
        used = BOUNDS > 0
        value -= sum((side[used] ** 2 / (4.0 * BOUNDS[used])).sum() for side in _sides(machine, found))
    return float(value)


def _violation(machine: str, found: Regression) -> float:
    """The optimality conditions of the dual, written out for the two sides of the tube."""
    used = BOUNDS > 0
    upper, lower = (side[used] for side in _sides(machine, found))
    width = 0.0 if machine == "nu" else EPSILON
    residuals = (Y - GRAM @ found.coefficients)[used]
    rates = [residuals - width, residuals + width]
    bounds = BOUNDS[used]
    if machine.startswith("squared"):
        rates = [rates[0] - upper / (2.0 * bounds), rates[1] - lower / (2.0 * bounds)]
        bounds = np.full(len(bounds), np.inf)
    rising = [rates[0][upper < bounds], rates[1][lower < 0.0]]
    falling = [rates[0][upper > 0.0], rates[1][lower > -bounds]]
    if machine == "nu":
        return max(float(r.max(initial=-np.inf) - f.min(initial=np.inf)) for r, f in zip(rising, falling, strict=True))
    return float(np.concatenate(rising).max() - np.concatenate(falling).min())


def _check(machine: str, found: Regression, tolerance: float = TOLERANCE) -> None:
    assert found.variables.shape == (VARIABLES[machine],)
    upper, lower = _sides(machine, found)
    cap = np.inf if machine.startswith("squared") else BOUNDS
    assert (upper >= 0.0).all()
    assert (lower <= 0.0).all()
    assert (np.maximum(upper, -lower) <= cap).all()
    assert not upper[3]
    assert not lower[3]
    sums = (0.5 * NU * BOUNDS.sum(), -0.5 * NU * BOUNDS.sum()) if machine == "nu" else None
    if sums is None:
        assert found.variables.sum() == pytest.approx(0.0, abs=1e-10)
    else:
        assert (upper.sum(), lower.sum()) == pytest.approx(sums)
    np.testing.assert_array_equal(found.coefficients, upper + lower)
    assert found.outcome.reason == "converged"
    assert _violation(machine, found) <= tolerance * 1.001
    assert found.outcome.kkt_violation == pytest.approx(max(0.0, _violation(machine, found)), abs=1e-9)
    assert found.outcome.objective == pytest.approx(_dual(machine, found), abs=1e-8)
    gap = _primal(machine, found) - _dual(machine, found)
    assert found.outcome.duality_gap == pytest.approx(gap, abs=1e-8)
    assert -1e-9 <= gap <= 50.0 * tolerance * BOUNDS.sum()


def _name(combination: dict[str, Any]) -> str:
    return "-".join(str(value) for value in combination.values())


@pytest.fixture(scope="module")
def best() -> dict[str, float]:
    return {machine: _train(machine, tolerance=1e-10, dtype="float64").outcome.objective for machine in MACHINES}


@pytest.mark.parametrize("combination", [dict(one) for one in COMBINATIONS], ids=_name)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_combination_reaches_the_certified_optimum(
    machine: str, combination: dict[str, Any], best: dict[str, float]
) -> None:
    found = _train(machine, **combination)
    _check(machine, found)
    assert found.outcome.objective == pytest.approx(best[machine], rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
@pytest.mark.parametrize("machine", MACHINES)
def test_any_start_leads_to_the_same_optimum(machine: str, solver: str, best: dict[str, float]) -> None:
    starts = {
        "random": np.random.default_rng(0).normal(size=VARIABLES[machine], scale=3.0),
        "nothing": np.zeros(VARIABLES[machine]),
        "the other sign": -_train(machine).variables,
        "the solution": _train(machine).variables,
    }
    for name, start in starts.items():
        given = start.copy()
        found = _train(machine, solver=solver, start=given)
        np.testing.assert_array_equal(given, start)
        _check(machine, found)
        assert found.outcome.objective == pytest.approx(best[machine], rel=1e-6), name
    assert _train(machine, solver="smo", start=starts["the solution"]).outcome.iterations <= 2


@pytest.mark.parametrize("machine", MACHINES)
def test_a_tiny_cache_and_any_number_of_threads(machine: str, best: dict[str, float]) -> None:
    for solver in ("smo", "block"):
        _check(machine, _train(machine, solver=solver, cache_bytes=2048))
        one, two = (_train(machine, solver=solver, n_threads=threads) for threads in (1, 2))
        np.testing.assert_array_equal(one.variables, two.variables)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("source", ["gram", "callable", "sparse"])
def test_rows_of_any_kind(machine: str, source: str, best: dict[str, float]) -> None:
    from scipy.sparse import csr_array

    rows = {
        "gram": lambda: row_source(GRAM, kernel="precomputed"),
        "callable": lambda: row_source(X, kernel=lambda A, B: kernel_matrix(A, B, gamma=GAMMA)),
        "sparse": lambda: row_source(csr_array(X), gamma=GAMMA),
    }[source]()
    _check(machine, _train(machine, rows=rows))


def test_the_dual_problem_agrees_with_the_exact_solver(best: dict[str, float]) -> None:
    used = BOUNDS > 0
    K = GRAM[np.ix_(used, used)]
    for machine, bounds, ridge in (
        ("epsilon_insensitive", BOUNDS[used], np.zeros(used.sum())),
        # 1e4 stands for infinity: no variable comes near it.
        ("squared_epsilon_insensitive", np.full(used.sum(), 1e4), 0.5 / BOUNDS[used]),
    ):
        problem, kernel = tube(Y[used], EPSILON, bounds), K + np.diag(ridge)
        alpha = solve_exactly(problem, kernel)
        assert objective(problem, alpha, Y[used] - kernel @ alpha) == pytest.approx(best[machine], rel=1e-8)


def test_the_squared_loss_agrees_with_a_descent_on_the_primal() -> None:
    root = np.linalg.cholesky(GRAM + 1e-10 * np.eye(N))

    def value(point: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = point[:-1], point[-1]
        error = root @ w + b - Y
        beyond = np.sign(error) * np.maximum(0.0, np.abs(error) - EPSILON)
        slope = 2.0 * BOUNDS * beyond
        return 0.5 * w @ w + BOUNDS @ beyond**2, np.append(w + root.T @ slope, slope.sum())

    reached = minimize(value, np.zeros(N + 1), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    found = _train("squared_epsilon_insensitive")
    assert _primal("squared_epsilon_insensitive", found) == pytest.approx(reached.fun, rel=1e-6)
    np.testing.assert_allclose(
        GRAM @ found.coefficients + found.intercept, root @ reached.x[:-1] + reached.x[-1], atol=1e-3
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_a_budget_ends_with_the_best_so_far(machine: str) -> None:
    found = _train(machine, tolerance=1e-9, max_iterations=5, solver="smo")
    assert found.outcome.reason == "iteration budget"
    assert found.outcome.iterations <= 5
    assert found.outcome.objective == pytest.approx(_dual(machine, found), abs=1e-8)
    assert found.outcome.duality_gap == pytest.approx(_primal(machine, found) - _dual(machine, found), abs=1e-8)


def _hard(targets: np.ndarray, points: np.ndarray, epsilon: float, **how: Any) -> Regression:
    stop = StopRule(tolerance=1e-8, max_iterations=how.pop("max_iterations", None))
    return solve_tube(
        row_source(points, gamma=2.0),
        targets,
        np.full(len(targets), np.inf),
        epsilon=epsilon,
        stop=stop,
        options=SolverOptions(),
        **how,
    )


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_an_infinite_price_keeps_all_targets_inside_the_tube(scale: float, loss: str) -> None:
    points, targets = X[1:25], scale * Y[1:25]
    found = _hard(targets, points, 0.1 * scale, loss=loss)
    values = kernel_matrix(points, gamma=2.0) @ found.coefficients + found.intercept
    assert found.tube_found
    assert (np.abs(values - targets) <= 0.1 * scale + 1e-7 * max(1.0, scale)).all()
    soft = solve_tube(
        row_source(points, gamma=2.0),
        targets,
        np.full(24, 1e5 * scale),
        epsilon=0.1 * scale,
        stop=StopRule(tolerance=1e-8 * scale),
        options=SolverOptions(),
    )
    np.testing.assert_allclose(found.coefficients, soft.coefficients, atol=1e-4 * scale)


def test_an_impossible_tube_is_noticed_and_budgets_count_for_all_attempts() -> None:
    points, targets = X[:25], np.where(np.arange(25) == 0, 5.0, Y[:25])
    assert not _hard(targets, points, 0.1).tube_found
    brief = _hard(targets, points, 0.1, max_iterations=60)
    assert brief.outcome.iterations <= 60
    assert not brief.tube_found
    assert np.isfinite(brief.coefficients).all()


def test_targets_inside_a_wide_tube_need_no_variables() -> None:
    found = _hard(Y[:25], X[:25], 10.0)
    assert not found.coefficients.any()
    assert found.intercept == pytest.approx(0.5 * (Y[:25].max() + Y[:25].min()))
    assert found.tube_found


def test_equal_targets_are_fitted_before_the_first_step() -> None:
    source = row_source(X, gamma=GAMMA)
    found = solve_nu_tube(source, np.ones(N), np.ones(N), nu=0.5, stop=StopRule(), options=SolverOptions())
    assert found.outcome.iterations == 0
    assert not found.coefficients.any()
    assert (found.intercept, found.epsilon) == pytest.approx((1.0, 0.0), abs=1e-12)


def test_problems_are_as_the_papers_have_them() -> None:
    # [Glasmachers2008, section 2.3] has two variables an example.
    twins, _ = mirror(tube(Y, 0.3, BOUNDS), GRAM)
    np.testing.assert_array_equal(twins.linear, np.concatenate([Y - 0.3, Y + 0.3]))
    np.testing.assert_array_equal(twins.lower, np.concatenate([np.zeros(N), -BOUNDS]))
    np.testing.assert_array_equal(twins.upper, np.concatenate([BOUNDS, np.zeros(N)]))
    problem = nu_tube(Y, 0.3, BOUNDS)
    assert isinstance(problem, DualProblem)
    assert problem.total == (0.15 * BOUNDS.sum(), -0.15 * BOUNDS.sum())
    np.testing.assert_array_equal(problem.linear, np.tile(Y, 2))
    np.testing.assert_array_equal(problem.upper - problem.lower, np.tile(BOUNDS, 2))
    assert problem.kink is None


def test_starts_follow_their_bounds() -> None:
    variables = np.array([1.0, 0.5, 0.0, 0.0, 0.0, -2.0])
    scaled = rescaled_start(variables, np.array([1.0, 2.0, 2.0]), np.array([3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(scaled, [3.0, 0.5, 0.0, 0.0, 0.0, -1.0])
    scaled = rescaled_start(variables[:3] + variables[3:], np.array([1.0, 2.0, 2.0]), np.array([3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(scaled, [3.0, 0.5, -1.0])


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(ValueError, match=r"loss.*'squared_epsilon_insensitive'.*'huber'"):
        _train("huber")

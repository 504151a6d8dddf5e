"""Smallest enclosing balls against oracles, for every solver, soft and hard, whatever the units."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from widemargin.kernels.rows import row_source
from widemargin.machines.dual import COMBINATIONS, DualProblem, SolverOptions, StopRule
from widemargin.machines.enclosing_ball import Ball, ball_machine, ball_unit, is_hard, train_ball
from widemargin.testing import kernel_matrix, solve_exactly

Array = NDArray[Any]

RNG = np.random.default_rng(11)
POINTS = RNG.normal(size=(40, 2)) * [1.0, 3.0] + 2.0
WEIGHTS = np.where(np.arange(40) % 9 == 4, 0.0, RNG.uniform(0.5, 2.0, size=40))
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2},
    "rbf": {"kernel": "rbf", "gamma": 0.1},
}
TOLERANCE = 1e-4


def _name(combination: dict[str, Any]) -> str:
    return "-".join(str(value) for value in combination.values())


def _oracle(K: Array, bounds: Array) -> float:
    """Best value of the dual: maximise a'diag(K) - a'Ka over the simplex with bounds."""
    kept = bounds > 0
    inner = K[np.ix_(kept, kept)]
    problem = DualProblem(0.5 * np.diagonal(inner), np.zeros(kept.sum()), np.minimum(bounds[kept], 1.0), (1.0, 0.0))
    alpha = solve_exactly(problem, inner, total=1.0)
    return float(alpha @ np.diagonal(inner) - alpha @ inner @ alpha)


@cache
def _best(name: str, nu: float | None) -> float:
    bounds = WEIGHTS / (nu * WEIGHTS.sum()) if nu is not None else np.where(WEIGHTS > 0, 1.0, 0.0)
    return _oracle(kernel_matrix(POINTS, **KERNELS[name]), bounds)


def test_the_oracle_agrees_with_a_general_optimiser() -> None:
    K, bounds = POINTS @ POINTS.T, np.full(40, 1.0 / 8)
    diagonal = np.diagonal(K)
    found = minimize(
        lambda a: a @ K @ a - a @ diagonal,
        np.full(40, 1.0 / 40),
        jac=lambda a: 2.0 * K @ a - diagonal,
        bounds=[(0.0, 1.0 / 8)] * 40,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
    )
    assert found.success
    assert _oracle(K, bounds) == pytest.approx(-found.fun, rel=1e-5)


def _check_ball(ball: Ball, machine: Any, K: Array, bounds: Array, unit: float) -> None:
    """Recompute everything that the outcome says from definitions; the ball's primal point bounds its dual one."""
    center = np.zeros(len(K))
    center[machine.ids] = ball.center
    kept = bounds > 0
    assert ball.center.sum() == pytest.approx(1.0, abs=1e-11)
    assert ((center >= 0) & (center <= bounds * (1 + 1e-12))).all()
    norm = float(center @ K @ center)
    distances = np.diagonal(K) - 2.0 * K @ center + norm
    assert ball.squared_norm == pytest.approx(norm, rel=1e-9)
    np.testing.assert_allclose(ball.squared_distances, distances[machine.ids], atol=1e-9 * np.diagonal(K).max())
    above, below = kept & (center < bounds * (1 - 1e-12)), center > 0
    violation = max(0.0, distances[above].max(initial=-np.inf) - distances[below].min()) / unit
    assert ball.outcome.kkt_violation == pytest.approx(violation, abs=1e-8)
    assert violation <= TOLERANCE * (1 + 1e-6)
    dual = float(center @ np.diagonal(K)) - norm
    outside = np.maximum(0.0, distances[kept] - ball.squared_radius)
    hard = bool((bounds[kept] >= 1.0).all())
    primal = ball.squared_radius + (0.0 if hard else float(bounds[kept] @ outside))
    assert ball.outcome.objective == pytest.approx(dual, rel=1e-9)
    assert ball.outcome.duality_gap == pytest.approx(primal - dual, abs=1e-8 * np.diagonal(K).max())
    if hard:
        assert outside.max() <= 1e-14 * np.diagonal(K).max()


@pytest.mark.parametrize("options", COMBINATIONS, ids=_name)
@pytest.mark.parametrize("name", KERNELS)
def test_every_solver_finds_the_soft_ball(options: dict[str, Any], name: str) -> None:
    K, rows = kernel_matrix(POINTS, **KERNELS[name]), row_source(POINTS, **KERNELS[name])
    nu = 0.2
    machine = ball_machine(WEIGHTS, rows.diagonal(), nu=nu)
    ball, _, unit = train_ball(
        machine, rows, rows.diagonal(), stop=StopRule(TOLERANCE), options=SolverOptions(**options)
    )
    assert ball.outcome.reason == "converged"
    assert not is_hard(machine)
    bounds = WEIGHTS / (nu * WEIGHTS.sum())
    _check_ball(ball, machine, K, bounds, unit)
    best = _best(name, nu)
    assert ball.outcome.objective == pytest.approx(best, rel=1e-6)
    assert ball.outcome.objective >= best - ball.outcome.duality_gap - 1e-9 * abs(best)


@pytest.mark.parametrize("options", COMBINATIONS, ids=_name)
@pytest.mark.parametrize("name", KERNELS)
def test_every_solver_finds_the_hard_ball(options: dict[str, Any], name: str) -> None:
    K, rows = kernel_matrix(POINTS, **KERNELS[name]), row_source(POINTS, **KERNELS[name])
    machine = ball_machine(WEIGHTS, rows.diagonal(), C=math.inf)
    ball, _, unit = train_ball(
        machine, rows, rows.diagonal(), stop=StopRule(TOLERANCE), options=SolverOptions(**options)
    )
    assert ball.outcome.reason == "converged"
    assert is_hard(machine)
    bounds = np.where(WEIGHTS > 0, 1.0, 0.0)
    _check_ball(ball, machine, K, bounds, unit)
    best = _best(name, None)
    assert ball.outcome.objective == pytest.approx(best, rel=1e-5)
    assert best * (1 - 1e-12) <= ball.squared_radius <= best + TOLERANCE * unit


def _ball(points: Array, **price: Any) -> tuple[Ball, Array]:
    rows = row_source(points, kernel="linear")
    machine = ball_machine(np.ones(len(points)), rows.diagonal(), **price)
    ball, _, _ = train_ball(machine, rows, rows.diagonal(), stop=StopRule(1e-10), options=SolverOptions())
    return ball, ball.center @ points[machine.ids]


def test_balls_that_everybody_knows() -> None:
    ball, center = _ball(np.array([[0.0, 0.0], [2.0, 0.0]]))
    assert center.tolist() == pytest.approx([1.0, 0.0])
    assert ball.squared_radius == pytest.approx(1.0)
    # An obtuse triangle: its longest side is a diameter. An acute one: the circumscribed circle.
    ball, center = _ball(np.array([[-2.0, 0.0], [2.0, 0.0], [0.5, 0.3]]))
    assert center.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)
    assert ball.squared_radius == pytest.approx(4.0)
    angles = np.array([0.1, 2.0, 4.4])
    ball, center = _ball(3.0 * np.column_stack((np.cos(angles), np.sin(angles))) + [5.0, -1.0])
    assert center.tolist() == pytest.approx([5.0, -1.0], abs=1e-6)
    assert ball.squared_radius == pytest.approx(9.0, rel=1e-6)
    ball, center = _ball(np.array([[3.0, 4.0]]))
    assert ball.squared_radius == pytest.approx(0.0, abs=1e-12)
    ball, center = _ball(np.tile([[3.0, 4.0]], (6, 1)), nu=0.5)
    assert ball.squared_radius == pytest.approx(0.0, abs=1e-12)
    # nu = 1 leaves no choice: the centre is the mean.
    ball, center = _ball(POINTS, nu=1.0)
    np.testing.assert_allclose(center, POINTS.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-5, 1.0, 1e5])
def test_units_do_not_matter(factor: float) -> None:
    """Rows are centred, as the estimator does it; the tolerance is one of the spread."""
    points = POINTS - POINTS.mean(axis=0)
    rows = row_source(factor * points, kernel="linear")
    machine = ball_machine(np.ones(40), rows.diagonal(), nu=0.2)
    for solver in ("smo", "block"):
        options = SolverOptions(solver=solver)
        ball, _, unit = train_ball(machine, rows, rows.diagonal(), stop=StopRule(1e-6), options=options)
        assert ball.outcome.reason == "converged"
        assert unit == pytest.approx(factor**2 * (points**2).sum(axis=1).mean())
        best = _oracle(points @ points.T, np.full(40, 1.0 / 8))
        assert ball.outcome.objective == pytest.approx(factor**2 * best, rel=1e-6)


def test_price_and_fraction_say_the_same() -> None:
    rows = row_source(POINTS, kernel="linear")
    found = []
    for price in ({"nu": 0.25}, {"C": 1.0 / (0.25 * WEIGHTS.sum())}):
        machine = ball_machine(WEIGHTS, rows.diagonal(), **price)
        found.append(train_ball(machine, rows, rows.diagonal(), stop=StopRule(1e-9), options=SolverOptions())[0])
    assert found[0].squared_radius == pytest.approx(found[1].squared_radius, rel=1e-7)
    np.testing.assert_allclose(found[0].center, found[1].center, atol=1e-7)


@pytest.mark.parametrize("accelerated", [True, False])
def test_geometric_solvers_find_hard_balls_of_constant_diagonal_and_refuse_others(accelerated: bool) -> None:
    options, stop = SolverOptions(solver="mdm", accelerated=accelerated), StopRule(TOLERANCE)
    rows = row_source(POINTS, **KERNELS["rbf"])
    machine = ball_machine(np.ones(40), rows.diagonal())
    ball, _, unit = train_ball(machine, rows, rows.diagonal(), stop=stop, options=options)
    assert ball.outcome.reason == "converged"
    _check_ball(ball, machine, kernel_matrix(POINTS, **KERNELS["rbf"]), np.ones(40), unit)
    soft = ball_machine(np.ones(40), rows.diagonal(), nu=0.3)
    with pytest.raises(ValueError, match="'smo', 'block' and 'auto' can"):
        train_ball(soft, rows, rows.diagonal(), stop=stop, options=options)
    rows = row_source(POINTS, kernel="linear")
    with pytest.raises(ValueError, match="linear term"):
        train_ball(ball_machine(np.ones(40), rows.diagonal()), rows, rows.diagonal(), stop=stop, options=options)


def test_the_spread_of_many_rows_is_that_of_a_sample() -> None:
    points = np.random.default_rng(0).normal(size=(5000, 3))
    rows = row_source(points, kernel="linear")
    machine = ball_machine(np.ones(5000), rows.diagonal(), nu=0.5)
    found = ball_unit(machine, rows, rows.diagonal(), SolverOptions())
    assert found == pytest.approx(3.0, rel=0.15)
    assert found != pytest.approx(float(points.var(axis=0).sum()), rel=1e-9)

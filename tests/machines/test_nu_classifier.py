"""The nu-classifier: every solver, certificates recomputed by hand, the C-classifier it amounts to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines import nu_classifier
from widemargin.machines.classifier import PairSolution, solve_pairs
from widemargin.machines.dual import COMBINATIONS, SolverOptions, StopRule
from widemargin.machines.nu_classifier import filled, solve_nu_pairs, tightest_pair
from widemargin.testing import kernel_matrix, many_class_points

TOLERANCE = 1e-4


def small_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    labels = (np.arange(50) % 5 < 2).astype(np.intp)
    return rng.normal(size=(50, 3)) + 1.2 * labels[:, None], labels, rng.uniform(0.5, 2.0, size=50)


def train(nu: float = 0.4, tolerance: float = TOLERANCE, **options: Any) -> PairSolution:
    X, labels, weights = small_problem()
    (machine,) = solve_nu_pairs(
        row_source(X, gamma=0.4),
        labels,
        2,
        nu,
        weights,
        stop=StopRule(tolerance),
        options=SolverOptions(**options),
    )
    return machine


def pair_of(machine: PairSolution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, labels, weights = small_problem()
    return kernel_matrix(X[machine.ids], gamma=0.4), np.where(labels[machine.ids] == 0, 1.0, -1.0), weights[machine.ids]


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("nu", [0.15, 0.4, 0.7])
def test_every_solver_tells_the_truth(nu: float, options: dict[str, Any]) -> None:
    machine = train(nu, **options)
    K, y, v = pair_of(machine)
    a, b, outcome = machine.solution.alpha, machine.solution.intercept, machine.outcome
    assert outcome.reason == "converged"
    # Variables at scale rho: sum |a| rho is nu sum(v), half of it for each class.
    rho = nu * v.sum() / np.abs(a).sum()
    assert a.sum() == pytest.approx(0.0, abs=1e-9)
    C = v / rho
    assert (y * a >= 0.0).all()
    assert (y * a <= C * (1.0 + 1e-12)).all()
    G = y - K @ a
    np.testing.assert_allclose(machine.solution.gradient, G, atol=1e-8)
    edge = C * (1.0 - 1e-12)
    worst = 0.0
    for sign in (1.0, -1.0):
        mine = y == sign
        up, down = (y * a < edge, y * a > 0.0) if sign > 0 else (y * a > 0.0, y * a < edge)
        worst = max(worst, G[mine & up].max() - G[mine & down].min())
    assert worst <= TOLERANCE * (1.0 + 1e-6)
    assert outcome.kkt_violation == pytest.approx(worst, abs=1e-8)
    norm = 0.5 * a @ K @ a
    primal = norm + C @ np.maximum(0.0, 1.0 - y * (K @ a + b))
    dual = y @ a - norm
    assert outcome.objective == pytest.approx(dual, rel=1e-9)
    assert outcome.duality_gap == pytest.approx(primal - dual, abs=1e-7)
    best = train(nu, 1e-9)
    unscaled = [0.5 * one.solution.alpha @ K @ one.solution.alpha * rho**2 for one in (machine, best)]
    assert unscaled[0] == pytest.approx(unscaled[1], rel=1e-3)


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.75])
def test_it_is_a_machine_with_the_price_that_rho_says(nu: float) -> None:
    X, labels, weights = small_problem()
    machine = train(nu, 1e-9)
    assert machine.hard_margin_found
    rho = nu * weights.sum() / np.abs(machine.solution.alpha).sum()
    (priced,) = solve_pairs(
        row_source(X, gamma=0.4), labels, 2, weights / rho, stop=StopRule(1e-9), options=SolverOptions()
    )
    assert np.array_equal(machine.ids, priced.ids)
    np.testing.assert_allclose(machine.solution.alpha, priced.solution.alpha, atol=1e-6 / rho)
    assert machine.solution.intercept == pytest.approx(priced.solution.intercept, abs=1e-6)
    assert machine.outcome.objective == pytest.approx(priced.outcome.objective, rel=1e-7)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_bounds_errors_and_support_vectors(nu: float) -> None:
    machine = train(nu, 1e-8)
    K, y, v = pair_of(machine)
    values = y * (K @ machine.solution.alpha + machine.solution.intercept)
    assert v[values < 1.0 - 1e-6].sum() <= nu * v.sum() * (1.0 + 1e-9)
    assert v[machine.solution.alpha != 0.0].sum() >= nu * v.sum() * (1.0 - 1e-9)


def test_the_largest_nu_is_that_of_the_tightest_pair() -> None:
    labels = np.repeat([0, 1, 2], [6, 3, 4]).astype(np.intp)
    found = tightest_pair(labels, 3, np.ones(13))
    assert found is not None
    assert found[0] == (0, 1)
    assert found[1] == pytest.approx(2.0 * 3.0 / 9.0)
    weights = np.where(labels == 2, 0.1, 1.0)
    found = tightest_pair(labels, 3, weights)
    assert found is not None
    assert found[0] == (0, 2)
    assert found[1] == pytest.approx(2.0 * 0.4 / 6.4)
    assert tightest_pair(labels, 3, np.where(labels == 1, 1.0, 0.0)) is None


def test_the_largest_nu_itself_is_solved() -> None:
    X, labels, _ = small_problem()
    limit = tightest_pair(labels, 2, np.ones(50))
    assert limit is not None
    (machine,) = solve_nu_pairs(
        row_source(X, gamma=0.4), labels, 2, limit[1], np.ones(50), stop=StopRule(), options=SolverOptions()
    )
    lighter = labels[machine.ids] == 1
    assert machine.outcome.reason == "converged"
    assert np.ptp(machine.solution.alpha[lighter]) <= 1e-12


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
def test_neither_the_scale_of_weights_nor_that_of_the_kernel_matters(factor: float) -> None:
    X, labels, weights = small_problem()
    K = kernel_matrix(X, gamma=0.4)
    reference = train(tolerance=1e-6)
    for scaled, heavy in ((K, factor * weights), (factor * K, weights)):
        (machine,) = solve_nu_pairs(
            row_source(scaled, kernel="precomputed"),
            labels,
            2,
            0.4,
            heavy,
            stop=StopRule(1e-6),
            options=SolverOptions(),
        )
        assert machine.outcome.reason == "converged"
        values = scaled[np.ix_(machine.ids, machine.ids)] @ machine.solution.alpha + machine.solution.intercept
        expected = K[np.ix_(machine.ids, machine.ids)] @ reference.solution.alpha + reference.solution.intercept
        np.testing.assert_allclose(values, expected, atol=1e-4)


def test_hulls_that_meet_have_no_margin() -> None:
    X, labels = many_class_points(2, 40)
    X -= np.where(labels[:, None] == 0, X[labels == 0].mean(axis=0), X[labels == 1].mean(axis=0))
    (machine,) = solve_nu_pairs(
        row_source(X, kernel="linear"), labels, 2, 0.1, np.ones(80), stop=StopRule(), options=SolverOptions()
    )
    assert not machine.hard_margin_found
    assert np.isfinite(machine.solution.alpha).all()
    assert np.isfinite(machine.solution.intercept)
    assert machine.outcome.kkt_violation <= StopRule().tolerance


def test_starting_points_are_feasible_and_sparse() -> None:
    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    weights = np.array([1.0, 1.0, 3.0, 2.0, 0.5])
    assert filled(signs, weights, 3.0).tolist() == [0.0, -1.0, 3.0, -2.0, 0.0]
    assert filled(signs, weights, 3.5).sum() == pytest.approx(0.5)


def test_budgets_hold_for_all_stages_together() -> None:
    X, labels = many_class_points(3, 60)
    arguments = (row_source(X, gamma=5.0), labels, 3, 0.3, np.ones(180))
    machines = solve_nu_pairs(*arguments, stop=StopRule(1e-10, max_iterations=5), options=SolverOptions(solver="smo"))
    assert all(one.outcome.reason == "iteration budget" and one.outcome.iterations <= 5 for one in machines)
    machines = solve_nu_pairs(*arguments, stop=StopRule(1e-10).within(0.0), options=SolverOptions())
    assert len(machines) == 3
    assert all(np.isfinite(one.solution.alpha).all() for one in machines)


@pytest.mark.parametrize("rho", [np.finfo(np.float64).max, np.inf, 1e308, 0.0])
def test_the_scale_of_any_margin_is_a_number(rho: float) -> None:
    none = np.empty(0)
    search = nu_classifier._Search(None, none, 1.0, none, largest_rho=1.0, tolerance=1e-3)  # type: ignore[arg-type]
    search.rescale(rho)
    assert 0.0 < search.scale < np.inf

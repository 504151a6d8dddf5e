"""One-class machines against oracles, for every solver; sparse starts; machines without some of their samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from widemargin.kernels.rows import row_source
from widemargin.machines import one_class
from widemargin.machines.dual import (
    COMBINATIONS,
    Solution,
    SolverOptions,
    StopRule,
    solve,
    solve_all,
)
from widemargin.machines.one_class import (
    at_margin_one,
    nu_machine,
    rejecting_threshold,
    settled,
    squared_slack_machine,
    train,
    train_squared_slack,
    train_without,
)
from widemargin.testing import certificate, kernel_matrix, solve_exactly

Array = NDArray[Any]

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(70, 3))
WEIGHTS = np.where(np.arange(70) % 9 == 4, 0.0, RNG.uniform(0.5, 2.0, size=70))
GRAM = kernel_matrix(POINTS, gamma=0.4)
TOLERANCE = 1e-4


def _name(combination: dict[str, Any]) -> str:
    return "-".join(str(value) for value in combination.values())


def _rows() -> Any:
    return row_source(POINTS, gamma=0.4)


def _whole(machine: Any, alpha: Array) -> Array:
    whole = np.zeros(len(POINTS))
    whole[machine.ids] = alpha
    return whole


@pytest.mark.parametrize("options", COMBINATIONS, ids=_name)
def test_every_solver_solves_the_nu_machine(options: dict[str, Any]) -> None:
    nu = 0.3
    machine = nu_machine(WEIGHTS, nu)
    problem, solution = train(machine, _rows(), stop=StopRule(TOLERANCE), options=SolverOptions(**options))
    assert solution.outcome.reason == "converged"
    K = GRAM[np.ix_(machine.ids, machine.ids)]
    total = nu * WEIGHTS.sum()
    found = certificate(problem, K, solution.alpha, total=total)
    assert found.infeasibility < 1e-11
    assert found.kkt_violation <= TOLERANCE * (1 + 1e-6)
    best = certificate(problem, K, solve_exactly(problem, K, total=total), total=total).objective
    assert best - 1e-3 * TOLERANCE - found.duality_gap <= solution.outcome.objective <= best + 1e-10
    # Primal minus dual, written out: w = sum a phi, rho = -intercept.
    whole, rho = _whole(machine, solution.alpha), -solution.intercept
    scores, energy = GRAM @ whole, float(whole @ GRAM @ whole)
    primal = 0.5 * energy + float(WEIGHTS @ np.maximum(0.0, rho - scores)) - total * rho
    assert solution.outcome.duality_gap == pytest.approx(primal + 0.5 * energy, abs=1e-9)
    assert solution.outcome.objective == pytest.approx(-0.5 * energy, rel=1e-9)
    np.testing.assert_allclose(total * machine.similarities(problem, solution), scores[machine.ids], atol=1e-9)


def _squared_oracle(prices: Array) -> tuple[Array, float]:
    """Maximise sum(a) - a'K*a/2 over a >= 0 as least squares: with K* = R'R, minimise ||R a - r||, R'r = 1."""
    kept = prices > 0
    ridged = GRAM[np.ix_(kept, kept)] + np.diag(1.0 / prices[kept])
    factor = np.linalg.cholesky(ridged).T
    alpha = np.zeros(len(prices))
    alpha[kept] = nnls(factor, np.linalg.solve(factor.T, np.ones(kept.sum())))[0]
    return alpha, float(alpha.sum() - 0.5 * alpha[kept] @ ridged @ alpha[kept])


SQUARED = (*COMBINATIONS, {"solver": "auto"}, {"solver": "mdm"}, {"solver": "mdm", "accelerated": False})


@pytest.mark.parametrize("options", SQUARED, ids=_name)
@pytest.mark.parametrize("price", [0.05, 20.0])
def test_every_solver_solves_squared_slack(options: dict[str, Any], price: float) -> None:
    prices = price * WEIGHTS
    machine = squared_slack_machine(prices)
    _, solution = train_squared_slack(machine, _rows(), stop=StopRule(TOLERANCE), options=SolverOptions(**options))
    alpha, outcome = at_margin_one(machine, solution)
    assert outcome.reason == "converged"
    whole = _whole(machine, alpha)
    expected, best = _squared_oracle(prices)
    np.testing.assert_allclose(GRAM @ whole, GRAM @ expected, atol=2 * TOLERANCE)
    # [Timm2009, eq. 1 and 3], with the slack that the constraints ask for.
    scores = GRAM @ whole
    slack = np.maximum(0.0, 1.0 - scores)
    primal = 0.5 * whole @ scores + 0.5 * prices @ slack**2
    dual = whole.sum() - 0.5 * (whole @ scores + whole[machine.ids] ** 2 @ (1.0 / prices[machine.ids]))
    assert outcome.objective == pytest.approx(dual, abs=1e-9)
    assert outcome.duality_gap == pytest.approx(primal - dual, abs=1e-9)
    assert best - outcome.duality_gap - 1e-12 <= dual <= best + 1e-12
    kept = machine.ids
    gradient = 1.0 - scores[kept] - whole[kept] / prices[kept]
    violation = max(0.0, gradient.max()) - min(0.0, gradient[whole[kept] > 0].min())
    assert outcome.kkt_violation == pytest.approx(violation, abs=1e-10)
    assert violation <= TOLERANCE * (1 + 1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_tolerance_of_squared_slack_does_not_depend_on_the_kernels_magnitude(factor: float) -> None:
    expected, _ = _squared_oracle(WEIGHTS)
    machine = squared_slack_machine(WEIGHTS / factor)
    rows = row_source(factor * GRAM, kernel="precomputed")
    for solver in ("auto", "smo"):
        found = train_squared_slack(machine, rows, stop=StopRule(TOLERANCE), options=SolverOptions(solver=solver))[1]
        alpha, outcome = at_margin_one(machine, found)
        assert outcome.reason == "converged"
        assert outcome.kkt_violation <= TOLERANCE * (1 + 1e-6)
        np.testing.assert_allclose(GRAM @ _whole(machine, factor * alpha), GRAM @ expected, atol=2 * TOLERANCE)


@pytest.mark.parametrize("accelerated", [True, False])
def test_geometric_solvers_solve_the_nu_machine_without_bounds_and_refuse_others(accelerated: bool) -> None:
    options = SolverOptions(solver="mdm", accelerated=accelerated)
    machine = nu_machine(np.ones(70), 1.0 / 70)
    _, solution = train(machine, _rows(), stop=StopRule(1e-6), options=options)
    best = train(machine, _rows(), stop=StopRule(1e-9), options=SolverOptions())[1].outcome.objective
    assert solution.outcome.objective == pytest.approx(best, rel=1e-6)
    with pytest.raises(ValueError, match="'smo', 'block' and 'auto' can"):
        train(nu_machine(np.ones(70), 0.5), _rows(), stop=StopRule(), options=options)


def test_a_margin_of_one_needs_squared_slack() -> None:
    machine = nu_machine(np.ones(70), 0.5)
    _, solution = train(machine, _rows(), stop=StopRule(), options=SolverOptions())
    with pytest.raises(ValueError, match="no ridge"):
        at_margin_one(machine, solution)


@pytest.mark.parametrize("total", [0.0, 0.3, 4.2, 17.0])
def test_settled_points_are_feasible_and_sparse(total: float) -> None:
    rng = np.random.default_rng(2)
    upper = rng.uniform(0.2, 2.0, size=30)
    total = min(total, float(upper.sum()))
    for alpha in (np.zeros(30), np.where(np.arange(30) % 3 == 0, 0.7 * upper, 0.0)):
        keen = rng.normal(size=30)
        point = settled(alpha, keen, upper, total)
        assert point.sum() == pytest.approx(total, abs=1e-12)
        assert ((point >= 0) & (point <= upper)).all()
        moved = (point != alpha) & (point > 0) & (point < upper)
        assert moved.sum() <= 1
        up, down = point > alpha, point < alpha
        assert not (up.any() and down.any())
        if up.any():
            assert keen[up].min() >= keen[point < upper].max(initial=-np.inf, where=~up[point < upper])
        if down.any():
            assert keen[down].max() <= keen[point > 0].min(initial=np.inf, where=~down[point > 0])


def _many() -> tuple[Array, Any]:
    X = np.random.default_rng(8).normal(size=(3000, 2))
    return X, row_source(X, gamma=0.5)


@pytest.mark.parametrize("nu", [0.02, 0.4])
def test_a_subset_gives_a_good_and_sparse_start(nu: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, rows = _many()
    machine = nu_machine(np.ones(len(X)), nu)
    starts: list[Array] = []

    def watched(subproblems: Any, *arguments: Any, **options: Any) -> list[Solution]:
        starts.extend(sub.start for sub in subproblems)
        return solve_all(subproblems, *arguments, **options)

    monkeypatch.setattr(one_class, "solve_all", watched)
    _, solution = train(machine, rows, stop=StopRule(1e-3), options=SolverOptions())
    assert len(starts) == 2
    assert np.count_nonzero(starts[0]) <= nu * one_class.SUBSET_SIZES[0] + 1
    assert np.count_nonzero(starts[1]) <= nu * len(X) + 50
    # Rows taken blindly would share nu of the total with the solution.
    shared = np.minimum(starts[1], solution.alpha).sum() / machine.total
    assert shared > 0.3 + nu
    blind = settled(np.zeros(3000), np.arange(3000.0), np.ones(3000), machine.total)
    alone = solve(machine.problem(), rows, stop=StopRule(1e-3), start=blind)
    allowed = max(solution.outcome.duality_gap, alone.outcome.duality_gap)
    assert abs(solution.outcome.objective - alone.outcome.objective) <= allowed


def test_steps_and_kernel_values_of_the_sample_count() -> None:
    X, rows = _many()
    machine = nu_machine(np.ones(len(X)), 0.2)
    whole = train(machine, rows, stop=StopRule(1e-3), options=SolverOptions("smo"))[1].outcome
    for budget in (0, 10, whole.iterations - 10):
        short = train(machine, rows, stop=StopRule(1e-3, max_iterations=budget), options=SolverOptions("smo"))[
            1
        ].outcome
        assert short.reason == "iteration budget"
        assert short.iterations <= budget
        assert short.objective <= whole.objective + 1e-9 * abs(whole.objective)
    late = train(machine, rows, stop=StopRule(1e-9).within(1e-4), options=SolverOptions())[1].outcome
    assert late.reason == "time budget"


def test_machines_without_a_fold_are_those_of_the_other_examples() -> None:
    stop, options = StopRule(1e-9), SolverOptions(dtype="float64")
    X, positive = POINTS[WEIGHTS > 0], WEIGHTS[WEIGHTS > 0]
    rows = row_source(X, gamma=0.4)
    folds = [np.arange(len(X)) % 3 == number for number in range(3)]
    for machine in (nu_machine(positive, 0.3), squared_slack_machine(positive)):
        _, solution = train(machine, rows, stop=stop, options=options)
        trained = train_without(machine, solution, folds, rows, stop=stop, options=options)
        for held_out, (problem, found) in zip(folds, trained, strict=True):
            assert not found.alpha[held_out].any()
            weights = np.where(held_out, 0.0, positive)
            fresh = nu_machine(weights, 0.3) if machine.ridge is None else squared_slack_machine(weights)
            other = train(fresh, rows, stop=stop, options=options)[1]
            assert problem.total[0] == pytest.approx(fresh.total)
            K = kernel_matrix(X, X[fresh.ids], gamma=0.4)
            np.testing.assert_allclose(
                machine.similarities(problem, found)[held_out], (K @ other.alpha)[held_out] / fresh.total, atol=1e-7
            )


def test_thresholds_count_weights() -> None:
    scores = np.array([5.0, 1.0, 2.0, 2.0, 7.0])
    assert rejecting_threshold(scores, np.ones(5), 0.0) == 1.0
    assert rejecting_threshold(scores, np.ones(5), 0.2) == 2.0
    assert rejecting_threshold(scores, np.ones(5), 0.4) == 2.0
    assert rejecting_threshold(scores, np.ones(5), 0.6) == 5.0
    weights = np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    repeated = np.repeat(scores, weights.astype(int))
    for fraction in np.linspace(0.01, 0.99, 40):
        expected = rejecting_threshold(repeated, np.ones(7), fraction)
        assert rejecting_threshold(scores[weights > 0], weights[weights > 0], fraction) == expected
        assert np.mean(repeated < expected) <= fraction < np.mean(repeated <= expected) + 1e-12

"""Classifiers of either loss, with and without intercept: every solver, certificates by hand, a naive oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines.classifier import PairSolution, ridge_of, solve_pairs
from widemargin.machines.dual import COMBINATIONS, SolverOptions, StopRule
from widemargin.testing import Case, kernel_matrix, many_class_points, solve_exactly

TOLERANCE = 1e-4
MACHINES = [(squared, fit_intercept) for squared in (False, True) for fit_intercept in (True, False)]
NAMES = ["hinge", "hinge-without-intercept", "squared", "squared-without-intercept"]


def small_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overlapping classes of different sizes, bounds of different widths, one pair of equal rows with unlike labels."""
    rng = np.random.default_rng(5)
    labels = (rng.random(45) < 0.35).astype(np.intp)
    X = rng.normal(size=(45, 3)) + 0.8 * labels[:, None]
    X[1] = X[0]
    labels[:2] = 0, 1
    return X, labels, np.exp(rng.uniform(-2.0, 2.0, size=45))


def train(squared: bool, fit_intercept: bool, tolerance: float = TOLERANCE, **options: Any) -> PairSolution:
    X, labels, bounds = small_problem()
    (machine,) = solve_pairs(
        row_source(X, gamma=0.4),
        labels,
        2,
        bounds,
        stop=StopRule(tolerance),
        options=SolverOptions(**options),
        squared=squared,
        fit_intercept=fit_intercept,
    )
    return machine


def pair_of(machine: PairSolution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel matrix, signs and bounds in the order of the machine's variables."""
    X, labels, bounds = small_problem()
    signs = np.where(labels[machine.ids] == 0, 1.0, -1.0)
    return kernel_matrix(X[machine.ids], gamma=0.4), signs, bounds[machine.ids]


def primal_and_dual(
    K: np.ndarray, y: np.ndarray, a: np.ndarray, b: float, C: np.ndarray, squared: bool
) -> tuple[float, float]:
    slack = np.maximum(0.0, 1.0 - y * (K @ a + b))
    norm = 0.5 * a @ K @ a
    if squared:
        return float(norm + C @ slack**2), float(y @ a - norm - (a**2 / (4.0 * C)).sum())
    return float(norm + C @ slack), float(y @ a - norm)


def violation(K: np.ndarray, y: np.ndarray, a: np.ndarray, C: np.ndarray, squared: bool, fit_intercept: bool) -> float:
    G = y - K @ a - (a / (2.0 * C) if squared else 0.0)
    most = np.full(len(y), np.inf) if squared else C
    up, down = np.where(y > 0, most, 0.0), np.where(y > 0, 0.0, -most)
    assert ((a >= down) & (a <= up)).all()
    highest, lowest = G[a < up].max(), G[a > down].min()
    return float(highest - lowest) if fit_intercept else float(max(highest, 0.0) - min(lowest, 0.0))


def oracle(squared: bool, fit_intercept: bool, machine: PairSolution) -> float:
    """The optimal value, found without any of the package's solvers."""
    K, y, C = pair_of(machine)
    ridged = K + np.diag(ridge_of(C)) if squared else K
    most = np.full(len(y), np.inf) if squared else C
    if fit_intercept:
        edges = y * most
        case = Case("oracle", y, np.minimum(0.0, edges), np.maximum(0.0, edges), ridged, K, "rbf", 0.4)
        a = solve_exactly(case, ridged)
    else:
        Q, z = ridged * np.outer(y, y), np.zeros(len(y))
        for _ in range(3_000):
            for i in range(len(y)):
                z[i] = np.clip(z[i] + (1.0 - Q[i] @ z) / Q[i, i], 0.0, most[i])
        a = y * z
    return float(y @ a - 0.5 * a @ ridged @ a)


@pytest.mark.parametrize(("squared", "fit_intercept"), MACHINES, ids=NAMES)
def test_the_optimum_is_that_of_a_naive_solver(squared: bool, fit_intercept: bool) -> None:
    machine = train(squared, fit_intercept, 1e-10)
    assert machine.outcome.objective == pytest.approx(oracle(squared, fit_intercept, machine), rel=1e-9)


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize(("squared", "fit_intercept"), MACHINES, ids=NAMES)
def test_every_solver_tells_the_truth(squared: bool, fit_intercept: bool, options: dict[str, Any]) -> None:
    machine = train(squared, fit_intercept, **options)
    K, y, C = pair_of(machine)
    a, b, outcome = machine.solution.alpha, machine.solution.intercept, machine.outcome
    assert outcome.reason == "converged"
    assert len(a) == len(machine.solution.gradient) == len(y)
    recomputed = violation(K, y, a, C, squared, fit_intercept)
    assert recomputed <= TOLERANCE * (1.0 + 1e-9)
    assert outcome.kkt_violation == pytest.approx(max(recomputed, 0.0), abs=1e-9)
    if fit_intercept:
        assert a.sum() == pytest.approx(0.0, abs=1e-9)
    else:
        assert b == 0.0
    primal, dual = primal_and_dual(K, y, a, b, C, squared)
    assert outcome.objective == pytest.approx(dual, rel=1e-10)
    assert outcome.duality_gap == pytest.approx(primal - dual, abs=1e-8)
    assert primal >= dual - 1e-12
    best = train(squared, fit_intercept, 1e-10).outcome.objective
    assert best * (1.0 - 1e-4) <= outcome.objective <= best * (1.0 + 1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_repeated_row_and_twice_the_price_agree(fit_intercept: bool) -> None:
    X, labels, bounds = small_problem()
    twice = np.append(np.arange(45), [3, 17])
    heavy = bounds.copy()
    heavy[[3, 17]] *= 2.0
    found = [
        solve_pairs(
            row_source(points, gamma=0.4),
            codes,
            2,
            prices,
            stop=StopRule(1e-10),
            options=SolverOptions(),
            squared=True,
            fit_intercept=fit_intercept,
        )[0]
        for points, codes, prices in ((X, labels, heavy), (X[twice], labels[twice], bounds[twice]))
    ]
    weighted, repeated = found
    assert weighted.outcome.objective == pytest.approx(repeated.outcome.objective, rel=1e-10)
    spread = np.zeros(45)
    np.add.at(spread, twice[repeated.ids], repeated.solution.alpha)
    np.testing.assert_allclose(weighted.solution.alpha, spread[weighted.ids], atol=1e-8)


def test_pairs_share_the_kernel_values_of_their_classes() -> None:
    X, labels = many_class_points(5, 60)

    def evaluations(squared: bool, fit_intercept: bool, apart: bool) -> int:
        groups = [labels == c for c in range(5)]
        pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)] if apart else [None]
        total = 0
        for pair in pairs:
            rows = np.ones(len(X), bool) if pair is None else groups[pair[0]] | groups[pair[1]]
            codes = np.unique(labels[rows], return_inverse=True)[1]
            machines = solve_pairs(
                row_source(X[rows], gamma=0.5),
                codes,
                codes.max() + 1,
                np.ones(len(codes)),
                stop=StopRule(),
                options=SolverOptions(solver="smo"),
                squared=squared,
                fit_intercept=fit_intercept,
            )
            total += sum(machine.outcome.kernel_evaluations for machine in machines)
        return total

    for squared, fit_intercept in MACHINES:
        assert evaluations(squared, fit_intercept, False) < 0.9 * evaluations(squared, fit_intercept, True)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_hard_margin_is_the_same_machine_for_both_losses(fit_intercept: bool) -> None:
    X, labels = many_class_points(3, 30)
    hard = [
        solve_pairs(
            row_source(X, gamma=5.0),
            labels,
            3,
            np.full(90, np.inf),
            stop=StopRule(1e-6),
            options=SolverOptions(),
            squared=squared,
            fit_intercept=fit_intercept,
        )
        for squared in (False, True)
    ]
    for one, other in zip(*hard, strict=True):
        assert one.hard_margin_found
        assert np.array_equal(one.solution.alpha, other.solution.alpha)
        signs = np.where(labels[one.ids] == one.pair[0], 1.0, -1.0)
        values = kernel_matrix(X[one.ids], gamma=5.0) @ one.solution.alpha + one.solution.intercept
        assert (signs * values).min() >= 1.0 - 1e-5


def test_a_start_is_only_a_matter_of_speed() -> None:
    X, labels, bounds = small_problem()
    for squared, fit_intercept in MACHINES:
        first = train(squared, fit_intercept, solver="smo")
        whole = np.zeros(45)
        whole[first.ids] = first.solution.alpha
        (again,) = solve_pairs(
            row_source(X, gamma=0.4),
            labels,
            2,
            bounds,
            stop=StopRule(TOLERANCE),
            options=SolverOptions(solver="smo"),
            starts={(0, 1): whole},
            squared=squared,
            fit_intercept=fit_intercept,
        )
        assert again.outcome.iterations == 0
        assert again.outcome.objective == pytest.approx(first.outcome.objective, rel=1e-12)


def test_ridges_stay_in_the_range_of_float32() -> None:
    ridge = ridge_of(np.array([1e-300, 1e-3, 1e300, np.inf]))
    assert np.isfinite(ridge.astype(np.float32)).all()
    assert ridge.tolist()[1:] == [500.0, 5e-301, 0.0]


@pytest.mark.parametrize("price", [1e-6, 1e6])
def test_extreme_prices_are_solved(price: float) -> None:
    X, labels, bounds = small_problem()
    (machine,) = solve_pairs(
        row_source(X, gamma=0.4), labels, 2, price * bounds, stop=StopRule(), options=SolverOptions(), squared=True
    )
    assert machine.outcome.reason == "converged"
    assert machine.outcome.kkt_violation <= 1e-3
    assert machine.outcome.duality_gap <= 1e-3 * machine.outcome.objective

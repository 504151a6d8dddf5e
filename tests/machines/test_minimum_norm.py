"""The square-loss classifier without intercept as a minimum norm problem: MDM, plain and accelerated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from widemargin.kernels.rows import row_source
from widemargin.machines.classifier import PairSolution, solve_pairs
from widemargin.machines.dual import GEOMETRIC_SOLVERS, SolverOptions, StopRule
from widemargin.machines.minimum_norm import convex_hull, solve_minimum_norm_pairs, starting_weights
from widemargin.testing import kernel_matrix, many_class_points

PRICES = (0.1, 1.0, 100.0)


def train(
    solver: str,
    C: Any = 1.0,
    *,
    n_classes: int = 2,
    tolerance: float = 1e-3,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    gamma: float = 0.5,
    **options: Any,
) -> tuple[list[PairSolution], np.ndarray, np.ndarray]:
    X, labels = many_class_points(n_classes, 40)
    solve = solve_minimum_norm_pairs if solver in GEOMETRIC_SOLVERS else solve_pairs
    more: dict[str, Any] = {} if solver in GEOMETRIC_SOLVERS else {"squared": True, "fit_intercept": False}
    machines = solve(
        row_source(X, gamma=gamma),
        labels,
        n_classes,
        np.broadcast_to(C, len(labels)).astype(np.float64),
        stop=StopRule(tolerance, max_iterations=max_iterations).within(max_seconds),
        options=SolverOptions(solver=solver, **options),
        **more,
    )
    return machines, X, labels


def squared_norm(machine: PairSolution) -> float:
    """Of the nearest point: the signed variables y a / ||W||^2 sum to 1 / ||W||^2 in absolute value."""
    return 1.0 / float(np.abs(machine.solution.alpha).sum())


@pytest.mark.parametrize("C", PRICES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_all_solvers_find_the_same_norm_and_machine(C: float, n_classes: int) -> None:
    plain, X, labels = train("mdm", C, n_classes=n_classes, tolerance=5e-7, accelerated=False)
    fast, _, _ = train("mdm", C, n_classes=n_classes, tolerance=5e-7)
    smo, _, _ = train("smo", C, n_classes=n_classes, tolerance=1e-9)
    for one, other, reference in zip(plain, fast, smo, strict=True):
        assert one.outcome.reason == other.outcome.reason == "converged"
        assert squared_norm(one) == pytest.approx(squared_norm(other), rel=1e-6)
        assert one.outcome.objective == pytest.approx(reference.outcome.objective, rel=1e-6)
        np.testing.assert_allclose(one.solution.alpha, reference.solution.alpha, atol=1e-4 * max(1.0, C))
        np.testing.assert_allclose(other.solution.alpha, reference.solution.alpha, atol=1e-4 * max(1.0, C))
        assert one.solution.intercept == 0.0
        signs = np.where(labels[one.ids] == one.pair[0], 1.0, -1.0)
        Q = (kernel_matrix(X[one.ids], gamma=0.5) + np.eye(len(signs)) / (2.0 * C)) * np.outer(signs, signs)
        A = np.linalg.cholesky(Q).T
        exact = nnls(A, np.linalg.solve(A.T, np.ones(len(signs))))[0]
        np.testing.assert_allclose(signs * one.solution.alpha, exact, atol=1e-4 * max(1.0, C))


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("C", PRICES)
def test_the_certificate_is_the_machines(accelerated: bool, dtype: str, C: float) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=80)
    (machine,), X, labels = train("mdm", C * weights, dtype=dtype, accelerated=accelerated)
    outcome, alpha = machine.outcome, machine.solution.alpha
    prices = C * weights[machine.ids]
    y = np.where(labels[machine.ids] == 0, 1.0, -1.0)
    K = kernel_matrix(X[machine.ids], gamma=0.5)
    assert (y * alpha >= 0.0).all()
    margins = y * (K @ alpha) + np.abs(alpha) / (2.0 * prices)
    assert outcome.kkt_violation == pytest.approx(margins[alpha != 0].max() - margins.min(), abs=1e-8)
    assert outcome.kkt_violation <= 1e-3
    np.testing.assert_allclose(machine.solution.gradient, y * (1.0 - margins), atol=1e-8)
    norm = 0.5 * alpha @ K @ alpha
    primal = norm + prices @ np.maximum(0.0, 1.0 - y * (K @ alpha)) ** 2
    dual = y @ alpha - norm - (alpha**2 / (4.0 * prices)).sum()
    assert outcome.objective == pytest.approx(dual, rel=1e-9)
    assert outcome.duality_gap == pytest.approx(primal - dual, abs=1e-7)
    assert 0.0 <= outcome.duality_gap <= 2e-3 * outcome.objective


def test_kernel_operations_are_counted_as_the_paper_counts_them() -> None:
    (plain,), _, labels = train("mdm", accelerated=False)
    n = len(labels)
    # Two rows a step, cached or not.
    assert plain.outcome.kernel_operations == 2 * n * plain.outcome.iterations
    (fast,), _, _ = train("mdm")
    assert fast.outcome.kernel_operations >= 2 * n
    assert fast.outcome.kernel_operations % n == 0
    assert plain.outcome.kernel_evaluations < plain.outcome.kernel_operations


@pytest.mark.parametrize("accelerated", [True, False])
def test_hard_margins_are_found(accelerated: bool) -> None:
    machines, X, labels = train("mdm", np.inf, n_classes=3, gamma=5.0, tolerance=1e-5, accelerated=accelerated)
    reference, _, _ = train("smo", np.inf, n_classes=3, gamma=5.0, tolerance=1e-6)
    for machine, other in zip(machines, reference, strict=True):
        assert machine.hard_margin_found
        assert machine.outcome.reason == "converged"
        np.testing.assert_allclose(machine.solution.alpha, other.solution.alpha, atol=1e-3)
        y = np.where(labels[machine.ids] == machine.pair[0], 1.0, -1.0)
        margins = y * (kernel_matrix(X[machine.ids], gamma=5.0) @ machine.solution.alpha)
        assert margins.min() >= 1.0 - 1e-5
        stretched = 0.5 * np.abs(machine.solution.alpha).sum() / margins.min() ** 2
        assert machine.outcome.duality_gap == pytest.approx(stretched - machine.outcome.objective, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_missing_hard_margins_are_said_to_be_missing(accelerated: bool, kernel: str) -> None:
    X, labels = many_class_points(2, 30)
    if kernel == "rbf":
        X[np.flatnonzero(labels == 0)[0]] = X[np.flatnonzero(labels == 1)[0]]
    (machine,) = solve_minimum_norm_pairs(
        row_source(X, kernel=kernel, gamma=5.0),
        labels,
        2,
        np.full(60, np.inf),
        stop=StopRule(1e-3, max_iterations=10**6),
        options=SolverOptions(solver="mdm", accelerated=accelerated),
    )
    assert not machine.hard_margin_found
    assert np.isfinite(machine.solution.alpha).all()
    assert machine.solution.alpha.any()
    assert np.isfinite(machine.outcome.duality_gap)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_budgets_hold(C: float) -> None:
    (machine,), _, _ = train("mdm", C, tolerance=1e-12, max_iterations=10)
    assert machine.outcome.reason == "iteration budget"
    assert machine.outcome.iterations <= 10
    assert np.isfinite(machine.solution.alpha).all()
    machines, _, _ = train("mdm", C, n_classes=4, tolerance=1e-12, max_seconds=0.0)
    assert len(machines) == (6 if np.isfinite(C) else 1)  # hard margins are sought one by one, and not begun too late
    assert all(np.isfinite(one.solution.alpha).all() for one in machines)


def test_starting_weights() -> None:
    signs = np.array([1.0, -1.0, 1.0])
    diagonal = np.array([3.0, 1.0, 2.0])
    assert starting_weights(signs, None, diagonal).tolist() == [0.0, 1.0, 0.0]
    assert starting_weights(signs, np.zeros(3), diagonal).tolist() == [0.0, 1.0, 0.0]
    assert starting_weights(signs, np.array([1.0, -3.0, -9.0]), diagonal).tolist() == [0.25, 0.75, 0.0]


@pytest.mark.parametrize("accelerated", [True, False])
def test_a_start_at_the_solution_takes_no_steps(accelerated: bool) -> None:
    (first,), X, labels = train("mdm", accelerated=accelerated)
    whole = np.zeros(len(labels))
    whole[first.ids] = first.solution.alpha
    (again,) = solve_minimum_norm_pairs(
        row_source(X, gamma=0.5),
        labels,
        2,
        np.ones(len(labels)),
        stop=StopRule(1.1e-3),
        options=SolverOptions(solver="mdm", accelerated=accelerated),
        starts={(0, 1): whole},
    )
    assert again.outcome.iterations == 0
    np.testing.assert_allclose(again.solution.alpha, first.solution.alpha, rtol=1e-9)


def test_other_solvers_solve_the_problem_of_geometry_too() -> None:
    X, labels = many_class_points(2, 40)
    problem = convex_hull(80)
    assert problem.total == (1.0, 0.0)
    found = [
        solve_minimum_norm_pairs(
            row_source(X, gamma=0.5),
            labels,
            2,
            np.ones(80),
            stop=StopRule(1e-9),
            options=SolverOptions(solver=solver),
        )[0]
        for solver in ("smo", "mdm")
    ]
    np.testing.assert_allclose(found[0].solution.alpha, found[1].solution.alpha, atol=1e-5)

"""The contracts themselves: the naive solver keeps them, and each way of cheating is caught."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracles.reference import ReferenceSolution, ReferenceSolver
from widemargin.testing import contracts, kernel_contract, kernel_matrix, small_cases, solver_contract

CASES = list(small_cases())[:5]


@pytest.mark.parametrize("selection", ["maximal-violating-pair", "second-order", "maximum-gain"])
@pytest.mark.parametrize("planning_ahead", [0, 1, 3])
def test_the_reference_solver_keeps_the_contract(selection: str, planning_ahead: int) -> None:
    solver_contract(ReferenceSolver(selection, planning_ahead), CASES)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-6])
def test_the_contract_scales_with_the_tolerance(tolerance: float) -> None:
    solver_contract(ReferenceSolver(), CASES, tolerance=tolerance)


def _edit(solution: ReferenceSolution, **changes: Any) -> ReferenceSolution:
    return replace(solution, outcome=replace(solution.outcome, **changes))


def _infeasible(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, **how)
    return replace(solution, alpha=solution.alpha + 1e-6)


def _stops_early(problem: Any, K: Any, *, tolerance: float, **how: Any) -> ReferenceSolution:
    return ReferenceSolver()(problem, K, tolerance=50.0 * tolerance, **how)


def _overstates_its_violation(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, **how)
    return _edit(solution, kkt_violation=0.5 * solution.outcome.kkt_violation - 1e-7)


def _reports_another_objective(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, **how)
    return _edit(solution, objective=solution.outcome.objective * (1.0 + 1e-6))


def _reports_no_gap(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    return _edit(ReferenceSolver()(problem, K, **how), duality_gap=0.0)


def _runs_on_float32_rows(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    return ReferenceSolver()(problem, K.astype(np.float32).astype(np.float64), **how)


def _ignores_its_start(problem: Any, K: Any, *, start: Any = None, start_gradient: Any = None, **how: Any) -> Any:
    return ReferenceSolver()(problem, K, **how)


def _writes_into_its_start(problem: Any, K: Any, *, start: Any = None, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, start=start, **how)
    if start is not None and start.flags.writeable:
        start[:] = solution.alpha
    return solution


def _takes_infeasible_starts_as_they_are(problem: Any, K: Any, *, start: Any = None, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, start=start, **how)
    frozen = problem.lower == problem.upper
    return solution if start is None else replace(solution, alpha=np.where(frozen, start, solution.alpha))


def _ignores_its_iteration_budget(problem: Any, K: Any, *, max_iterations: Any = None, **how: Any) -> ReferenceSolution:
    return ReferenceSolver()(problem, K, **how)


def _loses_its_state_at_the_budget(problem: Any, K: Any, *, start: Any = None, **how: Any) -> ReferenceSolution:
    solution = ReferenceSolver()(problem, K, start=start, **how)
    if solution.outcome.reason == "iteration budget":
        return _edit(ReferenceSolver()(problem, K, tolerance=np.inf), reason="iteration budget")
    return solution


def _calls_everything_converged(problem: Any, K: Any, **how: Any) -> ReferenceSolution:
    return _edit(ReferenceSolver()(problem, K, **how), reason="converged")


def _is_a_game_of_chance(problem: Any, K: Any, *, start: Any = None, **how: Any) -> ReferenceSolution:
    if start is None:
        start = np.random.default_rng().normal(size=problem.linear.size)
    return ReferenceSolver()(problem, K, start=start, **how)


@pytest.mark.parametrize(
    ("cheat", "sentence"),
    [
        (_infeasible, "must lie in|must sum to"),
        (_stops_early, "KKT violation must be at most|must come within"),
        (_overstates_its_violation, "reported KKT violation"),
        (_reports_another_objective, "reported objective"),
        (_reports_no_gap, "reported duality gap"),
        (_runs_on_float32_rows, "gradient must equal"),
        (_ignores_its_start, "at most 2 iterations"),
        (_writes_into_its_start, "must not write"),
        (_takes_infeasible_starts_as_they_are, "must lie in"),
        (_ignores_its_iteration_budget, "iterations were made where"),
        (_loses_its_state_at_the_budget, "objective fell"),
        (_calls_everything_converged, "cannot end with 'converged'"),
        (_is_a_game_of_chance, "identical"),
    ],
)
def test_cheating_solvers_are_caught(cheat: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        solver_contract(cheat, CASES)


def test_a_solver_that_sleeps_through_its_deadline_is_caught() -> None:
    def late(problem: Any, K: Any, *, max_seconds: float | None = None, **how: Any) -> ReferenceSolution:
        time.sleep(0.3)
        return ReferenceSolver()(problem, K, max_seconds=0.01, **how)

    with pytest.raises(AssertionError, match="s were allowed"):
        contracts.respects_its_time_budget(late, slack=0.1)


def test_a_solver_that_gives_up_at_once_is_caught() -> None:
    def idle(problem: Any, K: Any, *, tolerance: float, **how: Any) -> ReferenceSolution:
        return _edit(ReferenceSolver()(problem, K, tolerance=np.inf), reason="time budget")

    with pytest.raises(AssertionError, match="better than the start"):
        contracts.respects_its_time_budget(idle)


def _squares_by_expansion(A: Any, B: Any = None, **parameters: Any) -> Any:
    if parameters["kernel"] != "rbf":
        return kernel_matrix(A, B, **parameters)
    left = np.asarray(A.toarray() if hasattr(A, "toarray") else A)
    right = left if B is None else np.asarray(B.toarray() if hasattr(B, "toarray") else B)
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None] - 2.0 * left @ right.T
    return np.exp(-parameters["gamma"] * np.maximum(squares, 0.0))


def _float32(A: Any, B: Any = None, **parameters: Any) -> Any:
    return kernel_matrix(A, B, **parameters).astype(np.float32)


def _transposed(A: Any, B: Any = None, **parameters: Any) -> Any:
    return kernel_matrix(A, B, **parameters).T


def _skewed(A: Any, B: Any = None, **parameters: Any) -> Any:
    K = kernel_matrix(A, B, **parameters)
    return K if B is not None or len(K) < 90 else K + np.triu(np.full_like(K, 1e-5), 1)


def _indefinite(A: Any, B: Any = None, **parameters: Any) -> Any:
    K = kernel_matrix(A, B, **parameters)
    return K if B is not None or len(K) != 90 else K - 1e-3 * np.ones_like(K)


def _without_degree(A: Any, B: Any = None, *, degree: int, **parameters: Any) -> Any:
    return kernel_matrix(A, B, degree=3, **parameters)


@pytest.mark.parametrize(
    ("cheat", "sentence"),
    [
        (_squares_by_expansion, "offset"),
        (_float32, "off by"),
        (_transposed, "shape must be"),
        (_skewed, "symmetric|off by"),
        (_indefinite, "smallest eigenvalue|diagonal"),
        (_without_degree, "off by"),
    ],
)
def test_wrong_kernels_are_caught(cheat: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        kernel_contract(cheat, precision=1e-11)


def test_float32_kernels_pass_at_their_precision() -> None:
    kernel_contract(_float32, precision=1e-6)

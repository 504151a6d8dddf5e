"""Every combination of solver, selection, planning, shrinking and storage keeps the solver contract."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines.dual import (
    COMBINATIONS,
    DualProblem,
    Solution,
    SolverOptions,
    StopRule,
    project,
    solve,
)
from widemargin.testing import Case, certificate, check_solution, chess_board_case, contracts, kinked_cases, small_cases
from widemargin.testing import project as project_slowly
from widemargin.testing.protocols import Matrix, Problem, Vector

CASES = [*kinked_cases(), *small_cases()]
ALL = [dict(combination) for combination in COMBINATIONS]
AND_AUTO = [*ALL, {"solver": "auto"}]


def _name(combination: dict[str, Any]) -> str:
    return "-".join(f"{key}={value}" if not isinstance(value, str) else value for key, value in combination.items())


class Solver:
    """The core's solver as the contract calls it: on a precomputed matrix."""

    def __init__(self, **options: Any) -> None:
        self.options = SolverOptions(**options)

    def __call__(
        self,
        problem: Problem,
        K: Matrix,
        *,
        tolerance: float,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        start: Vector | None = None,
        start_gradient: Vector | None = None,
    ) -> Solution:
        return solve(
            DualProblem(problem.linear, problem.lower, problem.upper, kink=problem.kink),
            row_source(K, kernel="precomputed"),
            stop=StopRule(tolerance=tolerance, max_iterations=max_iterations).within(max_seconds),
            options=self.options,
            start=start,
            start_gradient=start_gradient,
        )


def test_the_table_lists_every_combination_once() -> None:
    expected = set(
        product(
            ("smo", "block"),
            ("maximal-violating-pair", "second-order", "maximum-gain"),
            (0, 1, 3),
            (False, True),
            ("float32", "float64"),
        )
    )
    keys = ("solver", "selection", "planning_ahead", "shrinking", "dtype")
    found = [tuple(combination[key] for key in keys) for combination in ALL]
    assert len(found) == len(set(found))
    assert expected <= set(found)


@pytest.mark.parametrize("combination", AND_AUTO, ids=_name)
def test_every_combination_keeps_the_contract(combination: dict[str, Any]) -> None:
    solver = Solver(**combination)
    for case, clause in product(CASES, contracts.SOLVER_CLAUSES):
        clause(solver, case, 1e-3)


@pytest.mark.parametrize("combination", AND_AUTO, ids=_name)
def test_every_combination_reaches_a_tight_tolerance(combination: dict[str, Any]) -> None:
    solver = Solver(**combination)
    for case in CASES:
        contracts.solves_from_zero(solver, case, 1e-6)


@pytest.mark.parametrize("combination", ALL, ids=_name)
def test_a_larger_budget_is_never_worse(combination: dict[str, Any]) -> None:
    # A planned step may lower the objective in trust of the next one; the budget must not end in between.
    case = chess_board_case(100, 1000.0)
    solver, best = Solver(**combination), 0.0
    for budget in range(20, 500, 7):
        outcome = solver(case, case.gram, tolerance=1e-9, max_iterations=budget).outcome
        assert outcome.objective >= best * (1.0 - 1e-10), budget
        best = max(best, outcome.objective)


@pytest.mark.parametrize("combination", ALL[:: max(1, len(ALL) // 12)], ids=_name)
def test_deadlines_are_kept(combination: dict[str, Any]) -> None:
    contracts.respects_its_time_budget(Solver(**combination))


@pytest.mark.parametrize("combination", ALL, ids=_name)
def test_every_combination_works_with_a_tiny_cache(combination: dict[str, Any]) -> None:
    case = CASES[-1]
    contracts.solves_from_zero(Solver(**combination, cache_bytes=4096), case, 1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["smo", "block", "auto"])
def test_a_huge_penalty_is_solved_to_the_true_tolerance(solver: str, dtype: str) -> None:
    # Float32 kernel values alone cannot certify this one: the gradient is a difference of values near 1e6.
    case = chess_board_case(150, 1e6)
    solution = Solver(solver=solver, dtype=dtype)(case, case.gram, tolerance=1e-3)
    check_solution(case, case.gram, solution, 1e-3)
    best = certificate(case, case.gram, contracts.optimum(case)).objective
    assert solution.outcome.objective == pytest.approx(best, rel=1e-5)


def test_newton_steps_are_tried_until_they_succeed() -> None:
    # They fail until the free variables have settled. Where each failure doubled the wait for the next one without end,
    # these took 109,000 iterations on average; now they take 25,000.
    needed = []
    for seed in range(8):
        case = chess_board_case(1000, 1e6, seed=seed)
        rows = row_source(case.points, kernel=case.kernel, gamma=case.gamma)
        outcome = solve(DualProblem(case.linear, case.lower, case.upper), rows, stop=StopRule(tolerance=1e-3)).outcome
        assert outcome.reason == "converged"
        needed.append(outcome.iterations)
    assert np.mean(needed) < 50_000


@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
@pytest.mark.parametrize("penalty", [10.0, 1e4])
def test_the_certificate_of_a_larger_problem_holds_in_float64(solver: str, penalty: float) -> None:
    # Above 1,000 variables only the gradients that decide the violation are recomputed with float64 kernel values.
    case = chess_board_case(1300, penalty)
    rows = row_source(case.points, kernel=case.kernel, gamma=case.gamma)
    problem = DualProblem(case.linear, case.lower, case.upper)
    solution = solve(problem, rows, stop=StopRule(tolerance=1e-3), options=SolverOptions(solver=solver))
    found = certificate(case, case.gram, solution.alpha)
    assert solution.outcome.reason == "converged"
    assert found.kkt_violation <= 1e-3
    # What was reported is what holds, up to the rounding of sums; the other gradients, of float32 kernel values, are
    # part of the objective.
    assert solution.outcome.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-9 * penalty)
    assert solution.outcome.objective == pytest.approx(found.objective, rel=3e-7)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kernel_from", ["inputs", "callable"])
def test_rows_from_inputs_and_callables_lead_to_the_same_optimum(case: Case, kernel_from: str) -> None:
    if kernel_from == "inputs":
        rows = row_source(case.points, kernel=case.kernel, gamma=case.gamma, coef0=1.0, degree=2)
    else:
        # The callable looks its rows up, so that it can serve any kernel.
        indices = np.arange(case.linear.size, dtype=np.float64)[:, None]
        rows = row_source(indices, kernel=lambda A, B: case.gram[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))])
    problem = DualProblem(case.linear, case.lower, case.upper, kink=case.kink)
    solution = solve(problem, rows, stop=StopRule(tolerance=1e-4))
    found = certificate(case, case.gram, solution.alpha)
    # The rows that the solver saw differ from the oracle's by the rounding of a float64 product.
    assert found.kkt_violation <= 1.01e-4
    assert solution.outcome.objective == pytest.approx(found.objective, rel=1e-9)
    assert found.objective == pytest.approx(certificate(case, case.gram, contracts.optimum(case)).objective, rel=1e-6)


@pytest.mark.parametrize("solver", ["smo", "block"])
def test_the_number_of_threads_changes_nothing(solver: str) -> None:
    case = chess_board_case(400, 100.0)
    problem = DualProblem(case.linear, case.lower, case.upper)
    results = [
        solve(
            problem,
            row_source(case.points, gamma=case.gamma),
            options=SolverOptions(solver=solver, n_threads=threads),
        )
        for threads in (1, 2, 3)
    ]
    for other in results[1:]:
        assert np.array_equal(other.alpha, results[0].alpha)
        assert np.array_equal(other.gradient, results[0].gradient)
        assert other.outcome.iterations == results[0].outcome.iterations


def test_kernel_evaluations_are_counted() -> None:
    case = chess_board_case(300, 1000.0)
    problem = DualProblem(case.linear, case.lower, case.upper)
    roomy, cramped = (
        solve(
            problem,
            row_source(case.points, gamma=case.gamma),
            options=SolverOptions(solver="smo", selection="second-order", shrinking=False, cache_bytes=cache_bytes),
        ).outcome.kernel_evaluations
        for cache_bytes in (None, 4096)
    )
    # With room for all rows, none is computed twice; the diagonal and the final certificate may come on top.
    assert 0 < roomy <= 2 * 300 * 300 + 300
    assert cramped > 1.5 * roomy


def test_fewer_rows_are_evaluated_by_maximum_gain_when_the_cache_is_small() -> None:
    # [Glasmachers2008, Tables 6.2 and 6.3]: the reason why this selection exists.
    case = chess_board_case(300, 1000.0)
    problem = DualProblem(case.linear, case.lower, case.upper)
    evaluations = [
        solve(
            problem,
            row_source(case.points, gamma=case.gamma),
            options=SolverOptions(
                solver="smo", selection=selection, planning_ahead=0, shrinking=False, cache_bytes=4 * 4 * 300
            ),
        ).outcome.kernel_evaluations
        for selection in ("maximum-gain", "second-order")
    ]
    assert evaluations[0] < evaluations[1]


@pytest.mark.parametrize("seed", range(20))
def test_projection_agrees_with_bisection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    lower, upper = -rng.exponential(size=n), rng.exponential(size=n)
    lower[rng.random(n) < 0.2] = 0.0
    upper[rng.random(n) < 0.2] = 0.0
    point = rng.normal(scale=3.0, size=n)
    total = float(rng.uniform(lower.sum(), upper.sum())) if seed % 2 else 0.0
    found = project(point, DualProblem(np.zeros(n), lower, upper), total)
    assert (found >= lower).all()
    assert (found <= upper).all()
    assert found.sum() == pytest.approx(total, abs=1e-10)
    np.testing.assert_allclose(found, project_slowly(point, lower, upper, total), atol=1e-9)


def test_projection_refuses_an_impossible_total() -> None:
    problem = DualProblem(np.zeros(3), -np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="total"):
        project(np.zeros(3), problem, 4.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lower": np.array([0.0, -1.0])}, "lower"),
        ({"upper": np.array([1.0, 0.0, 1.0, 1.0])}, "upper"),
        ({"lower": np.array([2.0, -1.0, -1.0])}, "lower|upper"),
        ({"linear": np.array([1.0, np.nan, 1.0])}, "linear"),
        ({"kink": np.array([1.0, -0.5, 1.0])}, "kink"),
        ({"kink": np.array([1.0, np.nan, 1.0])}, "kink"),
        ({"kink": np.array([1.0, np.inf, 1.0])}, "kink"),
        ({"kink": np.ones(2)}, "kink"),
        ({"kink": np.zeros(3), "lower": np.array([-1.0, 0.5, -1.0])}, "kink.*box"),
        ({"kink": np.zeros(3), "upper": np.array([-0.5, 1.0, 1.0])}, "kink.*box"),
        ({"kink": np.ones(3), "group": np.array([0, 0, 1])}, "kink.*groups"),
    ],
)
def test_malformed_problems_are_refused(changes: dict[str, Any], words: str) -> None:
    parts: dict[str, Any] = {"linear": np.ones(3), "lower": -np.ones(3), "upper": np.ones(3)}
    with pytest.raises(ValueError, match=words):
        solve(DualProblem(**{**parts, **changes}), row_source(np.eye(3), kernel="precomputed"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"solver": "newton"},
        {"selection": "WSS3"},
        {"planning_ahead": -1},
        {"dtype": "float16"},
        {"n_threads": 0},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_malformed_options_are_refused(wrong: dict[str, Any]) -> None:
    case = CASES[0]
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        Solver(**wrong)(case, case.gram, tolerance=1e-3)


def test_a_start_of_the_wrong_length_is_refused() -> None:
    case = CASES[0]
    with pytest.raises(ValueError, match="start"):
        Solver()(case, case.gram, tolerance=1e-3, start=np.zeros(3))


@pytest.mark.parametrize("rows", [-1, 1])
def test_rows_that_do_not_fit_the_problem_are_refused(rows: int) -> None:
    case = CASES[0]
    with pytest.raises(ValueError, match="row"):
        Solver()(case, np.eye(case.linear.size + rows), tolerance=1e-3)

"""Contracts: what a new solver or a new kernel of the core has to pass before it may join the package.

Each clause of a contract raises AssertionError with a sentence. A test that wants one report per clause walks
`SOLVER_CLAUSES`, or what :meth:`Contract.clauses` returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from widemargin.testing.checks import (
    certificate,
    check_close,
    check_feasible,
    check_report,
    check_semidefinite,
    check_solution,
)
from widemargin.testing.oracles import kernel_matrix, project, solve_exactly
from widemargin.testing.problems import Case, chess_board_case, small_cases
from widemargin.testing.protocols import Matrix, Solve, Vector


class Contract:
    """Clauses that something has to keep: the public methods of a subclass, in the order they are written in."""

    def clauses(self) -> list[Callable[[], None]]:
        """All clauses, for tests that want one report each."""
        kinds = reversed(type(self).__mro__[:-2])
        names = dict.fromkeys(name for kind in kinds for name, value in vars(kind).items() if callable(value))
        return [getattr(self, name) for name in names if not name.startswith("_")]

    def check(self) -> None:
        """Raise AssertionError, with a sentence, unless every clause is kept."""
        for clause in self.clauses():
            clause()


@lru_cache(maxsize=64)
def optimum(case: Case) -> Vector:
    """Return the exact solution of a case, computed once."""
    alpha = solve_exactly(case, case.gram)
    alpha.setflags(write=False)
    return alpha


def _check_objective(case: Case, reached: float, gap: float, tolerance: float, how: str) -> None:
    best = certificate(case, case.gram, optimum(case)).objective
    rounding = 1e-9 * max(1.0, abs(best))
    assert reached <= best + rounding, f"{case}: the objective {reached!r} {how} exceeds the optimum {best!r}."
    assert best - reached <= gap + rounding, f"{case}: the gap {gap:.3e} {how} does not cover {best - reached:.3e}."
    allowed = 0.1 * tolerance * max(1.0, abs(best)) + rounding
    assert best - reached <= allowed, (
        f"{case}: the objective {how} must come within {allowed:.1e} of {best!r}, it is {best - reached:.3e} short."
    )


def solves_from_zero(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that a cold start converges, reports what is true, meets the tolerance and the oracle's objective."""
    solution = solve(case, case.gram, tolerance=tolerance)
    found = check_solution(case, case.gram, solution, tolerance)
    _check_objective(case, found.objective, found.duality_gap, tolerance, "from a cold start")


def repeats_itself(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that the same call gives the same bits."""
    first, second = (solve(case, case.gram, tolerance=tolerance) for _ in range(2))
    assert np.array_equal(first.alpha, second.alpha), f"{case}: two identical calls must give identical variables."
    assert first.outcome.iterations == second.outcome.iterations, (
        f"{case}: two identical calls must take the same iterations."
    )


def stays_at_the_optimum(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that, started at the optimum, with or without its gradient, nearly nothing is left to do."""
    best = optimum(case)
    gradient = certificate(case, case.gram, best).gradient
    for start_gradient in (None, gradient):
        solution = solve(case, case.gram, tolerance=tolerance, start=best.copy(), start_gradient=start_gradient)
        found = check_solution(case, case.gram, solution, tolerance)
        _check_objective(case, found.objective, found.duality_gap, tolerance, "from the optimum")
        taken = solution.outcome.iterations
        assert taken <= 2, f"{case}: a start at the optimum must take at most 2 iterations, it took {taken}."


def resumes_its_own_state(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that a solution and its gradient, handed back, are recognised as finished."""
    first = solve(case, case.gram, tolerance=tolerance)
    again = solve(case, case.gram, tolerance=tolerance, start=first.alpha, start_gradient=first.gradient)
    check_solution(case, case.gram, again, tolerance)
    taken = again.outcome.iterations
    assert taken <= 2, f"{case}: resuming a finished solve must take at most 2 iterations, it took {taken}."


def mends_infeasible_starts(solve: Solve, case: Case, tolerance: float) -> None:
    """Any start is made feasible and leads to the same objective; the caller's array is left alone."""
    rng = np.random.default_rng(7)
    width = float(np.max(case.upper - case.lower))
    starts = {
        "far outside its box": 10.0 * width * rng.normal(size=case.linear.size),
        "at the upper bounds": case.upper.copy(),
        "halfway to the optimum": 0.5 * optimum(case) + 0.1 * width,
    }
    for name, start in starts.items():
        given = start.copy()
        solution = solve(case, case.gram, tolerance=tolerance, start=given)
        assert np.array_equal(given, start), f"{case}: the solver must not write into the start it was given."
        found = check_solution(case, case.gram, solution, tolerance)
        _check_objective(case, found.objective, found.duality_gap, tolerance, f"from a start {name}")


def leaves_frozen_variables(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that a variable whose box is [0, 0] stays exactly 0 and its gradient is that of a held-out sample."""
    frozen = np.arange(case.linear.size) % 3 == 1
    lower, upper = np.where(frozen, 0.0, case.lower), np.where(frozen, 0.0, case.upper)
    held = replace(case, name=f"{case} with a third held out", lower=lower, upper=upper)
    start = np.where(frozen, 1.0, 0.0)
    for given in (None, start):
        solution = solve(held, held.gram, tolerance=tolerance, start=given)
        check_solution(held, held.gram, solution, tolerance)
        assert not solution.alpha[frozen].any(), f"{held}: variables with the box [0, 0] must stay exactly 0."


def solves_when_all_is_frozen(solve: Solve, case: Case, tolerance: float) -> None:
    """With every box [0, 0] the answer is 0, at once."""
    nothing = np.zeros_like(case.linear)
    held = replace(case, name=f"{case} all held out", lower=nothing, upper=nothing)
    solution = solve(held, held.gram, tolerance=tolerance)
    check_solution(held, held.gram, solution, tolerance)
    assert solution.outcome.iterations == 0, f"{held}: there is nothing to iterate over."


#: A budget of iterations that no case comes near.
PLENTY = 100_000


def respects_its_iteration_budget(solve: Solve, case: Case, tolerance: float) -> None:
    """Require that a budget is kept and named, and that twice as much of it never leads to less.

    From one budget to the next a little less is allowed: planned steps may trail greedy ones for a while
    ([Glasmachers2008, Lemma 7.3] bounds their gain from below by a fraction of the greedy one's).
    """
    # A solver may take another way where it has no budget.
    whole = solve(case, case.gram, tolerance=tolerance, max_iterations=PLENTY).outcome.iterations
    rough = project(0.5 * optimum(case), case.lower, case.upper)
    for start in (np.zeros_like(case.linear), rough):
        reached = {0: certificate(case, case.gram, start).objective}
        for budget in (1, 2, 3, 5, 8, 13, 21, 34, 55):
            solution = solve(case, case.gram, tolerance=1e-9, max_iterations=budget, start=start.copy())
            check_feasible(case, solution.alpha)
            found = check_report(case, case.gram, solution)
            taken, reason = solution.outcome.iterations, solution.outcome.reason
            assert taken <= budget, f"{case}: {taken} iterations were made where {budget} were allowed."
            before = max(objective for spent, objective in reached.items() if 2 * spent <= budget)
            assert found.objective >= before - 1e-10 * max(1.0, abs(before)), (
                f"{case}: with {budget} iterations the objective fell from {before!r} to {found.objective!r}."
            )
            reached[budget] = found.objective
            if whole > budget and start is not rough:
                assert reason == "iteration budget", f"{case}: {budget} iterations cannot end with {reason!r}."


SOLVER_CLAUSES: tuple[Callable[[Solve, Case, float], None], ...] = (
    solves_from_zero,
    repeats_itself,
    stays_at_the_optimum,
    resumes_its_own_state,
    mends_infeasible_starts,
    leaves_frozen_variables,
    solves_when_all_is_frozen,
    respects_its_iteration_budget,
)


def respects_its_time_budget(solve: Solve, *, seconds: float = 0.05, slack: float = 0.5) -> None:
    """On a problem that takes long, the deadline is kept, named as the reason, and the state is usable.

    A solver that has no time to compute what it has reached says so by an infinite violation.
    """
    case = chess_board_case(600, 1e7)
    began = time.perf_counter()
    solution = solve(case, case.gram, tolerance=1e-9, max_seconds=seconds)
    taken = time.perf_counter() - began
    check_feasible(case, solution.alpha)
    if np.isinf(solution.outcome.kkt_violation):
        found = certificate(case, case.gram, solution.alpha)
    else:
        found = check_report(case, case.gram, solution)
    assert taken <= seconds + slack, f"{case}: {seconds} s were allowed, {taken:.2f} s were taken."
    assert found.objective > 0.0, f"{case}: the state kept at the deadline must be better than the start."
    assert solution.outcome.reason == "time budget", (
        f"{case}: the deadline cannot end with {solution.outcome.reason!r}."
    )


def solver_contract(solve: Solve, cases: Iterable[Case] | None = None, *, tolerance: float = 1e-3) -> None:
    """Raise AssertionError, with a sentence, unless a solver keeps every clause on every case.

    Parameters
    ----------
    solve : callable
        ``solve(problem, K, *, tolerance, max_iterations, max_seconds, start, start_gradient)`` returning an object with
        `alpha`, `gradient` and `outcome`.
    cases : iterable of Case, optional
        The problems; by default :func:`widemargin.testing.small_cases`. A solver that takes kinks has to solve
        :func:`widemargin.testing.kinked_cases` too.
    tolerance : float
        The KKT violation to ask for.
    """
    for case in small_cases() if cases is None else cases:
        for clause in SOLVER_CLAUSES:
            clause(solve, case, tolerance)
    respects_its_time_budget(solve)


class Kernel(Protocol):
    """A function that computes kernel matrices, as the contract calls it."""

    def __call__(
        self, A: object, B: object | None = None, *, kernel: str, gamma: float, coef0: float, degree: int
    ) -> Matrix:
        """Return the kernel matrix between the samples A and B (A itself by default)."""


#: Parameters under which each kernel is tested; the second entry says whether it is positive semidefinite there.
KERNEL_SETTINGS: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"kernel": "linear", "gamma": 1.0, "coef0": 0.0, "degree": 3}, True),
    ({"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2}, True),
    ({"kernel": "poly", "gamma": 0.1, "coef0": 0.0, "degree": 3}, True),
    ({"kernel": "rbf", "gamma": 0.25, "coef0": 0.0, "degree": 3}, True),
    ({"kernel": "rbf", "gamma": 40.0, "coef0": 0.0, "degree": 3}, True),
    ({"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.5, "degree": 3}, False),
)


def _grid_points(n: int, dimension: int, seed: int) -> Matrix:
    """Random points on a grid of step 2**-10, on which even large offsets can be added without rounding."""
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(n, dimension)) * 1024.0) / 1024.0
    points[-1] = points[0]
    points[1] = 0.0
    return points


def kernel_contract(
    compute: Kernel,
    *,
    precision: float,
    sparse: bool = True,
    settings: Iterable[tuple[dict[str, Any], bool]] = KERNEL_SETTINGS,
) -> None:
    """Raise AssertionError, with a sentence, unless a kernel computes what it should.

    Clauses: equal to the oracle for square, rectangular, single-row and single-column inputs, dense and CSR; symmetric;
    positive semidefinite where the kernel is; for the Gaussian, ones on the diagonal, values in [0, 1], and no change
    under a common offset of 1e6.

    Parameters
    ----------
    compute : callable
        ``compute(A, B=None, *, kernel, gamma, coef0, degree)``.
    precision : float
        Allowed error relative to the largest value: about 1e-6 for float32 results, 1e-12 for float64.
    sparse : bool
        Whether `compute` also takes CSR matrices.
    settings : iterable of (parameters, positive semidefinite)
        Which kernels to test.

    Examples
    --------
    >>> from widemargin.testing import kernel_contract, kernel_matrix
    >>> kernel_contract(kernel_matrix, precision=1e-12)
    """
    for parameters, semidefinite in settings:
        kernel: Any = partial(compute, **parameters)
        oracle: Any = partial(kernel_matrix, **parameters)
        _check_values(kernel, oracle, precision, sparse, f"{parameters}")
        _check_structure(
            np.asarray(kernel(_grid_points(90, 3, 5)), dtype=np.float64), precision, semidefinite, parameters
        )
        if parameters["kernel"] == "rbf":
            points = _grid_points(60, 4, 11)
            for shifted in (points + 1e6, *([csr_array(points + 1e6)] if sparse else [])):
                what = f"{parameters} under a common offset of 1e6, {type(shifted).__name__}"
                _compare(kernel(shifted), oracle(points), precision, what)


def _compare(found: Matrix, expected: Matrix, precision: float, what: str) -> None:
    check_close(found, expected, precision * max(1.0, float(np.abs(expected).max(initial=0.0))), what)


def _check_values(kernel: Any, oracle: Any, precision: float, sparse: bool, name: str) -> None:
    for n, m, dimension in ((40, 17, 5), (1, 3, 2), (33, 1, 1), (130, 70, 19)):
        A, B = _grid_points(max(n, 2), dimension, n)[:n], _grid_points(max(m, 2), dimension, m + 1)[:m]
        what = f"{name} on {n} x {m} samples of {dimension} features"
        _compare(kernel(A, B), oracle(A, B), precision, what)
        _compare(kernel(A), oracle(A), precision, what)
        if sparse:
            thin_a, thin_b = np.where(A > 0.3, A, 0.0), np.where(B > 0.3, B, 0.0)
            _compare(kernel(csr_array(thin_a), csr_array(thin_b)), oracle(thin_a, thin_b), precision, f"{what}, CSR")


def _check_structure(K: Matrix, precision: float, semidefinite: bool, parameters: dict[str, Any]) -> None:
    _compare(K, K.T, precision, f"{parameters}, transposed")
    if semidefinite:
        check_semidefinite(K, precision, f"{parameters}")
    if parameters["kernel"] == "rbf":
        assert np.abs(np.diag(K) - 1.0).max() <= precision, f"{parameters}: the diagonal must be 1."
        assert 0.0 <= K.min() <= K.max() <= 1.0 + precision, f"{parameters}: values must lie in [0, 1]."

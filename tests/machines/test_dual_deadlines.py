"""When time is up: no kernel values are computed that the grace does not suffice for; what is unknown is not told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines.dual import DualProblem, Solution, SolverOptions, StopRule, Vector, solve
from widemargin.machines.max_min_over import CountingState, count_to_gap
from widemargin.machines.one_class import nu_machine, squared_slack_machine, train, train_squared_slack
from widemargin.machines.regression import solve_nu_tube
from widemargin.testing import kernel_matrix

N = 600

#: Time that was up a moment ago, and no grace.
OVER = StopRule(1e-6, grace_seconds=0.0).within(-0.1)


class CountedKernel:
    """A kernel that counts the values asked for, and takes its time for those that are no part of the diagonal."""

    def __init__(self, seconds_per_call: float = 0.0) -> None:
        self.values, self.seconds = 0, seconds_per_call

    def __call__(self, A: Any, B: Any) -> Any:
        if len(B) > 64:
            time.sleep(self.seconds)
        self.values += len(A) * len(B)
        return kernel_matrix(A, B, gamma=0.5)


def _points(n: int = N) -> Any:
    return np.random.default_rng(0).normal(size=(n, 4))


def _sum_problem(n: int, nu: float = 0.5) -> DualProblem:
    return DualProblem(np.zeros(n), np.zeros(n), np.ones(n), (nu * n, 0.0))


def _require_unknown(found: Solution) -> None:
    assert found.outcome.reason == "time budget"
    assert not found.outcome.known
    assert found.outcome.kkt_violation == found.outcome.duality_gap == np.inf
    assert np.isnan(found.outcome.objective)
    assert np.isfinite(found.alpha).all()
    assert np.isfinite(found.gradient).all()
    assert np.isfinite([found.intercept, found.second_intercept]).all()


def test_without_any_grace_some_support_vectors_stand_for_all() -> None:
    n = 9000
    X, start = _points(n), np.repeat([1.0, 0.0], n // 2)
    kernel = CountedKernel()
    found = solve(_sum_problem(n), row_source(X, kernel=kernel), stop=OVER, start=start)
    _require_unknown(found)
    # A few variables of each kind, and a quarter of the support vectors; the diagonal besides.
    assert kernel.values <= n + 8 * (n // 2) // 4
    product = kernel_matrix(X[::50], X, gamma=0.5) @ found.alpha
    assert -found.intercept == pytest.approx(float(product.mean()), rel=0.5)


@pytest.mark.parametrize("start", [np.repeat([1.0, 0.0], N // 2), np.linspace(-1.0, 2.0, N)], ids=["feasible", "any"])
def test_a_start_without_time_for_its_gradient_is_feasible_and_unknown(start: Vector) -> None:
    kernel = CountedKernel()
    found = solve(_sum_problem(N), row_source(_points(), kernel=kernel), stop=OVER, start=start)
    _require_unknown(found)
    assert kernel.values < 20 * N  # the gradient would take half of N^2
    assert found.alpha.sum() == pytest.approx(0.5 * N)
    assert found.alpha.min() >= 0.0
    assert found.alpha.max() <= 1.0
    # A sample of the gradient says where about the price of the sum is.
    exact = solve(_sum_problem(N), row_source(_points(), gamma=0.5), start=found.alpha, stop=StopRule(max_iterations=0))
    assert found.intercept == pytest.approx(exact.intercept, rel=0.5)


def test_two_sums_have_two_prices_without_time() -> None:
    signs = np.tile([1.0, -1.0], N // 2)
    problem = DualProblem(
        np.zeros(N), np.minimum(0.0, signs), np.maximum(0.0, signs), (0.2 * N, -0.2 * N), (signs < 0).astype(np.uint8)
    )
    apart = _points() + 2.0 * signs[:, np.newaxis]
    found = solve(problem, row_source(apart, gamma=0.5), stop=OVER, start=0.4 * signs)
    _require_unknown(found)
    assert found.intercept < 0.0 < found.second_intercept


def test_a_start_whose_gradient_is_free_is_certified_without_time() -> None:
    signs = np.tile([1.0, -1.0], N // 2)
    kernel = CountedKernel()
    problem = DualProblem(signs, np.minimum(0.0, signs), np.maximum(0.0, signs))
    found = solve(problem, row_source(_points(), kernel=kernel), stop=OVER)
    assert (found.outcome.reason, found.outcome.kkt_violation, found.outcome.objective) == ("time budget", 2.0, 0.0)
    assert found.outcome.duality_gap == N
    assert kernel.values == 0


def test_the_grace_certifies_what_was_reached() -> None:
    rows = row_source(_points(), gamma=0.5)
    start = np.repeat([1.0, 0.0], N // 2)
    found = solve(_sum_problem(N), rows, stop=StopRule(1e-6, grace_seconds=30.0).within(0.0), start=start)
    gradient = -kernel_matrix(_points(), gamma=0.5) @ found.alpha
    assert found.outcome.reason == "time budget"
    violation = gradient[found.alpha < 1.0].max() - gradient[found.alpha > 0.0].min()
    assert found.outcome.kkt_violation == pytest.approx(violation, rel=1e-9)
    assert found.outcome.objective == pytest.approx(0.5 * found.alpha @ gradient, rel=1e-9)


def test_in_the_grace_nothing_is_begun_that_will_not_be_finished() -> None:
    kernel = CountedKernel(0.02)
    start = np.repeat([1.0, 0.0], N // 2)
    began = time.perf_counter()
    found = solve(
        _sum_problem(N),
        row_source(_points(), kernel=kernel),
        stop=StopRule(1e-6, grace_seconds=0.08).within(0.0),
        start=start,
    )
    _require_unknown(found)
    # Two calls or three tell that all of them would take too long; as many are for the estimate.
    assert time.perf_counter() - began < 1.0
    assert kernel.values < 0.5 * N * N


@pytest.mark.parametrize("solver", ["auto", "smo"])
def test_a_run_that_is_cut_keeps_its_point_and_its_price(solver: str) -> None:
    signs = np.random.default_rng(1).choice([-1.0, 1.0], N)
    problem = DualProblem(signs, np.minimum(0.0, 1e6 * signs), np.maximum(0.0, 1e6 * signs))
    kernel = CountedKernel(0.005)
    stop = StopRule(1e-12, grace_seconds=0.0).within(0.15)
    found = solve(problem, row_source(_points(), kernel=kernel), stop=stop, options=SolverOptions(solver))
    _require_unknown(found)
    assert np.abs(found.alpha).sum() > 0.0
    assert found.alpha.sum() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "fit",
    [
        lambda rows, stop: train(nu_machine(np.ones(N), 0.5), rows, stop=stop, options=SolverOptions())[1],
        lambda rows, stop: train_squared_slack(
            squared_slack_machine(np.ones(N)), rows, stop=stop, options=SolverOptions()
        )[1],
    ],
    ids=["nu", "squared slack"],
)
def test_one_class_machines_without_time(fit: Callable[..., Solution]) -> None:
    kernel = CountedKernel()
    found = fit(row_source(_points(), kernel=kernel), OVER)
    assert found.outcome.reason == "time budget"
    assert np.isfinite(found.alpha).all()
    assert kernel.values < 40 * N


def test_a_tube_of_its_own_width_without_time_has_no_gap() -> None:
    X = _points()
    how = {"nu": 0.5, "options": SolverOptions()}
    cut = solve_nu_tube(
        row_source(X, gamma=0.5), X[:, 0], np.ones(N), stop=StopRule(1e-9, grace_seconds=-1.0).within(0.02), **how
    )
    assert cut.outcome.reason == "time budget"
    assert cut.outcome.duality_gap == np.inf
    assert np.isfinite([cut.intercept, cut.epsilon]).all()


def test_counting_without_grace_says_that_nothing_is_known() -> None:
    kernel = CountedKernel(0.002)
    state = CountingState.fresh(row_source(_points(), kernel=kernel), 0.5, 2 * 4 * N)
    cut = count_to_gap(state, np.full(N, 100.0), stop=StopRule(1e-9, grace_seconds=0.0).within(0.2))
    assert cut.outcome.reason == "time budget"
    assert cut.outcome.kkt_violation == cut.outcome.duality_gap == cut.gap == np.inf
    assert np.isfinite(cut.coefficients).all()
    assert cut.coefficients.sum() > 0.0
    # From counts whose scores there is no time to compute.
    values = kernel.values
    again = count_to_gap(state, np.full(N, 100.0), stop=StopRule(1e-9, grace_seconds=0.0).within(0.0))
    assert again.outcome.kkt_violation == np.inf
    assert np.isfinite(again.coefficients).all()
    assert kernel.values - values < 20 * N


def test_the_diagonal_of_a_callable_is_evaluated_once_and_in_blocks() -> None:
    kernel, n = CountedKernel(), 2048
    calls: list[int] = []

    def counted(A: Any, B: Any) -> Any:
        calls.append(len(A))
        return kernel(A, B)

    rows = row_source(_points(n), kernel=counted)
    assert rows.diagonal().tolist() == pytest.approx(np.ones(n).tolist())
    assert len(calls) == 64
    assert np.array_equal(rows.diagonal(), rows.diagonal())
    assert len(calls) == 64

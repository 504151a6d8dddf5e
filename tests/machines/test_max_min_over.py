"""OneClassMaxMinOver against its naive twin and against the quadratic program it approximates [Timm2009]."""

import threading
import time
import warnings

import numpy as np
import pytest

from oracles.geometric import feasibility_gap, one_class_max_min_over
from widemargin.kernels.rows import derived_rows, row_source
from widemargin.machines.chain import ChainKernel
from widemargin.machines.dual import DualProblem, StopRule, solve
from widemargin.machines.max_min_over import CountingState, count_chain, count_to_gap
from widemargin.runtime import StopRequest
from widemargin.testing.oracles import kernel_matrix

GAMMA = 0.8


def points(n=60, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def state_of(X, gamma=GAMMA, cache_bytes=1 << 24):
    return CountingState.fresh(row_source(X, gamma=gamma), gamma, cache_bytes)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_the_naive_algorithm(weighted):
    X = points(25)
    bounds = np.random.default_rng(1).uniform(5, 50, len(X)) if weighted else np.full(len(X), 20.0)
    naive = one_class_max_min_over(kernel_matrix(X, kernel="rbf", gamma=GAMMA), bounds, 1e-3)
    state = state_of(X)
    machine = count_to_gap(state, bounds, stop=StopRule(1e-3), recompute_every=1)
    np.testing.assert_array_equal(state.counts, naive.counts)
    assert machine.outcome.iterations == naive.iterations
    assert machine.gap == pytest.approx(naive.gap, rel=1e-3)


@pytest.mark.parametrize("cache_rows", [2, 10, 1000])
def test_the_gap_falls_below_a_millionth(cache_rows):
    X, bounds = points(), np.full(60, 100.0)
    machine = count_to_gap(state_of(X, cache_bytes=cache_rows * 60 * 4), bounds, stop=StopRule(1e-6))
    assert machine.outcome.reason == "converged"
    K = kernel_matrix(X, kernel="rbf", gamma=GAMMA)
    assert feasibility_gap(K, bounds, machine.coefficients) <= 1.1e-6
    assert machine.outcome.duality_gap == pytest.approx(machine.gap * (machine.outcome.objective + 1), rel=1e-2)
    assert np.all(np.diff(machine.gaps) < 0.1)


def test_the_machine_is_that_of_the_quadratic_program():
    X, C, n = points(), 100.0, 60
    machine = count_to_gap(state_of(X), np.full(n, C), stop=StopRule(1e-8))
    rows = derived_rows(
        row_source(X, gamma=GAMMA), base=[*range(n), 0], scale=[1.0] * n + [0.0], ridge=[1.0 / C] * n + [0.0]
    )
    lower, upper = np.append(np.zeros(n), -np.inf), np.full(n + 1, np.inf)
    exact = solve(DualProblem(np.append(np.ones(n), 0.0), lower, upper), rows, stop=StopRule(1e-8))
    assert machine.outcome.objective == pytest.approx(exact.outcome.objective, rel=1e-6)
    np.testing.assert_allclose(machine.coefficients, exact.alpha[:n], atol=2e-3 * exact.alpha.max())


def test_a_neighbour_is_a_good_start_and_changes_nothing():
    X, bounds = points(), np.full(60, 50.0)
    cold = count_to_gap(state_of(X, 1.0), bounds, stop=StopRule(1e-5))
    state = state_of(X)
    count_to_gap(state, bounds, stop=StopRule(1e-5))
    state.move_to(row_source(X, gamma=1.0), 1.0)
    warm = count_to_gap(state, bounds, stop=StopRule(1e-5))
    assert warm.outcome.iterations < cold.outcome.iterations
    assert warm.outcome.kernel_evaluations < cold.outcome.kernel_evaluations
    assert warm.outcome.objective == pytest.approx(cold.outcome.objective, rel=1e-4)


@pytest.mark.parametrize("other", [0.1, 0.79, 3.0, 40.0])
def test_stored_rows_follow_the_width(other):
    X = points(50, 5)
    state = state_of(X)
    before = [state.store.row(i) for i in range(30)]
    assert len(before) == state.store.held == 30
    evaluated = state.store.evaluations
    state.move_to(row_source(X, gamma=other), other)
    K = kernel_matrix(X, kernel="rbf", gamma=other)
    found = np.array([state.store.row(i) for i in range(50)])
    np.testing.assert_allclose(found, K, atol=2e-6)
    assert state.store.evaluations - evaluated == 20 * 50  # those that were not held


def test_values_that_had_vanished_are_computed_anew():
    X = np.array([[0.0], [1.0], [12.0]])
    state = CountingState.fresh(row_source(X, gamma=1.0), 1.0, 1 << 20)
    assert state.store.row(0)[2] == 0.0  # exp(-144) is no float32
    state.move_to(row_source(X, gamma=0.01), 0.01)
    np.testing.assert_allclose(state.store.row(0), np.exp(-0.01 * np.array([0.0, 1.0, 144.0])), rtol=1e-5)


def test_budgets_end_with_a_reason_and_the_gap_reached():
    X, bounds = points(), np.full(60, 1000.0)
    few = count_to_gap(state_of(X), bounds, stop=StopRule(1e-9, max_iterations=50))
    assert (few.outcome.reason, few.outcome.iterations) == ("iteration budget", 50)
    assert few.gap == pytest.approx(
        feasibility_gap(kernel_matrix(X, kernel="rbf", gamma=GAMMA), bounds, few.coefficients), rel=1e-3
    )
    assert count_to_gap(state_of(X), bounds, stop=StopRule(1e-15).within(0.05)).outcome.reason == "time budget"


def test_another_thread_ends_the_counting():
    signal = StopRequest()
    threading.Timer(0.1, signal.request).start()
    began, state = time.perf_counter(), state_of(points(300), 0.01)
    ended = count_to_gap(state, np.full(300, 1e9), stop=StopRule(1e-15, signal=signal).within(20.0))
    assert time.perf_counter() - began < 0.6
    assert ended.outcome.reason == "interrupted"
    assert ended.gap == np.inf
    assert state.counts.sum() > 0  # where another run may go on


@pytest.mark.parametrize(
    ("bounds", "word"),
    [(np.zeros(60), "ridge"), (np.full(59, 1.0), "number of samples"), (np.full(60, -1.0), "ridge")],
)
def test_malformed_bounds_are_refused(bounds, word):
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=word):
        count_to_gap(state_of(points()), bounds, stop=StopRule(1e-3))


@pytest.mark.parametrize("timed", [True, False], ids=["clock", "iterations"])
def test_a_chain_that_ends_before_every_sample_has_a_score(timed):
    # Made here, since what pytest keeps of its parameters outlives the compiled core.
    stop = StopRule(1e-4).within(0.0) if timed else StopRule(1e-4, max_iterations=3)
    X, bounds = points(1000), [np.full(1000, 10.0), np.full(1000, 20.0)]
    kernel = ChainKernel(row_source(X, gamma=1e4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [one.solution for one in count_chain(kernel, bounds, stop=stop)]
    assert [one.outcome.reason for one in found] == (["time budget"] if timed else ["iteration budget"] * 2)
    for one in found:
        assert np.isfinite(one.alpha).all()
        if not timed:
            np.testing.assert_allclose(one.gradient, 1.0 - kernel_matrix(X, kernel="rbf", gamma=1e4) @ one.alpha)


def test_a_chain_starts_from_counts_of_other_samples_and_ends_with_its_own():
    X, bounds = points(80), np.full(80, 50.0)
    kernel = ChainKernel(row_source(X, gamma=GAMMA))
    (whole,) = (one.solution for one in count_chain(kernel, [bounds], stop=StopRule(1e-5)))
    np.testing.assert_allclose(whole.counts, whole.rho * whole.alpha)
    assert (whole.counts == np.rint(whole.counts)).all()
    (again,) = (one.solution for one in count_chain(kernel, [bounds], start=whole.counts, stop=StopRule(1e-5)))
    assert again.outcome.iterations == 0
    np.testing.assert_array_equal(again.counts, whole.counts)
    bounds[::4] = 0.0  # held out
    cold, warm = (
        next(count_chain(kernel, [bounds], start=start, stop=StopRule(1e-5))).solution for start in (None, whole.counts)
    )
    assert warm.outcome.objective == pytest.approx(cold.outcome.objective, rel=1e-4)
    assert warm.outcome.iterations < cold.outcome.iterations
    assert not warm.counts[::4].any()

"""Chains that end early: promptly, with the links that are finished, and with a reason."""

from __future__ import annotations

import _thread
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from chain_cases import Kernel, classification, kernel_of, points

from widemargin.kernels.rows import row_source
from widemargin.machines.chain import Chain, Link, LinkSolution, solve_chain, walk_chain, walk_chain_on_rows
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule
from widemargin.runtime import StopRequest

#: Seconds within which a chain has to end once it is told to, on a busy machine.
PROMPTLY = 0.5


def endless(n: int = 500) -> tuple[Kernel, Chain]:
    """A chain of many links that takes minutes: noise, and folds that have nothing in common."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    links = []
    for _ in range(2000):
        kept = rng.random(n) < 0.7
        links.append(Link(box(np.where(kept, y, 0.0), np.full(n, 3.0))))
    return kernel_of(X), Chain(tuple(links))


def stubborn(n: int = 700) -> tuple[Kernel, Chain]:
    """A chain of one link that takes minutes: a tolerance that is out of reach."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return kernel_of(X, gamma=0.05), Chain((Link(box(y, np.full(n, 1e9))),))


STOP = StopRule(1e-8)


def check_prefix(K: Kernel, chain: Chain, found: list[LinkSolution], reason: str) -> None:
    """All links but the last are solved, with the very bits of a chain that was not disturbed."""
    *finished, last = found
    assert 0 < len(found) < len(chain.links)
    assert last.solution.outcome.reason == reason
    assert last.solution.outcome.kkt_violation > STOP.tolerance
    undisturbed = solve_chain(K, Chain(chain.links[: len(finished)]), stop=STOP) if finished else []
    for one, other in zip(finished, undisturbed, strict=True):
        assert one.solution.outcome.reason == "converged"
        assert one.solution.alpha.tobytes() == other.solution.alpha.tobytes()
    # What was cut short is feasible, and its gradient is its own.
    problem, alpha = chain.links[len(finished)].problem, last.solution.alpha
    assert (alpha >= problem.lower).all()
    assert (alpha <= problem.upper).all()
    gradient = problem.linear - K.astype(np.float64) @ alpha
    np.testing.assert_allclose(last.solution.gradient, gradient, atol=1e-9)


def test_another_thread_ends_a_chain() -> None:
    K, chain = endless()
    signal = StopRequest()
    assert not signal.requested
    began = time.perf_counter()
    threading.Timer(0.3, signal.request).start()
    found = solve_chain(K, chain, stop=replace(STOP, signal=signal))
    assert time.perf_counter() - began < 0.3 + PROMPTLY
    assert signal.requested
    assert len(found) > 1
    check_prefix(K, chain, found, "interrupted")


def test_the_clock_ends_a_chain() -> None:
    K, chain = endless()
    began = time.perf_counter()
    found = solve_chain(K, chain, stop=StopRule(STOP.tolerance).within(0.3))
    assert 0.25 < time.perf_counter() - began < 0.3 + PROMPTLY
    assert len(found) > 1
    check_prefix(K, chain, found, "time budget")


@pytest.mark.parametrize("how", ["signal", "clock"])
def test_a_single_link_is_cut_short(how: str) -> None:
    K, chain = stubborn()
    signal = StopRequest()
    began = time.perf_counter()
    if how == "signal":
        threading.Timer(0.2, signal.request).start()
    seconds = 0.2 if how == "clock" else None
    (one,) = solve_chain(K, chain, stop=StopRule(1e-13, signal=signal).within(seconds))
    assert time.perf_counter() - began < 0.2 + PROMPTLY
    assert one.solution.outcome.reason == ("interrupted" if how == "signal" else "time budget")
    assert not one.repeated


def test_a_signal_that_was_given_before_is_heard_at_once() -> None:
    K, chain = endless()
    signal = StopRequest()
    signal.request()
    began = time.perf_counter()
    found = solve_chain(K, chain, stop=replace(STOP, signal=signal))
    assert time.perf_counter() - began < PROMPTLY
    assert len(found) <= 1


def test_no_time_at_all() -> None:
    K, chain = endless()
    found = solve_chain(K, chain, stop=StopRule(1e-3).within(0.0))
    assert len(found) <= 1
    assert all(one.solution.outcome.reason == "time budget" for one in found)


def test_one_signal_ends_several_threads() -> None:
    K, chain = endless()
    signal = StopRequest()
    results: list[list[LinkSolution]] = []
    threads = [
        threading.Thread(target=lambda: results.append(solve_chain(K, chain, stop=replace(STOP, signal=signal))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    began = time.perf_counter()
    signal.request()
    for thread in threads:
        thread.join(10.0)
    assert time.perf_counter() - began < 2 * PROMPTLY
    assert [found[-1].solution.outcome.reason for found in results] == ["interrupted"] * 3


def test_a_walk_ends_as_a_chain_does() -> None:
    K, chain = endless()
    signal = StopRequest()
    threading.Timer(0.3, signal.request).start()
    check_prefix(K, chain, list(walk_chain(K, chain, stop=replace(STOP, signal=signal))), "interrupted")
    began = time.perf_counter()
    found = list(walk_chain(K, chain, stop=StopRule(STOP.tolerance).within(0.3)))
    assert 0.25 < time.perf_counter() - began < 0.3 + PROMPTLY
    check_prefix(K, chain, found, "time budget")


def test_a_keyboard_interrupt_is_raised() -> None:
    K, chain = endless()
    began = time.perf_counter()
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solve_chain(K, chain, stop=STOP)
    assert time.perf_counter() - began < 0.2 + PROMPTLY
    timer.join()


def test_the_interpreter_runs_on_meanwhile() -> None:
    K, chain = endless()
    ticks: list[float] = []
    signal = StopRequest()

    def tick() -> None:
        for _ in range(20):
            time.sleep(0.01)
            ticks.append(time.perf_counter())
        signal.request()

    thread = threading.Thread(target=tick)
    thread.start()
    solve_chain(K, chain, stop=replace(STOP, signal=signal))
    thread.join()
    assert max(np.diff(ticks)) < PROMPTLY


def test_an_iteration_budget_holds_for_each_link() -> None:
    K, chain = classification(n=120, prices=np.array([1.0, 100.0, 1e4]))
    found = solve_chain(K, chain, stop=StopRule(1e-9, max_iterations=30))
    assert [one.solution.outcome.reason for one in found] == ["iteration budget"] * 3
    assert all(0 < one.solution.outcome.iterations <= 30 for one in found)
    (idle,) = solve_chain(K, Chain(chain.links[:1]), stop=StopRule(1e-9, max_iterations=0))
    assert idle.solution.outcome.iterations == 0


@pytest.mark.parametrize("ridge", [None, 1e-9])
def test_over_rows_another_thread_ends_a_chain(ridge: float | None) -> None:
    n = 2500
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    prices = np.full(n, 1e9 if ridge is None else np.inf)
    link = Link(box(y, prices), None if ridge is None else np.full(n, ridge))
    signal = StopRequest()
    told: list[float] = []

    def tell() -> None:
        told.append(time.perf_counter())
        signal.request()

    threading.Timer(0.2, tell).start()
    chain, rows = Chain((link, link)), row_source(X, gamma=0.05)
    found = list(walk_chain_on_rows(rows, chain, stop=StopRule(1e-13, signal=signal), options=SolverOptions()))
    assert time.perf_counter() - told[0] < PROMPTLY
    assert [one.solution.outcome.reason for one in found] == ["interrupted"]


def test_over_rows_a_keyboard_interrupt_is_raised() -> None:
    X, y = points(2500, separation=0.0)
    link = Link(box(y, np.full(len(y), 1e9)))
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    rows = row_source(X, gamma=0.05)
    with pytest.raises(KeyboardInterrupt):
        list(walk_chain_on_rows(rows, Chain((link,)), stop=StopRule(1e-13), options=SolverOptions()))
    timer.join()


def test_over_rows_the_clock_counts_all_links_together() -> None:
    X, y = points(1200, separation=0.05)
    rng = np.random.default_rng(0)
    links = tuple(Link(box(np.where(rng.random(1200) < 0.7, y, 0.0), np.full(1200, 3.0))) for _ in range(200))
    rows = row_source(X, gamma=0.5)
    began = time.perf_counter()
    stop = StopRule(1e-8).within(0.4)
    found = list(walk_chain_on_rows(rows, Chain(links), stop=stop, options=SolverOptions()))
    assert time.perf_counter() - began < 0.4 + PROMPTLY
    assert found[-1].solution.outcome.reason == "time budget"
    assert all(one.solution.outcome.reason == "converged" for one in found[:-1])

"""Signals that come while the core computes, at any moment."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from widemargin import _core
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import solve_chain
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, Subproblem, solve, solve_all

from .chain_cases import classification

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of processor time are POSIX's")

N = 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] * X[:, 1] + RNG.normal(scale=0.5, size=N) > 0, 1.0, -1.0)
ROWS = row_source(X, gamma=1.0)
PROBLEM = box(Y, np.full(N, 1e3))
SOON = StopRule(max_iterations=60_000)
IDS = np.arange(N, dtype=np.int32)


def _solve(n_threads: int, **options: Any) -> Callable[[], object]:
    return lambda: solve(PROBLEM, ROWS, stop=SOON, options=SolverOptions(n_threads=n_threads, **options))


def _many() -> object:
    some = [Subproblem(IDS[k::6], box(Y[k::6], np.full(len(IDS[k::6]), 1e3))) for k in range(6)]
    return solve_all(some, ROWS, stop=SOON, options=SolverOptions(n_threads=2))


K, CHAIN = classification(900)
WIDE = np.tile(X, (3, 30))
WIDE_ROWS, WIDE_IDS = row_source(WIDE, kernel="poly", gamma=1e-3, degree=5), np.arange(3 * N, dtype=np.int32)


CALLS: dict[str, Callable[[], object]] = {
    "smo": _solve(1, solver="smo"),
    "block": _solve(1, solver="block"),
    "two threads": _solve(2),
    "many problems": _many,
    "chain": lambda: list(solve_chain(K, CHAIN, stop=StopRule(tolerance=1e-9))),
    "kernel matrix": lambda: kernel_matrix(WIDE, kernel="poly", gamma=1e-3, degree=5),
    "kernel among": lambda: _core.kernel_among(WIDE_ROWS, WIDE_IDS, 2),
}


#: Seconds of processor time: timers of it are as coarse as hundredths of a second.
LONG_ENOUGH = 0.06


class Pressed(BaseException):
    """What the handler raises."""


@pytest.fixture
def presses() -> Iterator[list[float]]:
    """When the handler ran."""
    ran: list[float] = []

    def handler(*_: object) -> None:
        ran.append(time.perf_counter())
        raise Pressed

    gc.disable()  # what a handler raises within a callback of the garbage collector (hypothesis has one) is lost
    before = signal.signal(signal.SIGPROF, handler)
    yield ran
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
    gc.enable()


@pytest.mark.parametrize("name", CALLS)
def test_no_signal_is_lost_whenever_it_comes(name: str, presses: list[float]) -> None:
    call, heard = CALLS[name], 0
    began = time.process_time()
    call()
    seconds = time.process_time() - began
    times = 1 + int(LONG_ENOUGH / max(seconds, 1e-3))
    for share in np.linspace(0.02, 1.0, 15):
        expected = len(presses)
        try:
            signal.setitimer(signal.ITIMER_PROF, max(1e-4, share * times * seconds))
            for _ in range(times):
                call()
            signal.setitimer(signal.ITIMER_PROF, 0)
        except Pressed:
            heard += 1
            expected += 1
            assert time.perf_counter() - presses[-1] < 0.5
        # An exception that was raised by the handler has come out; there is none without one.
        assert len(presses) == expected
        assert sys.exc_info()[0] is None
    assert heard >= 1

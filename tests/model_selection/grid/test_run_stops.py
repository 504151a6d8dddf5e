"""Searches over kernel rows end as soon as they are told to, in threads too."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM

#: Seconds of the processor within which a search has to end once it is told to; a few hundredths are usual.
PROMPTLY = 0.5

#: Seconds within which it has to, whatever else keeps the computer busy.
SOON = 20.0

#: Megabytes that no kernel matrix fits into.
LITTLE = 0.1

N = 1500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
LABELS, CLASSES, NUMBERS = RNG.integers(0, 2, size=N), RNG.integers(0, 3, size=N), RNG.normal(size=N)

#: Machines that take minutes; most end by a budget of steps, should nobody be able to stop them.
LONG: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "classes": (SVC(tol=1e-9, max_iter=2_000_000), {"C": [1e7, 1e8]}, LABELS),
    "three classes": (SVC(tol=1e-9, max_iter=2_000_000), {"C": [1e7, 1e8]}, CLASSES),
    "hard margins": (SVC(tol=1e-9, gamma=0.01, max_iter=2_000_000), {"C": [np.inf]}, LABELS),
    "without intercept": (SVC(tol=1e-9, fit_intercept=False, max_iter=2_000_000), {"C": [1e7, 1e8]}, LABELS),
    "nu": (NuSVC(tol=1e-9, gamma=1e-3, max_iter=500_000), {"nu": [0.3, 0.5, 0.7]}, LABELS),
    "numbers": (SVR(tol=1e-9, max_iter=2_000_000), {"C": [1e7, 1e8]}, NUMBERS),
    "numbers by nu": (NuSVR(tol=1e-9, max_iter=2_000_000), {"C": [1e7, 1e8]}, NUMBERS),
    "counts": (OneClassSVM(tol=1e-12, loss="squared_hinge", solver="maxminover", gamma=0.01), {"C": [1e7, 1e8]}, None),
    "balls": (SVDD(tol=1e-14, gamma=1e-3), {"nu": [0.3, 0.5, 0.7]}, None),
}


def assert_prompt(fit: Callable[[], Any], after: float, stop: Callable[[], None] | None = None) -> None:
    """Check that a search ends soon after it is told to stop, or after its own deadline, and tells why.

    What it still computes is measured by the processor's time, since a clock would measure other processes, too.
    """
    told: list[tuple[float, float]] = []

    def tell() -> None:
        told.append((time.process_time(), time.perf_counter()))
        if stop is not None:
            stop()

    timer = threading.Timer(after, tell)
    timer.start()
    try:
        if stop is None:
            with pytest.raises(TimeoutError, match="max_time"):
                fit()
        else:
            with pytest.raises(KeyboardInterrupt):
                fit()
        ended = time.process_time(), time.perf_counter()
    finally:
        timer.cancel()
        timer.join()
    if stop is None and not told:
        return  # it has ended by its own clock before ours
    (worked, clock), (worked_until, clock_until) = told[0], ended
    assert worked_until - worked < PROMPTLY
    assert clock_until - clock < SOON


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c(name: str, n_jobs: int) -> None:
    machine, grid, y = LONG[name]
    search = GridSearchCV(machine, grid, cv=3, max_memory=LITTLE, n_jobs=n_jobs, refit=False)
    assert_prompt(lambda: search.fit(X, y), 0.15, _thread.interrupt_main)


@pytest.mark.parametrize("name", ["classes", "counts"])
def test_max_time(name: str) -> None:
    machine, grid, y = LONG[name]
    search = GridSearchCV(machine, grid, cv=3, max_memory=LITTLE, n_jobs=2, refit=False, max_time=0.15)
    assert_prompt(lambda: search.fit(X, y), 0.15)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_others_end_when_one_says_that_it_is_enough() -> None:
    """A progress display raises Ctrl-C once the first candidate is there; the other thread is at a long machine."""

    class Enough:
        def start(self, machines: int) -> None:
            pass

        def advance(self, machines: int, cost: float, left: float | None, best_score: float | None) -> None:
            if best_score is not None:
                self.at = time.perf_counter()
                raise KeyboardInterrupt

        def finish(self, reason: str) -> None:
            self.reason = reason

    progress = Enough()
    grid = [{"C": [1e-3], "gamma": [0.1]}, {"C": [1e8], "gamma": [0.11]}]
    machine = SVC(tol=1e-9, max_iter=2_000_000)
    search = GridSearchCV(machine, grid, cv=3, max_memory=LITTLE, n_jobs=2, refit=False, progress=progress)
    search.fit(X, LABELS)
    assert time.perf_counter() - progress.at < PROMPTLY
    assert progress.reason == "interrupted"
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("end", ["max_time", "ctrl-c"])
def test_a_kernel_matrix_that_takes_long(end: str, n_jobs: int) -> None:
    """It is shared by all machines, and may be what the time runs out at."""
    wide = np.random.default_rng(0).random(size=(6000, 3000), dtype=np.float32)
    search = GridSearchCV(SVC(gamma=1e-3), {"C": [1.0, 10.0]}, cv=[(np.arange(3000), np.arange(3000, 6000))])
    search.set_params(n_jobs=n_jobs, refit=False)
    y = np.arange(6000) % 2
    if end == "ctrl-c":
        assert_prompt(lambda: search.fit(wide, y), 0.25, _thread.interrupt_main)
    else:
        search.set_params(max_time=0.25)
        assert_prompt(lambda: search.fit(wide, y), 0.25)

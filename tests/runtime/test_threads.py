"""How many threads a number of jobs means, and how many BLAS has."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info

from widemargin.runtime import single_threaded_blas, thread_count
from widemargin.runtime.threads import Lock


def test_numbers_mean_what_joblib_means_by_them() -> None:
    cores = joblib.cpu_count()
    assert thread_count(None) == 1
    assert thread_count(5) == 5
    assert thread_count(-1) == cores
    assert thread_count(-2) == max(1, cores - 1)
    assert thread_count(-1000) == 1


def test_none_asks_the_active_configuration() -> None:
    with joblib.parallel_config(n_jobs=3):
        assert thread_count(None) == 3
        assert thread_count(2) == 2
    with joblib.parallel_config(n_jobs=-1):
        assert thread_count(None) == joblib.cpu_count()


def test_workers_of_a_search_use_one_thread_each() -> None:
    found = Parallel(n_jobs=2, backend="threading")(delayed(thread_count)(None) for _ in range(2))
    assert found == [1, 1]


@pytest.mark.parametrize("wrong", ["all", 0, 1.5, True])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="n_jobs must be"):
        thread_count(wrong)


def _in_a_worker(n_jobs: int) -> int:
    assert multiprocessing.current_process().daemon
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return thread_count(n_jobs)


def test_daemonic_workers_use_threads_without_a_warning() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_in_a_worker, [3]) == [3]


def threads_of_blas() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_overlapping_users_of_blas_restore_its_threads() -> None:
    before = threads_of_blas()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads_of_blas()) == {1}
    second.__exit__(None, None, None)
    assert threads_of_blas() == before


def test_the_last_user_of_blas_restores_its_threads_from_any_thread() -> None:
    before, within, leave = threads_of_blas(), threading.Event(), threading.Event()

    def other_user() -> None:
        with single_threaded_blas():
            within.set()
            leave.wait()

    other = threading.Thread(target=other_user)
    with single_threaded_blas():
        other.start()
        within.wait()
    assert set(threads_of_blas()) == {1}
    leave.set()
    other.join()
    assert threads_of_blas() == before


class _AlarmError(Exception):
    """What a signal raises, wherever the main thread is, as Ctrl-C does."""


@pytest.fixture
def alarms() -> Iterator[Callable[[float], None]]:
    def ring(*_: object) -> None:
        raise _AlarmError

    before = signal.signal(signal.SIGVTALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_VIRTUAL, seconds) and None
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def test_no_signal_leaves_a_lock_closed(alarms: Callable[[float], None]) -> None:
    lock, found = Lock(), []

    def look() -> None:
        found.append(lock.acquire(timeout=5))

    for number in range(300):
        try:
            alarms(1e-4 + 1e-7 * number)
            while True:
                with lock:
                    pass
        except _AlarmError:
            pass
        assert not lock.held
    other = threading.Thread(target=look)
    other.start()
    other.join()
    assert found == [True]


def test_no_signal_leaves_blas_with_one_thread(alarms: Callable[[float], None]) -> None:
    before = threads_of_blas()
    for number in range(100):
        try:
            alarms(1e-4 + 1e-7 * number)
            while True:
                with single_threaded_blas():
                    pass
        except _AlarmError:
            pass
        assert threads_of_blas() == before


def test_a_copy_of_a_lock_is_another_lock_which_is_open() -> None:
    lock = Lock()
    with lock:
        for other in (copy.copy(lock), copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert isinstance(other, Lock)
            assert other is not lock
            assert not other.held
            assert other.acquire(blocking=False)

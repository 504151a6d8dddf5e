"""Memory that runs out, on any thread, is an error and not the end; memory that is kept can be given back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, SVDD, SVR, OneClassSVM, _core, release_memory
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import Chain, Link, solve_chain
from widemargin.machines.dual import DualProblem, StopRule


@pytest.fixture(autouse=True)
def _enough_memory() -> Iterator[None]:
    yield
    _core.refuse_memory(-1)


def _data(n: int = 300, columns: int = 30) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, columns))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int)


FITS = {
    "SVC": lambda X, y: SVC(n_jobs=2).fit(X, y).dual_coef_,
    "six classes": lambda X, y: SVC(n_jobs=2).fit(X, 3 * y + np.arange(len(y)) % 3).dual_coef_,
    "folds": lambda X, y: SVC(n_jobs=2, calibration="folds").fit(X, y).sigmoids_,
    "SVR": lambda X, y: SVR(n_jobs=2, solver="block").fit(X, X[:, 1]).dual_coef_,
    "OneClassSVM": lambda X, y: OneClassSVM(n_jobs=2).fit(X).dual_coef_,
    "counting": lambda X, y: OneClassSVM(loss="squared_hinge", solver="maxminover", n_jobs=2).fit(X).dual_coef_,
    "SVDD": lambda X, y: SVDD(n_jobs=2).fit(X).dual_coef_,
    "prediction": lambda X, y: SVC(n_jobs=2).fit(X[:50], y[:50]).decision_function(X),
    "matrix": lambda X, y: kernel_matrix(X, n_jobs=2),
}


@pytest.mark.parametrize("name", FITS)
def test_memory_that_runs_out_is_an_error(name: str) -> None:
    X, y = _data()
    expected = FITS[name](X, y)
    refused = 0
    for after in range(0, 200, 3):
        release_memory()
        _core.refuse_memory(after)
        try:
            found = FITS[name](X, y)
        except MemoryError:
            refused += 1
        else:
            assert np.array_equal(found, expected)  # there were no more to refuse, or not in a place that matters
            break
        finally:
            _core.refuse_memory(-1)
    assert refused > 0
    assert np.array_equal(FITS[name](X, y), expected)


def test_a_thread_that_cannot_pack_its_panel_says_so() -> None:
    # Panels are packed by the threads of a team, into memory of their own where the cache has no room for all.
    X, y = _data(2000, 200)
    for after in range(12):
        release_memory()
        _core.refuse_memory(after)
        with pytest.raises(MemoryError):
            SVC(n_jobs=3, cache_size=0.5).fit(X, y)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells what is resident")
def test_what_other_threads_keep_is_given_back() -> None:
    n = 2500
    X = np.random.default_rng(0).normal(size=(n, 5))
    K = np.asarray(kernel_matrix(X, gamma=5.0), dtype=np.float32)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    chain = Chain((Link(DualProblem(signs, np.minimum(0, 10 * signs), np.maximum(0, 10 * signs))),))
    solved, done = threading.Event(), threading.Event()

    def work() -> None:
        solve_chain(K, chain, stop=StopRule())
        solved.set()
        done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        solved.wait()
        before = _resident()
        release_memory()
        assert before - _resident() > 2 * n * n  # bytes: half of the gathered values at least
    finally:
        done.set()
        thread.join()


def test_two_threads_are_not_at_the_same_store() -> None:
    X, _ = _data(500)
    started = threading.Event()

    def slowly(A: Any, B: Any) -> Any:
        started.set()
        return np.exp(-np.square(np.asarray(A)[:, np.newaxis] - np.asarray(B)[np.newaxis]).sum(axis=2))

    store = _core.KernelStore(row_source(X, kernel=slowly), 1 << 22)
    signal = _core.StopSignal()
    counting = threading.Thread(
        target=lambda: _core.max_min_over(store, np.ones(500), np.zeros(500), 0.0, 1000, 10**9, 60.0, 0.0, 1, signal)
    )
    counting.start()
    try:
        assert started.wait(20)
        for call in (lambda: store.row(3), lambda: store.held, lambda: store.transform(row_source(X), 1.0, 1)):
            with pytest.raises(RuntimeError, match="another thread is using this store"):
                call()
    finally:
        signal.request()
        counting.join()
    assert store.row(3)[3] == pytest.approx(1.0)


def test_a_row_whose_kernel_fails_is_not_held() -> None:
    X, _ = _data(40)
    broken = True

    def kernel(A: Any, B: Any) -> Any:
        if broken and len(B) > 1:
            raise ArithmeticError("not today")
        return np.asarray(A) @ np.asarray(B).T

    store = _core.KernelStore(row_source(X, kernel=kernel), 1 << 20)
    with pytest.raises(ArithmeticError, match="not today"):
        store.row(3)
    assert store.held == 0
    broken = False
    assert store.row(3) == pytest.approx(X @ X[3], rel=1e-5)

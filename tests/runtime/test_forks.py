"""A forked process has one thread, and must not wait for what the others held."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

#: Runs `child` in a forked process while `others` is under way in a thread; a child that hangs is ended by an alarm.
PROGRAM = """
    import os, signal, sys, threading, time, warnings
    import numpy as np
    from threadpoolctl import threadpool_info
    from widemargin import _core, SVC, GridSearchCV, release_memory
    from widemargin.runtime.threads import Lock, _limit, single_threaded_blas

    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 30)), random.integers(0, 2, 3000)

    def blas_threads():
        return {{pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}}

    {setup}

    def forked():
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            status = 1
            try:
                {child}
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(pid, 0)[1]

    {parent}
"""


def _run(**parts: str) -> None:
    indented = {
        name: textwrap.indent(textwrap.dedent(part), " " * (16 if name == "child" else 4))
        for name, part in parts.items()
    }
    program = textwrap.dedent(PROGRAM.format(**{name: part.strip() for name, part in indented.items()}))
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr


def test_a_child_fits_while_another_thread_of_its_parent_does() -> None:
    _run(
        setup="""
        def work():
            while not done.is_set():
                SVC(n_jobs=2).fit(X[:300], y[:300])

        done = threading.Event()
        thread = threading.Thread(target=work)
        """,
        child="""
        model = SVC(n_jobs=2).fit(X[:500], y[:500])
        assert model.fit_report_.converged
        search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2).fit(X[:200], y[:200])
        release_memory()
        """,
        parent="""
        thread.start()
        try:
            for _ in range(8):
                assert forked() == 0
        finally:
            done.set()
            thread.join()
        """,
    )


def test_a_child_finds_the_lock_of_another_thread_open_and_blas_as_it_was() -> None:
    _run(
        setup="""
        inside, done = threading.Event(), threading.Event()
        lock = Lock()
        before = blas_threads()

        def work():
            with single_threaded_blas(), lock, _limit.lock:
                inside.set()
                done.wait()

        thread = threading.Thread(target=work)
        """,
        child="""
        with lock, single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == before
        """,
        parent="""
        thread.start()
        inside.wait()
        assert blas_threads() == {1}
        status = forked()
        done.set()
        thread.join()
        assert status == 0
        """,
    )


def test_a_child_keeps_what_the_thread_that_forked_holds() -> None:
    _run(
        setup="lock = Lock()",
        child="""
        assert lock.held
        assert blas_threads() == {1}
        """,
        parent="""
        with lock, single_threaded_blas():
            status = forked()
            assert lock.held
        assert not lock.held
        assert status == 0
        """,
    )


def test_a_child_lets_go_of_a_chain_whose_threads_it_does_not_have() -> None:
    _run(
        setup="""
        from widemargin.kernels.rows import row_source
        from widemargin.machines.dual import DualProblem, as_task

        signs = np.where(y[:400] > 0, 1.0, -1.0)
        task = as_task(DualProblem(signs, np.minimum(0, signs), np.maximum(0, signs)))
        held = [
            _core.RowChain(
                row_source(X[:400]), None, [task, task], None, "auto", "auto", 1, True, False, 1 << 20, 1e-3, 10**6,
                1e10, 0.0, 3,
            )
        ]
        held[0].advance(1)
        """,
        child="""
        assert held[0].advance(1)[0].outcome.reason == "converged"
        held.clear()
        """,
        parent="assert forked() == 0",
    )

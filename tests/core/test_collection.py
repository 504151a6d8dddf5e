"""What refers to itself by way of the core is collected: an exception of a kernel holds the rows that it computes."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, SVR, OneClassSVM, OnlineSVC, _core
from widemargin.kernels.rows import derived_rows, row_source


class Failing:
    """A kernel whose one error, raised again and again, holds the frames that it has come through."""

    def __init__(self, calls: int) -> None:
        self.error = ZeroDivisionError("no value")
        self.left = calls

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return np.asarray(A @ B.T) + 1.0


MODELS = {
    "SVC": lambda kernel: SVC(kernel=kernel),
    "SVC on rows": lambda kernel: SVC(kernel=kernel, cache_size=0.001),
    "SVR": lambda kernel: SVR(kernel=kernel),
    "OneClassSVM": lambda kernel: OneClassSVM(kernel=kernel),
    "MaxMinOver": lambda kernel: OneClassSVM(kernel=kernel, loss="squared_hinge", solver="maxminover"),
    "OnlineSVC": lambda kernel: OnlineSVC(kernel=kernel),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_kernel_that_fails_is_let_go(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    gone, failed = [], 0
    for calls in range(0, 60, 4):
        kernel = Failing(calls)
        try:
            MODELS[name](kernel).fit(X, X[:, 0] > 0)
        except ZeroDivisionError:
            failed += 1
        gone.append(weakref.ref(kernel))
        del kernel
    assert failed
    gc.collect()
    assert [one() for one in gone if one() is not None] == []


@pytest.mark.parametrize("what", ["rows", "derived rows", "store", "chain"])
def test_objects_of_the_core_are_part_of_cycles(what: str) -> None:
    kernel = Failing(1000)
    rows = row_source(np.eye(4), kernel=kernel)
    if what == "derived rows":
        rows = derived_rows(rows, scale=[1.0, 1.0, -1.0, -1.0])
    holder = rows
    if what == "store":
        holder = _core.KernelStore(rows, 2**20)
    if what == "chain":
        holder = chain(rows)
    kernel.held = holder  # type: ignore[attr-defined]
    gone = weakref.ref(kernel)
    del kernel, rows, holder
    gc.collect()
    assert gone() is None


def chain(rows: Any) -> Any:
    ends = np.array([0.0, 0.0, 1.0, 1.0])
    task = _core.Task(np.arange(4, dtype=np.int32), np.array([-1.0, -1.0, 1.0, 1.0]), ends - 1.0, ends)
    how = ("smo", "second-order", 0, False, True, 2**20, 1e-3, 1000, 10.0, 0.0, 1)
    return _core.RowChain(rows, None, [task], None, *how)


def test_nothing_is_left_at_the_end_of_the_process() -> None:
    program = """
        import numpy as np
        from widemargin import SVC

        def fit():
            X, error, calls = np.random.default_rng(0).normal(size=(30, 2)), ZeroDivisionError("no value"), []

            def kernel(A, B):
                calls.append(1)
                if len(calls) > 3:
                    raise error
                return A @ B.T

            try:
                SVC(kernel=kernel).fit(X, X[:, 0] > 0)
            except ZeroDivisionError:
                pass

        fit()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stderr == ""

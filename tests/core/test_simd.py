"""The vector implementations against the scalar baseline, seen from Python (cpp/tests compares them loop by loop)."""

import os
import subprocess
import sys

import numpy as np
import pytest

from widemargin import _core
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, solve

IMPLEMENTATIONS = ("baseline", "avx2", "avx512", "avx512-popcount")


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request):
    chosen = _core.simd_name()
    if not _core.use_simd(request.param):
        pytest.skip(f"this processor does not run {request.param}")
    yield request.param
    _core.use_simd(chosen)


def on_baseline(function):
    chosen = _core.simd_name()
    _core.use_simd("baseline")
    try:
        return function()
    finally:
        _core.use_simd(chosen)


@pytest.mark.parametrize("dimension", [1, 3, 24, 40])
@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 3e-6), ("float64", 1e-13)])
def test_kernel_matrices_equal_the_baseline(implementation, dimension, density, dtype, tolerance):
    random = np.random.default_rng(dimension)
    X = random.normal(size=(333, dimension)) * (random.uniform(size=(333, dimension)) < density)
    expected = on_baseline(lambda: kernel_matrix(X, gamma=0.3, dtype=dtype))
    assert _core.simd_name() == implementation
    np.testing.assert_allclose(kernel_matrix(X, gamma=0.3, dtype=dtype), expected, atol=tolerance)


@pytest.mark.parametrize("selection", ["maximal-violating-pair", "second-order", "maximum-gain"])
def test_solutions_equal_the_baseline(implementation, selection):
    random = np.random.default_rng(5)
    X = random.normal(size=(150, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=150) > 0, 1.0, -1.0)
    problem, rows = box(y, np.full(150, 3.0)), row_source(X, gamma=0.5)

    def solution():
        return solve(problem, rows, stop=StopRule(1e-8), options=SolverOptions(selection=selection, dtype="float64"))

    expected = on_baseline(solution)
    np.testing.assert_allclose(solution().alpha, expected.alpha, atol=1e-6)


def test_an_unknown_implementation_is_refused():
    assert not _core.use_simd("sse9")


def imported_with(value):
    return subprocess.run(
        [sys.executable, "-c", "import widemargin._core as core; print(core.simd_name())"],
        env=os.environ | {"WIDEMARGIN_SIMD": value},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_unknown_implementation_in_the_environment_is_refused_at_import():
    run = imported_with("bogus")
    chosen = _core.simd_name()
    here = [name for name in IMPLEMENTATIONS if _core.use_simd(name)]
    _core.use_simd(chosen)
    assert run.returncode != 0
    assert run.stderr.strip().splitlines()[-1] == (
        "ImportError: the environment variable WIDEMARGIN_SIMD is 'bogus', which names no vector instructions of this "
        f"processor; it must be one of {', '.join(here)}, or unset."
    )


@pytest.mark.parametrize("value", ["baseline", ""])
def test_the_environment_chooses_the_implementation(value):
    run = imported_with(value)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "baseline" if value else run.stdout.strip() in IMPLEMENTATIONS

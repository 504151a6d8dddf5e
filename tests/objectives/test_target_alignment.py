"""Kernel target alignment, plain and centred."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.objectives import target_alignment
from widemargin.kernels import DiagonalGaussian, Gaussian
from widemargin.objectives import TargetAlignment, Task
from widemargin.testing import ObjectiveContract, adaptable_kernels, small_regression_task, small_tasks


@pytest.mark.parametrize("centred", [False, True])
def test_keeps_the_contract(centred):
    constant = Task(np.zeros((3, 1)), np.ones(3), 0, np.ones(3))
    ObjectiveContract(
        TargetAlignment(centred),
        [*small_tasks(), small_regression_task()],
        adaptable_kernels(),
        oracle=lambda task, kernel, C, generator: target_alignment(task, kernel, seen_from_mean=centred),
        refuses=[(constant, 1.0)],
        n_points=8,
    ).check()


@pytest.mark.parametrize("centred", [False, True])
def test_blocks_do_not_show(centred, monkeypatch):
    from widemargin.kernels import contraction

    task, kernel = small_tasks(n=60)[1], DiagonalGaussian([0.1, 0.5, 2.0])
    whole = TargetAlignment(centred).bind(task).evaluate(kernel, 1.0)
    monkeypatch.setattr(contraction, "BLOCK_ENTRIES", 100)
    pieces = TargetAlignment(centred).bind(task).evaluate(kernel, 1.0)
    assert pieces.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(pieces.gradient, whole.gradient, rtol=1e-10)
    # A block that is the whole matrix is kept for the gradient; of others, those below the diagonal are left out.
    assert whole.work.kernel_evaluations == 60**2
    assert pieces.work.kernel_evaluations == 2 * 21 * 10**2


@pytest.mark.parametrize("centred", [False, True])
def test_weights_are_repetitions(centred):
    task, kernel = small_tasks()[2], Gaussian(0.4)
    times = np.random.default_rng(5).integers(0, 4, size=task.n_samples)
    repeated = Task(np.repeat(task.X, times, axis=0), np.repeat(task.y, times), 3, np.ones(times.sum()))
    weighted = TargetAlignment(centred).bind(replace(task, weights=times.astype(float))).evaluate(kernel, 1.0)
    copied = TargetAlignment(centred).bind(repeated).evaluate(kernel, 1.0)
    assert weighted.value == pytest.approx(copied.value, rel=1e-12)
    np.testing.assert_allclose(weighted.gradient, copied.gradient, rtol=1e-9)


def test_sparse_examples():
    task = small_tasks()[0]
    thin = np.where(task.X > 0.3, task.X, 0.0)
    dense, sparse = (
        TargetAlignment().bind(replace(task, X=X)).evaluate(Gaussian(0.4), 1.0) for X in (thin, sp.csr_array(thin))
    )
    assert sparse.value == pytest.approx(dense.value, rel=1e-10)
    assert sparse.gradient == pytest.approx(dense.gradient, rel=1e-8)


def test_the_best_kernel_has_alignment_one():
    y = np.array([0, 0, 1, 1])
    task = Task(np.array([[0.0], [0.0], [9.0], [9.0]]), y, 2, np.ones(4))
    assert TargetAlignment(True).bind(task).evaluate(Gaussian(10.0), 1.0).value == pytest.approx(1.0, rel=1e-12)
    assert TargetAlignment().bind(task).evaluate(Gaussian(10.0), 1.0).value == pytest.approx(np.sqrt(0.5), rel=1e-12)


def test_centred_stays_exact_for_wide_kernels():
    """Taking H K H' apart into sums loses everything where all values are near 1, unless a constant goes first."""
    task = small_tasks()[0]
    for gamma in (1e-4, 1e-6):
        found = TargetAlignment(True).bind(task).evaluate(Gaussian(gamma), 1.0)
        wide = TargetAlignment(True).bind(task).evaluate(Gaussian(gamma * np.exp(1e-3)), 1.0)
        # Centred, 1 - gamma D and -D have the same angle: nothing is left to gain from gamma.
        assert found.value == pytest.approx(wide.value, abs=5.0 * gamma)
        assert abs(found.gradient[0]) < 50.0 * gamma
        assert 0.01 < found.value < 1.0


def test_constant_kernels_have_no_angle():
    task = Task(np.zeros((4, 2)), np.array([0, 0, 1, 1]), 2, np.ones(4))
    found = TargetAlignment(True).bind(task).evaluate(DiagonalGaussian([1.0, 2.0]), 1.0)
    assert found.value == 0.0
    assert found.gradient.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("centred", [False, True])
def test_memory_does_not_grow_with_the_square_of_n(centred):
    generator = np.random.default_rng(0)
    n = 3000
    task = Task(generator.normal(size=(n, 4)), np.arange(n) % 2, 2, np.ones(n))
    bound = TargetAlignment(centred).bind(task)
    tracemalloc.start()
    bound.evaluate(DiagonalGaussian([0.1, 0.1, 0.2, 0.3]), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 6

"""Kernel matrices keep the kernel contract, in both precisions and for every number of threads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from widemargin.datasets.fasta import Sequences as FastaSequences
from widemargin.kernels.rows import callable_matrix, derived_rows, kernel_matrix, require_samples, row_source
from widemargin.machines.dual import DualProblem, SolverOptions, solve
from widemargin.testing import kernel_contract
from widemargin.testing import kernel_matrix as naive_kernel_matrix


@pytest.mark.parametrize(("dtype", "precision"), [("float32", 2e-6), ("float64", 1e-12)])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_kernels_keep_the_contract(dtype: str, precision: float, n_jobs: int | None) -> None:
    kernel_contract(partial(kernel_matrix, dtype=dtype, n_jobs=n_jobs), precision=precision)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_result_has_the_asked_type(dtype: str) -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    assert kernel_matrix(points, dtype=dtype).dtype == np.dtype(dtype)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_threads_changes_nothing(kernel: str, dtype: str) -> None:
    points = np.random.default_rng(1).normal(size=(700, 30))
    one, *others = (kernel_matrix(points, kernel=kernel, gamma=0.02, dtype=dtype, n_jobs=n) for n in (1, 2, 3))
    for other in others:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("container", [csr_matrix, csr_array])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_sparse_inputs_of_any_index_type(container: type, index_type: type) -> None:
    rng = np.random.default_rng(2)
    dense = np.where(rng.random((50, 40)) < 0.1, rng.normal(size=(50, 40)), 0.0)
    points = container(dense)
    points.indices, points.indptr = points.indices.astype(index_type), points.indptr.astype(index_type)
    found = kernel_matrix(points, gamma=0.5, dtype="float64")
    np.testing.assert_allclose(found, naive_kernel_matrix(dense, gamma=0.5), atol=1e-12)


def test_extreme_widths_underflow_cleanly() -> None:
    points = np.random.default_rng(3).normal(size=(30, 2))
    with np.errstate(all="raise"):
        narrow = kernel_matrix(points, gamma=1e8)
        wide = kernel_matrix(points, gamma=0.0)
    assert np.array_equal(narrow, np.eye(30, dtype=np.float32))
    assert (wide == 1.0).all()


def test_rows_derived_twice_with_repeated_samples_both_times() -> None:
    X = np.random.default_rng(4).normal(size=(6, 2))
    once, twice = np.array([0, 3, 3, 5, 1, 0, 2]), np.array([6, 1, 1, 4, 0, 6, 6, 2])
    nested = derived_rows(derived_rows(row_source(X, gamma=0.5), base=once), base=twice)
    y = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    problem = DualProblem(y, np.minimum(0.0, y), np.maximum(0.0, y))
    K = naive_kernel_matrix(X[once[twice]], gamma=0.5)
    for dtype in ("float32", "float64"):
        found = solve(problem, nested, options=SolverOptions(dtype=dtype))
        np.testing.assert_allclose(found.gradient, y - K @ found.alpha, atol=1e-9)
    expected = solve(problem, row_source(K, kernel="precomputed"))
    assert abs(found.outcome.objective - expected.outcome.objective) < 1e-3


def test_a_list_of_samples_may_have_an_attribute_of_any_name() -> None:
    class Samples(list[str]):
        sequences: list[str]

    samples = Samples(["ACGT", "GGTA"])
    samples.sequences = ["ACGT"]
    require_samples(samples)
    with pytest.raises(
        TypeError, match=r"of type widemargin\.datasets\.fasta\.Sequences, whose sequences are in X.seq"
    ):
        require_samples(FastaSequences(["a"], [""], ["ACGT"]))


def test_values_that_depend_on_the_order_are_refused_where_all_are_computed() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="must be symmetric; for rows"):
        callable_matrix(lambda A, B: A @ B.T + A[:, :1], X)

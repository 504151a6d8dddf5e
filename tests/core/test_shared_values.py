"""Kernel values that several problems share: matrices behind rows, parts of kernels, combinations of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import _core
from widemargin.kernels.rows import derived_rows, kernel_matrix, row_source
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, solve

GAMMA = 0.3


def points(n=150, d=4):
    return np.random.default_rng(0).normal(size=(n, d))


def sources(X):
    yield row_source(X, gamma=GAMMA)
    yield row_source(sp.csr_array(X), gamma=GAMMA)
    yield row_source(kernel_matrix(X, gamma=GAMMA, dtype="float64"), kernel="precomputed")
    yield row_source(X, kernel=lambda A, B: np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2)))
    yield derived_rows(row_source(X, gamma=GAMMA), base=np.arange(len(X)))


def test_who_computes_the_values():
    assert [rows.of_samples for rows in sources(points())] == [True, True, False, False, False]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_kernel_among_some_samples(n_threads):
    X = points()
    K = kernel_matrix(X, gamma=GAMMA, dtype="float64")
    ids = np.random.default_rng(1).permutation(150)[:100].astype(np.int32)
    for rows in sources(X):
        np.testing.assert_allclose(_core.kernel_among(rows, ids, n_threads), K[np.ix_(ids, ids)], atol=1e-6)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_combinations_of_rows(n_threads):
    X = points(2500)
    K = kernel_matrix(X, gamma=GAMMA, dtype="float64")
    generator = np.random.default_rng(1)
    ids, columns = (generator.permutation(2500)[:count].astype(np.int32) for count in (130, 2300))
    coefficients = generator.normal(size=(3, 130))
    expected = coefficients @ K[np.ix_(ids, columns)]
    found = _core.combined_rows(row_source(X, gamma=GAMMA), ids, coefficients, columns, n_threads)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    first, some = ids[ids < 200], np.ascontiguousarray(coefficients[:, ids < 200])
    few = np.arange(5, dtype=np.int32)
    for rows in sources(X[:200]):
        found = _core.combined_rows(rows, first, some, few, n_threads)
        np.testing.assert_allclose(found, some @ K[np.ix_(first, few)], atol=1e-5)
        assert not np.asarray(_core.combined_rows(rows, first[:0], np.zeros((3, 0)), few, n_threads)).any()


def test_what_does_not_fit_is_refused():
    rows = row_source(points(10), gamma=GAMMA)
    outside, two = np.array([10], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="an id lies outside the row source"):
        _core.kernel_among(rows, outside, 1)
    with pytest.raises(ValueError, match="an id lies outside the row source"):
        _core.combined_rows(rows, two, np.ones((1, 2)), outside, 1)
    with pytest.raises(ValueError, match="coefficients and rows differ in number"):
        _core.combined_rows(rows, two, np.ones((1, 3)), two, 1)
    with pytest.raises(ValueError, match="matrix and row source differ in size"):
        _core.matrix_backed_source(rows, np.ones((9, 9), dtype=np.float32))


def test_time_and_signals_end_both():
    rows, ids = row_source(points(2000), gamma=GAMMA), np.arange(2000, dtype=np.int32)
    over = _core.StopSignal()
    over.request()
    with pytest.raises(_core.StoppedError):
        _core.kernel_among(rows, ids, 1, 1e10, over)
    with pytest.raises(_core.StoppedError):
        _core.combined_rows(rows, ids, np.ones((2, 2000)), ids, 1, 1e10, over)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_a_matrix_behind_rows_saves_values_and_changes_nothing(tolerance):
    X = points(800)
    y = np.where(np.sin(2 * X[:, 0]) + 0.4 * np.random.default_rng(2).normal(size=800) > 0, 1.0, -1.0)
    rows = row_source(X, gamma=GAMMA)
    backed = _core.matrix_backed_source(rows, _core.kernel_among(rows, np.arange(800, dtype=np.int32), 1))
    np.testing.assert_array_equal(backed.diagonal(), rows.diagonal())
    stop, options = StopRule(tolerance), SolverOptions()
    alone, together = (solve(box(y, np.full(800, 10.0)), r, stop=stop, options=options) for r in (rows, backed))
    assert together.outcome.reason == "converged"
    assert together.outcome.kkt_violation <= tolerance
    np.testing.assert_allclose(together.outcome.objective, alone.outcome.objective, rtol=1e-5)
    assert together.outcome.kernel_evaluations < alone.outcome.kernel_evaluations


def test_one_group_of_support_vectors_has_a_function_for_each_row():
    X, new = points(60), points(30, 4) + 0.1
    coefficients = np.random.default_rng(3).normal(size=(3, 60))
    found = _core.decision_values(row_source(X, gamma=GAMMA), _core.dense_samples(new), coefficients, [60], True, 1)
    expected = coefficients @ np.exp(-GAMMA * ((X[:, None] - new[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(ValueError, match="coefficients and support vectors differ in number"):
        _core.decision_values(row_source(X, gamma=GAMMA), _core.dense_samples(new), coefficients, [59], True, 1)

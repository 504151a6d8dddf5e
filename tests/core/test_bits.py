"""Samples whose entries are 0 or one other value: their kernels count bits, and equal the formula all the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import SVC, _core
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, solve
from widemargin.testing import kernel_matrix as oracle

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.07},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.02, "coef0": 0.5, "degree": 3},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.2},
}


def two_values(n, d, one, seed=0, density=0.6):
    return one * (np.random.default_rng(seed).uniform(size=(n, d)) < density)


@pytest.fixture(params=["avx2", "avx512", "avx512-popcount"])
def implementation(request):
    chosen = _core.simd_name()
    if not _core.use_simd(request.param):
        pytest.skip(f"this processor does not run {request.param}")
    yield request.param
    _core.use_simd(chosen)


@pytest.mark.parametrize("parameters", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(("dtype", "precision"), [("float32", 2e-6), ("float64", 1e-13)])
@pytest.mark.parametrize("d", [7, 32, 33, 127, 128, 129, 300])
def test_kernel_values(implementation, parameters, dtype, precision, d):
    X, Z = two_values(70, d, -0.5, d), two_values(600, d, -0.5, d + 1)
    expected = oracle(X, Z, **parameters)
    scale = np.abs(expected).max()
    for left, right in ((X, Z), (sp.csr_array(X), sp.csr_array(Z)), (X.astype(np.float32), Z)):
        found = kernel_matrix(left, right, dtype=dtype, **parameters)
        np.testing.assert_allclose(found, expected, atol=precision * scale)


def test_zeros_that_are_stored_are_zeros():
    X = two_values(40, 64, 1.0)
    stored = sp.csr_array(X)
    stored.data[::3] = 0.0
    np.testing.assert_allclose(
        kernel_matrix(stored, gamma=0.1), oracle(stored.toarray(), kernel="rbf", gamma=0.1), atol=1e-6
    )


def test_one_odd_value_among_many_is_seen():
    X = two_values(3000, 40, 1.0)
    X[1234, 17] = 0.25
    np.testing.assert_allclose(
        kernel_matrix(X, gamma=0.1)[1234], oracle(X[1234:1235], X, kernel="rbf", gamma=0.1)[0], atol=1e-6
    )


def test_prediction_takes_samples_of_any_value():
    X = two_values(300, 50, 1.0)
    y = (X[:, :10].sum(axis=1) > 6).astype(int)
    model = SVC(gamma=0.05).fit(X, y)
    Z = np.random.default_rng(3).normal(size=(90, 50))
    expected = oracle(Z, model.support_vectors_, kernel="rbf", gamma=0.05) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(Z), expected, atol=1e-6)


@pytest.mark.parametrize("cache_bytes", [1 << 16, 1 << 30], ids=["small-cache", "large-cache"])
@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
def test_solutions_are_those_of_the_formula(solver, cache_bytes):
    X = two_values(1500, 40, 1.0, density=0.4)
    random = np.random.default_rng(1)
    y = np.where(X[:, :8].sum(axis=1) + random.normal(size=len(X)) > 3.2, 1.0, -1.0)
    problem = box(y, np.full(len(X), 2.0))
    options = SolverOptions(solver=solver, cache_bytes=cache_bytes, n_threads=2)
    counted = solve(problem, row_source(X, gamma=0.1), stop=StopRule(1e-5), options=options)
    plain = solve(
        problem,
        row_source(oracle(X, kernel="rbf", gamma=0.1), kernel="precomputed"),
        stop=StopRule(1e-5),
        options=options,
    )
    assert counted.outcome.kkt_violation <= 1e-5
    assert counted.outcome.objective == pytest.approx(plain.outcome.objective, rel=1e-7)  # parts of it are float32

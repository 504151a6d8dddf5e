"""Gaussian kernels: derivatives where values have vanished, and moments of sparse and dense examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from widemargin.kernels import DiagonalGaussian, Gaussian
from widemargin.kernels.gaussian import diagonal_moments, full_moments

X = np.random.default_rng(0).normal(size=(6, 4))


def test_values_that_have_vanished_have_no_slope():
    (slope,) = Gaussian(gamma=1e6).derivatives(None, None, np.array([[1.0, 0.0]]))
    np.testing.assert_array_equal(slope, [[0.0, 0.0]])


def test_one_number_for_all_features_has_the_sum_of_their_slopes():
    one, many = DiagonalGaussian(gammas=0.3), DiagonalGaussian(gammas=[0.3] * 4)
    K = many(X)
    (together,) = one.derivatives(X, X, K)
    np.testing.assert_allclose(together, sum(many.derivatives(X, X, K)), atol=1e-12)
    W = np.random.default_rng(1).normal(size=K.shape)
    assert one.pull_back(W, X, X, K) == pytest.approx([many.pull_back(W, X, X, K).sum()])


def test_numbers_that_do_not_fit_the_columns_are_refused():
    with pytest.raises(ValueError, match="gammas holds 3 numbers, but X has 4 features"):
        DiagonalGaussian(gammas=[1.0, 2.0, 3.0]).fitted(X)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_are_the_sums_over_pairs(offset):
    rng = np.random.default_rng(2)
    A, Z, V = rng.normal(size=(5, 3)) + offset, rng.normal(size=(4, 3)) + offset, rng.normal(size=(5, 4))
    away = A[:, np.newaxis] - Z
    full = np.einsum("ij,ijk,ijl->kl", V, away, away)
    np.testing.assert_allclose(full_moments(V, A, Z), full, atol=1e-8)
    np.testing.assert_allclose(diagonal_moments(V, A, Z), np.diag(full), atol=1e-8)


def test_moments_of_sparse_examples_are_those_of_dense_ones():
    rng = np.random.default_rng(3)
    A, Z = (np.where(rng.random((6, 5)) < 0.6, 0.0, rng.normal(size=(6, 5))) for _ in range(2))
    V = rng.normal(size=(6, 6))
    np.testing.assert_allclose(diagonal_moments(V, csr_array(A), csr_array(Z)), diagonal_moments(V, A, Z), atol=1e-12)
    np.testing.assert_allclose(full_moments(V, csr_array(A), csr_array(Z)), full_moments(V, A, Z), atol=1e-12)

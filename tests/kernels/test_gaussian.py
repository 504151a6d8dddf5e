"""Gaussian kernels: derivatives where values have vanished, and moments of sparse and dense examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from widemargin.kernels import DiagonalGaussian, Gaussian, MaskedGaussian
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


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_mask_is_a_gaussian_of_some_columns(kind):
    mask = np.array([True, False, True, False])
    masked, bare = MaskedGaussian(mask, gamma=0.3), Gaussian(gamma=0.3)
    np.testing.assert_allclose(masked(kind(X)), bare(kind(X[:, mask])), rtol=1e-12)
    # What it leaves out may be anything.
    other = np.where(mask, X, 1e3 * X)
    np.testing.assert_array_equal(masked(kind(other), kind(X)), masked(kind(X)))


def test_a_width_is_taken_from_the_features_that_are_selected():
    mask = np.array([True, False, True, False])
    wide = np.where(mask, X, 1e3 * X)
    assert MaskedGaussian(mask).fitted(wide).gamma == pytest.approx(Gaussian().fitted(X[:, mask]).gamma)
    assert MaskedGaussian(mask).fitted(wide, gamma=0.7).gamma == 0.7
    found = MaskedGaussian().fitted(X)
    assert found.features.tolist() == [True] * 4
    assert found.gamma == Gaussian().fitted(X).gamma


def test_kernels_of_other_masks_share_no_distances():
    one, same, other = (MaskedGaussian(mask, gamma=0.5) for mask in ([1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1]))
    assert one.kind == same.clone_with_theta(np.array([1.0])).kind
    assert one.kind != other.kind
    assert one.kind != Gaussian(gamma=0.5).kind


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ([False] * 4, r"features of MaskedGaussian is \[False, .* and True for one at least\."),
        ([0.5, 1, 1, 1], "it must hold True or False for each feature"),
        ([np.nan, 1, 1, 1], "it must hold True or False for each feature"),
        (["a", "b", "c", "d"], "it must hold True or False for each feature"),
        ([[True] * 4], "it must hold True or False for each feature"),
        (True, "it must hold True or False for each feature"),
        ([True] * 3, "features of MaskedGaussian holds 3 entries, but X has 4 features; one per feature is needed"),
    ],
)
def test_masks_that_are_none(features, words):
    with pytest.raises(ValueError, match=words):
        MaskedGaussian(features).fitted(X)

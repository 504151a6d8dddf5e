"""Mahalanobis: which covariance, of which rows, and what happens where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.kernels import Gaussian, Mahalanobis
from widemargin.kernels.spread import column_variances, covariance

X = np.random.default_rng(0).normal(size=(40, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 30.0]])


def test_the_covariance_is_that_of_the_rows():
    full, diagonal = Mahalanobis(covariance="full").fitted(X), Mahalanobis().fitted(X)
    assert full.matrix == pytest.approx(np.cov(X.T, bias=True))
    assert diagonal.matrix == pytest.approx(X.var(axis=0))
    away = X[3] - X[5]
    assert full(X)[3, 5] == pytest.approx(np.exp(-away @ np.linalg.inv(np.cov(X.T, bias=True)) @ away / 3.0))
    assert diagonal(X)[3, 5] == pytest.approx(np.exp(-(away**2 / X.var(axis=0)).sum() / 3.0))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_weights_count_rows(kind):
    often = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = Mahalanobis(covariance=kind).fitted(X, weights=often.astype(float))
    assert weighted.matrix == pytest.approx(Mahalanobis(covariance=kind).fitted(np.repeat(X, often, axis=0)).matrix)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_sparse_rows(kind):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    thin[:, 1] = 2.5
    weights = np.random.default_rng(1).uniform(size=40)
    found = Mahalanobis(covariance=kind).fitted(sp.csr_array(thin), weights=weights)
    assert found.matrix == pytest.approx(Mahalanobis(covariance=kind).fitted(thin, weights=weights).matrix, abs=1e-14)


def test_a_full_covariance_sees_through_linear_maps():
    turn = np.random.default_rng(2).normal(size=(3, 3))
    kernel = Mahalanobis(covariance="full")
    assert kernel.fitted(X @ turn)(X @ turn) == pytest.approx(kernel.fitted(X)(X))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_features_that_do_not_vary_are_left_out(kind):
    constant = np.column_stack([X, np.full(40, 1e6 / 3.0)])
    kernel = Mahalanobis(covariance=kind).fitted(constant)
    assert kernel.matrix[-1].max() == 0.0
    without = Mahalanobis(delta=0.75, covariance=kind).fitted(X)
    assert kernel(constant) == pytest.approx(without(X))
    assert kernel(constant + np.array([0.0, 0.0, 0.0, 7.0])) == pytest.approx(without(X))


def test_directions_that_do_not_vary_are_left_out():
    dependent = np.column_stack([X, X @ [1.0, -2.0, 0.1]])
    kernel = Mahalanobis(covariance="full").fitted(dependent)
    assert kernel(dependent) == pytest.approx(Mahalanobis(delta=0.75, covariance="full").fitted(X)(X), rel=1e-6)


def test_rows_that_are_all_the_same():
    for kind in ("diagonal", "full"):
        assert (Mahalanobis(covariance=kind).fitted(np.ones((3, 2)))(np.eye(2)) == 1.0).all()


def test_a_given_matrix_is_kept():
    kernel = Mahalanobis(delta=2.0, matrix=[4.0, 4.0, 4.0]).fitted(X)
    assert kernel(X) == pytest.approx(Gaussian(gamma=2.0 / 3.0 / 4.0)(X))


def test_all_deltas_share_the_mapped_examples():
    kernel = Mahalanobis(covariance="full").fitted(X)
    other = kernel.clone_with_theta(kernel.theta + 1.0)
    assert np.array_equal(other.mapped(X), kernel.mapped(X))
    assert other.core_kernel.gamma == pytest.approx(np.e * kernel.core_kernel.gamma)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (Mahalanobis(covariance="spherical"), "covariance is 'spherical'; it must be 'diagonal' or 'full'"),
        (Mahalanobis(delta=0.0), "delta of Mahalanobis is 0.0; it must be positive and finite"),
        (Mahalanobis(matrix=[1.0, 2.0]), "matrix is for 2 features, but X has 3"),
        (Mahalanobis(matrix=[1.0, 2.0, -1.0]), "is not a valid covariance"),
        (
            Mahalanobis(matrix=np.eye(3)),
            r"matrix of shape \(3, 3\) is not a valid covariance for covariance='diagonal'",
        ),
        (Mahalanobis(matrix=np.ones(3), covariance="full"), r"must be finite, of shape \(3, 3\)"),
    ],
    ids=repr,
)
def test_what_means_nothing_is_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.fitted(X)


def test_variances_do_not_cancel():
    far = X + 1e8
    assert column_variances(far) == pytest.approx(X.var(axis=0), rel=1e-6)
    assert covariance(far) == pytest.approx(np.cov(X.T, bias=True), rel=1e-6)
    assert column_variances(sp.csr_array(far)) == pytest.approx(X.var(axis=0), rel=1e-6)

"""The pairs of a fitted classifier, ours or scikit-learn's, are read back as problems with certificates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel

from oracles.estimators import gram_of, pair_solutions
from widemargin import SVC
from widemargin.testing import many_class_points
from widemargin.testing.oracles import resolve_gamma

WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, size=60)


@pytest.mark.parametrize("kind", [SVC, svm.SVC])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fitted_models_are_optimal_for_their_pairs(kind, n_classes):
    X, y = many_class_points(n_classes, 60 // n_classes)
    model = kind(gamma=0.5, tol=1e-5, class_weight={0: 2.0}).fit(X, y, sample_weight=WEIGHTS)
    found = pair_solutions(model, X, y, sample_weight=WEIGHTS)
    assert [one.classes for one in found] == [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for one in found:
        assert one.certificate.kkt_violation < 1e-4
        assert one.certificate.intercept == pytest.approx(one.intercept, abs=1e-4)
        largest = np.maximum(one.case.upper, -one.case.lower)
        np.testing.assert_allclose(largest, WEIGHTS[one.rows] * np.where(y[one.rows] == 0, 2.0, 1.0))


def test_a_spoilt_model_is_told():
    X, y = many_class_points(2, 30)
    model = svm.SVC(gamma=0.5).fit(X, y)
    model._dual_coef_ = model.dual_coef_ = 0.5 * model.dual_coef_
    assert pair_solutions(model, X, y)[0].certificate.kkt_violation > 0.1


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_gamma_is_that_of_scikit_learn(weights):
    X, y = many_class_points(3, 20)
    assert resolve_gamma(0.3, X) == 0.3
    assert resolve_gamma("auto", X) == svm.SVC(gamma="auto").fit(X, y)._gamma
    expected = svm.SVC(gamma="scale").fit(X, y)._gamma
    allowed = 1e-12 if weights is None else 0.2
    assert resolve_gamma("scale", csr_array(X), weights) == pytest.approx(expected, rel=allowed)


def test_kernel_matrices_of_any_kernel():
    X, _ = many_class_points(2, 10)
    K = rbf_kernel(X, gamma=0.5)
    np.testing.assert_allclose(gram_of(SVC(gamma=0.5), X), K, rtol=1e-12)
    np.testing.assert_array_equal(gram_of(SVC(kernel="precomputed"), K), K)
    np.testing.assert_allclose(gram_of(SVC(kernel=lambda A, B: A @ B.T), X), X @ X.T)

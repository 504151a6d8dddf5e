"""The same answers as scikit-learn's OneClassSVM: objective, decision values, offset, layout of everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from oracles.estimators import gram_of
from widemargin import OneClassSVM
from widemargin.testing import kernel_matrix
from widemargin.testing.oracles import as_matrix


def _words() -> Any:
    rng = np.random.default_rng(3)
    return sparse.csr_array(rng.poisson(np.where(np.arange(300) < 30, 0.1, 0.01), size=(200, 300)).astype(np.float64))


DATA: dict[str, Callable[[], Any]] = {
    "iris": lambda: StandardScaler().fit_transform(datasets.load_iris().data),
    "wine": lambda: StandardScaler().fit_transform(datasets.load_wine().data),
    "breast-cancer": lambda: StandardScaler().fit_transform(datasets.load_breast_cancer().data[:300]),
    "digits": lambda: sparse.csr_matrix(datasets.load_digits().data[:250] / 16.0),
    "moons": lambda: datasets.make_moons(300, noise=0.1, random_state=0)[0],
    "words": _words,
}
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "narrow": {"kernel": "rbf", "gamma": 2.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "coef0": 1.0, "degree": 2},
}


@cache
def _data(name: str) -> Any:
    return DATA[name]()


def _objective(model: Any, K: Any) -> float:
    alpha = np.zeros(len(K))
    alpha[model.support_] = as_matrix(model.dual_coef_).ravel()
    return -0.5 * float(alpha @ K @ alpha)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.03, 0.5, 0.9])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DATA)
def test_objective_decision_values_and_offset(name: str, kernel: str, nu: float, weighted: bool) -> None:
    X = _data(name)
    if kernel == "linear" and not sparse.issparse(X):
        # With the origin among the rows the machine would be w = 0, and its coefficients anything.
        X = X - X.min(axis=0) + 0.1
    n = X.shape[0]
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n) if weighted else None
    # gamma="scale" counts weighted rows by their weights here, and not in scikit-learn.
    parameters = {"gamma": 1.0 / X.shape[1], **KERNELS[kernel], "nu": nu, "tol": 1e-6}
    ours = OneClassSVM(**parameters).fit(X, sample_weight=weights)
    theirs = sklearn.svm.OneClassSVM(**parameters).fit(X, sample_weight=weights)
    K = gram_of(theirs, X)
    scale = float(np.abs(K).max()) * nu * n
    assert _objective(ours, K) == pytest.approx(_objective(theirs, K), rel=1e-6, abs=1e-8 * scale)
    assert _objective(ours, K) >= _objective(theirs, K) - 1e-9 * scale
    assert ours.fit_report_[0].objective == pytest.approx(_objective(ours, K), rel=1e-9, abs=1e-12 * scale)
    # The offset is unique where there are variables inside their bounds.
    inner = as_matrix(ours.dual_coef_).ravel()
    bounds = np.ones(n) if weights is None else weights
    if ((inner > 1e-6) & (inner < bounds[ours.support_] - 1e-6)).any():
        assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), abs=1e-5 + 1e-6 * scale)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5 + 1e-6 * scale)
        far = np.abs(theirs.decision_function(X)) > 1e-4 + 2e-6 * scale
        assert np.array_equal(ours.predict(X)[far], theirs.predict(X)[far])
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-5 + 1e-6 * scale)


def test_layout() -> None:
    rows = _data("iris") + 3.0
    for X in (rows, sparse.csr_array(rows)):
        for kernel in ("linear", "rbf"):
            kinds = (OneClassSVM, sklearn.svm.OneClassSVM)
            ours, theirs = (kind(kernel=kernel, nu=0.2, tol=1e-6).fit(X) for kind in kinds)
            for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_"):
                mine, other = getattr(ours, name), getattr(theirs, name)
                assert mine.shape == other.shape
                assert mine.dtype == other.dtype
                assert sparse.issparse(mine) == sparse.issparse(other)
            assert isinstance(ours.n_iter_, int)
            assert ours.shape_fit_ == X.shape
            assert ours.fit_status_ == 0
            assert ours.offset_ == -ours.intercept_[0]
            if kernel == "linear":
                np.testing.assert_allclose(as_matrix(ours.coef_), as_matrix(theirs.coef_), atol=1e-3)


def test_the_origin_among_the_rows() -> None:
    """Nothing keeps away from the origin: w = 0, every row is on the border and accepted."""
    X = _data("iris")
    model = OneClassSVM(kernel="linear", nu=0.3).fit(X)
    assert model.fit_report_.converged
    assert np.abs(model.coef_).max() < 1e-3
    assert np.abs(model.decision_function(X)).max() < 1e-2


def test_precomputed_and_callable_kernels() -> None:
    X = _data("moons")
    expected = OneClassSVM(gamma=1.5, nu=0.1, tol=1e-8).fit(X[:200])
    gram = kernel_matrix(X, X[:200], gamma=1.5)
    given = OneClassSVM(kernel="precomputed", nu=0.1, tol=1e-8).fit(gram[:200])
    called = OneClassSVM(kernel=lambda A, B: kernel_matrix(A, B, gamma=1.5), nu=0.1, tol=1e-8).fit(X[:200])
    np.testing.assert_allclose(given.decision_function(gram), expected.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(called.decision_function(X), expected.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", ["ad_cardio", "ad_pendigits", "ad_thyroid"])
def test_public_data(name: str, data_folder: Any) -> None:
    stored = np.load(data_folder / f"{name}.npz")
    X = StandardScaler().fit_transform(stored["X"][stored["y"] == 0][:2500].astype(np.float64))
    ours, theirs = (kind(nu=0.05, gamma=0.05).fit(X) for kind in (OneClassSVM, sklearn.svm.OneClassSVM))
    K = gram_of(theirs, X)
    assert _objective(ours, K) == pytest.approx(_objective(theirs, K), rel=1e-6)
    assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), abs=2e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)

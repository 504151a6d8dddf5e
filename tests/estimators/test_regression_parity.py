"""The same answers as scikit-learn's SVR and NuSVR: objective, predictions, support vectors, intercepts, layout."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from oracles.estimators import gram_of
from widemargin import SVR, NuSVR


def _standardised(X: Any, y: Any) -> tuple[Any, Any]:
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def _words() -> tuple[Any, Any]:
    """Rows like short texts: counts of a few out of many words, of which some count for the target."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.04, size=(200, 150)).astype(np.float64)
    return sparse.csr_array(counts), counts[:, :20].sum(axis=1) + 0.3 * rng.normal(size=200)


def _one_column() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    x = rng.uniform(-3.0, 3.0, size=(120, 1))
    return x, np.sinc(x.ravel()) + 0.1 * x.ravel() + 0.1 * rng.normal(size=120)


def _half_empty(X: Any, y: Any) -> tuple[Any, Any]:
    return sparse.csr_matrix(np.where(X > 0.0, X, 0.0)), y


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": lambda: _standardised(*datasets.load_diabetes(return_X_y=True)),
    "friedman": lambda: _standardised(*datasets.make_friedman1(200, noise=1.0, random_state=0)),
    "linear": lambda: _standardised(*datasets.make_regression(150, 6, noise=10.0, random_state=1)),
    "one-column": _one_column,
    "ties": lambda: (np.random.default_rng(2).integers(0, 3, (150, 2)) * 1.0, np.arange(150) % 4 * 0.5),
    "words": _words,
    "sparse": lambda: _half_empty(*_standardised(*datasets.make_friedman2(150, noise=50.0, random_state=4))),
}
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "rbf-narrow": {"kernel": "rbf", "gamma": 0.5, "C": 10.0},
    "linear": {"kernel": "linear", "C": 0.1},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.05},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0},
}
# Where nu n / 2 is whole, the variables of a side may all be at bounds, and the intercept anywhere in an interval.
MACHINES: dict[str, tuple[Any, Any, dict[str, float]]] = {
    "SVR": (SVR, sklearn.svm.SVR, {"epsilon": 0.1}),
    "SVR-without-tube": (SVR, sklearn.svm.SVR, {"epsilon": 0.0}),
    "NuSVR": (NuSVR, sklearn.svm.NuSVR, {"nu": 0.317}),
    "NuSVR-almost-all": (NuSVR, sklearn.svm.NuSVR, {"nu": 0.873}),
}


@cache
def load(name: str) -> tuple[Any, Any]:
    return DATA[name]()


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def fit_both(machine: str, name: str, weights: Any = None, **parameters: Any) -> tuple[Any, Any, Any, Any]:
    X, y = load(name)
    ours, theirs, own = MACHINES[machine]
    return *(Class(**{**own, **parameters}).fit(X, y, weights) for Class in (ours, theirs)), X, y


def dual_objective(model: Any, gram: np.ndarray, y: np.ndarray) -> float:
    beta = np.zeros(len(y))
    beta[model.support_] = dense(model.dual_coef_).ravel()
    return float(y @ beta - getattr(model, "epsilon", 0.0) * np.abs(beta).sum() - 0.5 * beta @ gram @ beta)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("machine", MACHINES)
def test_everything_agrees_at_a_tight_tolerance(machine: str, name: str, kernel: str) -> None:
    ours, theirs, X, y = fit_both(machine, name, **KERNELS[kernel], tol=1e-6)
    gram = gram_of(theirs, X)
    mine, reference = (dual_objective(model, gram, y) for model in (ours, theirs))
    assert mine == pytest.approx(reference, rel=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    (entry,) = ours.fit_report_
    assert entry.classes is None
    assert entry.kkt_violation <= 1e-6
    # scikit-learn keeps kernel values in float32, so that it may fall short of the optimum; it cannot exceed it (unless
    # the kernel is indefinite, where neither of the two need be the best).
    if kernel != "sigmoid":
        assert mine >= reference - max(0.0, entry.duality_gap) - 1e-8 * abs(reference)
    assert entry.objective == pytest.approx(mine, rel=1e-6)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("machine", MACHINES)
def test_objectives_agree_at_the_default_tolerance(machine: str, name: str) -> None:
    ours, theirs, X, y = fit_both(machine, name, gamma=0.2)
    gram = gram_of(theirs, X)
    assert dual_objective(ours, gram, y) == pytest.approx(dual_objective(theirs, gram, y), rel=1e-3)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=0.02)


@pytest.mark.parametrize("name", ["diabetes", "friedman", "linear", "sparse"])
@pytest.mark.parametrize("machine", ["SVR", "NuSVR"])
def test_support_vectors_coefficients_and_types_agree(machine: str, name: str) -> None:
    # A Gaussian kernel of distinct rows is strictly positive definite: the optimal coefficients are unique.
    ours, theirs, _, _ = fit_both(machine, name, gamma=0.3, tol=1e-7)
    assert np.array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(dense(ours.dual_coef_), dense(theirs.dual_coef_), atol=1e-3)
    assert np.array_equal(dense(ours.support_vectors_), dense(theirs.support_vectors_))
    for attribute in (
        "dual_coef_",
        "fit_status_",
        "intercept_",
        "n_features_in_",
        "n_iter_",
        "n_support_",
        "shape_fit_",
        "support_",
        "support_vectors_",
    ):
        mine, reference = getattr(ours, attribute), getattr(theirs, attribute)
        assert type(mine) is type(reference), attribute
        if isinstance(reference, np.ndarray):
            assert mine.shape == reference.shape, attribute
            assert mine.dtype == reference.dtype, attribute
    assert ours.shape_fit_ == theirs.shape_fit_
    assert not hasattr(ours, "coef_")


@pytest.mark.parametrize("name", ["diabetes", "linear", "words", "sparse"])
@pytest.mark.parametrize("machine", ["SVR", "NuSVR"])
def test_linear_coefficients_agree(machine: str, name: str) -> None:
    ours, theirs, X, _ = fit_both(machine, name, kernel="linear", C=0.1, tol=1e-7)
    assert type(ours.coef_) is type(theirs.coef_)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(dense(ours.coef_), dense(theirs.coef_), atol=1e-4)
    np.testing.assert_allclose(dense(X @ ours.coef_.T).ravel() + ours.intercept_, ours.predict(X), atol=1e-10)


@pytest.mark.parametrize("name", ["diabetes", "friedman", "words", "ties"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine", MACHINES)
def test_sample_weights_agree(machine: str, name: str, kernel: str) -> None:
    X, y = load(name)
    weights = np.random.default_rng(8).exponential(size=len(y))
    parameters = {"kernel": kernel, "gamma": 0.2, "C": 0.5, "tol": 1e-6}
    ours, theirs, _, _ = fit_both(machine, name, weights, **parameters)
    gram = gram_of(theirs, X)
    assert dual_objective(ours, gram, y) == pytest.approx(dual_objective(theirs, gram, y), rel=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("name", ["diabetes", "one-column"])
@pytest.mark.parametrize("machine", ["SVR", "NuSVR"])
def test_precomputed_and_callable_kernels_agree(machine: str, name: str) -> None:
    X, y = load(name)
    ours, theirs, own = MACHINES[machine]
    K = gram_of(sklearn.svm.SVR(gamma=0.3), X)
    reference = theirs(kernel="precomputed", tol=1e-6, **own).fit(K, y)
    model = ours(kernel="precomputed", tol=1e-6, **own).fit(K, y)
    called = ours(kernel=lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)), tol=1e-6, **own)
    np.testing.assert_allclose(model.predict(K), reference.predict(K), atol=1e-4)
    np.testing.assert_allclose(called.fit(X, y).predict(X), reference.predict(K), atol=1e-4)
    assert model.support_vectors_.shape == reference.support_vectors_.shape


@pytest.mark.parametrize("name", ["diabetes", "friedman", "words"])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_the_width_found_is_the_one_to_give(name: str, nu: float) -> None:
    X, y = load(name)
    found = NuSVR(nu=nu, gamma=0.2, tol=1e-7).fit(X, y)
    given = SVR(epsilon=found.epsilon_, gamma=0.2, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(found.predict(X), given.predict(X), atol=1e-4)
    outside = np.abs(y - found.predict(X)) > found.epsilon_ + 1e-5
    assert outside.mean() <= nu + 1e-9
    assert len(found.support_) >= nu * len(y) - 1e-9


def test_constructors_have_scikit_learns_names_and_defaults() -> None:
    ours_alone = {"n_jobs", "max_time", "warm_start", "solver"}
    for ours, theirs in ((SVR(), sklearn.svm.SVR()), (NuSVR(), sklearn.svm.NuSVR())):
        mine, reference = ours.get_params(), theirs.get_params()
        assert set(mine) - set(reference) - {"loss"} == ours_alone
        changed = {name for name, value in reference.items() if mine[name] != value}
        assert changed == {"cache_size", "max_iter"}
    assert "loss" in SVR().get_params()
    assert "loss" not in NuSVR().get_params()


def test_a_public_data_set_agrees(data_folder: Path) -> None:
    stored = np.load(data_folder / "raetsch_banana.npz")
    X, y = stored["X"][:800, :1].astype(np.float64), stored["X"][:800, 1].astype(np.float64)
    for ours, theirs in ((SVR, sklearn.svm.SVR), (NuSVR, sklearn.svm.NuSVR)):
        model, reference = (Class(C=10.0, gamma=1.0, tol=1e-5).fit(X, y) for Class in (ours, theirs))
        np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-3)

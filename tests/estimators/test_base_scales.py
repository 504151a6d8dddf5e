"""Models at any scale: what is handed out is what was certified, or the end says otherwise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from oracles.estimators import pair_solutions
from widemargin import SVC, SVR, GridSearchCV, ModelSearch, NuSVC
from widemargin.kernels import Polynomial
from widemargin.kernels.rows import kernel_matrix

TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X[y < 2], y[y < 2]


@pytest.fixture(scope="module")
def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _violation(model: SVC, X: Any, y: Any, weights: Any = None) -> float:
    (found,) = pair_solutions(model, X, y, sample_weight=weights)
    assert abs(found.alpha.sum()) <= 1e-9 * np.abs(found.alpha).sum()
    return found.certificate.kkt_violation


@pytest.mark.parametrize("C", [1.0, 1e8, 1e15, 1e16, 1e20, 1e100, 1e300])
def test_coefficients_that_are_small_against_the_box_stay(iris: tuple[Any, Any], C: float) -> None:
    X, y = iris
    model = SVC(C=C).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.fit_report_.converged
    assert _violation(model, X, y) <= TOLERANCE


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e6, 3e6, 1e8, 1e12])
def test_a_linear_regression_at_any_scale_of_the_features(scale: float) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    C = max(1.0, scale**-2)
    model = SVR(kernel="linear", C=C).fit(X * scale, X[:, 0])
    assert model.fit_report_.converged
    assert model.score(X * scale, X[:, 0]) > 0.99


@pytest.mark.parametrize("scale", [1e-20, 1e9])
def test_a_linear_classifier_at_any_scale_of_the_features(cancer: tuple[Any, Any], scale: float) -> None:
    X, y = cancer
    model = SVC(kernel="linear", C=max(1.0, scale**-2)).fit(X * scale, y)
    assert model.score(X * scale, y) > 0.98
    assert _violation(model, X * scale, y) <= 1.01 * TOLERANCE


def test_a_polynomial_of_huge_values(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    assert SVC(kernel="poly", degree=2, gamma=1e8, coef0=1e8).fit(X, y).score(X, y) == 1.0


def test_a_search_scores_what_it_refits() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    search = GridSearchCV(SVR(kernel="linear"), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(X * 1e8, X[:, 0])
    assert search.best_score_ > 0.99
    assert search.score(X * 1e8, X[:, 0]) > 0.99


@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0)])
def test_a_search_far_from_the_origin_scores_what_its_models_score(model: SVC) -> None:
    """The kernel's float32 matrix does not hold the digits that tell such samples apart."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0).astype(int)
    X += 3e2 if model.kernel == "poly" else 1e5
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.flatnonzero(np.arange(90) % 3 == k)) for k in range(3)]
    search = GridSearchCV(model, {"C": [1.0]}, cv=folds, refit=False).fit(X, y)
    for k, (train, test) in enumerate(folds):
        alone = SVC(**model.get_params()).fit(X[train], y[train])
        near = np.count_nonzero(np.abs(alone.decision_function(X[test])) < 0.02) / len(test)
        assert abs(search.cv_results_[f"split{k}_test_score"][0] - alone.score(X[test], y[test])) <= near + 1e-9


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_search_for_a_regression_far_from_the_origin_scores_what_its_models_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = 2000.0 + 1700.0 * rng.normal(size=(12, 3))
    y = rng.normal(size=12)
    model = SVR(kernel="linear", loss="squared_epsilon_insensitive", C=0.03)
    train, test = np.arange(8), np.arange(8, 12)
    search = GridSearchCV(model, {"C": [0.03]}, cv=[(train, test)], refit=False).fit(X, y)
    alone = model.fit(X[train], y[train]).score(X[test], y[test])
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(alone, abs=0.005)


def test_one_huge_weight(iris: tuple[Any, Any]) -> None:
    X, y = iris
    weights = np.ones(len(y))
    weights[3] = 1e300
    model = SVC().fit(X, y, sample_weight=weights)
    assert _violation(model, X, y, weights) <= TOLERANCE
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(("C", "weight"), [(1e200, 1e150), (1e308, 10.0)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("similarity", [0.9, 1.0])
def test_prices_beyond_float64_claim_nothing_that_does_not_hold(
    C: float, weight: float, loss: str, similarity: float
) -> None:
    K, y = np.array([[1.0, similarity], [similarity, 1.0]]), np.array([0, 1])
    model = SVC(kernel="precomputed", C=C, loss=loss, tol=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(K, y, sample_weight=np.full(2, weight))
        except ValueError as problem:
            assert similarity == 1.0
            assert "too large to compute with" in str(problem)  # noqa: PT017
            return
    alpha = np.zeros(2)
    alpha[model.support_] = model.dual_coef_[0]
    gradient = np.where(y == 1, 1.0, -1.0) - K @ alpha
    # No coefficient comes near its bound: the conditions ask for equal gradients.
    violation = abs(gradient[1] - gradient[0])
    assert model.fit_report_[0].kkt_violation == pytest.approx(violation, abs=1e-6)
    assert model.fit_report_.converged == (violation <= 1.0)


def test_the_model_at_the_end_of_a_search_that_runs_away(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = ModelSearch(SVC(kernel=Polynomial(degree=2)), objective="polarization").fit(X[:150], y[:150])
    assert len(set(search.predict(X[:150]))) == 2
    assert search.score(X[:150], y[:150]) > 0.9


@pytest.mark.parametrize("scale", [1e-300, 1e-60, 1e-20, 1e50, 1e100, 1e150])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_precomputed_kernels_of_any_scale(iris: tuple[Any, Any], scale: float, loss: str) -> None:
    X, y = iris
    K = (X @ X.T) * scale
    model = SVC(kernel="precomputed", loss=loss, C=min(max(1.0, 1.0 / scale), 1e290)).fit(K, y)
    assert model.fit_report_.converged
    assert np.isfinite(model.dual_coef_).all()
    if loss == "hinge":
        assert _violation(model, K, y) <= 1.01 * TOLERANCE
    if scale > 1e-200:
        assert model.score(K, y) == 1.0


@pytest.mark.parametrize("scale", [1e-90, 1e160, 1e200])
def test_nu_classifiers_over_kernels_whose_squares_float64_does_not_hold(scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=40) > 0
    (usual,), (found,) = (
        NuSVC(kernel="precomputed", nu=1e-6).fit(unit * (X @ X.T), y).fit_report_ for unit in (1.0, scale)
    )
    assert found.reason == "converged"
    assert scale * found.objective == pytest.approx(usual.objective)
    assert 0.0 <= scale * found.duality_gap <= 1e-6


def test_a_default_gamma_beyond_float32(iris: tuple[Any, Any]) -> None:
    X, y = iris
    model = SVC(kernel="poly").fit(X * 1e-20, y)
    assert np.isfinite(model.intercept_).all()
    assert model.score(X * 1e-20, y) == 1.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernel_values_of_what_float32_does_not_hold(dtype: str) -> None:
    X = np.random.default_rng(0).normal(size=(5, 2))
    found = kernel_matrix(X * 1e-25, kernel="poly", gamma=1e50, degree=2, dtype=dtype)
    assert found.dtype == dtype
    assert np.allclose(found, (X @ X.T) ** 2, rtol=1e-5)


def test_zeros_and_tiny_ones() -> None:
    """Entries that vanish in float32 still are what tells samples apart."""
    X = np.random.default_rng(0).integers(0, 2, size=(30, 5)).astype(float)
    X[0], X[1] = 0.0, 1.0
    y = (X.sum(axis=1) > 2).astype(int)
    small, large = (SVC(C=10.0).fit(scale * X, y).decision_function(scale * X) for scale in (1e-70, 1.0))
    assert np.allclose(small, large, atol=5e-3)


INDEFINITE = [
    (SVR, "sigmoid", "squared_epsilon_insensitive"),
    (SVR, "poly", "squared_epsilon_insensitive"),
    (SVC, "sigmoid", "squared_hinge"),
]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("family", "kernel", "loss"), INDEFINITE)
def test_square_losses_over_indefinite_kernels_say_so(family: Any, kernel: str, loss: str, seed: int) -> None:
    """Finite numbers in any case; and a warning unless the point reached is certified."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] if family is SVR else (X[:, 0] > 0).astype(int)
    gamma, C = 10.0 ** rng.uniform(-1.0, 1.0), 10.0 ** rng.uniform(-1.0, 3.0)
    model = family(kernel=kernel, coef0=-1.0, gamma=gamma, C=C, loss=loss, max_iter=100_000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.predict(X)).all()
    (report,) = model.fit_report_
    assert np.isfinite(report.kkt_violation)
    warned = [one for one in told if issubclass(one.category, ConvergenceWarning)]
    assert bool(warned) == (report.reason != "converged")
    if report.reason == "unbounded":
        assert "positive semidefinite" in str(warned[0].message)


def test_an_indefinite_kernel_without_a_solution_is_called_unbounded() -> None:
    K = np.array([[0.0, 2.0], [2.0, 0.0]])  # curvature along the pair: -4
    with (
        pytest.warns(UserWarning, match="not positive semidefinite"),
        pytest.warns(ConvergenceWarning, match="unbounded.*positive semidefinite"),
    ):
        model = SVC(kernel="precomputed", loss="squared_hinge", C=10.0).fit(K, [0, 1])
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("scale", [1e200, -1.0])
def test_mdm_with_kernels_beyond_its_theory(iris: tuple[Any, Any], scale: float) -> None:
    """A segmentation fault, and an abort: an index that was never set."""
    X, y = iris
    K = X @ X.T * scale
    model = SVC(kernel="precomputed", loss="squared_hinge", fit_intercept=False, solver="mdm", max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(K, y)
    assert np.isfinite(model.dual_coef_).all()

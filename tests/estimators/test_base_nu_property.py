"""nu as a bound: no more than its share of the training weight is outside, at any tolerance, alone and in searches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVDD, GridSearchCV, NuSVC, NuSVR, OneClassSVM
from widemargin.solvers import Auto

NU = (1e-300, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.97, 1.0)


def sample(n: int, seed: int, duplicates: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if duplicates:
        X = np.round(X)
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


def outside(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell the rows that a fitted model has outside: rejected, inside the margin, beyond the tube."""
    if isinstance(model, NuSVC):
        return np.where(y > 0, 1.0, -1.0) * model.decision_function(X) < 1.0
    if isinstance(model, NuSVR):
        return np.abs(y - model.predict(X)) > model.epsilon_
    return model.predict(X) == -1


def fitted(Model: Any, X: np.ndarray, y: np.ndarray, weights: Any = None, **parameters: Any) -> Any:
    with warnings.catch_warnings():
        # Steps may be few, and classes may meet where nu is small; they have no margin to be inside of then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        targets = np.where(y > 0, 1, 0) if Model is NuSVC else y
        return Model(**parameters).fit(X, targets, sample_weight=weights)


def check(model: Any, X: np.ndarray, y: np.ndarray, weights: Any = None) -> None:
    weights = np.ones(len(X)) if weights is None else weights
    assert weights[outside(model, X, y)].sum() <= model.nu * weights.sum() * (1.0 + 1e-9)


@pytest.mark.parametrize("nu", NU)
@pytest.mark.parametrize("Model", [OneClassSVM, SVDD, NuSVR])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
def test_no_more_than_nu_is_outside(Model: Any, nu: float, gamma: float) -> None:
    for n, seed in ((1, 0), (7, 1), (90, 2), (1000, 3)):
        for duplicates in (False, True):
            X, y = sample(n, seed, duplicates)
            check(fitted(Model, X, y, nu=nu, gamma=gamma), X, y)
            weights = 10.0 ** np.random.default_rng(seed).uniform(-2.0, 2.0, size=n)
            check(fitted(Model, X, y, weights, nu=nu, gamma=gamma), X, y, weights)


@pytest.mark.parametrize("nu", NU[:-2])
@pytest.mark.parametrize("gamma", [20.0, 100.0])
def test_no_more_than_nu_is_inside_the_margin(nu: float, gamma: float) -> None:
    for n, seed in ((7, 1), (90, 2), (1000, 3)):
        X, y = sample(n, seed)
        nu_of_pair = nu * 2.0 * min(np.mean(y > 0), np.mean(y <= 0))
        model = fitted(NuSVC, X, y, nu=nu_of_pair, gamma=gamma)
        assert model.fit_report_.converged
        check(model, X, y)


@pytest.mark.parametrize("Model", [OneClassSVM, SVDD, NuSVC, NuSVR])
@pytest.mark.parametrize(
    "how", [{"tol": 0.3}, {"tol": 1e-8}, {"max_iter": 2000}, {"solver": Auto(dtype="float64")}, {"solver": "smo"}]
)
def test_neither_the_tolerance_nor_a_budget_matters(Model: Any, how: dict[str, Any]) -> None:
    X, y = sample(1200, 4)
    # After a few steps classes may still meet at a small nu.
    for nu in (0.1, 0.4) if Model is NuSVC else (0.01, 0.1, 0.4):
        check(fitted(Model, X, y, nu=nu, gamma=30.0 if Model is NuSVC else 2.0, **how), X, y)


@pytest.mark.parametrize("Model", [OneClassSVM, SVDD])
@pytest.mark.parametrize("gamma", ["scale", 0.5])
def test_rows_on_the_border_are_accepted_by_predictions_in_float32(Model: Any, gamma: Any) -> None:
    X = np.random.default_rng(0).normal(size=(6000, 70))
    model = Model(nu=0.5, gamma=gamma).fit(X)
    assert not model._predict_in_double
    coefficients = np.zeros(6000)
    coefficients[model.support_] = model.dual_coef_[0] * (1.0 if Model is OneClassSVM else 3000.0)
    rejected = model.predict(X) == -1
    assert rejected.mean() <= 0.5
    assert (coefficients[rejected] >= 1.0 - 1e-9).all()


@pytest.mark.parametrize("Model", [OneClassSVM, SVDD])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_nu_below_one_row_rejects_none_and_finds_the_machine_without_slack(Model: Any, weighted: bool) -> None:
    X, _ = sample(300, 5)
    weights = np.random.default_rng(5).uniform(1.0, 2.0, size=300) if weighted else np.ones(300)
    limit = weights.min() / weights.sum()
    models = [Model(nu=share * limit, tol=1e-6).fit(X, sample_weight=weights) for share in (0.9, 1e-4, 1e-200)]
    for model in models:
        assert (model.predict(X) == 1).all()
        shares = model.dual_coef_ / model.dual_coef_.sum()
        np.testing.assert_array_equal(model.support_, models[0].support_)
        np.testing.assert_allclose(shares, models[0].dual_coef_ / models[0].dual_coef_.sum(), atol=1e-4)
    if Model is SVDD:
        hard = SVDD(C=np.inf, tol=1e-6).fit(X, sample_weight=weights)
        assert models[2].radius_ == pytest.approx(hard.radius_, rel=1e-4)


def test_the_tolerance_follows_the_sum_of_the_coefficients() -> None:
    X, _ = sample(1000, 6)
    for nu in (1e-6, 1e-5, 1e-4):
        model = OneClassSVM(nu=nu, gamma=0.5).fit(X)
        total = nu * len(X)
        assert model.dual_coef_.sum() == pytest.approx(total)
        assert model.fit_report_[0].kkt_violation <= 1e-3 * total
        exact = OneClassSVM(nu=nu, gamma=0.5, tol=1e-9).fit(X)
        assert model.offset_ == pytest.approx(exact.offset_, abs=2e-3 * total)
        assert model.fit_report_[0].objective == pytest.approx(exact.fit_report_[0].objective, rel=1e-2)


def training_share(estimator: Any, X: Any, y: Any = None) -> float:
    if isinstance(estimator, NuSVC):
        return float(np.mean(np.where(y == 1, 1.0, -1.0) * estimator.decision_function(X) < 1.0 - 1e-6))
    if isinstance(estimator, NuSVR):
        # The kernel of a chain is one in float32, that of predictions is not.
        return float(np.mean(np.abs(y - estimator.predict(X)) > estimator.epsilon_ + 1e-6))
    return float(np.mean(estimator.predict(X) == -1))


@pytest.mark.parametrize("Model", [OneClassSVM, SVDD, NuSVC, NuSVR])
@pytest.mark.parametrize("plan", ["heuristic", "cold"])
def test_chains_of_a_search_keep_the_promise(Model: Any, plan: str) -> None:
    X, y = sample(400, 7, duplicates=Model is not NuSVC)
    targets = np.where(y > 0, 1, 0) if Model is NuSVC else y if Model is NuSVR else None
    nus = [0.02, 0.1, 0.3, 0.6] if Model is NuSVC else [1e-6, 0.003, 0.02, 0.1, 0.3, 0.6]
    grid = {"nu": nus, "gamma": [0.5, 5.0] if Model is not NuSVC else [5.0, 20.0]}
    search = GridSearchCV(Model(), grid, cv=3, scoring=training_share, return_train_score=True, plan=plan)
    search.fit(X, targets)
    results = search.cv_results_
    allowed = np.array([parameters["nu"] for parameters in results["params"]])
    for split in range(3):
        assert (results[f"split{split}_train_score"] <= allowed + 1e-9).all()
    alone = Model(**search.best_params_).fit(X, targets)
    np.testing.assert_array_equal(search.best_estimator_.dual_coef_, alone.dual_coef_)
    np.testing.assert_array_equal(search.best_estimator_.intercept_, alone.intercept_)


def primal_and_dual(model: Any, K: np.ndarray, y: np.ndarray, nu: float) -> tuple[float, float, float]:
    """Value of a classifier, of its coefficients and their violation, in [Chang2011, section 2.2] as it stands there.

    That is with coefficients up to 1 that sum to nu n: those of the model times rho.
    """
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    rho = nu * len(y) / np.abs(alpha).sum()
    alpha *= rho
    assert (y * alpha >= 0.0).all()
    assert (y * alpha <= 1.0 + 1e-9).all()
    assert alpha.sum() == pytest.approx(0.0, abs=1e-7 * len(y))
    norm, slopes, violation = alpha @ K @ alpha, -y * (K @ alpha), 0.0
    for mine in (y > 0, y < 0):
        size = np.abs(alpha[mine])
        highest = np.max(slopes[mine], where=size < 1.0 - 1e-9, initial=-np.inf)
        violation = max(violation, highest - np.min(slopes[mine], where=size > 1e-9, initial=np.inf))
    # rho and b of the model are one choice of many where a class has no coefficient between its bounds.
    values = K @ alpha + rho * model.intercept_[0]
    slack = np.maximum(0.0, rho - y * values).sum()
    return 0.5 * norm - nu * len(y) * rho + slack, -0.5 * norm, violation / rho


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("n", [40, 120])
def test_nu_svc_solves_the_original_problem_better_than_scikit_learn(n: int, nu: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    if nu > 2.0 * min(np.mean(y > 0), np.mean(y < 0)):
        with pytest.raises(ValueError, match="specified nu is infeasible"):
            NuSVC(nu=nu).fit(X, y)
        return
    K = sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.25)
    ours = NuSVC(nu=nu, gamma=0.25, tol=1e-8).fit(X, y)
    primal, dual, violation = primal_and_dual(ours, K, y, nu)
    assert violation <= 1e-8
    assert primal - dual <= 1e-7 * abs(dual)
    peer = sklearn.svm.NuSVC(nu=nu, gamma=0.25, tol=1e-10, max_iter=500_000)
    if nu == 2.0 * min(np.mean(y > 0), np.mean(y < 0)):
        # All coefficients of a class are at their bounds, and its border is infinite there.
        with pytest.raises(ValueError, match="not finite"):
            peer.fit(X, y)
        return
    theirs = peer.fit(X, y)
    _, their_dual, their_violation = primal_and_dual(theirs, K, y, nu)
    assert dual >= their_dual - 1e-9 * abs(dual)
    if their_violation <= 1e-4:
        assert dual == pytest.approx(their_dual, rel=1e-5)


def test_where_a_class_has_no_free_coefficient_the_middle_of_all_optimal_borders_is_taken() -> None:
    """Coefficients agree with scikit-learn's, decision values do not: rounding decides theirs; both are optimal."""
    n, nu = 40, 0.8
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    K = sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.25)
    ours, theirs = NuSVC(nu=nu, gamma=0.25).fit(X, y), sklearn.svm.NuSVC(nu=nu, gamma=0.25, tol=1e-8).fit(X, y)
    values = [primal_and_dual(model, K, y, nu) for model in (ours, theirs)]
    assert values[0][:2] == pytest.approx(values[1][:2], rel=1e-6)
    assert values[0][0] - values[0][1] <= 1e-9 * abs(values[0][1])
    rho = nu * n / np.abs(ours.dual_coef_).sum()
    scores = y * (rho * ours.decision_function(X) - rho * ours.intercept_[0])
    alpha = np.zeros(n)
    alpha[ours.support_] = np.abs(ours.dual_coef_[0]) * rho
    positive = y > 0
    full, zero = positive & (alpha >= 1.0 - 1e-9), positive & (alpha <= 1e-9)
    assert (full | zero)[positive].all()
    middle = 0.5 * (scores[full].max() + scores[zero].min())
    assert rho - rho * ours.intercept_[0] == pytest.approx(middle, rel=1e-6)


@pytest.mark.parametrize(("nu", "gamma"), [(0.02, 2.0), (0.3, 0.25)])
def test_a_small_margin_is_not_taken_for_none(nu: float, gamma: float) -> None:
    """rho is 2e-5 and 3e-6 of what weights and kernel admit, where the start suggests that much more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=2000) > 0.0, 1.0, -1.0)
    model = NuSVC(nu=nu, gamma=gamma).fit(X, y)  # a warning would be an error
    K = sklearn.metrics.pairwise.rbf_kernel(X, gamma=gamma)
    primal, dual, violation = primal_and_dual(model, K, y, nu)
    assert violation <= 2e-3
    assert primal - dual <= 1e-2 * abs(dual)
    check(model, X, y)


def test_classes_that_meet_are_reported_in_units_of_the_largest_margin() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=2000) > 0.0, 1.0, -1.0)
    for kernel in ("linear", "rbf"):
        with pytest.warns(ConvergenceWarning, match="no margin"):
            model = NuSVC(nu=0.02, gamma=0.25, kernel=kernel).fit(X, y)
        K = X @ X.T if kernel == "linear" else sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.25)
        # a'Ka / (sum |a|)^2 of the hulls that meet, against that of single rows
        alpha = model.dual_coef_[0] / np.abs(model.dual_coef_).sum()
        K = K[np.ix_(model.support_, model.support_)]
        assert alpha @ K @ alpha <= 1e-5 * np.diagonal(K).mean()
        assert model.fit_report_[0].kkt_violation <= model.tol

"""Scores of a search are those of its models alone, also where float32 leaves nothing of what tells samples apart."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, NuSVC

X, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
FOLDS = StratifiedKFold(5)
GAMMAS = [10.0**power for power in range(-12, 7)]

#: A sample more or less: models are the same within their tolerance.
ALIKE = 0.011


def both(model: Any, X: Any = X, y: Any = Y, scoring: str = "accuracy", **how: Any) -> tuple[float, float]:
    """Return the score of a model in a search, and alone."""
    search = GridSearchCV(model, {"tol": [model.tol]}, cv=FOLDS, scoring=scoring, refit=False, **how).fit(X, y)
    alone = cross_val_score(clone(model), X, y, cv=FOLDS, scoring=scoring).mean()
    return float(search.cv_results_["mean_test_score"][0]), float(alone)


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(C=1e4),
        SVC(fit_intercept=False),
        SVC(loss="squared_hinge"),
        SVC(loss="squared_hinge", fit_intercept=False),
        SVC(multi_class="ovr"),
        NuSVC(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore:nu=0.5 is too small:sklearn.exceptions.ConvergenceWarning")
def test_widths_of_any_size(model: Any, classes: int) -> None:
    part = 2 - classes < Y
    search = GridSearchCV(model, {"gamma": GAMMAS}, cv=FOLDS, refit=False).fit(X[part], Y[part])
    alone = [cross_val_score(clone(model).set_params(gamma=g), X[part], Y[part], cv=FOLDS).mean() for g in GAMMAS]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone, rtol=0, atol=ALIKE)


def test_ranks_of_wide_kernels() -> None:
    one, alone = both(SVC(gamma=1e-10), X[Y > 0], Y[Y > 0], "roc_auc")
    assert one == pytest.approx(alone, abs=1e-3)


@pytest.mark.parametrize("model", [SVC(), SVC(C=100.0), SVC(loss="squared_hinge")], ids=repr)
@pytest.mark.parametrize("gamma", [1e-10, 1e-8])
def test_ranks_of_wide_kernels_without_a_matrix(model: Any, gamma: float) -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(2_400, 5))
    y = (samples[:, 0] + samples[:, 1] + 0.8 * rng.normal(size=2_400) > 0).astype(int)
    how: Any = {"cv": StratifiedKFold(2), "scoring": "roc_auc"}
    model = clone(model).set_params(gamma=gamma)
    search = GridSearchCV(model, {"tol": [model.tol]}, max_memory=0.1, refit=False, **how).fit(samples, y)
    alone = cross_val_score(model, samples, y, **how).mean()
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(alone, abs=2e-3)


@settings(max_examples=40, deadline=None)
@given(
    kernel=st.sampled_from(["rbf", "poly", "linear", "precomputed"]),  # without semidefiniteness there are many optima
    gamma=st.floats(-12.0, 3.0),
    scale=st.floats(-3.0, 3.0),
    coef0=st.sampled_from([0.0, 1.0, 100.0]),
    intercept=st.booleans(),
    classes=st.sampled_from([2, 3]),
)
def test_a_search_scores_models_as_they_are_alone(
    kernel: str, gamma: float, scale: float, coef0: float, intercept: bool, classes: int
) -> None:
    part = 2 - classes < Y
    samples, y = 10.0**scale * X[part], Y[part]
    model = SVC(kernel=kernel, gamma=10.0**gamma, coef0=coef0, degree=2, fit_intercept=intercept, max_iter=20_000)
    if kernel == "precomputed":
        samples = pairwise_kernels(samples, metric="rbf", gamma=10.0**gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, alone = both(model, samples, y)
        ended = SVC(**model.get_params()).fit(samples, y).fit_status_
    if not ended:
        assert one == pytest.approx(alone, abs=0.031)


def test_probabilities_of_wide_kernels_rank_as_decision_values_do() -> None:
    part = Y > 0
    model = SVC(gamma=1e-10, C=1.0, calibration="folds").fit(X[part], Y[part])
    p = model.predict_proba(X[part])[:, 1]
    values = cross_val_predict(SVC(gamma=1e-10), X[part], Y[part], cv=FOLDS, method="decision_function")
    assert np.isfinite(p).all()
    assert np.ptp(values) > 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("gamma", [1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e4])
def test_models_of_a_search_meet_their_tolerance_in_float64(C: float, gamma: float, loss: str) -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(300, 4))
    y = (samples[:, 0] + samples[:, 1] ** 2 - 0.7 + 0.7 * rng.normal(size=300) > 0).astype(int)
    model = SVC(C=C, gamma=gamma, loss=loss)
    folds = list(StratifiedKFold(2).split(samples, y))
    seen: list[float] = []

    def violation(found: Any, _: Any, y_test: Any) -> float:
        train = folds[len(seen)][0]
        a, signs = np.zeros(len(train)), np.where(y[train] == 1, 1.0, -1.0)
        a[found.support_] = found.dual_coef_[0]
        gradient = signs - pairwise_kernels(samples[train], metric="rbf", gamma=gamma) @ a
        ends = signs * (C if loss == "hinge" else np.inf)
        gradient -= 0.0 if loss == "hinge" else a / (2.0 * C)
        up, down = a < np.maximum(0.0, ends), a > np.minimum(0.0, ends)
        seen.append(float(gradient[up].max() - gradient[down].min()))
        return 0.0

    GridSearchCV(model, {"C": [C]}, cv=folds, scoring=violation, refit=False).fit(samples, y)
    assert max(seen) <= 1.001 * model.tol


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"fit_intercept": False},
        {"loss": "squared_hinge"},
        {"multi_class": "ovr"},
        {"decision_function_shape": "ovo"},
        {"decision": "fuzzy-minimum", "class_weight": {3: 0.0}},
    ],
    ids=str,
)
@pytest.mark.parametrize("gamma", [1e-8, 1.0])
def test_many_classes_that_need_more_digits_are_scored_as_they_would_be_alone(
    gamma: float, others: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(24), 4)
    X = 3.0 * rng.normal(size=(24, 10))[y] + rng.normal(size=(len(y), 10))
    y = np.where(y == 7, 8, y)
    folds = list(StratifiedKFold(2).split(X, y))
    folds[0] = (folds[0][0][y[folds[0][0]] != 5], folds[0][1])  # a class that training does not know
    model = SVC(gamma=gamma, **others)
    search = GridSearchCV(model, {"C": [0.1, 1.0, 1e3]}, cv=folds, refit=False).fit(X, y)
    for C, score in zip([0.1, 1.0, 1e3], search.cv_results_["mean_test_score"], strict=True):
        alone = cross_val_score(clone(model).set_params(C=C), X, y, cv=folds)
        assert score == pytest.approx(alone.mean(), abs=1e-12)


def test_hundreds_of_classes_that_need_more_digits_take_no_longer_than_fits() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(120), 4)
    X = 3.0 * rng.normal(size=(120, 10))[y] + rng.normal(size=(len(y), 10))
    search = GridSearchCV(SVC(), {"gamma": [1e-8, 1.0]}, cv=2, refit=False)
    began = time.process_time()
    cross_val_score(SVC(gamma=1.0), X, y, cv=2)
    alone, began = time.process_time() - began, time.process_time()
    search.fit(X, y)
    assert time.process_time() - began < 10.0 * alone + 2.0  # where pairs were taken one by one: 40 s

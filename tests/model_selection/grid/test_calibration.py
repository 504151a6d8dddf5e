"""Probabilities from the splits of a search, and searches over machines with probabilities."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from searches import data
from sklearn.base import clone
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, ModelSearch, NuSVC, PlainSearchWarning
from widemargin.estimators.calibration import fitted_sigmoid
from widemargin.solvers import Auto
from widemargin.testing import many_class_points

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}


def machine(**parameters: Any) -> SVC:
    return SVC(**{"tol": 1e-6, "calibration": "from-search", **parameters})


def naive_values(estimator: Any, X: Any, y: Any, splits: Any) -> Any:
    """Average decision values over the splits that hold a row out; NaN if none does."""
    sums, counts = np.zeros(len(y)), np.zeros(len(y))
    for train, test in splits:
        values = clone(estimator).fit(X[train], y[train]).decision_function(X[test])
        np.add.at(sums, test, values)
        np.add.at(counts, test, 1)
    return np.divide(sums, counts, out=np.full(len(y), np.nan), where=counts > 0)


def check(search: GridSearchCV, X: Any) -> None:
    p = search.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(X))


@pytest.mark.parametrize("sigmoid", ["slope", "platt"])
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(4),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, test_size=0.3, random_state=0),
        PredefinedSplit(np.arange(120) % 4 - 1),
    ],
)
def test_two_classes(cv: Any, sigmoid: str) -> None:
    X, y = data("two")
    search = GridSearchCV(machine(calibration_method=sigmoid), GRID, cv=cv).fit(X, y)
    values = naive_values(SVC(tol=1e-6, **search.best_params_), X, y, cv.split(X, y))
    expected = fitted_sigmoid(sigmoid, values, np.where(y == 1, 1.0, -1.0), np.ones(len(y)))
    np.testing.assert_allclose(
        search.best_estimator_.sigmoids_, [[expected.slope, expected.offset]], rtol=1e-3, atol=1e-3
    )
    check(search, X)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("pipeline", [False, True])
def test_three_classes_alone_and_in_pipelines(scheme: str, pipeline: bool) -> None:
    X, y = data("three")
    estimator: Any = machine(multi_class=scheme)
    grid: Any = GRID
    if pipeline:
        estimator = make_pipeline(StandardScaler(), estimator)
        grid = {f"svc__{name}": values for name, values in GRID.items()}
    search = GridSearchCV(estimator, grid, cv=5).fit(X, y)
    best = search.best_estimator_[-1] if pipeline else search.best_estimator_
    shape = "ovr" if scheme == "ovr" else "ovo"
    plain = clone(search.best_estimator_)
    (plain[-1] if pipeline else plain).set_params(calibration=None, decision_function_shape=shape)
    values = cross_val_predict(plain, X, y, cv=5, method="decision_function")
    for column in range(3):
        first, second = [(0, 1), (0, 2), (1, 2)][column]
        used = np.ones(len(y), dtype=bool) if scheme == "ovr" else (y == first) | (y == second)
        signs = np.where(y == (column if scheme == "ovr" else first), 1.0, -1.0)
        expected = fitted_sigmoid("slope", values[used, column], signs[used], np.ones(used.sum()))
        assert best.sigmoids_[column, 0] == pytest.approx(expected.slope, rel=2e-3)
    check(search, X)


def test_splits_that_lack_classes() -> None:
    X, y = many_class_points(3, 20)
    groups = np.where(y == 2, 0, 1 + np.arange(60) % 3)
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(4)]
    for scheme in ("ovo", "ovr"):
        search = GridSearchCV(machine(multi_class=scheme), GRID, cv=splits).fit(X, y)
        check(search, X)
        assert (search.best_estimator_.sigmoids_[:, 0] > 0).all()


def test_a_split_with_one_class_left_is_left_out() -> None:
    X, y = many_class_points(2, 20)
    splits = [*StratifiedKFold(3).split(X, y), (np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    with pytest.warns(Warning, match="fits failed"):
        search = GridSearchCV(machine(), GRID, cv=splits, error_score=0.0).fit(X, y)
    three = GridSearchCV(machine(), {"C": [search.best_params_["C"]], "gamma": [search.best_params_["gamma"]]}, cv=3)
    three.fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.sigmoids_, three.best_estimator_.sigmoids_, rtol=1e-6)


def test_weights_and_groups() -> None:
    X, y = data("two")
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    cv = GroupShuffleSplit(4, random_state=0)
    groups = np.arange(len(y)) % 12
    search = GridSearchCV(machine(), GRID, cv=cv).fit(X, y, sample_weight=weights, groups=groups)
    best = SVC(tol=1e-6, **search.best_params_)
    sums, counts = np.zeros(len(y)), np.zeros(len(y))
    for train, test in cv.split(X, y, groups):
        sums[test] += clone(best).fit(X[train], y[train], sample_weight=weights[train]).decision_function(X[test])
        counts[test] += 1
    values = np.divide(sums, counts, out=np.full(len(y), np.nan), where=counts > 0)
    expected = fitted_sigmoid("slope", values, np.where(y == 1, 1.0, -1.0), weights)
    assert search.best_estimator_.sigmoids_[0, 0] == pytest.approx(expected.slope, rel=1e-3)


def test_a_search_that_continues_has_the_same_probabilities(tmp_path: Path) -> None:
    X, y = data("three")
    whole = GridSearchCV(machine(), GRID, cv=3).fit(X, y)
    path = tmp_path / "study.jsonl"
    GridSearchCV(machine(), GRID, cv=3, journal=path).fit(X, y)
    lines = path.read_text().splitlines(keepends=True)
    for kept in (len(lines), len(lines) // 2, 3):
        path.write_text("".join(lines[:kept]))
        again = GridSearchCV(machine(), GRID, cv=3, journal=path, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(again.best_estimator_.sigmoids_, whole.best_estimator_.sigmoids_)


def test_threads_and_processes_make_no_difference() -> None:
    X, y = data("three")
    alone = GridSearchCV(machine(), GRID, cv=3).fit(X, y).best_estimator_.sigmoids_
    np.testing.assert_array_equal(
        GridSearchCV(machine(), GRID, cv=3, n_jobs=2).fit(X, y).best_estimator_.sigmoids_, alone
    )
    with joblib.parallel_config("loky", n_jobs=2):
        sent = GridSearchCV(machine(), GRID, cv=3).fit(X, y).best_estimator_.sigmoids_
    np.testing.assert_array_equal(sent, alone)


def test_kernels_that_do_not_fit_into_memory() -> None:
    X, y = data("two")
    whole, rows = (GridSearchCV(machine(), GRID, cv=3, max_memory=memory).fit(X, y) for memory in ("auto", 0.01))
    np.testing.assert_allclose(rows.best_estimator_.sigmoids_, whole.best_estimator_.sigmoids_, rtol=1e-4)


def test_a_callable_that_chooses_and_a_search_without_refit() -> None:
    X, y = data("two")
    search = GridSearchCV(machine(), GRID, cv=3, refit=lambda results: 0).fit(X, y)
    check(search, X)
    assert not hasattr(GridSearchCV(machine(), GRID, cv=3, refit=False).fit(X, y), "best_estimator_")


def test_calibration_in_the_grid() -> None:
    X, y = data("two")
    grid = {**GRID, "calibration": ["folds", "from-search"], "calibration_method": ["slope", "platt"]}
    search = GridSearchCV(machine(), grid, cv=3).fit(X, y)
    check(search, X)
    scores = search.cv_results_["mean_test_score"].reshape(3, 2, 2, 2)  # C, calibration, gamma, sigmoid
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])


def test_folds_after_a_search_that_shares_work() -> None:
    X, y = data("two")
    search = GridSearchCV(machine(calibration="folds"), GRID, cv=3).fit(X, y)
    alone = machine(calibration="folds", **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.sigmoids_, alone.sigmoids_)
    assert search.work_report_.kernel_evaluations < search.work_report_.cold_kernel_evaluations


@pytest.mark.parametrize("scoring", ["neg_log_loss", {"loss": "neg_log_loss", "accuracy": "accuracy"}])
def test_scores_of_probabilities(scoring: Any) -> None:
    X, y = data("two")
    how = {"cv": 3, "scoring": scoring, "refit": False}
    with pytest.raises(ValueError, match="calibration='from-search' makes probabilities when the search is over"):
        GridSearchCV(machine(), GRID, **how).fit(X, y)
    with pytest.warns(PlainSearchWarning, match="Scores need probabilities, which calibration='folds' finds for one"):
        search = GridSearchCV(machine(calibration="folds"), GRID, **how).fit(X, y)
    metric = "score" if isinstance(scoring, str) else "loss"
    assert (search.cv_results_[f"mean_test_{metric}"] > -0.7).any()


def test_scorers_that_may_ask_for_probabilities() -> None:
    X, y = data("two")

    def likelihood(model: Any, X: Any, y: Any) -> float:
        return float(np.mean(model.predict_log_proba(X)[np.arange(len(y)), y]))

    def accuracy(model: Any, X: Any, y: Any) -> float:
        return float(np.mean(model.predict(X) == y))

    with pytest.warns(PlainSearchWarning, match="The scorer may ask for probabilities"):
        search = GridSearchCV(machine(calibration="folds"), GRID, cv=3, scoring=likelihood).fit(X, y)
    assert search.best_score_ > -0.7
    check(GridSearchCV(machine(), GRID, cv=3, scoring=accuracy).fit(X, y), X)
    with pytest.raises(ValueError, match="a search that is under way trained the model"):
        GridSearchCV(machine(), GRID, cv=3, scoring=likelihood, error_score="raise").fit(X, y)


def test_what_cannot_be_had_is_refused_before_anything_is_trained() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="where calibration='from-search' has no decision values to take"):
        GridSearchCV(machine(solver=Auto(dtype="float64")), GRID, cv=3).fit(X, y)


def test_a_model_search_with_folds() -> None:
    X, y = data("two")
    search = ModelSearch(SVC(calibration="folds"), max_evaluations=3, cv=3).fit(X, y)
    p = search.predict_proba(X)
    np.testing.assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(X))


def test_rows_by_kfold_without_shuffling() -> None:
    X, y = data("iris")
    search = GridSearchCV(machine(), GRID, cv=KFold(3)).fit(X, y)  # each split lacks a class
    check(search, X)


def test_probability_is_one_of_the_parameters_that_searches_know() -> None:
    X, y = data("two")
    grid = {"C": [0.1, 10.0], "probability": [True]}
    with warnings.catch_warnings():  # accuracy needs no probabilities, so the candidates share their work
        warnings.simplefilter("error", PlainSearchWarning)
        search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    folds = SVC(C=search.best_params_["C"], calibration="folds").fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), folds.predict_proba(X))
    with pytest.warns(PlainSearchWarning, match="calibration='folds' finds for one model at a time"):
        GridSearchCV(NuSVC(probability=True), {"nu": [0.2, 0.4]}, cv=3, scoring="neg_log_loss").fit(X, y)


def test_the_values_of_a_search_come_before_folds() -> None:
    X, y = data("two")
    search = GridSearchCV(machine(probability=True), GRID, cv=3).fit(X, y)
    plain = GridSearchCV(machine(), GRID, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), plain.predict_proba(X))
    assert search.best_estimator_.probability is True


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "in a pipeline"])
@pytest.mark.parametrize("kind", ["grid", "model"])
def test_a_search_without_probabilities_says_how_to_get_them(kind: str, steps: Any) -> None:
    X, y = data("two")
    prefix = "svc__" if steps else ""
    model = make_pipeline(*steps, SVC()) if steps else SVC()
    search: Any = GridSearchCV(model, {f"{prefix}C": [1.0, 10.0]}, cv=3)
    if kind == "model":
        search = ModelSearch(model, max_evaluations=2)
    for one in (search, search.fit(X, y)):
        assert not hasattr(one, "predict_proba")
        with pytest.raises(AttributeError, match=r"no attribute 'predict_proba'.*pass SVC\(probability=True\)"):
            one.predict_proba(X)
        with pytest.raises(AttributeError, match=r"no attribute 'predict_log_proba'.*pass SVC\(probability=True\)"):
            one.predict_log_proba(X)
    search.set_params(**{f"estimator__{prefix}probability": True})
    p = search.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(np.log(p), search.predict_log_proba(X))

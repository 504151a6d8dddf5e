"""Searches over machines with a nu: NuSVC and NuSVR in chains, and what does not suit a split."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from searches import check_cells, data, search_alone
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import GridSearchCV, NuSVC, NuSVR

GRID = {"nu": [0.1, 0.2, 0.4, 0.6], "gamma": [0.02, 0.2]}
TUBES = {"nu": [0.2, 0.5, 0.9], "C": [0.1, 1.0, 10.0], "gamma": [0.05]}


def both(ours: Any, theirs: Any, grid: Any, X: Any, y: Any, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    """Search with widemargin's machine and with scikit-learn's."""
    how = {"cv": 3, **how}
    found = GridSearchCV(ours, grid, **how).fit(X, y, **(fit or {}))
    check_cells(found, PlainGridSearchCV(theirs, grid, **how).fit(X, y, **(fit or {})))
    return found


@pytest.mark.parametrize("name", ["two", "three", "iris"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_classifiers_alone(name: str, scoring: Any) -> None:
    X, y = data(name)
    ours, _ = search_alone(NuSVC(tol=1e-6), GRID, X, y, scoring=scoring, return_train_score=True)
    assert ours.work_report_.trained == 24


@pytest.mark.parametrize("name", ["two", "three"])
def test_classifiers_of_scikit_learn(name: str) -> None:
    X, y = data(name)
    both(NuSVC(tol=1e-6), svm.NuSVC(tol=1e-6, break_ties=True), GRID, X, y)


def test_values_of_classifiers() -> None:
    X, y = data("two")
    search_alone(NuSVC(tol=1e-7), GRID, X, y, scoring=["roc_auc", "f1"], refit="roc_auc")

    def margins(estimator: Any, X: Any, y: Any) -> float:
        return float(np.mean(estimator.decision_function(X)))

    search_alone(NuSVC(tol=1e-7), GRID, X, y, scoring=margins)


@pytest.mark.parametrize("weighted", ["rows", "classes", "balanced"])
def test_weights_of_classifiers(weighted: str) -> None:
    X, y = data("three")
    machine = NuSVC(tol=1e-6)
    fit = {"sample_weight": 10.0 ** np.random.default_rng(0).uniform(-0.3, 0.3, size=len(X))}
    if weighted != "rows":
        machine.set_params(class_weight="balanced" if weighted == "balanced" else {0: 0.8, 1: 1.2, 2: 1.3})
    search_alone(machine, {"nu": [0.1, 0.3], "gamma": [0.2]}, X, y, fit=fit)


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed", "callable"])
def test_kernels_of_classifiers(kernel: str) -> None:
    X, y = data("two")
    machine = NuSVC(tol=1e-6, kernel=rbf_kernel if kernel == "callable" else kernel, gamma=0.1, coef0=1.0)
    X = rbf_kernel(X, gamma=0.1) if kernel == "precomputed" else X
    # A small nu leaves the classes no margin that is linear.
    search_alone(machine, {"nu": [0.45, 0.5, 0.6]}, X, y)


def test_pipelines_of_classifiers() -> None:
    X, y = data("iris")
    machine = Pipeline([("scale", StandardScaler()), ("nu", NuSVC(tol=1e-6))])
    search_alone(machine, {"nu__nu": [0.1, 0.3], "nu__gamma": [0.1, 1.0]}, X, y, scoring="f1_macro")


@pytest.mark.parametrize("name", ["two", "three"])
def test_little_memory_changes_no_score_of_a_classifier(name: str) -> None:
    X, y = data(name)
    whole, rows = (GridSearchCV(NuSVC(tol=1e-6), GRID, cv=3, max_memory=m).fit(X, y) for m in ("auto", 1e-3))
    check_cells(rows, whole)


@pytest.mark.filterwarnings("ignore:One or more of the t.* scores are non-finite")
def test_a_nu_that_is_infeasible_on_some_splits_fails_alone() -> None:
    X, y = data("two")
    light = np.flatnonzero(y == 1)
    heavy = np.flatnonzero(y == 0)
    # Twice the share of the lighter class: 0.5 in the first training part, 1 in the second.
    splits = [
        (np.concatenate([heavy[:30], light[:10]]), heavy[30:]),
        (np.concatenate([heavy[:20], light[:20]]), heavy[30:]),
    ]
    grid = {"nu": [0.2, 0.4, 0.6, 0.8], "gamma": [0.1]}
    ours, theirs = (
        search(machine, grid, cv=splits, refit=False)
        for search, machine in ((GridSearchCV, NuSVC(tol=1e-6)), (PlainGridSearchCV, svm.NuSVC(tol=1e-6)))
    )
    for search in (ours, theirs):
        with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 8"):
            search.fit(X, y)
    check_cells(ours, theirs)
    scores = np.array([ours.cv_results_[f"split{split}_test_score"] for split in (0, 1)])
    assert np.isnan(scores).tolist() == [[False, False, True, True], [False] * 4]
    assert ours.best_params_["nu"] in (0.2, 0.4)
    assert ours.work_report_.trained == 6


def test_an_infeasible_nu_is_raised_if_asked_to() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        GridSearchCV(NuSVC(), {"nu": [0.2, 0.95]}, cv=3, error_score="raise").fit(X, y)


def test_classes_whose_hulls_meet_are_told_of() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match="is too small for classes 0 and 1"):
        GridSearchCV(NuSVC(kernel="linear"), {"nu": [0.01]}, cv=2, refit=False).fit(X, y)


# Regression.


@pytest.mark.parametrize("name", ["friedman", "diabetes"])
def test_regressors_alone(name: str) -> None:
    X, y = data(name)
    ours, _ = search_alone(NuSVR(tol=1e-6), TUBES, X, y, return_train_score=True)
    assert ours.work_report_.trained == 27


def test_regressors_of_scikit_learn() -> None:
    X, y = data("friedman")
    # With a small C no variable is between its bounds, and the constant of the function may be one of many.
    both(NuSVR(tol=1e-6), svm.NuSVR(tol=1e-6), {**TUBES, "C": [10.0, 100.0]}, X, y)


@pytest.mark.parametrize("grid", [{"nu": [0.1, 0.3, 0.8]}, {"C": [0.1, 10.0, 1000.0]}], ids=str)
def test_one_parameter_is_enough_for_a_chain(grid: Any) -> None:
    X, y = data("friedman")
    ours, _ = search_alone(NuSVR(tol=1e-6, gamma=0.05), grid, X, y)
    starts = GridSearchCV(NuSVR(tol=1e-6, gamma=0.05), [{k: [v]} for k, own in grid.items() for v in own], cv=3)
    assert ours.work_report_.iterations <= starts.fit(X, y).work_report_.iterations


def test_tubes_are_known_to_scorers() -> None:
    X, y = data("friedman")

    def width(estimator: Any, X: Any, y: Any) -> float:
        return float(estimator.epsilon_)

    search_alone(NuSVR(tol=1e-7), TUBES, X, y, scoring=width)


def test_weights_and_shuffled_splits_of_regressors() -> None:
    X, y = data("friedman")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(X))
    weights[::7] = 0.0
    cv = ShuffleSplit(3, train_size=0.5, test_size=0.3, random_state=0)
    search_alone(NuSVR(tol=1e-7), TUBES, X, y, fit={"sample_weight": weights}, cv=cv)


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed"])
def test_kernels_of_regressors(kernel: str) -> None:
    X, y = data("friedman")
    machine = NuSVR(tol=1e-6, kernel=kernel, gamma=0.05, coef0=1.0)
    X = rbf_kernel(X, gamma=0.05) if kernel == "precomputed" else X
    search_alone(machine, {"C": [0.1, 1.0], "nu": [0.3, 0.6]}, X, y)


def test_little_memory_changes_no_score_of_a_regressor() -> None:
    X, y = data("friedman")
    whole, rows = (GridSearchCV(NuSVR(tol=1e-6), TUBES, cv=3, max_memory=m).fit(X, y) for m in ("auto", 1e-3))
    check_cells(rows, whole)


def test_nothing_is_announced() -> None:
    X, y = data("two")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GridSearchCV(NuSVC(), {"nu": [0.2]}, cv=3).fit(X, y)
        GridSearchCV(NuSVR(), {"nu": [0.2]}, cv=3).fit(X, y)

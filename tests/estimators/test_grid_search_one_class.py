"""A search over one-class machines: no labels, chains along nu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from searches import check_cells, data
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as PeerOneClassSVM

from widemargin import GridSearchCV, OneClassSVM

GRID = {"nu": [0.05, 0.1, 0.2, 0.4, 0.8], "gamma": [0.02, 0.2]}


def rejection(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.predict(X) < 0))


def depth(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.decision_function(X)))


def similarity(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.score_samples(X)))


def both(machines: tuple[Any, Any], X: Any, grid: Any = None, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    how = {"cv": 3, "scoring": rejection, **how}
    ours, theirs = (
        search(machine, GRID if grid is None else grid, **how).fit(X, **(fit or {}))
        for search, machine in zip((GridSearchCV, PlainGridSearchCV), machines, strict=True)
    )
    check_cells(ours, theirs)
    return ours, theirs


@pytest.mark.parametrize("scoring", [rejection, depth, similarity])
def test_the_same_numbers(scoring: Any) -> None:
    X, _ = data("two")
    machine = OneClassSVM(tol=1e-6)
    ours, _ = both((machine, machine), X, scoring=scoring)
    assert ours.work_report_.machines == 30


@pytest.mark.xfail(
    strict=True,
    reason="chains end at the tolerance, where rows on the border lie on either side of it; a fit of few rows goes on",
)
def test_training_rows_on_the_border_are_accepted() -> None:
    X, _ = data("two")
    machine = OneClassSVM(tol=1e-6)
    ours, _ = both((machine, machine), X, return_train_score=True)
    shares = [params["nu"] for params in ours.cv_results_["params"]]
    assert (ours.cv_results_["mean_train_score"] <= shares).all()


def test_the_numbers_of_scikit_learn() -> None:
    X, _ = data("two")
    both((OneClassSVM(tol=1e-6), PeerOneClassSVM(tol=1e-6)), X)


def test_shuffled_splits_and_widths_of_the_data() -> None:
    X, _ = data("iris")
    machine = OneClassSVM(tol=1e-6)
    grid = {"nu": [0.5, 0.1, 0.3], "gamma": ["scale", "auto", 0.5]}
    both((machine, machine), X, grid, scoring=depth, cv=ShuffleSplit(3, train_size=0.5, test_size=0.3, random_state=0))


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_kernels(kernel: str) -> None:
    X, _ = data("wine")
    machine = OneClassSVM(tol=1e-6, kernel=kernel, gamma=0.05, coef0=1.0 if kernel == "poly" else 0.0)
    both((machine, machine), 0.1 * np.abs(X) + 0.5, {"nu": [0.1, 0.3, 0.6]}, scoring=depth)


def test_a_pipeline() -> None:
    X, _ = data("iris")
    machine = Pipeline([("scale", StandardScaler()), ("one", OneClassSVM(tol=1e-6))])
    both((machine, machine), X, {"one__nu": [0.1, 0.3], "one__gamma": [0.1, 1.0]}, scoring=depth)


def test_weights() -> None:
    X, _ = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(X))
    machine = OneClassSVM(tol=1e-6)

    def weighted(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return float(np.average(estimator.decision_function(X), weights=sample_weight))

    both((machine, machine), X, fit={"sample_weight": weights}, scoring=weighted)


def test_labels_for_the_scorer_only() -> None:
    X, y = data("two")
    labels = np.where(y == 1, 1, -1)
    machine = OneClassSVM(tol=1e-6)
    ours, theirs = (
        search(machine, GRID, cv=3, scoring="accuracy").fit(X, labels) for search in (GridSearchCV, PlainGridSearchCV)
    )
    check_cells(ours, theirs)


def test_little_memory_changes_no_score() -> None:
    X, _ = data("two")
    whole, rows = (
        GridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=depth, memory=m).fit(X) for m in ("auto", 1e-3)
    )
    check_cells(rows, whole)


def test_a_search_without_a_scorer_says_so() -> None:
    X, _ = data("two")
    with pytest.raises(TypeError, match="scor"):
        GridSearchCV(OneClassSVM(), GRID, cv=3).fit(X)

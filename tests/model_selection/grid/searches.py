"""Searches beside those of scikit-learn, compared cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, GridSearchCV

#: Both are trained well beyond the point where an example may change sides.
TOLERANCE = 1e-5

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
SMALL_GRID = {"C": [0.1, 10.0], "gamma": [0.05, 0.5]}


def data(name: str) -> tuple[Any, Any]:
    """Rows and targets by the name of a data set."""
    if name in ("breast_cancer", "wine"):
        X, y = {"breast_cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True)
        return StandardScaler().fit_transform(X), y
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:350] / 16.0, y[:350]
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        return 20.0 * X, (y - y.mean()) / y.std()
    if name == "friedman":
        return make_friedman1(150, 6, noise=0.5, random_state=0)
    if name == "iris":
        return load_iris(return_X_y=True)
    classes = {"two": 2, "three": 3}[name]
    return make_classification(
        120,
        6,
        n_informative=4,
        n_classes=classes,
        weights=[0.6, 0.4] if classes == 2 else [0.45, 0.3, 0.25],
        flip_y=0.1,
        class_sep=0.8,
        random_state=3,
    )


def peer(machine: Any) -> Any:
    """The machine of scikit-learn with the same parameters."""
    if isinstance(machine, SVC):
        names = (
            "C",
            "kernel",
            "degree",
            "gamma",
            "coef0",
            "tol",
            "class_weight",
            "decision_function_shape",
            "break_ties",
        )
        return svm.SVC(**{name: getattr(machine, name) for name in names}, cache_size=500)
    names = ("C", "kernel", "degree", "gamma", "coef0", "tol", "epsilon")
    return svm.SVR(**{name: getattr(machine, name) for name in names}, cache_size=500)


def classifier(**parameters: Any) -> SVC:
    return SVC(**{"tol": TOLERANCE, **parameters})


def regressor(**parameters: Any) -> SVR:
    return SVR(**{"tol": TOLERANCE, **parameters})


def check_cells(ours: Any, theirs: Any) -> None:
    """Raise AssertionError unless all scores agree: 0.002 everywhere, 0.0005 on average, most of them equal."""
    ours, theirs = ours.cv_results_, theirs.cv_results_
    assert list(ours) == list(theirs)
    assert ours["params"] == theirs["params"]
    for key in theirs:
        if not key.endswith(("_score", "time")) and "_test_" not in key and "_train_" not in key:
            continue
        if key.startswith(("mean_", "split")) and "time" not in key:
            difference = np.abs(ours[key] - theirs[key])
            np.testing.assert_array_equal(np.isnan(ours[key]), np.isnan(theirs[key]), err_msg=key)
            difference = difference[~np.isnan(difference)]
            if key.startswith("mean_") and len(difference):
                assert difference.max() <= 0.002, (key, difference)
                assert difference.mean() <= 0.0005, (key, difference)
                assert np.mean(difference <= 1e-3 * 0.5) > 0.5, (key, difference)


def check_best(ours: Any, theirs: Any, metric: str = "score") -> None:
    """Raise AssertionError unless the best of both score alike, and ours is the smoothest of those that tie."""
    means = ours.cv_results_[f"mean_test_{metric}"]
    assert ours.best_score_ == means[ours.best_index_] == np.nanmax(means)
    assert abs(ours.best_score_ - theirs.best_score_) <= 0.002
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.best_params_ in ours.ties_
    tied = np.flatnonzero(means >= means.max() - 1e-12)
    assert ours.ties_ == [ours.cv_results_["params"][k] for k in tied]
    if len(tied) == 1 and np.sum(theirs.cv_results_[f"rank_test_{metric}"] == 1) == 1:
        assert ours.best_params_ == theirs.best_params_


def search_both(machine: Any, grid: Any, X: Any, y: Any, *, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    """Search with both, compare all cells, return both searches."""
    fit = fit or {}
    how = {"cv": 3, **how}
    ours = GridSearchCV(machine, grid, **how).fit(X, y, **fit)
    theirs = PlainGridSearchCV(peer(machine), grid, **how).fit(X, y, **fit)
    check_cells(ours, theirs)
    return ours, theirs


def search_alone(machine: Any, grid: Any, X: Any, y: Any, *, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    """Search with the shared work and without it, over the same machines; compare all cells, return both searches."""
    fit = fit or {}
    how = {"cv": 3, **how}
    ours = GridSearchCV(machine, grid, **how).fit(X, y, **fit)
    theirs = PlainGridSearchCV(machine, grid, **how).fit(X, y, **fit)
    check_cells(ours, theirs)
    return ours, theirs

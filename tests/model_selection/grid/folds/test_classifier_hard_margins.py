"""Searches whose grids reach C=inf, and searches over machines without an intercept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from searches import check_cells, classifier, data, regressor, search_alone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV

from widemargin import SVC, SVR, GridSearchCV

PRICES = {"C": [0.1, 1.0, 10.0, np.inf], "gamma": [0.5, 2.0]}


def depth(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.decision_function(X)))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["two", "three"])
def test_hard_margins_of_classifiers(name: str, loss: str) -> None:
    X, y = data(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search_alone(classifier(loss=loss), PRICES, X, y, return_train_score=True)
    search_alone(classifier(loss=loss), PRICES, X, y, scoring=depth)


def test_hard_margins_that_are_known_are_not_sought_again() -> None:
    X, y = data("two")
    # No coefficient reaches 1e4, so that all larger prices, infinity too, give the same machine.
    search = GridSearchCV(classifier(gamma=1.0), {"C": [1e4, 1e5, np.inf]}, cv=3).fit(X, y)
    assert (search.work_report_.trained, search.work_report_.skipped) == (3, 6)


@pytest.mark.parametrize("grid", [{"C": [np.inf]}, {"C": [np.inf, 1.0]}, {"C": [1e12, np.inf]}], ids=str)
def test_hard_margins_first_alone_and_after_large_prices(grid: Any) -> None:
    X, y = data("two")
    search_alone(classifier(gamma=1.0), grid, X, y)


@pytest.mark.filterwarnings("ignore:.* models of the search ended")
def test_margins_that_are_not_there_are_told_of() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    machine = SVC(kernel="linear", max_iter=20_000)
    with pytest.warns(ConvergenceWarning, match="C=inf asks for a hard margin, but none was found for classes 0 and 1"):
        search = GridSearchCV(machine, {"C": [1.0, np.inf]}, cv=2, refit=False).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_tubes_that_hold_all_targets(loss: str) -> None:
    X, y = data("friedman")
    grid = {"C": [1.0, 100.0, np.inf], "gamma": [0.5], "epsilon": [0.5, 5.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search_alone(regressor(loss=loss), grid, X, y, return_train_score=True)


@pytest.mark.filterwarnings("ignore:.* models of the search ended")
def test_tubes_that_are_not_there_are_told_of() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    machine = SVR(kernel="linear", max_iter=20_000, epsilon=0.01)
    with pytest.warns(ConvergenceWarning, match="no function within epsilon=0.01"):
        GridSearchCV(machine, {"C": [1.0, np.inf]}, cv=2, refit=False).fit(X, y)


@pytest.mark.parametrize("memory", ["auto", 1e-3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["two", "three"])
def test_classifiers_without_an_intercept(name: str, loss: str, memory: Any) -> None:
    X, y = data(name)
    machine = classifier(loss=loss, fit_intercept=False)
    how = {"cv": 3, "return_train_score": True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = GridSearchCV(machine, PRICES, max_memory=memory, **how).fit(X, y)
    check_cells(ours, PlainGridSearchCV(machine, PRICES, **how).fit(X, y))
    assert (ours.best_estimator_.intercept_ == 0.0).all()


def test_both_kinds_in_one_grid() -> None:
    X, y = data("two")
    search_alone(classifier(), {"C": [0.1, 10.0], "gamma": [0.2], "fit_intercept": [True, False]}, X, y, scoring=depth)


def test_weights_and_kernels_without_an_intercept() -> None:
    X, y = data("three")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(X))
    machine = classifier(kernel="precomputed", fit_intercept=False, class_weight="balanced")
    search_alone(machine, {"C": [0.1, 1.0, 10.0]}, rbf_kernel(X, gamma=0.3), y, fit={"sample_weight": weights})

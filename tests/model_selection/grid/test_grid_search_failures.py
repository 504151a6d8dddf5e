"""Searches that fail, in part or as a whole, and what a machine alone would warn of: always with a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from searches import SMALL_GRID, check_cells, classifier, data, peer
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import KFold

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.grid_search import PlainSearchWarning

BAD_GRID = {"C": [1.0, -1.0, 10.0], "gamma": [0.05, 0.5]}


@pytest.mark.parametrize("error_score", [np.nan, 0.0, -1])
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_parameters_that_are_not_accepted(error_score: float) -> None:
    X, y = data("two")
    ours, theirs = (
        GridSearchCV(classifier(), BAD_GRID, cv=3, error_score=error_score),
        PlainGridSearchCV(peer(classifier()), BAD_GRID, cv=3, error_score=error_score),
    )
    with pytest.warns(FitFailedWarning, match=r"6 fits failed out of a total of 18[\s\S]*C must be"):
        ours.fit(X, y)
    with pytest.warns(FitFailedWarning, match="6 fits failed out of a total of 18"):
        theirs.fit(X, y)
    check_cells(ours, theirs)
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.best_params_["C"] > 0


@pytest.mark.parametrize("plan", ["heuristic", "cold"])
def test_texts_of_numpy_arrays_are_texts(plan: str) -> None:
    X, y = data("two")
    grid = {"kernel": ["rbf", "poly"], "loss": ["hinge", "squared_hinge"], "gamma": ["scale", "auto"]}
    of_arrays = {name: np.array(values) for name, values in grid.items()}
    lists = GridSearchCV(classifier(), grid, cv=2, plan=plan).fit(X, y)
    arrays = GridSearchCV(classifier(), of_arrays, cv=2, plan=np.str_(plan)).fit(X, y)
    assert np.array_equal(arrays.cv_results_["mean_test_score"], lists.cv_results_["mean_test_score"])
    assert arrays.best_params_ == lists.best_params_


def test_failures_are_raised_if_asked_to() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match=r"^C must be a number above 0; got -1\.0\.$"):
        GridSearchCV(classifier(), BAD_GRID, cv=3, error_score="raise").fit(X, y)


def test_failures_of_a_split_are_raised_if_asked_to() -> None:
    X, y = data("two")
    order = np.argsort(y)
    with pytest.raises(ValueError, match="two classes"):
        GridSearchCV(classifier(), SMALL_GRID, cv=KFold(2), error_score="raise").fit(X[order], y[order])


def test_a_split_with_one_class_never_ranks_best() -> None:
    X, y = data("two")
    # The first part of the rows is all of one class, so that a split that trains on it fails.
    splits = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1)), (np.arange(0, 120, 2), np.arange(1, 120, 2))]
    ours, theirs = (
        search(machine, SMALL_GRID, cv=splits, refit=False)
        for search, machine in ((GridSearchCV, classifier()), (PlainGridSearchCV, peer(classifier())))
    )
    with pytest.raises(ValueError, match=r"at least two classes; that of fold 0 of cv holds 0 only"):
        ours.fit(X, y)
    for search in (ours.set_params(error_score=0.0), theirs.set_params(error_score=0.0)):
        with pytest.warns(FitFailedWarning, match="4 fits failed out of a total of 8"):
            search.fit(X, y)
    check_cells(ours, theirs)


def test_all_failed() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match=r"All the 6 fits failed[\s\S]*gamma must be"):
        GridSearchCV(classifier(), {"gamma": ["wide", -2.0]}, cv=3).fit(X, y)


@pytest.mark.parametrize("grid", [{"prize": [1.0]}, [{"C": [1.0]}, {"prize": [1.0]}]])
def test_parameters_that_do_not_exist(grid: Any) -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="prize"):
        PlainGridSearchCV(classifier(), grid, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="prize"):
        GridSearchCV(classifier(), grid, cv=3).fit(X, y)


@pytest.mark.parametrize(
    "wrong",
    [
        {"error_score": "rise"},
        {"cv": 1},
        {"scoring": "nonsense"},
        {"n_jobs": 0},
        {"max_time": 0},
        {"max_time": -3.0},
        {"max_time": "long"},
        {"max_memory": 0},
        {"max_memory": "much"},
        {"return_train_score": "perhaps"},
        {"verbose": "very"},
        {"pre_dispatch": [3]},
        {"param_grid": {"C": 1.0}},
        {"param_grid": {"C": []}},
    ],
    ids=str,
)
def test_wrong_arguments_of_the_search(wrong: dict[str, Any]) -> None:
    X, y = data("two")
    arguments = {"param_grid": SMALL_GRID, "cv": 3, **wrong}
    name = next(iter(wrong))
    with pytest.raises((ValueError, TypeError)) as refused:
        GridSearchCV(classifier(), **arguments).fit(X, y)
    assert "fits failed" not in str(refused.value)
    assert name in str(refused.value) or name in ("cv", "param_grid")


def test_targets_that_are_no_classes() -> None:
    X, y = data("friedman")
    X, y = X[:50], y[:50]
    with pytest.raises(ValueError, match="continuous"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y)


def test_rows_that_are_not_finite() -> None:
    X, y = data("two")
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="column 1"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y)


def test_targets_that_are_missing() -> None:
    X, _ = data("two")
    with pytest.raises(ValueError, match=r"requires y|should not be None|y cannot be None|argument: 'y'"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X)


def test_targets_of_another_length() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y[:-1])


def test_weights_that_make_no_sense() -> None:
    X, y = data("two")
    for weights in (np.full(120, np.nan), -np.ones(120), np.zeros(120)):
        with pytest.raises(ValueError, match="sample_weight"):
            GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("what", ["not square", "not symmetric"])
def test_precomputed_kernels_that_are_none(what: str) -> None:
    X, y = data("two")
    K = rbf_kernel(X, gamma=0.1)
    K = K[:, :-1] if what == "not square" else K + np.triu(np.full(K.shape, 0.1))
    machine = classifier(kernel="precomputed", max_iter=10_000)
    with pytest.raises(ValueError, match=r"square|symmetric|should be equal"):
        GridSearchCV(machine, {"C": [1.0]}, cv=3, refit=False).fit(K, y)


def test_callable_kernels_that_are_none() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="symmetric"):
        GridSearchCV(classifier(kernel=lambda a, b: a @ b.T + a[:, :1]), {"C": [1.0]}, cv=3, refit=False).fit(X, y)


def test_kernels_that_leave_the_range_of_the_arithmetic() -> None:
    X, y = data("two")
    grid = {"kernel": ["poly"], "degree": [3, 40], "gamma": [10.0]}
    with pytest.raises(ValueError, match="too large"):
        GridSearchCV(classifier(), {**grid, "degree": [40]}, cv=3, error_score="raise", refit=False).fit(X, y)


def failing(estimator: Any, X: Any, y: Any) -> float:
    raise RuntimeError("this scorer never works")


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_scorers_that_fail() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3, scoring=failing, refit=False)
    with (
        pytest.warns(UserWarning, match="this scorer never works"),
        pytest.raises(ValueError, match=r"No candidate has a score on every fold \(on fold 0, 1, 2 all are NaN\)"),
    ):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(RuntimeError, match="never works"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, scoring=failing, error_score="raise").fit(X, y)


def test_an_iteration_budget_is_told() -> None:
    X, y = data("two")
    with pytest.warns(ConvergenceWarning):
        GridSearchCV(classifier(max_iter=3), {"C": [10.0, 100.0]}, cv=3, refit=False).fit(X, y)


def test_a_time_budget_of_the_machine_holds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, size=400)
    machine = SVC(tol=1e-9, gamma=0.05, max_time=0.01)
    with pytest.warns(ConvergenceWarning):
        machine.set_params(C=1e6).fit(X, y)
    with pytest.warns(ConvergenceWarning), pytest.warns(PlainSearchWarning, match="max_time"):
        GridSearchCV(machine, {"C": [1e6]}, cv=2, refit=False).fit(X, y)


def test_one_column_that_drowns_all_others_is_told() -> None:
    X, y = data("two")
    with pytest.warns(UserWarning, match="Column 0"):
        GridSearchCV(classifier(gamma=1e-6), {"C": [1.0]}, cv=3, refit=False).fit(X * [1e4, 1, 1, 1, 1, 1], y)


def test_it_is_told_once_whatever_the_threads() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), {"C": [1.0], "gamma": [1e-7, 1e-6]}, cv=3, refit=False, n_jobs=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        search.fit(X * [1e4, 1, 1, 1, 1, 1], y)
        assert list(warnings.filters) == filters
    assert len([one for one in told if "Column 0" in str(one.message)]) == 1

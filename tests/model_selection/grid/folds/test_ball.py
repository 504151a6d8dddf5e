"""Searches over SVDD: chains along nu, along C, along rejection targets; no labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from searches import check_cells, data
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVDD, GridSearchCV, LeaveOneOutScore, OneClassSVM, RejectionScore

GRID = {"nu": [0.05, 0.1, 0.2, 0.4, 0.8], "gamma": [0.02, 0.2]}
PRICES = {"C": [0.02, 0.05, 0.2, np.inf], "gamma": [0.02, 0.2]}


def depth(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    return float(np.average(estimator.decision_function(X), weights=sample_weight))


def distance(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.score_samples(X)))


def attributes(estimator: Any, X: Any, y: Any = None) -> float:
    norms = estimator.radius_ + estimator.center_squared_norm_ + estimator.spread_ + estimator.center_coef_.sum()
    return float(norms + estimator.offset_ + estimator.intercept_[0])


def alone(machine: Any, X: Any, grid: Any = None, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    """Search with the shared work and without it."""
    how = {"cv": 3, "scoring": depth, **how}
    grid = GRID if grid is None else grid
    ours = GridSearchCV(machine, grid, **how).fit(X, **(fit or {}))
    check_cells(ours, PlainGridSearchCV(machine, grid, **how).fit(X, **(fit or {})))
    return ours


@pytest.mark.parametrize(
    "scoring", [depth, distance, attributes, RejectionScore(0.1)], ids=["depth", "distance", "attributes", "rejection"]
)
@pytest.mark.parametrize("grid", [GRID, PRICES], ids=["nu", "C"])
def test_the_same_numbers(grid: Any, scoring: Any) -> None:
    X, _ = data("two")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = alone(SVDD(tol=1e-6), X, grid, scoring=scoring)
    assert found.work_report_.fits == 3 * len(found.cv_results_["params"])


def test_balls_with_an_infinite_price_may_be_known() -> None:
    X, _ = data("two")
    found = alone(SVDD(tol=1e-6, gamma=0.02), X, {"C": [0.1, 1.0, 10.0, np.inf]})
    assert found.work_report_.skipped >= 6


def test_both_scores_without_labels() -> None:
    X, _ = data("two")
    how = {"scoring": {"rejection": RejectionScore(), "leave_one_out": LeaveOneOutScore()}, "refit": "rejection"}
    alone(SVDD(tol=1e-8), X, **how)
    found = GridSearchCV(SVDD(tol=1e-8), GRID, cv=3).fit(X)
    # For kernels of constant k(x, x) a ball rejects what a one-class machine of the same nu rejects.
    check_cells(found, GridSearchCV(OneClassSVM(tol=1e-8), GRID, cv=3).fit(X))


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed", "callable", "far away"])
def test_kernels(kernel: str) -> None:
    X, _ = data("wine")
    machine = SVDD(tol=1e-6, kernel=kernel, gamma=0.05, coef0=1.0)
    if kernel == "precomputed":
        X = rbf_kernel(X, gamma=0.05)
    elif kernel == "callable":
        machine.set_params(kernel=polynomial_kernel)
        X = X[::4]
    elif kernel == "far away":
        machine.set_params(kernel="linear")
        X = X + 1e6
    alone(machine, X, {"nu": [0.1, 0.3, 0.6]})
    alone(machine, X, {"nu": [0.1, 0.3, 0.6]}, scoring=RejectionScore())


def test_thin_balls() -> None:
    X, _ = data("wine")
    alone(SVDD(tol=1e-4), X, {"nu": [0.1, 0.3], "gamma": [1e-7, 1e-5]}, scoring=RejectionScore())


@pytest.mark.parametrize("grid", [{"nu": [0.1, 0.5]}, {"C": [0.05, np.inf]}, {"target_rejection": [0.1]}], ids=str)
def test_weights_and_shuffled_splits(grid: Any) -> None:
    X, _ = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-0.5, 0.5, size=len(X))
    weights[::9] = 0.0
    cv = ShuffleSplit(3, train_size=0.5, test_size=0.3, random_state=0)
    alone(SVDD(tol=1e-6, gamma=0.1), X, grid, {"sample_weight": weights}, cv=cv)


@pytest.mark.parametrize("scoring", [depth, RejectionScore()], ids=["depth", "rejection"])
def test_targets(scoring: Any) -> None:
    X, _ = data("breast_cancer")
    grid = {"target_rejection": [0.05, 0.2], "gamma": [0.005, 0.05]}
    alone(SVDD(tol=1e-6), X, grid, scoring=scoring)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_pipeline(kernel: str) -> None:
    X, _ = data("iris")
    machine = Pipeline([("scale", StandardScaler()), ("ball", SVDD(tol=1e-6, kernel=kernel))])
    alone(machine, X, {"ball__nu": [0.1, 0.3]})
    alone(machine, X, {"ball__nu": [0.1, 0.3]}, scoring=RejectionScore())


def test_little_memory_changes_no_score() -> None:
    X, _ = data("two")
    whole, rows = (GridSearchCV(SVDD(tol=1e-6), GRID, cv=3, max_memory=m).fit(X) for m in ("auto", 1e-3))
    check_cells(rows, whole)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_price_that_is_infeasible_on_some_splits_fails_alone() -> None:
    X, _ = data("two")
    # The coefficients of a centre could not sum to 1: C must be 1 / 40 at least, 1 / 80 in the second split.
    splits = [(np.arange(40), np.arange(80, 120)), (np.arange(80), np.arange(80, 120))]
    ours, theirs = (
        search(SVDD(tol=1e-6, gamma=0.1), {"C": [0.01, 0.02, 0.1]}, cv=splits, scoring=depth, refit=False)
        for search in (GridSearchCV, PlainGridSearchCV)
    )
    for search in (ours, theirs):
        with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 6"):
            search.fit(X)
    check_cells(ours, theirs)
    assert ours.best_params_ == {"C": 0.1}


def test_a_start_from_the_last_ball_changes_no_ball() -> None:
    X, _ = data("two")

    def objective(estimator: Any, X: Any, y: Any = None) -> float:
        return float(estimator.fit_report_[0].objective)

    together = GridSearchCV(SVDD(tol=1e-8), GRID, cv=3, scoring=objective, refit=False).fit(X).cv_results_
    for params, score in zip(together["params"], together["mean_test_score"], strict=True):
        cold = GridSearchCV(SVDD(tol=1e-8), {k: [v] for k, v in params.items()}, cv=3, scoring=objective, refit=False)
        assert score == pytest.approx(cold.fit(X).cv_results_["mean_test_score"][0], rel=1e-6)

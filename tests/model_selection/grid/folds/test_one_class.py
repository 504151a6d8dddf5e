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

from widemargin import GridSearchCV, LeaveOneOutScore, OneClassSVM, RegionScore, RejectionScore

GRID = {"nu": [0.05, 0.1, 0.2, 0.4, 0.8], "gamma": [0.02, 0.2]}


def rejection(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.predict(X) < 0))


def depth(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.decision_function(X)))


def similarity(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.score_samples(X)))


def objective(estimator: Any, X: Any, y: Any = None) -> float:
    return float(estimator.fit_report_[0].objective)


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
    assert ours.work_report_.fits == 30


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
        GridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=depth, max_memory=m).fit(X) for m in ("auto", 1e-3)
    )
    check_cells(rows, whole)


def test_without_labels_and_scorer_the_region_decides() -> None:
    X, _ = data("two")
    named, found = (
        GridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=how).fit(X) for how in (RegionScore(), None)
    )
    check_cells(found, named)
    check_cells(found, PlainGridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=RegionScore()).fit(X))
    assert found.best_score_ == pytest.approx(found.cv_results_["mean_test_score"].max())
    assert isinstance(found.scorer_, RegionScore)
    assert found.score(X) == RegionScore()(found.best_estimator_, X)


def test_shares_that_are_rejected_are_those_of_predictions() -> None:
    X, _ = data("two")
    found = GridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=RejectionScore()).fit(X)
    check_cells(found, PlainGridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=RejectionScore()).fit(X))
    shares = np.array([params["nu"] for params in found.cv_results_["params"]])
    rejected = GridSearchCV(OneClassSVM(tol=1e-6), GRID, cv=3, scoring=rejection).fit(X).cv_results_
    splits = np.array([-np.abs(rejected[f"split{split}_test_score"] - shares) for split in range(3)])
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], splits.mean(axis=0), atol=1e-12)


def test_labels_without_a_scorer_are_refused() -> None:
    X, y = data("two")
    with pytest.raises(TypeError, match="scoring=None makes no use of y: OneClassSVM has no score"):
        GridSearchCV(OneClassSVM(), GRID, cv=3).fit(X, y)


def test_both_scores_at_once() -> None:
    X, _ = data("two")
    how = {
        "scoring": {"rejection": RejectionScore(), "leave_one_out": LeaveOneOutScore()},
        "refit": "rejection",
        "return_train_score": False,
    }
    ours, _ = both((OneClassSVM(tol=1e-9), PeerOneClassSVM(tol=1e-9)), X, **how)
    shares = np.array([params["nu"] for params in ours.cv_results_["params"]])
    # The share of support vectors is nu at least.
    assert (ours.cv_results_["mean_test_leave_one_out"] <= -shares + 1e-12).all()
    assert ours.best_score_ == pytest.approx(ours.cv_results_["mean_test_rejection"].max())
    assert set(ours.scorer_) == {"rejection", "leave_one_out"}


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.filterwarnings("ignore:Scoring failed")
def test_cells_that_cannot_be_scored_are_never_best() -> None:
    X, _ = data("two")
    grid = [{"nu": [0.1, 0.3]}, {"target_rejection": [0.1]}]
    search = GridSearchCV(OneClassSVM(), grid, cv=3, scoring=LeaveOneOutScore()).fit(X)
    scores, ranks = search.cv_results_["mean_test_score"], search.cv_results_["rank_test_score"]
    assert np.isnan(scores).tolist() == [False, False, True]
    assert ranks[2] == 3
    assert search.best_params_ == {"nu": 0.1}


def test_repeated_training_rows_count_twice() -> None:
    X, _ = data("two")
    rows = np.random.default_rng(0).integers(0, 100, size=90)
    machine = OneClassSVM(tol=1e-6)
    both((machine, machine), X, cv=[(rows, np.arange(100, 120))], scoring=depth)


def test_a_start_from_the_last_machine_changes_no_machine() -> None:
    X, _ = data("two")
    together = GridSearchCV(OneClassSVM(tol=1e-8), GRID, cv=3, scoring=objective).fit(X).cv_results_
    for params, score in zip(together["params"], together["mean_test_score"], strict=True):
        alone = GridSearchCV(OneClassSVM(tol=1e-8), {k: [v] for k, v in params.items()}, cv=3, scoring=objective)
        assert score == pytest.approx(alone.fit(X).best_score_, rel=1e-7)


def test_chains_spare_steps() -> None:
    X, _ = data("breast_cancer")
    shares = np.geomspace(0.02, 0.5, 8)
    together = GridSearchCV(OneClassSVM(gamma=0.03), {"nu": shares}, cv=3, refit=False).fit(X).work_report_
    alone = [GridSearchCV(OneClassSVM(gamma=0.03), {"nu": [nu]}, cv=3, refit=False).fit(X) for nu in shares]
    assert together.iterations < 0.7 * sum(one.work_report_.iterations for one in alone)

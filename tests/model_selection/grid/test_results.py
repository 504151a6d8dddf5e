"""Results of searches that were not finished: no score, the last rank, and one sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from searches import data
from sklearn.exceptions import FitFailedWarning

from widemargin import SVC, GridSearchCV, UnfinishedSearchWarning
from widemargin.model_selection.grid.results import leave_blank

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(500, 3)), RNG.integers(0, 2, size=500)

#: Machines that are trained at once, and one that takes minutes.
MACHINE = SVC(tol=1e-8, gamma=0.05)
PRICES = [1e-3, 1e-2, 1e9]


def ended_early(grid: Any = None, **how: Any) -> Any:
    how = {"cv": 3, "max_time": 1.0, "refit": False, **how}
    return GridSearchCV(MACHINE, {"C": PRICES} if grid is None else grid, **how).fit(X, Y)


def test_one_sentence_tells_of_what_was_not_finished() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ended_early()
    assert [one.category for one in told] == [UnfinishedSearchWarning]
    assert told[0].filename == __file__
    assert str(told[0].message) == (
        "The search has ended early (time is up): 1 of 3 candidates were not finished on every fold, have no score "
        "and were not considered."
    )


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("scoring", [None, ["accuracy", "roc_auc"]], ids=["one score", "two"])
def test_unfinished_candidates_have_no_means_and_the_last_rank(scoring: Any) -> None:
    how = {"scoring": scoring, "return_train_score": True}
    results = ended_early(**how).cv_results_
    complete = ended_early({"C": PRICES[:2]}, **how).cv_results_
    for name in ("score",) if scoring is None else scoring:
        for kind in ("test", "train"):
            for head in ("split0", "split2", "mean", "std"):
                key = f"{head}_{kind}_{name}"
                np.testing.assert_array_equal(results[key], [*complete[key], np.nan], err_msg=key)
        assert results[f"rank_test_{name}"].tolist() == [*complete[f"rank_test_{name}"], 3]
        assert results[f"rank_test_{name}"].dtype == np.int32


def test_splits_that_are_finished_keep_their_scores() -> None:
    results = {
        "split0_test_a_b": np.array([0.1, 0.2, 0.3]),
        "split1_test_a_b": np.array([0.1, 0.0, 0.0]),
        "mean_test_a_b": np.array([0.1, 0.1, 0.15]),
        "std_test_a_b": np.zeros(3),
        "mean_fit_time": np.ones(3),
    }
    missing = np.array([[False, False], [False, True], [True, True]])
    blank = leave_blank(results, missing)
    np.testing.assert_array_equal(blank["split0_test_a_b"], [0.1, 0.2, np.nan])
    np.testing.assert_array_equal(blank["split1_test_a_b"], [0.1, np.nan, np.nan])
    np.testing.assert_array_equal(blank["mean_test_a_b"], [0.1, np.nan, np.nan])
    np.testing.assert_array_equal(blank["std_test_a_b"], [0.0, np.nan, np.nan])
    np.testing.assert_array_equal(blank["mean_fit_time"], [1.0, 1.0, 1.0])
    assert blank["rank_test_a_b"].tolist() == [1, 2, 2]


def test_scores_that_are_no_numbers_are_told_of_by_scikit_learn() -> None:
    def odd(machine: Any, rows: Any, labels: Any) -> float:
        return float("nan") if PRICES[1] == machine.C else 0.5

    with (
        pytest.warns(UnfinishedSearchWarning, match="1 of 3 candidates"),
        pytest.warns(UserWarning, match=r"non-finite: \[0\.5 nan nan\]"),
    ):
        search = ended_early(scoring=odd)
    assert search.best_index_ == 0
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2, 2]


def test_failures_are_told_of_as_ever() -> None:
    with (
        pytest.warns(UnfinishedSearchWarning, match="1 of 4 candidates"),
        pytest.warns(FitFailedWarning, match="3 fits failed"),
    ):
        search = ended_early({"C": [-1.0, *PRICES]}, error_score=0.25)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"][[0, 3]], [0.25, np.nan])


def test_nothing_is_said_of_a_search_that_is_finished() -> None:
    GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3, max_time=100.0).fit(*data("two"))


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_edges_are_those_of_what_was_finished() -> None:
    grid = {"C": PRICES, "class_weight": [None]}
    search = ended_early(grid, scoring=lambda machine, rows, labels: float(machine.C))
    assert search.best_params_["C"] == PRICES[1]
    assert search.edges_ == {"C": "largest"}

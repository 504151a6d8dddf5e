"""What a search says of itself: work that was counted, ties and edges of every search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import GRID, SMALL_GRID, classifier, data, regressor
from sklearn import svm
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.kernels.shared import KEPT
from widemargin.model_selection.grid.grid_search import PlainSearchWarning
from widemargin.model_selection.grid.results import measure_cold

N = 120  # rows of data("two")


def rows_of(n_splits: int) -> list[tuple[int, int]]:
    return [(N - N // n_splits, N // n_splits)] * n_splits


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_kernel_matrix_is_computed_once_for_each_width(n_jobs: int) -> None:
    X, y = data("two")
    # A thread that falls behind by more widths than matrices are kept has its own computed again.
    grid = {**GRID, "gamma": GRID["gamma"] if n_jobs == 1 else GRID["gamma"][:KEPT]}
    report = GridSearchCV(classifier(), grid, cv=3, n_jobs=n_jobs).fit(X, y).work_report_
    assert report.kernel_evaluations == len(grid["gamma"]) * N**2
    assert report.cold_kernel_evaluations == 4 * len(grid["gamma"]) * sum(a * (a + b) for a, b in rows_of(3))


def test_a_pipeline_has_a_matrix_for_each_split_and_width() -> None:
    X, y = data("two")
    grid = {f"svc__{name}": values for name, values in GRID.items()}
    report = GridSearchCV(make_pipeline(StandardScaler(), classifier()), grid, cv=3).fit(X, y).work_report_
    assert report.kernel_evaluations == 3 * len(GRID["gamma"]) * N**2


def test_kernels_without_parameters_and_matrices_of_the_user() -> None:
    X, y = data("two")
    once = GridSearchCV(classifier(kernel="linear"), {"C": [0.1, 1.0]}, cv=3).fit(X, y).work_report_
    assert once.kernel_evaluations == N**2
    given = GridSearchCV(classifier(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(X @ X.T, y).work_report_
    assert (given.kernel_evaluations, given.cold_kernel_evaluations) == (0, 0)


def test_rows_that_do_not_fit_are_counted_as_they_are_computed() -> None:
    X, y = data("two")
    report = GridSearchCV(classifier(), SMALL_GRID, cv=3, max_memory=0.01).fit(X, y).work_report_
    assert report.kernel_evaluations > len(SMALL_GRID["gamma"]) * N**2


def test_what_a_journal_holds_counts(tmp_path: Path) -> None:
    X, y = data("two")
    how: dict[str, Any] = {"cv": 3, "journal": tmp_path / "study.jsonl"}
    first, again = (GridSearchCV(classifier(), SMALL_GRID, **how).fit(X, y).work_report_ for _ in range(2))
    assert first.kernel_evaluations == 2 * N**2
    for name in ("fits", "trained", "skipped", "iterations", "kernel_evaluations", "cold_kernel_evaluations"):
        assert getattr(again, name) == getattr(first, name), name


def test_failed_machines_are_in_no_count() -> None:
    X, y = data("two")
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        report = GridSearchCV(classifier(), {"C": [-1.0, 1.0]}, cv=3).fit(X, y).work_report_
    assert (report.fits, report.trained, report.skipped, report.unfinished) == (6, 3, 0, 0)
    assert report.cold_kernel_evaluations == sum(a * (a + b) for a, b in rows_of(3))


def test_the_report_is_two_lines() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(gamma=0.2), {"C": [1.0, 1e4, 1e5]}, cv=3).fit(np.hstack([X, 9.0 * y[:, None]]), y)
    report = search.work_report_
    assert report.skipped > 0
    first, second = str(report).splitlines()
    assert (
        f"9 fits: {report.trained} trained, {report.skipped} skipped as provably identical; {report.iterations:,}"
        in first
    )
    assert f"{report.kernel_evaluations:,} kernel values computed; {report.cold_kernel_evaluations:,} if" in second


@pytest.mark.parametrize(("machine", "name"), [(classifier(), "three"), (regressor(epsilon=0.1), "friedman")])
def test_cold_work_is_that_of_machines_fitted_alone(machine: Any, name: str) -> None:
    X, y = data(name)
    search = GridSearchCV(machine, SMALL_GRID, cv=3).fit(X, y)
    cold = measure_cold(search, X, y)
    expected = []

    def record(fitted: Any, *_: Any) -> float:
        expected.extend(fitted.fit_report_)
        return 0.0

    PlainGridSearchCV(machine, SMALL_GRID, cv=3, scoring=record, refit=False).fit(X, y)
    assert cold.trained == 12
    assert cold.iterations == sum(one.iterations for one in expected)
    assert cold.kernel_evaluations == sum(one.kernel_evaluations for one in expected)
    assert cold.kernel_evaluations > search.work_report_.kernel_evaluations
    assert measure_cold(search, X, y, n_fits=5).trained == 5
    weighted = measure_cold(search, X, y, sample_weight=np.arange(len(y)) % 3)
    assert weighted.kernel_evaluations < cold.kernel_evaluations  # a third of the rows is not there


@pytest.mark.parametrize("machine", [svm.SVC(), SVC(solver="smo")], ids=str)
def test_a_plain_search_chooses_the_smoothest_of_equals(machine: Any) -> None:
    X, y = data("two")
    X = np.hstack([X, 9.0 * y[:, None]])
    grid = {"C": [1000.0, 100.0, 10.0, 1e-3], "gamma": [0.02, 0.01]}
    alone = PlainGridSearchCV(machine, grid, cv=3).fit(X, y)
    with pytest.warns(PlainSearchWarning):
        search = GridSearchCV(machine, grid, cv=3).fit(X, y)
    assert alone.best_params_ == {"C": 1000.0, "gamma": 0.02}
    assert search.best_params_ == {"C": 10.0, "gamma": 0.01}
    assert search.cv_results_["params"][search.best_index_] == search.best_params_
    assert search.best_score_ == alone.best_score_
    assert search.best_estimator_.get_params()["C"] == 10.0
    assert search.ties_ == [params for params in search.cv_results_["params"] if params["C"] > 1]
    assert search.edges_ == {"gamma": "smallest"}


def test_a_plain_search_reports_what_is_known() -> None:
    X, y = data("two")
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, -1.0]}, cv=3)
    with (
        pytest.warns(PlainSearchWarning),
        pytest.warns(FitFailedWarning),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search.fit(X, y)
    report = search.work_report_
    assert (report.fits, report.trained, report.failed, report.skipped, report.unfinished) == (6, 3, 3, 0, 0)
    assert not report.counted
    assert report.seconds > 0
    assert str(report).startswith("6 fits: 3 trained, 3 failed, each alone; ")


@pytest.mark.parametrize("plain", [False, True])
def test_several_metrics_and_choices_of_the_user(plain: bool) -> None:
    X, y = data("two")
    machine = classifier(solver="smo" if plain else "auto")

    def search(**how: Any) -> Any:
        made = GridSearchCV(machine, SMALL_GRID, cv=3, **how)
        if plain:
            with pytest.warns(PlainSearchWarning):
                return made.fit(X, y)
        return made.fit(X, y)

    both = search(scoring=["accuracy", "roc_auc"], refit="roc_auc")
    means = both.cv_results_["mean_test_roc_auc"]
    assert both.best_score_ == means[both.best_index_] == means.max()
    assert both.best_params_ in both.ties_
    chosen = search(refit=lambda results: 3)
    assert chosen.best_params_ == {"C": 10.0, "gamma": 0.5}
    assert chosen.edges_ == {"C": "largest", "gamma": "largest"}
    assert not hasattr(chosen, "ties_")
    neither = search(scoring=["accuracy", "roc_auc"], refit=False)
    assert not hasattr(neither, "ties_")
    assert not hasattr(neither, "edges_")
    assert neither.work_report_.trained == 12


def test_nothing_is_left_of_an_earlier_choice() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y)
    assert search.ties_
    search.set_params(scoring=["accuracy", "roc_auc"], refit=False).fit(X, y)
    assert not hasattr(search, "ties_")
    assert not hasattr(search, "edges_")

"""Searches that end early, cannot share work, have little memory or many threads."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from searches import GRID, SMALL_GRID, check_cells, classifier, data, regressor
from sklearn import svm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV

from widemargin import SVC, GridSearchCV, NuSVC
from widemargin.machines.chain import walk_chain_on_rows
from widemargin.model_selection.grid.grid_search import PlainSearchWarning
from widemargin.solvers import Auto

#: Seconds within which a search has to end once its time is over, on a busy machine.
PROMPTLY = 0.7


def scores(search: Any) -> dict[str, np.ndarray]:
    return {k: v for k, v in search.cv_results_.items() if "time" not in k and not k.startswith("param")}


def same_scores(one: Any, other: Any) -> None:
    for key, value in scores(one).items():
        np.testing.assert_array_equal(value, scores(other)[key], err_msg=key)


# The fallback.


@pytest.mark.parametrize(
    ("machine", "grid", "reason"),
    [
        (svm.SVC(), SMALL_GRID, "SVC is not an estimator"),
        (LogisticRegression(), {"C": [0.1, 1.0]}, "LogisticRegression"),
        (NuSVC(solver="block"), {"nu": [0.2, 0.4]}, "solver"),
        (SVC(solver="smo"), SMALL_GRID, "solver"),
        (SVC(solver=Auto(selection="maximum-gain")), SMALL_GRID, "selection"),
        (SVC(), {"solver": ["auto", "block"]}, "solver"),
        (SVC(), [{"C": [1.0]}, {"solver": [Auto(dtype="float64")]}], "float64"),
    ],
    ids=str,
)
def test_searches_that_cannot_share_are_announced(machine: Any, grid: Any, reason: str) -> None:
    X, y = data("two")
    X = np.hstack([X, 3.0 * y[:, None]])
    alone = PlainGridSearchCV(machine, grid, cv=3, return_train_score=True).fit(X, y)
    with pytest.warns(PlainSearchWarning, match=reason) as told:
        search = GridSearchCV(machine, grid, cv=3, return_train_score=True).fit(X, y)
    same_scores(search, alone)
    assert told[0].filename == __file__
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


def test_a_fallback_leaves_no_report_of_other_work() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y)
    with pytest.warns(PlainSearchWarning):
        search.set_params(estimator__solver="smo").fit(X, y)
    report = getattr(search, "work_report_", None)
    assert report is None or (report.fits, report.trained) == (12, 12)


@pytest.mark.parametrize(
    "given", [{"max_time": 0.1}, {"max_memory": 10.0}, {"plan": "learn"}, {"journal": "a", "progress": "log"}], ids=str
)
def test_a_fallback_accepts_nothing_that_it_would_ignore(given: dict[str, Any]) -> None:
    X, y = data("two")
    search = GridSearchCV(SVC(solver="smo"), {"C": [1.0, 2.0]}, cv=5, refit=False, **given)
    with pytest.raises(ValueError, match=f"^solver='smo' .*, where {', '.join(given)} would have no effect; [^.]*\\.$"):
        search.fit(X, y)


def test_no_splits() -> None:
    with pytest.raises(ValueError, match=r"cv=\[\] yields no folds"):
        GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=[]).fit(*data("two"))


def test_progress_hears_of_a_failure() -> None:
    class Seen:
        reason = None

        def start(self, machines: int) -> None:
            pass

        def advance(self, *what: Any) -> None:
            pass

        def finish(self, reason: str) -> None:
            self.reason = reason

    def no_score(machine: Any, X: Any, y: Any) -> float:
        raise OSError("no score today")

    seen = Seen()
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, scoring=no_score, error_score="raise", progress=seen)
    with pytest.raises(OSError, match="no score today"):
        search.fit(*data("two"))
    assert seen.reason == "failed"


# Memory and threads.


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
def test_little_memory_changes_no_score(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(name)
    machine = regressor() if name == "friedman" else classifier()
    calls: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return walk_chain_on_rows(*arguments, **options)

    monkeypatch.setattr("widemargin.machines.chain.walk_chain_on_rows", counted)
    whole = GridSearchCV(machine, GRID, cv=3).fit(X, y)
    assert not calls
    rows = GridSearchCV(machine, GRID, cv=3, max_memory=0.001).fit(X, y)
    chains, first_machines = 9, 3
    assert len(calls) == (chains + first_machines) * (3 if name == "three" else 1)
    check_cells(rows, whole)
    assert rows.best_params_ == whole.best_params_


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed", "callable", "squared"])
def test_little_memory_and_other_kernels(kernel: str) -> None:
    X, y = data("two")
    options: dict[str, Any] = {"kernel": kernel, "gamma": 0.1}
    if kernel == "precomputed":
        X = rbf_kernel(X, gamma=0.1)
    elif kernel == "callable":
        options["kernel"] = rbf_kernel
    elif kernel == "squared":
        options.update(kernel="rbf", loss="squared_hinge")
    both = [
        GridSearchCV(classifier(**options), {"C": [0.1, 1.0]}, cv=3, max_memory=m).fit(X, y) for m in (1e-3, "auto")
    ]
    check_cells(*both)


@pytest.mark.parametrize("n_jobs", [2, -1])
@pytest.mark.parametrize("name", ["two", "three", "friedman"])
def test_threads_change_no_bit(name: str, n_jobs: int) -> None:
    X, y = data(name)
    machine = regressor() if name == "friedman" else classifier(class_weight="balanced")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0, "scale"], "kernel": ["rbf", "poly"]}
    one, many = (GridSearchCV(machine, grid, cv=4, n_jobs=jobs).fit(X, y) for jobs in (1, n_jobs))
    same_scores(one, many)
    np.testing.assert_array_equal(one.predict(X), many.predict(X))


@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_a_configured_backend_changes_no_bit(backend: str) -> None:
    X, y = data("two")
    alone = GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    with parallel_config(backend, n_jobs=2):
        same_scores(GridSearchCV(classifier(), GRID, cv=3).fit(X, y), alone)


def test_searches_beside_each_other() -> None:
    X, y = data("three")
    alone = GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    searches = [GridSearchCV(classifier(), GRID, cv=3) for _ in range(4)]
    threads = [threading.Thread(target=search.fit, args=(X, y)) for search in searches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for search in searches:
        same_scores(search, alone)


def test_repetition_changes_no_bit() -> None:
    X, y = data("friedman")
    grid = {"C": [0.1, 10.0], "gamma": [0.05, 0.5], "epsilon": [0.1]}
    first = GridSearchCV(regressor(), grid, cv=3).fit(X, y)
    GridSearchCV(classifier(), GRID, cv=3).fit(*data("two"))
    same_scores(GridSearchCV(regressor(), grid, cv=3).fit(X, y), first)


# Time.


def endless(classes: int = 2, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.integers(0, classes, size=n)


#: Two machines that are trained at once, and three that take minutes.
HARD = SVC(tol=1e-8)
PRICES = [{"C": [1e-3, 1e-2], "gamma": [0.05]}, {"C": [1e8, 1e9, 1e10], "gamma": [0.06]}]


@pytest.mark.parametrize("error_score", [np.nan, 1.0, "raise"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_time_that_runs_out(n_jobs: int, error_score: Any) -> None:
    X, y = endless()
    search = GridSearchCV(HARD, PRICES, cv=3, max_time=0.3, n_jobs=n_jobs, error_score=error_score, refit=False)
    began = time.perf_counter()
    search.fit(X, y)
    assert time.perf_counter() - began < 0.3 + PROMPTLY
    means, ranks = (search.cv_results_[key] for key in ("mean_test_score", "rank_test_score"))
    assert np.isfinite(means).tolist() == [True, True, False, False, False]
    assert search.best_index_ in (0, 1)
    assert ranks[search.best_index_] == 1
    assert min(ranks[2:]) > max(ranks[:2])
    report = search.work_report_
    assert (report.fits, report.trained, report.skipped, report.unfinished) == (15, 6, 0, 9)
    assert "9 not finished" in str(report)
    # What is finished is what a search without a clock finds.
    alone = GridSearchCV(HARD, PRICES[0], cv=3).fit(X, y)
    np.testing.assert_array_equal(means[:2], alone.cv_results_["mean_test_score"])


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_the_best_machine_is_trained_after_the_time_is_over() -> None:
    X, y = endless()
    search = GridSearchCV(HARD, PRICES, cv=3, max_time=0.3).fit(X, y)
    assert search.best_params_["C"] < 1.0
    np.testing.assert_array_equal(search.predict(X), SVC(tol=1e-8, **search.best_params_).fit(X, y).predict(X))


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("memory", ["auto", 0.001])
def test_time_holds_for_many_classes_too(memory: Any) -> None:
    X, y = endless(classes=4)
    search = GridSearchCV(HARD, PRICES, cv=2, max_time=0.3, max_memory=memory, refit=False)
    began = time.perf_counter()
    search.fit(X, y)
    assert time.perf_counter() - began < 0.3 + PROMPTLY
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("kind", ["one", "list", "callable"])
@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_time_that_runs_out_with_several_scores(kind: str) -> None:
    def several(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        return {"accuracy": estimator.score(X, y), "f1": 0.5}

    X, y = endless()
    scoring: Any = {"one": ["accuracy"], "list": ["accuracy", "f1"], "callable": several}[kind]
    search = GridSearchCV(HARD, PRICES, cv=3, max_time=0.2, scoring=scoring, refit="accuracy", return_train_score=True)
    search.fit(X, y)
    finished = np.isfinite(search.cv_results_["mean_test_accuracy"])
    assert finished.tolist() == [True, True, False, False, False]
    assert finished[search.best_index_]


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("limit", [1e-9, 0.05])
def test_no_time_for_anything_is_an_error(limit: float, refit: bool) -> None:
    X, y = endless(n=200)
    # The machine itself is limited too, so that a search that goes on after all ends some time.
    machine = SVC(tol=1e-8, gamma=0.05, max_iter=200_000)
    with pytest.raises((RuntimeError, ValueError, TimeoutError), match="max_time"):
        GridSearchCV(machine, {"C": [1e8, 1e9]}, cv=3, max_time=limit, refit=refit).fit(X, y)


def test_time_that_suffices_changes_nothing() -> None:
    X, y = data("three")
    same_scores(*(GridSearchCV(classifier(), GRID, cv=3, max_time=limit).fit(X, y) for limit in (None, 100.0)))


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_gives_the_best_so_far(n_jobs: int) -> None:
    X, y = data("two")
    calls: list[int] = []

    def pressed(estimator: Any, X: Any, y: Any) -> float:
        calls.append(1)
        if len(calls) == 26:
            _thread.interrupt_main()
        time.sleep(0.005)
        return float(estimator.score(X, y))

    search = GridSearchCV(classifier(), GRID, cv=3, scoring=pressed, n_jobs=n_jobs)
    try:
        search.fit(X, y)
    except KeyboardInterrupt:
        pytest.fail("what was finished is lost")
    finished = np.isfinite(search.cv_results_["mean_test_score"])
    assert finished.any()
    assert finished[search.best_index_]
    assert search.work_report_.unfinished > 0
    assert search.best_estimator_.score(X, y) > 0.5


def test_an_interruption_before_anything_is_raised() -> None:
    X, y = data("two")

    def pressed(estimator: Any, X: Any, y: Any) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(classifier(), GRID, cv=3, scoring=pressed).fit(X, y)

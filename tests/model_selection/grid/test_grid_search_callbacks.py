"""Searches that scikit-learn's callbacks follow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from searches import SMALL_GRID, classifier, data
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.grid_search import PlainSearchWarning
from widemargin.study import EvaluationTasks

sklearn_callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks (before 1.9)")

EVALUATION = "candidate-split-evaluation"


class Recorder:
    """Writes down what it is told, and asks for an end after some evaluations."""

    def __init__(self, enough: float = np.inf) -> None:
        self.enough, self.evaluations = enough, 0
        self.calls: list[tuple[str, str, int]] = []
        self.data: dict[int, tuple[Any, Any, Any]] = {}
        self.processes: set[int] = set()

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup", context.task_name, context.task_id))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.calls.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, metadata: Any = None
    ) -> bool:
        self.calls.append(("end", context.task_name, context.task_id))
        self.processes.add(os.getpid())
        if context.task_name != EVALUATION:
            return False
        self.data[context.task_id] = (X, y, metadata)
        self.evaluations += 1
        return self.evaluations >= self.enough

    def others(self) -> list[tuple[str, str, int]]:
        """All calls that are not about evaluations."""
        return [call for call in self.calls if call[1] != EVALUATION]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("machine", [classifier(), make_pipeline(StandardScaler(), classifier())], ids=["svc", "pipe"])
def test_callbacks_see_what_scikit_learns_search_shows_them(machine: Any, refit: bool) -> None:
    X, y = data("two")
    grid = SMALL_GRID if isinstance(machine, SVC) else {f"svc__{name}": SMALL_GRID[name] for name in SMALL_GRID}
    ours, theirs = Recorder(), Recorder()
    for kind, recorder in ((GridSearchCV, ours), (PlainGridSearchCV, theirs)):
        weights = np.linspace(0.5, 1.0, len(y))
        fit = {"sample_weight": weights} if isinstance(machine, SVC) else {}
        kind(machine, grid, cv=3, refit=refit).set_callbacks(recorder).fit(X, y, **fit)
    assert ours.others() == theirs.others()
    assert sorted(ours.calls) == sorted(theirs.calls)
    assert len(ours.calls) == 2 + 2 * (1 + 1 + 12 + refit)
    for number, (X_train, y_train, metadata) in theirs.data.items():
        np.testing.assert_array_equal(ours.data[number][0], X_train)
        np.testing.assert_array_equal(ours.data[number][1], y_train)
        assert (ours.data[number][2] is None) == (metadata is None)
        if metadata is not None:
            np.testing.assert_array_equal(ours.data[number][2]["sample_weight"], metadata["sample_weight"])


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_evaluations_are_told_here_wherever_they_run(backend: str) -> None:
    X, y = data("two")
    recorder = Recorder()
    with parallel_config(backend, n_jobs=2):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).set_callbacks(recorder).fit(X, y)
    assert recorder.processes == {os.getpid()}
    assert sorted(recorder.data) == list(range(12))


def test_what_a_journal_holds_and_what_failed_is_told_too(tmp_path: Path) -> None:
    X, y = data("two")
    grid = {"C": [0.1, 10.0, -1.0], "gamma": [0.05, 0.5]}
    told = []
    for _ in range(2):
        recorder = Recorder()
        search = GridSearchCV(classifier(), grid, cv=3, journal=tmp_path / "study.jsonl", error_score=0.0)
        with pytest.warns(FitFailedWarning, match="6 fits failed"):
            search.set_callbacks(recorder).fit(X, y)
        told.append(sorted(recorder.data))
    assert told == [list(range(18))] * 2


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_a_callback_ends_the_search_with_the_best_so_far(backend: str) -> None:
    X, y = data("two")
    recorder = Recorder(enough=9)
    with parallel_config(backend, n_jobs=2):
        search = GridSearchCV(classifier(), SMALL_GRID, cv=3, pre_dispatch="n_jobs").set_callbacks(recorder).fit(X, y)
    finished = np.isfinite(search.cv_results_["mean_test_score"])
    assert finished[search.best_index_]
    if backend == "sequential":
        assert finished.tolist() == [False, True, False, True]  # the narrower kernel comes first
        assert search.work_report_.unfinished == 3
        assert recorder.evaluations == 9
    assert recorder.calls[-1][0] == "teardown"
    assert ("end", "refit-with-best-params", 1) in recorder.calls
    np.testing.assert_array_equal(search.predict(X), classifier(**search.best_params_).fit(X, y).predict(X))


def test_a_callback_that_ends_the_search_too_early() -> None:
    X, y = data("two")
    recorder = Recorder(enough=1)
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="callback ended the search before any candidate was finished"):
        search.fit(X, y)
    assert recorder.calls[-1][0] == "teardown"


def test_scikit_learns_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = data("two")
    GridSearchCV(classifier(), SMALL_GRID, cv=3).set_callbacks(sklearn_callback.ProgressBar()).fit(X, y)
    lines = [re.match(r"\s*(.+?)\s+[━╸╺ ]+\s*(\d+)%", line) for line in capsys.readouterr().out.splitlines()]
    assert [match.group(1, 2) for match in lines if match] == [
        ("GridSearchCV - fit", "100"),
        ("GridSearchCV - search #0", "100"),
        ("GridSearchCV - refit-with-best-params | SVC - fit #1", "100"),
    ]


def test_a_search_that_shares_nothing_tells_callbacks_as_well() -> None:
    X, y = data("two")
    recorder = Recorder()
    with pytest.warns(PlainSearchWarning):
        GridSearchCV(SVC(solver="smo"), {"C": [0.1, 1.0]}, cv=3).set_callbacks(recorder).fit(X, y)
    assert sorted(recorder.data) == list(range(6))
    assert [call[0] for call in recorder.calls].count("teardown") == 1


def test_without_callbacks_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(self: Any, *arguments: Any) -> bool:
        pytest.fail("nobody listens")

    monkeypatch.setattr(EvaluationTasks, "end", end)
    GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(*data("two"))

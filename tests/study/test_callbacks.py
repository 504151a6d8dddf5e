"""A search that scikit-learn's callbacks can follow as they follow scikit-learn's own."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from widemargin.runtime import callbacks as module
from widemargin.study import EvaluationTasks, SearchTasks, with_callbacks

sklearn_callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks (before 1.9)")

X = np.random.default_rng(0).normal(size=(30, 2))
y = np.arange(30) % 2
GRID = {"C": [0.1, 1.0]}
CV = StratifiedKFold(3)


class Search(GridSearchCV):  # type: ignore[misc]
    """A search with a fit of its own: it reports, chooses the first candidate and refits that."""

    work: Callable[[EvaluationTasks, int], bool] = staticmethod(lambda tasks, number: tasks.end(number))

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search."""
        splits = list(self.cv.split(X, y))
        candidates = list(ParameterGrid(self.param_grid))
        self.stopped_at_ = None
        with SearchTasks(self, X, y, refit=bool(self.refit), sample_weight=sample_weight) as tasks:
            with tasks.search(evaluations=len(candidates) * len(splits)) as evaluations:
                for number in range(len(candidates) * len(splits)):
                    if self.work(evaluations, number):
                        self.stopped_at_ = number
                        break
            if self.refit:
                self.best_estimator_ = clone(self.estimator)
                with tasks.refit(self.best_estimator_):
                    self.best_estimator_.fit(X, y)
        return self


class Recorder:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.data: dict[tuple[Any, ...], dict[str, Any]] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup", self._path(context)))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown", self._path(context)))

    def on_fit_task_begin(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, metadata: Any = None
    ) -> None:
        self._note("begin", context, X=X, y=y, metadata=metadata)

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, metadata: Any = None
    ) -> Any:
        self._note("end", context, X=X, y=y, metadata=metadata)

    def _note(self, what: str, context: Any, **data: Any) -> None:
        path = self._path(context)
        self.calls.append((what, path))
        self.data[what, path] = data

    @staticmethod
    def _path(context: Any) -> tuple[Any, ...]:
        found = []
        while context is not None:
            found.append((context.task_name, context.task_id, context.max_subtasks))
            context = context.parent
        return tuple(reversed(found))


class Stopper(Recorder):
    """Asks for an end after the third evaluation."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, metadata: Any = None
    ) -> Any:
        super().on_fit_task_end(estimator, context, X=X, y=y, metadata=metadata)
        return context.task_name == "candidate-split-evaluation" and context.task_id == 2


class Indifferent:
    """Wants to see no data."""

    def __init__(self) -> None:
        self.ended = 0

    def setup(self, estimator: Any, context: Any) -> None: ...
    def teardown(self, estimator: Any, context: Any) -> None: ...
    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...
    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        self.ended += 1


@pytest.mark.parametrize("refit", [True, False])
def test_the_tasks_are_those_of_scikit_learns_search(refit: bool) -> None:
    records = []
    for kind in (GridSearchCV, Search):
        recorder = Recorder()
        search = kind(SVC(), GRID, cv=CV, refit=refit).set_callbacks(recorder)
        search.fit(X, y)
        records.append(recorder.calls)
    assert records[0] == records[1]
    assert len(records[0]) == 2 + 2 * (1 + 1 + 6 + refit)


def test_data_is_handed_on() -> None:
    recorder = Recorder()
    weights = np.arange(30.0)

    def work(tasks: EvaluationTasks, number: int) -> bool:
        if number % 2:
            tasks.begin(number, X=lambda: X[:number], y=y[:number], sample_weight=lambda: weights[:number])
            return tasks.end(number)
        return tasks.end(number, X=lambda: X[:number], y=y[:number], sample_weight=weights[:number])

    search = Search(SVC(), GRID, cv=CV).set_callbacks(recorder)
    search.work = work
    search.fit(X, y, sample_weight=weights)
    root = (("fit", 0, 2),)
    for path in (root, (*root, ("refit-with-best-params", 1, 0))):
        for what in ("begin", "end"):
            data = recorder.data[what, path]
            assert data["X"] is X
            assert data["y"] is y
            assert data["metadata"] == {"sample_weight": weights}
    for number in range(6):
        for what in ("begin", "end"):
            data = recorder.data[what, (*root, ("search", 0, 6), ("candidate-split-evaluation", number, 0))]
            np.testing.assert_array_equal(data["X"], X[:number])
            np.testing.assert_array_equal(data["y"], y[:number])
            np.testing.assert_array_equal(data["metadata"]["sample_weight"], weights[:number])


def test_data_that_nobody_wants_is_not_made() -> None:
    listener = Indifferent()
    search = Search(SVC(), GRID, cv=CV).set_callbacks(listener)
    search.work = lambda tasks, number: tasks.end(number, X=pytest.fail, y=pytest.fail, sample_weight=pytest.fail)
    search.fit(X, y)
    assert listener.ended == 9


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    context = sklearn_callback.CallbackContext
    subcontext = context.subcontext

    def recorded(self: Any, task_name: str, **options: Any) -> Any:
        made.append(task_name)
        return subcontext(self, task_name, **options)

    monkeypatch.setattr(context, "subcontext", recorded)
    search = Search(SVC(), GRID, cv=CV).fit(X, y)
    assert search.best_estimator_.fit_status_ == 0
    assert made == ["search", "refit-with-best-params"]


def test_a_callback_can_ask_for_an_end() -> None:
    stopper = Stopper()
    search = Search(SVC(), GRID, cv=CV).set_callbacks(stopper).fit(X, y)
    assert search.stopped_at_ == 2
    ended = [path[-1][0] for what, path in stopper.calls if what == "end"]
    assert ended == [*["candidate-split-evaluation"] * 3, "search", "refit-with-best-params", "fit"]


def test_evaluations_may_overlap() -> None:
    recorder = Recorder()
    search = Search(SVC(), GRID, cv=CV, refit=False).set_callbacks(recorder)

    def work(tasks: EvaluationTasks, number: int) -> bool:
        tasks.begin(number)
        return number % 2 == 1 and (tasks.end(number) or tasks.end(number - 1))

    search.work = work
    search.fit(X, y)
    order = [(what, path[-1][1]) for what, path in recorder.calls if path[-1][0] == "candidate-split-evaluation"]
    assert order[:4] == [("begin", 0), ("begin", 1), ("end", 1), ("end", 0)]
    assert len(order) == 12


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_callbacks_are_released_when_a_search_fails(error: type[BaseException]) -> None:
    def work(tasks: EvaluationTasks, number: int) -> bool:
        if number == 2:
            raise error
        return tasks.end(number)

    recorder = Recorder()
    search = Search(SVC(), GRID, cv=CV).set_callbacks(recorder)
    search.work = work
    with pytest.raises(error):
        search.fit(X, y)
    assert [what for what, _ in recorder.calls].count("teardown") == 1
    assert [path[-1][:2] for what, path in recorder.calls if what == "end"] == [
        ("candidate-split-evaluation", 0),
        ("candidate-split-evaluation", 1),
    ]
    assert not [name for name in vars(search) if "callback" in name and name != "_skl_callbacks"]
    del search.work
    search.fit(X, y)  # and can be used again
    assert recorder.calls[-1][0] == "teardown"


def test_the_plain_search_of_scikit_learn_may_be_called_from_within() -> None:
    class Plain(GridSearchCV):  # type: ignore[misc]
        @with_callbacks
        def fit(self, X: Any, y: Any) -> Self:
            super().fit(X, y)
            return self

    recorder, expected = Recorder(), Recorder()
    Plain(SVC(), GRID, cv=CV).set_callbacks(recorder).fit(X, y)
    GridSearchCV(SVC(), GRID, cv=CV).set_callbacks(expected).fit(X, y)
    assert recorder.calls == expected.calls


def lines_of_bars(text: str) -> list[tuple[str, str]]:
    found = [re.match(r"\s*(.+?)\s+[━╸╺ ]+\s*(\d+)%", line) for line in text.splitlines()]
    return [match.group(1, 2) for match in found if match]


def test_scikit_learns_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    search = Search(SVC(), GRID, cv=CV).set_callbacks(sklearn_callback.ProgressBar())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # in particular, none for a machine that has no callbacks of its own
        search.fit(X, y)
    assert lines_of_bars(capsys.readouterr().out) == [("Search - fit", "100"), ("Search - search #0", "100")]


def test_scikit_learns_progress_bar_of_a_search_that_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    search = Search(SVC(), GRID, cv=CV).set_callbacks(sklearn_callback.ProgressBar(), Stopper())
    search.fit(X, y)
    assert lines_of_bars(capsys.readouterr().out) == [("Search - fit", "100"), ("Search - search #0", "100")]


def test_a_pipeline_that_is_refitted_shows_its_own_bar(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = Pipeline([("scale", StandardScaler())])
    assert hasattr(pipeline, "set_callbacks")
    search = Search(pipeline, {"scale__with_mean": [True, False]}, cv=CV)
    search.set_callbacks(sklearn_callback.ProgressBar(max_propagation_depth=1))
    search.fit(X, y)
    names = [name for name, _ in lines_of_bars(capsys.readouterr().out)]
    assert names == ["Search - fit", "Search - search #0", "Search - refit-with-best-params | Pipeline - fit #1"]
    assert not hasattr(search.best_estimator_, "_skl_callbacks")


def test_a_search_within_a_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("search", Search(SVC(), GRID, cv=CV))])
    pipeline.set_callbacks(sklearn_callback.ProgressBar(max_propagation_depth=1))
    pipeline.fit(X, y)
    bars = lines_of_bars(capsys.readouterr().out)
    assert bars[0][0] == "Pipeline - fit"
    assert [name.split(" | ")[-1] for name, _ in bars[-2:]] == ["Search - fit #1", "Search - search #0"]
    assert {share for _, share in bars} == {"100"}


def test_before_scikit_learn_1_9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_with_callbacks", None)

    def fit() -> None: ...

    assert with_callbacks(fit) is fit

    class Old(BaseEstimator):  # type: ignore[misc]
        pass

    with SearchTasks(Old(), X, y, refit=True) as tasks:
        with tasks.search(2) as evaluations:
            evaluations.begin(0)
            assert evaluations.end(0, X=pytest.fail) is False
        with tasks.refit(SVC()):
            pass

"""Fits that scikit-learn's callbacks can follow."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVDD, SVR, CompactSVC, GridSearchCV, NuSVC, NuSVR, OneClassSVM, OnlineSVC, VectorQuantizer
from widemargin.runtime import callbacks

sklearn_callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks (before 1.9)")

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)

MODELS: list[Any] = [
    SVC(),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
    OnlineSVC(random_state=0),
    VectorQuantizer(),
    CompactSVC(max_evaluations=70, random_state=0),
]


class Recorder:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.scores: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.told.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, metadata: Any = None) -> None:
        self.told.append(
            f"begin {context.estimator_name} {context.task_name} {np.shape(X)[:1]} {sorted(metadata or {})}"
        )

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any = None, fitted_estimator: Any = None) -> None:
        self.told.append(f"end {context.estimator_name} {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator)


class Propagated(Recorder):
    """The same for all estimators inside another one."""

    max_propagation_depth = None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_is_a_task(model: Any) -> None:
    recorder, own = Recorder(), clone(model)
    name = type(own).__name__
    assert own.set_callbacks(recorder) is own
    assert own.fit(X, Y) is own
    assert recorder.told == ["setup", f"begin {name} fit (60,) []", f"end {name} fit", "teardown"]
    (fitted,) = recorder.scores
    plain = clone(model).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))
    np.testing.assert_array_equal(own.predict(X), plain.predict(X))
    assert vars(own).keys() - {"_skl_callbacks"} == vars(plain).keys()
    recorder.told.clear()
    own.set_callbacks().fit(X, Y)
    assert recorder.told == []


@pytest.mark.parametrize(
    "model", [one for one in MODELS if not isinstance(one, CompactSVC)], ids=lambda m: type(m).__name__
)
def test_callbacks_see_weights(model: Any) -> None:
    recorder = Recorder()
    clone(model).set_callbacks(recorder).fit(X, Y, sample_weight=np.ones(60))
    assert recorder.told[1] == f"begin {type(model).__name__} fit (60,) ['sample_weight']"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_that_fails_is_torn_down(model: Any) -> None:
    recorder, own = Recorder(), clone(model)
    with pytest.raises(ValueError, match="0 sample"):
        own.set_callbacks(recorder).fit(X[:0], Y[:0])
    assert recorder.told == ["setup", f"begin {type(own).__name__} fit (0,) []", "teardown"]
    assert own.fit(X, Y) is own
    assert recorder.told[-2:] == [f"end {type(own).__name__} fit", "teardown"]


def test_callbacks_go_through_pipelines_and_searches() -> None:
    recorder = Propagated()
    pipe = make_pipeline(StandardScaler(), SVC())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that an estimator does not support callbacks
        pipe.set_callbacks(recorder).fit(X, Y)
    assert "begin SVC fit (60,) []" in recorder.told
    assert recorder.told.count("setup") == recorder.told.count("teardown") == 1
    recorder = Propagated()
    GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(recorder).fit(X, Y)
    assert recorder.told.count("begin SVC fit (60,) []") == 1  # the refit; models of a search are no fits of their own


def test_scores_are_monitored() -> None:
    monitor = sklearn_callback.ScoringMonitor(scoring="accuracy")
    model = SVC().set_callbacks(monitor).fit(X, Y)
    (row,) = monitor.get_logs().data
    assert row["task_name"] == "fit"
    assert row["accuracy"] == model.score(X, Y)


def test_warnings_point_at_the_caller_where_nobody_listens() -> None:
    with pytest.warns(ConvergenceWarning) as told:
        SVC(max_iter=1, kernel="linear").fit(X, Y)
    assert told[0].filename == __file__
    assert told[0].lineno == inspect.currentframe().f_lineno - 2  # type: ignore[union-attr]


def test_without_callbacks_in_scikit_learn_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "_with_callbacks", None)

    def fit(model: Any) -> Any:
        return model

    assert callbacks.with_callbacks(fit) is fit
    assert not callbacks.is_awaited(SVC())

"""Pipelines run their own steps: a recorder stands where the model was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from widemargin import SVC
from widemargin.estimators.pipelines import is_known, passed, resamples, seen, with_model

X = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 0.5], [4.0, 4.0]])
Y = np.array([0, 1, 0, 1])


class Doubled:
    """A transformer of somebody who knows fit and transform, and no more of scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> Doubled:
        return self

    def transform(self, X: Any) -> Any:
        return 2.0 * X


def test_steps_without_a_state_or_a_base() -> None:
    pipeline = Pipeline([("a", FunctionTransformer(np.tanh)), ("b", "passthrough"), ("c", Doubled()), ("svc", SVC())])
    given = passed(pipeline, X, Y, {})
    np.testing.assert_allclose(given.X, 2.0 * np.tanh(X))
    np.testing.assert_allclose(given.seen(X[:1] + 1.0), 2.0 * np.tanh(X[:1] + 1.0))
    assert given.y is Y
    assert given.pipeline is pipeline
    assert isinstance(pipeline[-1], SVC)


def test_parameters_reach_whom_they_are_for_and_only_for_the_samples_that_count() -> None:
    weights, own = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 1.0, 1.0, 5.0])
    pipeline = make_pipeline(StandardScaler(), SVC())
    fit = {"svc__sample_weight": weights, "standardscaler__sample_weight": own}
    given = passed(pipeline, X, Y, fit, np.array([0, 3]))
    np.testing.assert_array_equal(given.params["sample_weight"], [1.0, 4.0])
    np.testing.assert_allclose(given.pipeline[0].mean_, np.average(X[[0, 3]], axis=0, weights=[5.0, 5.0]))
    with pytest.raises((KeyError, ValueError), match="nobody"):
        passed(make_pipeline(StandardScaler(), SVC()), X, Y, {"nobody__colour": own})


def test_targets_come_as_they_were_given_and_not_at_all_if_there_are_none() -> None:
    told: list[Any] = []

    class Curious(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, *more: Any) -> Any:
            told.append(more)
            return self

        def transform(self, X: Any) -> Any:
            return X

    passed(make_pipeline(Curious(), SVC()), X, list("abab"), {}, np.array([1, 2]))
    passed(make_pipeline(Curious(), SVC()), X, None, {}, np.array([1, 2]))
    assert told == [(["b", "a"],), (None,)] or told == [(["b", "a"],), ()]


def test_steps_that_are_not_fitted_say_so() -> None:
    with pytest.raises(NotFittedError):
        seen(make_pipeline(StandardScaler(), SVC()), X)


def test_another_model_behind_the_same_steps() -> None:
    class Own(Pipeline):  # type: ignore[misc]
        """Of somebody else."""

    pipeline = Own([("scaler", StandardScaler()), ("svc", SVC())]).fit(X, Y)
    other = with_model(pipeline, SVC(C=9.0))
    assert type(other) is Own
    assert other[0] is pipeline[0]
    assert (other[-1].C, pipeline[-1].C) == (9.0, 1.0)


def test_only_pipelines_that_are_what_they_seem_are_known() -> None:
    class Own(Pipeline):  # type: ignore[misc]
        """Of somebody else."""

    assert is_known(make_pipeline(SVC()))
    assert not is_known(Own([("svc", SVC())]))
    assert not resamples(make_pipeline(SVC()))

"""The steps before the model of a pipeline, run by the pipeline itself: what its model would be fitted with, and see.

Whatever a pipeline does between its own ``fit`` and that of its model (clones, caches, metadata, samplers that change
the number of samples) stays its affair: a :class:`Recorder` stands in the model's place and writes down what it gets.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params


class Recorder(BaseEstimator):  # type: ignore[misc]
    """Stands in for the model at the end of a pipeline; is to all who ask what the model is.

    Parameters
    ----------
    model : estimator
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.fitted_with: tuple[Any, Any, Mapping[str, Any]] = (None, None, {})

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Write down what the model would be fitted with."""
        self.fitted_with = X, y, params
        return self

    def predict(self, X: Any) -> Any:
        """Return the samples that the model would predict."""
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def get_metadata_routing(self) -> Any:
        """Ask for what the model asks for."""
        return self.model.get_metadata_routing()


class Passed(NamedTuple):
    """What a model of a pipeline is fitted with, and the pipeline whose steps were fitted on the way."""

    X: Any
    y: Any
    params: Mapping[str, Any]
    pipeline: Any

    def seen(self, X: Any) -> Any:
        """Return samples as the model sees them when it is to predict them."""
        return seen(self.pipeline, X)


def passed(pipeline: Any, X: Any, y: Any, params: Mapping[str, Any], train: NDArray[Any] | None = None) -> Passed:
    """Fit the steps before the model.

    Parameters
    ----------
    pipeline : Pipeline
        Its steps are fitted in place, its model is left as it is.
    X, y
        Samples, and their targets or None.
    params : mapping
        What the pipeline's ``fit`` gets beside these.
    train : ndarray of int, optional
        Samples to fit on; None is all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> pipeline, X = make_pipeline(StandardScaler(with_std=False), SVC()), np.array([[0.0], [1.0], [9.0]])
    >>> weights = {"standardscaler__sample_weight": np.array([1.0, 3.0, 5.0])}
    >>> given = passed(pipeline, X, None, weights, np.array([0, 1]))
    >>> given.X.tolist(), given.seen(X[2:]).tolist()
    ([[-0.75], [0.25]], [[8.25]])
    """
    name, model = pipeline.steps[-1]
    recorder = Recorder(model)
    pipeline.steps = [*pipeline.steps[:-1], (name, recorder)]
    if train is not None:
        params = _check_method_params(X, params=params, indices=train)
        X, y = _safe_indexing(X, train), None if y is None else _safe_indexing(y, train)
    if y is None:
        pipeline.fit(X, **params)
    else:
        pipeline.fit(X, y, **params)
    pipeline.steps = [*pipeline.steps[:-1], (name, model)]
    return Passed(*recorder.fitted_with, pipeline)


def seen(pipeline: Any, X: Any) -> Any:
    """Return samples as the model of a pipeline sees them when it is to predict them, behind fitted steps."""
    kind = type(pipeline) if is_known(pipeline) else Pipeline  # others may make something of predictions
    return kind.predict(with_model(pipeline, Recorder(pipeline.steps[-1][1])), X)


def with_model(pipeline: Any, model: Any) -> Any:
    """Return a pipeline with another model behind its steps; these, which may be fitted, are shared.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from widemargin import SVC
    >>> with_model(make_pipeline("passthrough", SVC()), SVC(C=2.0)).steps
    [('passthrough', 'passthrough'), ('svc', SVC(C=2.0))]
    """
    own = copy.copy(pipeline)
    own.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], model)]
    return own


def resamples(pipeline: Any) -> bool:
    """Tell whether this is a pipeline of imbalanced-learn, whose samplers may change samples and targets alike."""
    theirs = sys.modules.get("imblearn.pipeline")  # nobody has such a pipeline who has not imported it
    return theirs is not None and type(pipeline) is theirs.Pipeline


def is_known(pipeline: Any) -> bool:
    """Tell whether a pipeline does nothing but run its steps: a subclass may do anything.

    Examples
    --------
    >>> class Own(Pipeline):
    ...     pass
    >>> is_known(Pipeline([])), is_known(Own([]))
    (True, False)
    """
    return type(pipeline) is Pipeline or resamples(pipeline)

"""What the fit of a search is given beside rows and targets, and who gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import _check_method_params

#: The one fit parameter that machines know.
WEIGHTS = "sample_weight"


@dataclass(frozen=True)
class FitParameters:
    """Fit parameters of an estimator, by those who get them.

    Attributes
    ----------
    weights : array-like or None
        Of the machine.
    of_steps : dict
        What the steps before the machine get, in the words of the pipeline's ``fit``.
    others : list of str
        What is left: parameters of the machine other than weights, or of nobody.
    """

    weights: Any
    of_steps: dict[str, Any]
    others: list[str]


def fit_parameters(estimator: Any, given: Mapping[str, Any]) -> FitParameters:
    """Tell who gets what of the parameters that an estimator is fitted with.

    Parameters
    ----------
    estimator : estimator or Pipeline
        The machine, or a pipeline that ends in it.
    given : mapping
        What the estimator's ``fit`` gets.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> fit_parameters(pipeline, {"svc__sample_weight": [1, 2], "standardscaler__sample_weight": [3, 4]})
    FitParameters(weights=[1, 2], of_steps={'standardscaler__sample_weight': [3, 4]}, others=[])
    """
    own = dict(given)
    if not isinstance(estimator, Pipeline):
        return FitParameters(own.pop(WEIGHTS, None), {}, sorted(own))
    last, _ = estimator.steps[-1]
    if not (get_config()["enable_metadata_routing"] and own):
        weights = own.pop(f"{last}__{WEIGHTS}", None)
        steps = tuple(f"{name}__" for name, _ in estimator.steps[:-1])
        of_steps = {name: own.pop(name) for name in list(own) if name.startswith(steps)}
        return FitParameters(weights, of_steps, sorted(own))
    routed = process_routing(estimator, "fit", **own)  # refuses what nobody asks for
    of_machine = dict(routed[last]["fit"])
    weights = of_machine.pop(WEIGHTS, None)
    of_steps = {}
    if len(estimator.steps) > 1:
        asked = get_routing_for_object(estimator[:-1]).consumes("fit_transform", own.keys())
        of_steps = {name: own[name] for name in sorted(asked)}
    return FitParameters(weights, of_steps, sorted(of_machine))


def behind_steps(
    pipeline: Pipeline,
    rows: Any,
    y: Any,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    given: Mapping[str, Any],
) -> tuple[Any, Any]:
    """Fit the steps before the machine on some rows; return these rows, and others, as they are behind them.

    Parameters
    ----------
    pipeline : Pipeline
        Its steps are fitted in place.
    rows, y
        All examples, and their targets or None.
    train, test : ndarray of int
        Rows to fit on, and others.
    given : mapping
        What the pipeline's ``fit`` would get beside these, for all rows.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> pipeline, rows = make_pipeline(StandardScaler(with_std=False), SVC()), np.array([[0.0], [1.0], [9.0]])
    >>> weights = {"standardscaler__sample_weight": np.array([1.0, 3.0, 5.0])}
    >>> [part.tolist() for part in behind_steps(pipeline, rows, None, np.array([0, 1]), np.array([2]), weights)]
    [[[-0.75], [0.25]], [[8.25]]]
    """
    X_train, X_test = (_safe_indexing(rows, numbers) for numbers in (train, test))
    if len(pipeline.steps) == 1:
        return X_train, X_test
    own = _check_method_params(rows, params=fit_parameters(pipeline, given).of_steps, indices=train)
    steps = pipeline[:-1]
    return steps.fit_transform(X_train, None if y is None else y[train], **own), steps.transform(X_test)

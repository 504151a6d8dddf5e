"""What the fit of a search is given beside rows and targets, and who gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

#: The one fit parameter that machines know.
WEIGHTS = "sample_weight"


def weights_of_the_machine(estimator: Any, fit_params: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Tell the weights that a machine is fitted with from all else that is handed on.

    Parameters
    ----------
    estimator : estimator or Pipeline
        The machine, or a pipeline that ends in it.
    fit_params : mapping
        What the estimator's ``fit`` gets.

    Returns
    -------
    weights : array-like or None
    others : list of str
        Fit parameters that are no weights of the machine, or that steps before it get as well.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> weights_of_the_machine(pipeline, {"svc__sample_weight": [1, 2], "standardscaler__sample_weight": [3, 4]})
    ([1, 2], ['standardscaler__sample_weight'])
    """
    own: dict[str, Any] = dict(fit_params)
    if not isinstance(estimator, Pipeline):
        return own.pop(WEIGHTS, None), sorted(own)
    last, _ = estimator.steps[-1]
    if not (get_config()["enable_metadata_routing"] and own):
        return own.pop(f"{last}__{WEIGHTS}", None), sorted(own)
    routed = process_routing(estimator, "fit", **own)
    weights = routed[last]["fit"].get(WEIGHTS)
    others = {
        f"{step}__{name}"
        for step, methods in routed.items()
        for got in methods.values()
        for name in got
        if (step, name) != (last, WEIGHTS)
    }
    return weights, sorted(others)

"""The held-out decision values that probabilities are made from, once a search is over, and the fit that gets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widemargin.estimators.calibration import METHODS
from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.kernels.rows import count
from widemargin.model_selection.grid.folds.classifier import PairwiseFold
from widemargin.model_selection.grid.setup import Unit, fit_parameters, model_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.runtime import single_threaded_blas


def out_of_fold(search: SharedSearch, candidate: int) -> OutOfFold:
    """Train a candidate on all folds, each time from the last; return what it says of the samples held out.

    These values are not kept while a search is under way, on whatever computers; nothing depends on a journal.
    """
    search.renew()
    found, start = OutOfFold(count(search.data.given)), None
    model = search.models[candidate]
    with single_threaded_blas():
        for number in range(len(search.data.folds)):
            try:
                stretch = search.stretch(Unit(number, (candidate,)), start, None, search.stop)
            except ValueError:
                continue  # of a fold that does not suit the model; scores have told
            if stretch is None:
                continue
            fold = search.samples.models(model, search.candidates.steps[candidate], number)
            start = None if search.data.folds_stand_alone else stretch.start
            assert isinstance(fold, PairwiseFold)
            for names, values in fold.named_values(model, [link.solution for link in stretch.links[-1]]):
                found.add(names, search.data.folds[number][1], values)
    return found


def fit_chosen(estimator: Any, X: Any, y: Any, fit_params: Mapping[str, Any], held_out: OutOfFold | None) -> None:
    """Fit what a search has chosen, an estimator or a pipeline; `held_out` values, if there are some, calibrate it."""
    if held_out is None:
        estimator.fit(X, y, **fit_params)
        return
    model = model_of(estimator)
    asked = {"calibration": model.calibration, "calibration_method": model.calibration_method}
    model.set_params(calibration=None, calibration_method=METHODS[0])  # a fit alone has nothing to calibrate with
    try:
        estimator.fit(X, y, **fit_params)
    finally:
        model.set_params(**asked)
    model._calibrate(held_out, y, fit_parameters(estimator, fit_params).weights)

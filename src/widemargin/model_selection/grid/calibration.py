"""The held-out decision values that probabilities are made from, once a search is over, and the fit that gets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.model_selection._search import BaseSearchCV

from widemargin.estimators.calibration import WITHOUT_PROBABILITIES
from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.kernels.rows import count
from widemargin.model_selection.grid.folds.classifier import PairwiseFold
from widemargin.model_selection.grid.setup import Unit, fit_parameters, model_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.runtime import single_threaded_blas


class Explained:
    """A method of a search that is there if its estimator has it; else the message says what the estimator says."""

    def __init__(self, name: str) -> None:
        self._inherited: Any = vars(BaseSearchCV)[name]
        self.__doc__ = self._inherited.__doc__

    def __get__(self, search: Any, owner: type | None = None) -> Any:
        try:
            return self._inherited.__get__(search, owner)
        except AttributeError as problem:
            reason: BaseException = problem
            while reason.__cause__ is not None:  # a pipeline between the two says nothing of its own
                reason = reason.__cause__
            said = f"{problem}: {reason}" if reason is not problem else str(problem)
            raise AttributeError(said) from problem.__cause__


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
    asked = {name: getattr(model, name) for name in WITHOUT_PROBABILITIES}
    model.set_params(**WITHOUT_PROBABILITIES)  # a fit alone has nothing to calibrate with
    try:
        estimator.fit(X, y, **fit_params)
    finally:
        model.set_params(**asked)
    model._calibrate(held_out, y, fit_parameters(estimator, fit_params).weights)

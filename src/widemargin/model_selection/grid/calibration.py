"""Probabilities and searches: who needs them when, and the held-out decision values that they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer

from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.kernels.rows import count
from widemargin.model_selection.grid.folds.classifier import PairwiseFold
from widemargin.model_selection.grid.setup import Unit, model_of, prefix_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.runtime import single_threaded_blas

FROM_SEARCH = "from-search"


def calibrations(estimator: Any, param_grid: Any = None) -> set[Any]:
    """Return the ways to probabilities that an estimator, and a grid of its parameters, ask for.

    Examples
    --------
    >>> from widemargin import SVC
    >>> calibrations(SVC(), {"C": [1, 2]}), calibrations(SVC(calibration="folds"))
    ({None}, {'folds'})
    """
    name, own = f"{prefix_of(estimator)}calibration", getattr(model_of(estimator), "calibration", None)
    grids = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid or [{}])
    return {value for grid in grids for value in grid.get(name, [own]) if isinstance(value, str | None)}


def why_alone(estimator: Any, param_grid: Any, scorers: Any) -> str | None:
    """Say why probabilities keep the candidates of a search from sharing work, if they do.

    Raises
    ------
    ValueError
        If scores need probabilities that there are only when the search is over.
    """
    kinds = calibrations(estimator, param_grid)
    asked = _asked_for(scorers)
    if asked is True and FROM_SEARCH in kinds:
        raise ValueError(
            f"calibration={FROM_SEARCH!r} makes probabilities when the search is over, and its scoring needs them "
            "before; pass calibration='folds', or a scoring without probabilities."
        )
    if asked is False or "folds" not in kinds:
        return None
    if asked is None:
        return "The scorer may ask for probabilities, which calibration='folds' finds for one model at a time"
    return "Scores need probabilities, which calibration='folds' finds for one model at a time"


def _asked_for(scorers: Any) -> bool | None:
    """Tell whether scorers ask for probabilities; None if nobody knows."""
    answers: set[bool | None] = set()
    for one in getattr(scorers, "_scorers", {"score": scorers}).values():
        if isinstance(one, _PassthroughScorer):
            answers.add(False)
        elif isinstance(one, _BaseScorer):
            method = one._response_method
            first = method if isinstance(method, str) else next(iter(method))
            answers.add(first in ("predict_proba", "predict_log_proba"))
        else:
            answers.add(None)
    return True if True in answers else None if None in answers else False


def require_shared(reason: str, estimator: Any, param_grid: Any) -> None:
    """Refuse to train models alone if decision values of the search are needed."""
    if FROM_SEARCH in calibrations(estimator, param_grid):
        raise ValueError(
            f"{reason}, so this search would train every model alone, where calibration={FROM_SEARCH!r} has no "
            "decision values to take; pass calibration='folds'."
        )


def provide_values(estimator: Any, search: SharedSearch, candidate: int) -> None:
    """Hand the decision values of held-out samples to a model that is to be refitted, if it wants them.

    They are those of the candidate on the folds of the search, where it is trained once more: they are not kept while a
    search is under way, on whatever computers. Nothing depends on what a journal held.
    """
    model = model_of(estimator)
    if getattr(model, "calibration", None) == FROM_SEARCH:
        model._take_out_of_fold(out_of_fold(search, candidate))


def out_of_fold(search: SharedSearch, candidate: int) -> OutOfFold:
    """Train a candidate on all folds, each time from the last; return what it says of the samples held out."""
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
            fold, start = search.fold(number), stretch.start
            assert isinstance(fold, PairwiseFold)
            for names, values in fold.named_values(model, [link.solution for link in stretch.links[-1]]):
                found.add(names, fold.test, values)
    return found

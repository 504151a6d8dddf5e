"""C for a kernel that is chosen: by cross-validation along one path of warm starts, kernel values computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.estimators.validation import without_gamma_warnings
from widemargin.model_selection.grid.calibration import out_of_fold
from widemargin.model_selection.grid.folds import Indices
from widemargin.model_selection.grid.grid_search import GridSearchCV
from widemargin.model_selection.grid.setup import model_of, prefix_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.growth import PERFECT, GrowthStep, best_of, grown
from widemargin.objectives import CrossValidation, Objective, Task
from widemargin.plans.ranges import c_values
from widemargin.runtime import Stop, Work, single_threaded_blas
from widemargin.study import JournalPart
from widemargin.study.report import SearchReport

#: Factor between neighbouring values of C, at most.
STEP = 4.0


class FixedFolds:
    """Folds that were drawn, in the place of the splitter that drew them; it may be an objective's own (None)."""

    def __init__(self, splitter: Any, folds: Sequence[tuple[Indices, Indices]]) -> None:
        self.splitter, self.folds = splitter, folds

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[tuple[Indices, Indices]]:
        """Give the folds; what a splitter may be told was told when they were drawn."""
        return iter(self.folds)

    def get_n_splits(self, X: Any = None, y: Any = None, **params: Any) -> int:
        """How many there are."""
        return len(self.folds)

    def get_metadata_routing(self) -> Any:
        """Ask for what the splitter asks for."""
        return (KFold() if self.splitter is None else self.splitter).get_metadata_routing()


def folds_of(objective: Objective, task: Task) -> FixedFolds:
    """Return the folds of an objective, for probabilities from the samples that they hold out.

    Examples
    --------
    >>> from widemargin.objectives import SpanBound
    >>> folds_of(SpanBound(), Task(np.zeros((4, 1)), np.array([0, 1, 0, 1]), 2, np.ones(4)))
    Traceback (most recent call last):
    ...
    ValueError: calibration='from-search' needs decision values of held-out samples, and objective='span' has no \
folds; pass calibration='folds'.
    """
    if isinstance(objective, CrossValidation):
        return FixedFolds(None, objective.splits(task))
    raise ValueError(
        "calibration='from-search' needs decision values of held-out samples, and "
        f"objective={objective.name!r} has no folds; pass calibration='folds'."
    )


class PathPoint(NamedTuple):
    """The mean score of a C, and what its models took."""

    C: float
    score: float
    work: Work


@dataclass(frozen=True)
class PricePath:
    """How C was chosen.

    Attributes
    ----------
    C, score : float
        The one that was chosen, the smallest of equals, and its mean score.
    points : list of PathPoint
        All that have a score.
    edge : str or None
        "smallest" or "largest" if a better one may lie beyond those that were tried.
    report : SearchReport
    """

    C: float
    score: float
    points: list[PathPoint]
    edge: str | None
    report: SearchReport


def price_path(
    estimator: Any,
    X: Any,
    y: Any,
    params: Mapping[str, Any],
    *,
    bounds: tuple[float, float] | None,
    unit: float,
    stop: Stop,
    part: Callable[[int], JournalPart | None],
    **how: Any,
) -> PricePath:
    """Choose C by cross-validation.

    Parameters
    ----------
    estimator : SVC, SVR or Pipeline
        With the kernel that is chosen.
    X, y, params
        What it is fitted with.
    bounds : pair of floats or None
        Range of C. None begins with :func:`widemargin.plans.ranges.c_values` and goes on beyond an edge that the best
        one lies on, as :func:`widemargin.select` does.
    unit : float
        What these values are multiplied by.
    stop : Stop
        When to end.
    part : callable (int) -> JournalPart or None
        Where the evaluations of the path, and of each time that it goes on, are kept.
    **how
        `cv`, `scoring`, `n_jobs` and `progress` of the search.

    Raises
    ------
    TimeoutError
        If time was up before a single C was finished.
    """
    name, own = f"{prefix_of(estimator)}C", _sharing(estimator)

    def searched(grid: Mapping[str, Any], number: int) -> GrowthStep:
        left = stop.seconds_left()
        if left is not None and left <= 0:
            raise TimeoutError
        step = GrowthStep(own, {name: list(grid[name])}, refit=False, max_time=left, journal=part(number), **how)
        with without_gamma_warnings():
            return step.fit(X, y, **params)

    axes = {name: c_values() * unit if bounds is None else spread(*bounds)}
    if bounds is None:
        perfect = PERFECT if how.get("scoring") in (None, "accuracy", "r2") else math.inf
        # Whether a larger C would change anything takes as many models to find out as to try it.
        searches, edges = grown(searched, lambda search: False, axes, perfect=perfect)
    else:
        searches = [searched(axes, 0)]
        edges = searches[0].edges_
    best = best_of(searches)
    return PricePath(
        C=float(best.best_params_[name]),
        score=float(best.best_score_),
        points=[point for search in searches for point in _points(search, name)],
        edge=edges.get(name),
        report=SearchReport.of_all([one.work_report_ for one in searches]),
    )


def held_out_values(estimator: Any, X: Any, y: Any, params: Mapping[str, Any], folds: FixedFolds) -> OutOfFold:
    """Train a model without the samples that each of the folds holds out; return its values there.

    Parameters
    ----------
    estimator : SVC or Pipeline
        With the kernel and the C that are chosen.
    X, y, params
        What it is fitted with.
    folds : FixedFolds
    """
    grid = {f"{prefix_of(estimator)}C": [model_of(estimator).C]}
    search = GridSearchCV(_sharing(estimator), grid, cv=folds)
    data, _, _ = search._search_data(X, y, params)
    with single_threaded_blas():
        return out_of_fold(SharedSearch(data), 0)


def spread(low: float, high: float) -> NDArray[np.float64]:
    """Return values from the lower to the upper bound, evenly spaced in logarithms, at a factor of 4 at most.

    Examples
    --------
    >>> spread(0.5, 100.0).round(3).tolist()
    [0.5, 1.88, 7.071, 26.591, 100.0]
    """
    count = math.ceil(round(math.log(high / low, STEP), 9)) + 1
    return np.geomspace(low, high, count)


def _sharing(estimator: Any) -> Any:
    """Return an estimator whose models share work: solvers and precisions differ by less than the tolerance."""
    own = clone(estimator)
    if isinstance(own, Pipeline):
        own.set_params(memory=None)
    machine = model_of(own).set_params(solver="auto", max_time=None)
    if hasattr(machine, "calibration"):
        # Probabilities are for the model that is chosen.
        machine.set_params(calibration=None, calibration_method="slope")
    return own


def _points(search: GrowthStep, name: str) -> list[PathPoint]:
    points, results, n_folds = [], search.cv_results_, search.n_splits_
    for candidate, params in enumerate(results["params"]):
        score = float(results["mean_test_score"][candidate])
        if math.isfinite(score):
            own = [search.found[number] for number in range(candidate * n_folds, (candidate + 1) * n_folds)]
            work = Work.total([one.work for one in own])
            seconds = work.seconds + sum([one.score_seconds for one in own])
            points.append(PathPoint(float(params[name]), score, replace(work, seconds=seconds)))
    return points

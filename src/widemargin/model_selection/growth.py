"""A search that grows: grids whose best candidate is on an edge go on a step beyond, for as long as that pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.model_selection.grid.grid_search import GridSearchCV
from widemargin.model_selection.grid.results import ROUNDING, edges, scored, smoothness
from widemargin.model_selection.grid.setup import Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.plans.ranges import beyond
from widemargin.runtime import Stop, single_threaded_blas
from widemargin.study.findings import Found

#: Times that a grid grows beyond an edge.
MOST_STEPS = 4

#: The best score that there is, of accuracy and of R^2.
PERFECT = 1.0


class GrowthStep(GridSearchCV):
    """A grid search that may be followed by another, over the same folds: that one begins with the kernels of this one.

    Its `journal` may be a part of another search's.
    """

    before: GrowthStep | None = None
    search: SharedSearch
    found: Found

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search with the kernels of the search before, if there was one; keep what was found, and the kernels."""
        samples = None if self.before is None else self.before.search.samples
        done = self._searched(X, y, params, samples, grows=samples is None)
        assert done is not None, "models that share nothing have no growing search"
        self.search, self.found = done
        if self.multimetric_:
            raise ValueError(
                "scoring must return one number, since a search that grows chooses by it; got scores by name."
            )
        return self

    def is_saturated(self, stop: Stop) -> bool:
        """Train the best candidate on every fold; tell whether no coefficient meets its bound C.

        Models of every larger C are the same then. Raises TimeoutError if there is no time to find out.
        """
        self.search.renew(stop)
        with single_threaded_blas():
            return all(self._is_unbounded(Unit(fold, (self.best_index_,)), stop) for fold in range(self.n_splits_))

    def _is_unbounded(self, unit: Unit, stop: Stop) -> bool:
        stretch = self.search.stretch(unit, None, None, stop)
        if stretch is None:
            raise TimeoutError
        solutions = [link.solution for link in stretch.links[-1]]
        if any(one.outcome.reason != "converged" for one in solutions):
            return False
        C = self.search.models[self.best_index_].C
        return all(float(np.max(np.abs(one.alpha), initial=0.0)) < C for one in solutions)


def grown(
    estimator: Any,
    axes: dict[str, NDArray[np.float64]],
    X: Any,
    y: Any,
    params: Mapping[str, Any] | None = None,
    *,
    stop: Stop,
    journal: Callable[[int], Any] | None = None,
    looks_ahead: bool = True,
    perfect: float = PERFECT,
    grows: bool = True,
    **how: Any,
) -> tuple[list[GrowthStep], dict[str, str]]:
    """Search a grid, then a step beyond its edges for as long as the best candidate is on one and that pays.

    A step does not pay if the score gains no more than its standard error, or if the step is harder than all before it
    together. None is taken where nothing better can lie: beyond a perfect score, and beyond a C that is saturated. A
    search that leaves something undone, because of the clock or of Ctrl-C, is the last one.

    Parameters
    ----------
    estimator : estimator whose models share work
    axes : dict
        Values of each parameter. They grow along.
    X, y, params
        What it is fitted with.
    stop : Stop
        When to end.
    journal : callable (int) -> path or JournalPart, optional
        Where the evaluations of the grid, and of each step beyond, are kept.
    looks_ahead : bool, default=True
        Whether models of the best C are trained once more, to see whether every larger one gives the same models.
    perfect : float
        The best score that there is.
    grows : bool, default=True
        Whether steps are taken at all.
    **how
        `cv`, `scoring`, `n_jobs` and `progress` of the searches.

    Returns
    -------
    searches : list of GrowthStep
    edges : dict
        Those of the best candidate beyond which something better may lie.

    Raises
    ------
    TimeoutError
        If time was up before a single candidate was finished.
    """
    searches: list[GrowthStep] = []
    grid, reached, axis = dict(axes), dict[str, str](), None
    for number in range(MOST_STEPS + 1 if grows else 1):
        try:
            left = stop.seconds_left()
            if left is not None and left <= 0:
                raise TimeoutError
            kept = None if journal is None else journal(number)
            step = GrowthStep(estimator, grid, refit=False, max_time=left, journal=kept, **how)
            step.before = searches[-1] if searches else None
            searches.append(step.fit(X, y, **(params or {})))
            reached = _edges(searches, perfect)
            if step.work_report_.unfinished:
                break
            for name, edge in list(reached.items()):
                is_price = name.rpartition("__")[2] == "C"
                if looks_ahead and is_price and edge == "largest" and best_of(searches).is_saturated(stop):
                    del reached[name]
        except (TimeoutError, KeyboardInterrupt):
            if not searches:
                raise
            break
        if axis is not None and not _gained(searches):
            reached.pop(axis, None)
            break
        if not reached or not _was_cheap(searches):
            break
        axis, edge = next(iter(reached.items()))
        more = np.array([beyond(axes[axis], edge)])
        grid = {**axes, axis: more}
        axes[axis] = np.unique(np.concatenate([axes[axis], more]))
    return searches, reached


def _gained(searches: list[GrowthStep]) -> bool:
    """Tell whether the last search is better than those before, by more than the standard error of their score."""
    *before, last = searches
    best = best_of(before)
    return float(last.best_score_) - float(best.best_score_) > standard_error(best)


def _was_cheap(searches: list[GrowthStep]) -> bool:
    """Tell whether the last search, unless it is the first, took no more steps than those before together."""
    *before, last = (one.work_report_.iterations for one in searches)
    return not before or last <= sum(before)


def standard_error(search: GrowthStep) -> float:
    """Return the standard error of the best score; 0 for a single fold, which does not tell."""
    # scikit-learn divides by the number of folds, not by one less.
    deviation = float(search.cv_results_["std_test_score"][search.best_index_])
    return deviation / float(np.sqrt(max(1, search.n_splits_ - 1)))


def best_of(searches: list[GrowthStep]) -> GrowthStep:
    """Return the search that holds the best candidate of all, the smoothest of equals."""
    return min(searches, key=lambda one: (-round(float(one.best_score_), 12), *smoothness(one.best_params_)))


def _edges(searches: list[GrowthStep], perfect: float) -> dict[str, str]:
    """Name the parameters of the best candidate that are at an edge of all that have a score; none if it is perfect."""
    best = best_of(searches)
    if best.best_score_ >= perfect - ROUNDING:
        return {}
    return edges([params for one in searches for params in scored(one.cv_results_)], best.best_params_)

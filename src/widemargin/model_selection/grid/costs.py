"""What the models of a search cost from nothing and from each other, measured on its first fold [Timm2009, 3.2]."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from widemargin.machines.dual import Solution
from widemargin.model_selection.grid.folds.base import Start
from widemargin.model_selection.grid.paths.walks import require_starts
from widemargin.model_selection.grid.setup import SearchData, Unit, model_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.plans import CostMatrix, GridGraph, measure_costs, operations, seconds
from widemargin.runtime import FAILED, FINISHED, INTERRUPTED, TIME_IS_UP, Stop, Work, single_threaded_blas
from widemargin.study import Progress

#: Costs that have a name.
COSTS: dict[str, Callable[[Work], float]] = {"operations": operations, "seconds": seconds}


def measure_search(data: SearchData, cost: Any, stop: Stop, progress: Progress) -> CostMatrix:
    """Train every candidate of a search from nothing and from each of its neighbours, and count what that takes.

    Parameters
    ----------
    data : SearchData
        Its first fold is trained on.
    cost : {"operations", "seconds"} or callable (Work) -> float
    stop : Stop
    progress : Progress
        Told of every model.

    Raises
    ------
    TimeoutError, KeyboardInterrupt
        If the measurement ends before all costs are known.
    """
    if not callable(cost) and not (isinstance(cost, str) and cost in COSTS):
        names = ", ".join(map(repr, COSTS))
        raise ValueError(f"cost must be {names} or a function of a widemargin.runtime.Work; got {cost!r}.")
    require_starts("measure_costs", model_of(data.estimator))
    graph = GridGraph.from_candidates(data.candidates)
    measurement = _Measurement(data, stop, progress, len(graph) + len(graph.edges()))
    counted = COSTS[cost] if isinstance(cost, str) else cost
    reason = FAILED
    try:
        with single_threaded_blas():
            progress.start(measurement.models)
            costs = measure_costs(graph, measurement.solve, counted, measurement.order)
            reason = FINISHED
    except KeyboardInterrupt:
        reason = INTERRUPTED
        raise KeyboardInterrupt(f"Interrupted after {measurement} were measured; a plan needs all of them.") from None
    except TimeoutError:
        reason = TIME_IS_UP
        raise TimeoutError(
            f"max_time was over after {measurement} were measured, and a plan needs all of them; allow more."
        ) from None
    finally:
        progress.finish(reason)
    if measurement.ended_early:
        warnings.warn(
            f"{measurement.ended_early} of {measurement.models} fits ended before the tolerance was met "
            "(iteration budget), and their costs with them; raise max_iter, or widen tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return costs


class _Solved(NamedTuple):
    node: int
    start: Start


class _Measurement:
    """Models of the first fold, trained one after the other; `str` says how many of them are done."""

    def __init__(self, data: SearchData, stop: Stop, progress: Progress, models: int) -> None:
        self._search = SharedSearch(replace(data, plan="cold", raises=True), stop)
        self._progress = progress
        self.models, self.done, self.ended_early = models, 0, 0
        self._seconds = 0.0
        #: Those that share a kernel side by side.
        self.order = [node for line in self._search.candidates.lines for node in line]

    def __str__(self) -> str:
        return f"{self.done} of {self.models} models"

    def solve(self, node: int, start: _Solved | None) -> tuple[_Solved, Work]:
        """Train a candidate from nothing or from another one, as a search would."""
        began = time.perf_counter()
        follows = start is not None and self._search.candidates.may_follow(start.node, node)
        unit = Unit(0, (start.node, node) if start is not None and follows else (node,))
        self._search.make_kernel(unit)
        stretch = self._search.stretch(unit, None if start is None else start.start, None, self._search.stop)
        if stretch is None:
            raise TimeoutError
        own = [link.solution for link in stretch.links[-1]]
        self.ended_early += any(one.outcome.reason != "converged" for one in own)
        self._tell(time.perf_counter() - began)
        return _Solved(node, stretch.start), _work(own)

    def _tell(self, took: float) -> None:
        self.done += 1
        self._seconds += took
        left = (self.models - self.done) * self._seconds / self.done
        self._progress.advance(1, took, left, None)


def _work(solutions: list[Solution]) -> Work:
    """Add up what the functions of a model took; a step goes through an entry of every variable."""
    scans = sum(one.outcome.iterations * len(one.alpha) for one in solutions)
    return replace(Work.total(one.outcome for one in solutions), scans=scans)

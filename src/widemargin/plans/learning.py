"""Starts chosen while a search runs, from what its solves have cost so far."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from widemargin.plans.graph import Step
from widemargin.plans.plan import Plan


class LearningPlan:
    """Choose every start from what the search has measured so far; the more it has seen, the better.

    The cost of an edge is predicted from its orientation and its end: the mean over the axes of the mean cost that
    edges of this orientation had there. Where none was measured at a position, the nearest one counts, times the growth
    in between that other orientations had. An orientation that was never tried is predicted to cost nothing, so that it
    is tried once. The same sequence of costs leads to the same choices.

    Parameters
    ----------
    prior : Plan
        Its graph is searched; its parents win where predictions are equal.

    Examples
    --------
    >>> from widemargin.plans import GridGraph, heuristic_plan
    >>> graph = GridGraph.from_candidates([{"C": C, "gamma": g} for g in (0.1, 1.0) for C in (1, 10, 100)])
    >>> plan = LearningPlan(heuristic_plan(graph))
    >>> for edge, cost in [((None, 0), 50.0), ((0, 1), 5.0), ((0, 3), 30.0)]:
    ...     plan.learn(edge, cost)
    >>> plan.next_start(4, solved={0, 1, 3}), plan.predict((1, 4))
    (3, 30.0)
    """

    def __init__(self, prior: Plan) -> None:
        self.prior, self.graph = prior, prior.graph
        self._means: dict[Step | None, list[dict[int | None, _Mean]]] = {}

    def next_start(self, node: int, solved: Set[int]) -> int | None:
        """Return the solved neighbour from which `node` is predicted to cost least, or None to start from nothing."""
        starts = [near for near in self.graph.neighbours(node) if near in solved]
        if not starts:
            return None
        # The costs of starting from nothing need no exploring: the first node has to do it anyway.
        best = min(starts, key=lambda start: (self.predict((start, node)), start != self.prior.parents[node]))
        return None if None in self._means and self.predict((None, node)) < self.predict((best, node)) else best

    def learn(self, edge: tuple[int | None, int], cost: float) -> None:
        """Take note of what it cost to solve the second node of an edge from the first, or from nothing (None)."""
        start, node = edge
        step = None if start is None else self.graph.step(start, node)
        means = self._means.setdefault(step, [{} for _ in self.graph.axes])
        for seen, position in zip(means, self.graph.coordinates[node], strict=True):
            seen.setdefault(position, _Mean()).add(cost)

    def predict(self, edge: tuple[int | None, int]) -> float:
        """Predict the cost of an edge."""
        start, node = edge
        means = self._means.get(None if start is None else self.graph.step(start, node))
        if means is None or not self.graph.axes:
            return 0.0
        found = []
        for at, position in enumerate(self.graph.coordinates[node]):
            nearest = min(means[at], key=lambda seen: _distance(seen, position))
            found.append(means[at][nearest].value * self._growth(at, nearest, position))
        return sum(found) / len(found)

    def _growth(self, at: int, start: int | None, end: int | None) -> float:
        """Multiply what costs grew by from position to position on an axis, as far as it was seen."""
        if start is None or end is None:
            return 1.0
        growth = 1.0
        for low in range(min(start, end), max(start, end)):
            pairs = [
                (means[at][low].value, means[at][low + 1].value)
                for means in self._means.values()
                if low in means[at] and low + 1 in means[at]
            ]
            ratios = [after / before for before, after in pairs if before > 0 and after > 0]
            growth *= float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
        return growth if end > start else 1 / growth


@dataclass
class _Mean:
    total: float = 0.0
    number: int = 0

    def add(self, value: float) -> None:
        self.total, self.number = self.total + value, self.number + 1

    @property
    def value(self) -> float:
        return self.total / self.number


def _distance(seen: int | None, position: int | None) -> tuple[float, int]:
    """Order positions by how far they are, the smaller one of two first."""
    if seen is None or position is None:
        return (0.0 if seen is position else float("inf")), 0
    return abs(seen - position), seen

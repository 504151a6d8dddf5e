"""A strategy at work on an objective: asked for points, told values, written to a journal, shown, ended in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from widemargin.runtime import FAILED, FINISHED, INTERRUPTED, STOPPED, Stop, StoppedError
from widemargin.strategies import Ask, StrategyRun, Told
from widemargin.study.finding_log import FindingLog
from widemargin.study.point_evaluation import Finding, PointEvaluator, Vector, why_ended
from widemargin.study.progress import Progress, SilentProgress
from widemargin.study.trace import Trace

#: Seconds between two calls of a display.
PAUSE = 0.05


@dataclass
class StrategySearch:
    """Runs a strategy to its end, or to that of time.

    Parameters
    ----------
    strategy : StrategyRun
    evaluator : PointEvaluator
    log : FindingLog
        Evaluations that it knows are not repeated.
    trace : Trace
        Gets every evaluation.
    stop : Stop
    progress : Progress
    greater_is_better : bool
    max_evaluations : int or None
        The search ends before points that would exceed this number.
    told : callable (int) -> bool, optional
        Gets the number of every evaluation; returns whether the search is to stop.

    Attributes
    ----------
    ended : str
        Why it ended, in words.
    cut_short : bool
        Whether that was before its time: neither the strategy nor `max_evaluations` said so.
    n_told : int
        Evaluations that the strategy was told of.
    notes : dict
        What evaluations had to say, and how many said it.
    """

    strategy: StrategyRun
    evaluator: PointEvaluator
    log: FindingLog
    trace: Trace
    stop: Stop
    progress: Progress
    greater_is_better: bool
    max_evaluations: int | None = None
    told: Callable[[int], bool] | None = None
    ended: str = FAILED
    cut_short: bool = True
    n_told: int = 0
    notes: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Ask, evaluate and tell, until there is nothing left to ask for."""
        shown = _Shown(self.progress, self.greater_is_better)
        shown.start(self.strategy.expected_evaluations, self.max_evaluations)
        try:
            while asks := self.strategy.ask():
                if self.max_evaluations is not None and self.n_told + len(asks) > self.max_evaluations:
                    self.ended, self.cut_short = f"max_evaluations={self.max_evaluations} reached", False
                    if self.n_told < self.max_evaluations:
                        self.ended = (
                            f"max_evaluations={self.max_evaluations} leaves no room for the next {len(asks)} "
                            f"evaluations, after {self.n_told}"
                        )
                    return
                found = self._evaluated([self._own(ask) for ask in asks], shown)
                self.strategy.tell([self._as_told(one) for one in found])
                self.n_told += len(found)
                self.stop.check()
            self.ended, self.cut_short = self.strategy.reason or FINISHED, False
        except StoppedError as error:
            self.stop.request(why_ended(error))
            self.ended = str(self.stop.reason)
        except KeyboardInterrupt:
            self.stop.request(INTERRUPTED)
            self.ended = INTERRUPTED
        finally:
            shown.finish(self.ended if self.cut_short else FINISHED)

    def _own(self, ask: Ask) -> Ask:
        """Copy a point, which its strategy may go on with; the only part of an objective is the objective."""
        return Ask(np.array(ask.point, dtype=np.float64), None if self.evaluator.n_parts == 1 else ask.part)

    def _evaluated(self, asks: Sequence[Ask], shown: _Shown) -> list[Finding]:
        """Evaluate points that are asked for together, or know their values; keep what is finished, come what may."""
        first = self.n_told
        found: dict[int, Finding] = {}
        for number, ask in enumerate(asks, start=first):
            if number in self.log.known:
                found[number] = self._known(number, ask)
                shown.advance(found[number], 0.0)

        def finished(one: Finding) -> None:
            found[one.number] = one
            self.log.add(one)
            shown.advance(one, one.seconds)

        try:
            self.evaluator.evaluate(first, asks, self.log.known, finished)
        finally:
            for number in sorted(found):
                self._keep(found[number])
        return [found[number] for number in range(first, first + len(asks))]

    def _known(self, number: int, ask: Ask) -> Finding:
        one = self.log.known[number]
        if one.part != ask.part or not np.array_equal(one.point, ask.point):
            self.log.refuse(
                number,
                f"where evaluation {number} is at another point than the one that this search comes to (with another "
                "max_evaluations, say, another release, or on another processor)",
            )
        return one

    def _keep(self, one: Finding) -> None:
        self.trace.add(one)
        for note in one.notes:
            self.notes[note] = self.notes.get(note, 0) + 1
        if self.told is not None and self.told(one.number):
            self.stop.request(STOPPED)

    def _as_told(self, one: Finding) -> Told:
        """Turn a finding so that smaller is better; a gradient that is no direction makes a point without a value."""
        if one.gradient is not None and not np.isfinite(one.gradient).all():
            return Told(np.nan)
        if not self.greater_is_better:
            return Told(one.value, one.gradient, one.higher)
        gradient = None if one.gradient is None else -one.gradient
        return Told(-one.value, gradient, tuple(-number for number in one.higher))

    def chosen(self) -> Vector | None:
        """Return the point that the search chooses; None if it knows of none.

        That is the strategy's choice. Of a first question that was not answered as a whole it is the best answer.
        """
        if self.n_told:
            known = bool(np.isfinite(self.trace["value"]).any())
            return np.array(self.strategy.best, dtype=np.float64) if known else None
        values = np.where(self.trace["part"] == -1, self.trace["value"], np.nan)
        if not np.isfinite(values).any():
            return None
        best = np.nanargmax(values) if self.greater_is_better else np.nanargmin(values)
        return np.array(self.trace.points[best])

    def value_at(self, point: Vector) -> float:
        """Return the value of the objective at the point that was chosen; NaN if there is no time to find out.

        That is what was found there, on average if more than once; or, if the strategy never asked for it, the value
        of one further evaluation.
        """
        here = (self.trace.points == point).all(axis=1) & (self.trace["part"] == -1)
        if here.any():
            return float(self.trace["value"][here].mean())
        found = self.log.value_of(self.n_told, point)
        if found is None:
            try:
                found = self.evaluator.value_at(self.n_told, point)
            except (StoppedError, KeyboardInterrupt) as error:
                self.stop.request(why_ended(error))
                self.ended, self.cut_short = str(self.stop.reason), True
                return float("nan")
            self.log.add(found, chosen=True)
        self._keep(found)
        return found.value


class _Shown:
    """Tells a display of evaluations, not more often than anybody could read."""

    def __init__(self, progress: Progress, greater_is_better: bool) -> None:
        self._progress, self._sign = progress, -1.0 if greater_is_better else 1.0
        self._silent = isinstance(progress, SilentProgress)
        self._total: int | None = None
        self._done = self._paid = self._new = 0
        self._cost = self._new_cost = 0.0
        self._best: float | None = None
        self._next = 0.0

    def start(self, expected: int | None, limit: int | None) -> None:
        known = [number for number in (expected, limit) if number is not None]
        self._total = min(known, default=None)
        self._progress.start(self._total)

    def advance(self, one: Finding, cost: float) -> None:
        if self._silent:
            return
        self._new += 1
        self._paid += cost > 0
        self._new_cost += cost
        if one.part is None and np.isfinite(one.value):
            better = self._best is None or self._sign * one.value < self._sign * self._best
            self._best = one.value if better else self._best
        if time.perf_counter() >= self._next:
            self._show()

    def _show(self) -> None:
        new, cost, self._new, self._new_cost = self._new, self._new_cost, 0, 0.0
        self._done, self._cost = self._done + new, self._cost + cost
        left = None
        if self._total is not None and self._paid:
            left = max(0, self._total - self._done) * self._cost / self._paid
        self._next = time.perf_counter() + PAUSE
        self._progress.advance(new, cost, left, self._best)

    def finish(self, reason: str) -> None:
        if not self._silent and self._new:
            self._show()
        self._progress.finish(reason)

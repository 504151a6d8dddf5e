"""The points that a strategy asks for, as what a search proposes: an objective is evaluated there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from widemargin.runtime import FINISHED, Stop, StoppedError
from widemargin.runtime.stopping import why_ended
from widemargin.strategies import Ask, StrategyRun, Told
from widemargin.study.findings import Finding, Findings, Vector
from widemargin.study.point_evaluation import PointEvaluator
from widemargin.study.trace import Trace


class StrategySearch:
    """Proposes what a strategy asks for, until that or a number of evaluations ends it.

    Parameters
    ----------
    strategy : StrategyRun
    evaluator : PointEvaluator
    trace : Trace
        Gets every evaluation.
    stop : Stop
        The search ends before points that would exceed its `max_evaluations`.
    greater_is_better : bool

    Attributes
    ----------
    n_told : int
        Evaluations that the strategy was told of.
    notes : dict
        What evaluations had to say, and how many said it.
    """

    def __init__(
        self, strategy: StrategyRun, evaluator: PointEvaluator, trace: Trace, stop: Stop, *, greater_is_better: bool
    ) -> None:
        self.strategy, self.evaluator, self.trace = strategy, evaluator, trace
        self._stop, self._greater_is_better = stop, greater_is_better
        self._full: str | None = None
        self.n_told = 0
        self.notes: dict[str, int] = {}

    def close(self) -> None:
        """Let the threads of the evaluator go."""
        self.evaluator.close()

    @property
    def expected(self) -> int | None:
        """How many evaluations there will be, if anybody knows."""
        known = [self.strategy.expected_evaluations, self._stop.max_evaluations]
        return min((number for number in known if number is not None), default=None)

    @property
    def unfinished(self) -> str | None:
        """None: a strategy is done when it asks for nothing."""
        return None

    @property
    def reason(self) -> str:
        """Why there is nothing left to ask for."""
        return self._full or self.strategy.reason or FINISHED

    def propose(self) -> list[Ask]:
        """Ask the strategy; nothing, if that would exceed the number of evaluations."""
        asks, most = self.strategy.ask(), self._stop.max_evaluations
        if asks and most is not None and self.n_told + len(asks) > most:
            self._full = f"max_evaluations={most} reached"
            if self.n_told < most:
                self._full = (
                    f"max_evaluations={most} leaves no room for the next {len(asks)} evaluations, after {self.n_told}"
                )
            return []
        # Points are copied, since their strategy may go on with them; the only part of an objective is the objective.
        whole = self.evaluator.n_parts == 1
        return [Ask(np.array(ask.point, dtype=np.float64), None if whole else ask.part) for ask in asks]

    def evaluate(self, batch: Sequence[Ask], findings: Findings) -> None:
        """Evaluate points that are asked for together, or know their values; keep what is finished, come what may."""
        first = self.n_told
        numbers = range(first, first + len(batch))
        try:
            for number, ask in zip(numbers, batch, strict=True):
                if number in findings.known:
                    self._require_same(number, ask, findings)
                    findings.take(findings.known[number])
            self.evaluator.evaluate(first, batch, findings.known, findings.take)
        finally:
            found = [findings.found[number] for number in numbers if number in findings.found]
            for one in found:
                self._keep(one)
        findings.check()
        self.strategy.tell([self._as_told(one) for one in found])
        self.n_told += len(found)

    def _require_same(self, number: int, ask: Ask, findings: Findings) -> None:
        one = findings.known[number]
        if one.part != ask.part or one.point is None or not np.array_equal(one.point, ask.point):
            findings.refuse(
                number,
                f"where evaluation {number} is at another point than the one that this search comes to (with another "
                "max_evaluations, say, another release, or on another processor)",
            )

    def _keep(self, one: Finding) -> None:
        self.trace.add(one)
        for note in one.notes:
            self.notes[note] = self.notes.get(note, 0) + 1

    def _as_told(self, one: Finding) -> Told:
        """Turn a finding so that smaller is better; a gradient that is no direction makes a point without a value."""
        if one.gradient is not None and not np.isfinite(one.gradient).all():
            return Told(np.nan)
        if not self._greater_is_better:
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
        best = np.nanargmax(values) if self._greater_is_better else np.nanargmin(values)
        return np.array(self.trace.points[best])

    def value_at(self, point: Vector, findings: Findings) -> float:
        """Return the value of the objective at the point that was chosen; NaN if there is no time to find out.

        That is what was found there, on average if more than once; or, if the strategy never asked for it, the value
        of one further evaluation.
        """
        here = (self.trace.points == point).all(axis=1) & (self.trace["part"] == -1)
        if here.any():
            return float(self.trace["value"][here].mean())
        found = findings.value_of(self.n_told, point)
        if found is None:
            try:
                found = self.evaluator.value_at(self.n_told, point)
            except (StoppedError, KeyboardInterrupt) as error:
                self._stop.request(why_ended(error))
                return float("nan")
            with findings:
                findings.keep(found)
        self._keep(found)
        return float(found.value)

"""The points that a strategy asks for, as what a search proposes: an objective is evaluated there, the same every time.

Models of an evaluation start where those of the last one ended. What they started from is not written to journals;
instead every 16th evaluation starts from nothing, so that an interrupted search regains it by repeating fifteen
evaluations at most. Points that are asked for together start from the same place, that of the evaluation before them,
and the last of them says where the next ones start: nothing depends on which of them is finished first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.objectives import BoundObjective, Evaluated, Objective
from widemargin.objectives.base import How, Place
from widemargin.runtime import FINISHED, Allowance, Stop, StoppedError
from widemargin.runtime.stopping import why_ended
from widemargin.strategies import Ask, StrategyRun, Told
from widemargin.study.findings import Finding, Findings, Vector
from widemargin.study.trace import Trace

#: Evaluations from one that starts from nothing to the next.
ANCHOR = 16

#: Evaluations that wait for each thread: enough that none waits for the next, few enough to wait for all of them.
AHEAD = 16


@dataclass(frozen=True)
class Wanted:
    """What a strategy wants to know at a point.

    Parameters
    ----------
    gradient, higher : bool
        Derivatives; those with respect to the scale of the kernel, of higher order too.
    places : ndarray of int, optional
        Which of the kernel's parameters are coordinates of points; all of them by default.
    with_c : bool
        Whether log C is a coordinate too.
    """

    gradient: bool = False
    higher: bool = False
    places: NDArray[np.intp] | None = None
    with_c: bool = False


class StrategySearch:
    """Proposes what a strategy asks for, until that or a number of evaluations ends it, and evaluates an objective.

    Parameters
    ----------
    strategy : StrategyRun
    objective : Objective
    bound : BoundObjective
        The objective, prepared for `n_threads` threads.
    bound_to_one : callable () -> BoundObjective
        Prepares it for one thread.
    at : callable (Ask) -> Place and its origin
        Says what a point stands for.
    wanted : Wanted
    trace : Trace
        Gets every evaluation.
    stop : Stop
        The search ends before points that would exceed its `max_evaluations`.
    seed : int
        The random numbers of an evaluation follow from this and its number.
    n_threads : int
        Points that are asked for together are evaluated so many at a time; a point by itself gets all threads.

    Attributes
    ----------
    n_told : int
        Evaluations that the strategy was told of.
    notes : dict
        What evaluations had to say, and how many said it.
    """

    #: Nothing is ever missing: a strategy is done when it asks for nothing.
    unfinished: str | None = None

    def __init__(
        self,
        strategy: StrategyRun,
        objective: Objective,
        bound: BoundObjective,
        bound_to_one: Callable[[], BoundObjective],
        at: Callable[[Ask], tuple[Place, Place | None]],
        wanted: Wanted,
        trace: Trace,
        stop: Stop,
        *,
        seed: int,
        n_threads: int,
    ) -> None:
        self.strategy, self.trace = strategy, trace
        self._objective, self._bound, self._bound_to_one = objective, bound, bound_to_one
        self._keeps_state = objective.trains_models and bound.keeps_state
        self._at, self._wanted, self._stop, self._seed, self._n_threads = at, wanted, stop, seed, n_threads
        self._side_by_side: tuple[ThreadPoolExecutor, BoundObjective] | None = None
        self._state: Any = None
        self._skipped: list[tuple[int, Ask]] = []  # known evaluations since the one that the state is of
        self._full: str | None = None
        self.n_told = 0
        self.notes: dict[str, int] = {}

    def close(self) -> None:
        """Let its threads go."""
        if self._side_by_side is not None:
            self._side_by_side[0].shutdown(wait=True, cancel_futures=True)
            self._side_by_side = None

    @property
    def expected(self) -> int | None:
        """How many evaluations there will be, if anybody knows."""
        own, most = self.strategy.expected_evaluations, self._stop.max_evaluations
        return own if most is None else most if own is None else min(own, most)

    @property
    def reason(self) -> str:
        """Why there is nothing left to ask for."""
        return self._full or self.strategy.reason or FINISHED

    def propose(self) -> Sequence[Ask]:
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
        whole = self._bound.n_parts == 1
        origins = {id(ask.origin): np.array(ask.origin, dtype=np.float64) for ask in asks if ask.origin is not None}
        return [
            Ask(np.array(ask.point, dtype=np.float64), None if whole else ask.part, origins.get(id(ask.origin)))
            for ask in asks
        ]

    def evaluate(self, batch: Sequence[Ask], findings: Findings) -> None:
        """Evaluate points that are asked for together, or know their values; save what is finished, whatever happens.

        Raises
        ------
        StoppedError
            If the search has to end; what is finished has been handed over then.
        """
        first, found, known = self.n_told, findings.found, findings.known
        numbers = range(first, first + len(batch))
        missing = []
        try:
            for number, ask in zip(numbers, batch, strict=True):
                if number in known:
                    self._require_same(number, ask, findings)
                    findings.take(known[number])
                else:
                    missing.append((number, ask))
            self._evaluate(numbers, batch[-1], missing, findings)
        finally:
            told = []
            for number in numbers:
                if number in found:
                    self._keep(found[number])
                    told.append(self._as_told(found[number]))
        findings.check()
        self.strategy.tell(told)
        self.n_told += len(told)

    def _evaluate(self, numbers: range, last: Ask, missing: Sequence[tuple[int, Ask]], findings: Findings) -> None:
        """Evaluate what is missing of points that were asked for together, each as soon as the last one is taken."""
        if numbers[0] // ANCHOR != numbers[-1] // ANCHOR or numbers[0] % ANCHOR == 0:
            self._state, self._skipped = None, []
        if not missing:
            self._skipped.append((numbers[-1], last))
            return
        if self._skipped:
            self._regain()
        after = None
        if len(missing) == 1 or self._n_threads == 1:
            for number, ask in missing:
                finding, after = self._one(self._bound, number, ask, self._state, self._wanted)
                findings.take(finding)
        else:
            with closing(self._in_threads(missing)) as results:
                for finding, state in results:
                    findings.take(finding)
                    after = state if finding.number == numbers[-1] else after
        if missing[-1][0] == numbers[-1]:
            self._state = after
        else:
            self._skipped = [(numbers[-1], last)]

    def _in_threads(self, missing: Sequence[tuple[int, Ask]]) -> Generator[tuple[Finding, Any], None, None]:
        """Yield findings and the states after them, as they come."""
        if self._side_by_side is None:
            bound = self._bound_to_one()
            self._side_by_side = ThreadPoolExecutor(self._n_threads, thread_name_prefix="widemargin"), bound
        threads, bound = self._side_by_side
        waiting = iter(missing)
        left: set[Future[tuple[Finding, Any]]] = set()

        def submit(count: int) -> None:
            for number, ask in islice(waiting, count):
                left.add(threads.submit(self._one, bound, number, ask, self._state, self._wanted))

        try:
            submit(AHEAD * self._n_threads)
            while left:
                # A signal that another thread took is heard between two waits, not within one.
                done, _ = wait(left, timeout=0.05, return_when=FIRST_COMPLETED)
                submit(len(done))
                for one in done:
                    yield one.result()
                    left.remove(one)
        except BaseException as error:
            self._stop.request(why_ended(error))
            for one in left:
                one.cancel()
            wait(left)
            if not isinstance(error, GeneratorExit):
                yield from [one.result() for one in left if not one.cancelled() and one.exception() is None]
            raise

    def _regain(self) -> None:
        """Repeat evaluations that a journal knew, for where their models ended."""
        for number, ask in self._skipped if self._keeps_state else ():
            _, self._state = self._one(self._bound, number, ask, self._state, self._wanted)
        self._skipped = []

    def _one(self, bound: BoundObjective, number: int, ask: Ask, state: Any, wanted: Wanted) -> tuple[Finding, Any]:
        self._stop.check()
        (kernel, C, level), origin = self._at(ask)
        generator = None if self._objective.deterministic else np.random.default_rng([self._seed, number])
        began = time.perf_counter()
        how: How = {"generator": generator, "state": state, "part": ask.part}
        if level is not None:
            how["level"] = level
        if origin is not None:
            how["origin"] = origin
        allowance = Allowance(self._n_threads if bound is self._bound else 1, self._stop)
        found = allowance.run(bound.evaluate, kernel, C, gradient=wanted.gradient, **how)
        work = replace(found.work, seconds=time.perf_counter() - began)
        gradient, higher = self._slopes(found, wanted)
        finding = Finding(
            number,
            float(found.value),
            work,
            found.notes,
            point=self.trace.kept.packed(ask.point),
            part=ask.part,
            gradient=gradient,
            higher=higher,
            measures=found.measures or None,
        )
        return finding, found.state if self._keeps_state else None

    def _slopes(self, found: Evaluated, wanted: Wanted) -> tuple[Vector | None, tuple[float, ...]]:
        """Put derivatives into the order of the point."""
        if not wanted.gradient:
            return None, ()
        if wanted.higher:
            first, *others = found.higher
            return np.array([first]), tuple(map(float, others))
        slopes, slope = found.gradient, found.c_slope
        if slopes is None or (wanted.with_c and slope is None):
            raise RuntimeError(f"The objective {self._objective.name!r} gave no gradient where it was asked for one.")
        if wanted.places is not None:
            slopes = slopes[wanted.places]
        return slopes if slope is None or not wanted.with_c else np.append(slopes, slope), ()

    def _require_same(self, number: int, ask: Ask, findings: Findings) -> None:
        one = findings.known[number]
        if (
            one.part != ask.part
            or one.point is None
            or not np.array_equal(one.point, self.trace.kept.packed(ask.point))
        ):
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
        if not self._objective.greater_is_better:
            return Told(one.value, one.gradient, one.higher)
        gradient = None if one.gradient is None else -one.gradient
        return Told(-one.value, gradient, tuple([-number for number in one.higher]) if one.higher else ())

    def chosen(self) -> Vector | None:
        """Return the point that the search chooses; None if it knows of none.

        That is the strategy's choice, unless that is one of the points and a better one was found in answer to a
        question that the strategy has no whole answer to.
        """
        choice = None
        if self.n_told:
            if not np.isfinite(self.trace.values).any():
                return None
            choice = np.array(self.strategy.best, dtype=np.float64)
            if self.trace.n_evaluations == self.n_told:
                return choice
        usable = (self.trace.parts == -1) & np.isfinite(self.trace.values)
        points, values = self.trace.points[usable], self.trace.values[usable]
        values = values if self._objective.greater_is_better else -values
        if choice is not None:
            here = (points == self.trace.kept.packed(choice)).all(axis=1)
            if not here.any() or values[here].max() == values.max():
                return choice
        return self.trace.kept.whole(points[values.argmax()]) if len(values) else None

    def value_at(self, point: Vector, findings: Findings) -> float:
        """Return the value of the objective at the point that was chosen; NaN if there is no time to find out.

        That is what was found there, on average if more than once; or, if the strategy never asked for it, the value
        of one further evaluation, from nothing and without derivatives.
        """
        kept = self.trace.kept.packed(point)
        here = (self.trace.points == kept).all(axis=1) & (self.trace.parts == -1)
        if here.any():
            return float(self.trace.values[here].mean())
        found = findings.value_of(self.n_told, kept)
        if found is None:
            try:
                found = self._one(self._bound, self.n_told, Ask(point), None, Wanted())[0]._replace(chosen=True)
            except (StoppedError, KeyboardInterrupt) as error:
                self._stop.request(why_ended(error))
                return float("nan")
            with findings:
                findings.keep(found)
        self._keep(found)
        return float(found.value)

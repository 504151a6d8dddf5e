"""An objective, evaluated at the points that a strategy asks for: in threads, from warm starts, the same every time.

Machines of an evaluation start where those of the last one ended. What they started from is not written to journals;
instead every 16th evaluation starts from nothing, so that an interrupted search regains it by repeating fifteen
evaluations at most. Points that are asked for together start from the same place, that of the evaluation before them,
and the last of them says where the next ones start: nothing depends on which of them is finished first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import Kernel
from widemargin.objectives import BoundObjective, Evaluated, Objective
from widemargin.runtime import Stop
from widemargin.runtime.stopping import why_ended
from widemargin.strategies import Ask
from widemargin.study.findings import Finding, Vector

#: Evaluations from one that starts from nothing to the next.
ANCHOR = 16


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


class PointEvaluator:
    """Evaluates an objective at points, in the order of their numbers.

    Parameters
    ----------
    objective : Objective
    bind : callable (int) -> BoundObjective
        Prepares the objective for as many threads.
    at : callable (point) -> (Kernel, C)
        Says what a point stands for.
    wanted : Wanted
    seed : int
        The random numbers of an evaluation follow from this and its number.
    n_threads : int
        Points that are asked for together are evaluated so many at a time; a point by itself gets all threads.
    stop : Stop
    """

    def __init__(
        self,
        objective: Objective,
        bind: Callable[[int], BoundObjective],
        at: Callable[[Vector], tuple[Kernel, float]],
        wanted: Wanted,
        *,
        seed: int,
        n_threads: int,
        stop: Stop,
    ) -> None:
        self._objective, self._bind, self._at, self._wanted = objective, bind, at, wanted
        self._seed, self._n_threads, self._stop = seed, n_threads, stop
        self._bound: dict[int, BoundObjective] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._state: Any = None
        self._skipped: list[tuple[int, Ask]] = []  # known evaluations since the one that the state is of

    def close(self) -> None:
        """Let its threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._threads = None

    @property
    def n_parts(self) -> int:
        """Problems that the objective can evaluate by themselves."""
        return self._prepared(self._n_threads).n_parts

    def evaluate(
        self, first: int, asks: Sequence[Ask], known: Mapping[int, Any], finished: Callable[[Finding], None]
    ) -> None:
        """Evaluate points that were asked for together, but for those that are known.

        Parameters
        ----------
        first : int
            Number of the first of them; the others follow.
        asks : sequence of Ask
        known : mapping
            Holds the numbers of evaluations that are not to be repeated.
        finished : callable
            Gets every finding as soon as there is one, in the thread that called this.

        Raises
        ------
        StoppedError
            If the search has to end; what is finished has been handed over then.
        """
        if first // ANCHOR != (first + len(asks) - 1) // ANCHOR or first % ANCHOR == 0:
            self._state, self._skipped = None, []
        last = first + len(asks) - 1
        missing = [(first + place, ask) for place, ask in enumerate(asks) if first + place not in known]
        if not missing:
            self._skipped.append((last, asks[-1]))
            return
        self._regain()
        before, after = self._state, None
        with closing(self._found(missing, before)) as found:
            for finding, state in found:
                finished(finding)
                after = state if finding.number == last else after
        if last in known:
            self._skipped = [(last, asks[-1])]
        else:
            self._state = after

    def value_at(self, number: int, point: Vector) -> Finding:
        """Evaluate a point by itself, from nothing and without derivatives."""
        return self._one(self._prepared(self._n_threads), number, Ask(point), None, Wanted())[0]._replace(chosen=True)

    def _found(self, asks: list[tuple[int, Ask]], state: Any) -> Generator[tuple[Finding, Any], None, None]:
        """Yield findings and the states after them, as they come."""
        if len(asks) == 1 or self._n_threads == 1:
            for number, ask in asks:
                yield self._one(self._prepared(self._n_threads), number, ask, state, self._wanted)
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._n_threads, thread_name_prefix="widemargin")
        bound = self._prepared(1)
        left: set[Future[tuple[Finding, Any]]] = {
            self._threads.submit(self._one, bound, number, ask, state, self._wanted) for number, ask in asks
        }
        try:
            while left:
                # A signal that another thread took is heard between two waits, not within one.
                done, _ = wait(left, timeout=0.05, return_when=FIRST_COMPLETED)
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
        """Repeat evaluations that a journal knew, for where their machines ended."""
        for number, ask in self._skipped if self._objective.needs_machine else ():
            _, self._state = self._one(self._prepared(self._n_threads), number, ask, self._state, self._wanted)
        self._skipped = []

    def _prepared(self, n_threads: int) -> BoundObjective:
        if n_threads not in self._bound:
            self._bound[n_threads] = self._bind(n_threads)
        return self._bound[n_threads]

    def _one(self, bound: BoundObjective, number: int, ask: Ask, state: Any, wanted: Wanted) -> tuple[Finding, Any]:
        self._stop.check()
        kernel, C = self._at(ask.point)
        generator = None if self._objective.deterministic else np.random.default_rng([self._seed, number])
        began = time.perf_counter()
        found = bound.evaluate(kernel, C, gradient=wanted.gradient, generator=generator, state=state, part=ask.part)
        work = replace(found.work, seconds=time.perf_counter() - began)
        gradient, higher = self._slopes(found, wanted)
        finding = Finding(
            number,
            float(found.value),
            work,
            found.notes,
            point=ask.point,
            part=ask.part,
            gradient=gradient,
            higher=higher,
        )
        return finding, found.state if self._objective.needs_machine else None

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

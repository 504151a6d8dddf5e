"""Quasi-Newton steps inside of bounds, through SciPy, for functions that do not change."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector


@dataclass(frozen=True)
class LBFGSB(Strategy):
    """Follow a gradient by the limited-memory BFGS method with bounds [Byrd1995], through `scipy.optimize`.

    The last `memory` changes of point and gradient make up an approximation of the curvature, across parameters too;
    line searches along the steps that follow from it need one or two evaluations. It is the fastest way to the bottom
    of a smooth function. It believes every value: for objectives without noise only. A point without a value ends the
    run. The point with the lowest value is chosen. A step costs O(memory n) beside the evaluation.

    SciPy calls the function that it minimises, where a search asks and is told; so it runs in a thread that waits for
    answers. The thread ends with the run, or when nobody holds the run any more.

    Parameters
    ----------
    tolerance : float, default=1e-5
        Largest slope (within the bounds) at which to stop.
    value_tolerance : float, default=1e-9
        Relative change of the value, from step to step, at which to stop.
    memory : int, default=10
    evaluations : int, optional
        How many at most; 100 sqrt(n) for n parameters if neither this nor the search says another number.

    Examples
    --------
    >>> run = LBFGSB().begin(Space(np.zeros(2), np.full(2, -5.0), np.full(2, 5.0)), seed=0)
    >>> while asks := run.ask():
    ...     away = asks[0].point - [1.0, 7.0]
    ...     run.tell([Told(float(away @ away), 2 * away)])
    >>> run.best.round(6).tolist(), run.reason
    ([1.0, 5.0], 'the slope is at most 1e-05')
    """

    name: ClassVar[str] = "l-bfgs-b"
    needs_gradient: ClassVar[bool] = True

    tolerance: float = 1e-5
    value_tolerance: float = 1e-9
    memory: int = 10
    evaluations: int | None = None

    def __post_init__(self) -> None:
        self.require("tolerance", self.tolerance >= 0.0, "at least 0")
        self.require("value_tolerance", self.value_tolerance >= 0.0, "at least 0")
        self.require("memory", self.memory >= 1, "at least 1")
        self.require("evaluations", self.evaluations is None or self.evaluations >= 1, "at least 1, or None")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it draws no random numbers and knows of no parts."""
        usual = math.ceil(100 * math.sqrt(space.n_dims))
        return _Run(self, space, self.budget(self.evaluations, max_evaluations, usual))


class _Run(CountedRun):
    def __init__(self, rule: LBFGSB, space: Space, budget: int) -> None:
        super().__init__(space, budget)
        self._rule = rule
        self._descent: _Descent | None = None

    def propose(self) -> Sequence[Ask]:
        """Ask for what SciPy's line search wants to know."""
        if self._descent is None:
            self._descent = _Descent(self._rule, self.space)
        point = self._descent.next_point()
        if point is None:
            self.end(_in_words(self._descent.message, self._rule))
            return ()
        return [Ask(self.space.clipped(point))]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Hand the answer over."""
        [told] = found
        if not math.isfinite(told.value):
            self.end(
                "there is no value at the start" if self.evaluations == 1 else "a step led where there is no value"
            )
            return
        assert self._descent is not None
        self._descent.answer(told.value, self.slopes(told).copy())

    def end(self, reason: str) -> None:
        """Ask for nothing any more, and let the thread go."""
        super().end(reason)
        if self._descent is not None:
            self._descent.close()


class _Descent:
    """SciPy's minimisation in a thread of its own, which asks and waits."""

    def __init__(self, rule: LBFGSB, space: Space) -> None:
        self.message = ""
        self._points: SimpleQueue[Vector | str | BaseException] = SimpleQueue()
        self._answers: SimpleQueue[tuple[float, Vector] | None] = SimpleQueue()
        # The thread knows the queues and not this object, which can so be collected while the thread waits.
        self._thread = threading.Thread(
            target=_descend, args=(rule, space, self._points, self._answers), name="l-bfgs-b", daemon=True
        )
        self._release = weakref.finalize(self, self._answers.put, None)
        self._thread.start()

    def next_point(self) -> Vector | None:
        """Return the next point; None once there is a `message`, which says why there is none."""
        found = self._points.get()
        if isinstance(found, BaseException):
            raise found
        if isinstance(found, str):
            self.message = found
            return None
        return found

    def answer(self, value: float, gradient: Vector) -> None:
        """Tell value and gradient at the last point."""
        self._answers.put((value, gradient))

    def close(self) -> None:
        """End the thread."""
        self._release()
        self._thread.join()


class _Released(BaseException):
    """Nobody waits for the result any more."""


def _descend(rule: LBFGSB, space: Space, points: SimpleQueue[Any], answers: SimpleQueue[Any]) -> None:
    from scipy.optimize import minimize

    def function(point: Vector) -> tuple[float, Vector]:
        points.put(np.array(point, dtype=np.float64))
        answer: tuple[float, Vector] | None = answers.get()
        if answer is None:
            raise _Released
        return answer

    # The search counts evaluations itself.
    endless = np.iinfo(np.int32).max
    try:
        result = minimize(
            function,
            space.start,
            method="L-BFGS-B",
            jac=True,
            bounds=list(zip(space.lower, space.upper, strict=True)),
            options={
                "gtol": rule.tolerance,
                "ftol": rule.value_tolerance,
                "maxcor": rule.memory,
                "maxiter": endless,
                "maxfun": endless,
            },
        )
        points.put(str(result.message))
    except _Released:
        pass
    except BaseException as failure:
        points.put(failure)


def _in_words(message: str, rule: LBFGSB) -> str:
    """Say why SciPy has stopped; releases differ in how they write it."""
    message = message.replace("_", " ")
    if "PROJECTED GRADIENT" in message or "PGTOL" in message:
        return f"the slope is at most {rule.tolerance:g}"
    if "REDUCTION OF F" in message:
        return f"the value changes by less than {rule.value_tolerance:g}, relative to it"
    if "ABNORMAL" in message:
        return "the line search found nothing better: values and slopes do not agree to this precision"
    return f"scipy stopped: {message}"

"""When work ends before it is finished: a moment, a number of iterations or evaluations, somebody's request.

One value says all of it and is handed down, from a search to the solver of a single problem; what hands it on may
narrow it. The request is shared by all who hold it, compiled code among them, and so is its reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from widemargin import _core

#: How a search may end: with everything evaluated, or for a reason that is shown.
FINISHED, TIME_IS_UP, INTERRUPTED, STOPPED, FAILED = (
    "finished",
    "time is up",
    "interrupted",
    "stopped by a callback",
    "failed",
)

#: Raised where work cannot be finished: time is up, or somebody asked to stop.
StoppedError = _core.StoppedError

#: What stands for no limit in the core.
NO_SECONDS = 1e10


@dataclass(slots=True, eq=False)
class StopRequest:
    """The wish that work ends as soon as it can; threads and compiled code look at it now and then.

    Examples
    --------
    >>> request = StopRequest()
    >>> request.request(INTERRUPTED)
    >>> request.request(STOPPED)
    >>> request.requested, request.reason
    (True, 'interrupted')
    """

    core: _core.StopSignal = field(default_factory=_core.StopSignal)
    reason: str | None = None

    @property
    def requested(self) -> bool:
        """Whether somebody did."""
        return self.reason is not None

    def request(self, reason: str = STOPPED) -> None:
        """Let the work end; the first reason counts."""
        if self.reason is None:
            self.reason = reason
        self.core.request()


def why_ended(error: BaseException) -> str:
    """Say how work ends with an error: models that run out of time say so before anybody has asked them to."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return TIME_IS_UP if isinstance(error, StoppedError) else FAILED


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to end.

    Parameters
    ----------
    deadline : float, optional
        A moment, in the time of :func:`time.perf_counter`; ``Stop().within(60.0)`` is a minute from now.
    max_iterations, max_evaluations : int, optional
        Steps of a solver, and evaluations of a search.
    signal : StopRequest
        Whoever holds it may ask for the end.

    Examples
    --------
    >>> stop = Stop(max_iterations=100).within(60.0)
    >>> part = stop.within(1.0).after(30)
    >>> part.seconds_left() <= 1.0, part.max_iterations, part.reason
    (True, 70, None)
    >>> stop.request(INTERRUPTED)
    >>> part.reason
    'interrupted'
    """

    deadline: float | None = None
    max_iterations: int | None = None
    max_evaluations: int | None = None
    signal: StopRequest = field(default_factory=StopRequest, compare=False, repr=False)

    @property
    def reason(self) -> str | None:
        """Why work has to end; None while it may go on."""
        late = self.deadline is not None and time.perf_counter() >= self.deadline
        return self.signal.reason or (TIME_IS_UP if late else None)

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def seconds_left(self) -> float | None:
        """Seconds until the deadline, below 0 after it; None if there is none."""
        return None if self.deadline is None else self.deadline - time.perf_counter()

    def limits(self) -> dict[str, Any]:
        """Say it in the words of the core, for what is no solver."""
        left = self.seconds_left()
        return {"max_seconds": NO_SECONDS if left is None else left, "signal": self.signal.core}

    def request(self, reason: str = STOPPED) -> None:
        """Let the work of all who hold this end; the first reason counts."""
        self.signal.request(reason)

    def check(self) -> None:
        """Raise StoppedError if it is time to end."""
        reason = self.reason
        if reason is not None:
            raise StoppedError(f"The computation was stopped before it had a result ({reason}).")

    def within(self, seconds: float | None) -> Self:
        """Return what holds for a part of the work that may take so long; below 0 is time that was up before."""
        if seconds is None:
            return self
        moment = time.perf_counter() + seconds
        return replace(self, deadline=moment if self.deadline is None else min(moment, self.deadline))

    def after(self, iterations: int) -> Self:
        """Return what is left after some iterations."""
        if self.max_iterations is None or iterations == 0:
            return self
        return replace(self, max_iterations=max(0, self.max_iterations - iterations))

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Any, ...]]:
        # Processes share neither clocks nor requests: a moment travels as a time of day.
        own = {name: value for name, value in vars(self).items() if name not in ("deadline", "signal")}
        left = self.seconds_left()
        return _arrived, (type(self), own, None if left is None else time.time() + left)


def _arrived(kind: type[Any], own: dict[str, Any], time_of_day: float | None) -> Any:
    return kind(**own).within(None if time_of_day is None else time_of_day - time.time())

"""What a computation may use, known to it without being handed down: threads, and until when.

Kernel objects say how values are computed, and whoever asks them for values how many threads that may take. Between the
two there may be others' kernels, which know of neither.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from widemargin.runtime.stopping import Stop

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Allowance:
    """What a function may use that this runs, and all that it calls, in this thread.

    Parameters
    ----------
    n_threads : int, default=1
    stop : Stop, optional
        When to end with a TimeoutError; without it, what holds for the caller. Ctrl-C ends everything.

    Examples
    --------
    >>> Allowance(4).run(allowed)["n_threads"]
    4
    >>> allowed()["n_threads"]
    1
    """

    n_threads: int = 1
    stop: Stop | None = None

    def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function with this allowance."""
        outer = _here.get()
        stop = outer.stop if self.stop is None and outer is not None else self.stop
        # A copy of the context, which is left in C: Ctrl-C may come anywhere, and what the caller has stays as it is.
        context = copy_context()
        context.run(_here.set, Allowance(self.n_threads, stop))
        return context.run(function, *args, **kwargs)


_here: ContextVar[Allowance | None] = ContextVar("_here", default=None)


def allowed() -> dict[str, Any]:
    """Return what is allowed here, in the words of the core; one thread and any time if nobody said anything."""
    own = _here.get() or Allowance()
    return {"n_threads": own.n_threads, **(own.stop or Stop()).limits()}


def as_allowed_here(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that may use what is allowed here, whoever calls it later, and in whichever thread.

    If nobody said anything here, it may use what its caller may.

    Examples
    --------
    >>> Allowance(4).run(as_allowed_here, allowed)()["n_threads"]
    4
    >>> Allowance(4).run(as_allowed_here(allowed))["n_threads"]
    4
    """
    own = _here.get()
    if own is None:
        return function

    def with_allowance(*args: P.args, **kwargs: P.kwargs) -> R:
        return own.run(function, *args, **kwargs)

    return with_allowance

"""What a computation may use, known to it without being handed down: threads, and until when.

Kernel objects say how values are computed, and whoever asks them for values how many threads that may take. Between the
two there may be others' kernels, which know of neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from widemargin.runtime.stopping import Stop

_allowed: ContextVar[tuple[int, Stop | None]] = ContextVar("_allowed", default=(1, None))


@contextmanager
def allowing(n_threads: int = 1, stop: Stop | None = None) -> Iterator[None]:
    """Allow so much to what is computed within, by this thread.

    Parameters
    ----------
    n_threads : int, default=1
    stop : Stop, optional
        When to end with a TimeoutError; without it, what held before. Ctrl-C ends everything.

    Examples
    --------
    >>> with allowing(4):
    ...     allowance()["n_threads"]
    4
    >>> allowance()["n_threads"]
    1
    """
    before = _allowed.set((n_threads, stop or _allowed.get()[1]))
    try:
        yield
    finally:
        _allowed.reset(before)


def allowance() -> dict[str, Any]:
    """Return what is allowed here, in the words of the core; one thread and any time if nobody said anything."""
    n_threads, stop = _allowed.get()
    return {"n_threads": n_threads, **(stop or Stop()).limits()}

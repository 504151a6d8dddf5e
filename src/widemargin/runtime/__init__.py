"""What the running system gives and limits: threads, memory, when to stop, files; an account of work; numbers.

Imports nothing but the compiled core; everything else may import from here.
"""

from widemargin.runtime.allowance import Allowance, allowed, as_allowed_here
from widemargin.runtime.limits import free_memory
from widemargin.runtime.memory import release_memory
from widemargin.runtime.stopping import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    STOPPED,
    TIME_IS_UP,
    Stop,
    StoppedError,
    StopRequest,
)
from widemargin.runtime.threads import Lock, single_threaded_blas, thread_count
from widemargin.runtime.work import Work

__all__ = [
    "FAILED",
    "FINISHED",
    "INTERRUPTED",
    "STOPPED",
    "TIME_IS_UP",
    "Allowance",
    "Lock",
    "Stop",
    "StopRequest",
    "StoppedError",
    "Work",
    "allowed",
    "as_allowed_here",
    "free_memory",
    "release_memory",
    "single_threaded_blas",
    "thread_count",
]

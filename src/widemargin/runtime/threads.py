"""Threads: how many are meant, SciPy's BLAS kept to one each, and locks that survive a fork."""

from __future__ import annotations

import _thread
import numbers
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import joblib
import scipy.linalg.cython_blas as cython_blas
import scipy.linalg.cython_lapack as cython_lapack
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from widemargin import _core

_core.take_blas(cython_blas.__pyx_capi__, cython_lapack.__pyx_capi__)

# Found here, where few libraries are loaded yet and BLAS is: the first fit would have to look at ten times as many.
_thread_pools = ThreadpoolController()


class Lock(_thread.RLock):  # type: ignore[misc]  # not final: typeshed is stricter than CPython
    """A reentrant lock that a forked process finds open, unless the thread that forked holds it.

    The thread that held it is not there to release it. It is entered and left in C, where no signal handler runs in
    between: Ctrl-C cannot leave it closed.

    Examples
    --------
    >>> lock = Lock()
    >>> with lock, lock:
    ...     lock.held
    True
    >>> lock.held
    False
    """

    def __init__(self) -> None:
        _LOCKS.add(self)

    @property
    def held(self) -> bool:
        """Whether the calling thread holds it."""
        return bool(self._is_owned())  # type: ignore[attr-defined]

    def _open(self) -> None:
        if not self.held:
            self._at_fork_reinit()  # type: ignore[attr-defined]


#: All of them, for the time after a fork.
_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread each while the core's own threads call it.

    The number of threads belongs to the whole process: the first of those who are within sets it, the last one restores
    it.
    """
    me, within = threading.get_ident(), False
    try:
        with _limit.lock:
            _limit.users[me], within = _limit.users.get(me, 0) + 1, True
            _limit.adjust()
        yield
    finally:
        if within:
            with _limit.lock:
                if _limit.users[me] == 1:
                    del _limit.users[me]
                else:
                    _limit.users[me] -= 1
                _limit.adjust()


@dataclass
class _Limit:
    """Who is within, by threads and how often, and what restores the threads of BLAS when nobody is."""

    lock: Lock = field(default_factory=Lock)
    users: dict[int, int] = field(default_factory=dict)
    limiter: AbstractContextManager[Any] | None = None

    def adjust(self) -> None:
        """Set the threads of BLAS, or restore them."""
        if self.users and self.limiter is None:
            self.limiter = _thread_pools.limit(limits=1, user_api="blas")
            self.limiter.__enter__()
        elif not self.users and self.limiter is not None:
            limiter, self.limiter = self.limiter, None
            limiter.__exit__(None, None, None)


_limit = _Limit()


def _after_fork() -> None:
    """Forget the threads that a forked process does not have."""
    for lock in list(_LOCKS):
        lock._open()
    for thread in set(_limit.users) - {threading.get_ident()}:
        del _limit.users[thread]
    _limit.adjust()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


#: Threads that somebody may mean.
MOST_THREADS = 2**14


def thread_count(n_jobs: int | None) -> int:
    """Threads meant by ``n_jobs``: None is 1 unless a ``parallel_config`` says otherwise, -1 all cores, -2 all but one.

    Unlike processes, threads work inside daemonic workers too, so that a number is never lowered there.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    if n_jobs is None:
        _, configured = get_active_backend()
        return 1 if configured is None else thread_count(configured)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a whole number other than 0 (-1 for all cores); got {n_jobs!r}.")
    if n_jobs > MOST_THREADS:
        raise ValueError(
            f"n_jobs must be at most {MOST_THREADS}, more threads than any computer runs at once; got more."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + int(n_jobs))

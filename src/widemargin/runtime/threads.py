"""Threads: how many are meant, SciPy's BLAS kept to one each, and locks that survive a fork."""

from __future__ import annotations

import _thread
import numbers
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter

import scipy.linalg.cython_blas as cython_blas
import scipy.linalg.cython_lapack as cython_lapack
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from widemargin import _core
from widemargin.runtime.limits import core_count

_core.take_blas(cython_blas.__pyx_capi__, cython_lapack.__pyx_capi__)

# Found here, where few libraries are loaded yet and BLAS is: the first fit would have to look at ten times as many.
_blas = ThreadpoolController().select(user_api="blas").lib_controllers


class Lock(_thread.RLock):  # type: ignore[misc]  # not final: typeshed is stricter than CPython
    """A reentrant lock that a forked process finds open, unless the thread that forked holds it.

    The thread that held it is not there to release it. It is entered and left in C, where no signal handler runs in
    between: Ctrl-C cannot leave it closed. A copy, also one by pickle, is another lock, which is open.

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

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()

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
    user = object()
    try:
        _limit.change(user, threading.get_ident())
        yield
    finally:
        try:
            _limit.change(user)
        except BaseException:  # Ctrl-C came in between: every step can be done twice
            _limit.change(user)
            raise


@dataclass
class _Limit:
    """Who is within and in which thread, and how many threads each BLAS had before, while somebody is."""

    lock: Lock = field(default_factory=Lock)
    users: dict[object, int] = field(default_factory=dict)
    before: list[int] | None = None

    def change(self, user: object, thread: int | None = None) -> None:
        """Let somebody in by a thread, or out; set the threads of BLAS, or restore them."""
        with self.lock:
            if thread is None:
                self.users.pop(user, None)
            else:
                self.users[user] = thread
            if bool(self.users) == (self.before is not None):
                return
            numbers = self.before or [1] * len(_blas)
            if self.users:
                self.before = list(map(attrgetter("num_threads"), _blas))
            for library, number in zip(_blas, numbers, strict=True):
                library.set_num_threads(number)
                # From threadpoolctl 3.7 on nobody else may set it after whoever did first, who need not be the last.
                if hasattr(library, "clear_controlling_thread"):
                    library.clear_controlling_thread()
            if not self.users:
                self.before = None


_limit = _Limit()


def _after_fork() -> None:
    """Forget the threads that a forked process does not have."""
    for lock in list(_LOCKS):
        lock._open()
    me = threading.get_ident()
    _limit.users = {user: thread for user, thread in _limit.users.items() if thread == me}
    _limit.change(None)


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
    return int(n_jobs) if n_jobs > 0 else max(1, core_count() + 1 + int(n_jobs))

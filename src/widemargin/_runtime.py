"""What the compiled core needs from the running system: SciPy's BLAS, threads, free memory."""

from __future__ import annotations

import numbers
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import scipy.linalg.cython_blas as cython_blas
import scipy.linalg.cython_lapack as cython_lapack
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from widemargin import _core

_core.take_blas(cython_blas.__pyx_capi__, cython_lapack.__pyx_capi__)

# Found here, where few libraries are loaded yet and BLAS is: the first fit would have to look at ten times as many.
_thread_pools = ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread each while the core's own threads call it.

    The number of threads belongs to the whole process: the first of those who are within sets it, the last one restores
    it.
    """
    with _limit.lock:
        _limit.users += 1
        if _limit.users == 1:
            _limit.limiter = _thread_pools.limit(limits=1, user_api="blas")
            _limit.limiter.__enter__()
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0 and _limit.limiter is not None:
                _limit.limiter.__exit__(None, None, None)


@dataclass
class _Limit:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    limiter: AbstractContextManager[Any] | None = None


_limit = _Limit()


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
            f"n_jobs must be at most {MOST_THREADS}, more threads than any machine runs at once; got more."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + int(n_jobs))


def free_memory() -> int:
    """Bytes of memory that can be taken without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) // 2


def cache_bytes(cache_size: float | str, rows: int, dtype: str) -> int:
    """Bytes of kernel cache: megabytes if a number, else what the problem needs, at most a quarter of free memory."""
    if cache_size != "auto":
        return int(float(cache_size) * 2**20)
    whole = rows * (rows + 16) * np.dtype(dtype).itemsize
    return min(whole, free_memory() // 4)


def release_memory() -> None:
    """Give back the memory that is kept for the next fit (up to 256 MB, at most a 64th of the machine's).

    Examples
    --------
    >>> import widemargin
    >>> widemargin.release_memory()
    """
    _core.release_memory()

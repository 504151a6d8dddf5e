"""What the compiled core needs from the running system: SciPy's BLAS, threads, free memory."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
import numpy as np
import scipy.linalg.cython_blas as cython_blas
from threadpoolctl import ThreadpoolController

from widemargin import _core

_core.take_blas(cython_blas.__pyx_capi__)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread each while the core's own threads call it."""
    limits: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limits


def thread_count(n_jobs: int | None) -> int:
    """Threads meant by ``n_jobs``, as joblib reads it: None is 1 unless a ``parallel_config`` says otherwise, -1 all cores."""
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


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
    """Bytes of kernel cache: megabytes if a number, else what the problem needs, at most a quarter of the free memory."""
    if cache_size != "auto":
        return int(float(cache_size) * 2**20)
    whole = rows * (rows + 16) * np.dtype(dtype).itemsize
    return min(whole, free_memory() // 4)

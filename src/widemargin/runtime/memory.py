"""Memory: what is free, what a kernel cache may take of it, and what the core keeps for the next fit."""

from __future__ import annotations

import os

import numpy as np

from widemargin import _core

#: A cache of so many bytes is taken without asking how much memory there is.
LITTLE = 2**22


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
    return whole if whole <= LITTLE else min(whole, free_memory() // 4)


def release_memory() -> None:
    """Give back the memory that is kept for the next fit (up to 256 MB, at most a 64th of the machine's).

    Examples
    --------
    >>> import widemargin
    >>> widemargin.release_memory()
    """
    _core.release_memory()

"""Memory: what is free, and what the core keeps for the next fit."""

from __future__ import annotations

import os

from widemargin import _core


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


def release_memory() -> None:
    """Give back the memory that is kept for the next fit (up to 256 MB, at most a 64th of the machine's).

    Examples
    --------
    >>> import widemargin
    >>> widemargin.release_memory()
    """
    _core.release_memory()

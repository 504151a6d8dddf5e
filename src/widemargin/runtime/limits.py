"""What this process may use of the computer: memory and cores, as its control groups (containers) and limits say.

The files that are read are those of Linux: /proc/meminfo, /proc/self, and the control groups of either version.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import joblib

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Where the file system begins; tests build their own below another folder.
ROOT = Path("/")


def total_memory() -> int:
    """Bytes of memory that this process may use, whoever has them now: the least of the computer's and its limits."""
    limits = [_physical(), *(group.limit for group in _memory_groups())]
    if (space := _address_space()) is not None:
        limits.append(space[0])
    return min(limits)


def free_memory() -> int:
    """Bytes of memory that this process can still take, without swapping and without reaching a limit of its own."""
    free = [_memory("MemAvailable") or _physical() // 2, *(group.limit - group.used() for group in _memory_groups())]
    if (space := _address_space()) is not None:
        free.append(space[0] - space[1])
    return max(0, min(free))


def core_count() -> int:
    """Cores that this process may use: affinity, and the quotas of its control groups, rounded up.

    Examples
    --------
    >>> core_count() >= 1
    True
    """
    quotas = [math.ceil(quota) for quota in _core_quotas() if quota > 0]
    return max(1, min([int(joblib.cpu_count()), *quotas]))


def _memory(name: str) -> int | None:
    """Read a line of /proc/meminfo, in bytes; None where there is none."""
    for line in _lines(ROOT / "proc/meminfo"):
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024
    return None


def _physical() -> int:
    """Bytes of memory that the computer has."""
    return _memory("MemTotal") or int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


def _address_space() -> tuple[int, int] | None:
    """Limit of this process's address space (``ulimit -v``) and how much of it is taken; None without a limit."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    taken = "".join(_lines(ROOT / "proc/self/statm")).split()
    return limit, int(taken[0]) * int(os.sysconf("SC_PAGE_SIZE")) if taken else 0


class _MemoryGroup(NamedTuple):
    """A control group with a limit, and where it says how much of it is used."""

    limit: int
    folder: Path
    usage: str
    droppable: str

    def used(self) -> int:
        """Bytes in use; pages of files that can be dropped are not."""
        fields = dict(line.split() for line in _lines(self.folder / "memory.stat") if len(line.split()) == 2)
        return max(0, (_number(self.folder / self.usage) or 0) - int(fields.get(self.droppable, 0)))


@functools.cache
def _memory_groups() -> tuple[_MemoryGroup, ...]:
    """Find the group of this process and those above it that allow less than the computer has; once, as it is slow."""
    found = []
    for version, folder in _groups("memory"):
        caps, usage, droppable = (
            (("memory.max", "memory.high"), "memory.current", "inactive_file")
            if version == 2
            else (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file")
        )
        limits = [limit for cap in caps if (limit := _number(folder / cap)) is not None]
        if limits and min(limits) < _physical():
            found.append(_MemoryGroup(min(limits), folder, usage, droppable))
    return tuple(found)


def _core_quotas() -> Iterator[float]:
    """Cores' worth of time for the group of this process and each group above."""
    for version, folder in _groups("cpu"):
        if version == 2:
            quota, period = (*"".join(_lines(folder / "cpu.max")).split(), "max", "max")[:2]
            if quota != "max" and period != "max":
                yield int(quota) / int(period)
        else:
            limit, per = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
            if limit is not None and limit > 0 and per:  # -1 is no limit
                yield limit / per


def _groups(controller: str) -> Iterator[tuple[int, Path]]:
    """Version and folder of each control group that this process is in, from its own up to the mount's.

    A container often sees its own group as the root of the mount, while /proc/self/cgroup has the host's name for it:
    what lies outside of the mount is then the mount itself.
    """
    names: dict[tuple[int, str], str] = {}
    for line in _lines(ROOT / "proc/self/cgroup"):
        _, controllers, name = (*line.split(":", 2), "", "")[:3]
        for one in controllers.split(",") if controllers else [""]:
            names[1 if controllers else 2, one] = name
    for line in _lines(ROOT / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = (*after.split(), "", "", "")[:3]
        if len(before.split()) < 5 or kind not in ("cgroup", "cgroup2"):
            continue
        version = 2 if kind == "cgroup2" else 1
        if version == 1 and controller not in options.split(","):
            continue
        own = names.get((version, controller if version == 1 else ""))
        if own is None:
            continue
        root, mount = before.split()[3:5]
        top = ROOT / mount.replace("\\040", " ").lstrip("/")
        inside = Path(own).relative_to(root) if Path(own).is_relative_to(root) else Path()
        folder = top / inside if ".." not in inside.parts else top
        while folder != top:
            yield version, folder
            folder = folder.parent
        yield version, top


def _number(path: Path) -> int | None:
    """Read the number in a file; None for "max" or where there is no such file."""
    text = "".join(_lines(path))
    return int(text) if text.lstrip("-").isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

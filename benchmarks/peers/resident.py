"""Resident memory of this process, as Linux counts it."""

from pathlib import Path
from typing import NamedTuple

STATUS = Path("/proc/self/status")


class Resident(NamedTuple):
    """Bytes in memory before some work and at its peak."""

    before: int
    peak: int

    @property
    def growth(self) -> int:
        """What the work added."""
        return self.peak - self.before


def resident() -> int:
    """Return the bytes in memory now."""
    return _kilobytes(STATUS, "VmRSS") * 1024


def peak_resident() -> int:
    """Return the most bytes in memory since the last :func:`reset_peak_resident`."""
    return _kilobytes(STATUS, "VmHWM") * 1024


def reset_peak_resident() -> None:
    """Forget earlier peaks [proc(5), clear_refs]."""
    Path("/proc/self/clear_refs").write_text("5")


def available() -> int:
    """Return the bytes of memory that the computer could still hand out."""
    return _kilobytes(Path("/proc/meminfo"), "MemAvailable") * 1024


def _kilobytes(path: Path, key: str) -> int:
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0])
    raise OSError(f"{path} has no entry {key}; the memory benchmark needs Linux.")

"""Who has called this package: where warnings are to point."""

from __future__ import annotations

import sys
from itertools import count


def stacklevel() -> int:
    """Return the `stacklevel` of a warning, raised by whoever asks, at the line that called this package.

    Examples
    --------
    >>> stacklevel()
    2
    """
    frame = sys._getframe(1)
    for level in count(1):
        if frame.f_globals.get("__name__", "").partition(".")[0] != __package__.partition(".")[0] or not frame.f_back:
            return max(level, 2)
        frame = frame.f_back
    raise AssertionError  # there is no end of numbers

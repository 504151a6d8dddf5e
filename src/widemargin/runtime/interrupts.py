"""Ctrl-C that does not interrupt what must not be lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class HeldBack:
    """Whether somebody pressed Ctrl-C."""

    asked: bool = False


@contextmanager
def interrupt_held_back() -> Iterator[HeldBack]:
    """Keep a first Ctrl-C from interrupting a block, and tell of it; a second one interrupts at once.

    The handler that was in place never hears of the first one: the caller decides what to make of it.
    Only the main thread can be interrupted: in others this does nothing.

    Examples
    --------
    >>> with interrupt_held_back() as held:
    ...     signal.raise_signal(signal.SIGINT)
    ...     result = 42
    >>> held.asked, result
    (True, 42)
    """
    held = HeldBack()
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield held
        return

    def note(number: int, frame: FrameType | None) -> None:
        if held.asked:
            usual(number, frame)
        held.asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, usual)

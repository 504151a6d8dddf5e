"""The progress of a search as a bar in a terminal or a notebook; needs rich."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from widemargin.runtime import FINISHED
from widemargin.study.progress import Clock, Pace, duration, score_text, time_left

#: Columns that the words beside the bar may take; the bar is shorter where it would leave them less.
ROOM_FOR_WORDS = 60


def in_a_notebook() -> bool:
    """Whether this is a notebook's program."""
    return Console(stderr=True).is_jupyter


def can_show_a_bar() -> bool:
    """Whether a notebook or a terminal shows what is written to the standard error stream, even if it moves."""
    return in_a_notebook() or (_is_terminal(sys.stderr) and Console(stderr=True).is_interactive)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and bool(stream.isatty())


class RichProgress:
    """A bar with the models that are done, the best score, and the time left.

    The bar is written to the standard error stream, so that what a program prints can still be redirected to a file.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to show it instead.
    clock : callable, default=time.monotonic
        Seconds since some moment.
    unit : str, default="fits"
        What is counted.

    Examples
    --------
    >>> import sys
    >>> from rich.console import Console
    >>> from widemargin.study.bar import RichProgress
    >>> progress = RichProgress(console=Console(file=sys.stdout, width=80))      # not a terminal: shows the end only
    >>> progress.start(20); progress.advance(15, 3.0, 1.0, 0.95); progress.finish("time is up")
    ━━━━━━━━━━━━━━━      15/20 fits, best 0.9500, <1 s (time is up)
    """

    def __init__(self, *, console: Console | None = None, clock: Clock = time.monotonic, unit: str = "fits") -> None:
        self._console = console
        self._clock, self._unit = clock, unit
        self._bar: Bar | None = None
        self._words: _Words | None = None
        self._borrowed: list[tuple[logging.StreamHandler[Any], Any]] = []

    def start(self, fits: int | None) -> None:
        """Show an empty bar."""
        self.finish("started anew")
        console = Console(stderr=True) if self._console is None else self._console
        self._words = _Words(Pace(fits, self._clock, self._unit))
        self._bar = Bar(
            BarColumn(bar_width=min(40, max(10, console.width - ROOM_FOR_WORDS))),
            self._words,
            console=console,
            refresh_per_second=4,
            # What is printed meanwhile appears above the bar, unless it goes elsewhere.
            redirect_stdout=console.is_jupyter or _is_terminal(sys.stdout),
            redirect_stderr=console.is_jupyter or _is_terminal(sys.stderr),
        )
        # Not started: the bar is in motion while the kernel is computed and no model is done yet.
        self._bar.add_task("", total=fits, start=False)
        before = sys.stdout, sys.stderr
        self._bar.start()
        self._borrow_handlers(before, (sys.stdout, sys.stderr))

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        """Move the bar."""
        if self._bar is not None and self._words is not None:
            self._words.pace.advance(fits, cost, expected_cost_left, best_score)
            self._show(self._bar, self._words.pace.done)

    def finish(self, reason: str) -> None:
        """Leave the bar as it is, with the time that was taken."""
        bar, self._bar = self._bar, None
        if bar is not None and self._words is not None:
            self._words.end(reason)
            self._show(bar, self._words.pace.done)
            bar.refresh()  # at its end, rich shows the last state in terminals, but not in notebooks
            bar.stop()
            self._words = None
            for handler, stream in self._borrowed:
                handler.setStream(stream)
            self._borrowed = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bar": None, "_words": None, "_borrowed": []}

    def _borrow_handlers(self, before: tuple[Any, Any], after: tuple[Any, Any]) -> None:
        """Let logging write to the streams that rich has put in place, as everybody does who prints."""
        for handler in [*logging.getLogger().handlers, *logging.getLogger("widemargin").handlers]:
            for old, new in zip(before, after, strict=True):
                if isinstance(handler, logging.StreamHandler) and handler.stream is old and new is not old:
                    self._borrowed.append((handler, old))
                    handler.setStream(new)

    @staticmethod
    def _show(bar: Bar, done: int) -> None:
        task = TaskID(0)
        bar.start_task(task)
        bar.update(task, completed=done)


class _Words(ProgressColumn):
    """What stands beside the bar."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self.pace = pace
        self._at_the_end: str | None = None

    def end(self, reason: str) -> None:
        why = "" if reason == FINISHED else f" ({reason})"
        self._at_the_end = f"{duration(self.pace.elapsed())}{why}"

    def render(self, task: Task) -> Text:
        pace = self.pace
        parts = [pace.counted("/")]
        if pace.best_score is not None:
            parts.append(f"best {score_text(pace.best_score)}")
        left = pace.seconds_left()
        if self._at_the_end is not None:
            parts.append(self._at_the_end)
        elif left is not None:
            parts.append(time_left(left))
        else:
            parts.append(duration(pace.elapsed()))
        return Text(", ".join(parts))

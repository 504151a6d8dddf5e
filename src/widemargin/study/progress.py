"""What a running search shows: nothing, a bar, or lines in a log."""

from __future__ import annotations

import importlib.util
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from widemargin.runtime import FINISHED

Clock = Callable[[], float]


@runtime_checkable
class Progress(Protocol):
    """What a search tells while it runs. Implement these three methods to show it in another way.

    A search calls :meth:`start` once, then :meth:`advance` whenever some models are done, then :meth:`finish`, even
    where it ends with an error. Calls never overlap, but those of :meth:`advance` may come from any thread of the
    process that runs the search.
    """

    def start(self, fits: int | None) -> None:
        """Begin a search of this many models (candidates times folds); of evaluations, for `ModelSearch`.

        That one passes None if it goes on until it comes to an end by itself.
        """

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        """Take note of models that are done.

        Parameters
        ----------
        fits : int
            How many, since the last call.
        cost : float
            What these have cost, in any unit that grows with the time they take; 0 for those that a journal knew. The
            time that costs are compared with begins with the last call at which nothing had cost anything, so that
            ``advance(0, 0.0, ...)`` after preparations that take long makes for a better estimate.
        expected_cost_left : float or None
            What all models that are left are expected to cost, in the same unit; None if nobody knows.
        best_score : float or None
            The best mean score of a candidate so far; for `ModelSearch` the best value of its objective.
        """

    def finish(self, reason: str) -> None:
        """End: ``"finished"``, or what came before that.

        ``"time is up"``, ``"interrupted"``, ``"stopped by a callback"``, ``"failed"``.
        """


class Pace:
    """How far a search is and when it will end, judged by what its models have cost rather than by their number.

    Models of one grid differ in cost by orders of magnitude, so that half of them is rarely half of the time.

    Parameters
    ----------
    fits : int or None
        None if nobody knows.
    clock : callable, default=time.monotonic
        Seconds since some moment.
    unit : str, default="fits"
        What is counted.

    Attributes
    ----------
    fits, done : int
    best_score : float or None

    Examples
    --------
    >>> now = 0.0
    >>> pace = Pace(100, lambda: now)
    >>> now = 8.0
    >>> pace.advance(10, cost=4000.0, expected_cost_left=2000.0, best_score=0.9)
    >>> pace.seconds_left()
    4.0
    >>> now = 9.0
    >>> pace.seconds_left()
    3.0
    """

    def __init__(self, fits: int | None, clock: Clock = time.monotonic, unit: str = "fits") -> None:
        self.fits = fits
        self.unit = unit
        self.done = 0
        self.best_score: float | None = None
        self._clock = clock
        self._began = clock()
        self._worked_since = self._began
        self._cost = 0.0
        self._judged = self._began
        self._left: float | None = None

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        """Take note, as :meth:`Progress.advance`."""
        self.done += fits
        self._cost += cost
        if self._cost == 0:  # so far others were at work: a journal was read, or distances were computed
            self._worked_since = self._clock()
        if best_score is not None and not math.isnan(best_score):
            self.best_score = best_score
        self._judged = self._clock()
        self._left = None
        if expected_cost_left is not None and self._cost > 0 and math.isfinite(expected_cost_left):
            self._left = (self._judged - self._worked_since) * expected_cost_left / self._cost

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def seconds_left(self) -> float | None:
        """Seconds until the end, None if nobody knows."""
        if self._left is None or (self.fits is not None and self.done >= self.fits):
            return None
        # Counts down between two calls; when the next one is overdue, all that is known is by how much.
        return abs(self._left - (self._clock() - self._judged))

    def counted(self, between: str = " of ") -> str:
        """Say how far the search is.

        Examples
        --------
        >>> Pace(20).counted(), Pace(20).counted("/"), Pace(None, unit="evaluations").counted()
        ('0 of 20 fits', ' 0/20 fits', '0 evaluations')
        """
        if self.fits is None:
            return f"{self.done} {self.unit}"
        done = f"{self.done:>{len(str(self.fits))}}" if between == "/" else str(self.done)
        return f"{done}{between}{self.fits} {self.unit}"


class SilentProgress:
    """Shows nothing."""

    def start(self, fits: int | None) -> None:
        """Do nothing."""

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        """Do nothing."""

    def finish(self, reason: str) -> None:
        """Do nothing."""


class LogProgress:
    """Writes to the logger ``"widemargin"`` at level INFO: at most one line a second, and one at the end.

    A program sees these lines if it has asked for them, ``logging.basicConfig(level=logging.INFO)`` at the least.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Seconds since some moment.
    unit : str, default="fits"
        What is counted.
    shown : bool, default=False
        Whether lines that the logger passes on to nobody are written to the standard error stream.

    Examples
    --------
    >>> import logging, sys
    >>> logger = logging.getLogger("widemargin")
    >>> logger.addHandler(logging.StreamHandler(sys.stdout)); logger.setLevel(logging.INFO)
    >>> progress = LogProgress()
    >>> progress.start(20); progress.advance(15, 3.0, 1.0, 0.95); progress.finish("time is up")
    15 of 20 fits after <1 s (time is up), best score 0.9500
    >>> logger.handlers.clear(); logger.setLevel(logging.NOTSET)
    """

    #: Seconds between two lines.
    PAUSE = 1.0

    def __init__(self, *, clock: Clock = time.monotonic, unit: str = "fits", shown: bool = False) -> None:
        self._clock, self._unit, self._shown = clock, unit, shown
        self._pace: Pace | None = None
        self._next = 0.0

    def start(self, fits: int | None) -> None:
        """Begin; the first line comes with the first models that are done after a second."""
        self._pace = Pace(fits, self._clock, self._unit)
        self._next = self._clock() + self.PAUSE

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        """Write a line if the last one is a second old."""
        if self._pace is None:
            return
        self._pace.advance(fits, cost, expected_cost_left, best_score)
        if self._clock() >= self._next:
            self._next = self._clock() + self.PAUSE
            left = self._pace.seconds_left()
            self._write("" if left is None else f", {time_left(left)}")

    def finish(self, reason: str) -> None:
        """Write the last line."""
        if self._pace is not None:
            why = "" if reason == FINISHED else f" ({reason})"
            self._write(f" after {duration(self._pace.elapsed())}{why}")
            self._pace = None

    def _write(self, when: str) -> None:
        assert self._pace is not None
        name = "score" if self._unit == "fits" else "value"
        best = "" if self._pace.best_score is None else f", best {name} {score_text(self._pace.best_score)}"
        logger = logging.getLogger("widemargin")
        if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
            logger.info("%s%s%s", self._pace.counted(), when, best)
        elif self._shown and sys.stderr is not None:
            print(f"{self._pace.counted()}{when}{best}", file=sys.stderr, flush=True)


def progress_for(setting: Any, unit: str = "fits") -> Progress:
    """Return what shows the progress of a search.

    Parameters
    ----------
    setting : None, bool, "rich", "log" or Progress
        None and False show nothing. ``"rich"`` is a bar on the standard error stream, for terminals and notebooks;
        ``"log"`` writes to the logger ``"widemargin"``; True is the former where there is a terminal or a notebook, the
        latter otherwise, and where nobody listens to that logger, its lines go to the standard error stream. An object
        with the three methods of :class:`Progress` is taken as it is.
    unit : str, default="fits"
        What is counted.

    Returns
    -------
    Progress

    Raises
    ------
    ImportError
        If a bar is asked for and rich is not installed (in a notebook: or ipywidgets).
    TypeError, ValueError
        If `setting` is something else.

    Examples
    --------
    >>> from widemargin.study import progress_for
    >>> type(progress_for(None)).__name__, type(progress_for("log")).__name__
    ('SilentProgress', 'LogProgress')
    """
    if setting is None or setting is False:
        return SilentProgress()
    if setting is True:
        return _progress_of_this_place(unit)
    if setting == "log":
        return LogProgress(unit=unit)
    if setting == "rich":
        return _bar(unit)
    if isinstance(setting, Progress) and not isinstance(setting, type):
        return setting
    accepted = 'None, False, True, "rich", "log" or an object with the methods start, advance and finish'
    kind = ValueError if isinstance(setting, str) else TypeError
    raise kind(f"progress must be {accepted}; got {setting!r}.")


def duration(seconds: float) -> str:
    """Return a time in words, as precise as it matters.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 42, 185, 1500, 7800, 200_000)]
    ['<1 s', '42 s', '3 min 05 s', '25 min', '2 h 10 min', '2 d 8 h']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "<1 s"
    minutes, hours = whole // 60, round(seconds / 3600)
    if whole < 600:
        return f"{minutes} min {whole % 60:02d} s"
    if whole < 3600:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min" if whole < 86_400 else f"{hours // 24} d {hours % 24} h"


def time_left(seconds: float) -> str:
    """Return an estimate in words.

    Examples
    --------
    >>> time_left(42), time_left(0.3)
    ('about 42 s left', '<1 s left')
    """
    text = duration(seconds)
    return f"{text} left" if text.startswith("<") else f"about {text} left"


def score_text(score: float) -> str:
    """Return a score with four digits, so that a better one takes no more room.

    Examples
    --------
    >>> score_text(0.95), score_text(1.0), score_text(-123456.0), score_text(-1234.0)
    ('0.9500', '1.000', '-1.235e+05', '-1234')
    """
    return f"{score:#.4g}".removesuffix(".")


def _progress_of_this_place(unit: str) -> Progress:
    missing = _missing_for_a_bar()
    if missing is None:
        from widemargin.study.bar import RichProgress, can_show_a_bar

        return RichProgress(unit=unit) if can_show_a_bar() else LogProgress(unit=unit, shown=True)
    if "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty()):
        warnings.warn(
            f"progress=True shows no bar without {missing}; the logger 'widemargin' gets the progress, or the standard "
            "error stream where nobody listens to it.",
            UserWarning,
            stacklevel=3,
        )
    return LogProgress(unit=unit, shown=True)


def _bar(unit: str) -> Progress:
    missing = _missing_for_a_bar()
    if missing is not None:
        raise ImportError(f"progress='rich' needs {missing}.")
    from widemargin.study.bar import RichProgress

    return RichProgress(unit=unit)


def _missing_for_a_bar() -> str | None:
    if importlib.util.find_spec("rich") is None:
        return "rich, which pip install 'widemargin[progress]' brings"
    from widemargin.study.bar import in_a_notebook

    if in_a_notebook() and importlib.util.find_spec("ipywidgets") is None:
        return "ipywidgets, which a notebook needs and pip install ipywidgets brings"
    return None

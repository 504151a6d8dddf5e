"""Whose turn it is in a search whose time is limited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from widemargin.model_selection.grid.setup import Unit
from widemargin.runtime import Stop


class TimeShare(NamedTuple):
    """The time that a unit gets: a part of what is left when it begins, and some seconds in any case.

    Examples
    --------
    >>> TimeShare(0.25, 2.0).of(100.0), TimeShare(0.25, 2.0).of(4.0), TimeShare(0.25, 2.0).of(1.0)
    (25.0, 2.0, 1.0)
    """

    fraction: float = 1.0
    least: float = 0.0

    def of(self, left: float) -> float:
        """Return the seconds for a unit that begins when so many are left."""
        return min(left, max(self.fraction * left, self.least))


#: Gives the time of a unit when its turn has come, or None to leave it out.
Limit = Callable[[Unit], TimeShare | None]

#: A unit that was cut short runs again once it would get so many times what it had: it begins with its first model.
WORTHWHILE = 1.5


class Turns:
    """The order in which units are evaluated, and the time that each of them gets.

    A unit gets an equal share of the time left, so that as many candidates as possible are finished on all folds: one
    that needs more, for a large C, keeps what it has finished and waits until the others had their turn, and so do the
    same candidates on the other folds. Then those that are left share what time there is, again and again.

    Parameters
    ----------
    units : sequence of Unit
    stop : Stop
        Its deadline is the end.
    workers : int
        Units that are evaluated at the same time.

    Examples
    --------
    >>> units = [Unit(fold, chain) for chain in ((0, 1), (2, 3)) for fold in (0, 1)]
    >>> turns = Turns(units, Stop().within(100.0), 1)
    >>> [round(turns.limit(unit).of(100.0)) for unit in turns.next_batch()]
    [25, 25, 25, 25]
    >>> turns.done(units[0], 25.0, complete=False)
    >>> turns.limit(units[1]) is None, round(turns.limit(units[2]).of(100.0))
    (True, 25)
    """

    def __init__(self, units: Sequence[Unit], stop: Stop, workers: int) -> None:
        self._stop, self._workers = stop, workers
        self._had = dict.fromkeys(units, 0.0)  # seconds that units had, of those that are left
        self._cut_short: set[tuple[int, ...]] = set()
        self._batches = self._begun = 0
        self._in_any_case = False

    def next_batch(self) -> list[Unit]:
        """Return the units of the next batch, in order: nothing if all are complete, or time is over."""
        self._batches += 1
        units = list(self._had)
        if self._batches == 1:
            return units
        if self._stop.late:
            return []
        self._in_any_case, self._begun = self._begun == 0, 0
        chains: dict[tuple[int, ...], float] = {}
        for unit, seconds in self._had.items():
            chains[unit.candidates] = max(seconds, chains.get(unit.candidates, 0.0))
        # All folds of a chain, those first that promise to be cheap.
        return sorted(units, key=lambda unit: (chains[unit.candidates], unit.candidates, unit.fold))

    def limit(self, unit: Unit) -> TimeShare | None:
        """Return the time that a unit gets whose turn it is; None if it is to wait for the next batch."""
        had, fraction = self._had[unit], min(1.0, self._workers / len(self._had))
        limit = TimeShare(fraction, 2.0 * had if self._in_any_case else 0.0)
        left = self._stop.seconds_left() or 0.0
        waits = unit.candidates in self._cut_short if self._batches == 1 else limit.of(left) < WORTHWHILE * had
        if waits and not self._in_any_case:
            return None
        self._begun += 1
        return limit

    def done(self, unit: Unit, seconds: float, *, complete: bool) -> None:
        """Take note of a unit that has ended."""
        if complete:
            del self._had[unit]
        else:
            self._had[unit] = seconds
            self._cut_short.add(unit.candidates)

"""Whose turn it is in a search, above all when its time is limited."""

from __future__ import annotations

from collections.abc import Sequence

from widemargin.model_selection.grid.setup import Unit
from widemargin.model_selection.grid.workers.units import Deadline

#: A unit that was cut short runs again once it would get so many times what it had: it begins with its first machine.
WORTHWHILE = 1.5


class Turns:
    """The order in which units are evaluated, and the time that each of them gets.

    Without a clock that is the order given. With one, a unit gets an equal share of the time left, so that as many
    candidates as possible are finished on all splits: one that needs more, for a large C, keeps what it has finished
    and waits until the others had their turn, and so do the same candidates on the other splits. Then those that are
    left share what time there is, again and again.

    Parameters
    ----------
    units : sequence of Unit
    moment : float or None
        When to end, in the time of :func:`time.perf_counter`.
    workers : int
        Units that are evaluated at the same time.

    Examples
    --------
    >>> import time
    >>> units = [Unit(split, chain) for chain in ((0, 1), (2, 3)) for split in (0, 1)]
    >>> turns = Turns(units, time.perf_counter() + 100.0, 1)
    >>> [round(turns.limit(unit).share()) for unit in turns.next_round()]
    [25, 25, 25, 25]
    >>> turns.done(units[0], 25.0, complete=False)
    >>> turns.limit(units[1]) is None, round(turns.limit(units[2]).share())
    (True, 25)
    """

    def __init__(self, units: Sequence[Unit], moment: float | None, workers: int) -> None:
        self._moment, self._workers = moment, workers
        self._had = dict.fromkeys(units, 0.0)  # seconds that units had, of those that are left
        self._cut_short: set[tuple[int, ...]] = set()
        self._rounds = self._begun = 0
        self._in_any_case = False

    def next_round(self) -> list[Unit]:
        """Return the units of the next round, in order: nothing if all are complete, or time is over."""
        self._rounds += 1
        units = list(self._had)
        if self._rounds == 1:
            return units
        left = Deadline(self._moment).left()
        if left is None or left <= 0.0:
            return []
        self._in_any_case, self._begun = self._begun == 0, 0
        chains: dict[tuple[int, ...], float] = {}
        for unit, seconds in self._had.items():
            chains[unit.candidates] = max(seconds, chains.get(unit.candidates, 0.0))
        # All splits of a chain, those first that promise to be cheap.
        return sorted(units, key=lambda unit: (chains[unit.candidates], unit.candidates, unit.split))

    def limit(self, unit: Unit) -> Deadline | None:
        """Return the time that a unit gets whose turn it is; None if it is to wait for the next round."""
        had, fraction = self._had[unit], min(1.0, self._workers / len(self._had))
        limit = Deadline(self._moment, fraction, 2.0 * had if self._in_any_case else 0.0)
        share = limit.share()
        if share is not None:
            waits = unit.candidates in self._cut_short if self._rounds == 1 else share < WORTHWHILE * had
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

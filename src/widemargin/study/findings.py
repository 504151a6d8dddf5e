"""What a search has found, a finding an evaluation: counted once, written to the journal and read back, shown, told."""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from statistics import fmean
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime import STOPPED, Lock, Stop, Work
from widemargin.runtime.checks import is_number, is_whole
from widemargin.runtime.stopping import why_ended
from widemargin.runtime.work import COUNTS
from widemargin.study.journal_part import Records
from widemargin.study.lines import Record
from widemargin.study.progress import Progress, SilentProgress
from widemargin.study.records import (
    COUNT,
    NUMBER,
    STRINGS,
    TRUTH,
    Kind,
    a_number_below,
    numbers_in,
    what_is_wrong,
)
from widemargin.study.writer import JournalWriter

Vector = NDArray[np.float64]

#: Version of the records; it changes when the fields of a finding do, or their meaning.
RECORD_SCHEMA = 4

#: Seconds between two writes to a journal, and between two calls of a display, where evaluations may take less.
WRITE_EVERY, SHOW_EVERY = 0.2, 0.05

#: A note of findings whose models did not meet their tolerance.
ENDED_EARLY = "models ended before they met their tolerance"


class Finding(NamedTuple):
    """What an evaluation came to.

    `number` counts evaluations; that of a grid's candidate on a split is the candidate's number times the number of
    folds plus the fold's. `value` is the score (scores by name, None if there is none), or the value of an objective;
    `train_value` the same on the samples that were trained on. `work.seconds` is the time of training,
    `score_seconds` that of scoring; where scores came without predictions, these would have taken `coefficients` that
    are not zero. Of an objective: `point`, as it is kept, and `part` say where it was evaluated, `gradient` is with
    respect to the point, `measures` says what the value is made of, and `chosen` marks a point that the search came to
    without having asked for it.
    """

    number: int
    value: Any
    work: Work
    notes: tuple[str, ...] = ()
    error: str | None = None
    score_seconds: float = 0.0
    train_value: Any = None
    point: Vector | None = None
    part: int | None = None
    gradient: Vector | None = None
    higher: tuple[float, ...] = ()
    chosen: bool = False
    measures: dict[str, float] | None = None
    coefficients: int = 0


#: Findings by number.
Found = dict[int, Finding]


def as_record(one: Finding) -> Record:
    """Return a finding as a journal keeps it: what says nothing is left out.

    Examples
    --------
    >>> as_record(Finding(3, 0.5, Work(trained=1, iterations=7), point=np.array([0.1])))
    {'evaluation': 3, 'value': 0.5, 'work': {'trained': 1, 'iterations': 7}, 'point': [0.1]}
    """
    record: Record = {"evaluation": one.number, "value": one.value, "work": one.work.counts()}
    for name, default in _DEFAULTS.items():
        own = getattr(one, name)
        if isinstance(own, np.ndarray):
            record[name] = own.tolist()
        elif own != default:
            record[name] = list(own) if isinstance(own, tuple) else own
    return record


def from_record(record: Mapping[str, Any]) -> Finding:
    """Return the finding of a record.

    Examples
    --------
    >>> from_record({"evaluation": 3, "value": 0.5, "work": {"trained": 1}}).work.trained
    1
    """
    own = {name: value for name, value in record.items() if name not in ("evaluation", "work")}
    for name in ("point", "gradient"):
        if name in own:
            own[name] = np.array(own[name], dtype=np.float64)
    for name in ("notes", "higher"):
        if name in own:
            own[name] = tuple(own[name])
    return Finding(record["evaluation"], work=Work(**record["work"]), **own)


_DEFAULTS = Finding._field_defaults


def kinds_of_records(limit: int | None = None, n_dims: int | None = None) -> tuple[dict[str, Kind], dict[str, Kind]]:
    """Say what belongs into the fields of records: those that all have, and others.

    Parameters
    ----------
    limit : int, optional
        Evaluations that there are, if they are scores of candidates.
    n_dims : int, optional
        Coordinates of a point, for values of an objective.
    """
    scores: Kind = "a number, numbers by name, or null", _are_scores
    work: Kind = "counts of work by name", _is_work
    if n_dims is None:
        number = COUNT if limit is None else a_number_below(limit)
        error: Kind = "a string", lambda value: isinstance(value, str)
        needed = {"evaluation": number, "value": scores, "work": work}
        others = {"train_value": scores, "score_seconds": NUMBER, "error": error, "notes": STRINGS}
        return needed, others | {"coefficients": COUNT}
    point = numbers_in(n_dims)
    needed = {"evaluation": COUNT, "value": NUMBER, "work": work, "point": point}
    whole: Kind = "a whole number", is_whole
    measures: Kind = "numbers by name", lambda value: isinstance(value, dict) and all(map(is_number, value.values()))
    others = {"part": whole, "gradient": point, "higher": numbers_in(None), "notes": STRINGS}
    return needed, others | {"chosen": TRUTH, "measures": measures}


def _is_work(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name in COUNTS and (is_number(one) if name == "seconds" else is_whole(one, 0)) for name, one in value.items()
    )


def _are_scores(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) > 0 and all(isinstance(one, numbers.Real) for one in value.values())
    return value is None or isinstance(value, numbers.Real)


class Standing:
    """How far a search is: the best value so far, and what the evaluations that are left will cost.

    Parameters
    ----------
    total : int or None
        Evaluations; None if nobody knows.
    together : int, default=1
        So many in a row, the folds of a candidate, have a value in common: their mean.
    greater_is_better : bool, default=True
    metric : str, optional
        The one that decides, where values are scores by name.

    Attributes
    ----------
    best : float or None
    """

    def __init__(
        self, total: int | None, together: int = 1, *, greater_is_better: bool = True, metric: str | None = None
    ) -> None:
        self.best: float | None = None
        self._metric = metric
        self._total, self._together, self._sign = total, together, 1.0 if greater_is_better else -1.0
        self._done = 0
        self._counts: dict[int, int] = {}
        self._scores: dict[int, list[float]] = {}
        self._costs: dict[int, tuple[float, int]] = {}

    def add(self, one: Finding, cost: float | None = None) -> None:
        """Take note of an evaluation, and of its cost if that says something about others."""
        group = one.number // self._together
        self._done += 1
        self._counts[group] = self._counts.get(group, 0) + 1
        if cost is not None:
            spent, times = self._costs.get(group, (0.0, 0))
            self._costs[group] = spent + cost, times + 1
        value = one.value.get(self._metric) if isinstance(one.value, dict) else one.value
        if one.part is None and isinstance(value, numbers.Real):
            own = self._scores.setdefault(group, [])
            own.append(float(value))
            if len(own) == self._together:
                mean = fmean(own)
                if isfinite(mean) and (self.best is None or self._sign * mean > self._sign * self.best):
                    self.best = mean

    def expected_cost(self) -> float | None:
        """Expect of a candidate what it took on other folds, or what candidates took on average.

        Examples
        --------
        >>> standing = Standing(total=4, together=2)
        >>> standing.add(Finding(0, 0.9, Work()), cost=3.0)
        >>> standing.expected_cost()
        9.0
        """
        if not self._costs or self._total is None:
            return None
        means = {group: spent / times for group, (spent, times) in self._costs.items()}
        usual = fmean(means.values())
        known = sum((self._together - self._counts[group]) * mean for group, mean in means.items())
        left = max(0, self._total - self._done) - sum(self._together - self._counts[group] for group in means)
        return known + left * usual


class Findings:
    """Takes findings from any thread; what comes twice counts once.

    Parameters
    ----------
    standing : Standing
    journal : Journal, JournalPart or None
        What it holds is known; gets what is new.
    stop : Stop
        Ended if somebody who is told asks for it, or if something goes wrong.
    limit, n_dims
        What records hold, see :func:`kinds_of_records`.
    progress : Progress, optional
    told : callable (Finding) -> bool, optional
        Gets every finding; returns whether the search is to stop.
    pause : float, default=0.0
        Seconds between two writes. With 0 nothing counts before it is on the disk. Where evaluations take less than
        waiting for that, those of a while are written together; what is lost with it is computed again, to the same
        bits.
    show_every : float, default=0.0
        Seconds between two calls of the display.

    Attributes
    ----------
    found : dict
        Findings that count, by number.
    known : dict
        Those that the journal holds.
    taken : set of int
        Numbers of all that were taken, even if they do not count yet.
    awaited : bool
        Whether somebody waits for single findings, rather than for what the search has found in the end.

    Raises
    ------
    JournalError
        If a record is none that this search could have written, with its line.
    """

    def __init__(
        self,
        standing: Standing,
        journal: Records | None,
        stop: Stop,
        *,
        limit: int | None = None,
        n_dims: int | None = None,
        progress: Progress | None = None,
        told: Callable[[Finding], bool] | None = None,
        pause: float = 0.0,
        show_every: float = 0.0,
    ) -> None:
        self.found: Found = {}
        self.known: Found = {}
        self._standing, self._journal, self._stop, self._told = standing, journal, stop, told
        self._progress = None if type(progress) is SilentProgress else progress
        self.awaited = journal is not None or self._progress is not None or told is not None
        self.taken: set[int] = set()
        self._places: dict[int, int] = {}
        self._chosen: list[Finding] = []
        if journal is not None:
            self._read(journal, *kinds_of_records(limit, n_dims))
        self._writer = None
        if journal is not None and pause == 0.0:
            self._writer = JournalWriter(journal, self._count_records, self.fail)
        self._pause, self._waiting, self._written = pause, list[Record](), time.monotonic()
        self._show_every, self._next_show = show_every, 0.0
        self._unshown, self._unshown_cost = 0, 0.0
        self._lock = Lock()
        self._error: BaseException | None = None
        self._closed = False

    def know(self, findings: Iterable[Finding]) -> None:
        """Begin with what needs no work: a journal holds it, or it is known to fail."""
        for one in findings:
            if one.number not in self.taken:
                self.taken.add(one.number)
                self.found[one.number] = one
                self._standing.add(one)
        if self._progress is not None:
            self._progress.advance(len(self.found), 0.0, None, self._standing.best)
        if self._told is not None and any([self._told(one) for one in self.found.values()]):
            self._stop.request(STOPPED)

    def take(self, *findings: Finding) -> None:
        """Take findings; what goes wrong with them, :meth:`check` raises."""
        new = []
        with self._lock:
            for one in () if self._closed else findings:
                if one.number not in self.taken:
                    self.taken.add(one.number)
                    new.append(one)
            if self._journal is None:
                self._count(new)
                return
        for one in new:
            if self._writer is not None and one.number not in self.known:
                self._writer.put(as_record(one))
            else:
                self.keep(one)
                self._count([one])

    def keep(self, one: Finding) -> None:
        """Write a finding, together with others, unless it is known."""
        if self._journal is None or (not one.chosen and one.number in self.known):
            return
        self._waiting.append(as_record(one))
        if time.monotonic() - self._written >= self._pause:
            self._write()

    def value_of(self, number: int, point: Vector) -> Finding | None:
        """Return the finding of a point that was chosen after so many evaluations, if it is known."""
        same = (one for one in self._chosen if one.number == number and one.point is not None)
        return next((one for one in same if np.array_equal(np.asarray(one.point), point)), None)

    def refuse(self, number: int, wrong: str) -> NoReturn:
        """Raise the error that a known finding cannot be used."""
        assert self._journal is not None
        self._journal.refuse(self._places[number], wrong)

    def _write(self) -> None:
        if self._journal is not None and self._waiting:
            records, self._waiting = self._waiting, []
            self._journal.extend(records, keep=False)
            self._written = time.monotonic()

    def _count_records(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._count([from_record(record) for record in records])

    def _count(self, findings: Iterable[Finding]) -> None:
        """Let findings count, show them, tell of them."""
        with self._lock:
            try:
                for one in findings:
                    self.found[one.number] = one
                    if self._progress is not None:
                        self._show(one, None if one.number in self.known else one.work.seconds + one.score_seconds)
                    if self._told is not None and self._told(one):
                        self._stop.request(STOPPED)
            except BaseException as error:
                self.fail(error)

    def _show(self, one: Finding, cost: float | None) -> None:
        self._standing.add(one, cost)
        self._unshown, self._unshown_cost = self._unshown + 1, self._unshown_cost + (cost or 0.0)
        if time.perf_counter() >= self._next_show:
            self._show_all()

    def _show_all(self) -> None:
        new, cost, self._unshown, self._unshown_cost = self._unshown, self._unshown_cost, 0, 0.0
        self._next_show = time.perf_counter() + self._show_every
        if self._progress is not None:
            self._progress.advance(new, cost, self._standing.expected_cost(), self._standing.best)

    def fail(self, error: BaseException) -> None:
        """End the search with an error."""
        if self._error is None:
            self._error = error
        self._stop.request(why_ended(error))

    def check(self) -> None:
        """Raise what went wrong, in the thread of the search."""
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # it holds its frames, and they this

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True  # a worker that was not heard of in time changes nothing any more
        if self._waiting:
            self._write()
        if self._unshown:
            self._show_all()
        if self._error is not None and (error is None or isinstance(error, KeyboardInterrupt)):
            self.check()

    def _read(self, journal: Records, needed: dict[str, Kind], others: dict[str, Kind]) -> None:
        metrics: tuple[Any, Any] | None = None
        for place, record in enumerate(journal.records):
            wrong = what_is_wrong(record, needed, "evaluations", others)
            if wrong is None:
                one = from_record(record)
                own = _metrics(one.value), _metrics(one.train_value)
                metrics = own if metrics is None and one.error is None else metrics
                failed = one.error is not None
                if (not failed and one.value is None) or (failed and one.value is not None):
                    wrong = (
                        f"which holds {'both' if failed else 'neither'} scores {'and' if failed else 'nor'} an error"
                    )
                elif not failed and own != metrics:
                    wrong = "which has scores by other metrics than the lines before"
                elif one.point is not None and not one.chosen and one.number in self.known:
                    wrong = f"which holds evaluation {one.number} again"
            if wrong is not None:
                journal.refuse(place, wrong)
            if one.chosen:
                self._chosen.append(one)
            else:
                self.known.setdefault(one.number, one)
                self._places[one.number] = place


def _metrics(scores: Any) -> Any:
    """Name the metrics of some scores: none at all, one without a name, or several."""
    return set(scores) if isinstance(scores, dict) else scores is not None

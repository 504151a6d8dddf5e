"""What a grid search has found: counted once, written to the journal and read back from it, shown, told."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from statistics import fmean
from types import TracebackType
from typing import Any, Self

from widemargin.model_selection.grid.setup import Evaluation, Found
from widemargin.runtime import Lock
from widemargin.study import JournalWriter, Progress, Records, SilentProgress
from widemargin.study.records import COUNT, NUMBER, TRUTH, Kind, a_number_below, what_is_wrong


class Standing:
    """How far a search is: the best mean score so far, and what the evaluations that are left will cost.

    Parameters
    ----------
    n_candidates, n_splits : int

    Attributes
    ----------
    best : float or None
        Best mean score of the candidates that are finished on all splits.
    """

    def __init__(self, n_candidates: int, n_splits: int) -> None:
        self.best: float | None = None
        self._n_splits = n_splits
        self._scores: dict[int, list[float]] = {}
        self._left = [n_splits] * n_candidates
        self._costs, self._known = [0.0] * n_candidates, [0] * n_candidates

    def add(self, one: Evaluation, cost: float | None = None) -> None:
        """Take note of an evaluation, and of its cost if that says something about others."""
        self._left[one.candidate] -= 1
        if cost is not None:
            self._costs[one.candidate] += cost
            self._known[one.candidate] += 1
        if isinstance(one.test_scores, numbers.Real):
            own = self._scores.setdefault(one.candidate, [])
            own.append(float(one.test_scores))
            if len(own) == self._n_splits:
                mean = fmean(own)
                if isfinite(mean) and (self.best is None or mean > self.best):
                    self.best = mean

    def expected_cost(self) -> float | None:
        """Expect of a candidate what it took on other splits, or what candidates took on average.

        Examples
        --------
        >>> standing = Standing(n_candidates=2, n_splits=2)
        >>> standing.add(Evaluation(0, 0, 0.9, None, 10, 3.0, 0.0), cost=3.0)
        >>> standing.expected_cost()
        9.0
        """
        means = [cost / times if times else None for cost, times in zip(self._costs, self._known, strict=True)]
        typical = [mean for mean in means if mean is not None]
        if not typical:
            return None
        usual = fmean(typical)
        return sum(left * (usual if mean is None else mean) for left, mean in zip(self._left, means, strict=True))


class Findings:
    """Takes evaluations from any thread; what comes twice counts once.

    Parameters
    ----------
    standing : Standing
    journal : Journal, JournalPart or None
        Gets what is new; nothing counts before it is on the disk.
    progress : Progress
    told : callable or None
        Gets every evaluation; returns whether the search is to stop.
    stop : callable
        Ends the search as soon as possible.

    Attributes
    ----------
    found : dict
        Evaluations that count, by candidate and split.
    stopped : bool
        Whether somebody who was told asked for the end.
    """

    def __init__(
        self,
        standing: Standing,
        journal: Records | None,
        progress: Progress,
        told: Callable[[Evaluation], bool] | None,
        stop: Callable[[], None],
    ) -> None:
        self.found: Found = {}
        self.stopped = False
        self._standing = standing
        self._progress = progress
        self._told = told
        self._stop = stop
        self._taken: set[tuple[int, int]] = set()
        self._writer = None if journal is None else JournalWriter(journal, self._count_records, self.fail)
        self._silent = isinstance(progress, SilentProgress)
        self._lock = Lock()
        self._error: BaseException | None = None
        self._closed = False

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for single evaluations, rather than for what the search has found in the end."""
        return self._writer is not None or not self._silent or self._told is not None

    def know(self, evaluations: Iterable[Evaluation]) -> None:
        """Begin with what needs no work: a journal holds it, or it is known to fail."""
        for one in evaluations:
            if not self.has(one.candidate, one.split):
                self._taken.add((one.candidate, one.split))
                self.found[one.candidate, one.split] = one
                self._standing.add(one)
        self._progress.advance(len(self.found), 0.0, None, self._standing.best)
        for one in self.found.values():
            self._tell(one)

    def has(self, candidate: int, split: int) -> bool:
        """Tell whether an evaluation was taken, even if it does not count yet."""
        return (candidate, split) in self._taken

    def take(self, one: Evaluation) -> None:
        """Take an evaluation; what goes wrong with it, :meth:`check` raises."""
        with self._lock:
            if self._closed or self.has(one.candidate, one.split):
                return
            self._taken.add((one.candidate, one.split))
        if self._writer is None:
            self._count([one])
        else:
            self._writer.put(vars(one))

    def _count_records(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._count([Evaluation(**record) for record in records])

    def _count(self, evaluations: Iterable[Evaluation]) -> None:
        """Let evaluations count, show them, tell of them."""
        with self._lock:
            try:
                for one in evaluations:
                    self.found[one.candidate, one.split] = one
                    cost = one.fit_time + one.score_time
                    self._standing.add(one, cost)
                    if not self._silent:
                        self._progress.advance(1, cost, self._standing.expected_cost(), self._standing.best)
                    self._tell(one)
            except BaseException as error:
                self.fail(error)

    def _tell(self, one: Evaluation) -> None:
        if self._told is not None and self._told(one):
            self.stopped = True
            self._stop()

    def fail(self, error: BaseException) -> None:
        """End the search with an error."""
        if self._error is None:
            self._error = error
        self._stop()

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
        if error is None or isinstance(error, KeyboardInterrupt):
            self.check()


#: Version of what a search writes into its journal; it changes when the fields of an evaluation do, or their meaning.
RECORD_SCHEMA = 1


def evaluations(journal: Records | None, n_candidates: int, n_splits: int) -> list[Evaluation]:
    """Return the evaluations that a journal holds.

    Parameters
    ----------
    journal : Journal, JournalPart or None
        None holds nothing.
    n_candidates, n_splits : int
        Of the search that is to go on from there.

    Raises
    ------
    JournalError
        If a record is none that this search could have written, with its line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "study.jsonl", {}) as journal:
    ...     journal.append(vars(Evaluation(1, 0, 0.9, None, 20, 0.01, 0.0)))
    ...     [(one.candidate, one.test_scores) for one in evaluations(journal, n_candidates=2, n_splits=3)]
    [(1, 0.9)]
    >>> folder.cleanup()
    """
    found: list[Evaluation] = []
    if journal is None:
        return found
    kinds = _kinds(n_candidates, n_splits)
    metrics: tuple[Any, Any] | None = None
    for number, record in enumerate(journal.records):
        wrong = _what_is_wrong(record, kinds)
        if wrong is None and record["fit_error"] is None:
            own = _metrics(record["test_scores"]), _metrics(record["train_scores"])
            metrics = own if metrics is None else metrics
            if own != metrics:
                wrong = "which has scores by other metrics than the lines before"
        if wrong is not None:
            journal.refuse(number, wrong)
        found.append(Evaluation(**record))
    return found


def _what_is_wrong(record: Mapping[str, Any], kinds: Mapping[str, Kind]) -> str | None:
    """Say what keeps a record from being an evaluation, if anything does."""
    wrong = what_is_wrong(record, kinds, "evaluations")
    if wrong is not None:
        return wrong
    failed, has_scores = record["fit_error"] is not None, record["test_scores"] is not None
    if failed == has_scores:
        return f"which holds {'both' if failed else 'neither'} scores {'and' if failed else 'nor'} an error"
    return None


def _kinds(n_candidates: int, n_splits: int) -> dict[str, Kind]:
    """Say what belongs into each field."""
    scores: Kind = "a number, numbers by name, or null", _are_scores
    return {
        "candidate": a_number_below(n_candidates),
        "split": a_number_below(n_splits),
        "test_scores": scores,
        "train_scores": scores,
        "n_test_samples": COUNT,
        "fit_time": NUMBER,
        "score_time": NUMBER,
        "fit_error": ("a text or null", lambda value: value is None or isinstance(value, str)),
        "iterations": COUNT,
        "repeated": TRUTH,
        "converged": TRUTH,
        "kernel_evaluations": COUNT,
    }


def _are_scores(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) > 0 and all(isinstance(one, numbers.Real) for one in value.values())
    return value is None or isinstance(value, numbers.Real)


def _metrics(scores: Any) -> Any:
    """Name the metrics of some scores: none at all, one without a name, or several."""
    return set(scores) if isinstance(scores, dict) else scores is not None

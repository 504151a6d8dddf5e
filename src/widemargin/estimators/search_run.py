"""Units of a search as they run: in parallel, against the clock, written to a journal, shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin.estimators.search_data import Evaluation, SearchData, Unit
from widemargin.estimators.search_turns import Turns
from widemargin.estimators.search_workers import Workers
from widemargin.estimators.shared_search import SharedSearch
from widemargin.study import EvaluationTasks, Journal, Progress, SilentProgress, fingerprint

Found = dict[tuple[int, int], Evaluation]

#: How a search may end.
FINISHED, TIME_IS_UP, INTERRUPTED, STOPPED = "finished", "time is up", "interrupted", "stopped by a callback"


@dataclass
class SearchRun:
    """Runs the units of a search.

    Parameters
    ----------
    search : SharedSearch
    n_jobs : int or None
        Threads, unless ``joblib.parallel_config`` chooses another backend.
    pre_dispatch : int or str
        As joblib takes it.
    deadline : float or None
        When to end, in the time of :func:`time.perf_counter`.
    journal : Journal or None
        Evaluations that it holds are not repeated; finished ones are added, those of a unit together.
    progress : Progress
        Told of every unit.
    best : callable
        Gives the best score of what has been found so far, or None.
    told : callable or None
        Gets every finished evaluation, those of the journal too; returns whether the search is to stop.

    Attributes
    ----------
    ended : str
        How it ended.
    """

    search: SharedSearch
    n_jobs: int | None
    pre_dispatch: int | str
    deadline: float | None
    journal: Journal | None
    progress: Progress
    best: Callable[[Found], float | None]
    told: Callable[[Evaluation], bool] | None = None
    ended: str = INTERRUPTED

    def run(self) -> Found:
        """Run what the journal does not hold; return all evaluations that are finished when it ends."""
        found: Found = {(e.candidate, e.split): e for e in self.search.failed()}
        if self.journal is not None:
            for record in self.journal.records:
                one = Evaluation(**record)
                found[one.candidate, one.split] = one
        # A chain that was not finished runs again from its first link, so that every start is what it would have been.
        units = [u for u in self.search.units() if any((c, u.split) not in found for c in u.candidates)]
        machines = len(self.search.data.candidates) * len(self.search.data.splits)
        self.progress.start(machines)
        self.progress.advance(len(found), 0.0, None, None if self._silent else self.best(found))
        try:
            if self._stops(list(found.values())) or self._run_units(units, found):
                self.ended = STOPPED
            else:
                self.ended = FINISHED if len(found) == machines else TIME_IS_UP
        except KeyboardInterrupt:
            self.ended = INTERRUPTED
        finally:
            self.progress.finish(self.ended)
        return found

    def _run_units(self, units: Sequence[Unit], found: Found) -> bool:
        """Run units; return whether somebody asked to stop."""
        if not units:
            return False
        spent: dict[tuple[int, ...], list[float]] = {}
        with Workers(self.search, self.n_jobs, self.pre_dispatch) as workers:
            turns = Turns(units, self.deadline, workers.count)
            while some := turns.next_round():
                with closing(workers.evaluate(some, turns.limit)) as results:
                    for done in results:
                        new = [e for e in done.evaluations if (e.candidate, e.split) not in found]
                        found.update({(e.candidate, e.split): e for e in new})
                        if self.journal is not None and new:
                            self.journal.extend([asdict(e) for e in new])
                        complete = all((candidate, done.unit.split) in found for candidate in done.unit.candidates)
                        turns.done(done.unit, done.seconds, complete=complete)
                        spent.setdefault(done.unit.candidates, []).append(done.seconds)
                        if not self._silent:
                            left = self._expected(turns.left, spent)
                            self.progress.advance(len(new), done.seconds, left, self.best(found))
                        if self._stops(new):
                            return True
        return False

    @property
    def _silent(self) -> bool:
        return isinstance(self.progress, SilentProgress)

    def _stops(self, evaluations: Sequence[Evaluation]) -> bool:
        """Tell of evaluations; return whether somebody asks to stop."""
        told = self.told
        return told is not None and any([told(one) for one in evaluations])

    @staticmethod
    def _expected(left: Sequence[Unit], spent: Mapping[tuple[int, ...], list[float]]) -> float:
        """Expect of a unit what the same chain took on other splits, or what chains took on average."""
        typical = fmean(fmean(seconds) for seconds in spent.values())
        return sum(fmean(spent[unit.candidates]) if unit.candidates in spent else typical for unit in left)


def listener(tasks: EvaluationTasks, data: SearchData, weights: Any) -> Callable[[Evaluation], bool] | None:
    """Return what tells scikit-learn's callbacks of an evaluation, or None if there are none."""
    if not tasks.anybody_listens:
        return None

    def told(one: Evaluation) -> bool:
        train, _ = data.splits[one.split]
        X, y, own = (
            None if part is None else partial(_safe_indexing, part, train) for part in (data.rows, data.y, weights)
        )
        return tasks.end(one.candidate * len(data.splits) + one.split, X, y, own)

    return told


def identity(search: SharedSearch, scoring: Any, return_train_score: bool) -> dict[str, Any]:
    """Say what a journal must have in common with a search to be continued by it."""
    data = search.data
    return {
        "data": fingerprint(data.rows),
        "target": fingerprint(data.y),
        "weights": fingerprint(data.weights, dict(data.fit_params)) if data.fit_params else fingerprint(data.weights),
        "splits": fingerprint([[np.asarray(train), np.asarray(test)] for train, test in data.splits]),
        "candidates": fingerprint(list(data.candidates)),
        "estimator": fingerprint(data.estimator),
        "scoring": fingerprint(scoring, return_train_score),
        "plan": fingerprint(data.plan),
    }

"""Units of a search as they run: in parallel, against the clock, written to a journal, shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from widemargin._runtime import single_threaded_blas
from widemargin.estimators.shared_search import Evaluation, SharedSearch, Unit
from widemargin.study import Journal, Progress, SilentProgress, fingerprint

Found = dict[tuple[int, int], Evaluation]


@dataclass
class SearchRun:
    """Runs the units of a search.

    Parameters
    ----------
    search : SharedSearch
    n_jobs : int
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
    """

    search: SharedSearch
    n_jobs: int
    pre_dispatch: int | str
    deadline: float | None
    journal: Journal | None
    progress: Progress
    best: Callable[[Found], float | None]
    interrupted: bool = False

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
        self.progress.advance(len(found), 0.0, None, self._best(found))
        reason = "interrupted"
        try:
            self._run_units(units, found)
            reason = "finished" if len(found) == machines else "time is up"
        except KeyboardInterrupt:
            self.interrupted = True
            self.search.data.signal.request()
        finally:
            self.progress.finish(reason)
        return found

    def _run_units(self, units: list[Unit], found: Found) -> None:
        parallel = Parallel(
            n_jobs=self.n_jobs, prefer="threads", return_as="generator_unordered", pre_dispatch=self.pre_dispatch
        )
        spent: dict[tuple[int, ...], list[float]] = {}
        left = list(units)
        with single_threaded_blas():
            for unit, evaluations, seconds in parallel(delayed(self._timed)(unit) for unit in units):
                new = [e for e in evaluations if (e.candidate, e.split) not in found]
                found.update({(e.candidate, e.split): e for e in new})
                if self.journal is not None and new:
                    self.journal.extend([asdict(e) for e in new])
                left.remove(unit)
                spent.setdefault(unit.candidates, []).append(seconds)
                self.progress.advance(len(new), seconds, self._expected(left, spent), self._best(found))

    def _best(self, found: Found) -> float | None:
        return None if isinstance(self.progress, SilentProgress) else self.best(found)

    def _timed(self, unit: Unit) -> tuple[Unit, list[Evaluation], float]:
        began = time.perf_counter()
        left = None if self.deadline is None else self.deadline - began
        evaluations = [] if left is not None and left <= 0 else self.search.evaluate(unit, left)
        return unit, evaluations, time.perf_counter() - began

    @staticmethod
    def _expected(left: list[Unit], spent: Mapping[tuple[int, ...], list[float]]) -> float:
        """Expect of a unit what the same chain took on other splits, or what chains took on average."""
        typical = fmean(fmean(seconds) for seconds in spent.values())
        return sum(fmean(spent[unit.candidates]) if unit.candidates in spent else typical for unit in left)


def identity(search: SharedSearch, scoring: Any, return_train_score: bool) -> dict[str, Any]:
    """Say what a journal must have in common with a search to be continued by it."""
    data = search.data
    return {
        "data": fingerprint(data.rows),
        "target": fingerprint(data.y),
        "weights": fingerprint(data.weights),
        "splits": fingerprint([[np.asarray(train), np.asarray(test)] for train, test in data.splits]),
        "candidates": fingerprint(list(data.candidates)),
        "estimator": fingerprint(data.estimator),
        "scoring": fingerprint(scoring, return_train_score),
    }

"""Units of a search as they run: in parallel, against the clock, written to a journal, shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin.model_selection.grid.findings import RECORD_SCHEMA, Findings, Standing, evaluations
from widemargin.model_selection.grid.paths.turns import Turns
from widemargin.model_selection.grid.setup import Evaluation, Found, SearchData
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.pool import Workers
from widemargin.runtime import FAILED, FINISHED, INTERRUPTED, STOPPED, TIME_IS_UP
from widemargin.study import EvaluationTasks, Progress, Records, fingerprint


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
    journal : Journal, JournalPart or None
        Evaluations that it holds are not repeated; finished ones are added, each as soon as there is one.
    progress : Progress
        Told of every evaluation.
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
    journal: Records | None
    progress: Progress
    told: Callable[[Evaluation], bool] | None = None
    ended: str = FAILED

    def run(self) -> Found:
        """Run what the journal does not hold; return all evaluations that are finished when it ends."""
        n_candidates, n_splits = len(self.search.data.candidates), len(self.search.data.splits)
        standing = Standing(n_candidates, n_splits)
        findings = Findings(standing, self.journal, self.progress, self.told, self.search.stop.request)
        self.progress.start(n_candidates * n_splits)
        try:
            findings.know([*self.search.failed(), *evaluations(self.journal, n_candidates, n_splits)])
            with findings:
                self._run_units(findings)
            if findings.stopped:
                self.ended = STOPPED
            else:
                self.ended = FINISHED if len(findings.found) == n_candidates * n_splits else TIME_IS_UP
        except KeyboardInterrupt:
            self.ended = INTERRUPTED
        finally:
            self.progress.finish(self.ended)
        return findings.found

    def _run_units(self, findings: Findings) -> None:
        """Run the units that are not known, until somebody asks to stop."""
        # A chain that was not finished runs again from its first link, so that every start is what it would have been.
        units = [u for u in self.search.units() if any((c, u.split) not in findings.found for c in u.candidates)]
        if not units or findings.stopped:
            return
        finished = findings.take if findings.awaited else None
        with Workers(self.search, self.n_jobs, self.pre_dispatch, finished) as workers:
            turns = Turns(units, self.search.stop, workers.count)
            while some := turns.next_round():
                with closing(workers.evaluate(some, turns.limit)) as results:
                    for done in results:
                        for one in done.evaluations:
                            findings.take(one)
                        complete = all(findings.has(c, done.unit.split) for c in done.unit.candidates)
                        turns.done(done.unit, done.seconds, complete=complete)
                        findings.check()
                        if findings.stopped:
                            return


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
        "schema": RECORD_SCHEMA,
        "data": fingerprint(data.rows),
        "target": fingerprint(data.y),
        "weights": fingerprint(data.weights, dict(data.fit_params)) if data.fit_params else fingerprint(data.weights),
        "splits": fingerprint([[np.asarray(train), np.asarray(test)] for train, test in data.splits]),
        "candidates": fingerprint(list(data.candidates)),
        "estimator": fingerprint(data.estimator),
        "scoring": fingerprint(scoring, return_train_score),
        "plan": fingerprint(data.plan),
    }

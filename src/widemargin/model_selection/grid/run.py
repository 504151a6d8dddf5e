"""Units of a grid as what a search proposes: evaluated in parallel, in turns where time is limited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import numpy as np
from joblib.logger import short_format_time
from sklearn.utils import _safe_indexing

from widemargin.model_selection.grid.paths.turns import Limit, Turns
from widemargin.model_selection.grid.setup import SearchData, Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.pool import Workers
from widemargin.model_selection.grid.workers.team import Team, team_size
from widemargin.model_selection.grid.workers.units import Done
from widemargin.runtime import FINISHED, TIME_IS_UP
from widemargin.study import EvaluationTasks, Progress, Records, fingerprint
from widemargin.study.findings import RECORD_SCHEMA, Finding, Findings, Found, Standing
from widemargin.study.runner import run


class GridUnits:
    """Proposes the units of a grid, batch after batch.

    `expected` are candidates times folds.

    Parameters
    ----------
    search : SharedSearch
    n_jobs : int or None
        Threads, unless ``joblib.parallel_config`` chooses another backend.
    pre_dispatch : int or str
        As joblib takes it.
    findings : Findings
        Units that it holds all of are left out. A chain of which something is missing runs again from its first link,
        so that every start is what it would have been.
    """

    def __init__(self, search: SharedSearch, n_jobs: int | None, pre_dispatch: int | str, findings: Findings) -> None:
        self.expected, self.reason = search.data.n_evaluations, FINISHED
        self._search, self._findings = search, findings
        self._how = n_jobs, pre_dispatch
        self._finished = findings.take if findings.awaited else None
        self._opened = ExitStack()
        self._begun = False
        self._evaluate: Callable[[Sequence[Unit], Limit | None], Generator[Done, None, None]]
        self._turns: Turns | None = None

    def close(self) -> None:
        """Let the workers go."""
        self._opened.close()

    @property
    def unfinished(self) -> str | None:
        """Time was up, if anything is missing."""
        return None if len(self._findings.found) == self.expected else TIME_IS_UP

    def propose(self) -> list[Unit]:
        """Return the units of the next batch; without a deadline there is but one, in the order of the search."""
        if self._begun:
            return [] if self._turns is None else self._turns.next_batch()
        self._begun, stop = True, self._search.stop
        units = self._search.units()
        if self._findings.found:
            n_folds, found = len(self._search.data.folds), self._findings.found
            units = [u for u in units if any(c * n_folds + u.fold not in found for c in u.candidates)]
        if not units or stop.signal.reason is not None:
            return []
        threads = team_size(self._how[0])
        workers: Team | Workers
        if threads is None:
            workers = self._opened.enter_context(Workers(self._search, *self._how, self._finished))
        else:
            workers = self._opened.enter_context(Team(self._search, threads, self._finished))
        self._evaluate = workers.evaluate
        if stop.deadline is None:
            return units
        self._turns = Turns(units, stop, workers.count)
        return self._turns.next_batch()

    def evaluate(self, batch: list[Unit], findings: Findings) -> None:
        """Evaluate the units of a batch."""
        limit = None if self._turns is None else self._turns.limit
        with closing(self._evaluate(batch, limit)) as results:
            for done in results:
                findings.take(*done.findings)
                if self._turns is not None:
                    n_folds, own = len(self._search.data.folds), done.unit
                    complete = findings.taken.issuperset(c * n_folds + own.fold for c in own.candidates)
                    self._turns.done(own, done.seconds, complete=complete)
                if self._search.stop.signal.reason is not None:  # which an error of the findings is, too
                    return


def run_grid(
    search: SharedSearch,
    n_jobs: int | None,
    pre_dispatch: int | str,
    journal: Records | None,
    progress: Progress | None,
    told: Callable[[Finding], bool] | None = None,
    metric: str | None = None,
) -> tuple[Found, str]:
    """Run what a journal does not hold; return all findings there are in the end, and why it ended.

    `metric` is the one that decides, where there are several.
    """
    data = search.data
    standing = Standing(data.n_evaluations, len(data.folds), metric=metric)
    findings = Findings(standing, journal, search.stop, limit=data.n_evaluations, progress=progress, told=told)
    known = list(findings.known.values())
    if known:
        search.know(known)
    if search.failures:
        known = [*search.failed(), *known]
    units = GridUnits(search, n_jobs, pre_dispatch, findings)
    ended, _ = run(units, findings, search.stop, progress, known)
    return findings.found, ended


def listener(tasks: EvaluationTasks, data: SearchData, weights: Any) -> Callable[[Finding], bool]:
    """Return what tells scikit-learn's callbacks of a finding."""

    def told(one: Finding) -> bool:
        train, _ = data.folds[one.number % len(data.folds)]
        X, y, own = (
            None if part is None else partial(_safe_indexing, part, train) for part in (data.given, data.y, weights)
        )
        return tasks.end(one.number, X, y, own)

    return told


def announce(data: SearchData) -> None:
    """Print how much there is to do, in scikit-learn's words."""
    n_folds, n = len(data.folds), len(data.candidates)
    print(f"Fitting {n_folds} folds for each of {n} candidates, totalling {data.n_evaluations} fits", flush=True)


def printer(data: SearchData, verbose: int) -> Callable[[Finding], bool]:
    """Return what prints a line for each finding as scikit-learn does: with its score if `verbose` is above 2."""
    n_folds = len(data.folds)

    def told(one: Finding) -> bool:
        candidate, fold = divmod(one.number, n_folds)
        parameters = data.candidates[candidate]
        what = ", ".join(f"{name}={parameters[name]}" for name in sorted(parameters))
        where = f" {fold + 1}/{n_folds}" if verbose > 2 else ""
        if verbose > 9:
            where += f"; {candidate + 1}/{len(data.candidates)}"
        ended = what + ";" * bool(what)
        if verbose > 2:
            ended += _scores_in_words(one)
        ended += f" total time={short_format_time(one.work.seconds + one.score_seconds)}"
        begin = f"[CV{where}] END "
        print(f"{begin}{'.' * (80 - len(begin) - len(ended))}{ended}", flush=True)
        return False

    return told


def _scores_in_words(one: Finding) -> str:
    """Write down the scores of a finding, of the training part too if they are there."""
    if one.value is None:
        return ", failed"
    if not isinstance(one.value, dict):
        train = "" if one.train_value is None else f"(train={one.train_value:.3f}, test="
        return f", score={train}{one.value:.3f}{')' * bool(train)}"
    words = ""
    for name in sorted(one.value):
        train = "" if one.train_value is None else f"train={one.train_value[name]:.3f}, "
        words += f" {name}: ({train}test={one.value[name]:.3f})"
    return words


def identity(search: SharedSearch, scoring: Any, return_train_score: bool) -> dict[str, Any]:
    """Say what a journal must have in common with a search to be continued by it."""
    data = search.data
    return {
        "schema": RECORD_SCHEMA,
        "data": fingerprint(data.given),
        "target": fingerprint(data.y),
        "weights": fingerprint(data.weights, dict(data.fit_params)) if data.fit_params else fingerprint(data.weights),
        "splits": fingerprint([[np.asarray(train), np.asarray(test)] for train, test in data.folds]),
        "candidates": fingerprint(list(data.candidates)),
        "estimator": fingerprint(data.estimator),
        "scoring": fingerprint(scoring, return_train_score),
        "plan": fingerprint(data.plan),
    }

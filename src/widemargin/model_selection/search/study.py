"""A model search as it runs: the objective along the strategy, then C if the objective does not choose it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.kernels import Kernel
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.model_selection.grid.setup import prefix_of
from widemargin.model_selection.search.path import FixedFolds, PricePath, held_out_values, price_path
from widemargin.model_selection.search.space import PRICE, ParameterSpace, Range
from widemargin.model_selection.search.task import Subject
from widemargin.objectives import Objective
from widemargin.runtime import INTERRUPTED, STOPPED, TIME_IS_UP, Stop, StoppedError, single_threaded_blas, thread_count
from widemargin.strategies import Ask, Strategy, StrategyRun, Told
from widemargin.study import Journal, JournalPart, Progress, fingerprint
from widemargin.study.findings import RECORD_SCHEMA, Findings, Standing
from widemargin.study.records import COUNT, what_is_wrong
from widemargin.study.runner import Ended, run
from widemargin.study.strategy_search import StrategySearch, Wanted
from widemargin.study.trace import PATH, SEARCH, Trace

Vector = NDArray[np.float64]

#: Part of the time that the search for a kernel may take where C is chosen afterwards.
SHARE_OF_TIME = 0.75

#: Records that hold the seed of a search that was given none.
BEGINNING = "beginning"


#: Seconds between two writes to the journal, and between two calls of a display: evaluations may take less.
WRITE_EVERY, SHOW_EVERY = 0.2, 0.05


@dataclass(frozen=True)
class Chosen:
    """What a search has come to.

    Attributes
    ----------
    kernel, C : Kernel and float
    value : float
        Of the objective.
    trace : Trace
    ended : str
        Why it ended.
    path : PricePath or None
        How C was chosen, if not by the objective.
    notes : dict
        What evaluations had to say, and how many said it.
    edges : dict
        Parameters at the ends of their ranges.
    remarks : list of Warning
        What a user should know.
    """

    kernel: Kernel
    C: float
    value: float
    trace: Trace
    ended: str
    path: PricePath | None
    notes: dict[str, int]
    edges: dict[str, str]
    remarks: list[Warning]


@dataclass(frozen=True)
class ModelStudy:
    """Everything that a search needs to run.

    Parameters
    ----------
    estimator : SVC, SVR or Pipeline
    X, y, params
        What it was fitted with, as given.
    objective, strategy : Objective and Strategy
    subject : Subject
    space : ParameterSpace
        What the strategy searches.
    prices : pair of floats or None
        Where C is chosen by cross-validation afterwards; None if it is not.
    prices_given : bool
        Whether that range is the user's, so that nothing beyond it is looked at.
    folds : FixedFolds or None
        For that.
    calibration_folds : FixedFolds or None
        For probabilities, if they are to come from the search.
    scoring : as scikit-learn takes it
        For that.
    seed : int or None
        None draws one.
    n_jobs, max_time
        As the search takes them.
    began : float
        When that was, in the time of :func:`time.perf_counter`.
    stop : Stop
    """

    estimator: Any
    X: Any
    y: Any
    params: Mapping[str, Any]
    objective: Objective
    strategy: Strategy
    subject: Subject
    space: ParameterSpace
    prices: Range | None
    prices_given: bool
    folds: FixedFolds | None
    calibration_folds: FixedFolds | None
    scoring: Any
    seed: int | None
    n_jobs: int | None
    max_time: float | None
    began: float
    stop: Stop

    def run(self, journal: Any, progress: Progress, path_progress: Any, told: Callable[[int], bool] | None) -> Chosen:
        """Search; what the journal holds is not repeated.

        Parameters
        ----------
        journal : path or None
        progress, path_progress
            Displays of both stages.
        told : callable or None
            Gets the number of every evaluation of the objective; returns whether the search is to stop.
        """
        stop = self.stop
        if self.max_time is not None and self.prices is not None:
            stop = replace(stop, deadline=self.began + SHARE_OF_TIME * self.max_time)
        with self._opened(journal) as kept, single_threaded_blas():
            search, ended, findings = self._searched(kept, progress, told, stop)
            point = self._point(search, ended)
            value = search.value_at(point, findings)
            if math.isnan(value) and not ended.cut_short and stop.reason is not None:
                ended = Ended(stop.reason, True)
            kernel, C = self.space.chosen(point)
            remarks: list[Warning] = [_early(search, ended.why)] if ended.cut_short else []
            if not ended.cut_short and search.trace.n_evaluations == 1 and search.trace[0]["gradient_norm"] == 0.0:
                remarks.append(self._flat_at_the_start(search.trace[0]))
            path = None
            if self.prices is not None:
                path = self._path(kernel, kept, path_progress, remarks)
                C = C if path is None else path.C
        edges = self.space.edges(point)
        if path is not None:
            search.trace.add_path(point, path.points)
            edges |= {} if path.edge is None else {PRICE: path.edge}
        return Chosen(kernel, C, value, search.trace, ended.why, path, search.notes, edges, remarks)

    def _searched(
        self, kept: Journal | None, progress: Progress, told: Callable[[int], bool] | None, stop: Stop
    ) -> tuple[StrategySearch, Ended, Findings]:
        """Run the strategy."""
        objective, space, seed = self.objective, self.space, self._settled_seed(kept)
        n_threads, greater = thread_count(self.n_jobs), objective.greater_is_better
        trace = Trace(
            space.names,
            [axis.logarithmic for axis in space.axes],
            greater_is_better=greater,
            price=None if self.prices is None else space.C,
        )
        wanted, strategy = Wanted(), self.strategy
        if space.axes:
            wanted = Wanted(strategy.needs_gradient, strategy.needs_higher, space.places, space.searches_c)
        task = replace(self.subject.task, n_threads=n_threads, stop=stop)
        try:
            bound = objective.bind(task)
        except StoppedError:
            raise self._no_time() from None
        most = self.stop.max_evaluations
        begun: StrategyRun = OnePoint()
        if space.axes:
            begun = strategy.begin(space.box(), seed=seed, n_parts=bound.n_parts, max_evaluations=most)
        search = StrategySearch(
            begun,
            objective,
            bound,
            lambda: objective.bind(replace(task, n_threads=1)),
            space.at,
            wanted,
            trace,
            stop,
            seed=seed,
            n_threads=n_threads,
        )
        findings = Findings(
            Standing(search.expected, greater_is_better=greater),
            _part(kept, SEARCH),
            stop,
            n_dims=len(space.axes),
            progress=progress,
            told=None if told is None else lambda one: told(one.number),
            pause=WRITE_EVERY,
            show_every=SHOW_EVERY,
        )
        return search, run(search, findings, stop, progress), findings

    def _flat_at_the_start(self, began: Mapping[str, Any]) -> ConvergenceWarning:
        place = ", ".join(f"{name}={began[name]:.4g}" for name in self.space.names)
        return ConvergenceWarning(
            f"objective={self.objective.name!r} is flat where the search began ({place}), and a strategy that follows "
            "slopes ends there; begin elsewhere, with other parameters of the estimator, or pass strategy='cma-es'."
        )

    def _point(self, search: StrategySearch, ended: Ended) -> Vector:
        """Return what the search chooses; raise an error if it has nothing to choose from."""
        point = search.chosen()
        if point is not None:
            return point
        if search.n_told:
            raise RuntimeError(
                f"objective={self.objective.name!r} has no finite value at any of the {search.trace.n_evaluations} "
                "points that were evaluated; scale X, or start elsewhere."
            )
        if not ended.cut_short:
            raise ValueError(
                f"max_evaluations={self.stop.max_evaluations!r} does not suffice for the points that strategy="
                f"{self.strategy.name!r} asks for first; allow more."
            )
        if ended.why == INTERRUPTED:
            raise KeyboardInterrupt
        if ended.why == STOPPED:
            raise RuntimeError("A callback ended the search before any evaluation was finished.")
        raise self._no_time()

    def _no_time(self) -> TimeoutError:
        return TimeoutError(f"max_time={self.max_time!r} ended before any evaluation was finished; allow more.")

    def _path(self, kernel: Kernel, kept: Journal | None, progress: Any, remarks: list[Warning]) -> PricePath | None:
        """Choose C for a kernel, unless somebody asked to stop, or time is up."""
        if self.stop.reason not in (INTERRUPTED, STOPPED):
            label = {} if kept is None else {"stage": PATH, "kernel": fingerprint(kernel)[:16]}
            try:
                return price_path(
                    clone(self.estimator).set_params(**self.best_params(kernel, None)),
                    self.X,
                    self.y,
                    self.params,
                    bounds=self.prices if self.prices_given else None,
                    unit=self.subject.c_unit,
                    stop=self.stop,
                    part=lambda number: None if kept is None else JournalPart(kept, {**label, "round": number}),
                    cv=self.folds,
                    scoring=self.scoring,
                    n_jobs=self.n_jobs,
                    progress=progress,
                )
            except (TimeoutError, KeyboardInterrupt) as error:
                self.stop.request(INTERRUPTED if isinstance(error, KeyboardInterrupt) else TIME_IS_UP)
        remarks.append(
            UnfinishedSearchWarning(
                f"The search has ended ({self.stop.reason}) before C could be chosen by cross-validation; it stays "
                f"{self.space.C:g}."
            )
        )
        return None

    def best_params(self, kernel: Kernel, C: float | None) -> dict[str, Any]:
        """Return a kernel and a C as parameters of the estimator."""
        prefix = prefix_of(self.estimator)
        found: dict[str, Any] = {} if C is None else {f"{prefix}{PRICE}": C}
        if isinstance(self.subject.machine.kernel, str):
            return found | {f"{prefix}{one.name}": float(getattr(kernel, one.name)) for one in kernel.hyperparameters}
        return found | {f"{prefix}kernel": kernel}

    def held_out_values(self, estimator: Any) -> OutOfFold:
        """Return decision values of held-out samples, for the model that was chosen; nothing depends on a journal."""
        assert self.calibration_folds is not None
        return held_out_values(estimator, self.X, self.y, self.params, self.calibration_folds)

    def _opened(self, journal: Any) -> AbstractContextManager[Journal | None]:
        """Open the journal; refuse one that holds anything else."""
        if journal is None:
            return nullcontext()
        opened = Journal(journal, self._identity())
        for number, record in enumerate(opened.records):
            if record.get("stage") not in (BEGINNING, SEARCH, PATH):
                opened.close()
                opened.refuse(number, "which belongs to no part of such a search")
        return opened

    def _identity(self) -> dict[str, Any]:
        """Say what a journal must have in common with this search to be continued by it."""
        same = {
            "schema": RECORD_SCHEMA,
            "data": fingerprint(self.X),
            "target": fingerprint(self.y),
            "weights": fingerprint(dict(self.params)),
            "estimator": fingerprint(self.estimator),
            "objective": fingerprint(self.objective),
            "strategy": fingerprint(self.strategy),
            "space": fingerprint([list(axis) for axis in self.space.axes], self.prices),
            "random_state": self.seed,
        }
        if self.folds is not None:
            folds = [[np.asarray(train), np.asarray(test)] for train, test in self.folds.folds]
            same |= {"splits": fingerprint(folds), "scoring": fingerprint(self.scoring)}
        return same

    def _settled_seed(self, kept: Journal | None) -> int:
        """Return the seed: the one that was given, the one that a journal holds, or a new one."""
        if self.seed is not None:
            return self.seed
        drawn = int(np.random.default_rng().integers(2**32))
        part = _part(kept, BEGINNING)
        if part is None:
            return drawn
        if not part.records:
            part.extend([{"seed": drawn}])
        kept_seed = part.records[0]
        wrong = what_is_wrong(kept_seed, {"seed": COUNT}, "beginnings")
        if wrong is not None:
            part.refuse(0, wrong)
        return int(kept_seed["seed"])


class OnePoint(StrategyRun):
    """Where there is nothing to search: the objective is evaluated at the only point that there is."""

    def __init__(self) -> None:
        self._told = False

    def ask(self) -> Sequence[Ask]:
        """Ask for it, once."""
        return [] if self._told else [Ask(self.best)]

    def tell(self, found: Sequence[Told]) -> None:
        """Be done."""
        self._told = True

    @property
    def best(self) -> Vector:
        """The only point."""
        return np.empty(0)

    @property
    def reason(self) -> str | None:
        """Why it ends."""
        return "the kernel has no parameters to search" if self._told else None


def _part(kept: Journal | None, stage: str) -> JournalPart | None:
    return None if kept is None else JournalPart(kept, {"stage": stage})


def _early(search: StrategySearch, why: str) -> UnfinishedSearchWarning:
    count = search.trace.n_evaluations
    return UnfinishedSearchWarning(
        f"The search has ended early ({why}) after {count} evaluation{'s' * (count != 1)} of its objective; "
        "the best point until then was chosen."
    )

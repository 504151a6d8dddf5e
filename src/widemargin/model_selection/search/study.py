"""A model search as it runs: the objective along the strategy, then C if the objective does not choose it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from widemargin.estimators.calibration import WITHOUT_PROBABILITIES, CalibratedClassifier
from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.estimators.validation import without_gamma_warnings
from widemargin.kernels import Kernel
from widemargin.model_selection.grid.calibration import out_of_fold
from widemargin.model_selection.grid.folds import Indices
from widemargin.model_selection.grid.grid_search import GridSearchCV
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.model_selection.grid.setup import model_of, prefix_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.growth import PERFECT, GrowthStep, best_of, grown
from widemargin.model_selection.search.judged import OnFolds
from widemargin.model_selection.search.results import FoldScores
from widemargin.model_selection.search.space import PRICE, ParameterSpace, Range
from widemargin.model_selection.search.task import Subject
from widemargin.objectives import CrossValidation, Objective, Task
from widemargin.objectives.base import Place
from widemargin.plans.ranges import c_values
from widemargin.runtime import (
    INTERRUPTED,
    STOPPED,
    TIME_IS_UP,
    Stop,
    StoppedError,
    Work,
    single_threaded_blas,
    thread_count,
)
from widemargin.strategies import Ask, Strategy, StrategyRun, Told
from widemargin.study import Journal, JournalPart, Progress, fingerprint, journal_of
from widemargin.study.findings import RECORD_SCHEMA, SHOW_EVERY, WRITE_EVERY, Findings, Standing
from widemargin.study.journal_part import part_of
from widemargin.study.report import SearchReport
from widemargin.study.runner import Ended, run
from widemargin.study.seeds import settled_seed
from widemargin.study.strategy_search import StrategySearch, Wanted
from widemargin.study.trace import BEGINNING, PATH, SEARCH, Trace

Vector = NDArray[np.float64]

#: Part of the time that the search for a kernel may take where C is chosen afterwards.
SHARE_OF_TIME = 0.75

#: Factor between neighbouring values of C along the path, at most.
STEP = 4.0


class FixedFolds:
    """Folds that were drawn, in the place of the splitter that drew them; it may be an objective's own (None)."""

    def __init__(self, splitter: Any, folds: Sequence[tuple[Indices, Indices]]) -> None:
        self.splitter, self.folds = splitter, folds

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[tuple[Indices, Indices]]:
        """Give the folds; what a splitter may be told was told when they were drawn."""
        return iter(self.folds)

    def get_n_splits(self, X: Any = None, y: Any = None, **params: Any) -> int:
        """How many there are."""
        return len(self.folds)

    def get_metadata_routing(self) -> Any:
        """Ask for what the splitter asks for."""
        return (KFold() if self.splitter is None else self.splitter).get_metadata_routing()


def folds_of(objective: Objective, task: Task) -> FixedFolds:
    """Return the folds of an objective, for probabilities from the samples that they hold out.

    Examples
    --------
    >>> from widemargin.objectives import SpanBound
    >>> folds_of(SpanBound(), Task(np.zeros((4, 1)), np.array([0, 1, 0, 1]), 2, np.ones(4)))
    Traceback (most recent call last):
    ...
    ValueError: calibration='from-search' needs decision values of held-out samples, and objective='span' has no \
folds; pass calibration='folds', or folds as cv.
    """
    if isinstance(objective, CrossValidation):
        return FixedFolds(None, objective.splits(task))
    raise ValueError(
        "calibration='from-search' needs decision values of held-out samples, and "
        f"objective={objective.name!r} has no folds; pass calibration='folds', or folds as cv."
    )


class PathPoint(NamedTuple):
    """The mean score of a C, and what its models took."""

    C: float
    score: float
    work: Work


@dataclass(frozen=True)
class PricePath:
    """How C was chosen: by cross-validation along one path of warm starts, kernel values computed once.

    Attributes
    ----------
    C, score : float
        The one that was chosen, the smallest of equals, and its mean score.
    points : list of PathPoint
        All that have a score.
    found : FoldScores
        All scores.
    edge : str or None
        "smallest" or "largest" if a better one may lie beyond those that were tried.
    report : SearchReport
    """

    C: float
    score: float
    points: list[PathPoint]
    found: FoldScores
    edge: str | None
    report: SearchReport


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
    found : FoldScores or None
        What the folds have told, where the choice was by folds.
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
    found: FoldScores | None
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
    groups : ndarray of int or None
        Numbers of the groups of samples that are held out together.
    given, strategy : Objective and Strategy
        As the search was told.
    objective : Objective
        What the strategy follows: the given one, or that over the folds that were drawn for it.
    subject : Subject
    space : ParameterSpace
        What the strategy searches.
    prices : pair of floats or None
        Where C is chosen by cross-validation afterwards; None if it is not.
    prices_given : bool
        Whether that range is the user's, so that nothing beyond it is looked at.
    folds : FixedFolds or None
        By which C is chosen, or all parameters, with objectives over folds; None if there are none.
    calibration_folds : FixedFolds or None
        For probabilities, if they are to come from the search.
    scoring : as scikit-learn takes it
        What is best on these folds.
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
    groups: NDArray[np.intp] | None
    given: Objective
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
        with nullcontext() if journal is None else self._opened(journal) as kept, single_threaded_blas():
            search, ended, findings = self._searched(kept, progress, told, stop)
            point = search.chosen()
            if point is None:
                raise self._without_choice(search, ended)
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
        found = self._scores_of_folds(search.trace, point) if path is None else path.found
        return Chosen(kernel, C, value, search.trace, ended.why, path, found, search.notes, edges, remarks)

    def _scores_of_folds(self, trace: Trace, point: Vector) -> FoldScores | None:
        """Collect the scores of the folds of the evaluations, if the objective is one over folds."""
        if not isinstance(self.objective, OnFolds):
            return None
        params, scores = [], []
        for one, measures in zip(trace.points, trace.measures, strict=True):
            kernel, C = self.space.chosen(trace.kept.whole(one))
            params.append(self.best_params(kernel, C if self.space.searches_c else None))
            scores.append(self.objective.scores(measures or {}))
        here = np.flatnonzero((trace.points == trace.kept.packed(point)).all(axis=1))
        if not len(here):  # there was no time to evaluate the point that was chosen
            return None
        values = trace.values if self.objective.greater_is_better else -trace.values
        return FoldScores(params, np.array(scores), int(here[0]), values)

    def _searched(
        self, kept: Journal | None, progress: Progress, told: Callable[[int], bool] | None, stop: Stop
    ) -> tuple[StrategySearch, Ended, Findings]:
        """Run the strategy."""
        objective, space, seed = (
            self.objective,
            self.space,
            settled_seed(self.seed, part_of(kept, {"stage": BEGINNING})),
        )
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
        begun = (
            strategy.begin(space.box(), seed=seed, n_parts=bound.n_parts, max_evaluations=most)
            if space.axes
            else OnePoint()
        )
        search = StrategySearch(
            begun,
            objective,
            bound,
            lambda: objective.bind(replace(task, n_threads=1)),
            lambda ask: (Place(*space.at(ask.point)), None),
            wanted,
            trace,
            stop,
            seed=seed,
            n_threads=n_threads,
        )
        findings = Findings(
            Standing(search.expected, greater_is_better=greater),
            part_of(kept, {"stage": SEARCH}),
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

    def _without_choice(self, search: StrategySearch, ended: Ended) -> BaseException:
        """Return the error that says why a search has nothing to choose from."""
        if search.n_told:
            return RuntimeError(
                f"objective={self.objective.name!r} has no finite value at any of the {search.trace.n_evaluations} "
                "points that were evaluated; scale X, or start elsewhere."
            )
        if not ended.cut_short:
            return ValueError(
                f"max_evaluations={self.stop.max_evaluations!r} does not suffice for the points that strategy="
                f"{self.strategy.name!r} asks for first; allow more."
            )
        if ended.why == INTERRUPTED:
            return KeyboardInterrupt()
        if ended.why == STOPPED:
            return RuntimeError("A callback ended the search before any evaluation was finished.")
        return self._no_time()

    def _no_time(self) -> TimeoutError:
        return TimeoutError(f"max_time={self.max_time!r} ended before any evaluation was finished; allow more.")

    def _path(self, kernel: Kernel, kept: Journal | None, progress: Any, remarks: list[Warning]) -> PricePath | None:
        """Choose C for a kernel, unless somebody asked to stop, or time is up."""
        if self.stop.reason not in (INTERRUPTED, STOPPED):
            try:
                return self._price_path(kernel, kept, progress)
            except (TimeoutError, KeyboardInterrupt) as error:
                self.stop.request(INTERRUPTED if isinstance(error, KeyboardInterrupt) else TIME_IS_UP)
        remarks.append(
            UnfinishedSearchWarning(
                f"The search has ended ({self.stop.reason}) before C could be chosen by cross-validation; it stays "
                f"{self.space.C:g}."
            )
        )
        return None

    def _price_path(self, kernel: Kernel, kept: Journal | None, progress: Any) -> PricePath:
        """Cross-validate values of C within the user's range; else those of `select`, and on beyond an edge."""
        estimator = sharing(clone(self.estimator).set_params(**self.best_params(kernel, None)))
        label = {} if kept is None else {"stage": PATH, "kernel": fingerprint(kernel)[:16]}
        bounds = self.prices if self.prices_given else None
        name = f"{prefix_of(estimator)}{PRICE}"
        # Whether something better lies beyond a range is told of a perfect score too, as grid searches do.
        ends = bounds is None and self.scoring in (None, "accuracy", "r2")
        with without_gamma_warnings():
            searches, edges = grown(
                estimator,
                {name: c_values() * self.subject.c_unit if bounds is None else spread(*bounds)},
                self.X,
                self.y,
                self.params,
                stop=self.stop,
                journal=None if kept is None else lambda number: JournalPart(kept, {**label, "step": number}),
                # Whether a larger C would change anything takes as many models to find out as to try it.
                looks_ahead=False,
                perfect=PERFECT if ends else math.inf,
                grows=bounds is None,
                cv=self.folds,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        best = best_of(searches)
        results = [one.cv_results_ for one in searches]
        prices = [float(params[name]) for one in results for params in one["params"]]
        splits = [[one[f"split{fold}_test_score"] for fold in range(best.n_splits_)] for one in results]
        before = sum(len(one.cv_results_["params"]) for one in searches[: searches.index(best)])
        return PricePath(
            C=float(best.best_params_[name]),
            score=float(best.best_score_),
            points=[point for search in searches for point in _points(search, name)],
            found=FoldScores(
                [self.best_params(kernel, price) for price in prices],
                np.concatenate(splits, axis=1).T.copy(),
                before + best.best_index_,
            ),
            edge=edges.get(name),
            report=SearchReport.of_all([one.work_report_ for one in searches]),
        )

    def best_params(self, kernel: Kernel, C: float | None) -> dict[str, Any]:
        """Return a kernel and a C as parameters of the estimator."""
        prefix = prefix_of(self.estimator)
        found: dict[str, Any] = {} if C is None else {f"{prefix}{PRICE}": C}
        if isinstance(self.subject.model.kernel, str):
            whole = {f"{prefix}{name}": kernel.whole_numbers[name] for name in self.space.whole}
            own = {f"{prefix}{one.name}": float(getattr(kernel, one.name)) for one in kernel.hyperparameters}
            return found | own | whole
        return found | {f"{prefix}kernel": kernel}

    def held_out_values(self, estimator: Any) -> OutOfFold:
        """Train the model that was chosen without the samples that each of the folds holds out; return its values.

        Nothing depends on a journal.
        """
        grid = {f"{prefix_of(estimator)}{PRICE}": [model_of(estimator).C]}
        shared = sharing(estimator)
        if model_of(shared).multi_class == "ovo":
            model_of(shared).set_params(decision_function_shape="ovo")  # whose values are kept, not votes alone
        search = GridSearchCV(shared, grid, cv=self.calibration_folds)
        data, _, _ = search._search_data(self.X, self.y, self.params)
        with single_threaded_blas():
            return out_of_fold(SharedSearch(data), 0)

    def _opened(self, journal: Any) -> Journal:
        """Open the journal; refuse one that holds anything else."""
        opened = journal_of(journal, self._identity())
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
            "objective": fingerprint(self.given),
            "strategy": fingerprint(self.strategy),
            "space": fingerprint([list(axis[:-1]) for axis in self.space.axes], self.prices),
            "random_state": self.seed,
        }
        drawn = {axis.name: axis.distribution for axis in self.space.axes if axis.distribution is not None}
        if drawn:
            same["drawn"] = fingerprint({name: (one.dist.name, one.args, one.kwds) for name, one in drawn.items()})
        if self.groups is not None:
            same["groups"] = fingerprint(self.groups)
        if self.folds is not None:
            folds = [[np.asarray(train), np.asarray(test)] for train, test in self.folds.folds]
            same |= {"splits": fingerprint(folds), "scoring": fingerprint(self.scoring)}
        return same


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


def _early(search: StrategySearch, why: str) -> UnfinishedSearchWarning:
    count = search.trace.n_evaluations
    return UnfinishedSearchWarning(
        f"The search has ended early ({why}) after {count} evaluation{'s' * (count != 1)} of its objective; "
        "the best point until then was chosen."
    )


def spread(low: float, high: float) -> NDArray[np.float64]:
    """Return values from the lower to the upper bound, evenly spaced in logarithms, at a factor of 4 at most.

    Examples
    --------
    >>> spread(0.5, 100.0).round(3).tolist()
    [0.5, 1.88, 7.071, 26.591, 100.0]
    """
    count = math.ceil(round(math.log(high / low, STEP), 9)) + 1
    return np.geomspace(low, high, count)


def sharing(estimator: Any) -> Any:
    """Return an estimator whose models share work: solvers and precisions differ by less than the tolerance."""
    own = clone(estimator)
    model = model_of(own).set_params(solver="auto", max_time=None)
    if isinstance(model, CalibratedClassifier):
        model.set_params(**WITHOUT_PROBABILITIES)  # which are for the model that is chosen
    return own


def _points(search: GrowthStep, name: str) -> list[PathPoint]:
    points, results, n_folds = [], search.cv_results_, search.n_splits_
    for candidate, params in enumerate(results["params"]):
        score = float(results["mean_test_score"][candidate])
        if math.isfinite(score):
            own = [search.found[number] for number in range(candidate * n_folds, (candidate + 1) * n_folds)]
            work = Work.total([one.work for one in own])
            seconds = work.seconds + sum([one.score_seconds for one in own])
            points.append(PathPoint(float(params[name]), score, replace(work, seconds=seconds)))
    return points

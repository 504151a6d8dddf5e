"""The searches: who looks for the best cell of which grid, on what data, and which time is asked of widemargin.

A grid of ten values of C and ten of gamma over five folds makes 500 machines and a final fit; those of many classes, of
iris and of other metrics are smaller. Everybody gets the same cells, folds and tolerance. Votes that tie are decided by
the order of the classes, which is scikit-learn's default. Where a peer would need many minutes, it searches the first
fold only, without the final fit, and its time counts five times; widemargin always does the whole search. liquidSVM
draws folds of its own, has no offset, and no final fit: its scores are not compared. One-class machines are trained on
rows of one class, a grid of 20 x 20, and scored by how far the share of other rows of that class that they reject is
from nu.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.svm import SVC, OneClassSVM

import widemargin
from benchmarks.peers.measure import TASKS, Job, Run, Timed, timed
from benchmarks.peers.models import KNOWN
from benchmarks.peers.peers import Peer, Settings
from benchmarks.peers.problems import (
    PROBLEMS,
    SHUFFLE_SEED,
    Bar,
    Entry,
    FloatMatrix,
    Labels,
    Problem,
    Split,
    shuffled,
    standardised,
    stored,
)
from benchmarks.peers.session import OURS
from widemargin.datasets import waveform

HELD_OUT_ROWS = 500
WARM_UP_ROWS = 200

REFERENCE = "sklearn"

Grid = Mapping[str, Sequence[float]]


class Plan(NamedTuple):
    """What is searched: cells, number of folds, and metrics, of which the first decides.

    ``cells`` are those of a grid that does not depend on the data.
    """

    cells: Grid | None = None
    folds: int = 5
    metrics: tuple[str, ...] = ("accuracy",)

    def grid(self, X: FloatMatrix, centre: float) -> Grid:
        """Return the cells; the usual ones have widths around ``centre``."""
        return self.cells or classifier_grid(X, centre)

    def scoring(self, refit: bool = True) -> dict[str, Any]:
        """Return the metrics as searches want them; without ``refit`` there is no final fit."""
        if len(self.metrics) == 1:
            return {"scoring": self.metrics[0], "refit": refit}
        return {"scoring": list(self.metrics), "refit": self.metrics[0] if refit else False}


USUAL = Plan()


@dataclass(frozen=True)
class Selection:
    """What a search chose, the scores of its cells on its folds (none where it left cells out), and its work.

    The scores of a second metric follow those of the first.
    """

    best: Mapping[str, float]
    best_score: float
    scores: FloatMatrix | None
    solved: int | None = None
    repeated: int | None = None
    unfinished: int = 0


def selection(search: Any) -> Selection:
    """Digest a fitted search; one whose cells did not all see all rows has no scores to compare."""
    found = search.cv_results_
    metrics = [key.removeprefix("split0") for key in found if key.startswith("split0_test_")]
    folds = [[found[key] for key in found if key.startswith("split") and key.endswith(metric)] for metric in metrics]
    scores = None if "n_resources" in found or not folds else np.hstack(folds).T
    best = {name: float(value) for name, value in search.best_params_.items()}
    work = getattr(search, "work_report_", None)
    if work is None:
        return Selection(best, float(search.best_score_), scores)
    return Selection(best, float(search.best_score_), scores, work.trained, work.skipped, work.unfinished)


class PlainLoop:
    """scikit-learn's one-class models, each trained alone, in several processes: what a user writes by hand."""

    def __init__(self, grid: Grid, cv: Any, settings: Settings) -> None:
        self.cells, self.splits, self.settings = list(ParameterGrid(grid)), list(cv), settings

    def fit(self, X: FloatMatrix, y: None = None) -> "PlainLoop":
        """Train and score every cell."""
        ((train, test),) = self.splits
        machines = [
            OneClassSVM(tol=self.settings.tolerance, cache_size=self.settings.cache, **cell) for cell in self.cells
        ]
        work = (delayed(train_and_score)(machine, X[train], X[test]) for machine in machines)
        scores = np.array(Parallel(n_jobs=self.settings.n_jobs)(work))
        self.cv_results_ = {"split0_test_score": scores}
        self.best_score_, self.best_params_ = scores.max(), self.cells[int(scores.argmax())]
        return self


def train_and_score(machine: Any, X: FloatMatrix, X_test: FloatMatrix) -> float:
    """Train on one part and score on the other."""
    return rejection_score(machine.fit(X), X_test)


def rejection_score(machine: Any, X: FloatMatrix, y: None = None) -> float:
    """Return minus the distance of the rejected share of X from nu, the share that is to be rejected."""
    return -abs(float(np.mean(machine.predict(X) == -1) - machine.nu))


def shared(grid: Grid, cv: Any, settings: Settings) -> Any:
    """Return widemargin's search."""
    machine = widemargin.SVC(tol=settings.tolerance, break_ties=False)
    return widemargin.GridSearchCV(machine, grid, cv=cv, n_jobs=settings.n_jobs, **plan_of(settings).scoring())


def in_processes(grid: Grid, cv: Any, settings: Settings) -> Any:
    """Return scikit-learn's search in several processes."""
    machine = SVC(tol=settings.tolerance, cache_size=settings.cache)
    return GridSearchCV(machine, grid, cv=cv, n_jobs=settings.n_jobs, **plan_of(settings).scoring(is_whole(settings)))


def in_threads(grid: Grid, cv: Any, settings: Settings) -> Any:
    """Return scikit-learn's search over oneDAL's models, which have threads of their own."""
    machine = import_module("sklearnex.svm").SVC(
        tol=settings.tolerance, cache_size=settings.cache, n_jobs=settings.n_jobs
    )
    return GridSearchCV(machine, grid, cv=cv, n_jobs=1, **plan_of(settings).scoring(is_whole(settings)))


def by_halving(grid: Grid, cv: Any, settings: Settings) -> Any:
    """Return scikit-learn's search that drops two thirds of the cells after every round of growing samples."""
    import_module("sklearn.experimental.enable_halving_search_cv")
    machine = SVC(tol=settings.tolerance, cache_size=settings.cache)
    return import_module("sklearn.model_selection").HalvingGridSearchCV(
        machine, grid, cv=cv, n_jobs=settings.n_jobs, random_state=0, **plan_of(settings).scoring()
    )


class LiquidSearch:
    """liquidSVM's own search: its cost is C, its width gamma^-1/2, and it cannot read exponents."""

    def __init__(self, grid: Grid, cv: Any, settings: Settings) -> None:
        self.grid, self.settings = grid, settings

    def fit(self, X: FloatMatrix, y: Labels) -> "LiquidSearch":
        """Search; every fold chooses a cell of its own, so that there is no best one."""
        model = import_module("liquidSVM").mcSVM(
            X,
            np.unique(y, return_inverse=True)[1] + 1.0,
            threads=self.settings.n_jobs,
            folds=plan_of(self.settings).folds,
            gammas=[f"{gamma**-0.5:.12f}" for gamma in self.grid["gamma"]],
            c_values=[f"{C:.12f}" for C in self.grid["C"]],
        )
        # The validation errors of the models that it chose, one for each fold and pair of classes.
        self.cv_results_: dict[str, Any] = {}
        self.best_params_: dict[str, float] = {}
        self.best_score_ = 1 - float(model.errSelect[:, 7].mean())
        return self


def shared_one_class(grid: Grid, cv: Any, settings: Settings) -> Any:
    """Return widemargin's search for one-class models."""
    machine, score = widemargin.OneClassSVM(tol=settings.tolerance), widemargin.RejectionScore()
    return widemargin.GridSearchCV(machine, grid, cv=cv, scoring=score, n_jobs=settings.n_jobs, refit=False)


def plan_of(settings: Settings) -> Plan:
    """Return what is plan."""
    found: Plan = settings.parameters["plan"]
    return found


def is_whole(settings: Settings) -> bool:
    """Say whether all folds are searched, and the best cell is trained on all samples in the end."""
    return bool(settings.parameters["times"] == 1)


class Kind(NamedTuple):
    """A search by name: how it is built, and whether joblib's processes do the work."""

    build: Callable[[Grid, Any, Settings], Any]
    processes: bool = False


KINDS = {
    "shared": Kind(shared),
    "in processes": Kind(in_processes, processes=True),
    "in threads": Kind(in_threads),
    "by halving": Kind(by_halving, processes=True),
    "its own": Kind(LiquidSearch),
    "shared one-class": Kind(shared_one_class),
    "plain loop": Kind(PlainLoop, processes=True),
}


@contextmanager
def processes(kind: Kind, settings: Settings) -> Iterator[None]:
    """End joblib's processes afterwards, so that they are nowhere about while others take their turns."""
    if not kind.processes or settings.n_jobs == 1:
        yield
        return
    # joblib gives the names of its temporary folders back when its process ends by itself; a peer's is killed, and a
    # third process, which sees to the folders then, would complain.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    try:
        yield
    finally:
        get_reusable_executor().shutdown(wait=True)


def search_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Time a search; a small one before each brings in what any search needs: processes, threads, modules."""
    kind = KINDS[settings.estimator]
    X, y = peer.prepare(split.X), split.y
    cv: Any = StratifiedKFold(plan_of(settings).folds, shuffle=True, random_state=0)
    grid = plan_of(settings).grid(X, settings.gamma)
    small = {name: values[:2] for name, values in grid.items()}

    def search(cells: Grid, rows: int) -> Any:
        parts = cv if is_whole(settings) else [next(cv.split(X[:rows], y[:rows]))]
        return kind.build(cells, parts, settings).fit(X[:rows], y[:rows])

    def run() -> Run:
        with processes(kind, settings):
            search(small, WARM_UP_ROWS)
            return timed(lambda: search(grid, len(y)), selection)

    return run


def one_class_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Time a search for a one-class model, trained on X and scored on the samples held out."""
    kind = KINDS[settings.estimator]
    X = peer.prepare(np.vstack([split.X, split.X_test]))
    cv = [(np.arange(len(split.X)), np.arange(len(split.X), len(X)))]
    small = one_class_grid(split.X, settings.gamma, 2)
    grid = one_class_grid(split.X, settings.gamma)

    def run() -> Run:
        with processes(kind, settings):
            kind.build(small, cv, settings).fit(X)
            return timed(lambda: kind.build(grid, cv, settings).fit(X), selection)

    return run


TASKS.update({"search": search_task, "one-class search": one_class_task})


def widths(X: FloatMatrix, centre: float, decades: int, count: int) -> list[float]:
    """Return gamma from 10^-decades to 10^decades times ``centre`` / (d var(X))."""
    unit = centre / (X.shape[1] * float(X.var()))
    return [float(unit * factor) for factor in 10 ** np.linspace(-decades, decades, count)]


def classifier_grid(X: FloatMatrix, centre: float, count: int = 10) -> Grid:
    """Return C = 2^-2, 2^-1, ... and the widths."""
    return {"C": [2.0**power for power in range(-2, count - 2)], "gamma": widths(X, centre, 2, count)}


def one_class_grid(X: FloatMatrix, centre: float, count: int = 20) -> Grid:
    """Return nu = 0.01 .. 0.5, evenly on a log scale, and the widths.

    Wider kernels give rows values that differ by less than the tolerance, narrower ones reject whatever they are asked.
    """
    return {"nu": [float(nu) for nu in np.geomspace(0.01, 0.5, count)], "gamma": widths(X, centre, 1, count)}


def part(build: Callable[[Path | None], Split], n_rows: int) -> Callable[[Path | None], Split]:
    """Return a builder of the first training rows of a problem."""

    def build_part(folder: Path | None) -> Split:
        split = build(folder)
        return split._replace(X=split.X[:n_rows].copy(), y=split.y[:n_rows])

    return build_part


def ringnorm(folder: Path | None) -> Split:
    """Return 5,000 of the published rows."""
    X, y, _ = stored("raetsch_ringnorm", folder)
    return shuffled(X, y, 5_000)


def one_class_rows(n_rows: int) -> Callable[[Path | None], Split]:
    """Return a builder of rows of the first waveform class and of some that are held out."""

    def build(folder: Path | None) -> Split:
        X, labels = waveform(4 * (n_rows + HELD_OUT_ROWS), random_state=SHUFFLE_SEED)
        own = X[labels == 0][: n_rows + HELD_OUT_ROWS]
        y: Labels = np.ones(len(own))
        return Split(own[:n_rows], y[:n_rows], own[n_rows:], y[n_rows:])

    return build


def scaled(name: str, n_samples: int) -> Callable[[Path | None], Split]:
    """Return a builder of some samples of a stored set, standardised and divided by sqrt(d)."""

    def build(folder: Path | None) -> Split:
        X, y, _ = stored(name, folder)
        split = standardised(shuffled(X, y, n_samples))
        return split._replace(X=split.X / np.sqrt(X.shape[1]))

    return build


def search_problem(
    name: str,
    build: Callable[[Path | None], Split],
    share: float,
    *,
    plan: Plan = USUAL,
    long: bool = False,
) -> Problem:
    """Return a search for a classifier; ``long`` where the others can only be timed on a fold."""
    whole = {"plan": plan, "times": 1}
    others = {"plan": plan, "times": plan.folds} if long else whole
    entries = {
        OURS: Entry(OURS, "shared", whole),
        "sklearn": Entry("sklearn", "in processes", others),
        "intelex": Entry("intelex", "in threads", others),
    }
    if name in ("spambase", "ringnorm"):
        entries["halving"] = Entry("sklearn", "by halving", whole)
    if plan.metrics == ("accuracy",):
        entries["liquidsvm"] = Entry("liquidsvm", "its own", whole)
    # Its name has to differ from that of the single fit; gamma is the middle of the grid in units of 1 / (d var X).
    return Problem(f"{name} search", {}, 1.0, build, Bar(share, (REFERENCE,)), kind="search", entries=entries)


def one_class_problem(n_rows: int) -> Problem:
    """Return a search for a one-class model."""
    once = {"plan": Plan(folds=1), "times": 1}
    entries = {
        OURS: Entry(OURS, "shared one-class", once),
        "sklearn": Entry("sklearn", "plain loop", once),
    }
    bar = Bar(1 / 10, (REFERENCE,))
    return Problem(
        f"one_class_{n_rows} search", {}, 1.0, one_class_rows(n_rows), bar, kind="one-class search", entries=entries
    )


FOUR_BY_FOUR = Plan({"C": [1, 4, 16, 64], "gamma": [0.5, 1, 2, 4]}, folds=3)
EIGHT_BY_FOUR = Plan({"C": [2.0**power for power in range(-2, 6)], "gamma": [0.25, 0.5, 1, 2]})
AUC = EIGHT_BY_FOUR._replace(metrics=("roc_auc",))
TWO_METRICS = EIGHT_BY_FOUR._replace(metrics=("roc_auc", "accuracy"))

SEARCHES = {
    "banana": search_problem("banana", part(PROBLEMS["banana"].build, 1_000), 1 / 17),
    "splice": search_problem("splice", part(PROBLEMS["splice"].build, 1_000), 1 / 55),
    "spambase": search_problem("spambase", PROBLEMS["spambase"].build, 1 / 45),
    "ringnorm": search_problem("ringnorm", ringnorm, 1 / 28, long=True),
    "a9a": search_problem("a9a", part(PROBLEMS["a9a"].build, 10_000), 1 / 50, long=True),
    "letter": search_problem("letter", scaled("letter", 3_000), 1 / 5, plan=FOUR_BY_FOUR),
    "pendigits": search_problem("pendigits", scaled("pendigits", 3_000), 1 / 8, plan=FOUR_BY_FOUR),
    "satimage": search_problem("satimage", scaled("satimage", 3_000), 1 / 10, plan=FOUR_BY_FOUR),
    "usps": search_problem("usps", scaled("usps", 2_000), 1 / 12, plan=FOUR_BY_FOUR),
    "iris": search_problem("iris", PROBLEMS["iris"].build, 1 / 6, plan=EIGHT_BY_FOUR),
    "spambase_auc": search_problem("spambase_auc", scaled("spambase", 2_000), 1 / 25, plan=AUC),
    "spambase_two_metrics": search_problem("spambase_two_metrics", scaled("spambase", 2_000), 1 / 20, plan=TWO_METRICS),
} | {f"one_class_{n_rows}": one_class_problem(n_rows) for n_rows in (500, 1_000, 2_000)}

KNOWN.update({problem.name: problem for problem in SEARCHES.values()})


@dataclass(frozen=True)
class SearchJob(Job):
    """A job whose class brings this module, with its tasks and problems, into the peer's process."""

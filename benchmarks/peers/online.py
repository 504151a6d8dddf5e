"""LASVM beside the batch model: an epoch, and an epoch with FINISH; only widemargin takes part."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import beside
from benchmarks.peers.problems import Problem, Split, stored
from benchmarks.peers.session import Options, Verdict, compare_all, heading
from widemargin import SVC, OnlineSVC

#: Largest times of an epoch, and of an epoch with FINISH, as multiples of that of the batch model.
EPOCH, FINISHED = 0.9, 1.6

#: By how much the objective after FINISH may fall short of the batch model's, and the test error exceed its own.
OBJECTIVE, ERROR = 1e-3, 0.005


def adult(folder: Path | None) -> Split:
    """Return all published rows of a9a, sparse: 32,561 to train on, the others to test."""
    X, y, extra = stored("a9a", folder)
    published, X = int(extra["n_train"]), sp.csr_matrix(X)
    return Split(X[:published], y[:published], X[published:], y[published:])


STREAMS = {"a9a": Problem("a9a", {"C": 100.0}, 0.005, adult)}


@dataclass(frozen=True)
class Line(beside.Line):
    """A model, and its dual objective, that of the kept samples."""

    objective: float

    header = ("objective", "short of batch")

    def cells(self, first: "Line") -> list[str]:
        """Render the objective, also beside that of the batch model."""
        return [f"{self.objective:.6g}", f"{1 - self.objective / first.objective:.2e}"]


def online_command(options: Options) -> list[beside.Result]:
    """Compare online models with those of all samples."""
    return compare_all("online", options, compare, heading, STREAMS)


def compare(problem: Problem, split: Split, options: Options) -> beside.Result:
    """Train in turns."""
    common = {**problem.parameters, "gamma": problem.gamma, "n_jobs": options.n_jobs}
    estimators = {
        "batch": SVC(**common),
        "epoch": OnlineSVC(**common, finishing=False, random_state=0),
        "epoch, finished": OnlineSVC(**common, random_state=0),
    }
    makers = {name: partial(estimator.fit, split.X, split.y) for name, estimator in estimators.items()}
    lines = tuple(
        Line(**about, objective=float(np.sum([one.objective for one in model.fit_report_])))
        for model, about in beside.in_turns(makers, options.repeats, split).values()
    )
    return beside.Result(problem.name, lines, judge(lines, options))


def judge(lines: tuple[Line, ...], options: Options) -> Verdict:
    """Compare times, objective and error with those of the batch model."""
    if options.samples is not None:
        return Verdict(None, f"the bar is for the whole problem, not for {options.samples} samples")
    batch, epoch, finished = lines
    found = {
        f"epoch {epoch.seconds / batch.seconds:.2f} of batch (at most {EPOCH:g})": epoch.seconds
        <= EPOCH * batch.seconds,
        f"finished {finished.seconds / batch.seconds:.2f} (at most {FINISHED:g})": finished.seconds
        <= FINISHED * batch.seconds,
        f"objective short by {1 - finished.objective / batch.objective:.1e} (at most {OBJECTIVE:g})": finished.objective
        >= (1 - OBJECTIVE) * batch.objective,
        f"accuracy lower by {batch.accuracy - finished.accuracy:.4f} (at most {ERROR:g})": finished.accuracy
        >= batch.accuracy - ERROR,
    }
    return Verdict(all(found.values()), "; ".join(found))

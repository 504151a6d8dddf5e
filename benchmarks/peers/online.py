"""LASVM beside the batch model: an epoch, and an epoch with FINISH; only widemargin takes part."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.problems import Problem, Split, stored
from benchmarks.peers.session import Options, Verdict, compare_all, heading
from benchmarks.peers.table import render
from widemargin import SVC, OnlineSVC

#: Largest times of an epoch, and of an epoch with FINISH, as multiples of that of the batch model.
EPOCH, FINISHED = 0.9, 1.6

#: By how much the objective after FINISH may fall short of the batch model's, and the test error exceed its own.
OBJECTIVE, ERROR = 1e-3, 0.005

LINES = ("batch", "epoch", "epoch, finished")


def adult(folder: Path | None) -> Split:
    """Return all published rows of a9a, sparse: 32,561 to train on, the others to test."""
    X, y, extra = stored("a9a", folder)
    published, X = int(extra["n_train"]), sp.csr_matrix(X)
    return Split(X[:published], y[:published], X[published:], y[published:])


STREAMS = {"a9a": Problem("a9a", {"C": 100.0}, 0.005, adult)}


@dataclass(frozen=True)
class Line:
    """A model: its median time, objective (of the kept samples), support vectors and accuracy on the test set."""

    name: str
    seconds: float
    all_seconds: tuple[float, ...]
    objective: float
    n_vectors: int
    accuracy: float


@dataclass(frozen=True)
class Result:
    """One problem: the batch model and the online ones."""

    problem: str
    lines: tuple[Line, ...]
    verdict: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict under the problem's name."""
        return {self.problem: self.verdict}

    def table(self) -> str:
        """Render a line for each model, and the bar."""
        header = ["model", "seconds", "/ batch", "objective", "short of batch", "vectors", "accuracy"]
        batch = self.lines[0]
        rows = [
            [
                line.name,
                f"{line.seconds:.3f}",
                f"{line.seconds / batch.seconds:.2f}",
                f"{line.objective:.6g}",
                f"{1 - line.objective / batch.objective:.2e}",
                f"{line.n_vectors:,d}",
                f"{line.accuracy:.4f}",
            ]
            for line in self.lines
        ]
        return f"{render(header, rows)}\nbar {self.verdict}"


def online_command(options: Options) -> list[Result]:
    """Compare online models with those of all samples."""
    return compare_all("online", options, compare, heading, STREAMS)


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Train in turns."""
    common = {**problem.parameters, "gamma": problem.gamma, "n_jobs": options.n_jobs}
    estimators: dict[str, Any] = {
        "batch": SVC(**common),
        "epoch": OnlineSVC(**common, finishing=False, random_state=0),
        "epoch, finished": OnlineSVC(**common, random_state=0),
    }
    seconds: dict[str, list[float]] = {name: [] for name in LINES}
    for _ in range(options.repeats):
        for name in LINES:
            began = time.perf_counter()
            estimators[name].fit(split.X, split.y)
            seconds[name].append(time.perf_counter() - began)
    lines = tuple(
        Line(
            name,
            median(seconds[name]),
            tuple(seconds[name]),
            float(np.sum([one.objective for one in estimators[name].fit_report_])),
            len(estimators[name].support_),
            float(estimators[name].score(split.X_test, split.y_test)) if split.X_test.shape[0] else float("nan"),
        )
        for name in LINES
    )
    return Result(problem.name, lines, judge(lines, options))


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

"""Many classes with few samples each, beside scikit-learn: training, prediction, search, probabilities, and memory.

Both run in turns in one process, on one thread; times are those of the processor. Classes are normal, in ten
dimensions, with centres about three apart in each. Votes alone decide, as scikit-learn's default has it.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import svm as sklearn_svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.peers.resident import Resident, peak_resident, reset_peak_resident, resident
from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, megabytes, number, render
from widemargin import SVC, GridSearchCV

Samples = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

FEATURES, SPREAD = 10, 3.0
GRID = {"C": [1.0, 10.0], "gamma": [0.05, 0.1]}

#: Shares of scikit-learn's time that are allowed, and bytes that a task may add to memory.
SHARES = {"fit": 0.5, "predict": 1 / 3, "search": 0.5}
BYTES = {"predict": 300 * 2**20, "search": 500 * 2**20}

#: Seconds allowed for a fit with probabilities, of the most classes.
CALIBRATED, CALIBRATED_CLASSES = 5.0, 500

#: Share of the predictions that must be the same: ties are broken by rounding.
SAME = 0.999


class Problem(NamedTuple):
    """So many classes of so many samples, of which a search makes folds; so many times as many are predicted."""

    classes: int
    samples: int
    times: int
    folds: int


PROBLEMS = {
    "few": Problem(10, 100, 4, 3),
    "100": Problem(100, 30, 4, 3),
    "200": Problem(200, 12, 4, 3),
    "500": Problem(500, 4, 5, 2),
}

#: Those that there are bars for.
BARRED = ("100", "200", "500")


@dataclass(frozen=True)
class Line:
    """What a task took of both: median seconds, the most bytes that ours added to memory, and whether both agree."""

    task: str
    ours: float
    theirs: float | None
    growth: int
    agreement: float | None


@dataclass(frozen=True)
class Result:
    """All tasks of a problem."""

    problem: str
    lines: tuple[Line, ...]

    def verdicts(self) -> dict[str, Verdict]:
        """Judge times, memory, and agreement."""
        found: dict[str, Verdict] = {}
        for line in self.lines:
            reasons, passed = [], True
            if line.theirs is None:
                allowed = CALIBRATED if self.problem == str(CALIBRATED_CLASSES) else None
            else:
                allowed = SHARES[line.task] * line.theirs
            if allowed is not None:
                reasons.append(f"{line.ours:.3g} s, allowed {allowed:.3g} s")
                passed = line.ours <= allowed
            if line.task in BYTES:
                reasons.append(f"{megabytes(line.growth)}, allowed {megabytes(BYTES[line.task])}")
                passed = passed and line.growth <= BYTES[line.task]
            if line.agreement is not None:
                reasons.append(f"{line.agreement:.2%} the same")
                passed = passed and line.agreement >= SAME
            judged = passed if reasons and self.problem in BARRED else None
            found[f"{self.problem}, {line.task}"] = Verdict(judged, "; ".join(reasons) or "there is no bar")
        return found

    def table(self) -> str:
        """Render a line for each task."""
        rows = [
            [
                line.task,
                f"{line.ours:.3f}",
                number(line.theirs, ".3f"),
                number(None if line.theirs is None else line.ours / line.theirs, ".2f"),
                megabytes(line.growth),
                number(line.agreement, ".2%"),
            ]
            for line in self.lines
        ]
        return render(["task", "ours", "scikit-learn", "share", "growth", "the same"], rows)


def classes_command(options: Options) -> list[Result]:
    """Compare on one problem after the other."""
    announce()
    results: list[Result] = []
    for name in options.problems:
        problem = PROBLEMS[name]
        print(f"\n{name}: {problem.classes} classes of {problem.samples}, {options.repeats} alternating runs")
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # of classes with fewer samples than folds
            results.append(compare(name, problem, options.repeats))
        print(indent(results[-1].table()), flush=True)
        save(options.record, "classes", options, results)
    print("\n" + summary({name: verdict for result in results for name, verdict in result.verdicts().items()}))
    return results


def points(problem: Problem, times: int, seed: int) -> tuple[Samples, Labels]:
    """Return samples of all classes, whose centres do not depend on the seed."""
    centres = SPREAD * np.random.default_rng(0).normal(size=(problem.classes, FEATURES))
    y = np.tile(np.repeat(np.arange(problem.classes), problem.samples), times)
    return centres[y] + np.random.default_rng(1 + seed).normal(size=(len(y), FEATURES)), y


def compare(name: str, problem: Problem, repeats: int) -> Result:
    """Run both in turns."""
    X, y = points(problem, 1, 0)
    new, _ = points(problem, problem.times, 1)
    models: dict[str, Any] = {"ours": SVC(break_ties=False).fit(X, y), "theirs": sklearn_svm.SVC().fit(X, y)}
    tasks: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
        "fit": (lambda: SVC().fit(X, y), lambda: sklearn_svm.SVC().fit(X, y)),
        "predict": (lambda: models["ours"].predict(new), lambda: models["theirs"].predict(new)),
        "search": (
            lambda: GridSearchCV(SVC(break_ties=False), GRID, cv=problem.folds).fit(X, y),
            lambda: TheirGridSearchCV(sklearn_svm.SVC(), GRID, cv=problem.folds).fit(X, y),
        ),
        "calibrated fit": (lambda: SVC(calibration="folds").fit(X, y), None),
    }
    return Result(name, tuple(line(task, *both, repeats) for task, both in tasks.items()))


def line(task: str, ours: Callable[[], Any], theirs: Callable[[], Any] | None, repeats: int) -> Line:
    """Measure a task."""
    taken, given, growths = [], [], []
    found, expected = None, None
    for _ in range(repeats):
        if theirs is not None:
            seconds, expected = timed(theirs)
            given.append(seconds)
        reset_peak_resident()
        before = resident()
        seconds, found = timed(ours)
        taken.append(seconds)
        growths.append(Resident(before, peak_resident()).growth)
    return Line(task, median(taken), median(given) if given else None, max(growths), agreement(task, found, expected))


def agreement(task: str, ours: Any, theirs: Any) -> float | None:
    """Return which share of the predictions is the same; of a search, 1 minus the largest difference of a score."""
    if task == "predict":
        return float(np.mean(ours == theirs))
    if task == "search":
        scores = [found.cv_results_["mean_test_score"] for found in (ours, theirs)]
        return 1.0 - float(np.abs(scores[0] - scores[1]).max())
    return None


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds for a call, and what it returned."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found

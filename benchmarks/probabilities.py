"""What probabilities cost and what they are worth: ``python -m benchmarks.probabilities``.

Everybody trains the same machine (C, gamma, tolerance), with and without probabilities, one run each per round, so that
a busy minute of the machine hits all of them; medians are compared. One thread.
"""

import argparse
import gc
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.peers.problems import PROBLEMS, Problem, Split
from benchmarks.peers.table import render
from widemargin import SVC

#: Problems and training rows (None: all of them); test rows are at most as many as that says.
USUAL: tuple[tuple[str, int | None], ...] = (
    ("banana", None),
    ("banana", 400),
    ("spambase", None),
    ("twonorm", 2_000),
    ("ringnorm", 2_000),
)
MOST_TEST_ROWS = 5_000

Builder = Callable[[], Any]


def contestants(problem: Problem) -> Mapping[str, tuple[str, Builder]]:
    """Return who trains what: the model alone that it is compared with, and how to build it."""
    parameters: dict[str, Any] = {"C": problem.parameters["C"], "gamma": problem.gamma}
    return {
        "widemargin": ("widemargin", lambda: SVC(**parameters)),
        "widemargin, slope": ("widemargin", lambda: SVC(**parameters, calibration="folds")),
        "widemargin, platt": ("widemargin", lambda: SVC(**parameters, calibration="folds", calibration_method="platt")),
        "sklearn": ("sklearn", lambda: svm.SVC(**parameters)),
        "sklearn, probability=True": ("sklearn", lambda: svm.SVC(**parameters, probability=True, random_state=0)),
        "sklearn, CalibratedClassifierCV": (
            "sklearn",
            lambda: CalibratedClassifierCV(svm.SVC(**parameters), ensemble=False, cv=5),
        ),
    }


def compared(problem: Problem, split: Split, repeats: int) -> list[list[str]]:
    """Train everybody some times; return the lines of a table."""
    builders = contestants(problem)
    seconds: dict[str, list[float]] = {name: [] for name in builders}
    models: dict[str, Any] = {}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `probability`, which scikit-learn removes in 1.11
        for _ in range(repeats):
            for name, (_, build) in builders.items():
                gc.collect()
                model = build()
                began = time.perf_counter()
                models[name] = model.fit(split.X, split.y)
                seconds[name].append(time.perf_counter() - began)
    typical = {name: median(own) for name, own in seconds.items()}
    X, y = split.X_test[:MOST_TEST_ROWS], split.y_test[:MOST_TEST_ROWS]
    return [line(name, typical, builders[name][0], models[name], X, y) for name in builders]


def line(name: str, typical: Mapping[str, float], alone: str, model: Any, X: Any, y: Any) -> list[str]:
    """Return the line of one contestant."""
    timing = [name, f"{typical[name]:.4f}", f"{typical[name] / typical[alone]:.2f}"]
    if not hasattr(model, "predict_proba"):
        return [*timing, "", "", ""]
    p = model.predict_proba(X)
    brier = float(np.mean(np.sum((p - (y[:, np.newaxis] == model.classes_)) ** 2, axis=1)))
    contradicted = float(np.mean(model.classes_[p.argmax(axis=1)] != model.predict(X)))
    return [*timing, f"{log_loss(y, p, labels=model.classes_):.4f}", f"{brier:.4f}", f"{contradicted:.2%}"]


def report(folder: Path | None, repeats: int, problems: Sequence[tuple[str, int | None]] = USUAL) -> None:
    """Print a table for each problem."""
    header = ["", "seconds", "/ alone", "log loss", "Brier", "not what is predicted"]
    for name, rows in problems:
        problem = PROBLEMS[name]
        try:
            split = problem.load(folder, rows)
        except FileNotFoundError as missing:
            print(f"{name}: skipped ({missing})\n")
            continue
        print(f"{name}: {len(split.y):,} samples, C={problem.parameters['C']}, gamma={problem.gamma}")
        print(render(header, compared(problem, split, repeats)))
        print()


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probabilities", description="cost of probabilities")
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--repeats", type=int, default=9, help="runs of everybody (%(default)s)")
    given = parser.parse_args(arguments)
    report(given.data, given.repeats)


if __name__ == "__main__":
    main()

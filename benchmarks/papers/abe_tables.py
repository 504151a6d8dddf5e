"""[Abe2007, Tables 1 and 2]: parameters and test errors of four ways to choose a kernel's width and C.

- RBF(g): gamma and C of a Gaussian from a grid, by 5-fold cross-validation.
- RBF(s): gamma by the second-order method on the distance between class centres, averaged over the problems of one
  class against all others; then C by cross-validation.
- Diag(l): the Mahalanobis kernel with a diagonal covariance; C by cross-validation at delta = 1, then delta with this
  C.
- Diag(s): delta by the second-order method, then C by cross-validation.

As in the paper: inputs scaled to [0, 1] by the ranges of the training part, kernels exp(-gamma / m |x - z|^2) with m
the number of inputs, one model for each class against all others, fuzzy memberships with the minimum operator, a
start of the second-order method at 0.01. Of its data, iris and thyroid are public. It does not say which half of iris
it trains on: the first 25 rows of each class give its widths. Digits and letters stand in for its numerals.
"""

import argparse
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.line_search import second_order_width
from benchmarks.peers.problems import FloatMatrix, Labels, stored
from benchmarks.peers.table import render
from widemargin import SVC, GridSearchCV
from widemargin.kernels import Gaussian, Mahalanobis
from widemargin.objectives import ClassDistance, Task

SUMMARY = "Tables 1 and 2: widths by the second-order method, and test errors of four ways to choose them"
PRICES = [1, 10, 50, 100, 500, 1_000, 2_000, 3_000, 5_000, 8_000, 10_000, 50_000, 100_000]
GAMMAS = [0.1, 0.5, 1, 5, 10, 15]
DELTAS = [round(0.1 * tenths, 1) for tenths in range(1, 21)]
START = 0.01
METHODS = ("RBF(g)", "RBF(s)", "Diag(l)", "Diag(s)")
QUICK_ROWS = 1_000
MOST_ITERATIONS = 10
WIDTH_ERROR = 0.05


class Split(NamedTuple):
    """Training and test part."""

    X: FloatMatrix
    y: Labels
    X_test: FloatMatrix
    y_test: Labels


class Found(NamedTuple):
    """What a method chose, and how well that does: percent of errors on both parts."""

    width: float
    C: float
    test_error: float
    training_error: float
    iterations: int | None
    seconds: float


class Printed(NamedTuple):
    """What the paper has: width, C, percent of errors on the test part."""

    width: float
    C: float
    test_error: float


@dataclass(frozen=True)
class Experiment:
    """A data set, and the paper's numbers for it in the order of `METHODS`, if it has any."""

    name: str
    load: Callable[[Path | None], Split]
    paper: tuple[Printed, ...] = ()


def halves_of_classes(name: str) -> Callable[[Path | None], Split]:
    """Return a loader that trains on the first half of each class."""

    def load(folder: Path | None) -> Split:
        X, y, _ = stored(name, folder)
        first = np.concatenate([ids[: len(ids) // 2] for ids in (np.flatnonzero(y == c) for c in np.unique(y))])
        second = np.setdiff1d(np.arange(len(y)), first)
        return Split(X[first], y[first], X[second], y[second])

    return load


def random_halves(name: str) -> Callable[[Path | None], Split]:
    """Return a loader that trains on a random half, the same each time."""

    def load(folder: Path | None) -> Split:
        X, y, _ = stored(name, folder)
        first, second = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0, stratify=y)
        return Split(X[first], y[first], X[second], y[second])

    return load


def published(name: str) -> Callable[[Path | None], Split]:
    """Return a loader that trains on the published training part."""

    def load(folder: Path | None) -> Split:
        X, y, extra = stored(name, folder)
        n = int(extra["n_train"])
        return Split(X[:n], y[:n], X[n:], y[n:])

    return load


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "iris",
            halves_of_classes("iris"),
            (Printed(0.1, 5000, 5.33), Printed(14.1, 1, 5.33), Printed(0.5, 1, 5.33), Printed(0.975, 1, 5.33)),
        ),
        Experiment(
            "thyroid",
            published("ann_thyroid"),
            (Printed(5, 1e5, 2.71), Printed(95.2, 7000, 4.26), Printed(0.5, 100, 2.80), Printed(1.18, 50, 2.61)),
        ),
        Experiment("pendigits", published("pendigits")),
        Experiment("optdigits", random_halves("optdigits")),
        Experiment("usps", published("usps")),
        Experiment("letter", published("letter")),
    )
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument(
        "--quick", action="store_true", help=f"at most {QUICK_ROWS:,} samples each to train on and to test on"
    )
    parser.add_argument(
        "--datasets",
        type=lambda text: text.split(","),
        default=list(EXPERIMENTS),
        help=f"comma-separated, of {', '.join(EXPERIMENTS)}",
    )
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")


def run(given: argparse.Namespace) -> None:
    """Print the tables and the verdicts."""
    unknown = [name for name in given.datasets if name not in EXPERIMENTS]
    if unknown:
        raise SystemExit(f"There is no data set {unknown[0]!r}; known are {', '.join(EXPERIMENTS)}.")
    print(f"{SUMMARY}; the paper's numbers in brackets")
    outcomes: dict[str, dict[str, Found]] = {}
    whole: list[str] = []
    for name in given.datasets:
        try:
            split = EXPERIMENTS[name].load(given.data)
        except FileNotFoundError as missing:
            print(f"{name}: skipped. {missing}")
            continue
        used = thinned(split) if given.quick else split
        outcomes[name] = measure(scaled(used), given.n_jobs)
        whole += [name] if len(used.y) == len(split.y) else []
        print(f"\n{name}\n{table(EXPERIMENTS[name], outcomes[name])}", flush=True)
    print(f"\n{verdicts(outcomes, whole)}")


def thinned(split: Split) -> Split:
    """Keep as many random rows of both parts as a quick look takes, the same each time; classes keep their shares."""
    kept = []
    for X, y in ((split.X, split.y), (split.X_test, split.y_test)):
        ids = np.arange(len(y))
        if len(y) > QUICK_ROWS:
            ids, _ = train_test_split(ids, train_size=QUICK_ROWS, random_state=0, stratify=y)
        kept += [X[ids], y[ids]]
    return Split(*kept)


def scaled(split: Split) -> Split:
    """Map the ranges of the training part to [0, 1]; what does not vary becomes 0."""
    low, high = split.X.min(axis=0), split.X.max(axis=0)
    factors = np.divide(1.0, high - low, out=np.zeros_like(low), where=high > low)
    return split._replace(X=(split.X - low) * factors, X_test=(split.X_test - low) * factors)


def measure(split: Split, n_jobs: int) -> dict[str, Found]:
    """Choose by all four methods."""
    m = split.X.shape[1]
    task = Task(split.X, np.unique(split.y, return_inverse=True)[1], len(np.unique(split.y)), np.ones(len(split.y)))
    bound = ClassDistance("one-against-all").bind(task)
    metric = Mahalanobis().fitted(split.X)
    white = split._replace(X=metric.mapped(split.X), X_test=metric.mapped(split.X_test))
    found = {}

    began = time.perf_counter()
    C, gamma = choose(split, PRICES, [gamma / m for gamma in GAMMAS], n_jobs)
    found["RBF(g)"] = judge(split, C, gamma, n_jobs, m * gamma, None, began)

    began = time.perf_counter()
    width = second_order_width(bound, Gaussian(START / m), START / m)
    C, gamma = choose(split, PRICES, [width.p], n_jobs)
    found["RBF(s)"] = judge(split, C, gamma, n_jobs, m * gamma, width.iterations, began)

    # Samples that are mapped by the root of Q^-1 make a Gaussian of the Mahalanobis kernel, with gamma = delta / m.
    began = time.perf_counter()
    C, _ = choose(white, PRICES, [1.0 / m], n_jobs)
    _, gamma = choose(white, [C], [delta / m for delta in DELTAS], n_jobs)
    found["Diag(l)"] = judge(white, C, gamma, n_jobs, m * gamma, None, began)

    began = time.perf_counter()
    width = second_order_width(bound, metric, START)
    C, gamma = choose(white, PRICES, [width.p / m], n_jobs)
    found["Diag(s)"] = judge(white, C, gamma, n_jobs, m * gamma, width.iterations, began)
    return found


def machine(**settings: Any) -> SVC:
    """One class against all others, with fuzzy memberships."""
    return SVC(multi_class="ovr", decision="fuzzy-minimum", **settings)


def choose(split: Split, prices: list[float], gammas: list[float], n_jobs: int) -> tuple[float, float]:
    """Return the C and the gamma with the fewest errors of 5-fold cross-validation, the smallest of equal ones."""
    search = GridSearchCV(
        machine(),
        {"gamma": gammas, "C": prices},
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
        n_jobs=n_jobs,
        refit=False,
    )
    search.fit(split.X, split.y)
    return search.best_params_["C"], search.best_params_["gamma"]


def judge(
    split: Split, C: float, gamma: float, n_jobs: int, width: float, iterations: int | None, began: float
) -> Found:
    """Train with what was chosen, and count errors."""
    chosen = machine(C=C, gamma=gamma, n_jobs=n_jobs).fit(split.X, split.y)
    test_error, training_error = (
        100.0 * float(np.mean(chosen.predict(X) != y)) for X, y in ((split.X_test, split.y_test), (split.X, split.y))
    )
    return Found(width, C, test_error, training_error, iterations, time.perf_counter() - began)


def table(experiment: Experiment, outcome: dict[str, Found]) -> str:
    """Render our numbers, the paper's in brackets."""
    rows = []
    for number, method in enumerate(METHODS):
        found = outcome[method]
        printed = experiment.paper[number] if experiment.paper else None

        def beside(ours: str, theirs: float | None) -> str:
            return ours if theirs is None else f"{ours} ({theirs:g})"

        rows.append(
            [
                method,
                beside(f"{found.width:.3g}", printed and printed.width),
                beside(f"{found.C:g}", printed and printed.C),
                "-" if found.iterations is None else f"{found.iterations}",
                beside(f"{found.test_error:.2f} %", printed and printed.test_error),
                f"{found.training_error:.2f} %",
                f"{found.seconds:.1f}",
            ]
        )
    return render(["method", "gamma or delta", "C", "iterations", "test error", "training error", "seconds"], rows)


def verdicts(outcomes: dict[str, dict[str, Found]], whole: Collection[str]) -> str:
    """Judge the number of iterations, and widths that the paper has too where all rows were used."""
    if not outcomes:
        return "not judged"
    taken = max(found.iterations or 0 for outcome in outcomes.values() for found in outcome.values())
    lines = [f"iterations: {'pass' if taken <= MOST_ITERATIONS else 'FAIL'}, {taken}, allowed {MOST_ITERATIONS}"]
    for name in whole:
        for method, printed in zip(METHODS, EXPERIMENTS[name].paper, strict=False):
            found = outcomes[name][method]
            if found.iterations is not None:
                word = "pass" if abs(found.width / printed.width - 1.0) <= WIDTH_ERROR else "FAIL"
                lines.append(f"{name}, {method}: {word}, {found.width:.4g} (paper {printed.width:g})")
    return "\n".join([*lines, f"widths may be {WIDTH_ERROR:.0%} off the paper's"])

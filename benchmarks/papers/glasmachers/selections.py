"""Working-set selections under a small cache: what [Glasmachers2008, Tables 6.2 and 6.3] share."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.papers.data import Data, Loader, connect4_half, spam_standardised
from widemargin import SVC
from widemargin.solvers import SMO

SELECTIONS = ("maximal-violating-pair", "second-order", "maximum-gain")
FLOAT32_BYTES = 4
# "Clearly fewer" kernel evaluations than second-order selection.
CLEARLY = 0.95


@dataclass(frozen=True)
class Experiment:
    """A row of Table 6.1; the thesis gives sigma, and gamma = 1 / (2 sigma^2)."""

    name: str
    load: Loader
    C: float
    sigma: float
    thesis_iterations: tuple[int, int, int]
    thesis_seconds: tuple[float, float, float]

    @property
    def gamma(self) -> float:
        """The width in scikit-learn's convention."""
        return 1 / (2 * self.sigma**2)


SPAM = Experiment("spam-database", spam_standardised, 50, 10, (36_610, 9_228, 10_563), (11.21, 8.44, 9.17))
CONNECT4 = Experiment("connect-4", connect4_half, 4.5, 1.5, (65_167, 45_504, 50_281), (916, 734, 633))


class Counts(NamedTuple):
    """Medians over the permutations; kernel evaluations are given in rows of n values."""

    iterations: float
    kernel_rows: float
    seconds: float
    objective: float


def add_arguments(parser: argparse.ArgumentParser, permutations: int) -> None:
    """Declare the options of both tables."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--permutations", type=int, default=permutations, help="orders of the rows (%(default)s)")
    parser.add_argument("--samples", type=int, help="only so many samples of each data set (all otherwise)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")


def load(experiment: Experiment, given: argparse.Namespace) -> Data:
    """Load a data set, or its first rows."""
    X, y = experiment.load(given.data)
    return X[: given.samples], y[: given.samples]


def compare(experiment: Experiment, data: Data, cache_fraction: float, given: argparse.Namespace) -> dict[str, Counts]:
    """Train with every selection and a cache that holds a fraction of the kernel matrix."""
    X, y = data
    cache = cache_fraction * FLOAT32_BYTES * len(y) ** 2 / 2**20
    counts = {}
    for selection in SELECTIONS:
        runs = []
        for seed in range(given.permutations):
            order = np.random.default_rng(seed).permutation(len(y))
            runs.append(train(experiment, X[order], y[order], selection, cache, given.n_jobs))
        counts[selection] = Counts(*(median(column) for column in zip(*runs, strict=True)))
    return counts


def train(
    experiment: Experiment, X: np.ndarray, y: np.ndarray, selection: str, cache_megabytes: float, n_jobs: int
) -> Counts:
    """Fit once and count."""
    model = SVC(
        C=experiment.C,
        gamma=experiment.gamma,
        solver=SMO(selection=selection, planning_ahead=0),
        cache_size=cache_megabytes,
        max_iter=-1,
        n_jobs=n_jobs,
    )
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    report = model.fit_report_[0]
    return Counts(report.iterations, report.kernel_evaluations / len(y), seconds, report.objective)


def evaluations_ratio(counts: dict[str, Counts]) -> float:
    """Kernel evaluations of maximum-gain over those of second-order selection."""
    return counts["maximum-gain"].kernel_rows / counts["second-order"].kernel_rows

"""Vector quantisation beside scikit-learn's KMeans, at the same number of distances between samples and prototypes.

Both run in turns in one process. Ours builds all levels up to the last one; KMeans, from a random start, is given as
many iterations as take no more distances. What is compared is the time of a distance.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, render
from widemargin.quantization import Codebooks
from widemargin.runtime import thread_count

Samples = npt.NDArray[np.float32]

SAMPLES, FEATURES, LEVEL, THREADS = 100_000, 50, 10, 2
ALLOWED = 1.5


def normal() -> Samples:
    """Return samples without any structure."""
    return np.random.default_rng(0).normal(size=(SAMPLES, FEATURES)).astype(np.float32)


def blobs() -> Samples:
    """Return samples in 200 groups."""
    X, _ = make_blobs(SAMPLES, FEATURES, centers=200, cluster_std=2.0, random_state=0)
    return X.astype(np.float32)


PROBLEMS: dict[str, Callable[[], Samples]] = {"normal": normal, "blobs": blobs}


@dataclass(frozen=True)
class Line:
    """What one of the two took, and how good its prototypes are: medians over all runs."""

    name: str
    seconds: float
    evaluations: int
    distortion: float

    @property
    def nanoseconds(self) -> float:
        """The time of a distance."""
        return 1e9 * self.seconds / self.evaluations


@dataclass(frozen=True)
class Result:
    """A comparison on some samples."""

    problem: str
    ours: Line
    theirs: Line

    def verdicts(self) -> dict[str, Verdict]:
        """Compare times of a distance."""
        ratio = self.ours.nanoseconds / self.theirs.nanoseconds
        return {self.problem: Verdict(ratio <= ALLOWED, f"{ratio:.3g} of KMeans's time, allowed {ALLOWED:g}")}

    def table(self) -> str:
        """Render a line for each."""
        header = ["", "seconds", "distances", "ns / distance", "/ ours", "distortion"]
        rows = [
            [
                line.name,
                f"{line.seconds:.3f}",
                f"{line.evaluations:.4g}",
                f"{line.nanoseconds:.4f}",
                f"{line.nanoseconds / self.ours.nanoseconds:.2f}",
                f"{line.distortion:.6g}",
            ]
            for line in (self.ours, self.theirs)
        ]
        return render(header, rows)


def quantize_command(options: Options) -> list[Result]:
    """Compare on one problem after the other."""
    announce()
    results = []
    for name in options.problems:
        X = PROBLEMS[name]()
        n, d = X.shape
        print(f"\n{name}: {n:,} x {d}, {2**LEVEL} prototypes, {THREADS} threads, {options.repeats} alternating runs")
        results.append(compare(name, X, options.repeats, LEVEL))
        print(indent(results[-1].table()), flush=True)
        save(options.record, "quantize", options, results)
    print("\n" + summary({name: verdict for result in results for name, verdict in result.verdicts().items()}))
    return results


def compare(problem: str, X: Samples, repeats: int, level: int) -> Result:
    """Run both in turns."""
    ours, theirs = [], []
    for seed in range(repeats):
        ours.append(quantise(X, level))
        theirs.append(k_means(X, 2**level, ours[-1].evaluations // (2**level * len(X)), seed))
    return Result(problem, middle(ours), middle(theirs))


def middle(lines: list[Line]) -> Line:
    """Return the medians of all runs; where these differ in their distances, the time is that of a usual one."""
    evaluations = round(median(line.evaluations for line in lines))
    seconds = 1e-9 * evaluations * median(line.nanoseconds for line in lines)
    return Line(lines[0].name, seconds, evaluations, median(line.distortion for line in lines))


def quantise(X: Samples, level: int) -> Line:
    """Build all levels."""
    began = time.perf_counter()
    books = Codebooks(X, n_threads=thread_count(THREADS))
    levels = [books.level(k, keep_whole=False) for k in range(level + 1)]
    seconds = time.perf_counter() - began
    return Line("widemargin, all levels", seconds, sum(one.evaluations for one in levels), levels[-1].distortion)


def k_means(X: Samples, m: int, iterations: int, seed: int) -> Line:
    """Run KMeans for so many iterations; it assigns samples once more at the end unless none has moved."""
    model = KMeans(m, n_init=1, init="random", max_iter=max(1, iterations - 1), tol=0.0, random_state=seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    seconds = time.perf_counter() - began
    moved = model.n_iter_ >= max(1, iterations - 1)
    return Line("KMeans, random start", seconds, (model.n_iter_ + moved) * len(X) * m, model.inertia_ / len(X))

"""Distances over subsets of features: one feature more or less in a matrix, beside computing all distances anew."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, render
from widemargin.kernels.feature_distances import FeatureDistances

N_SAMPLES, N_FEATURES, TOGGLED = 5_000, 100, 7


class Distances(NamedTuple):
    """Which distances, and what part of the time of computing them a toggle may take."""

    summary: str
    of_one_set: bool
    allowed: float


DISTANCES = {
    "between": Distances("between two sets of samples", False, 1 / 10),
    # Half of these are computed, and mirrored; a toggle is bound by memory, and has to write all of them.
    "among": Distances("among the samples of one set", True, 1 / 7),
}


@dataclass(frozen=True)
class Result:
    """The median seconds of toggling and of computing anew, by the name of the distances."""

    toggled: dict[str, float]
    computed: dict[str, float]

    def verdicts(self) -> dict[str, Verdict]:
        """Compare toggling with computing anew."""
        judged = {}
        for name, seconds in self.toggled.items():
            part, allowed = seconds / self.computed[name], DISTANCES[name].allowed
            reason = f"1/{1 / part:.1f} of computing anew, allowed 1/{1 / allowed:.0f}"
            judged[name] = Verdict(part <= allowed, reason)
        return judged

    def table(self) -> str:
        """Render a line for each kind of distances."""
        rows = [
            [name, f"{1e3 * seconds:.1f}", f"{1e3 * self.computed[name]:.1f}", DISTANCES[name].summary]
            for name, seconds in self.toggled.items()
        ]
        return render(["distances", "toggled (ms)", "computed (ms)", "which"], rows)


def features_command(options: Options) -> Result:
    """Toggle and compute in turns."""
    announce()
    toggled, computed = {}, {}
    for name in options.problems:
        toggled[name], computed[name] = measured(DISTANCES[name].of_one_set, options.repeats, options.n_jobs)
    result = Result(toggled, computed)
    print(
        f"\nfloat32, {N_SAMPLES:,} x {N_SAMPLES:,} distances, {N_FEATURES} features, {options.n_jobs} threads; "
        f"median of {options.repeats} alternating runs\n{indent(result.table())}"
    )
    save(options.record, "features", options, [result])
    print("\n" + summary(result.verdicts()))
    return result


def measured(of_one_set: bool, repeats: int, n_jobs: int) -> tuple[float, float]:
    """Return the median seconds of taking in a feature, in place, and of computing the distances without it."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_SAMPLES, N_FEATURES))
    Z = X if of_one_set else generator.normal(size=(N_SAMPLES, N_FEATURES))
    without = np.arange(N_FEATURES) != TOGGLED
    kept = FeatureDistances.between(X, Z, without, n_jobs=n_jobs)
    for _ in range(2):  # the first runs set up threads and buffers
        kept = kept.toggled(TOGGLED, X, Z, out=kept.values, n_jobs=n_jobs)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        times[0].append(seconds_of(lambda: kept.toggled(TOGGLED, X, Z, out=kept.values, n_jobs=n_jobs)))
        times[1].append(seconds_of(lambda: FeatureDistances.between(X, Z, without, n_jobs=n_jobs)))
    return median(times[0]), median(times[1])


def seconds_of(what: Callable[[], Any]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began

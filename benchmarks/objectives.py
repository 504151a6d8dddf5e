"""Speed of objectives, in units of what they are made of: ``python -m benchmarks.objectives``.

Each bar is a race between an evaluation and its units (a kernel matrix, a cold fit, a value without its gradient), one
run each per round, so that a busy minute of the machine hits all of them; medians are compared. Everything runs on one
thread.
"""

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.table import render
from widemargin.kernels import DiagonalGaussian, Gaussian, jaakkola_gamma, kernel_matrix
from widemargin.objectives import BoundObjective, ClassDistance, TargetAlignment, Task

Runner = Callable[[], object]


@dataclass(frozen=True)
class Race:
    """What is timed against what.

    `ours` may take as long as `allowed` says, given the seconds of each of the `units`.
    """

    ours: Runner
    units: Mapping[str, Runner]
    allowed: Callable[[Mapping[str, float]], float]


@dataclass(frozen=True)
class Bar:
    """A bar of speed, in words, and the race that decides it."""

    words: str
    prepare: Callable[[], Race]


def two_classes(n: int, d: int) -> Task:
    """Two overlapping classes, generated."""
    generator = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = generator.normal(size=(n, d)) + 0.5 * y[:, np.newaxis]
    return Task(X, y, 2, np.ones(n))


def alignment_gradient(centred: bool) -> Race:
    """Gradient of the alignment for one width a feature."""
    task = two_classes(2_000, 20)
    kernel = DiagonalGaussian(np.full(20, jaakkola_gamma(task.X, task.y)))
    bound = TargetAlignment(centred).bind(task)
    matrix = "kernel matrix"
    units = {matrix: lambda: kernel_matrix(task.X, gamma=0.02, dtype="float64", n_jobs=1)}
    return Race(lambda: bound.evaluate(kernel, 1.0), units, lambda seconds: 8.0 * seconds[matrix])


def abe_width() -> Race:
    """A width by the second-order method, distances included."""
    task = two_classes(2_000, 20)
    matrix = "kernel matrix"
    units = {matrix: lambda: kernel_matrix(task.X, gamma=0.02, dtype="float64", n_jobs=1)}
    return Race(lambda: second_order(ClassDistance().bind(task)), units, lambda seconds: 12.0 * seconds[matrix])


def second_order(bound: BoundObjective, p: float = 1e-3, tolerance: float = 1e-5) -> float:
    """[Abe2007, eq. 10], or Newton's step where that has no real root."""
    while True:
        first, second, third = bound.evaluate(Gaussian(p), 1.0).higher
        square = second**2 - 2.0 * first * third
        step = (-second - np.sqrt(square)) / third if square >= 0.0 else -first / second
        p += step
        if abs(step) <= tolerance * p:
            return p


BARS = {
    "alignment": Bar(
        "gradient of the alignment, diagonal Gaussian, n = 2,000, d = 20: at most 8 kernel matrices",
        lambda: alignment_gradient(False),
    ),
    "centred-alignment": Bar(
        "the same for the centred alignment: at most 8 kernel matrices",
        lambda: alignment_gradient(True),
    ),
    "width": Bar("Abe's width, n = 2,000, d = 20: at most 12 kernel matrices", abe_width),
}


def seconds_of(race: Race, repeats: int) -> tuple[float, dict[str, float]]:
    """Medians of the runs, taken in turns, after one of each that does not count."""
    runners = {"ours": race.ours, **race.units}
    for run in runners.values():
        run()
    found: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(repeats):
        for name, run in runners.items():
            gc.collect()
            began = time.perf_counter()
            run()
            found[name].append(time.perf_counter() - began)
    medians = {name: median(times) for name, times in found.items()}
    return medians.pop("ours"), medians


def report(names: Sequence[str], repeats: int) -> tuple[str, bool]:
    """Run the races and render what came out, with whether all bars were kept."""
    rows, kept = [], True
    for name in names:
        ours, units = seconds_of(race := BARS[name].prepare(), repeats)
        allowed = race.allowed(units)
        kept = kept and ours <= allowed
        in_units = ", ".join(f"{ours / seconds:.2f} x {unit}" for unit, seconds in units.items())
        verdict = "pass" if ours <= allowed else "FAIL"
        rows.append((name, f"{1e3 * ours:,.1f} ms", in_units, f"{ours / allowed:.2f}", verdict))
    table = render(("bar", "median", "in units", "of what is allowed", "verdict"), rows)
    return "\n".join((table, "", *(f"{name}: {BARS[name].words}" for name in names))), kept


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run the races, print; exit with 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.objectives", description="speed of objectives")
    parser.add_argument("bars", nargs="*", metavar="BAR", help=f"of {', '.join(BARS)}; all of them otherwise")
    parser.add_argument("--repeats", type=int, default=9, help="rounds (%(default)s)")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.bars if name not in BARS]
    if unknown or given.repeats < 1:
        parser.error(f"there is no bar {unknown[0]!r}" if unknown else "--repeats must be at least 1")
    with threadpool_limits(1):
        text, kept = report(given.bars or list(BARS), given.repeats)
    print(text)
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()

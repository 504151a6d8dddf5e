"""Speed of objectives, in units of what they are made of: ``python -m benchmarks.objectives``.

Each bar is a race between an evaluation and its units (a kernel matrix, a cold fit, a value without its gradient), one
run each per round, so that a busy minute of the machine hits all of them; medians are compared. Everything runs on one
thread.
"""

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.line_search import second_order_width
from benchmarks.peers.table import render
from widemargin import SVC
from widemargin.datasets import noisy_chess_board
from widemargin.kernels import DiagonalGaussian, Gaussian
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.rows import kernel_matrix
from widemargin.machines.derivatives import FreeSystem, train
from widemargin.objectives import (
    ClassDistance,
    LeaveOneOut,
    Likelihood,
    Objective,
    RadiusMargin,
    SpanBound,
    TargetAlignment,
    Task,
)
from widemargin.objectives.machines import pair_problem

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
    """A width by the second-order method from the paper's start, distances included."""
    task = two_classes(2_000, 20)
    matrix, start = "kernel matrix", 0.01 / 20
    units = {matrix: lambda: kernel_matrix(task.X, gamma=0.02, dtype="float64", n_jobs=1)}
    return Race(
        lambda: second_order_width(ClassDistance().bind(task), Gaussian(start), start),
        units,
        lambda seconds: 12.0 * seconds[matrix],
    )


def leave_one_out() -> Race:
    """Leave-one-out errors beside a plain fit of the same model, kernel values included in both."""
    X, y = noisy_chess_board(1_000, random_state=0)
    task = Task(X, (y > 0).astype(np.intp), 2, np.ones(1_000))
    bound, fit = LeaveOneOut().bind(task), "cold fit"
    units = {fit: lambda: SVC(C=10.0, gamma=1.0).fit(X, y)}
    return Race(lambda: bound.evaluate(Gaussian(1.0), 10.0), units, lambda seconds: 25.0 * seconds[fit])


def gradient_beside_value(objective: Objective, loss: str) -> Race:
    """A gradient beside the value alone, and beside the factorisation of the free variables of a model."""
    task = replace(two_classes(1_000, 20), loss=loss)
    kernel = DiagonalGaussian(np.full(20, jaakkola_gamma(task.X, task.y)))
    bound, price = objective.bind(task), 1.0

    def run(gradient: bool) -> Runner:
        return lambda: bound.evaluate(kernel, price, gradient=gradient, generator=np.random.default_rng(0))

    K = kernel(task.X)
    machine = train(K.astype(np.float32), pair_problem(task, (0, 1), price))
    free, ridge = machine.free, machine.problem.ridge
    among = K[np.ix_(free, free)]
    value, factor = "value", f"factorisation of {len(free)}"
    units = {
        value: run(gradient=False),
        factor: lambda: FreeSystem.factorised(among, None if ridge is None else ridge[free]),
    }
    return Race(run(gradient=True), units, lambda seconds: 1.5 * seconds[value] + seconds[factor])


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
    "leave-one-out": Bar("leave-one-out errors, noisy chess board, n = 1,000: at most 25 cold fits", leave_one_out),
    "radius-margin": Bar(
        "gradient of radius-margin, n = 1,000, d = 20: at most 1.5 values and a factorisation",
        lambda: gradient_beside_value(RadiusMargin(), "squared_hinge"),
    ),
    "span": Bar(
        "gradient of the span bound, n = 1,000, d = 20: at most 1.5 values and a factorisation",
        lambda: gradient_beside_value(SpanBound("unchanged"), "hinge"),
    ),
    "likelihood": Bar(
        "gradient of the likelihood, n = 1,000, d = 20: at most 1.5 values and a factorisation",
        lambda: gradient_beside_value(Likelihood(), "hinge"),
    ),
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

"""[Glasmachers2008, Figures 11.1 to 11.3]: how near NoisyRprop comes to the optima of four random functions.

All trials of all functions go side by side as one run: NoisyRprop treats parameters one by one, so that each trial is
what it would be alone. The search starts at a distance of 1.0 to 1.1 with steps of 0.01. The thesis goes on
for 100,000,000 iterations.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.papers.glasmachers.noisy_functions import SECTION_11_4, Trials
from benchmarks.peers.table import render
from widemargin.strategies import NoisyRprop, Space, Told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = "Figures 11.1 to 11.3: distance of NoisyRprop to the optima of four random functions"
STEP = 0.01
MARKS_PER_DECADE = 60
BLUE, ORANGE, GREY = "#2a78d6", "#f2803a", "#b9b8b2"

Vector = npt.NDArray[np.float64]


class Course(NamedTuple):
    """What was seen on the way: evaluations; then for each of them, function and trial, two distances.

    Those of the walk itself, which the thesis shows, and those of the point that the search would choose. And where the
    walks of the last function were.
    """

    evaluations: npt.NDArray[np.int64]
    walk: Vector
    chosen: Vector
    lopsided: Vector


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--evaluations", type=int, default=1_000_000, help="of each trial (default 1,000,000)")
    parser.add_argument("--trials", type=int, default=20, help="of each function (default 20)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures into this file (needs matplotlib)")


def run(given: argparse.Namespace) -> None:
    """Print distances and verdicts, and draw the figures if asked to."""
    print(f"{SUMMARY}; {given.trials} trials of each, {given.evaluations:,} evaluations, steps of {STEP:g} at first")
    course = follow(given.trials, given.evaluations)
    print(table(course))
    print(verdicts(course))
    if given.plot is not None:
        draw(course, given.plot)
        print(f"figure: {given.plot}")


def follow(n_trials: int, evaluations: int) -> Course:
    """Run all trials, looking at them ever less often."""
    trials = Trials(SECTION_11_4, seeds=range(n_trials))
    n = len(trials.start)
    run = NoisyRprop(initial_step=STEP, evaluations=evaluations).begin(
        Space(trials.start, np.full(n, -np.inf), np.full(n, np.inf)), seed=0
    )
    decades = np.log10(evaluations)
    marks = np.unique(np.logspace(0, decades, int(decades * MARKS_PER_DECADE) + 1).round().astype(np.int64))
    wanted = {*marks.tolist()}
    walk, chosen, lopsided = [], [], []
    for evaluation in range(1, evaluations + 1):
        [ask] = run.ask()
        run.tell([Told(0.0, trials.gradient(ask.point))])
        if evaluation in wanted:
            walk.append(trials.distances(ask.point))
            chosen.append(trials.distances(run.best))
            lopsided.append(ask.point[-n_trials:])
    return Course(marks, np.array(walk), np.array(chosen), np.array(lopsided))


def table(course: Course) -> str:
    """Render the median and the largest distance of the chosen points at powers of ten and at the end."""
    last = int(course.evaluations[-1])
    shown = [*(10**power for power in range(2, 10) if 10**power < last), last]
    rows = []
    for evaluations in shown:
        distances = course.chosen[np.searchsorted(course.evaluations, evaluations)]
        cells = [f"{np.median(row):.2g} / {row.max():.2g}" for row in distances]
        rows.append([f"{evaluations:,}", *cells])
    return render(["evaluations, median / largest distance", *(function.name for function in SECTION_11_4)], rows)


def verdicts(course: Course) -> str:
    """Say whether all trials came near enough, and how fast."""
    lines = []
    for number, function in enumerate(SECTION_11_4):
        largest = course.chosen[-1, number].max()
        word = "pass" if largest < function.allowed else "FAIL"
        lines.append(
            f"{function.name[:2]}: {word}, largest distance {largest:.2g}, allowed {function.allowed:g}; "
            f"the median falls about as t^{decline(course, number):.2f}"
        )
    return "\n".join(lines)


def decline(course: Course, number: int) -> float:
    """Fit a power of the evaluations to the median distance of the walks over the second half of the decades."""
    late = course.evaluations > np.sqrt(course.evaluations[-1])
    medians = np.median(course.walk[late, number], axis=1)
    return float(np.polyfit(np.log(course.evaluations[late]), np.log(medians), 1)[0])


def draw(course: Course, target: Path) -> None:
    """Draw the thesis's three figures in a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.2), layout="constrained")
    first, second, third, fourth = figure.subplots(1, 4)
    draw_distances(first, course, {0: BLUE})
    draw_distances(second, course, {1: GREY, 2: BLUE})
    draw_distances(third, course, {3: BLUE})
    draw_search_points(fourth, course)
    figure.savefig(target, dpi=150)


def draw_distances(axes: "Axes", course: Course, colours: dict[int, str]) -> None:
    """Draw one trial of each function, and the median of all."""
    for number, colour in colours.items():
        name = SECTION_11_4[number].name[:2]
        axes.loglog(
            course.evaluations, course.walk[:, number, 0], color=colour, linewidth=0.8, label=f"{name}, a trial"
        )
        medians = np.median(course.chosen[:, number], axis=1)
        style = "-" if number != 1 else "--"
        axes.loglog(course.evaluations, medians, color=ORANGE, linestyle=style, label=f"{name}, median of the chosen")
    axes.set(xlabel="evaluations", ylabel="distance to the optimum")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")


def draw_search_points(axes: "Axes", course: Course) -> None:
    """Draw where a walk of the last function was: first at the median, then at the mean."""
    axes.semilogx(course.evaluations, course.lopsided[:, 0], color=BLUE, linewidth=0.8, label="f4, a trial")
    axes.axhline(0.75, color=ORANGE, linewidth=1, label="mean derivative 0")
    axes.axhline(0.5, color=GREY, linestyle="--", linewidth=1, label="median derivative 0")
    axes.set(xlabel="evaluations", ylabel="search point")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)

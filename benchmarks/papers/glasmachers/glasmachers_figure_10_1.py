"""[Glasmachers2008, section 10.2 and Figure 10.1]: parts of a Gaussian kernel, adapted to the radius-margin quotient.

A chess board of 4 x 4 fields is stretched by 3 in one direction and by 1/3 across it, directions drawn anew for each
trial. From 500 samples a hard margin learns it; iRprop+ follows the gradient of the radius-margin quotient, from an
isotropic kernel, along five families of kernels exp(-|B (x - z)|^2 / 2):

- A: size, B a multiple of the unit matrix;
- B: shape, B diagonal with a fixed determinant;
- C: size and shape, B diagonal;
- D: shape and orientation, B any symmetric matrix with a fixed determinant;
- E: size, shape and orientation.

The start is a width which D and B cannot change, so that it matters what it is. The thesis takes "the median of the
distances from the positive examples to the negative examples". Read as the distance of a sample from the negative
class, which is that of its nearest member and what [Jaakkola1999] proposes, hard margins exist all the way, and
quotients are of the order that the figure is scaled by, 10^4. Read as the distances of all pairs (section 12.1, and
``--start pairs``), the width is that of half the board: separating the classes then takes coefficients beyond 10^6,
where float32 kernel values differ by rounding only, and B and D, which cannot leave, never learn the board.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from scipy.stats import ranksums

from benchmarks.peers.table import render
from widemargin.datasets import chess_board
from widemargin.kernels import GeneralGaussian
from widemargin.objectives import RadiusMargin, Task
from widemargin.objectives.machines import HARD
from widemargin.strategies import Rprop, Space, Told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = "Figure 10.1: five parameterisations of Gaussian kernels, adapted to the radius-margin quotient"
FIXED = {
    "A": ("shape", "orientation"),
    "B": ("size", "orientation"),
    "C": ("orientation",),
    "D": ("size",),
    "E": (),
}
ADAPTED = {
    "A": "size",
    "B": "shape",
    "C": "size, shape",
    "D": "shape, orientation",
    "E": "size, shape, orientation",
}
TRIALS, QUICK_TRIALS = 20, 5
ITERATIONS = 60
TRAINING_ROWS, TEST_ROWS = 500, 20_000
STRETCH = (3.0, 1 / 3)
LEVEL = 0.01
MARGIN_MET = 0.99
BLUE, GREY = "#2a78d6", "#b9b8b2"

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """Training and test part of a trial."""

    X: Matrix
    y: Vector
    X_test: Matrix
    y_test: Vector


class Course(NamedTuple):
    """What was seen at each iteration: the quotient, the share of support vectors, the test error.

    And the smallest margin of a training sample, which is 1 for a model with a hard margin.
    """

    quotient: Vector
    support: Vector
    error: Vector
    margin: Vector


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--trials", type=int, help=f"({TRIALS}; {QUICK_TRIALS} with --quick)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TRIALS} trials")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of a search (%(default)s)")
    parser.add_argument(
        "--start",
        choices=("nearest", "pairs"),
        default="nearest",
        help="width: median distance of a positive sample from the nearest negative one, or from all (%(default)s)",
    )
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the figure into this file")


def run(given: argparse.Namespace) -> None:
    """Print errors and verdicts, and draw the figure if asked to."""
    trials = given.trials or (QUICK_TRIALS if given.quick else TRIALS)
    print(f"{SUMMARY}; {trials} trials, {given.iterations} iterations")
    wanted = [(case, trial) for case in FIXED for trial in range(trials)]
    jobs = (delayed(follow)(case, trial, given.iterations, given.start) for case, trial in wanted)
    found: Any = Parallel(n_jobs=given.n_jobs)(jobs)
    courses = {case: [one for (c, _), one in zip(wanted, found, strict=True) if c == case] for case in FIXED}
    print(table(courses))
    print(verdicts(courses))
    if given.picture is not None:
        draw(courses, given.picture)
        print(f"figure: {given.picture}")


def draw_sample(trial: int) -> Sample:
    """Draw a stretched chess board, and a direction to stretch it in."""
    generator = np.random.default_rng([10, trial])
    # Signs of columns, which a factorisation leaves undetermined, have no effect on D' diag D.
    D = np.linalg.qr(generator.normal(size=(2, 2)))[0]
    B = D.T @ np.diag(STRETCH) @ D
    X, y = chess_board(TRAINING_ROWS, random_state=generator)
    X_test, y_test = chess_board(TEST_ROWS, random_state=generator)
    return Sample(X @ B, y.astype(np.float64), X_test @ B, y_test.astype(np.float64))


def start_width(sample: Sample, start: str) -> float:
    """Return the width that a search begins with."""
    distances = cdist(sample.X[sample.y > 0], sample.X[sample.y < 0])
    return float(np.median(distances.min(axis=1) if start == "nearest" else distances))


def follow(case: str, trial: int, iterations: int, start: str = "nearest") -> Course:
    """Search along one family of kernels; a search that ends early stays where it is."""
    sample = draw_sample(trial)
    kernel = GeneralGaussian(np.eye(2) / start_width(sample, start), fixed=FIXED[case])
    bound = RadiusMargin().bind(Task(sample.X, np.where(sample.y > 0, 1, 0), 2, np.ones(TRAINING_ROWS)))
    search = Rprop().begin(Space(kernel.theta, *kernel.bounds.T), seed=0, max_evaluations=iterations)
    state, seen = None, []
    while asks := search.ask():
        here = kernel.clone_with_theta(asks[0].point)
        found = bound.evaluate(here, np.inf, state=state)
        state = found.state
        search.tell([Told(found.value, found.gradient)])
        [(alpha, _)] = state
        seen.append((found.value, *judge(sample, here, alpha)))
    seen += [seen[-1]] * (iterations - len(seen))
    return Course(*np.array(seen).T)


def judge(sample: Sample, kernel: GeneralGaussian, alpha: Vector) -> tuple[float, float, float]:
    """Return share of support vectors, test error and smallest margin of a model."""
    support = np.flatnonzero(alpha)
    values = kernel(sample.X, sample.X[support]) @ alpha[support]
    free = support[np.abs(alpha[support]) < HARD]
    intercept = float(np.mean(sample.y[free] - values[free]))
    said = kernel(sample.X_test, sample.X[support]) @ alpha[support] + intercept
    margin = float(np.min(sample.y * (values + intercept)))
    return len(support) / len(sample.y), float(np.mean(said * sample.y_test <= 0)), margin


def finals(courses: Sequence[Course]) -> Vector:
    """Return the test errors at the end."""
    return np.array([one.error[-1] for one in courses])


def p_value(mine: Sequence[Course], other: Sequence[Course]) -> float:
    """Return the level at which a rank-sum test finds the first errors lower."""
    return float(ranksums(finals(mine), finals(other), alternative="less").pvalue)


def table(courses: Mapping[str, Sequence[Course]]) -> str:
    """Render means over trials, first and last, and how D compares."""
    rows = []
    for case, own in courses.items():
        means = [[np.mean([getattr(one, name)[at] for one in own]) for at in (0, -1)] for name in Course._fields[:3]]
        (first_quotient, quotient), (first_support, support), (first_error, error) = means
        rows.append(
            [
                f"{case}: {ADAPTED[case]}",
                f"{first_quotient:,.0f} -> {quotient:,.0f}",
                f"{first_support:.3f} -> {support:.3f}",
                f"{first_error:.3f} -> {error:.3f}",
                f"{np.std(finals(own)):.3f}",
                "" if case == "D" else f"{p_value(courses['D'], own):.2g}",
            ]
        )
    header = ["adapted", "quotient", "support vectors", "test error", "+-", "p of D lower"]
    return render(header, rows)


def verdicts(courses: Mapping[str, Sequence[Course]]) -> str:
    """Say which statements of section 10.2 hold."""
    lines = []

    def say(holds: bool, text: str) -> None:
        lines.append(f"{'pass' if holds else 'FAIL'}: {text}")

    lowest = min(courses, key=lambda case: float(np.mean(finals(courses[case]))))
    say(lowest == "D", f"D ends with the lowest test error (lowest: {lowest})")
    largest = max(p_value(courses["D"], own) for case, own in courses.items() if case != "D")
    significance = f"p < {LEVEL} against each of the others in rank-sum tests (largest p {largest:.2g})"
    if len(courses["D"]) < TRIALS:
        lines.append(f"not judged with less than {TRIALS} trials: {significance}")
    else:
        say(largest < LEVEL, f"significantly, {significance}")
    falling = all(one.quotient[-1] < one.quotient[0] for own in courses.values() for one in own)
    say(falling, "the quotient falls in every trial of all five")
    growing = all(one.support[-1] > one.support[0] for case in "ACE" for one in courses[case])
    say(growing, "support vectors increase in every trial of A, C and E, which change the size")
    smallest = min(float(one.margin.min()) for own in courses.values() for one in own)
    say(smallest > MARGIN_MET, f"all models have a hard margin (smallest margin of a sample {smallest:.4f})")
    return "\n".join(lines)


def draw(courses: Mapping[str, Sequence[Course]], target: Path) -> None:
    """Draw the figure: a column for each family, a row for each quantity, trials in grey and their mean."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(14, 7.2), layout="constrained")
    axes = figure.subplots(3, len(courses), sharex=True, sharey="row", squeeze=False)
    labels = {"quotient": r"$10^{-4}\; R^2/\rho^2$", "support": "share of support vectors", "error": "test error"}
    for column, (case, own) in enumerate(courses.items()):
        for row, (name, label) in enumerate(labels.items()):
            scale = 1e-4 if name == "quotient" else 1.0
            draw_courses(axes[row, column], [scale * getattr(one, name) for one in own])
            if column == 0:
                axes[row, column].set_ylabel(label)
        axes[0, column].set_title(f"({case}) {ADAPTED[case]}")
        axes[-1, column].set_xlabel("iteration")
    axes[0, 0].set_yscale("log")
    axes[0, 0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes[0, 0].yaxis.set_minor_locator(NullLocator())
    axes[0, 0].yaxis.set_major_formatter("{x:g}")
    axes[1, 0].set_ylim(0.0, 1.02)
    axes[2, 0].set_ylim(bottom=0.0)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(target, dpi=150)


def draw_courses(axes: "Axes", values: Sequence[Vector]) -> None:
    """Draw the trials, and their mean."""
    for number, one in enumerate(values):
        axes.plot(one, color=GREY, linewidth=0.7, label="a trial" if number == 0 else None)
    axes.plot(np.mean(values, axis=0), color=BLUE, linewidth=2, label=f"mean of {len(values)} trials")
    axes.spines[["top", "right"]].set_visible(False)

"""[Glasmachers2008, section 9.4.3 and Figure 9.1]: what objectives look like over C and gamma, on a chess board.

A noise-free chess board, 200 training samples, the 1-norm model with the radial Gaussian kernel, a logarithmic grid.
The figure itself is lost in the text that is at hand. Section 9.4.3 discusses six surfaces, in this order:

- cross-validation: the error of 5 folds, drawn once;
- leave-one-out: the error;
- span bound: the thesis's continuous count of leave-one-out errors, models retrained (section 9.1.5), as a share;
- bootstrap: the error on random hold-out sets of one sample in five, the mean over draws;
- likelihood: the negative logarithmic likelihood of the same hold-out sets under the sigmoid's likeliest slope, the
  mean of the same draws and a sample;
- test error: on 20,000 other samples.

The seventh here is the share of support vectors (section 9.1.3), the one objective of section 9.1 that is left: the
radius-margin quotient is not for this model, and the alignment does not depend on C. It bounds the span bound as that
bounds the leave-one-out error.

Draws are independent at each point of the grid, as in the thesis: what is left of their noise is white. The thesis does
not say which C and gamma it looks at.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import spearmanr

from benchmarks.papers.timm.grid_pictures import round_numbers
from benchmarks.peers.table import render
from widemargin import SVC
from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian
from widemargin.objectives import Bootstrap, CrossValidation, LeaveOneOut, Likelihood, SpanBound, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = "Figure 9.1: seven objectives over C and gamma on the chess board"
POINTS, QUICK_POINTS = 100, 24
DRAWS, QUICK_DRAWS = 100, 40
C_RANGE = (1e-1, 1e5)
GAMMA_RANGE = (5e-2, 1e2)
TRAINING_ROWS, TEST_ROWS = 200, 20_000
HELD_OUT = 0.2
SEED = 9

NAMES = (
    "cross-validation",
    "leave-one-out",
    "span bound",
    "support vectors",
    "bootstrap",
    "likelihood",
    "test error",
)
TITLES = {
    "cross-validation": "cross-validation error, 5 folds",
    "leave-one-out": "leave-one-out error",
    "span bound": "span bound / n",
    "support vectors": "support vectors / n",
    "bootstrap": "bootstrap error",
    "likelihood": "negative log-likelihood / sample",
    "test error": "test error",
}
#: Surfaces that have the same colours for the same numbers.
ERROR_RATES = ("cross-validation", "leave-one-out", "bootstrap", "test error")

ALLOWED_LOSS = 0.03
CLOSE = 0.9
ROUNDING = 1e-9
ORANGE, DARK = "#f2803a", "#0b0b0b"

Matrix = npt.NDArray[np.float64]
Surfaces = Mapping[str, Matrix]


class Grid(NamedTuple):
    """Values of C (rows of a surface) and gamma (columns)."""

    C: Matrix
    gamma: Matrix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--points", type=int, help=f"of either axis ({POINTS}; {QUICK_POINTS} with --quick)")
    parser.add_argument("--draws", type=int, help=f"of hold-out sets at a point ({DRAWS}; {QUICK_DRAWS} with --quick)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_POINTS} points, {QUICK_DRAWS} draws")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the figure into this file")


def run(given: argparse.Namespace) -> None:
    """Compute the surfaces, print where their minima lie, and draw them if asked to."""
    points = given.points or (QUICK_POINTS if given.quick else POINTS)
    draws = given.draws or (QUICK_DRAWS if given.quick else DRAWS)
    print(f"{SUMMARY}; {points} x {points} points, {draws} draws of hold-out sets at each")
    grid = Grid(np.geomspace(*C_RANGE, points), np.geomspace(*GAMMA_RANGE, points))
    jobs = (delayed(column)(grid, number, draws) for number in range(points))
    found: Any = Parallel(n_jobs=given.n_jobs)(jobs)
    surfaces = dict(zip(NAMES, np.array(found).transpose(2, 1, 0), strict=True))
    print(table(grid, surfaces))
    print(verdicts(surfaces))
    if given.picture is not None:
        draw(grid, surfaces, given.picture)
        print(f"figure: {given.picture}")


def column(grid: Grid, number: int, draws: int) -> list[list[float]]:
    """Evaluate all objectives for one gamma and all C, each model from the one for the C before."""
    X, y = chess_board(TRAINING_ROWS, random_state=np.random.default_rng([SEED, 0]))
    X_test, y_test = chess_board(TEST_ROWS, random_state=np.random.default_rng([SEED, 1]))
    task = Task(X, np.where(y > 0, 1, 0), 2, np.ones(len(y)))
    folds = CrossValidation(5).bind(task)
    left_out, span = LeaveOneOut().bind(task), SpanBound("retrained").bind(task)
    bootstrap, likelihood = (one(HELD_OUT, draws).bind(task) for one in (Bootstrap, Likelihood))
    gamma = float(grid.gamma[number])
    kernel, machine, last = Gaussian(gamma), SVC(gamma=gamma, tol=task.tolerance, warm_start=True), None
    found = []
    for place, C in enumerate(grid.C.tolist()):
        machine.set_params(C=C).fit(X, y)
        alpha = np.zeros(len(y))
        alpha[machine.support_] = machine.dual_coef_[0]
        last = folds.evaluate(kernel, C, state=None if last is None else last.state)
        # The same generator draws the same sets: the second objective finds its models trained.
        seed = [SEED, 2, number, place]
        likely = likelihood.evaluate(
            kernel, C, gradient=False, generator=np.random.default_rng(seed), state=[[alpha]] * draws
        )
        wrong = bootstrap.evaluate(kernel, C, generator=np.random.default_rng(seed), state=likely.state)
        values = {
            "cross-validation": last.value,
            "leave-one-out": left_out.evaluate(kernel, C, state=[alpha]).value,
            "span bound": span.evaluate(kernel, C, gradient=False, state=[alpha]).value / len(y),
            "support vectors": len(machine.support_) / len(y),
            "bootstrap": wrong.value,
            "likelihood": -likely.value / (draws * round(HELD_OUT * len(y))),
            "test error": 1.0 - machine.score(X_test, y_test),
        }
        found.append([values[name] for name in NAMES])
    return found


def lowest(surface: Matrix) -> tuple[int, int]:
    """Return the place of the minimum; of equal ones, that of the smallest C, then gamma."""
    row, place = np.unravel_index(np.argmin(surface), surface.shape)
    return int(row), int(place)


def table(grid: Grid, surfaces: Surfaces) -> str:
    """Render where each objective is smallest, what the test error is there, and how it goes with the test error."""
    errors, rows = surfaces["test error"], []
    for name, surface in surfaces.items():
        row, place = lowest(surface)
        rows.append(
            [
                name,
                f"{surface[row, place]:.4f}",
                f"{grid.C[row]:.3g}",
                f"{grid.gamma[place]:.3g}",
                f"{errors[row, place]:.4f}",
                f"{rank_correlation(surface, errors):.3f}",
            ]
        )
    header = ["objective", "smallest value", "at C", "gamma", "test error there", "rank correlation with test error"]
    return render(header, rows)


def rank_correlation(first: Matrix, second: Matrix) -> float:
    """Return Spearman's correlation of two surfaces: 1 if one is an increasing function of the other."""
    return float(spearmanr(first.ravel(), second.ravel()).statistic)


def verdicts(surfaces: Surfaces) -> str:
    """Say which statements of sections 9.1 and 9.4.3 hold."""
    lines = []

    def say(holds: bool, text: str) -> None:
        lines.append(f"{'pass' if holds else 'FAIL'}: {text}")

    errors = surfaces["test error"]
    for name in ("bootstrap", "likelihood"):
        loss = float(errors[lowest(surfaces[name])] - errors.min())
        say(loss <= ALLOWED_LOSS, f"minimum of {name} {loss:.4f} above the best test error, {ALLOWED_LOSS} allowed")
    for lower, upper in (("leave-one-out", "span bound"), ("span bound", "support vectors")):
        gap = float(np.min(surfaces[upper] - surfaces[lower]))
        say(gap >= -ROUNDING, f"{upper} not below {lower} at any point (smallest difference {gap:.4f})")
    for first, second in (("bootstrap", "test error"), ("likelihood", "bootstrap")):
        found = rank_correlation(surfaces[first], surfaces[second])
        say(found >= CLOSE, f"{first} goes with {second} (rank correlation {found:.3f}, at least {CLOSE} wanted)")
    return "\n".join(lines)


def draw(grid: Grid, surfaces: Surfaces, target: Path) -> None:
    """Draw the surfaces as maps, with their minima and that of the test error."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 7.6), layout="constrained")
    axes = figure.subplots(2, 4, sharex=True, sharey=True)
    panels = axes.ravel().tolist()
    rates = np.array([surfaces[name] for name in ERROR_RATES])
    best = lowest(surfaces["test error"])
    for number, (panel, (name, surface)) in enumerate(zip(panels, surfaces.items(), strict=False)):
        limits = (rates.min(), rates.max()) if name in ERROR_RATES else (surface.min(), surface.max())
        image = panel.pcolormesh(surface, cmap="viridis", vmin=limits[0], vmax=limits[1], rasterized=True)
        figure.colorbar(image, ax=panel, pad=0.02)
        panel.set_title(f"({'abcdefg'[number]}) {TITLES[name]}")
        mark(panel, best, "minimum of the test error", marker="o", markersize=14, markerfacecolor="white")
        mark(panel, lowest(surface), "minimum of this objective", marker="X", markersize=9, markerfacecolor=ORANGE)
        for set_ticks, values in ((panel.set_xticks, grid.gamma), (panel.set_yticks, grid.C)):
            places, labels = round_numbers(values.tolist())
            set_ticks([place + 0.5 for place in places], labels)
    for panel in [*axes[1], axes[0, -1]]:
        panel.set_xlabel(r"$\gamma$")
        panel.tick_params(labelbottom=True)
    for panel in axes[:, 0]:
        panel.set_ylabel("C")
    panels[-1].set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, labels, loc="center", frameon=False, fontsize="large")
    figure.savefig(target, dpi=150)


def mark(axes: "Axes", place: tuple[int, int], label: str, **marker: Any) -> None:
    """Mark a point of the grid."""
    row, number = place
    axes.plot(number + 0.5, row + 0.5, linestyle="none", markeredgecolor=DARK, clip_on=False, label=label, **marker)

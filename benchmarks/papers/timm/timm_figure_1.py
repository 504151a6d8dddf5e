"""[Timm2009, Figure 1]: how the feasibility gap of OneClassMaxMinOver falls, and what it has found on the way.

500 random samples of banana's class +1, C = 1000, sigma = 0.4, the gap (as corrected: (primal - dual) / (primal + 1))
looked at after every step, until it is below 1e-5. The paper expects it to fall at least as 1 / sqrt(t).

``--transform`` measures what section 2 saves by taking stored kernel values from one width to the next.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.papers.data import as_stored
from benchmarks.papers.timm import kernel_reuse
from benchmarks.peers.table import render
from widemargin import _core
from widemargin.kernels.rows import kernel_matrix, row_source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = "Figure 1: the feasibility gap of OneClassMaxMinOver on banana's class +1"
N_SAMPLES, C, SIGMA = 500, 1000.0, 0.4
GAMMA = 1 / (2 * SIGMA**2)
GAP_STOP = 1e-5
MOST_SECONDS = 120.0
INTERMEDIATE = (100, 2_000)
GRID = 300
BLUE, ORANGE, GREY, DARK = "#2a78d6", "#f2803a", "#8a8983", "#0b0b0b"
DEPTHS = ("#123a63", "#4c8bcf", "#8fbcec")

Vector = npt.NDArray[np.float64]


class Course(NamedTuple):
    """A run: the gap after every iteration, and the coefficients of the model with margin 1 at the end."""

    gaps: Vector
    alpha: Vector
    iterations: int
    reason: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figure into this file (needs matplotlib)")
    parser.add_argument("--transform", action="store_true", help="measure the reuse of kernel values instead")


def run(given: argparse.Namespace) -> None:
    """Print the gaps and the verdict, and draw the figure if asked to."""
    if given.transform:
        kernel_reuse.run(given.data)
        return
    try:
        X = samples(given.data)
    except FileNotFoundError as missing:
        print(f"banana: skipped. {missing}")
        return
    print(f"{SUMMARY}; {len(X)} samples, C = {C:g}, sigma = {SIGMA:g}, t_re = 1")
    course = follow(X)
    print(table(course))
    print(verdict(course))
    if given.plot is not None:
        draw(X, course, given.plot)
        print(f"figure: {given.plot}")


def samples(folder: Path | None) -> Vector:
    """Draw the samples, always the same ones."""
    X, y = as_stored("raetsch_banana")(folder)
    positive = X[y == 1]
    chosen = np.random.default_rng(0).permutation(len(positive))[:N_SAMPLES]
    return np.ascontiguousarray(positive[chosen])


def follow(X: Vector, max_iterations: int = 2**62) -> Course:
    """Run OneClassMaxMinOver from zeros, looking at the gap after every iteration."""
    n = len(X)
    store = _core.KernelStore(row_source(X, kernel="rbf", gamma=GAMMA), bytes=4 * n * n)
    found = _core.max_min_over(
        store,
        ridge=np.full(n, 1 / C),
        alpha=np.zeros(n),
        gap=GAP_STOP,
        recompute_every=1,
        max_iterations=max_iterations,
        max_seconds=MOST_SECONDS,
        grace_seconds=0.0,
        n_threads=1,
    )
    return Course(np.asarray(found.gaps), np.asarray(found.alpha) / found.rho, found.iterations, found.reason)


def table(course: Course) -> str:
    """Render the gap at powers of ten and at the end; there is none before the first iteration."""
    powers = 10 ** np.arange(int(np.log10(course.iterations)) + 1)
    shown = [*(int(power) for power in powers if power < course.iterations), course.iterations]
    return render(["iterations", "feasibility gap"], [[f"{t:,}", f"{course.gaps[t - 1]:.3g}"] for t in shown])


def verdict(course: Course) -> str:
    """Say whether the gap fell as far as in the paper, and how fast."""
    last = float(course.gaps[-1])
    word = "pass" if last <= GAP_STOP else f"FAIL ({course.reason})"
    return f"{word}: gap {last:.3g} after {course.iterations:,} iterations, allowed {GAP_STOP:g}; {decline(course)}"


def decline(course: Course) -> str:
    """Fit a power of t to the gap from iteration 100 on; the paper's bound is -1/2."""
    t = np.arange(1, course.iterations + 1)
    late = (t >= INTERMEDIATE[0]) & (course.gaps > 0)
    if np.count_nonzero(late) < 2:
        return "too short to see how it falls"
    # Every factor of iterations counts the same, so that the many late ones do not decide alone.
    slope = np.polyfit(np.log(t[late]), np.log(course.gaps[late]), 1, w=1 / np.sqrt(t[late]))[0]
    return f"from iteration {INTERMEDIATE[0]} on it falls about as t^{slope:.2f}"


def decision_values(X: Vector, alpha: Vector, points: Vector) -> Vector:
    """Values of sum_i a_i k(x_i, x) - 1 at some points."""
    support = np.flatnonzero(alpha)
    kernel = kernel_matrix(points, np.ascontiguousarray(X[support]), kernel="rbf", gamma=GAMMA, dtype="float64")
    return np.asarray(kernel @ alpha[support] - 1.0, dtype=np.float64)


def draw(X: Vector, course: Course, target: Path) -> None:
    """Draw the gap and the boundaries of two intermediate models."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    gap_axes, *boundary_axes = figure.subplots(1, 1 + len(INTERMEDIATE), width_ratios=[1.25, 1, 1])
    draw_gap(gap_axes, course)
    for axes, iterations, letter in zip(boundary_axes, INTERMEDIATE, "bc", strict=True):
        intermediate = follow(X, iterations)
        draw_boundary(axes, X, intermediate.alpha)
        axes.set_title(f"({letter}) {intermediate.iterations:,} iterations, gap {intermediate.gaps[-1]:.2g}")
    handles, labels = boundary_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=len(labels), frameon=False)
    figure.savefig(target, dpi=150)


def draw_gap(axes: "Axes", course: Course) -> None:
    """Draw the gap over the iterations, the two models shown beside it, and the paper's rate."""
    t = np.arange(1, course.iterations + 1)
    axes.loglog(t, course.gaps, color=BLUE, linewidth=1.5, label="feasibility gap")
    bound = course.gaps[INTERMEDIATE[0] - 1] * np.sqrt(INTERMEDIATE[0] / t[INTERMEDIATE[0] - 1 :])
    axes.loglog(t[INTERMEDIATE[0] - 1 :], bound, color=GREY, linestyle="--", linewidth=1, label=r"$1/\sqrt{t}$")
    axes.axhline(GAP_STOP, color=GREY, linestyle=":", linewidth=1, label=r"stop at $10^{-5}$")
    for iterations, letter in zip(INTERMEDIATE, "bc", strict=True):
        axes.plot(iterations, course.gaps[iterations - 1], "o", color=DARK, markersize=5)
        axes.annotate(
            f"({letter})", (iterations, course.gaps[iterations - 1]), xytext=(6, 5), textcoords="offset points"
        )
    axes.set(xlabel="iteration", ylabel="(primal - dual) / (primal + 1)", title="(a) feasibility gap")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")


def draw_boundary(axes: "Axes", X: Vector, alpha: Vector) -> None:
    """Draw a model as the paper does: white boundary, dots for support vectors outside, stars for those inside."""
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
    from matplotlib.patheffects import withStroke

    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    columns, rows = np.meshgrid(np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID))
    values = decision_values(X, alpha, np.column_stack([columns.ravel(), rows.ravel()])).reshape(columns.shape)
    # Dark outside, lighter inside, and never so light that the white boundary is lost.
    shades = LinearSegmentedColormap.from_list("depth", DEPTHS)
    middle = TwoSlopeNorm(0.0, vmin=-1.0, vmax=max(float(values.max()), 1e-3))
    axes.pcolormesh(columns, rows, values, cmap=shades, norm=middle, rasterized=True)
    outline: list[Any] = [withStroke(linewidth=3, foreground=DARK)]
    axes.contour(columns, rows, values, levels=[0.0], colors="white", linewidths=2).set_path_effects(outline)
    axes.plot([], [], color="white", linewidth=2, path_effects=outline, label="boundary")
    inside = decision_values(X, alpha, X) >= 0
    others, support_outside, support_inside = alpha == 0, (alpha > 0) & ~inside, (alpha > 0) & inside
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.5}
    axes.plot(*X[support_outside].T, "o", color=DARK, markersize=8, label="support vectors outside", **edge)
    axes.plot(*X[support_inside].T, "*", color=ORANGE, markersize=9, label="support vectors inside", **edge)
    axes.plot(*X[others].T, ".", color=DARK, markersize=3, label="other samples")
    axes.set(xticks=[], yticks=[], aspect="equal")

"""[Lebrun2006, Figure 1]: recognition rate, support vectors and time of the best model of each level of simplification.

Each level is shown by the model with the best recognition rate in a grid of every other C' and sigma', and
by the time of that grid. No penalties, no selection of features.
"""

import argparse
import time
from pathlib import Path

from benchmarks.papers.lebrun.problems import SETS, Cell, all_exponents, bound_quality, grid_cells, problems
from benchmarks.peers.table import render
from widemargin.objectives.decision_quality import DecisionQuality

SUMMARY = "Figure 1: recognition rate, support vectors and time against the level of simplification"
SHOWN = ("adult", "web", "shuttle 1", "shuttle 4")

#: By problem: for each level the best model and the seconds of its grid.
Lines = dict[str, list[tuple[Cell, float]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(SETS), help="comma-separated")
    parser.add_argument("--highest", type=int, default=10, help="highest level (%(default)s)")
    parser.add_argument("--every", type=int, default=2, help="every so-many-th C' and sigma' (%(default)s)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")
    parser.add_argument("--picture", type=Path, help="write a picture to this file")


def run(given: argparse.Namespace) -> None:
    """Print the lines and draw them."""
    print(SUMMARY)
    lines: Lines = {}
    try:
        for problem in problems(given.datasets, given.data):
            if problem.name not in SHOWN:
                continue
            bound = bound_quality(problem, DecisionQuality(0.0), 0, given.n_jobs)
            for level in range(min(given.highest, bound.prototypes.highest_level) + 1):
                began = time.perf_counter()
                cells = list(grid_cells(bound, [level], all_exponents(given.every), given.n_jobs))
                # Of models that are right equally often, the one with the fewest support vectors.
                best = max(cells, key=lambda cell: (cell.rate, -cell.n_support))
                lines.setdefault(problem.name, []).append((best, time.perf_counter() - began))
    except FileNotFoundError as missing:
        print(f"skipped. {missing}")
    print(f"\n{table(lines)}")
    if given.picture is not None and lines:
        draw(lines, given.picture)
        print(f"\npicture: {given.picture}")


def table(lines: Lines) -> str:
    """Render a line for each level."""
    header = ["k", *(f"{name}: {what}" for name in lines for what in ("rate", "SVs", "s"))]
    rows = []
    for level in range(max((len(line) for line in lines.values()), default=0)):
        cells = [str(level)]
        for line in lines.values():
            known = level < len(line)
            best, seconds = line[level] if known else (None, 0.0)
            cells += ["", "", ""] if best is None else [f"{best.rate:.4f}", f"{best.n_support:,}", f"{seconds:.2f}"]
        rows.append(cells)
    return render(header, rows)


def draw(lines: Lines, path: Path) -> None:
    """Draw the three panels of the figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    panels = figure.subplots(1, 3)
    titles = ("Balanced recognition rate", "Support vectors", "Seconds of the grid")
    for name, line in lines.items():
        levels = [cell.level for cell, _ in line]
        values = ([cell.rate for cell, _ in line], [cell.n_support for cell, _ in line], [took for _, took in line])
        for panel, own in zip(panels, values, strict=True):
            panel.plot(levels, own, marker="o", markersize=3, label=name)
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("level k: at most $2^k$ prototypes a class")
        panel.grid(alpha=0.3)
    for panel in panels[1:]:
        panel.set_yscale("log")
    panels[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)

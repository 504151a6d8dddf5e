"""[Lebrun2006, section 3]: the quality that tabu search finds, beside that of all models of the grid.

The grid is k = 0 ... (samples kept whole) by C' = -10 ... 20 by sigma' = -10 ... 20. Levels up to `--highest` are seen
whole. Above, samples are many, and with a penalty of 0.01 so are support vectors: these levels are evaluated at every
tenth C' and sigma' to show that nothing good is there. Both see the same split, prototypes and samples that judge.
Seeds are those of the search. No features are selected.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.lebrun.problems import SETS, Cell, Problem, all_exponents, bound_quality, grid_cells, problems
from benchmarks.peers.table import render
from widemargin.model_selection.compact.compact_svc import WITHOUT_FEATURES
from widemargin.model_selection.compact.selection import CompactSpace, searched
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.prototype_quality import PrototypeQuality
from widemargin.runtime import Stop, single_threaded_blas
from widemargin.strategies import TabuSearch
from widemargin.study import SilentProgress

SUMMARY = "tabu search beside the whole grid of levels, C and widths"
LEAST_QUALITY, MOST_EVALUATIONS = 0.995, 0.10
FAR_APART = 10


class Compared(NamedTuple):
    """The best model of a grid, and what searches found: quality and evaluations, one for each seed."""

    name: str
    best: Cell
    best_above: Cell | None
    grid_size: int
    grid_seconds: float
    qualities: list[float]
    evaluations: list[int]
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(SETS), help="comma-separated")
    parser.add_argument("--penalty", type=float, default=0.01, help="c1 (%(default)s)")
    parser.add_argument("--seeds", type=int, default=5, help="searches of each problem (%(default)s)")
    parser.add_argument("--split", type=int, default=0, help="seed of the split (%(default)s)")
    parser.add_argument("--highest", type=int, default=9, help="highest level evaluated whole (%(default)s)")
    parser.add_argument("--paper", action="store_true", help="search as in the paper, from its start; not judged")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")


def run(given: argparse.Namespace) -> None:
    """Print the table and the verdict."""
    print(f"{SUMMARY}; c1 = {given.penalty:g}, {given.seeds} seeds, split {given.split}")
    found = list(compared(given))
    print(f"\n{table(found)}\n\n{verdict(found, given.paper)}")
    if not given.paper and found and objections(found):
        raise SystemExit(1)


def compared(given: argparse.Namespace) -> Iterator[Compared]:
    """Evaluate grids and search."""
    objective = DecisionQuality(given.penalty)
    try:
        for problem in problems(given.datasets, given.data):
            one = compare(problem, objective, given)
            print(f"{one.name}: grid {one.grid_seconds:.0f} s, {given.seeds} searches {one.seconds:.0f} s", flush=True)
            yield one
    except FileNotFoundError as missing:
        print(f"skipped. {missing}")


def compare(problem: Problem, objective: DecisionQuality, given: argparse.Namespace) -> Compared:
    """Evaluate the grid of a problem, and search it with each seed."""
    bound = bound_quality(problem, objective, given.split, given.n_jobs)
    highest = bound.prototypes.highest_level
    began = time.perf_counter()
    cells = list(grid_cells(bound, range(min(given.highest, highest) + 1), all_exponents(), given.n_jobs))
    above = list(grid_cells(bound, range(given.highest + 1, highest + 1), all_exponents(FAR_APART), given.n_jobs))
    grid_seconds, began = time.perf_counter() - began, time.perf_counter()
    runs = [search(problem, objective, bound, seed, given) for seed in range(given.seeds)]
    return Compared(
        problem.name,
        max(cells, key=lambda cell: cell.quality),
        max(above, key=lambda cell: cell.quality, default=None),
        (highest + 1) * len(all_exponents()) ** 2,
        grid_seconds,
        [quality for quality, _ in runs],
        [count for _, count in runs],
        time.perf_counter() - began,
    )


def search(
    problem: Problem, objective: DecisionQuality, bound: PrototypeQuality, seed: int, given: argparse.Namespace
) -> tuple[float, int]:
    """Return the quality that a search finds, and its number of evaluations."""
    highest = bound.prototypes.highest_level
    start = int(np.log2(len(problem.y) / 2) / 3)
    varies, work = np.ones(problem.X.shape[1], dtype=np.bool_), bound.prototypes.work
    space = CompactSpace(varies, False, min(start, highest), highest, work=work)
    strategy = TabuSearch(scan=False) if given.paper else WITHOUT_FEATURES
    how = {"number": 0, "seed": seed, "journal": None, "progress": SilentProgress()}
    with single_threaded_blas():
        found = searched(space, objective, bound.with_threads(given.n_jobs), strategy, Stop(), **how)
    return float(np.nanmax(found.trace["value"])), found.trace.n_evaluations


def table(found: list[Compared]) -> str:
    """Render the best models of grids beside what was found."""
    header = [
        "problem",
        "best of grid",
        "k",
        "C'",
        "sigma'",
        "SVs",
        "rate",
        "above",
        "worst",
        "median",
        "share of best",
    ]
    header += ["evaluations", "of grid"]
    rows = []
    for one in found:
        best, worst = one.best, min(one.qualities)
        rows.append(
            [
                one.name,
                f"{best.quality:.4f}",
                *map(str, (best.level, best.c_exponent, best.width_exponent, best.n_support)),
                f"{best.rate:.4f}",
                "" if one.best_above is None else f"{one.best_above.quality:.4f}",
                f"{worst:.4f}",
                f"{np.median(one.qualities):.4f}",
                f"{worst / best.quality:.4f}",
                f"{max(one.evaluations):,}",
                f"{max(one.evaluations) / one.grid_size:.1%}",
            ]
        )
    return render(header, rows)


def objections(found: list[Compared]) -> list[str]:
    """Say what falls short."""
    said = []
    for one in found:
        best = max(one.best.quality, one.best_above.quality if one.best_above else one.best.quality)
        if min(one.qualities) < LEAST_QUALITY * best:
            said.append(f"{one.name}: {min(one.qualities):.4f} is {min(one.qualities) / best:.4f} of {best:.4f}")
        if max(one.evaluations) > MOST_EVALUATIONS * one.grid_size:
            said.append(f"{one.name}: {max(one.evaluations):,} evaluations of {one.grid_size:,}")
    return said


def verdict(found: list[Compared], paper: bool) -> str:
    """Judge every search by the best of the grid, and by how few evaluations it takes."""
    if not found:
        return "not judged: no data set was found"
    said = objections(found)
    word = "not judged" if paper else "FAIL" if said else "pass"
    rule = f"every seed at {LEAST_QUALITY} of the best quality or more, with at most {MOST_EVALUATIONS:.0%} of the grid"
    return "; ".join([f"{word}: {rule}", *said])

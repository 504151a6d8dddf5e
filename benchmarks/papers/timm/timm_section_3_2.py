"""[Timm2009, section 3.2]: a whole grid of one-class models from nothing, along a heuristic, along the best tree.

As in the paper: the 13 sets of Raetsch, each class alone, scaled to unit mean norm; 20 x 20 values of C in [1, 1e5] and
sigma in [0.1, 5], both logarithmic; OneClassMaxMinOver until the feasibility gap is 1e-4, looked at every 1,000 steps;
starts are unscaled counts, and the kernel rows of the start's support, taken to a new width by eq. 6. The paper leaves
its Gaussian kernel open: eq. 6 holds for exp(-|x - z|^2 / sigma^2) and for exp(-|x - z|^2 / (2 sigma^2)). The latter is
used here, gamma = 1 / (2 sigma^2), as for Figure 1.

Costs are counted, not timed: kernel evaluations, plus the entries that scans go through (a step: one scan for the two
samples and two rows to add; a look at the gap: a row for every supporting sample; a new width: every row that is
kept). Every edge of the grid is measured from a neighbour that was solved from nothing, which gives the cost matrix and
its minimum spanning tree. The heuristic is one for all data sets, read off the mean of all cost matrices.

In the table, costs are divided by those from nothing. "edges" adds up entries of the cost matrix; the columns before
them are what is paid when the plan is walked, whose starts were not solved from nothing (counts that are larger than a
model needs are slow to change). "C rising" is the heuristic with its backbone at the smallest C, walked.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from benchmarks.papers.data import as_stored
from benchmarks.papers.timm import grid_pictures
from benchmarks.peers.table import render
from widemargin.kernels.rows import row_source
from widemargin.machines.dual import StopRule
from widemargin.machines.max_min_over import RECOMPUTE_EVERY, CountingState, count_to_gap
from widemargin.plans import CostMatrix, GridGraph, Plan, best_tree, heuristic_plan, measure_costs
from widemargin.plans import operations as counted
from widemargin.runtime import Work

SUMMARY = "Section 3.2: a grid of one-class models from nothing, along a heuristic, along the best tree"
DATA_SETS = (
    *("banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
PICTURED = "banana"
C_RANGE, SIGMA_RANGE, GRID = (1.0, 1e5), (0.1, 5.0), 20
GAP_STOP = 1e-4
MOST_SECONDS = 120.0
BAR, PAPER_RATIO = 0.15, 0.11
SAMPLES = 300

Vector = npt.NDArray[np.float64]


class Solved(NamedTuple):
    """What the next model may start from."""

    counts: Vector
    width: int


class Walk(NamedTuple):
    """The counted operations and the seconds of a whole grid."""

    operations: float
    seconds: float


class Machines:
    """The models of one class on a grid; `seconds` is what they took, `ended_early` how many missed the gap."""

    def __init__(self, X: Vector, graph: GridGraph) -> None:
        self.n = len(X)
        self.graph = graph
        self.gammas = [1 / (2 * sigma**2) for sigma in graph.values[0]]
        self.rows = [row_source(X, kernel="rbf", gamma=gamma) for gamma in self.gammas]
        self.seconds, self.ended_early = 0.0, 0

    def solve(self, node: int, start: Solved | None) -> tuple[Solved, Work]:
        """Solve a node of the grid from nothing or from another one."""
        width, place = self.graph.coordinates[node]
        assert width is not None
        assert place is not None
        origin = width if start is None else start.width
        state = CountingState.fresh(self.rows[origin], self.gammas[origin], 4 * self.n * (self.n + 1))
        if start is not None:
            state.counts = start.counts
            for example in np.flatnonzero(start.counts):
                state.store.row(int(example))
        evaluated, used = state.store.evaluations, np.count_nonzero(state.counts)
        began = time.perf_counter()
        if width != origin:
            state.move_to(self.rows[width], self.gammas[width])
        bounds = np.full(self.n, self.graph.values[1][place])
        outcome = count_to_gap(state, bounds, stop=StopRule(GAP_STOP).within(MOST_SECONDS)).outcome
        took = time.perf_counter() - began
        self.seconds += took
        self.ended_early += outcome.reason != "converged"
        looks = outcome.iterations // RECOMPUTE_EVERY
        added_rows = 2 * outcome.iterations + used + looks * np.count_nonzero(state.counts)
        changed_rows = used if width != origin else 0
        scans = self.n * (outcome.iterations + added_rows + changed_rows)
        return Solved(state.counts, width), Work(
            kernel_evaluations=state.store.evaluations - evaluated, scans=scans, seconds=took
        )

    def walk(self, plan: Plan) -> Walk:
        """Solve the grid along a plan."""
        before = self.seconds
        return Walk(float(plan.walk(self.solve).sum()), self.seconds - before)


@dataclass
class ClassCosts:
    """One class of a data set: its models, what its edges cost, its best tree, and what plans cost when walked."""

    data_set: str
    label: int
    machines: Machines
    costs: CostMatrix
    cold_seconds: float
    tree: Plan
    walked: dict[str, Walk]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument(
        "--data-sets",
        "--datasets",
        type=lambda text: text.split(","),
        default=list(DATA_SETS),
        help=f"comma-separated, of {', '.join(DATA_SETS)}",
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="most samples of a class (%(default)s)")
    parser.add_argument("--grid", type=int, default=GRID, help="values of each parameter (%(default)s)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="for pictures (needs matplotlib) and cost matrices"
    )


def run(given: argparse.Namespace) -> None:
    """Measure all classes, derive the heuristic, walk the plans; print the table and the verdict, draw the figure."""
    unknown = [name for name in given.data_sets if name not in DATA_SETS]
    if unknown:
        raise SystemExit(f"There is no data set {unknown[0]!r}; known are {', '.join(DATA_SETS)}.")
    if given.samples < 2 or given.grid < 2 or given.n_jobs < 1:
        raise SystemExit("--samples and --grid must be at least 2, --n-jobs at least 1.")
    print(f"{SUMMARY}; {given.grid} x {given.grid} nodes, at most {given.samples} samples of a class")
    graph = grid(given.grid)
    classes = measure_all(given, graph)
    if not classes:
        return
    heuristic = heuristic_plan(graph, along="C", across="sigma", costs=mean_costs([one.costs for one in classes]))
    parallel = Parallel(n_jobs=given.n_jobs, prefer="threads")
    parallel(delayed(walk_plans)(one, heuristic) for one in classes)
    print(f"\nheuristic: {in_words(heuristic)}\n\n{table(classes, heuristic)}\n")
    print(orientations_in_words(classes))
    print(verdict(classes, given.grid))
    if given.output is not None:
        save(classes, heuristic, given.output)


def grid(n: int) -> GridGraph:
    """Return the grid of the paper with n values of each parameter."""
    sigmas, Cs = np.geomspace(*SIGMA_RANGE, n), np.geomspace(*C_RANGE, n)
    return GridGraph.from_candidates([{"sigma": s, "C": C} for s in sigmas for C in Cs], axes=("sigma", "C"))


def measure_all(given: argparse.Namespace, graph: GridGraph) -> list[ClassCosts]:
    """Measure the costs of every class, and say how far it is."""
    parallel = Parallel(n_jobs=given.n_jobs, prefer="threads", return_as="generator")
    tasks = (delayed(measure)(name, label, X, graph) for name, label, X in classes_of(given))
    found = []
    for one in parallel(tasks):
        print(
            f"{one.data_set} {one.label:+}: {one.machines.n} samples, {one.cold_seconds:.1f} s from nothing", flush=True
        )
        found.append(one)
    return found


def classes_of(given: argparse.Namespace) -> Iterator[tuple[str, int, Vector]]:
    """Load the classes, each scaled to unit mean norm."""
    for name in given.data_sets:
        try:
            X, y = as_stored(f"raetsch_{name}")(given.data)
        except FileNotFoundError as missing:
            print(f"{name}: skipped. {missing}")
            continue
        for label in (1, -1):
            members = X[y == label]
            chosen = np.random.default_rng(0).permutation(len(members))[: given.samples]
            one = np.ascontiguousarray(members[chosen])
            yield name, label, one / np.linalg.norm(one, axis=1).mean()


def measure(name: str, label: int, X: Vector, graph: GridGraph) -> ClassCosts:
    """Measure the cost matrix of a class and find its best tree."""
    machines = Machines(X, graph)
    cold = []

    def solve(node: int, start: Solved | None) -> tuple[Solved, Work]:
        solution, work = machines.solve(node, start)
        if start is None:
            cold.append(work.seconds)
        return solution, work

    costs = measure_costs(graph, solve, counted)
    return ClassCosts(name, label, machines, costs, sum(cold), best_tree(costs, along="C"), {})


def mean_costs(all_costs: Sequence[CostMatrix]) -> CostMatrix:
    """Average cost matrices, each divided by what its grid costs from nothing."""
    graph = all_costs[0].graph
    shares = [1 / (len(all_costs) * costs.total_cold) for costs in all_costs]
    cold = sum((share * costs.cold for share, costs in zip(shares, all_costs, strict=True)), np.zeros(len(graph)))
    edges = {
        edge: sum(share * costs.edges[edge] for share, costs in zip(shares, all_costs, strict=True))
        for edge in graph.edges()
    }
    return CostMatrix(graph, cold, edges)


def walk_plans(one: ClassCosts, heuristic: Plan) -> None:
    """Walk the plans of the table on one class."""
    one.walked["heuristic"] = one.machines.walk(heuristic)
    one.walked["tree"] = one.machines.walk(one.tree)
    rising = heuristic_plan(heuristic.graph, along="C", across="sigma", backbone="smallest", root="largest")
    one.walked["rising"] = one.machines.walk(rising)


class Line(NamedTuple):
    """A row of the table: costs divided by those from nothing."""

    heuristic_walked: float
    heuristic_seconds: float
    heuristic_edges: float
    tree_walked: float
    tree_edges: float
    rising_walked: float


def ratios(classes: Sequence[ClassCosts], heuristic: Plan | None) -> Line:
    """Divide the costs of some classes by their costs from nothing."""
    cold = sum(one.costs.total_cold for one in classes)
    walked = {plan: sum(one.walked[plan].operations for one in classes) / cold for plan in classes[0].walked}
    return Line(
        walked["heuristic"],
        sum(one.walked["heuristic"].seconds for one in classes) / sum(one.cold_seconds for one in classes),
        float("nan") if heuristic is None else sum(heuristic.cost(one.costs) for one in classes) / cold,
        walked["tree"],
        sum(one.tree.cost(one.costs) for one in classes) / cold,
        walked["rising"],
    )


def by_data_set(classes: Sequence[ClassCosts]) -> dict[str, list[ClassCosts]]:
    """Put the classes of a data set together."""
    found: dict[str, list[ClassCosts]] = {}
    for one in classes:
        found.setdefault(one.data_set, []).append(one)
    return found


def table(classes: Sequence[ClassCosts], heuristic: Plan) -> str:
    """Render a line for every data set, and the means."""
    rows, lines = [], []
    for name, members in by_data_set(classes).items():
        lines.append(ratios(members, heuristic))
        cold = sum(one.costs.total_cold for one in members) / 1e9
        cells = ["+".join(str(one.machines.n) for one in members), f"{cold:.2f}"]
        cells.append(f"{sum(one.cold_seconds for one in members):.1f}")
        rows.append([name, *cells, *(f"{value:.3f}" for value in lines[-1])])
    rows.append(["mean", "", "", "", *(f"{value:.3f}" for value in np.mean(lines, axis=0))])
    header = ["data set", "rows", "cold, 1e9", "cold, s", "heuristic", "in s", "edges", "tree", "edges", "C rising"]
    return render(header, rows)


def in_words(plan: Plan) -> str:
    """Say where the backbone of a heuristic lies and where it starts."""
    sigmas, Cs = plan.graph.values
    sigma_place, C_place = plan.graph.coordinates[plan.roots[0]]
    assert sigma_place is not None
    assert C_place is not None
    return f"backbone at C = {Cs[C_place]:g}, from sigma = {sigmas[sigma_place]:.2g}, then along C"


def orientations_in_words(classes: Sequence[ClassCosts]) -> str:
    """Say how often the best trees go where [Timm2009, Figure 2c]."""
    shares = grid_pictures.mean_orientations([one.tree for one in classes])
    listed = ", ".join(f"{grid_pictures.NAMES[step]} {mean:.0%}" for step, (mean, _) in shares.items())
    return f"edges of the best trees: {listed}"


def verdict(classes: Sequence[ClassCosts], n: int) -> str:
    """Say whether the heuristic saves as much as it has to."""
    early = sum(one.machines.ended_early for one in classes)
    parts = by_data_set(classes)
    mean = float(np.mean([ratios(members, None).heuristic_walked for members in parts.values()]))
    text = f"mean ratio of the heuristic {mean:.3f} on {len(parts)} of {len(DATA_SETS)} data sets"
    if early:
        return f"FAIL: {early} models did not reach the gap; {text}"
    if n != GRID:
        return f"not judged: the bar is for a grid of {GRID} x {GRID}; {text}"
    return f"{'pass' if mean <= BAR else 'FAIL'}: {text}, allowed {BAR:g} (paper: {PAPER_RATIO:g})"


def save(classes: Sequence[ClassCosts], heuristic: Plan, folder: Path) -> None:
    """Draw the three pictures, and write the cost matrices beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    pictured = next((one for one in classes if one.data_set == PICTURED), classes[0])
    title = f"minimum spanning tree, {pictured.data_set} {pictured.label:+}"
    grid_pictures.draw_plan(pictured.tree, pictured.costs, title, folder / "minimum_spanning_tree.png")
    mean = mean_costs([one.costs for one in classes])
    grid_pictures.draw_plan(heuristic, mean, "heuristic, all data sets", folder / "heuristic.png")
    grid_pictures.draw_orientations([one.tree for one in classes], folder / "orientations.png")
    for one in classes:
        one.costs.save(folder / f"costs_{one.data_set}_{one.label:+}.json")
    print(f"pictures and cost matrices: {folder}")

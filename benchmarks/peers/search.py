"""Model selection: whole searches side by side, their times beside the scores of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.peers.measure import Job, Measurement, alternate
from benchmarks.peers.problems import Bar, Entry, FloatMatrix, Problem, Split
from benchmarks.peers.searches import REFERENCE, SEARCHES, SearchJob, Selection
from benchmarks.peers.session import OURS, Options, Verdict, choose_peers, compare_all, judge, timing_table
from benchmarks.peers.table import number

LARGEST_DIFFERENCE, MEAN_DIFFERENCE = 0.002, 0.0005
# Scores are multiples of one row's share; a difference that equals the limit must not fail by its last digit.
ROUNDING = 1e-9
HALVING_BAR = Bar(1.0, ("halving",))


@dataclass(frozen=True)
class Line:
    """One peer: its time (``times`` that of its runs), its choice, and how far its scores are from scikit-learn's."""

    peer: str
    seconds: float | None
    all_seconds: tuple[float, ...]
    folds: int
    times: int
    best: Mapping[str, float] | None = None
    best_score: float | None = None
    largest: float | None = None
    mean: float | None = None
    solved: int | None = None
    repeated: int | None = None
    unfinished: int = 0
    scores: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One problem: a line per peer, and what follows for widemargin by name."""

    problem: str
    bar: str
    lines: tuple[Line, ...]
    judged: Mapping[str, Verdict]

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdicts under the problem's name and their own."""
        return {f"{self.problem}, {name}": verdict for name, verdict in self.judged.items()}

    def table(self) -> str:
        """Render the lines and the verdicts."""
        header = ["folds", "best score", "best cell", "largest difference", "mean difference", "solved / repeated"]
        table = timing_table(self.lines, header, cells, remarks)
        return "\n".join([table, *(f"{name} {verdict}" for name, verdict in self.judged.items())])


def search_command(options: Options) -> list[Result]:
    """Compare searches."""
    named = replace(options, problems=tuple(SEARCHES[name].name for name in options.problems))
    return compare_all("search", named, compare, describe)


def describe(problem: Problem, split: Split, options: Options) -> str:
    """Describe a search."""
    plan = problem.entry(OURS).parameters["plan"]
    if problem.kind == "one-class search":
        task = f"20 x 20 cells of nu and gamma, scored on {len(split.y_test)} other samples"
    else:
        cells = " x ".join(str(len(values)) for values in plan.grid(split.X, problem.gamma).values())
        metrics = " and ".join(plan.metrics)
        task = f"{cells} cells of C and gamma, {metrics} over {plan.folds} folds, then a fit of the best"
    several = f"median of {options.repeats} alternating runs, one where it takes more than {options.single_above:g} s"
    repeats = "once" if options.repeats == 1 else several
    shape = f"{split.X.shape[0]:,} x {split.X.shape[1]}"
    return f"{problem.name}: {shape}, {task}, {options.n_jobs} threads or processes, {repeats}"


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Measure all peers on one problem and judge widemargin."""
    jobs: dict[str, Job] = {
        entry: SearchJob(problem.kind, problem.name, entry, options.folder, options.n_jobs, options.samples)
        for entry in choose_peers(problem, options)
    }
    measured = alternate(
        jobs, repeats=options.repeats, time_limit=options.time_limit, single_above=options.single_above
    )
    reference = measured[REFERENCE].runs[-1].product.scores if has_runs(measured, REFERENCE) else None
    lines = tuple(line(peer, found, problem.entry(peer), reference) for peer, found in measured.items())
    return Result(problem.name, str(problem.bar), lines, judge_all(problem, lines, options))


def has_runs(measured: Mapping[str, Measurement], peer: str) -> bool:
    """Say whether a peer finished at least once."""
    return peer in measured and bool(measured[peer].runs)


def line(peer: str, measured: Measurement, entry: Entry, reference: FloatMatrix | None) -> Line:
    """Return a peer's line: the median time and the largest differences of all its runs."""
    times = int(entry.parameters["times"])
    folds = int(entry.parameters["plan"].folds) if times == 1 else 1
    all_seconds = tuple(run.seconds for run in measured.runs)
    notes = tuple(measured.notes)
    if measured.seconds is None:
        return Line(peer, None, all_seconds, folds, times, notes=notes)
    chosen: Selection = measured.runs[-1].product
    largest, mean = worst_differences([run.product.scores for run in measured.runs], reference)
    return Line(
        peer,
        times * measured.seconds,
        all_seconds,
        folds,
        times,
        best=chosen.best,
        best_score=chosen.best_score,
        largest=largest,
        mean=mean,
        solved=chosen.solved,
        repeated=chosen.repeated,
        unfinished=max(run.product.unfinished for run in measured.runs),
        scores=None if chosen.scores is None else tuple(chosen.scores.mean(axis=1).tolist()),
        notes=notes,
    )


def worst_differences(
    runs: Sequence[FloatMatrix | None], reference: FloatMatrix | None
) -> tuple[float | None, float | None]:
    """Return the largest and the mean distance of the cells' mean scores, over the folds that both have."""
    found = [differences(scores, reference) for scores in runs if scores is not None and reference is not None]
    if not found:
        return None, None
    # NumPy's maximum keeps NaN, the score of a cell that failed, where Python's may drop it.
    return float(np.max([one.max() for one in found])), float(np.max([one.mean() for one in found]))


def differences(scores: FloatMatrix, reference: FloatMatrix) -> FloatMatrix:
    """Return the distance of the mean scores of each cell."""
    common = min(scores.shape[1], reference.shape[1])
    distances: FloatMatrix = np.abs(scores[:, :common].mean(axis=1) - reference[:, :common].mean(axis=1))
    return distances


def judge_all(problem: Problem, lines: Sequence[Line], options: Options) -> dict[str, Verdict]:
    """Judge our time against the bar, against halving where that takes part, and our scores."""
    ours = next((found for found in lines if found.peer == OURS), None)
    seconds = {found.peer: found.seconds for found in lines}
    objections = [f"{ours.unfinished} models unfinished"] if ours is not None and ours.unfinished else []
    judged = {"time": judge(problem.bar, seconds, options, objections)}
    if "halving" in problem.entries:
        judged["halving"] = judge(HALVING_BAR, seconds, options, objections)
    return judged | {"scores": judge_scores(ours, options)}


def judge_scores(ours: Line | None, options: Options) -> Verdict:
    """Say whether our scores are scikit-learn's; a score that is no number is not."""
    if options.samples is not None:
        return Verdict(None, f"{options.samples} samples are too few to tell scores apart")
    if ours is None or ours.largest is None or ours.mean is None:
        return Verdict(None, f"no scores of {OURS} and {REFERENCE} to compare")
    passed = ours.largest <= LARGEST_DIFFERENCE + ROUNDING and ours.mean <= MEAN_DIFFERENCE + ROUNDING
    largest = f"{ours.largest:.2g} on a cell, allowed {LARGEST_DIFFERENCE:g}"
    return Verdict(passed, f"differences of {largest}; {ours.mean:.2g} on average, allowed {MEAN_DIFFERENCE:g}")


def cells(line: Line) -> list[str]:
    """Render what a search found."""
    best = "-" if not line.best else ", ".join(f"{name} = {value:.4g}" for name, value in line.best.items())
    return [
        str(line.folds) if line.times == 1 else f"{line.folds} x {line.times}",
        number(line.best_score, ".4f"),
        best,
        number(line.largest, ".5f"),
        number(line.mean, ".6f"),
        "-" if line.solved is None else f"{line.solved} / {line.repeated}",
    ]


def remarks(line: Line) -> list[str]:
    """Say what is not in the columns."""
    scaled = [] if line.times == 1 else [f"the first fold only, without the final fit; its time x {line.times}"]
    return [*scaled, *line.notes]

"""Prediction: the time to label the test part of a problem."""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.measure import Measurement
from benchmarks.peers.problems import PREDICTED, PROBLEMS, Problem, Split
from benchmarks.peers.session import (
    OURS,
    Options,
    Verdict,
    announce,
    choose_peers,
    heading,
    judge,
    measure,
    save,
    summary,
)
from benchmarks.peers.table import indent, number, render

USUAL_PEERS = ("widemargin", "intelex", "intelex32", "sklearn")
BARS = {problem.name: problem.bar for problem in PREDICTED}


@dataclass(frozen=True)
class Line:
    """One peer: its times, its test error, and on how many rows its labels differ from widemargin's."""

    peer: str
    seconds: float | None
    all_seconds: tuple[float, ...]
    error: float | None
    differing: int | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One problem: a line per peer and the verdict."""

    problem: str
    n_test: int
    lines: tuple[Line, ...]
    verdict: Verdict


def predict_command(options: Options) -> list[Result]:
    """Run the comparison and print a table per problem and the verdicts at the end."""
    announce()
    results: list[Result] = []
    for name in options.problems:
        problem = PROBLEMS[name]
        try:
            split = problem.load(options.folder, options.rows)
        except FileNotFoundError as missing:
            print(f"\n{name}: skipped. {missing}")
            continue
        print(f"\n{heading(problem, split.X.shape, options)}, {len(split.y_test):,} rows predicted", flush=True)
        result = compare(problem, split, options)
        results.append(result)
        print(indent(table(result)), flush=True)
        save(options.record, "predict", options, results)
    print("\n" + summary({result.problem: result.verdict for result in results}))
    return results


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Measure all peers on one problem and judge widemargin."""
    measurements = measure("predict", problem, choose_peers(problem, options, USUAL_PEERS), options)
    lines = tuple(line(peer, measured, measurements, split) for peer, measured in measurements.items())
    verdict = judge(BARS.get(problem.name), {found.peer: found.seconds for found in lines}, options)
    return Result(problem.name, len(split.y_test), lines, verdict)


def line(peer: str, measured: Measurement, measurements: dict[str, Measurement], split: Split) -> Line:
    """Return a peer's line."""
    seconds = tuple(run.seconds for run in measured.runs)
    if not measured.runs:
        return Line(peer, None, seconds, None, None, tuple(measured.notes))
    labels = measured.runs[-1].product
    ours = measurements[OURS].runs if OURS in measurements else []
    return Line(
        peer,
        measured.seconds,
        seconds,
        error=float(np.mean(labels != split.y_test)),
        differing=int(np.sum(labels != ours[-1].product)) if ours else None,
        notes=tuple(measured.notes),
    )


def table(result: Result) -> str:
    """Render one problem."""
    ours = next((found.seconds for found in result.lines if found.peer == OURS), None)
    rows = []
    for found in result.lines:
        ratio = None if ours is None or found.seconds is None else found.seconds / ours
        cells = [number(found.seconds, ".4f"), number(ratio, ".2f"), number(found.error, ".2%")]
        rows.append([found.peer, *cells, number(found.differing, ",d")])
    remarks = [f"{found.peer}: {note}" for found in result.lines for note in found.notes]
    header = ["peer", "seconds", "/ ours", "test error", "labels unlike ours"]
    return "\n".join([render(header, rows), *remarks, f"bar {result.verdict}"])

"""Prediction: the time to label the test part of a problem."""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.measure import Measurement
from benchmarks.peers.problems import PREDICTED, Problem, Split
from benchmarks.peers.session import (
    OURS,
    Options,
    Verdict,
    choose_peers,
    compare_all,
    heading,
    judge,
    measure,
    timing_table,
)
from benchmarks.peers.table import number

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

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict under the problem's name."""
        return {self.problem: self.verdict}

    def table(self) -> str:
        """Render the lines and the bar."""
        header = ["test error", "labels unlike ours"]
        table = timing_table(self.lines, header, lambda line: [number(line.error, ".2%"), number(line.differing, ",d")])
        return f"{table}\nbar {self.verdict}"


def predict_command(options: Options) -> list[Result]:
    """Compare prediction."""
    return compare_all("predict", options, compare, describe)


def describe(problem: Problem, split: Split, options: Options) -> str:
    """Describe a problem and its test part."""
    return f"{heading(problem, split, options)}, {len(split.y_test):,} samples predicted"


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

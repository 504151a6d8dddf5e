"""Training: times beside the dual objective and the KKT violation that each peer reached."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.certificate import Certificate, Machine, certify, certify_one_class, certify_regression
from benchmarks.peers.measure import TOLERANCE, Measurement
from benchmarks.peers.peers import PEERS
from benchmarks.peers.problems import Problem, Split
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

EQUAL_OBJECTIVE = 1e-4
# A solver stops on its own arithmetic; the last digits of the recomputed violation are not its fault.
ALLOWED_VIOLATION = 1.001 * TOLERANCE


@dataclass(frozen=True)
class Line:
    """One peer on one problem. ``error`` is that of a kernel matrix, the certificate's numbers those of a model."""

    peer: str
    seconds: float | None
    all_seconds: tuple[float, ...]
    objective: float | None = None
    shortfall: float | None = None
    violation: float | None = None
    imbalance: float | None = None
    n_support: int | None = None
    error: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One problem: a line per peer and the verdict."""

    problem: str
    bar: str
    lines: tuple[Line, ...]
    verdict: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict under the problem's name."""
        return {self.problem: self.verdict}

    def table(self) -> str:
        """Render the lines and the bar."""
        if any(line.error is not None for line in self.lines):
            table = timing_table(self.lines, ["largest error"], lambda line: [number(line.error, ".1e")])
        else:
            header = ["dual objective", "short of best", "violation", "support"]
            table = timing_table(self.lines, header, certificate_cells, lambda line: [*objections(line), *line.notes])
        return f"{table}\nbar {self.verdict}"


def fit_command(options: Options) -> list[Result]:
    """Compare training."""
    return compare_all("fit", options, compare, heading)


def models_command(options: Options) -> list[Result]:
    """Compare training of the models that are not everybody's SVC."""
    return compare_all("models", options, compare, heading)


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Measure all peers on one problem and judge widemargin."""
    measurements = measure(problem.kind, problem, choose_peers(problem, options), options)
    digest = kernel_lines if problem.kind == "gram" else machine_lines
    lines = digest(problem, split, measurements)
    ours = next((line for line in lines if line.peer == OURS), None)
    seconds = {line.peer: line.seconds for line in lines}
    verdict = judge(problem.bar, seconds, options, [] if ours is None else objections(ours))
    return Result(problem.name, str(problem.bar or "none"), tuple(lines), verdict)


def kernel_lines(problem: Problem, split: Split, measurements: dict[str, Measurement]) -> list[Line]:
    """Return a line per peer for a kernel matrix."""
    return [
        Line(
            peer,
            measured.seconds,
            tuple(run.seconds for run in measured.runs),
            error=max((run.product for run in measured.runs), default=None),
            notes=tuple(measured.notes),
        )
        for peer, measured in measurements.items()
    ]


def machine_lines(problem: Problem, split: Split, measurements: dict[str, Measurement]) -> list[Line]:
    """Return a line per peer for a model: the worst certificate of its runs, on the data as it was handed them."""
    certificates = {
        peer: worst([certify_on_input(peer, machine, problem, split) for machine in distinct_machines(measured)])
        for peer, measured in measurements.items()
    }
    best = max(
        (found.objective for peer, found in certificates.items() if found and problem.entry(peer).compared), default=0.0
    )
    return [
        machine_line(peer, measured, certificates[peer], best if problem.entry(peer).compared else None)
        for peer, measured in measurements.items()
    ]


def machine_line(peer: str, measured: Measurement, found: Certificate | None, best: float | None) -> Line:
    """Put a peer's times and its certificate side by side.

    ``best`` is the largest objective anybody reached, None where the peer's is not comparable.
    """
    seconds = tuple(run.seconds for run in measured.runs)
    if found is None:
        return Line(peer, measured.seconds, seconds, notes=tuple(measured.notes))
    return Line(
        peer,
        measured.seconds,
        seconds,
        objective=found.objective,
        shortfall=None if best is None else (best - found.objective) / abs(best) if best else 0.0,
        violation=found.violation,
        imbalance=found.imbalance,
        n_support=found.n_support,
        notes=tuple(measured.notes),
    )


DUALS: dict[str, Callable[..., Certificate]] = {
    "hinge": certify,
    "squared hinge": lambda *data, C, gamma, loss: certify(*data, C=np.inf, gamma=gamma, ridge=1 / (2 * C)),
    "hard margin": certify,
    "tube": certify_regression,
    "one class": lambda machine, X, y, **given: certify_one_class(machine, X, is_ball=False, **given),
    "ball": lambda machine, X, y, **given: certify_one_class(machine, X, is_ball=True, **given),
}


def certify_on_input(peer: str, machine: Machine, problem: Problem, split: Split) -> Certificate:
    """Judge a model on the very numbers its library was given: rounding to float32 is not held against it."""
    entry = problem.entry(peer)
    X = split.X.astype(PEERS[entry.peer].input_type).astype(np.float64)
    return DUALS[entry.dual](machine, X, split.y, gamma=problem.gamma, **entry.parameters)


def distinct_machines(measured: Measurement) -> list[Machine]:
    """Return the different models of all runs; a library that repeats itself exactly gives one."""
    distinct: list[Machine] = []
    for run in measured.runs:
        machine: Machine = run.product
        if not any(
            np.array_equal(machine.support, other.support) and np.array_equal(machine.coef, other.coef)
            for other in distinct
        ):
            distinct.append(machine)
    return distinct


def worst(certificates: list[Certificate]) -> Certificate | None:
    """Return the least objective and the largest violation of several runs."""
    if not certificates:
        return None
    return Certificate(
        objective=min(found.objective for found in certificates),
        violation=max(found.violation for found in certificates),
        imbalance=max(found.imbalance for found in certificates),
        n_support=certificates[-1].n_support,
    )


def objections(line: Line) -> list[str]:
    """Say what is wrong with a result apart from its time."""
    found = []
    if line.violation is not None and line.violation > ALLOWED_VIOLATION:
        found.append(f"true violation {line.violation:.4g} above {TOLERANCE:g}")
    if line.shortfall is not None and line.shortfall > EQUAL_OBJECTIVE:
        found.append(f"objective {line.shortfall:.2g} short of the best, more than {EQUAL_OBJECTIVE:g}")
    return found


def certificate_cells(line: Line) -> list[str]:
    """Render a certificate."""
    return [
        number(line.objective, ".8g"),
        number(line.shortfall, ".1e"),
        number(line.violation, ".1e"),
        number(line.n_support, ",d"),
    ]

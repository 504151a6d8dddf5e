"""Compression: models over 100 vectors beside the models they come from; only widemargin takes part."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.peers.problems import PROBLEMS, Problem, Split
from benchmarks.peers.session import Options, Verdict, compare_all, heading
from benchmarks.peers.table import render
from widemargin import SVC, compress

N_VECTORS = 100

#: Largest time of a compression without moved vectors, as a multiple of that of the training.
BARS = {"a9a": 10.0}

#: Problems of Gaussian kernels, whose vectors can be moved.
COMPRESSIBLE = {
    name: problem for name, problem in PROBLEMS.items() if problem.kind == "fit" and "kernel" not in problem.parameters
}

LINES = ("trained", "support vectors", "moved vectors")


@dataclass(frozen=True)
class Line:
    """A model: its median time, its vectors, its accuracy on the test set, and how far it is from the trained one."""

    name: str
    seconds: float
    all_seconds: tuple[float, ...]
    n_vectors: int
    accuracy: float
    largest_change: float = 0.0
    rms_change: float = 0.0
    changed_predictions: float = 0.0


@dataclass(frozen=True)
class Result:
    """One problem: the trained model and the compressed ones."""

    problem: str
    lines: tuple[Line, ...]
    verdict: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict under the problem's name."""
        return {self.problem: self.verdict}

    def table(self) -> str:
        """Render a line for each model, and the bar."""
        header = ["model", "seconds", "/ training", "vectors", "largest change", "rms change", "changed", "accuracy"]
        rows = [
            [
                line.name,
                f"{line.seconds:.3f}",
                f"{line.seconds / self.lines[0].seconds:.2f}",
                f"{line.n_vectors:,d}",
                f"{line.largest_change:.3g}",
                f"{line.rms_change:.3g}",
                f"{line.changed_predictions:.2%}",
                f"{line.accuracy:.4f}",
            ]
            for line in self.lines
        ]
        return f"{render(header, rows)}\nbar {self.verdict}"


def compress_command(options: Options) -> list[Result]:
    """Compare compressed models with those they come from."""
    return compare_all("compress", options, compare, heading)


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Train and compress in turns; the models of all rounds are the same."""
    estimator = SVC(**problem.parameters, gamma=problem.gamma, n_jobs=options.n_jobs)
    seconds: dict[str, list[float]] = {name: [] for name in LINES}
    models: dict[str, Any] = {}
    for _ in range(options.repeats):
        for name in LINES:
            began = time.perf_counter()
            if name == "trained":
                models[name] = estimator.fit(split.X, split.y)
            else:
                moved = name == "moved vectors"
                models[name] = compress(models["trained"], X=split.X, n_vectors=N_VECTORS, move_vectors=moved)
            seconds[name].append(time.perf_counter() - began)
    lines = tuple(line(name, models[name], seconds[name], split) for name in LINES)
    return Result(problem.name, lines, judge(problem, lines, options))


def line(name: str, model: Any, seconds: list[float], split: Split) -> Line:
    """Say what a model is worth."""
    changes = {}
    if name != "trained":
        report = model.compression_report_
        names = ("largest_change", "rms_change", "changed_predictions")
        changes = {one: getattr(report, one) for one in names}
    return Line(
        name,
        median(seconds),
        tuple(seconds),
        n_vectors=len(model.support_),
        accuracy=float(model.score(split.X_test, split.y_test)) if len(split.y_test) else float("nan"),
        **changes,
    )


def judge(problem: Problem, lines: tuple[Line, ...], options: Options) -> Verdict:
    """Compare the time of a compression with that of the training."""
    if problem.name not in BARS:
        return Verdict(None, "the problem has no bar")
    if options.samples is not None:
        return Verdict(None, f"the bar is for the whole problem, not for {options.samples} samples")
    allowed = BARS[problem.name] * lines[0].seconds
    reason = f"{lines[1].seconds:.4g} s, allowed {BARS[problem.name]:g} x training = {allowed:.4g} s"
    return Verdict(lines[1].seconds <= allowed, reason)

"""Compression: models over 100 vectors beside the models they come from; only widemargin takes part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers import beside
from benchmarks.peers.problems import PROBLEMS, Problem, Split
from benchmarks.peers.session import Options, Verdict, compare_all, heading
from widemargin import SVC, compress

N_VECTORS = 100

#: Largest time of a compression without moved vectors, as a multiple of that of the training.
BARS = {"a9a": 10.0}

#: Problems of Gaussian kernels, whose vectors can be moved.
COMPRESSIBLE = {
    name: problem for name, problem in PROBLEMS.items() if problem.kind == "fit" and "kernel" not in problem.parameters
}


@dataclass(frozen=True)
class Line(beside.Line):
    """A model, and how far it is from the trained one."""

    largest_change: float = 0.0
    rms_change: float = 0.0
    changed_predictions: float = 0.0

    header = ("largest change", "rms change", "changed")

    def cells(self, first: "Line") -> list[str]:
        """Render the changes."""
        return [f"{self.largest_change:.3g}", f"{self.rms_change:.3g}", f"{self.changed_predictions:.2%}"]


def compress_command(options: Options) -> list[beside.Result]:
    """Compare compressed models with those they come from."""
    return compare_all("compress", options, compare, heading)


def compare(problem: Problem, split: Split, options: Options) -> beside.Result:
    """Train and compress in turns; the models of all rounds are the same."""
    estimator = SVC(**problem.parameters, gamma=problem.gamma, n_jobs=options.n_jobs)
    makers: dict[str, Callable[[], Any]] = {
        "training": lambda: estimator.fit(split.X, split.y),
        "support vectors": lambda: compress(estimator, X=split.X, n_vectors=N_VECTORS),
        "moved vectors": lambda: compress(estimator, X=split.X, n_vectors=N_VECTORS, move_vectors=True),
    }
    found = beside.in_turns(makers, options.repeats, split)
    lines = tuple(Line(**common, **changes(model)) for model, common in found.values())
    return beside.Result(problem.name, lines, judge(problem, lines, options))


def changes(model: Any) -> dict[str, float]:
    """Return what the compression changed; nothing for a model that is not compressed."""
    report = getattr(model, "compression_report_", None)
    names = ("largest_change", "rms_change", "changed_predictions")
    return {} if report is None else {one: getattr(report, one) for one in names}


def judge(problem: Problem, lines: tuple[Line, ...], options: Options) -> Verdict:
    """Compare the time of a compression with that of the training."""
    if problem.name not in BARS:
        return Verdict(None, "the problem has no bar")
    if options.samples is not None:
        return Verdict(None, f"the bar is for the whole problem, not for {options.samples} samples")
    allowed = BARS[problem.name] * lines[0].seconds
    reason = f"{lines[1].seconds:.4g} s, allowed {BARS[problem.name]:g} x training = {allowed:.4g} s"
    return Verdict(lines[1].seconds <= allowed, reason)

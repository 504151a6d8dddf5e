"""What a model search says of its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from widemargin.model_selection.grid.report import WorkReport
from widemargin.study.trace import SEARCH, Trace


@dataclass(frozen=True)
class EvaluationReport:
    """What the evaluations of a search took.

    Attributes
    ----------
    evaluations : int
        Of the objective.
    machines, iterations, kernel_evaluations, factorisations : int
        Machines trained for that, steps of their solver, kernel values computed, systems of free variables factorised.
    seconds : float
        Time of the whole search, without the final fit.
    path : WorkReport or None
        What was spent on choosing C once the kernel was, if the objective does not choose it.

    Examples
    --------
    >>> print(EvaluationReport(120, 240, 5300, 9_600_000, 240, 1.5))
    120 evaluations in 1.5 s: 240 machines, 5,300 steps, 9,600,000 kernel values
    """

    evaluations: int
    machines: int
    iterations: int
    kernel_evaluations: int
    factorisations: int
    seconds: float
    path: WorkReport | None = None

    def __str__(self) -> str:
        seconds = f"{self.seconds:.3g}" if self.seconds < 100 else f"{self.seconds:,.0f}"
        text = (
            f"{self.evaluations:,} evaluation{'s' * (self.evaluations != 1)} in {seconds} s: {self.machines:,} "
            f"machines, {self.iterations:,} steps, {self.kernel_evaluations:,} kernel values"
        )
        return text if self.path is None else f"{text}\nthen C: {self.path}"

    @classmethod
    def of(cls, trace: Trace, path: WorkReport | None, seconds: float) -> Self:
        """Add up what a search did."""
        columns = trace.columns
        own = columns["stage"] == SEARCH
        names = ("machines", "iterations", "kernel_evaluations", "factorisations")
        sums = {name: int(columns[name][own].sum()) for name in names}
        return cls(evaluations=int(own.sum()), **sums, seconds=seconds, path=path)

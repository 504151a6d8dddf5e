"""What a fit says about itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin.machines.classifier import PairSolution

#: The parameter that would let a fit go on, per reason of its end.
REMEDIES = {"iteration budget": "raise max_iter", "time budget": "raise max_time", "stalled": "raise tol or scale X"}


@dataclass(frozen=True)
class PairReport:
    """How the machine of one pair of classes was found.

    `kkt_violation`, `duality_gap` and `objective` are recomputed in float64 after the solver has ended; `precision` is
    the type of the kernel values that the tolerance needed.
    """

    classes: tuple[Any, Any]
    reason: str
    kkt_violation: float
    duality_gap: float
    objective: float
    iterations: int
    kernel_evaluations: int
    seconds: float
    n_support: int
    precision: str


class FitReport(tuple[PairReport, ...]):
    """One :class:`PairReport` per binary problem; prints as a table."""

    __slots__ = ()

    def __new__(cls, entries: Iterable[PairReport]) -> FitReport:
        """Collect the entries."""
        return super().__new__(cls, tuple(entries))

    @classmethod
    def of(cls, machines: Iterable[PairSolution], classes: Any) -> FitReport:
        """Read the report off the solved pairs."""
        return cls(
            PairReport(
                classes=(plain(classes[m.pair[0]]), plain(classes[m.pair[1]])),
                reason=m.outcome.reason,
                kkt_violation=m.outcome.kkt_violation,
                duality_gap=m.outcome.duality_gap,
                objective=m.outcome.objective,
                iterations=m.outcome.iterations,
                kernel_evaluations=m.outcome.kernel_evaluations,
                seconds=m.outcome.seconds,
                n_support=int(np.count_nonzero(m.solution.alpha)),
                precision=m.outcome.precision,
            )
            for m in machines
        )

    @property
    def converged(self) -> bool:
        """Whether every binary problem was solved to its tolerance."""
        return all(entry.reason == "converged" for entry in self)

    def __str__(self) -> str:
        heads = ("classes", "reason", "violation", "gap", "objective", "steps", "kernel values", "seconds", "SVs")
        lines = [
            (
                f"{entry.classes[0]} / {entry.classes[1]}",
                entry.reason,
                f"{entry.kkt_violation:.2e}",
                f"{entry.duality_gap:.2e}",
                f"{entry.objective:.6g}",
                f"{entry.iterations:,}",
                f"{entry.kernel_evaluations:,}",
                f"{entry.seconds:.3f}",
                f"{entry.n_support:,}",
            )
            for entry in self
        ]
        table = [heads, *lines]
        widths = [max(len(row[k]) for row in table) for k in range(len(heads))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)


def plain(label: Any) -> Any:
    """Return a class label as Python writes it: 0 instead of np.int64(0)."""
    return label.item() if isinstance(label, np.generic) else label


def warn_of_early_ends(report: FitReport, tol: float) -> None:
    """Warn in one sentence if a binary problem was left before its tolerance was met."""
    late = [entry for entry in report if entry.reason != "converged"]
    if not late:
        return
    worst = max(late, key=lambda entry: entry.kkt_violation)
    advice = f"; {REMEDIES[worst.reason]} to go on" if worst.reason in REMEDIES else ""
    warnings.warn(
        f"Training ended before the tolerance was met ({worst.reason}) in {len(late)} of {len(report)} binary "
        f"problems; the best machine found is kept, its worst violation is {worst.kkt_violation:.3g} (tol={tol:g}) "
        f"with a duality gap of {worst.duality_gap:.3g} at objective {worst.objective:.6g}{advice}.",
        ConvergenceWarning,
        stacklevel=3,
    )


def warn_of_missing_margins(machines: Iterable[PairSolution], classes: Any) -> None:
    """Warn in one sentence if a hard margin was asked for and not found."""
    missing = [machine for machine in machines if not machine.hard_margin_found]
    if not missing:
        return
    first, second = (plain(classes[c]) for c in missing[0].pair)
    reason = missing[0].outcome.reason
    doubt = f", or not within the {reason}" if reason in ("iteration budget", "time budget") else ""
    warnings.warn(
        f"C=inf asks for a hard margin, but none was found for classes {first!r} and {second!r}: they are not "
        f"separable with this kernel, or only by a margin too thin to compute{doubt}; the machine kept is a soft "
        "one with a very large finite C.",
        ConvergenceWarning,
        stacklevel=3,
    )

"""What a fit says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PairReport:
    """How the machine of one pair of classes was found.

    `kkt_violation`, `duality_gap` and `objective` are recomputed in float64 after the solver has ended.
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


class FitReport(tuple[PairReport, ...]):
    """One :class:`PairReport` per binary problem; prints as a table."""

    __slots__ = ()

    def __new__(cls, entries: Iterable[PairReport]) -> FitReport:
        """Collect the entries."""
        return super().__new__(cls, tuple(entries))

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
        widths = [max(len(row[k]) for row in [heads, *lines]) for k in range(len(heads))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *lines])

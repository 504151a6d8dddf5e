"""What a fit says about itself."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin import _core
from widemargin.machines.classifier import OTHERS, Pair, PairSolution, SolvedPairs
from widemargin.machines.dual import COLUMNS, Outcome, outcome_of, row_of

#: The reason of a solve that met its tolerance, in a table of outcomes.
CONVERGED = _core.REASONS.index("converged")

#: What a user can do about a fit that ended early, per reason of its end.
REMEDIES = {
    "iteration budget": "raise max_iter to go on",
    "time budget": "raise max_time to go on",
    "stalled": "raise tol, scale X or lower C: what is left is rounding",
    "unbounded": (
        "with a square loss the problem has a solution only if the kernel is positive semidefinite and C is not so "
        "large that 1 / C is lost beside kernel values; choose another kernel or loss, or lower C"
    ),
}


@dataclass(frozen=True)
class ProblemReport:
    """How one optimisation problem was solved: that of a pair of classes, or a model's only one.

    `classes` is the pair, None for models without classes; (a label, None) stands for a class against all others.
    `kkt_violation` is recomputed in float64 after the solver has ended. `duality_gap` and `objective` are float64 sums
    over kernel values of type `precision`: with "float32" they are right to about 1e-7 of the objective. Where
    `max_time` did not suffice, nothing is known: they are infinite, infinite and NaN. `precision` is the type of the
    kernel values that the tolerance needed. `kernel_operations` counts the kernel values that a
    geometric solver read, cached or not; 0 for others. `seconds` are NaN in a model that was pickled, and make no
    difference to whether two reports are equal.
    """

    classes: tuple[Any, Any] | None
    reason: str
    kkt_violation: float
    duality_gap: float
    objective: float
    iterations: int
    kernel_evaluations: int
    seconds: float = field(compare=False)
    n_support: int
    precision: str
    kernel_operations: int = 0

    @classmethod
    def of(cls, classes: tuple[Any, Any] | None, outcome: Outcome, n_support: int) -> ProblemReport:
        """Read the report off a solve's outcome."""
        return cls(
            classes=classes,
            reason=outcome.reason,
            kkt_violation=outcome.kkt_violation,
            duality_gap=outcome.duality_gap,
            objective=outcome.objective,
            iterations=outcome.iterations,
            kernel_evaluations=outcome.kernel_evaluations,
            seconds=outcome.seconds,
            n_support=n_support,
            precision=outcome.precision,
            kernel_operations=outcome.kernel_operations,
        )


class PairNames(Sequence[tuple[Any, Any]]):
    """Labels of pairs of classes, each made when it is asked for."""

    def __init__(self, pairs: Sequence[Pair], classes: Any) -> None:
        self._pairs, self._labels = pairs, np.asarray(classes).tolist()

    def __len__(self) -> int:
        return len(self._pairs)

    @overload
    def __getitem__(self, at: int) -> tuple[Any, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[Any, Any]]: ...
    def __getitem__(self, at: int | slice) -> tuple[Any, Any] | list[tuple[Any, Any]]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        first, second = self._pairs[at]
        return self._labels[first], None if second == OTHERS else self._labels[second]


class FitReport(Sequence[ProblemReport]):
    """One :class:`ProblemReport` per optimisation problem; prints as a table.

    Parameters
    ----------
    entries : iterable of ProblemReport
    """

    def __init__(self, entries: Iterable[ProblemReport]) -> None:
        entries = list(entries)
        self._classes: Sequence[tuple[Any, Any] | None] = [entry.classes for entry in entries]
        self._outcomes = np.array([row_of(entry) for entry in entries]).reshape(len(entries), len(COLUMNS))
        self._n_support = np.array([entry.n_support for entry in entries], dtype=np.intp)
        self.n_begun = len(entries)

    @classmethod
    def of(cls, solved: SolvedPairs, classes: Any, not_begun: Sequence[Pair] = ()) -> FitReport:
        """Read the report off the solved pairs of classes; of those that time did not suffice for nothing is known."""
        report = cls(())
        report._classes = PairNames([*solved.names, *not_begun] if not_begun else solved.names, classes)
        report._outcomes, report.n_begun = solved.outcomes, len(solved.names)
        used = np.append(0, np.cumsum(solved.alpha != 0))
        report._n_support = np.diff(used[solved.begins])
        return report

    @classmethod
    def of_one(cls, outcome: Outcome, n_support: int) -> FitReport:
        """Report the only problem of a model without classes."""
        return cls([ProblemReport.of(None, outcome, n_support)])

    def __len__(self) -> int:
        return len(self._classes)

    @overload
    def __getitem__(self, at: int) -> ProblemReport: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ProblemReport, ...]: ...
    def __getitem__(self, at: int | slice) -> ProblemReport | tuple[ProblemReport, ...]:
        if isinstance(at, slice):
            return tuple(self[number] for number in range(*at.indices(len(self))))
        number = range(len(self))[at]
        classes = self._classes[number]
        if number < self.n_begun:
            return ProblemReport.of(classes, outcome_of(self._outcomes[number]), int(self._n_support[number]))
        return ProblemReport(classes, "time budget", np.inf, np.inf, np.nan, 0, 0, 0.0, 0, "float32")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FitReport) and len(self) == len(other) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        return hash((self._timeless().tobytes(), len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the seconds, so that fits that are equal have equal pickles, by which caches tell them apart."""
        return {**vars(self), "_outcomes": self._timeless()}

    def __copy__(self) -> FitReport:
        return self  # nothing in it changes

    def __deepcopy__(self, memo: dict[int, Any]) -> FitReport:
        return self

    def _timeless(self) -> NDArray[np.float64]:
        """Return the table without what the clock said."""
        outcomes = self._outcomes.copy()
        outcomes[:, COLUMNS["seconds"]] = np.nan
        return outcomes

    def __repr__(self) -> str:
        return f"FitReport({list(self)!r})"

    @property
    def converged(self) -> bool:
        """Whether every problem was solved to its tolerance."""
        return self.unfinished == 0

    @property
    def unfinished(self) -> int:
        """How many problems were left before their tolerance was met."""
        return int(np.count_nonzero(self._outcomes[:, COLUMNS["reason"]] != CONVERGED)) + len(self) - self.n_begun

    @property
    def needed_double(self) -> bool:
        """Whether kernel values in float32 did not do for some problem."""
        return bool(self._outcomes[:, COLUMNS["precision"]].any())

    @property
    def worst(self) -> ProblemReport:
        """That with the largest violation of those that were left before their tolerance was met, if any was."""
        if self.n_begun < len(self):
            return self[-1]
        left = np.flatnonzero(self._outcomes[:, COLUMNS["reason"]] != CONVERGED)
        return self[int(left[self._outcomes[left, COLUMNS["kkt_violation"]].argmax()])]

    def __str__(self) -> str:
        heads = ("classes", "reason", "violation", "gap", "objective", "steps", "kernel values", "seconds", "SVs")
        lines = [
            (
                "" if entry.classes is None else _in_short(entry.classes),
                entry.reason,
                f"{entry.kkt_violation:.2e}",
                f"{entry.duality_gap:.2e}",
                f"{entry.objective:.6g}",
                f"{entry.iterations:,}",
                f"{entry.kernel_evaluations:,}",
                "" if np.isnan(entry.seconds) else f"{entry.seconds:.3f}",
                f"{entry.n_support:,}",
            )
            for entry in self
        ]
        without_classes = all(entry.classes is None for entry in self)
        table = [row[1:] if without_classes else row for row in (heads, *lines)]
        widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)


def plain(label: Any) -> Any:
    """Return a class label as Python writes it: 0 instead of np.int64(0)."""
    return label.item() if isinstance(label, np.generic) else label


def _in_short(pair: tuple[Any, Any]) -> str:
    return f"{pair[0]} / {'others' if pair[1] is None else pair[1]}"


def warn_of_early_ends(report: FitReport, tol: float, remark: str = "") -> None:
    """Warn that a problem was left before its tolerance was met; a remark may follow."""
    worst = report.worst
    advice = f"; {REMEDIES[worst.reason]}" if worst.reason in REMEDIES else ""
    extent = "" if worst.classes is None else f" in {report.unfinished} of {len(report)} binary problems"
    known = (
        f"its worst violation is {worst.kkt_violation:.3g} (tol={tol:g}) with a duality gap of {worst.duality_gap:.3g} "
        f"at objective {worst.objective:.6g}"
        if np.isfinite(worst.kkt_violation)
        else f"but there was no time to compute its violation (tol={tol:g})"
    )
    warnings.warn(
        f"Training ended before the tolerance was met ({worst.reason}){extent}; the best model found is kept, "
        f"{known}{advice}.{remark}",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_of_missing_margin(solution: PairSolution, classes: Any) -> None:
    """Warn in one sentence that a hard margin was asked for and not found."""
    labels, (first, second) = np.asarray(classes).tolist(), solution.pair
    named = "class {0!r} and all others" if second == OTHERS else "classes {0!r} and {1!r}"
    named = named.format(labels[first], labels[second])
    reason = solution.outcome.reason
    doubt = f", or not within the {reason}" if reason in ("iteration budget", "time budget") else ""
    warnings.warn(
        f"C=inf asks for a hard margin, but none was found for {named}: they are not "
        f"separable with this kernel, or only by a margin too thin to compute{doubt}; the model kept is a soft "
        "one with a very large finite C.",
        ConvergenceWarning,
        stacklevel=4,
    )

"""What work took: one account, for a solve, a fit, an evaluation, a search; accounts add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Work:
    """Counts of what was done, and of what was not needed.

    Attributes
    ----------
    trained, skipped, unfinished, failed : int
        Models that were trained; that are provably identical to one that was; that time did not suffice for; whose
        training failed.
    iterations : int
        Steps of solvers.
    kernel_evaluations : int
        Kernel values that were computed.
    kernel_operations : int
        Kernel values that a geometric solver read, cached or not, as its paper counts them; 0 for others.
    scans : int
        Entries that passes over rows and gradients went through, where somebody counts them.
    factorizations : int
        Of the systems of free variables.
    seconds : float

    Examples
    --------
    >>> Work(trained=1, iterations=40, seconds=0.5) + Work(skipped=1, seconds=0.25)
    Work(trained=1, skipped=1, iterations=40, seconds=0.75)
    """

    trained: int = 0
    skipped: int = 0
    unfinished: int = 0
    failed: int = 0
    iterations: int = 0
    kernel_evaluations: int = 0
    kernel_operations: int = 0
    scans: int = 0
    factorizations: int = 0
    seconds: float = 0.0

    @property
    def fits(self) -> int:
        """Models that were asked for."""
        return self.trained + self.skipped + self.unfinished + self.failed

    def __add__(self, other: Work) -> Work:
        return Work.total((self, other))

    @staticmethod
    def total(parts: Iterable[Work]) -> Work:
        """Add up accounts."""
        sums: dict[str, Any] = dict.fromkeys(COUNTS, 0)
        for one in parts:
            for name in COUNTS:
                sums[name] += getattr(one, name)
        return Work(**sums)

    def counts(self) -> dict[str, Any]:
        """Return what was counted by name, without zeros."""
        return {name: value for name in COUNTS if (value := getattr(self, name))}

    def with_work(self, parts: Iterable[Work]) -> Self:
        """Return the same, for the work of all that led to it."""
        return replace(self, **vars(Work.total(parts)))

    def __repr__(self) -> str:
        said: Any = ((one.name, getattr(self, one.name)) for one in fields(self) if one.repr)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said if value)})"


#: The fields that add up.
COUNTS = tuple(one.name for one in fields(Work))

"""What a search says of itself: its work, its ties, the edges of its grid."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.estimators.search_run import Found


@dataclass(frozen=True)
class WorkReport:
    """What a search did, and what it was spared.

    Attributes
    ----------
    machines : int
        Machines asked for: candidates times splits.
    solved, repeated, unfinished : int
        Those that were trained, those that are provably equal to the one before, those that time did not suffice for.
    iterations : int
        Steps of the solver.
    seconds : float
        Time of the search, without the final fit.
    """

    machines: int
    solved: int
    repeated: int
    unfinished: int
    iterations: int
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.machines} machines: {self.solved} solved"]
        if self.repeated:
            parts.append(f"{self.repeated} equal to a solved one")
        if self.unfinished:
            parts.append(f"{self.unfinished} left when time was up")
        return f"{', '.join(parts)}; {self.iterations} steps in {self.seconds:.3g} s"


def smoothness(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Order machines from smooth to wiggly: by C, then by gamma; what is no number comes last.

    Examples
    --------
    >>> smoothness({"svc__C": 2.0, "svc__gamma": "scale"})
    (2.0, inf)
    """

    def number(name: str) -> float:
        values = [value for key, value in parameters.items() if key.rpartition("__")[2] == name]
        return float(values[0]) if values and isinstance(values[0], numbers.Real) else np.inf

    return number("C"), number("gamma")


def edges(candidates: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> dict[str, str]:
    """Name the parameters whose chosen value is the smallest or the largest of the grid.

    Examples
    --------
    >>> edges([{"C": 1, "gamma": 0.1}, {"C": 2, "gamma": 0.1}], {"C": 2, "gamma": 0.1})
    {'C': 'largest'}
    """
    found: dict[str, str] = {}
    for name, value in chosen.items():
        others = {other[name] for other in candidates if isinstance(other.get(name), numbers.Real)}
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)) or len(others) < 2:
            continue
        if value == min(others):
            found[name] = "smallest"
        elif value == max(others):
            found[name] = "largest"
    return found


def best_mean(n_splits: int) -> Callable[[Found], float | None]:
    """Return what finds the best mean score among the candidates that are finished on all splits."""

    def best(found: Found) -> float | None:
        scores: dict[int, list[float]] = {}
        for one in found.values():
            if isinstance(one.test_scores, numbers.Real):
                scores.setdefault(one.candidate, []).append(float(one.test_scores))
        means = [float(np.mean(own)) for own in scores.values() if len(own) == n_splits]
        return max((mean for mean in means if np.isfinite(mean)), default=None)

    return best

"""What the checks ask of a problem, of a solution and of a solver: no more than these attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Problem(Protocol):
    """A dual problem [Glasmachers2008, eq. 4.1]: maximise y'a - kink'|a| - a'Ka / 2, sum(a) fixed, L <= a <= U."""

    @property
    def linear(self) -> Vector:
        """The linear term y."""

    @property
    def lower(self) -> Vector:
        """The lower bounds L."""

    @property
    def upper(self) -> Vector:
        """The upper bounds U."""

    @property
    def kink(self) -> Vector | None:
        """Half the drop of the slope at 0, at least 0 each (every box then contains 0); or None."""


@dataclass(frozen=True)
class SmoothProblem:
    """A problem without kinks, made from one with kinks or from a part of it."""

    linear: Vector
    lower: Vector
    upper: Vector
    kink: None = None


class Outcome(Protocol):
    """How a solve ended."""

    @property
    def reason(self) -> str:
        """Why it ended: "converged", "iteration budget", "time budget", "interrupted", "stalled" or "unbounded"."""

    @property
    def kkt_violation(self) -> float:
        """The KKT violation of the returned point."""

    @property
    def duality_gap(self) -> float:
        """The duality gap of the returned point."""

    @property
    def objective(self) -> float:
        """The dual objective of the returned point."""

    @property
    def iterations(self) -> int:
        """Iterations made, each a step of two variables."""

    @property
    def seconds(self) -> float:
        """Wall-clock time taken."""


class Solution(Protocol):
    """The whole state that a solver returns."""

    @property
    def alpha(self) -> Vector:
        """The signed dual variables."""

    @property
    def gradient(self) -> Vector:
        """The gradient y - K alpha."""

    @property
    def outcome(self) -> Outcome:
        """How the solve ended."""


class Solve(Protocol):
    """A solver as the contract calls it: a thin adapter around the real one."""

    def __call__(
        self,
        problem: Problem,
        K: Matrix,
        *,
        tolerance: float,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        start: Vector | None = None,
        start_gradient: Vector | None = None,
    ) -> Solution:
        """Solve the problem with kernel matrix K until the KKT violation is at most `tolerance`."""

"""A complete, slow solver made of the pure rules of :mod:`oracles.smo`; it passes the solver contract.

It is the naive twin of the core's loop [Glasmachers2008, Algorithm 4.2 with Algorithms 6.1, 7.2 and 7.3].
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from oracles.smo import Pair, Step, select, take_step
from widemargin.testing.checks import certificate, kkt_violation, objective
from widemargin.testing.oracles import move_pair, project
from widemargin.testing.protocols import Matrix, Problem, Vector


@dataclass(frozen=True)
class ReferenceOutcome:
    """How a reference solve ended."""

    reason: str
    kkt_violation: float
    duality_gap: float
    objective: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class ReferenceSolution:
    """The state that a reference solve returns."""

    alpha: Vector
    gradient: Vector
    outcome: ReferenceOutcome


@dataclass(frozen=True)
class ReferenceSolver:
    """Sequential minimal optimisation as the text describes it.

    Parameters
    ----------
    selection : str
        "maximal-violating-pair", "second-order" or "maximum-gain".
    planning_ahead : int
        How many recent working sets to plan with, which are then offered to the next selection; 0 for Newton steps.

    Examples
    --------
    >>> from widemargin.testing import chess_board_case
    >>> case = chess_board_case(50, 10.0)
    >>> ReferenceSolver("second-order", 1)(case, case.gram, tolerance=1e-3).outcome.reason
    'converged'
    """

    selection: str = "second-order"
    planning_ahead: int = 0

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
    ) -> ReferenceSolution:
        """Solve the problem; see :class:`widemargin.testing.protocols.Solve`."""
        if problem.kink is not None:
            raise ValueError("The reference solver takes no problem with kinks; this one has some: mirror it first.")
        began = time.perf_counter()
        alpha = project(np.zeros_like(problem.linear) if start is None else start, problem.lower, problem.upper)
        moved = start_gradient is None or start is None or not np.array_equal(alpha, start)
        gradient = problem.linear - K @ alpha if moved else np.array(start_gradient)
        best, best_objective = alpha, objective(problem, alpha, gradient)
        step: Step | None = None
        recent: list[Pair] = []
        iterations, reason = 0, "converged"
        while kkt_violation(problem, alpha, gradient) > tolerance:
            if max_iterations is not None and iterations >= max_iterations:
                reason = "iteration budget"
                break
            if max_seconds is not None and time.perf_counter() - began > max_seconds:
                reason = "time budget"
                break
            state = problem, K, alpha, gradient
            pair = select(self.selection, *state, previous=step, recent=recent)
            assert pair is not None, "a violated optimality condition always offers a pair."
            step = take_step(*state, pair, previous=step, recent=recent, planning_ahead=self.planning_ahead)
            alpha = move_pair(problem, alpha, pair, step.size)
            gradient = gradient - step.size * (K[pair[0]] - K[pair[1]])
            iterations += 1
            recent = [pair, *recent][: self.planning_ahead + 1]
            reached = objective(problem, alpha, gradient)
            if reached > best_objective:
                best, best_objective = alpha, reached
        final = certificate(problem, K, alpha if reason == "converged" else best)
        outcome = ReferenceOutcome(
            reason, final.kkt_violation, final.duality_gap, final.objective, iterations, time.perf_counter() - began
        )
        return ReferenceSolution(alpha if reason == "converged" else best, final.gradient, outcome)

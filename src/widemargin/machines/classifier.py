"""The 1-norm soft-margin classifier and its pairs of classes.

For a pair of classes with labels y_n = +1 (first) and -1 (second):

minimise ||w||^2 / 2 + sum_n C_n max(0, 1 - y_n (<w, phi(x_n)> + b))

whose dual is eq. 4.1 of [Glasmachers2008] with linear term y, L_n = min(0, y_n C_n), U_n = max(0, y_n C_n).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import RowSource
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Subproblem, Vector, solve_all

Pair = tuple[int, int]

#: Hard margins are sought as soft ones whose C exceeds every coefficient: these multiples of 1 / mean kernel diagonal.
HARD_MARGIN_LADDER = (1e3, 1e6, 1e9)


@dataclass(frozen=True)
class PairSolution:
    """The machine that separates class ``pair[0]`` (+1) from class ``pair[1]`` (-1)."""

    pair: Pair
    ids: NDArray[np.int32]
    solution: Solution
    hard_margin_reached: bool = True

    @property
    def outcome(self) -> Outcome:
        """How the solve ended."""
        return self.solution.outcome


@dataclass(frozen=True)
class Votes:
    """All pairs in scikit-learn's layout: support vectors sorted by class, each with its k - 1 coefficients."""

    support: NDArray[np.int32]
    n_support: NDArray[np.int32]
    dual_coef: Vector
    intercept: Vector


def box(signs: Vector, bounds: Vector) -> DualProblem:
    """The dual problem of one pair: labels +1/-1 and a bound C_n for every example."""
    return DualProblem(signs, np.minimum(0.0, signs * bounds), np.maximum(0.0, signs * bounds))


def solve_pairs(
    rows: RowSource,
    labels: NDArray[np.intp],
    n_classes: int,
    bounds: Vector,
    *,
    stop: StopRule,
    options: SolverOptions,
    starts: Mapping[Pair, Vector] | None = None,
) -> list[PairSolution]:
    """Train every pair of classes that both have examples with a positive bound.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of all examples.
    labels : ndarray of int
        Class numbers 0 .. n_classes - 1.
    n_classes : int
        Number of classes.
    bounds : ndarray
        C of every example; 0 leaves the example out, inf asks for a hard margin.
    stop, options
        See :mod:`widemargin.machines.dual`.
    starts : mapping from pair to ndarray, optional
        Signed starting points over all examples.
    """
    members = [np.flatnonzero((labels == c) & (bounds > 0)).astype(np.int32) for c in range(n_classes)]
    pairs = [pair for pair in itertools.combinations(range(n_classes), 2) if len(members[pair[0]]) and len(members[pair[1]])]
    subproblems = []
    for first, second in pairs:
        ids = np.concatenate([members[first], members[second]])
        signs = np.repeat([1.0, -1.0], [len(members[first]), len(members[second])])
        start = None if starts is None or (first, second) not in starts else starts[first, second][ids]
        subproblems.append(Subproblem(ids, box(signs, bounds[ids]), start))
    if np.isinf(bounds).any():
        return [_solve_hard(pair, sub, rows, stop, options) for pair, sub in zip(pairs, subproblems, strict=True)]
    solutions = solve_all(subproblems, rows, stop=stop, options=options)
    return [PairSolution(p, s.ids, r) for p, s, r in zip(pairs, subproblems, solutions, strict=True)]


def _solve_hard(pair: Pair, sub: Subproblem, rows: RowSource, stop: StopRule, options: SolverOptions) -> PairSolution:
    """Raise a finite C until no coefficient meets it: from there on every larger C gives the same machine."""
    scale = 1.0 / max(float(np.mean(rows.diagonal()[sub.ids])), np.finfo(np.float64).tiny)
    signs, hard = sub.problem.linear, np.isinf(np.maximum(sub.problem.upper, -sub.problem.lower))
    finite = np.where(hard, 0.0, np.maximum(sub.problem.upper, -sub.problem.lower))
    start, iterations, reached = sub.start, 0, False
    for step in HARD_MARGIN_LADDER:
        bounds = np.where(hard, step * scale, finite)
        budget = None if stop.max_iterations is None else max(1, stop.max_iterations - iterations)
        attempt = replace(sub, problem=box(signs, bounds), start=start)
        solution = solve_all([attempt], rows, stop=replace(stop, max_iterations=budget), options=options)[0]
        iterations += solution.outcome.iterations
        start = solution.alpha
        reached = not bool(np.any(hard & (np.abs(solution.alpha) >= bounds)))
        if reached or solution.outcome.reason != "converged":
            break
    outcome = replace(solution.outcome, iterations=iterations)
    return PairSolution(pair, sub.ids, replace(solution, outcome=outcome), reached)


def gather_votes(machines: list[PairSolution], labels: NDArray[np.intp], n_classes: int) -> Votes:
    """Collect the pairs' coefficients; a pair in which one class has no examples always votes for the other."""
    pair_number = {pair: number for number, pair in enumerate(itertools.combinations(range(n_classes), 2))}
    coefficients = np.zeros((n_classes - 1, len(labels)))
    present = np.zeros(n_classes, dtype=bool)
    intercept = np.zeros(len(pair_number))
    for machine in machines:
        first, second = machine.pair
        present[[first, second]] = True
        intercept[pair_number[machine.pair]] = machine.solution.intercept
        ours = labels[machine.ids] == first
        coefficients[second - 1, machine.ids[ours]] = machine.solution.alpha[ours]
        coefficients[first, machine.ids[~ours]] = machine.solution.alpha[~ours]
    for (first, second), number in pair_number.items():
        if present[first] != present[second]:
            intercept[number] = 1.0 if present[first] else -1.0
    used = np.flatnonzero(coefficients.any(axis=0))
    support = used[np.argsort(labels[used], kind="stable")].astype(np.int32)
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return Votes(support, n_support, np.ascontiguousarray(coefficients[:, support]), intercept)


def starting_points(machines: list[PairSolution], n_examples: int) -> dict[Pair, Vector]:
    """Solutions spread over all examples, to start the next fit from."""
    starts: dict[Pair, Any] = {}
    for machine in machines:
        starts[machine.pair] = np.zeros(n_examples)
        starts[machine.pair][machine.ids] = machine.solution.alpha
    return starts

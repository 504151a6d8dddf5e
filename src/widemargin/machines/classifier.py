"""The 1-norm soft-margin classifier and its pairs of classes.

For a pair of classes with labels y_n = +1 (first) and -1 (second):

minimise ||w||^2 / 2 + sum_n C_n max(0, 1 - y_n (<w, phi(x_n)> + b))

whose dual is eq. 4.1 of [Glasmachers2008] with linear term y, L_n = min(0, y_n C_n), U_n = max(0, y_n C_n).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin._runtime import cache_bytes
from widemargin.kernels import RowSource
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Subproblem,
    Vector,
    solve_all,
)

Pair = tuple[int, int]

#: Hard margins are sought as soft ones whose C exceeds every coefficient: multiples of 1 / mean kernel diagonal.
HARD_MARGIN_LADDER = (1e3, 1e6, 1e9)


@dataclass(frozen=True)
class PairSolution:
    """The machine that separates class ``pair[0]`` (+1) from class ``pair[1]`` (-1).

    `hard_margin_found` is unset where a hard margin was asked for, but the largest finite C tried holds variables back.
    """

    pair: Pair
    ids: NDArray[np.int32]
    solution: Solution
    hard_margin_found: bool = True

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
    """Build the dual problem of one pair: labels +1/-1 and a bound C_n for every example."""
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
    began = time.perf_counter()
    members = [np.flatnonzero((labels == c) & (bounds > 0)).astype(np.int32) for c in range(n_classes)]
    pairs = [(a, b) for a, b in itertools.combinations(range(n_classes), 2) if len(members[a]) and len(members[b])]
    subproblems = []
    for first, second in pairs:
        ids = np.concatenate([members[first], members[second]])
        signs = np.repeat([1.0, -1.0], [len(members[first]), len(members[second])])
        start = None if starts is None or (first, second) not in starts else starts[first, second][ids]
        subproblems.append(Subproblem(ids, box(signs, bounds[ids]), start))
    if np.isinf(bounds).any():
        # One deadline for all pairs and all their steps, as in `solve_all`.
        deadline = None if stop.max_seconds is None else began + stop.max_seconds
        diagonal = rows.diagonal()
        ladders = [np.array(HARD_MARGIN_LADDER) / _typical(diagonal[sub.ids]) for sub in subproblems]
        return [
            _solve_hard(pair, sub, ladder, rows, stop, options, deadline)
            for pair, sub, ladder in zip(pairs, subproblems, ladders, strict=True)
        ]
    if len(pairs) > 1:
        # The pairs of a class all need its kernel values: half of the cache holds these for all of them.
        share = (options.cache_bytes or cache_bytes("auto", len(labels), options.dtype)) // 2
        rows = _core.class_shared_source(rows, labels.astype(np.int32), share)
        options = replace(options, cache_bytes=share)
    solutions = solve_all(subproblems, rows, stop=stop, options=options)
    return [PairSolution(p, s.ids, r) for p, s, r in zip(pairs, subproblems, solutions, strict=True)]


def _typical(diagonal: Vector) -> float:
    return max(float(np.mean(diagonal)), np.finfo(np.float64).tiny)


def _remaining(stop: StopRule, iterations: int, deadline: float | None) -> StopRule:
    """Say what is left of the budgets now, after some iterations."""
    return replace(
        stop,
        max_iterations=None if stop.max_iterations is None else max(0, stop.max_iterations - iterations),
        max_seconds=None if deadline is None else max(0.0, deadline - time.perf_counter()),
    )


def _solve_hard(
    pair: Pair,
    sub: Subproblem,
    ladder: Vector,
    rows: RowSource,
    stop: StopRule,
    options: SolverOptions,
    deadline: float | None,
) -> PairSolution:
    """Raise a finite C until no coefficient meets it: from there on every larger C gives the same machine."""
    signs, bounds = sub.problem.linear, np.maximum(sub.problem.upper, -sub.problem.lower)
    hard = np.isinf(bounds)
    solutions: list[Solution] = []
    for step in ladder:
        raised = np.where(hard, step, bounds)
        attempt = replace(
            sub, problem=box(signs, raised), start=solutions[-1].alpha if solutions else sub.start, start_gradient=None
        )
        left = _remaining(stop, sum(one.outcome.iterations for one in solutions), deadline)
        solutions.append(solve_all([attempt], rows, stop=left, options=options)[0])
        held_back = bool(np.any(hard & (np.abs(solutions[-1].alpha) >= raised)))
        if not held_back or solutions[-1].outcome.reason != "converged":
            break
    outcomes = [one.outcome for one in solutions]
    # The exact solution for a smaller C, one that holds variables back, is worth more than a torso for a larger one.
    torso = len(solutions) > 1 and outcomes[-1].reason != "converged"
    kept = solutions[-2] if torso else solutions[-1]
    outcome = replace(
        kept.outcome,
        reason=outcomes[-1].reason,
        iterations=sum(one.iterations for one in outcomes),
        kernel_evaluations=sum(one.kernel_evaluations for one in outcomes),
        seconds=sum(one.seconds for one in outcomes),
    )
    return PairSolution(pair, sub.ids, replace(kept, outcome=outcome), hard_margin_found=not (held_back or torso))


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
    starts: dict[Pair, Vector] = {}
    for machine in machines:
        whole = np.zeros(n_examples)
        whole[machine.ids] = machine.solution.alpha
        starts[machine.pair] = whole
    return starts


def rescaled(starts: Mapping[Pair, Vector], old: Vector, new: Vector) -> dict[Pair, Vector]:
    """Scale starting points to other bounds: variables at a bound stay there, zeros stay zero.

    Where one of the bounds is infinite or the old one is zero, there is no ratio to scale by and the value stays.
    """
    ratio = np.ones(len(old))
    with np.errstate(over="ignore"):
        np.divide(new, old, out=ratio, where=np.isfinite(old) & (old > 0))
    ratio[np.isinf(ratio)] = 1.0
    return {pair: start * ratio for pair, start in starts.items()}

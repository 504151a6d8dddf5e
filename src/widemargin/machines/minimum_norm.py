"""The square-loss classifier without intercept as a minimum norm problem [Barbero2008].

For a pair of classes with labels y_n = +1 and -1 and the kernel k'(i, j) = k(i, j) + [i = j] / (2 C_i):

minimise ||W||^2,  W = sum_n a_n y_n phi'(x_n),  over  a >= 0, sum(a) = 1   [Barbero2008, section 1]

W is the point nearest to the origin in the convex hull of the samples, mirrored by their labels. At the optimum every
support vector has the margin y_n <W, phi'(x_n)> = ||W||^2, and w = W / ||W||^2, whose margin is 1, is the machine that
:mod:`widemargin.machines.classifier` finds without intercept: its signed dual variables are y_n a_n / ||W||^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.machines.classifier import (
    ClassPairs,
    Pair,
    PairSamples,
    PairSolution,
    in_turns,
    ridge_of,
    share_class_rows,
    typical,
)
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Subproblem, solve_all
from widemargin.machines.hard_margins import HARD_MARGIN_LADDER

Vector = NDArray[np.float64]

#: A squared norm below this share of the kernel's diagonal is 0 but for rounding: the hull contains the origin.
SMALLEST_SQUARED_NORM = 1e-12

#: Steps of the first attempt at a hard margin; each further one gets ten times as many.
FIRST_STEPS = 10_000


def convex_hull(n: int) -> DualProblem:
    """Build the minimum norm problem over n points, all weights between 0 and 1 with sum 1."""
    return DualProblem(np.zeros(n), np.zeros(n), np.ones(n), total=(1.0, 0.0))


def starting_weights(signs: Vector, alpha: Vector | None, diagonal: Vector) -> Vector:
    """Return the weights behind a machine's signed variables, or all weight on the shortest sample."""
    weights: Vector = np.zeros(len(signs)) if alpha is None else np.maximum(0.0, signs * alpha)
    total = float(weights.sum())
    if total > 0.0:
        return weights / total
    weights[int(np.argmin(diagonal))] = 1.0
    return weights


def squared_norm(solution: Solution) -> float:
    """Return ||W||^2 = sum_n a_n d_n, where the margins d are the negated gradient."""
    return float(-(solution.alpha @ solution.gradient))


def machine_of(nearest: Solution, signs: Vector, ridge: Vector) -> Solution:
    """Scale the nearest point to margin 1; the certificate becomes that of the machine.

    The violation is (d_U - d_L) / ||W||^2: the largest difference of margins that the optimality conditions forbid, in
    units of the margin. Objective and gap are those of the classifier. Without a ridge that is the hard margin, whose
    primal value is that of w stretched until no sample is short of margin 1 (infinite if that is impossible).
    """
    norm = squared_norm(nearest)
    if not norm > 0.0:  # rounding has the last word at the origin: there is no estimator to scale to
        return Solution(
            np.zeros(len(signs)), signs.copy(), 0.0, replace(nearest.outcome, duality_gap=np.inf, objective=0.0)
        )
    margins = -nearest.gradient / norm
    alpha = nearest.alpha / norm
    own = ridge * alpha
    objective = 0.5 / norm
    if ridge.any():
        short = np.maximum(0.0, 1.0 - margins + own)
        # C xi^2 = xi^2 / (2 D)
        primal = 0.5 * (1.0 / norm - float(own @ alpha)) + float(np.sum(short**2 / (2.0 * ridge)))
    else:
        smallest = float(margins.min())
        primal = objective / smallest**2 if smallest > 0.0 else np.inf
    outcome = nearest.outcome.certified(nearest.outcome.kkt_violation / norm, primal - objective, objective)
    return Solution(signs * alpha, signs * (1.0 - margins), 0.0, outcome)


def solve_minimum_norm_pairs(
    rows: RowSource,
    labels: NDArray[np.intp],
    n_classes: int,
    bounds: Vector,
    *,
    stop: StopRule,
    options: SolverOptions,
    starts: Mapping[Pair, Vector] | None = None,
    problems: Sequence[PairSamples] | None = None,
) -> list[PairSolution]:
    """Train every pair of classes, or as many as time suffices to begin with, as minimum norm problems.

    That is the square loss without intercept.

    Parameters
    ----------
    rows, labels, n_classes
        As in :func:`widemargin.machines.classifier.solve_pairs`.
    bounds : ndarray
        C of every sample in C xi^2; 0 leaves the sample out, inf asks for a hard margin.
    stop : StopRule
        Its tolerance is relative to ||W||^2 [Barbero2008, section 4], which is the same as absolute in margins.
    options : SolverOptions
        Any solver can; "mdm" is made for it.
    starts, problems
        As in :func:`widemargin.machines.classifier.solve_pairs`.
    """
    pairs = ClassPairs(labels, n_classes, bounds) if problems is None else problems
    hard = bool(np.isinf(bounds).any())
    if not hard and isinstance(pairs, ClassPairs) and len(pairs) > 1:
        rows, options = share_class_rows(rows, labels, options)
    diagonal, ridge = rows.diagonal(), ridge_of(bounds)
    lengths, machines = diagonal + ridge, list[PairSolution]()

    def start_of(p: PairSamples) -> Vector:
        alpha = None if starts is None or p.pair not in starts else starts[p.pair][p.ids]
        return starting_weights(p.signs, alpha, lengths[p.ids])

    if hard:
        for p in pairs:
            if machines and stop.late:
                break
            machines.append(_solve_hard(p, rows, ridge[p.ids], typical(diagonal[p.ids]), start_of(p), stop, options))
        return machines
    for some in in_turns(pairs, stop):
        weights = [start_of(p) for p in some]
        solutions = _nearest_points(some, rows, [ridge[p.ids] for p in some], weights, stop, options)
        machines += [
            PairSolution(p.pair, p.ids, machine_of(one, p.signs, ridge[p.ids]))
            for p, one in zip(some, solutions, strict=True)
        ]
    return machines


def _nearest_points(
    pairs: Sequence[PairSamples],
    rows: RowSource,
    ridges: list[Vector],
    weights: list[Vector],
    stop: StopRule,
    options: SolverOptions,
    gradient: Vector | None = None,
) -> list[Solution]:
    """Solve the minimum norm problems of some pairs over one kernel, in which each has mirrored samples of its own."""
    mirrored = derived_rows(
        rows,
        base=np.concatenate([p.ids for p in pairs]),
        scale=np.concatenate([p.signs for p in pairs]),
        ridge=np.concatenate(ridges),
    )
    begins = np.cumsum([0, *(len(p.ids) for p in pairs)])
    subproblems = [
        Subproblem(np.arange(begin, begin + len(start), dtype=np.int32), convex_hull(len(start)), start, gradient)
        for begin, start in zip(begins[:-1], weights, strict=True)
    ]
    return solve_all(subproblems, mirrored, stop=stop, options=options)


def _solve_hard(
    samples: PairSamples,
    rows: RowSource,
    ridge: Vector,
    scale: float,
    start: Vector,
    stop: StopRule,
    options: SolverOptions,
) -> PairSolution:
    """Look for a hull that leaves the origin out, in attempts of more and more steps; else settle for a soft margin."""
    # Margins far below the kernel's values drown in the rounding of float32.
    options = replace(options, dtype="float64")
    # Half of the budgets is kept for the soft machine.
    seconds = stop.seconds_left()
    half = stop.within(None if seconds is None else 0.5 * seconds)
    half = half.after(0 if stop.max_iterations is None else stop.max_iterations - stop.max_iterations // 2)
    outcomes: list[Outcome] = []
    steps, gradient = FIRST_STEPS, None
    while True:
        left = half.after(sum(one.iterations for one in outcomes))
        budget = steps if left.max_iterations is None else min(steps, left.max_iterations)
        attempt = replace(left, max_iterations=budget)
        (nearest,) = _nearest_points([samples], rows, [ridge], [start], attempt, options, gradient)
        outcomes.append(nearest.outcome)
        if nearest.outcome.reason == "converged" and squared_norm(nearest) > SMALLEST_SQUARED_NORM * scale:
            machine = machine_of(nearest, samples.signs, ridge)
            machine = replace(machine, outcome=machine.outcome.with_work(outcomes))
            return PairSolution(samples.pair, samples.ids, machine)
        spent = left.max_iterations is not None and budget == left.max_iterations
        gone = squared_norm(nearest) <= SMALLEST_SQUARED_NORM * scale
        if gone or spent or nearest.outcome.reason != "iteration budget":
            break
        start, gradient, steps = nearest.alpha, nearest.gradient, 10 * steps
    reason = "converged" if gone else nearest.outcome.reason
    soft = np.full(len(ridge), 0.5 * scale / HARD_MARGIN_LADDER[0])
    left = stop.after(sum(one.iterations for one in outcomes))
    (kept,) = _nearest_points([samples], rows, [soft], [nearest.alpha], left, options)
    machine = machine_of(kept, samples.signs, soft)
    ended = reason if kept.outcome.reason == "converged" else kept.outcome.reason
    outcome = replace(machine.outcome, reason=ended).with_work([*outcomes, kept.outcome])
    return PairSolution(samples.pair, samples.ids, replace(machine, outcome=outcome), hard_margin_found=False)

r"""The smallest ball that encloses most of the samples [Tax2004].

For weights w_n of total W and a price C (or a fraction nu = 1 / (C W)) the ball with centre c and radius R solves

    minimise R^2 + C sum_n w_n xi_n   subject to   ||phi(x_n) - c||^2 <= R^2 + xi_n, xi_n >= 0,

whose dual is: maximise sum_n a_n k(x_n, x_n) - a'Ka subject to sum(a) = 1, 0 <= a_n <= C w_n, with c = sum_n a_n
phi(x_n). Where the diagonal of K is constant, this is the one-class machine with the same nu.

The problem solved has a T-fold sum and T-fold bounds, which makes the bounds of a soft ball the weights, and half of
the objective.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import RowSource
from widemargin.kernels.spread import MODERATE, moderate
from widemargin.machines.chain import ChainKernel, LinkSolution
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Subproblem, solve_all
from widemargin.machines.nu_property import with_borders
from widemargin.machines.one_class import ConstantSumMachine, scores_of, settled, solve_sums, train

Vector = NDArray[np.float64]

#: Samples from which the spread of all is taken.
SPREAD_SUBSET = 500

#: Violations below this share of the largest kernel value are rounding.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Ball:
    """A ball in the space of the kernel.

    Parameters
    ----------
    center : ndarray of shape (m,)
        Coefficients of the centre over the samples with a variable; they sum to 1.
    squared_norm : float
        Of the centre.
    squared_radius : float
    squared_distances : ndarray of shape (m,)
        Of the samples with a variable from the centre.
    outcome : Outcome
        In the units of the ball: the objective is the dual one, which at the optimum is R^2 + C sum w xi; the
        violation is that of squared distances, divided by the spread.
    """

    center: Vector
    squared_norm: float
    squared_radius: float
    squared_distances: Vector
    outcome: Outcome


def ball_machine(
    weights: Vector, diagonal: Vector, *, nu: float | None = None, C: float = math.inf
) -> ConstantSumMachine:
    """Build the machine of a ball; samples of weight 0 have no variable.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    diagonal : ndarray of shape (n,)
        k(x_n, x_n).
    nu : float, optional
        Share of the weight that may stay outside, the hard ball if that is less than any sample's; if not given, `C`
        counts.
    C : float
        At least 1 / W; infinity, or anything from 1 / min(w) on, asks for a hard ball.

    Examples
    --------
    >>> ball_machine(np.ones(4), np.ones(4), nu=0.5).total
    2.0
    >>> ball_machine(np.ones(4), np.ones(4)).upper.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    ids = np.flatnonzero(weights > 0).astype(np.int32)
    share = np.ascontiguousarray(weights[ids], dtype=np.float64)
    if nu is not None:
        share = moderate(share)
    # A constant in the linear term moves the price of the sum and nothing else; without it balls of constant diagonal
    # are minimum norm problems.
    linear = 0.5 * (diagonal[ids] - diagonal[ids].min())
    if nu is not None:
        total, least = nu * float(share.sum()), float(share.min())
        if 0.0 < total < least:
            return ConstantSumMachine(ids, linear, share / least, 1.0)
        return _ball(ids, linear, share, total)
    if C * float(share.min()) >= 1.0:
        return ConstantSumMachine(ids, linear, np.ones(len(ids)), 1.0)
    return _ball(ids, linear, np.minimum(share, 1.0 / C), 1.0 / C)


def _ball(ids: NDArray[np.int32], linear: Vector, upper: Vector, total: float) -> ConstantSumMachine:
    """Build the machine at a scale at which squares of the sum are numbers, too; the ball is the same at any."""
    if total == 0.0:
        raise ValueError("nu times the sum of the weights is 0 in float64; raise nu, or the weights.")
    if 1.0 / MODERATE <= total <= MODERATE:
        return ConstantSumMachine(ids, linear, upper, total)
    unit = 2.0 ** math.floor(math.log2(total))
    # No coefficient exceeds the sum.
    return ConstantSumMachine(ids, linear, np.minimum(upper, total) / unit, total / unit)


def is_hard(machine: ConstantSumMachine) -> bool:
    """Whether no bound can hold a variable back, so that the ball encloses everything."""
    return bool((machine.upper >= machine.total).all())


def ball_unit(
    machine: ConstantSumMachine,
    rows: RowSource,
    diagonal: Vector,
    options: SolverOptions,
    stop: StopRule | None = None,
) -> float:
    """Return the unit of the tolerance: the spread, or the least that can be told from rounding.

    That is the mean squared distance of the samples from their mean, by an even selection of them; where the time of
    `stop` does not even suffice for that, an estimate.
    """
    chosen = np.unique(np.linspace(0, len(machine.ids) - 1, SPREAD_SUBSET).astype(np.intp))
    ids, share = machine.ids[chosen], machine.upper[chosen] / machine.upper[chosen].sum()
    problem = DualProblem(np.zeros(len(ids)), np.zeros(len(ids)), np.ones(len(ids)), (1.0, 0.0))
    plain = replace(options, solver="smo")
    # No step is taken: what is asked for is the gradient.
    still = replace(stop or StopRule(), max_iterations=0)
    at_mean = solve_all([Subproblem(ids, problem, share)], rows, stop=still, options=plain)[0]
    spread = float(share @ diagonal[ids] + at_mean.alpha @ at_mean.gradient)
    unit = max(spread, ROUNDING * float(np.abs(diagonal[machine.ids]).max()))
    return unit if unit > 0 else 1.0


def train_ball(
    machine: ConstantSumMachine, rows: RowSource, diagonal: Vector, *, stop: StopRule, options: SolverOptions
) -> tuple[Ball, Solution, float]:
    """Find the smallest ball to a violation of `tolerance` times the spread; return it, the solution and the spread.

    Parameters
    ----------
    machine : ConstantSumMachine
        From :func:`ball_machine`.
    rows : RowSource
        Kernel rows of all samples.
    diagonal : ndarray of shape (n,)
        k(x_n, x_n) of all samples.
    stop, options
        See :mod:`widemargin.machines.dual`.
    """
    unit = ball_unit(machine, rows, diagonal, options, stop)
    scaled = scaled_stop(machine, diagonal, unit, stop, options)
    problem, solution = train(machine, rows, stop=scaled, options=options)
    return read_ball(machine, problem, solution, diagonal, unit), solution, unit


def scaled_stop(
    machine: ConstantSumMachine, diagonal: Vector, unit: float, stop: StopRule, options: SolverOptions
) -> StopRule:
    """Translate a tolerance in units of the spread into one of the problem solved."""
    tolerance = 0.5 * stop.tolerance * unit * machine.total
    if options.is_geometric:
        # Theirs is relative to the squared norm of T times the centre, which is at most this.
        tolerance /= machine.total**2 * float(diagonal[machine.ids].max())
    return replace(stop, tolerance=tolerance)


def squared_distances(
    machine: ConstantSumMachine, problem: DualProblem, solution: Solution, diagonal: Vector
) -> tuple[Vector, float]:
    """Squared distances of the samples from the centre, and the centre's squared norm, from the gradient."""
    similarity = machine.similarities(problem, solution)
    norm = float(solution.alpha @ similarity) / problem.total[0]
    return diagonal[machine.ids] - 2.0 * similarity + norm, norm


def read_ball(
    machine: ConstantSumMachine, problem: DualProblem, solution: Solution, diagonal: Vector, unit: float
) -> Ball:
    """Read the ball off a solution: on its surface lie the samples whose variables are inside their bounds."""
    total = problem.total[0]
    solution = with_borders(problem, solution)
    distances, norm = squared_distances(machine, problem, solution, diagonal)
    least = float(diagonal[machine.ids].min())
    # On the surface the gradient T y_n - (Ka)_n is the price of the sum, with y_n = (k(x_n, x_n) - least) / 2.
    hard, objective = is_hard(machine), 2.0 * solution.outcome.objective / total**2 + least
    radius = float(distances.max()) if hard else 2.0 * solution.intercept / total + least + norm
    outcome = solution.outcome.certified(
        2.0 * solution.outcome.kkt_violation / (total * unit),
        # A ball that encloses everything is a primal point without slack.
        radius - objective if hard else 2.0 * solution.outcome.duality_gap / total**2,
        objective,
    )
    return Ball(solution.alpha / total, norm, radius, distances, outcome)


def ball_chain(
    kernel: ChainKernel,
    machines: Sequence[ConstantSumMachine],
    diagonal: Vector,
    unit: float,
    *,
    start: Vector | None = None,
    stop: StopRule,
) -> Iterator[tuple[Ball, Vector, LinkSolution]]:
    """Find balls that differ in C or nu, each from the last one.

    Parameters
    ----------
    kernel : ChainKernel
        Of all samples.
    machines : sequence of ConstantSumMachine
        From :func:`ball_machine`, over the same samples; the others are held out.
    diagonal : ndarray of shape (n,)
        k(x_n, x_n) of all samples.
    unit : float
        See :func:`ball_unit`.
    start : ndarray of shape (n,), optional
        Coefficients of a centre to start from.
    stop : StopRule
        Its tolerance is in units of the spread; the deadline is for all balls together.

    Yields
    ------
    (Ball, ndarray, LinkSolution)
        The ball, squared distances of all samples from its centre, and what was solved: for a sum of 1. Fewer where
        time ran out.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> kernel = ChainKernel(row_source(np.array([[0.0], [2.0], [5.0]]), kernel="linear"))
    >>> diagonal = kernel.diagonal()
    >>> machine = ball_machine(np.array([1.0, 1.0, 0.0]), diagonal)
    >>> ((ball, distances, _),) = ball_chain(kernel, [machine], diagonal, 1.0, stop=StopRule())
    >>> round(ball.squared_radius, 6), distances.round(6).tolist()
    (1.0, [1.0, 1.0, 16.0])
    """
    ids, n = machines[0].ids, len(diagonal)
    linear = 0.5 * (diagonal - diagonal[ids].min())
    problems = []
    for machine in machines:
        upper = np.zeros(n)
        # No variable exceeds the sum: twice the sum is no bound.
        upper[ids] = np.minimum(machine.upper / machine.total, 2.0)
        problems.append(DualProblem(linear, np.zeros(n), upper, (1.0, 0.0)))
    begin = None if start is None else settled(start, linear, problems[0].upper, 1.0)
    found = solve_sums(kernel, problems, begin, replace(stop, tolerance=0.5 * stop.tolerance * unit))
    for problem, one in zip(problems, found, strict=False):
        own = ConstantSumMachine(ids, linear[ids], problem.upper[ids], 1.0)
        inside = replace(one.solution, alpha=one.solution.alpha[ids], gradient=one.solution.gradient[ids])
        ball = read_ball(own, own.problem(), inside, diagonal, unit)
        distances = diagonal - 2.0 * scores_of(one.solution, linear) + ball.squared_norm
        yield ball, distances, one

r"""One-class machines: half-spaces that hold most of the samples and keep away from the origin.

With the nu penalty [Schoelkopf2001], for weights w_n of total W,

    minimise ||w||^2 / 2 + sum_n w_n xi_n - nu W rho   subject to   <w, phi(x_n)> >= rho - xi_n, xi_n >= 0,

whose dual is: maximise -a'Ka/2 subject to sum(a) = nu W, 0 <= a_n <= w_n. The price of the sum is -rho.

With squared slack [Timm2009, eq. 1]

    minimise ||w||^2 / 2 + sum_n C_n xi_n^2 / 2   subject to   <w, phi(x_n)> >= 1 - xi_n,

whose dual is: maximise sum(a) - a'K*a/2 subject to a >= 0, with K* = K + diag(1 / C_n) [Timm2009, eq. 3 as a maximum].
On the ray a = s p with sum(p) = 1 the maximum is at s = 1 / p'K*p and worth s / 2: the machine is the point of least
norm in the convex hull of the samples under K*, scaled to margin 1. So this one, too, has a constant sum, and the
solvers of the minimum norm problem solve it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.kernels.spread import moderate
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution
from widemargin.machines.classifier import ridge_of
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Subproblem,
    solve_all,
    values_of,
)

Vector = NDArray[np.float64]

Mask = NDArray[np.bool_]

#: Problems of more variables start from the solution for a subset of them, every so many-th, between these sizes.
SUBSET_SIZES = (1000, 5000)
#: Share of the problem that the subset takes, within these sizes.
SUBSET_SHARE = 0.05
#: Violation at which a subset is solved well enough, as a share of the typical gradient.
SUBSET_TOLERANCE = 0.01

#: Times that the tolerance of the minimum norm problem follows the norm found; each solve continues the last.
MOST_SOLVES = 20


@dataclass(frozen=True)
class ConstantSumMachine:
    """Variables of one sign with a constant sum T: maximise T y'a - a'Ka/2 subject to sum(a) = T, 0 <= a <= u.

    Parameters
    ----------
    ids : ndarray of shape (m,)
        The samples with a variable.
    linear : ndarray of shape (m,)
        y, the linear term for T = 1.
    upper : ndarray of shape (m,)
        u; infinite for none.
    total : float
        T.
    ridge : ndarray of shape (m,), optional
        What a squared slack adds to the diagonal of K.
    """

    ids: NDArray[np.int32]
    linear: Vector
    upper: Vector
    total: float
    ridge: Vector | None = None

    def problem(self, member: Mask | None = None) -> DualProblem:
        """Build the dual problem; variables that are no members have the box [0, 0].

        Where there are bounds, the sum shrinks in proportion to theirs. A held-out sample that way still has a
        gradient, from which its score can be read.
        """
        upper = self.upper if member is None else np.where(member, self.upper, 0.0)
        bounded = bool(np.isfinite(self.upper).all())
        total = self.total * float(upper.sum() / self.upper.sum()) if bounded else self.total
        if bounded:
            # No variable exceeds the sum: twice the sum is no bound, and keeps the digits of small variables.
            upper = np.minimum(upper, 2.0 * total)
        return DualProblem(total * self.linear, np.zeros(len(upper)), upper, (total, 0.0))

    def source(self, rows: RowSource) -> tuple[RowSource, NDArray[np.int32]]:
        """Give the kernel rows and, for each variable, its row."""
        if self.ridge is None:
            return rows, self.ids
        return derived_rows(rows, base=self.ids, ridge=self.ridge), np.arange(len(self.ids), dtype=np.int32)

    def similarities(self, problem: DualProblem, solution: Solution) -> Vector:
        """Read (Ka)_n / T, ridge aside, off the gradient: with it every sample has its score without further cost."""
        return scores_of(solution, problem.linear, self.ridge) / problem.total[0]


def scores_of(
    solution: Solution, linear: Vector | float = 0.0, ridge: Vector | None = None, at: Any = slice(None)
) -> Vector:
    """Read scores off a solution, of samples held out too: decision values before the threshold, (Ka)_n.

    Examples
    --------
    >>> outcome = Outcome("converged", 0.0, 0.0, 0.0, "float64")
    >>> scores_of(Solution(np.array([0.5, 0.0]), np.array([-0.25, -0.75]), -0.25, outcome)).tolist()
    [0.25, 0.75]
    """
    return values_of(replace(solution, intercept=0.0), linear, ridge, at)


def nu_machine(weights: Vector, nu: float, scale: float = 1.0) -> ConstantSumMachine:
    """Build the machine with the nu penalty; samples of weight 0 have no variable.

    Variables are those of the penalty divided by `scale`: see :func:`nu_scale`.

    Examples
    --------
    >>> machine = nu_machine(np.array([1.0, 0.0, 3.0]), 0.5)
    >>> machine.ids.tolist(), machine.upper.tolist(), machine.total
    ([0, 2], [1.0, 3.0], 2.0)
    """
    ids = np.flatnonzero(weights > 0).astype(np.int32)
    upper = np.ascontiguousarray(weights[ids] / scale, dtype=np.float64)
    return ConstantSumMachine(ids, np.zeros(len(ids)), upper, nu * float(upper.sum()))


def nu_scale(total: float, typical: float) -> float:
    """Scale at which machines with the nu penalty are solved: scores there are no smaller than a tolerance thinks.

    Scores grow with the sum of the coefficients, nu W, and with the kernel; the tolerance does not. Where typical
    scores are below 1, those of the problem that is solved are between 1 and 2. The scale is a power of two, which
    costs no digit.

    Parameters
    ----------
    total : float
        Sum of the coefficients.
    typical : float
        Typical kernel value of a sample and itself.

    Examples
    --------
    >>> nu_scale(500.0, 1.0), nu_scale(0.1, 1.0)
    (1.0, 0.0625)
    """
    score = total * typical
    return 1.0 if score >= 1.0 or score == 0.0 else 2.0 ** math.floor(math.log2(score))


def times(solution: Solution, scale: float) -> Solution:
    """Multiply a solution without a linear term by a scale, its certificate too."""
    if scale == 1.0:
        return solution
    outcome = solution.outcome
    return replace(
        solution,
        alpha=scale * solution.alpha,
        gradient=scale * solution.gradient,
        intercept=scale * solution.intercept,
        second_intercept=scale * solution.second_intercept,
        outcome=replace(
            outcome,
            kkt_violation=scale * outcome.kkt_violation,
            # The square of a scale may be beyond float64 where these are not.
            duality_gap=scale * (scale * outcome.duality_gap),
            objective=scale * (scale * outcome.objective),
        ),
    )


def squared_slack_machine(prices: Vector) -> ConstantSumMachine:
    """Build the minimum norm problem of the machine with squared slack; `prices` are C_n, 0 leaves a sample out."""
    ids = np.flatnonzero(prices > 0).astype(np.int32)
    return ConstantSumMachine(ids, np.zeros(len(ids)), np.full(len(ids), np.inf), 1.0, ridge_of(0.5 * prices[ids]))


def settled(alpha: Vector, keen: Vector, upper: Vector, total: float) -> Vector:
    """Add what is missing to `total` at the variables with the largest `keen`, or take it from those with the smallest.

    No more than one variable ends between its bounds that was not there before: a sparse point stays sparse, which the
    nearest feasible point would not be.

    Examples
    --------
    >>> settled(np.zeros(3), np.array([1.0, 3.0, 2.0]), np.ones(3), 1.5).tolist()
    [0.0, 1.0, 0.5]
    """
    point = np.clip(alpha, 0.0, upper)
    missing = total - float(point.sum())
    if missing == 0.0:
        return point
    room = upper - point if missing > 0 else point
    able = np.flatnonzero(room)
    order = able[np.argsort(-keen[able] if missing > 0 else keen[able], kind="stable")]
    # Bounds may be infinite: one variable then takes everything.
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    share = np.clip(abs(missing) - before, 0.0, room[order])
    point[order] += share if missing > 0 else -share
    return np.asarray(np.clip(point, 0.0, upper))


def train(
    machine: ConstantSumMachine, rows: RowSource, *, stop: StopRule, options: SolverOptions
) -> tuple[DualProblem, Solution]:
    """Solve a machine's problem from a sparse starting point: the samples that a subset's machine scores lowest.

    Only as many kernel rows as there are variables at their bounds have to be computed before the first step. The
    subset's steps and kernel values count.
    """
    source, ids = machine.source(rows)
    problem = machine.problem()
    coarse = None if options.is_geometric else _coarse(machine, source, ids, stop, options)
    known, keen = (np.zeros(len(ids)), _spread(len(ids))) if coarse is None else (coarse.alpha, coarse.gradient)
    start = settled(known, keen, problem.upper, problem.total[0])
    left = stop if coarse is None else stop.after(coarse.outcome.iterations)
    solution = solve_all([Subproblem(ids, problem, start)], source, stop=left, options=options)[0]
    if coarse is not None:
        solution = replace(solution, outcome=solution.outcome.with_work([coarse.outcome, solution.outcome]))
    return problem, solution


def _spread(n: int) -> Vector:
    """Prefer variables that lie far apart: those at bit-reversed positions come in order."""
    bits = max(1, int(n - 1).bit_length())
    positions, reverse = np.arange(n), np.zeros(n, dtype=np.int64)
    for bit in range(bits):
        reverse |= ((positions >> bit) & 1) << (bits - 1 - bit)
    return -reverse.astype(np.float64)


def _coarse(
    machine: ConstantSumMachine, source: RowSource, ids: NDArray[np.int32], stop: StopRule, options: SolverOptions
) -> Solution | None:
    """Solve the machine of every so many-th variable, roughly; its gradient scores all of them."""
    n = len(ids)
    size = int(np.clip(SUBSET_SHARE * n, *SUBSET_SIZES))
    if n < 2 * size:
        return None
    member = np.zeros(n, dtype=bool)
    member[np.linspace(0, n - 1, size).astype(np.intp)] = True
    problem = machine.problem(member)
    start = settled(np.zeros(n), _spread(n), problem.upper, problem.total[0])
    typical = problem.total[0] * float(np.abs(source.diagonal()[ids[member]]).mean())
    rough = replace(stop, tolerance=max(stop.tolerance, SUBSET_TOLERANCE * typical))
    return solve_all([Subproblem(ids, problem, start)], source, stop=rough, options=options)[0]


def train_squared_slack(
    machine: ConstantSumMachine, rows: RowSource, *, stop: StopRule, options: SolverOptions
) -> tuple[DualProblem, Solution]:
    """Solve the minimum norm problem until its violation is within `tolerance` of the machine at margin 1.

    What the tolerance means for the minimum norm problem depends on the norm, which is known only in the end; no
    sample's norm is smaller. The solver starts with the tolerance for the smallest of these and goes on from where it
    stopped with that for the norm found, until this is no news. (The geometric solvers' own tolerance is relative
    already.)
    """
    if options.is_geometric:
        return train(machine, rows, stop=stop, options=options)
    source, ids = machine.source(rows)
    most = float(source.diagonal()[ids].min())
    problem, solution = train(machine, rows, stop=replace(stop, tolerance=stop.tolerance * most), options=options)
    for _ in range(MOST_SOLVES):
        tolerance = stop.tolerance * squared_norm(solution)
        if solution.outcome.reason != "converged" or solution.outcome.kkt_violation <= tolerance:
            break
        left = stop.after(solution.outcome.iterations)
        further = Subproblem(ids, problem, solution.alpha, solution.gradient)
        found = solve_all([further], source, stop=replace(left, tolerance=tolerance), options=options)[0]
        solution = replace(found, outcome=found.outcome.with_work([solution.outcome, found.outcome]))
    return problem, solution


def squared_norm(solution: Solution) -> float:
    """a'K*a of a minimum norm problem, from its gradient -K*a."""
    return -float(solution.alpha @ solution.gradient)


def at_margin_one(machine: ConstantSumMachine, solution: Solution) -> tuple[Vector, Outcome]:
    """Scale a minimum norm point to the machine with squared slack; its outcome then certifies that machine.

    The gap is [Timm2009, section 1.1] with xi_n = max(0, 1 - (Ka)_n), not divided by the primal value.

    Returns
    -------
    (ndarray, Outcome)
        Coefficients of the samples in ``machine.ids``, and the outcome in the units of the margin.
    """
    if machine.ridge is None:
        raise ValueError("Only models with squared slack have a margin of 1; this problem has no ridge.")
    # The best point of the ray, also where rounding has taken the sum away from 1.
    scale = float(solution.alpha.sum()) / squared_norm(solution)
    alpha, gradient = scale * solution.alpha, 1.0 + scale * solution.gradient
    lowest = float(np.min(gradient, where=alpha > 0, initial=0.0))
    scores = 1.0 - gradient - machine.ridge * alpha
    slack = np.maximum(0.0, 1.0 - scores)
    dual = 0.5 * float(alpha.sum() + alpha @ gradient)
    primal = 0.5 * float(alpha @ scores + slack @ (slack / machine.ridge))
    violation = float(np.max(gradient, initial=0.0)) - lowest
    return alpha, solution.outcome.certified(violation, primal - dual, dual)


def train_without(
    machine: ConstantSumMachine,
    solution: Solution,
    folds: Sequence[Mask],
    rows: RowSource,
    *,
    stop: StopRule,
    options: SolverOptions,
) -> list[tuple[DualProblem, Solution]]:
    """Train a machine without each of the folds, starting from the one trained on everything."""
    source, ids = machine.source(rows)
    problems = [machine.problem(~held_out) for held_out in folds]
    subproblems = [
        Subproblem(ids, problem, settled(solution.alpha, solution.gradient, problem.upper, problem.total[0]))
        for problem in problems
    ]
    # Gradients grow with the sum, and so does what a violation means.
    smallest = min(problem.total[0] for problem in problems)
    stop = replace(stop, tolerance=stop.tolerance * smallest / machine.total)
    return list(zip(problems, solve_all(subproblems, source, stop=stop, options=options), strict=True))


def solve_sums(
    kernel: ChainKernel, problems: Sequence[DualProblem], start: Vector | None, stop: StopRule
) -> Iterator[LinkSolution]:
    """Solve problems over variables of one sign with a constant sum, each from the last one.

    A solution is scaled to the next sum and moved into the next box; what is missing then goes to the variables with
    the largest gradient. While no variable meets its bound, the scaled solution is the next one.

    Parameters
    ----------
    kernel : ChainKernel
        Of all variables.
    problems : sequence of DualProblem
        Lower bounds are 0, sums positive.
    start : ndarray, optional
        For the first of them.
    stop : StopRule
        For each of them; the deadline is for all together.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> kernel = ChainKernel(row_source(np.eye(4), kernel="linear"))
    >>> problems = [DualProblem(np.zeros(4), np.zeros(4), np.ones(4), (total, 0.0)) for total in (1.0, 2.0)]
    >>> found = list(solve_sums(kernel, problems, None, StopRule(1e-9)))
    >>> [one.solution.alpha.round(6).tolist() for one in found], found[1].solution.outcome.iterations
    ([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.5, 0.5]], 0)
    """
    if start is None and kernel.matrix is None:
        # As many variables as it takes, evenly spread, rather than all: each costs a row of the kernel.
        upper = problems[0].upper
        start = settled(np.zeros(len(upper)), _spread(len(upper)), upper, problems[0].total[0])
    return kernel.solve(Chain(tuple(Link(problem) for problem in problems), start=start), stop)


def rejecting_threshold(scores: Vector, weights: Vector, fraction: float) -> float:
    """Largest of the scores below which no more than this fraction of the weight lies.

    Examples
    --------
    >>> rejecting_threshold(np.array([4.0, 1.0, 3.0, 2.0]), np.ones(4), 0.25)
    2.0
    """
    weights = moderate(weights)
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    # Equal scores go together, whether they come from one row of weight 2 or from two rows.
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    below = np.concatenate([[0.0], np.cumsum(weights[order])])[first]
    allowed = fraction * float(weights.sum()) * (1.0 + 1e-12)
    return float(ascending[first[np.flatnonzero(below <= allowed)[-1]]])

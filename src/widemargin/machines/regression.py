r"""Regression: a tube of half width epsilon around the targets, of given width or of a width that nu decides.

The function is f(x) = sum_n a_n k(x_n, x) + b: where a_n > 0, sample n pulls it up to its tube, where a_n < 0, down.
The machines are, in the form of eq. 4.1 of [Glasmachers2008] with r_n = |y_n - f(x_n)|,

* minimise ||w||^2 / 2 + sum_n C_n max(0, r_n - epsilon) [Glasmachers2008, section 2.3]: linear term y, a kink of
  epsilon at 0, boxes [-C_n, C_n], and all variables together sum to 0;
* minimise ||w||^2 / 2 + sum_n C_n max(0, r_n - epsilon)^2: the same without bounds, and 1 / (2 C_n) on the diagonal of
  the kernel, as for the 2-norm classifier [Glasmachers2008, section 2.2];
* minimise ||w||^2 / 2 + sum_n C_n (nu epsilon + max(0, r_n - epsilon)) over epsilon >= 0 too: here every sample has
  two variables with its kernel row, a+ in [0, C_n] for the upper side of the tube and a- in [-C_n, 0] for the lower
  one, a_n = a+_n + a-_n; linear term y, the a+ sum to nu sum(C) / 2, the a- to its opposite [Chang2011, section 2.5].

The thesis has two variables per sample in the first two machines as well, with linear terms y - epsilon and y + epsilon
and boxes [0, C_n] and [-C_n, 0]. At an optimum one of the two is 0, since moving both towards 0 by the same amount t
gains 2 epsilon t and leaves the function as it is; with a_n = a+_n + a-_n their part of the objective is then
y_n a_n - epsilon |a_n|. The kink says the same with half the variables, and so half the rows and scans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.machines.chain import ChainKernel, Link, LinkSolution
from widemargin.machines.classifier import rescaled, ridge_of, typical
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Subproblem,
    solve,
    solve_all,
)
from widemargin.machines.hard_margins import HARD_MARGIN_LADDER, solve_hard
from widemargin.machines.nu_classifier import ROUNDING, restored
from widemargin.machines.nu_property import with_borders

Vector = NDArray[np.float64]

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@dataclass(frozen=True)
class Regression:
    """The function that was found: f(x) = sum_n coefficients[n] k(x_n, x) + intercept.

    `epsilon` is the half width of its tube. `variables` are those of the dual problem, from which another solve can
    start: the coefficients themselves or, where nu decides the width, the variables of the upper sides of all samples,
    then those of their lower sides. `tube_found` is unset where C=inf asked for all targets inside the tube, but the
    largest finite C tried holds variables back.
    """

    coefficients: Vector
    intercept: float
    epsilon: float
    variables: Vector
    outcome: Outcome
    tube_found: bool = True


def tube(targets: Vector, epsilon: float, bounds: Vector) -> DualProblem:
    """Build the dual problem of the epsilon-insensitive loss: one variable per sample, with a kink at 0.

    Examples
    --------
    >>> problem = tube(np.array([3.0, 5.0]), 0.5, np.array([1.0, 2.0]))
    >>> problem.linear.tolist(), problem.kink.tolist(), problem.lower.tolist(), problem.upper.tolist()
    ([3.0, 5.0], [0.5, 0.5], [-1.0, -2.0], [1.0, 2.0])
    """
    return DualProblem(targets, -bounds, bounds, kink=np.full(len(targets), epsilon))


def nu_tube(targets: Vector, nu: float, bounds: Vector) -> DualProblem:
    """Build the dual problem of the machine that finds its own epsilon: the sums of the two sides are its price.

    The variables are those of the upper sides of all samples, then those of their lower sides.

    Examples
    --------
    >>> problem = nu_tube(np.array([3.0, 5.0]), 0.5, np.array([1.0, 2.0]))
    >>> problem.linear.tolist(), problem.lower.tolist(), problem.upper.tolist()
    ([3.0, 5.0, 3.0, 5.0], [0.0, 0.0, -1.0, -1.5], [1.0, 1.5, 0.0, 0.0])
    >>> problem.total, problem.group.tolist()
    ((0.75, -0.75), [0, 0, 1, 1])
    """
    total, nothing = 0.5 * nu * float(bounds.sum()), np.zeros(len(targets))
    # No variable exceeds the sum: twice the sum is no bound, and keeps the digits of small variables.
    limits = np.minimum(bounds, 2.0 * total)
    return DualProblem(
        np.tile(targets, 2),
        np.concatenate([nothing, -limits]),
        np.concatenate([limits, nothing]),
        total=(total, -total),
        group=np.repeat(np.array([0, 1], dtype=np.uint8), len(targets)),
    )


def solve_tube(
    rows: RowSource,
    targets: Vector,
    bounds: Vector,
    *,
    epsilon: float,
    loss: str = "epsilon_insensitive",
    stop: StopRule,
    options: SolverOptions,
    start: Vector | None = None,
) -> Regression:
    """Train the machine with a tube of given width.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of all samples.
    targets : ndarray of shape (n,)
    bounds : ndarray of shape (n,)
        C of every sample; 0 leaves the sample out, inf wants its target inside the tube.
    epsilon : float
        Half width of the tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        What counts beyond the tube: the distance, or its square.
    stop, options
        See :mod:`widemargin.machines.dual`.
    start : ndarray of shape (n,), optional
        Variables to start from.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> rows = row_source(np.array([[0.0], [1.0]]), kernel="linear")
    >>> found = solve_tube(
    ...     rows, np.array([0.0, 3.0]), np.full(2, 10.0), epsilon=0.5, stop=StopRule(), options=SolverOptions()
    ... )
    >>> found.coefficients.tolist(), found.intercept
    ([-2.0, 2.0], 0.5)
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {loss!r}.")
    used = np.flatnonzero(bounds > 0).astype(np.int32)
    y, prices = targets[used], bounds[used]
    begin, found = None if start is None else start[used], True
    if np.isinf(prices).any():
        solution, found = _solve_hard(rows, used, y, prices, epsilon, stop=stop, options=options, start=begin)
    else:
        if loss == "squared_epsilon_insensitive":
            problem, rows = tube(y, epsilon, np.full(len(y), np.inf)), derived_rows(rows, ridge=ridge_of(bounds))
        else:
            problem = tube(y, epsilon, prices)
        solution = solve_all([Subproblem(used, problem, begin)], rows, stop=stop, options=options)[0]
    coefficients = np.zeros(len(targets))
    coefficients[used] = solution.alpha
    return Regression(coefficients, solution.intercept, epsilon, coefficients, solution.outcome, found)


def solve_nu_tube(
    rows: RowSource,
    targets: Vector,
    bounds: Vector,
    *,
    nu: float,
    stop: StopRule,
    options: SolverOptions,
    start: Vector | None = None,
) -> Regression:
    """Train the machine that finds the width of its tube.

    Parameters are those of :func:`solve_tube`; `nu`, in (0, 1], takes the place of epsilon, the bounds are finite, and
    `start` has the 2 n variables of both sides. The two prices of the sums are b + epsilon and b - epsilon.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> rows = row_source(np.array([[0.0], [1.0], [2.0]]), kernel="linear")
    >>> found = solve_nu_tube(
    ...     rows, np.array([0.0, 3.0, 0.0]), np.ones(3), nu=0.5, stop=StopRule(), options=SolverOptions()
    ... )
    >>> round(found.intercept, 9), round(found.epsilon, 9)
    (1.5, 1.5)
    """
    used = np.flatnonzero(bounds > 0)
    y, prices = targets[used], bounds[used]
    both_sides = np.concatenate([used, used + len(targets)])
    problem, mirrored = nu_tube(y, nu, prices), derived_rows(rows, base=np.tile(used, 2))
    if start is None:
        begin, gradient = _balanced(problem, problem.upper[: len(y)]), problem.linear
    else:
        begin, gradient = start[both_sides], None
    solution = solve(problem, mirrored, stop=stop, options=options, start=begin, start_gradient=gradient)
    solution = with_borders(problem, solution, _rounding(problem, rows.diagonal()[used]))
    variables = np.zeros(2 * len(targets))
    variables[both_sides] = solution.alpha
    coefficients = variables[: len(targets)] + variables[len(targets) :]
    gap = _nu_gap(nu, prices, coefficients[used], solution.gradient[: len(y)], solution)
    return Regression(coefficients, *nu_function(solution), variables, replace(solution.outcome, duality_gap=gap))


def nu_function(solution: Solution) -> tuple[float, float]:
    """Return the constant of the function and the half width of its tube, from the prices of the two sums."""
    # Within the tolerance the two prices may come in the wrong order; the tube then has no width.
    epsilon = max(0.0, 0.5 * (solution.intercept - solution.second_intercept))
    return 0.5 * (solution.intercept + solution.second_intercept), epsilon


def _rounding(problem: DualProblem, diagonal: Vector) -> float:
    """Return what rounding may add to a residual: so much wider tubes have the samples on their edges inside."""
    return ROUNDING * (float(np.abs(problem.linear).max()) + problem.total[0] * float(np.abs(diagonal).max()))


def _nu_gap(nu: float, prices: Vector, coefficients: Vector, residuals: Vector, solution: Solution) -> float:
    """Return the primal minus the dual value; `residuals` are those of the function without its constant."""
    if not solution.outcome.known:
        return solution.outcome.duality_gap
    intercept, epsilon = nu_function(solution)
    loss = nu * epsilon + np.maximum(0.0, np.abs(residuals - intercept) - epsilon)
    return max(0.0, float(prices @ loss - residuals @ coefficients))


def solve_nu_tube_chain(
    kernel: ChainKernel, targets: Vector, bounds: Sequence[Vector], fractions: Sequence[float], *, stop: StopRule
) -> Iterator[LinkSolution]:
    """Train machines that find the widths of their tubes, each from the last one.

    Parameters
    ----------
    kernel : ChainKernel
        Of all samples.
    targets : ndarray of shape (n,)
    bounds : sequence of ndarray of shape (n,)
        C of every sample for each machine; the same ones are 0, which holds them out.
    fractions : sequence of float
        nu of each machine.
    stop : StopRule
        For each of them; the deadline is for all together.

    Yields
    ------
    LinkSolution
        Coefficients and gradients of all samples, and the prices of the two sums: see :func:`nu_function`. Fewer where
        time ran out.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> kernel = ChainKernel(row_source(np.array([[0.0], [1.0], [2.0]]), kernel="linear"))
    >>> (found,) = solve_nu_tube_chain(kernel, np.array([0.0, 3.0, 0.0]), [np.ones(3)], [0.5], stop=StopRule())
    >>> tuple(round(number, 9) for number in nu_function(found.solution))
    (1.5, 1.5)
    """
    n, used = len(targets), np.flatnonzero(bounds[0] > 0)
    # Every sample has a variable for its upper side, those to train on another one for the lower.
    ids = np.concatenate([np.arange(n), used]).astype(np.int32)
    group = np.repeat(np.array([0, 1], dtype=np.uint8), [n, len(used)])
    links = []
    for prices, nu in zip(bounds, fractions, strict=True):
        total = 0.5 * nu * float(prices.sum())
        limits = np.minimum(prices[ids], 2.0 * total)
        lower, upper = np.where(group == 0, 0.0, -limits), np.where(group == 0, limits, 0.0)
        links.append(Link(DualProblem(targets[ids], lower, upper, (total, -total), group)))

    def start(link: Link, last: LinkSolution | None) -> Vector:
        both = np.concatenate([used, np.arange(n, len(ids))])
        begin = np.zeros(len(ids))
        if last is None:
            begin[both] = _balanced(link.problem, link.problem.upper[used])
            return begin
        return _following(link.problem, last.solution, both)

    found, diagonal = kernel.part(ids).walk(links, start, stop), kernel.diagonal()[used]
    for one, link, prices, nu in zip(found, links, bounds, fractions, strict=False):
        # Both variables of a sample have one gradient, but for rounding: that which values are read from.
        gradient = one.solution.gradient[:n]
        both = replace(one.solution, gradient=gradient[ids])
        solution = with_borders(link.problem, both, _rounding(link.problem, diagonal))
        coefficients = solution.alpha[:n].copy()
        coefficients[used] += solution.alpha[n:]
        gap = _nu_gap(nu, prices[used], coefficients[used], gradient[used], solution)
        outcome = replace(solution.outcome, duality_gap=gap)
        yield replace(one, solution=replace(solution, alpha=coefficients, gradient=gradient, outcome=outcome))


def rescaled_start(variables: Vector, old: Vector, new: Vector) -> Vector:
    """Scale the variables of an earlier solution to other bounds, as :func:`rescaled` does for a classifier.

    They may be one per sample or, where nu decides the width of the tube, two.

    Examples
    --------
    >>> rescaled_start(np.array([1.0, -0.5]), np.array([1.0, 2.0]), np.array([3.0, 2.0])).tolist()
    [3.0, -0.5]
    """
    only, sides = (0, 1), len(variables) // len(old)
    return rescaled({only: variables}, np.tile(old, sides), np.tile(new, sides))[only]


def _balanced(problem: DualProblem, prices: Vector) -> Vector:
    """Fill the two sides of the first samples up to their sums; they cancel, so that no kernel row is needed."""
    upper = _filled(prices, problem.total[0])
    return np.concatenate([upper, -upper])


def _filled(room: Vector, total: float) -> Vector:
    """Distribute a total: to the first ones as much as they have room for."""
    before = np.cumsum(room) - room
    return np.asarray(np.clip(total - before, 0.0, room))


def _following(problem: DualProblem, last: Solution, both: NDArray[np.intp]) -> Vector:
    """Return where to start from the last solution; `both` are the upper variables of samples, then their lower ones.

    Either the function grows with the sums, or it stays and the sums are filled up where the two sides of a sample
    cancel: whichever the objective likes better.
    """
    signs, limits = np.where(problem.group == 0, 1.0, -1.0), np.maximum(problem.upper, -problem.lower)
    before = float(last.alpha[problem.group == 0].sum())
    factor = problem.total[0] / before
    linear, quadratic = float(problem.linear @ last.alpha), float((problem.linear - last.gradient) @ last.alpha)
    start = factor * last.alpha
    if (factor - 1.0) * linear < 0.5 * (factor**2 - 1.0) * quadratic:
        upper, lower = np.split(both, 2)
        sizes = np.abs(last.alpha)
        added = _filled(
            np.maximum(0.0, np.minimum(limits[upper] - sizes[upper], limits[lower] - sizes[lower])),
            problem.total[0] - before,
        )
        start = last.alpha.copy()
        start[upper] += added
        start[lower] -= added
    return restored(start, signs, limits, problem.total[0])


def hard_unit(targets: Vector, epsilon: float, diagonal: Vector) -> float:
    """Return the price that functions with all targets inside the tube are sought with multiples of."""
    outside = 0.5 * float(np.ptp(targets)) - epsilon
    return (outside if outside > 0.0 else 1.0) / typical(diagonal)


def _solve_hard(
    rows: RowSource,
    used: NDArray[np.int32],
    targets: Vector,
    prices: Vector,
    epsilon: float,
    *,
    stop: StopRule,
    options: SolverOptions,
    start: Vector | None,
) -> tuple[Solution, bool]:
    def attempt(raised: Vector, start: Vector | None, left: StopRule) -> Solution:
        problem = Subproblem(used, tube(targets, epsilon, raised), start)
        return solve_all([problem], rows, stop=left, options=options)[0]

    unit = hard_unit(targets, epsilon, rows.diagonal()[used])
    return solve_hard(attempt, prices, [factor * unit for factor in HARD_MARGIN_LADDER], start, stop)

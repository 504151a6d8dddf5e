r"""Regression: a tube of half width epsilon around the targets, of given width or of a width that nu decides.

Every example has two variables, one for each side of the tube: a+ in [0, C_n] pulls the function up to the tube, a- in
[-C_n, 0] pulls it down; both have the example's kernel row. The function is

f(x) = sum_n (a+_n + a-_n) k(x_n, x) + b

and the machines are, in the form of eq. 4.1 of [Glasmachers2008] with r_n = |y_n - f(x_n)|,

* minimise ||w||^2 / 2 + sum_n C_n max(0, r_n - epsilon) [Glasmachers2008, section 2.3]: linear terms y - epsilon and
  y + epsilon, all variables together sum to 0;
* minimise ||w||^2 / 2 + sum_n C_n max(0, r_n - epsilon)^2: the same without upper bounds on the size of the variables,
  and 1 / (2 C_n) on the diagonal of the kernel, as for the 2-norm classifier [Glasmachers2008, section 2.2];
* minimise ||w||^2 / 2 + sum_n C_n (nu epsilon + max(0, r_n - epsilon)) over epsilon >= 0 too: linear term y, the
  variables of the upper side sum to nu sum(C) / 2, those of the lower side to its opposite [Chang2011, section 2.5].
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import RowSource, derived_rows
from widemargin.machines.classifier import HARD_MARGIN_LADDER, rescaled
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Vector,
    solve,
)

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@dataclass(frozen=True)
class Regression:
    """The function that was found: f(x) = sum_n coefficients[n] k(x_n, x) + intercept.

    `epsilon` is the half width of its tube. `variables` are those of the upper sides, then those of the lower sides, of
    all examples. `tube_found` is unset where C=inf asked for all targets inside the tube, but the largest finite C
    tried holds variables back.
    """

    coefficients: Vector
    intercept: float
    epsilon: float
    variables: Vector
    outcome: Outcome
    tube_found: bool = True


def tube(targets: Vector, epsilon: float, bounds: Vector) -> DualProblem:
    """Build the dual problem of the epsilon-insensitive loss: the upper sides of all examples, then the lower sides.

    Examples
    --------
    >>> problem = tube(np.array([3.0, 5.0]), 0.5, np.array([1.0, 2.0]))
    >>> problem.linear.tolist(), problem.lower.tolist(), problem.upper.tolist()
    ([2.5, 4.5, 3.5, 5.5], [0.0, 0.0, -1.0, -2.0], [1.0, 2.0, 0.0, 0.0])
    """
    nothing = np.zeros(len(targets))
    return DualProblem(
        np.concatenate([targets - epsilon, targets + epsilon]),
        np.concatenate([nothing, -bounds]),
        np.concatenate([bounds, nothing]),
    )


def nu_tube(targets: Vector, nu: float, bounds: Vector) -> DualProblem:
    """Build the dual problem of the machine that finds its own epsilon: the sums of the two sides are its price.

    Examples
    --------
    >>> problem = nu_tube(np.array([3.0, 5.0]), 0.5, np.array([1.0, 2.0]))
    >>> problem.total, problem.group.tolist()
    ((0.75, -0.75), [0, 0, 1, 1])
    """
    total = 0.5 * nu * float(bounds.sum())
    sides = np.repeat(np.array([0, 1], dtype=np.uint8), len(targets))
    return replace(tube(targets, 0.0, bounds), total=(total, -total), group=sides)


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
        Kernel rows of all examples.
    targets : ndarray of shape (n,)
    bounds : ndarray of shape (n,)
        C of every example; 0 leaves the example out, inf wants its target inside the tube.
    epsilon : float
        Half width of the tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        What counts beyond the tube: the distance, or its square.
    stop, options
        See :mod:`widemargin.machines.dual`.
    start : ndarray of shape (2 n,), optional
        Variables to start from.

    Examples
    --------
    >>> from widemargin.kernels import row_source
    >>> rows = row_source(np.array([[0.0], [1.0]]), kernel="linear")
    >>> found = solve_tube(
    ...     rows, np.array([0.0, 3.0]), np.full(2, 10.0), epsilon=0.5, stop=StopRule(), options=SolverOptions()
    ... )
    >>> found.coefficients.tolist(), found.intercept
    ([-2.0, 2.0], 0.5)
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {loss!r}.")
    used = np.flatnonzero(bounds > 0)
    y, prices = targets[used], bounds[used]
    begin = None if start is None else start[_both_sides(used, len(targets))]
    base = np.concatenate([used, used])
    if np.isinf(prices).any():
        hard = derived_rows(rows, base=base)
        solution, found = _solve_hard(hard, y, prices, epsilon, stop=stop, options=options, start=begin)
        return _regression(solution, used, len(targets), solution.intercept, epsilon, found)
    if loss == "squared_epsilon_insensitive":
        problem = tube(y, epsilon, np.full(len(y), np.inf))
        mirrored = derived_rows(rows, base=base, ridge=np.tile(0.5 / prices, 2))
    else:
        problem, mirrored = tube(y, epsilon, prices), derived_rows(rows, base=base)
    solution = solve(problem, mirrored, stop=stop, options=options, start=begin)
    return _regression(solution, used, len(targets), solution.intercept, epsilon)


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

    Parameters are those of :func:`solve_tube`; `nu`, in (0, 1], takes the place of epsilon and the bounds are finite.
    The two prices of the sums are b + epsilon and b - epsilon.

    Examples
    --------
    >>> from widemargin.kernels import row_source
    >>> rows = row_source(np.array([[0.0], [1.0], [2.0]]), kernel="linear")
    >>> found = solve_nu_tube(
    ...     rows, np.array([0.0, 3.0, 0.0]), np.ones(3), nu=0.5, stop=StopRule(), options=SolverOptions()
    ... )
    >>> found.intercept, found.epsilon
    (1.5, 1.5)
    """
    used = np.flatnonzero(bounds > 0)
    y, prices = targets[used], bounds[used]
    problem, mirrored = nu_tube(y, nu, prices), derived_rows(rows, base=np.concatenate([used, used]))
    if start is None:
        begin, gradient = _balanced(problem, prices), problem.linear
    else:
        begin, gradient = start[_both_sides(used, len(targets))], None
    solution = solve(problem, mirrored, stop=stop, options=options, start=begin, start_gradient=gradient)
    intercept = 0.5 * (solution.intercept + solution.second_intercept)
    # Within the tolerance the two prices may come in the wrong order; the tube then has no width.
    epsilon = max(0.0, 0.5 * (solution.intercept - solution.second_intercept))
    machine = _regression(solution, used, len(targets), intercept, epsilon)
    residuals = solution.gradient[: len(y)]
    loss = nu * epsilon + np.maximum(0.0, np.abs(residuals - intercept) - epsilon)
    gap = max(0.0, float(prices @ loss - residuals @ machine.coefficients[used]))
    return replace(machine, outcome=replace(machine.outcome, duality_gap=gap))


def rescaled_start(variables: Vector, old: Vector, new: Vector) -> Vector:
    """Scale the variables of an earlier solution to other bounds, as :func:`rescaled` does for a classifier."""
    only = (0, 1)
    return rescaled({only: variables}, np.tile(old, 2), np.tile(new, 2))[only]


def _both_sides(used: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    return np.concatenate([used, used + n])


def _regression(
    solution: Solution, used: NDArray[np.intp], n: int, intercept: float, epsilon: float, tube_found: bool = True
) -> Regression:
    variables = np.zeros(2 * n)
    variables[_both_sides(used, n)] = solution.alpha
    return Regression(variables[:n] + variables[n:], intercept, epsilon, variables, solution.outcome, tube_found)


def _balanced(problem: DualProblem, prices: Vector) -> Vector:
    """Fill the two sides of the first examples up to their sums; they cancel, so that no kernel row is needed."""
    before = np.cumsum(prices) - prices
    upper = np.clip(problem.total[0] - before, 0.0, prices)
    return np.concatenate([upper, -upper])


def _solve_hard(
    rows: RowSource,
    targets: Vector,
    prices: Vector,
    epsilon: float,
    *,
    stop: StopRule,
    options: SolverOptions,
    start: Vector | None,
) -> tuple[Solution, bool]:
    """Raise a finite C until no variable meets it: from there on every larger C gives the same function."""
    began = time.perf_counter()
    hard = np.isinf(prices)
    outside = 0.5 * float(np.ptp(targets)) - epsilon
    typical = max(float(np.mean(rows.diagonal())), np.finfo(np.float64).tiny)
    solutions: list[Solution] = []
    for factor in HARD_MARGIN_LADDER:
        raised = np.where(hard, factor * (outside if outside > 0.0 else 1.0) / typical, prices)
        spent = sum(one.outcome.iterations for one in solutions)
        left = replace(
            stop,
            max_iterations=None if stop.max_iterations is None else max(0, stop.max_iterations - spent),
            max_seconds=None
            if stop.max_seconds is None
            else max(0.0, stop.max_seconds - (time.perf_counter() - began)),
        )
        begin = solutions[-1].alpha if solutions else start
        solutions.append(solve(tube(targets, epsilon, raised), rows, stop=left, options=options, start=begin))
        held_back = bool(np.any(np.tile(hard, 2) & (np.abs(solutions[-1].alpha) >= np.tile(raised, 2))))
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
    return replace(kept, outcome=outcome), not (held_back or torso)

r"""What nu promises: no more than its share of the training weight lies outside [Schoelkopf2001, proposition 3].

In all machines with a nu, variables with sizes s_n in [0, u_n] sum to a constant T that nu decides, and the price b of
that sum is the border: sample n is outside (rejected; inside the margin; beyond the tube) where its slope G_n, the
gradient in the direction in which s_n grows, exceeds b. At an optimum such variables are at their bounds u_n, whence
the weight outside is at most T.

A solution to within a tolerance has free variables on both sides of their mean. Therefore the border is no mean here,
but the largest slope among the variables that are not at their bounds: only variables at their bounds are outside, and
what nu promises holds exactly, whatever the tolerance. The border moves by no more than the violation. Samples *on*
the border are inside. Where all variables are at one bound or the other, and a whole interval of prices is optimal, the
border is its middle.

A solve that was cut short has violations of any size, and that border would lie anywhere. It then is the best one for
the function as it is, the smallest of the slopes that leaves no more than the weight T outside.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widemargin import _core
from widemargin.machines.dual import DualProblem, Solution, Vector
from widemargin.machines.one_class import rejecting_threshold


def border(slopes: Vector, sizes: Vector, bounds: Vector, total: float, *, converged: bool = True) -> float:
    """Return the price of a sum beyond which no more than the weight `total` lies.

    Parameters
    ----------
    slopes : ndarray of shape (n,)
        Gradient in the direction in which a variable grows.
    sizes, bounds : ndarray of shape (n,)
        Variables, from 0 to their bounds. Those with a bound of 0 are held out; where all are, the price is 0.
    total : float
        What the sizes sum to.
    converged : bool
        Whether violations are within the tolerance.

    Examples
    --------
    >>> slopes, sizes, bounds = np.array([3.0, 2.01, 1.99, 1.0]), np.array([1.0, 0.25, 0.25, 0.0]), np.ones(4)
    >>> border(slopes, sizes, bounds, 1.5)
    2.01
    >>> border(slopes, np.array([1.0, 0.0, 0.0, 0.0]), bounds, 1.0)
    2.505
    """
    highest, lowest = _core.slopes_inside(slopes, sizes, bounds)
    if highest < lowest:
        between = highest if math.isinf(lowest) else lowest if math.isinf(highest) else 0.5 * (highest + lowest)
        return 0.0 if math.isinf(between) else between
    if converged:
        return highest
    used = bounds > 0
    return -rejecting_threshold(-slopes[used], bounds[used], total / float(bounds.sum()))


def with_borders(problem: DualProblem, solution: Solution, rounding: float = 0.0) -> Solution:
    """Replace the prices of the sums by borders that keep what nu promises; the gap is that of these prices.

    Parameters
    ----------
    problem : DualProblem
        Without kinks; variables of the first group (all, if there are none) are at least 0, those of the second at most
        0. Variables whose box is [0, 0] are held out.
    solution : Solution
    rounding : float
        Borders lie so much further out, for examples on them to be inside wherever their values are computed.
    """
    converged = solution.outcome.reason == "converged"
    alpha, gradient = solution.alpha, solution.gradient
    if problem.group is None:
        first = border(gradient, alpha, problem.upper, problem.total[0], converged=converged) + rounding
        second, tilt = 0.0, gradient - first
    else:
        mine, others = problem.group == 0, problem.group == 1
        first = border(gradient[mine], alpha[mine], problem.upper[mine], problem.total[0], converged=converged)
        second = -border(
            -gradient[others], -alpha[others], -problem.lower[others], -problem.total[1], converged=converged
        )
        first, second = first + rounding, second - rounding
        tilt = gradient - np.where(mine, first, second)
    outcome = solution.outcome
    if outcome.known:
        gap = _core.gap_above_prices(tilt, alpha, problem.lower, problem.upper)
        outcome = replace(outcome, duality_gap=max(0.0, gap))
    return Solution(alpha, gradient, first, outcome, second)

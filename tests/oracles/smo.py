"""Sequential minimal optimisation, one small pure function per rule [Glasmachers2008, chapters 4, 6 and 7].

A working set is a pair (i, j): a_i goes up by mu and a_j goes down by mu. Nothing here is fast; each function states
the rule that a solver in the core has to follow. The problems are those without kinks: one with kinks is mirrored first
(:func:`widemargin.testing.oracles.mirror`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.testing.oracles import LEAST_CURVATURE
from widemargin.testing.protocols import Matrix, Problem, Vector

Pair = tuple[int, int]


@dataclass(frozen=True)
class Step:
    """A step along e_i - e_j.

    Attributes
    ----------
    size : float
        How far to go (mu).
    newton : float
        The unconstrained optimum along the line (mu-hat).
    free : bool
        Whether the box allows the unconstrained optimum [Glasmachers2008, section 4.3.3].
    planned : bool
        Whether the size was chosen with the next step in mind.
    """

    size: float
    newton: float
    free: bool
    planned: bool = False


def can_rise(problem: Problem, alpha: Vector) -> NDArray[np.bool_]:
    """I_up: the variables below their upper bound."""
    return np.asarray(alpha < problem.upper)


def can_fall(problem: Problem, alpha: Vector) -> NDArray[np.bool_]:
    """I_down: the variables above their lower bound."""
    return np.asarray(alpha > problem.lower)


def slope_along(gradient: Vector, pair: Pair) -> float:
    """v_B' G: how steeply the objective rises along e_i - e_j."""
    return float(gradient[pair[0]] - gradient[pair[1]])


def curvature_between(K: Matrix, first: Pair, second: Pair) -> float:
    """v_B' K v_C for two pairs B and C (their own curvature when they are the same)."""
    (i, j), (m, n) = first, second
    return float(K[i, m] - K[i, n] - K[j, m] + K[j, n])


def own_curvature(K: Matrix, pair: Pair) -> float:
    """v_B' K v_B, but never less than what divisions need."""
    return max(curvature_between(K, pair, pair), LEAST_CURVATURE)


def step_bounds(problem: Problem, alpha: Vector, pair: Pair) -> tuple[float, float]:
    """Return the smallest and the largest step that keep both variables in their boxes."""
    i, j = pair
    smallest = max(problem.lower[i] - alpha[i], alpha[j] - problem.upper[j])
    largest = min(problem.upper[i] - alpha[i], alpha[j] - problem.lower[j])
    return float(smallest), float(largest)


def newton_size(K: Matrix, gradient: Vector, pair: Pair) -> float:
    """Return the unconstrained optimum along the line: far away on a rising one without curvature."""
    return slope_along(gradient, pair) / own_curvature(K, pair)


def step_newton(problem: Problem, K: Matrix, alpha: Vector, gradient: Vector, pair: Pair) -> Step:
    """Return the Newton step clipped to the box [Glasmachers2008, eq. 4.4]."""
    newton = newton_size(K, gradient, pair)
    smallest, largest = step_bounds(problem, alpha, pair)
    return Step(max(min(newton, largest), smallest), newton, smallest <= newton <= largest)


def select_most_violating_pair(problem: Problem, alpha: Vector, gradient: Vector) -> Pair | None:
    """Return the pair with the steepest slope [Glasmachers2008, eq. 4.5]; none at an optimum. Of equals the first."""
    up, down = can_rise(problem, alpha), can_fall(problem, alpha)
    if not up.any() or not down.any():
        return None
    i = int(np.argmax(np.where(up, gradient, -np.inf)))
    j = int(np.argmin(np.where(down, gradient, np.inf)))
    return (i, j) if gradient[i] > gradient[j] else None


def select_second_order(problem: Problem, K: Matrix, alpha: Vector, gradient: Vector) -> Pair | None:
    """Return the steepest i and the violating j of largest Newton gain with it [Glasmachers2008, eq. 4.7].

    Of equals the first, for either.
    """
    steepest = select_most_violating_pair(problem, alpha, gradient)
    if steepest is None:
        return None
    i = steepest[0]
    slope = gradient[i] - gradient
    bend = np.maximum(K[i, i] - 2.0 * K[i] + np.diag(K), LEAST_CURVATURE)
    gains = 0.5 * slope**2 / bend
    return i, int(np.argmax(np.where(can_fall(problem, alpha) & (slope > 0.0), gains, -np.inf)))


def gain_of_step(K: Matrix, gradient: Vector, pair: Pair, size: float) -> float:
    """Return the rise of the objective for a step of this size along the pair."""
    return size * slope_along(gradient, pair) - 0.5 * size**2 * curvature_between(K, pair, pair)


def newton_gain(K: Matrix, gradient: Vector, pair: Pair) -> float:
    """Return the gain of the unconstrained step [Glasmachers2008, eq. 4.6]; huge on a slope without curvature."""
    return 0.5 * slope_along(gradient, pair) ** 2 / own_curvature(K, pair)


def clipped_gain(problem: Problem, K: Matrix, alpha: Vector, gradient: Vector, pair: Pair) -> float:
    """Return the gain of the step that stays in the box."""
    return gain_of_step(K, gradient, pair, step_newton(problem, K, alpha, gradient, pair).size)


def select_maximum_gain(
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    previous: Pair | None,
    *,
    eta: float = 1e-8,
) -> Pair | None:
    """Hybrid maximum gain [Glasmachers2008, Algorithm 6.1].

    Among the pairs that share a variable with the previous working set, the one whose clipped step gains most; but
    second-order selection at the start, or when both previous variables lie within eta (U - L) of their bounds. None
    where no related pair gains anything, which does not mean that the point is optimal. Of equals the one with the
    first variable of the previous set, then the one in which that rises, then the one with the first partner.
    """
    if previous is None or not any(_inside(problem, alpha, n, eta) for n in previous):
        return select_second_order(problem, K, alpha, gradient)
    up, down = can_rise(problem, alpha), can_fall(problem, alpha)
    related: list[Pair] = []
    for p in previous:
        related += [(p, n) for n in np.flatnonzero(down).tolist() if up[p] and n != p]
        related += [(n, p) for n in np.flatnonzero(up).tolist() if down[p] and n != p]
    rising = [(i, j) for i, j in related if gradient[i] > gradient[j]]
    if not rising:
        return None
    gains = [clipped_gain(problem, K, alpha, gradient, pair) for pair in rising]
    return rising[int(np.argmax(gains))]


def _inside(problem: Problem, alpha: Vector, index: int, eta: float) -> bool:
    margin = eta * (problem.upper[index] - problem.lower[index])
    below, above = alpha[index] - problem.lower[index], problem.upper[index] - alpha[index]
    margin = margin if np.isfinite(margin) else 0.0
    return bool(below >= margin and above >= margin and below > 0.0 and above > 0.0)


def two_step_gain(K: Matrix, gradient: Vector, first: Pair, second: Pair, size: float) -> float:
    """Return the gain of a step along `first`, then the Newton step along `second` [Glasmachers2008, eq. 7.3]."""
    q12, q22 = curvature_between(K, first, second), own_curvature(K, second)
    rest = slope_along(gradient, second) - q12 * size
    return gain_of_step(K, gradient, first, size) + 0.5 * rest**2 / q22


def planning_ahead_size(K: Matrix, gradient: Vector, first: Pair, second: Pair) -> float | None:
    """Return the step along `first` that is best if a Newton step along `second` follows [Glasmachers2008, eq. 7.4].

    None where the two directions do not span a strictly concave plane.
    """
    q11, q12, q22 = own_curvature(K, first), curvature_between(K, first, second), own_curvature(K, second)
    determinant = q11 * q22 - q12**2
    if determinant <= 1e-10 * q11 * q22:
        return None
    return (q22 * slope_along(gradient, first) - q12 * slope_along(gradient, second)) / determinant


def step_planning_ahead(
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    pair: Pair,
    *,
    previous: Step | None,
    candidates: Sequence[Pair],
) -> Step:
    """One step of Algorithm 7.3, with one or several recent working sets to plan with [Glasmachers2008, 7.2.4].

    Planning happens only after a free standard step, and only where both the planned step and the Newton step after it
    end inside the box. Among several recent working sets the one with the largest double-step gain is planned for.
    """
    newton = step_newton(problem, K, alpha, gradient, pair)
    if previous is None or previous.planned or not previous.free:
        return newton
    best, best_gain = newton, -np.inf
    for following in candidates:
        size = planning_ahead_size(K, gradient, pair, following)
        if size is None or not _both_free(problem, K, alpha, gradient, pair, following, size):
            continue
        gain = two_step_gain(K, gradient, pair, following, size)
        if gain > best_gain:
            best, best_gain = Step(size, newton.newton, free=True, planned=True), gain
    return best


def _both_free(
    problem: Problem, K: Matrix, alpha: Vector, gradient: Vector, first: Pair, second: Pair, size: float
) -> bool:
    smallest, largest = step_bounds(problem, alpha, first)
    if not smallest < size < largest:
        return False
    moved, later = alpha.copy(), gradient - size * (K[first[0]] - K[first[1]])
    moved[first[0]] += size
    moved[first[1]] -= size
    smallest, largest = step_bounds(problem, moved, second)
    return bool(smallest < newton_size(K, later, second) < largest)


def reconsider(
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    selected: Pair,
    *,
    candidates: Sequence[Pair],
    clipped: bool,
) -> Pair:
    """Let the working sets that the last step was planned with compete with the selected one.

    The gain that decides is that of the Newton step, or that of the step which the box allows (`clipped`). Of equals
    the selected one, then the most recent.
    """
    up, down = can_rise(problem, alpha), can_fall(problem, alpha)
    # A planned second step may run backwards along its pair: the pair is then meant the other way round.
    oriented = [(i, j) if gradient[i] >= gradient[j] else (j, i) for i, j in candidates]
    rivals = [(i, j) for i, j in oriented if up[i] and down[j] and gradient[i] > gradient[j]]
    if clipped:
        return max([selected, *rivals], key=lambda pair: clipped_gain(problem, K, alpha, gradient, pair))
    return max([selected, *rivals], key=lambda pair: newton_gain(K, gradient, pair))


def close_to_newton(step: Step, eta: float = 0.9) -> bool:
    """Whether a planned step gained by itself [Glasmachers2008, Figure 7.2]."""
    return 1.0 - eta <= step.size / step.newton <= 1.0 + eta


def select_after_planning(
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    *,
    previous: Step | None,
    candidates: Sequence[Pair],
    within: Problem | None = None,
) -> Pair | None:
    """Working set selection of Algorithm 7.2.

    Plain second-order selection after a standard step. After a planned step the working sets it was planned with
    compete as well: by Newton gain when the planned step was close enough to the Newton step to have gained by itself,
    and by the gain that the box allows otherwise, so that both steps together always gain. `within` is the problem with
    the variables held that only a planned working set may move.
    """
    own = problem if within is None else within
    selected = select_second_order(own, K, alpha, gradient)
    if selected is None or previous is None or not previous.planned:
        return selected
    close = close_to_newton(previous)
    if not close:
        i = selected[0]
        fallers = [(i, int(n)) for n in np.flatnonzero(can_fall(own, alpha) & (gradient < gradient[i]))]
        selected = max(fallers, key=lambda pair: clipped_gain(own, K, alpha, gradient, pair))
    return reconsider(problem, K, alpha, gradient, selected, candidates=candidates, clipped=not close)


def select(
    selection: str,
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    *,
    previous: Step | None,
    recent: Sequence[Pair],
    within: Problem | None = None,
) -> Pair | None:
    """Return the working set of a selection by name, given the last step and the recent working sets, the last first.

    The working sets before the last are those that it was planned with, if it was; they compete with the selected one:
    as in Algorithm 7.2 where the selection is second-order, with the most violating pair likewise, and by the gain that
    the box allows where it is maximum-gain, which ranks by that gain itself. `within` as above.
    """
    own = problem if within is None else within
    planned_with = recent[1:] if previous is not None and previous.planned else []
    if selection == "second-order":
        return select_after_planning(
            problem, K, alpha, gradient, previous=previous, candidates=planned_with, within=within
        )
    if selection == "maximum-gain":
        pair = select_maximum_gain(own, K, alpha, gradient, recent[0] if recent else None)
        # No related pair gains, yet the point is not optimal: only a global rule can tell where to go on.
        pair = pair or select_second_order(own, K, alpha, gradient)
    else:
        pair = select_most_violating_pair(own, alpha, gradient)
    if pair is None or previous is None or not previous.planned:
        return pair
    clipped = selection == "maximum-gain" or not close_to_newton(previous)
    return reconsider(problem, K, alpha, gradient, pair, candidates=planned_with, clipped=clipped)


def take_step(
    problem: Problem,
    K: Matrix,
    alpha: Vector,
    gradient: Vector,
    pair: Pair,
    *,
    previous: Step | None,
    recent: Sequence[Pair],
    planning_ahead: int,
) -> Step:
    """Return the step along a working set: planned with so many recent ones, or Newton's with none."""
    if planning_ahead == 0:
        return step_newton(problem, K, alpha, gradient, pair)
    candidates = [other for other in recent[:planning_ahead] if set(other) != set(pair)]
    return step_planning_ahead(problem, K, alpha, gradient, pair, previous=previous, candidates=candidates)

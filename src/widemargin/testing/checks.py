"""Certificates of a dual solution, recomputed in float64, and one function that judges a solution by them.

Everything follows from the problem and the gradient G = y - Ka. The objective has a slope S+ upwards and S- downwards;
both are G, but where kink'|a| is taken off the objective, S+_n = G_n - kink_n if a_n >= 0, else G_n + kink_n, and
S-_n = G_n - kink_n if a_n > 0, else G_n + kink_n.

* KKT violation: max{S+_n : a_n < U_n} - min{S-_n : a_n > L_n}, and 0 where that is negative;
* intercept b: the mean of S over the variables inside their box (and, with kinks, not at 0), else the middle between
  those two extremes;
* duality gap at (a, b): sum_n max(U_n T_n, L_n T_n) + b sum(a) - G'a + kink'|a|, where T is G - b, moved by kink
  towards 0 and at most there; never negative, zero at an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.testing.protocols import Matrix, Problem, Solution, Vector


@dataclass(frozen=True)
class Certificate:
    """What is known about a point once its gradient has been recomputed.

    Attributes
    ----------
    gradient : ndarray
        y - K alpha in float64.
    kkt_violation, duality_gap, objective, intercept : float
        As defined at the head of this module.
    infeasibility : float
        The largest amount by which a variable leaves its box, or the sum leaves zero.
    """

    gradient: Vector
    kkt_violation: float
    duality_gap: float
    objective: float
    intercept: float
    infeasibility: float


def slopes(problem: Problem, alpha: Vector, gradient: Vector) -> tuple[Vector, Vector]:
    """Return the slopes of the objective upwards and downwards: what the gradient says, but for kinks.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.testing import regression_case
    >>> case = regression_case("two points", np.array([[0.0], [1.0]]), np.array([3.0, 5.0]), 10.0, 0.5)
    >>> upwards, downwards = slopes(case, np.zeros(2), case.linear)
    >>> upwards.tolist(), downwards.tolist()
    ([2.5, 4.5], [3.5, 5.5])
    """
    if problem.kink is None:
        return gradient, gradient
    return (
        gradient - np.where(alpha >= 0.0, problem.kink, -problem.kink),
        gradient - np.where(alpha > 0.0, problem.kink, -problem.kink),
    )


def _extremes(problem: Problem, alpha: Vector, gradient: Vector) -> tuple[float, float]:
    upwards, downwards = slopes(problem, alpha, gradient)
    highest = float(np.max(upwards, where=alpha < problem.upper, initial=-np.inf))
    lowest = float(np.min(downwards, where=alpha > problem.lower, initial=np.inf))
    return highest, lowest


def kkt_violation(problem: Problem, alpha: Vector, gradient: Vector) -> float:
    """Return the largest amount by which a pair of variables violates the optimality condition; 0 at an optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.testing import classification_case
    >>> case = classification_case("pair", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 10.0)
    >>> kkt_violation(case, np.zeros(2), case.linear)
    2.0
    """
    highest, lowest = _extremes(problem, alpha, gradient)
    return max(0.0, highest - lowest)


def intercept(problem: Problem, alpha: Vector, gradient: Vector) -> float:
    """Return the intercept b of f(x) = sum_n a_n k(x_n, x) + b."""
    free = (alpha > problem.lower) & (alpha < problem.upper)
    if problem.kink is not None:
        free &= (alpha != 0.0) | (problem.kink == 0.0)
    if free.any():
        return float(slopes(problem, alpha, gradient)[0][free].mean())
    ends = [end for end in _extremes(problem, alpha, gradient) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def objective(problem: Problem, alpha: Vector, gradient: Vector) -> float:
    """Return the dual objective y'a - kink'|a| - a'Ka / 2, written without K: a'Ka = (y - G)'a."""
    return 0.5 * float((problem.linear + gradient) @ alpha) - _lost_to_kinks(problem, alpha)


def _lost_to_kinks(problem: Problem, alpha: Vector) -> float:
    return 0.0 if problem.kink is None else float(problem.kink @ np.abs(alpha))


def duality_gap(problem: Problem, alpha: Vector, gradient: Vector, offset: float | None = None) -> float:
    """Return the gap between the dual objective and the primal one at offset b (by default :func:`intercept`)."""
    b = intercept(problem, alpha, gradient) if offset is None else offset
    margin = gradient - b
    if problem.kink is not None:
        margin = np.sign(margin) * np.maximum(0.0, np.abs(margin) - problem.kink)
    # An infinite bound costs nothing where the margin is zero; 0 * inf would say NaN.
    with np.errstate(invalid="ignore"):
        rise, fall = (np.where(margin == 0.0, 0.0, bound * margin) for bound in (problem.upper, problem.lower))
    return float(np.maximum(rise, fall).sum() + b * alpha.sum() - gradient @ alpha) + _lost_to_kinks(problem, alpha)


def certificate(problem: Problem, K: Matrix, alpha: Vector, *, total: float = 0.0) -> Certificate:
    """Recompute the gradient in float64 and, from it, everything that certifies a solution.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.testing import classification_case
    >>> case = classification_case("pair", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 10.0, kernel="linear")
    >>> certificate(case, case.gram, np.array([2.0, -2.0])).duality_gap
    0.0
    """
    point = np.asarray(alpha, dtype=np.float64)
    gradient = problem.linear - np.asarray(K, dtype=np.float64) @ point
    outside = max(float(np.max(problem.lower - point, initial=0.0)), float(np.max(point - problem.upper, initial=0.0)))
    return Certificate(
        gradient=gradient,
        kkt_violation=kkt_violation(problem, point, gradient),
        duality_gap=duality_gap(problem, point, gradient),
        objective=objective(problem, point, gradient),
        intercept=intercept(problem, point, gradient),
        infeasibility=max(outside, abs(float(point.sum()) - total)),
    )


def check_close(found: Any, expected: Any, allowed: float, what: str) -> None:
    """Raise AssertionError unless two arrays have the same shape, and entries that differ by at most `allowed`."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert found.shape == expected.shape, f"{what}: the shape must be {expected.shape}, it is {found.shape}."
    error = float(np.abs(found - expected).max(initial=0.0))
    assert error <= allowed, f"{what}: must be right within {allowed:.1e}, it is off by {error:.3e}."


def check_semidefinite(K: Matrix, precision: float, what: str) -> None:
    """Raise AssertionError if an eigenvalue is negative beyond a relative rounding of `precision`."""
    smallest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    allowed = precision * max(1.0, float(np.abs(K).max())) * len(K)
    assert smallest >= -allowed, f"{what}: the smallest eigenvalue must be at least 0, it is {smallest:.3e}."


def check_feasible(problem: Problem, alpha: Vector, *, total: float = 0.0) -> None:
    """Raise AssertionError unless every variable is in its box, exactly, and the sum is `total` up to rounding."""
    below, above = problem.lower - alpha, alpha - problem.upper
    worst = int(np.argmax(np.maximum(below, above)))
    assert np.isfinite(alpha).all(), f"alpha must be finite, variable {int(np.argmin(np.isfinite(alpha)))} is not."
    assert max(below[worst], above[worst]) <= 0.0, (
        f"variable {worst} must lie in [{problem.lower[worst]}, {problem.upper[worst]}], it is {alpha[worst]!r}."
    )
    allowed = 1e-11 * max(1.0, float(np.abs(alpha).sum()))
    assert abs(float(alpha.sum()) - total) <= allowed, (
        f"the variables must sum to {total} (within {allowed:.1e}), they sum to {float(alpha.sum())!r}."
    )


def check_report(problem: Problem, K: Matrix, solution: Solution) -> Certificate:
    """Raise AssertionError unless the reported numbers are those of the returned point, recomputed in float64."""
    recomputed = certificate(problem, K, solution.alpha)
    magnitude = np.abs(problem.linear) + np.abs(K) @ np.abs(solution.alpha)
    magnitude += 0.0 if problem.kink is None else problem.kink
    rounding = 1e-10 * max(1.0, float(magnitude.max(initial=0.0)))
    error = float(np.abs(solution.gradient - recomputed.gradient).max(initial=0.0))
    assert error <= rounding, f"the returned gradient must equal y - K alpha, it is off by {error:.3e}."
    outcome = solution.outcome
    # Objective and gap sum over all variables; the gap also weighs the gradient's rounding with the width of the box.
    breadth = float(np.abs(solution.alpha).sum() + np.maximum(problem.upper, -problem.lower).sum())
    for name, reported, expected, allowed in (
        ("KKT violation", outcome.kkt_violation, recomputed.kkt_violation, 2.0 * rounding),
        ("duality gap", outcome.duality_gap, recomputed.duality_gap, rounding * max(1.0, breadth)),
        ("objective", outcome.objective, recomputed.objective, rounding * max(1.0, breadth)),
    ):
        assert abs(reported - expected) <= allowed, (
            f"the reported {name} must be the recomputed {expected!r} (within {allowed:.1e}), it is {reported!r}."
        )
    return recomputed


def check_solution(problem: Problem, K: Matrix, solution: Solution, tolerance: float) -> Certificate:
    """Raise AssertionError, with a sentence, unless the solution is what it claims to be and meets the tolerance.

    Parameters
    ----------
    problem : Problem
        The dual problem.
    K : ndarray of shape (n, n)
        Its kernel matrix in float64.
    solution : Solution
        The returned point, gradient and outcome.
    tolerance : float
        The KKT violation that was asked for.

    Returns
    -------
    Certificate
        The recomputed certificate, for further checks.
    """
    check_feasible(problem, solution.alpha)
    recomputed = check_report(problem, K, solution)
    assert solution.outcome.reason == "converged", (
        f"the solver must converge, it ended with {solution.outcome.reason!r}."
    )
    assert recomputed.kkt_violation <= tolerance * (1.0 + 1e-6) + 1e-13 * float(np.abs(recomputed.gradient).max()), (
        f"the KKT violation must be at most {tolerance}, recomputed in float64 it is {recomputed.kkt_violation:.3e}."
    )
    return recomputed

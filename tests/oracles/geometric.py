"""The geometric algorithms as their papers print them, line by line, without any speed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.testing.protocols import Matrix, Vector


class MinimumNorm(NamedTuple):
    """A point of a convex hull, its steps, and the kernel operations they took."""

    alpha: Vector
    iterations: int
    kernel_operations: int


def minimum_norm(Q: Matrix, tolerance: float, *, start: int = 0, max_iterations: int = 1_000_000) -> MinimumNorm:
    """Find the point of the hull nearest to the origin by MDM [Barbero2008, section 1], from one of its corners.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Inner products y_i y_j k(x_i, x_j), the ridge of the square penalty included.
    tolerance : float
        Stops at d_U - d_L <= tolerance ||W||^2.
    start : int
        The corner to start from.
    max_iterations : int
        Budget.

    Examples
    --------
    >>> import numpy as np
    >>> minimum_norm(np.array([[4.0, 0.0], [0.0, 1.0]]), 1e-9).alpha
    array([0.2, 0.8])
    """
    n = len(Q)
    alpha = np.zeros(n)
    alpha[start] = 1.0
    margins = Q @ alpha
    for iteration in range(max_iterations):
        lowest = int(np.argmin(margins))
        highest = int(np.argmax(np.where(alpha > 0, margins, -np.inf)))
        difference = margins[highest] - margins[lowest]
        if difference <= tolerance * (alpha @ margins):
            return MinimumNorm(alpha, iteration, 2 * n * iteration)
        length = Q[lowest, lowest] + Q[highest, highest] - 2 * Q[lowest, highest]
        step = min(alpha[highest], difference / length)
        alpha[lowest] += step
        alpha[highest] = 0.0 if step == alpha[highest] else alpha[highest] - step
        margins = margins + step * (Q[lowest] - Q[highest])
    raise AssertionError(f"MDM needs more than {max_iterations} steps for this problem.")


class Counted(NamedTuple):
    """Unscaled counts, the feasibility gap of the model they stand for, and the iterations made."""

    counts: Vector
    gap: float
    iterations: int


def feasibility_gap(K: Matrix, C: Vector, coefficients: Vector) -> float:
    """Relative gap (primal - dual) / (primal + 1) of the one-class model with squared slack [Timm2009, eq. 1, 3].

    Examples
    --------
    >>> import numpy as np
    >>> feasibility_gap(np.eye(1), np.ones(1), np.array([0.5]))
    0.0
    """
    scores = K @ coefficients
    slack = np.maximum(0.0, 1.0 - scores)
    primal = coefficients @ scores / 2 + (C * slack) @ slack / 2
    dual = coefficients.sum() - coefficients @ scores / 2 - coefficients @ (coefficients / C) / 2
    return float((primal - dual) / (primal + 1.0))


def one_class_max_min_over(K: Matrix, C: Vector, gap: float, *, max_iterations: int = 1_000_000) -> Counted:
    """Count until the gap is small enough, looking at it after every step [Timm2009, Algorithm 2 with t_re = 1].

    Examples
    --------
    >>> import numpy as np
    >>> one_class_max_min_over(np.eye(2), np.ones(2), 1e-3).counts
    array([19., 20.])
    """
    modified = K + np.diag(1.0 / C)
    counts = np.zeros(len(K))
    reached = np.inf
    for iteration in range(max_iterations):
        scores = modified @ counts
        if scores.min() > 0:
            reached = feasibility_gap(K, C, counts / scores.min())
            if reached <= gap:
                return Counted(counts, reached, iteration)
        lowest = int(np.argmin(scores))
        highest = int(np.argmax(np.where(counts > 0, scores, -np.inf))) if counts.any() else None
        counts[lowest] += 2
        if highest is not None:
            counts[highest] -= 1
    raise AssertionError(f"The gap is still {reached:.3g} after {max_iterations} steps.")

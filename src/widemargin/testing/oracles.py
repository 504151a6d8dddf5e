"""Naive twins of everything fast: short NumPy code, all in float64, that says what is meant.

The dual problem [Glasmachers2008, eq. 4.1] is

    maximise  f(a) = y'a - a'Ka / 2    subject to  sum(a) = const,  L <= a <= U,

with signed variables a, the plain kernel matrix K and the gradient G = y - Ka. A problem with kinks, whose objective
loses kink'|a|, is one of twice as many variables without (:func:`mirror`). Here are the kernels, the projection and an
exact solver; the rules of the core's solvers are in `tests/oracles/smo.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from widemargin.testing.checks import kkt_violation
from widemargin.testing.protocols import Matrix, Problem, SmoothProblem, Vector


def as_matrix(points: object) -> Matrix:
    """Return any array-like or scipy sparse container as a dense float64 matrix."""
    dense = points.toarray() if issparse(points) else points  # type: ignore[attr-defined]
    return np.asarray(dense, dtype=np.float64)


def squared_distances(A: Matrix, B: Matrix) -> Matrix:
    """Squared Euclidean distances, from explicit differences: nothing cancels, whatever the common offset."""
    return np.array([((B - row) ** 2).sum(axis=1) for row in A]).reshape(len(A), len(B))


def kernel_matrix(
    A: ArrayLike,
    B: ArrayLike | None = None,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    coef0: float = 0.0,
    degree: int = 3,
) -> Matrix:
    """Return the kernel matrix between the samples `A` and `B` (`A` itself by default).

    Examples
    --------
    >>> kernel_matrix([[0.0], [1.0]], kernel="rbf", gamma=0.0).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    >>> kernel_matrix([[1.0, 2.0]], [[3.0, 4.0]], kernel="poly", gamma=1.0, coef0=1.0, degree=2).tolist()
    [[144.0]]
    """
    left = as_matrix(A)
    right = left if B is None else as_matrix(B)
    if kernel == "rbf":
        return np.asarray(np.exp(-gamma * squared_distances(left, right)))
    product = left @ right.T
    if kernel == "linear":
        return np.asarray(product)
    if kernel == "poly":
        return np.asarray((gamma * product + coef0) ** degree)
    if kernel == "sigmoid":
        return np.asarray(np.tanh(gamma * product + coef0))
    raise ValueError(f"kernel must be one of 'linear', 'poly', 'rbf', 'sigmoid', got {kernel!r}.")


def resolve_gamma(gamma: float | str, X: object, sample_weight: ArrayLike | None = None) -> float:
    """Return the number behind gamma="scale" (1 / (columns times variance)) or gamma="auto" (1 / columns).

    Examples
    --------
    >>> resolve_gamma("scale", [[0.0], [2.0]])
    1.0
    >>> resolve_gamma("scale", [[0.0], [2.0], [7.0]], [1.0, 1.0, 0.0])
    1.0
    """
    if not isinstance(gamma, str):
        return float(gamma)
    points = as_matrix(X)
    if gamma == "auto":
        return 1.0 / float(points.shape[1])
    weights = np.ones(len(points)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    shares = np.repeat(weights[:, None] / (weights.sum() * points.shape[1]), points.shape[1], axis=1)
    points = points - points.ravel()[:1]  # equal numbers have variance 0, whatever their mean is rounded to
    mean = float((shares * points).sum())
    variance = float((shares * (points - mean) ** 2).sum())
    return 1.0 / (float(points.shape[1]) * variance) if variance > 0.0 else 1.0


def project(alpha: ArrayLike, lower: ArrayLike, upper: ArrayLike, total: float = 0.0) -> Vector:
    """Return the nearest point of {a : sum(a) = total, L <= a <= U}, by bisection.

    The solution is clip(alpha - t, L, U) for the shift t at which the sum, which never increases with t, is `total`.
    A point that is feasible up to the rounding of its sum is returned as it is: a shift of rounding size would lift
    every variable off its bound, and an optimum with it out of its optimality condition.

    Examples
    --------
    >>> project([3.0, 0.0], [-1.0, -1.0], [1.0, 1.0]).round(9).tolist()
    [1.0, -1.0]
    """
    point, low, high = (np.asarray(v, dtype=np.float64) for v in (alpha, lower, upper))
    slack = 1e-12 * (np.abs(low).sum() + np.abs(high).sum() + abs(total))
    if low.sum() > total + slack or high.sum() < total - slack:
        raise ValueError(f"total must lie between sum(lower) = {low.sum()} and sum(upper) = {high.sum()}, got {total}.")
    inside = bool(((point >= low) & (point <= high)).all())
    if inside and abs(point.sum() - total) <= 1e-12 * np.abs(point).sum():
        return point.copy()
    left, right = float(np.min(point - high)), float(np.max(point - low))
    for _ in range(200):
        middle = 0.5 * (left + right)
        if np.clip(point - middle, low, high).sum() > total:
            left = middle
        else:
            right = middle
    return np.asarray(np.clip(point - 0.5 * (left + right), low, high))


def mirror(problem: Problem, K: Matrix) -> tuple[SmoothProblem, Matrix]:
    """Give every variable of a problem with kinks one twin for each side of 0, and return their kernel matrix too.

    With linear terms y - kink and y + kink and boxes [0, U] and [L, 0], the sums of the twins (:func:`unmirror`) at an
    optimum are the variables at an optimum of the problem itself.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.testing import regression_case
    >>> case = regression_case("two points", np.array([[0.0], [1.0]]), np.array([3.0, 5.0]), 10.0, 0.5)
    >>> twins, gram = mirror(case, case.gram)
    >>> twins.linear.tolist(), twins.lower.tolist(), twins.upper.tolist(), gram.shape
    ([2.5, 4.5, 3.5, 5.5], [0.0, 0.0, -10.0, -10.0], [10.0, 10.0, 0.0, 0.0], (4, 4))
    """
    kink = np.zeros_like(problem.linear) if problem.kink is None else problem.kink
    twins = SmoothProblem(
        np.concatenate([problem.linear - kink, problem.linear + kink]),
        np.concatenate([np.zeros_like(problem.lower), problem.lower]),
        np.concatenate([problem.upper, np.zeros_like(problem.upper)]),
    )
    return twins, np.tile(K, (2, 2))


def unmirror(alpha: Vector) -> Vector:
    """Add up the twins of :func:`mirror`."""
    above, below = np.split(alpha, 2)
    return np.asarray(above + below)


#: Lines without curvature are given this much, so that the steeper one of two gains more [Fan2005, section 4].
LEAST_CURVATURE = 1e-12


def solve_exactly(
    problem: Problem,
    K: Matrix,
    *,
    total: float = 0.0,
    tolerance: float = 1e-10,
    max_iterations: int = 2000,
) -> Vector:
    """Solve a small dual problem (hundreds of variables) to a KKT violation of nearly rounding size.

    Each iteration does second-order steps of two variables [Glasmachers2008, eq. 4.7 and 4.4], which alone converge for
    every positive semidefinite K, then jumps to the optimum over the variables inside their box, which alone would
    make convergence finite once the right variables are at their bounds. `tolerance` is relative to the largest
    magnitude that enters the gradient (at least 1). Of a problem with kinks the mirrored one is solved.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.testing.problems import classification_case
    >>> case = classification_case("pair", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 10.0, kernel="linear")
    >>> solve_exactly(case, case.gram).tolist()
    [2.0, -2.0]
    """
    if problem.kink is not None:
        twins, gram = mirror(problem, K)
        return unmirror(solve_exactly(twins, gram, total=total, tolerance=tolerance, max_iterations=max_iterations))
    alpha = project(np.zeros_like(problem.linear), problem.lower, problem.upper, total)
    for _ in range(max_iterations):
        gradient = problem.linear - K @ alpha
        scale = max(
            1.0, float(np.abs(problem.linear).max(initial=0.0)), float((np.abs(K) @ np.abs(alpha)).max(initial=0.0))
        )
        if kkt_violation(problem, alpha, gradient) <= tolerance * scale:
            return alpha
        for _ in range(len(alpha)):
            found = _second_order_step(problem, K, alpha, gradient)
            if found is None:
                break
            i, j, step = found
            alpha = move_pair(problem, alpha, (i, j), step)
            gradient = gradient - step * (K[i] - K[j])
        while jump_over_free(problem, K, alpha):
            pass
    raise RuntimeError(f"the exact solver did not reach a violation of {tolerance} in {max_iterations} iterations.")


def _second_order_step(problem: Problem, K: Matrix, alpha: Vector, gradient: Vector) -> tuple[int, int, float] | None:
    """Return the steepest variable, the one of largest Newton gain with it, and their step; none at an optimum."""
    up = alpha < problem.upper
    i = int(np.argmax(np.where(up, gradient, -np.inf)))
    slope = gradient[i] - gradient
    violating = (alpha > problem.lower) & (slope > 0.0)
    if not up.any() or not violating.any():
        return None
    bend = np.maximum(K[i, i] - 2.0 * K[i] + np.diag(K), LEAST_CURVATURE)
    j = int(np.argmax(np.where(violating, slope**2 / bend, -np.inf)))
    return i, j, float(min(slope[j] / bend[j], problem.upper[i] - alpha[i], alpha[j] - problem.lower[j]))


def move_pair(problem: Problem, alpha: Vector, pair: tuple[int, int], step: float) -> Vector:
    """Return alpha + step (e_i - e_j), clipped so that rounding cannot leave the box."""
    moved = alpha.copy()
    for index, change in zip(pair, (step, -step), strict=True):
        moved[index] = np.clip(alpha[index] + change, problem.lower[index], problem.upper[index])
    return moved


def jump_over_free(problem: Problem, K: Matrix, alpha: Vector) -> bool:
    """Move `alpha` in place towards the optimum over its free variables; true when one met its bound.

    In an eigenbasis of the centred K restricted to the free variables the problem falls apart into one-dimensional
    ones: where there is curvature the Newton step is taken, and where there is none but the objective still rises, the
    direction is followed until a bound is met.
    """
    free = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
    if free.size < 2:
        return False
    gradient = (problem.linear - K @ alpha)[free]
    centring = np.eye(free.size) - 1.0 / free.size
    curvature, basis = np.linalg.eigh(centring @ K[np.ix_(free, free)] @ centring)
    slope = basis.T @ (gradient - gradient.mean())
    curved = curvature > 1e-13 * free.size * max(curvature[-1], np.finfo(float).tiny)
    unbounded = float(np.linalg.norm(slope[~curved])) > 1e-9 * max(1.0, float(np.linalg.norm(slope)))
    if unbounded:
        direction = basis[:, ~curved] @ slope[~curved]
    else:
        direction = basis[:, curved] @ (slope[curved] / curvature[curved])
    direction = direction - direction.mean()
    room = np.where(direction > 0.0, problem.upper[free] - alpha[free], problem.lower[free] - alpha[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(direction != 0.0, room / direction, np.inf)
    nearest = int(np.argmin(reach))
    length = float(reach[nearest]) if unbounded else min(1.0, float(reach[nearest]))
    bend = float(direction @ K[np.ix_(free, free)] @ direction)
    if not np.isfinite(length) or length * float(gradient @ direction) - 0.5 * length**2 * bend <= 0.0:
        return False
    before = alpha.sum()
    alpha[free] = np.clip(alpha[free] + length * direction, problem.lower[free], problem.upper[free])
    # A long direction cancels in the sum only up to its own rounding; the free variables take up what is left.
    alpha[free] = np.clip(alpha[free] + (before - alpha.sum()) / free.size, problem.lower[free], problem.upper[free])
    if length < reach[nearest]:
        return False
    bound = problem.upper if direction[nearest] > 0.0 else problem.lower
    alpha[free[nearest]] = bound[free[nearest]]
    return True

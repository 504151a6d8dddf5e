"""Naive twins of the objectives: whole matrices, no blocks, every model solved from scratch, one formula each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from widemargin.kernels import Kernel
from widemargin.objectives import Task
from widemargin.testing.checks import kkt_violation
from widemargin.testing.oracles import solve_exactly
from widemargin.testing.protocols import Matrix, SmoothProblem, Vector

Rows = NDArray[np.intp]


def ideal_kernel(task: Task) -> Matrix:
    """Return the kernel matrix that labels would make: 1 within classes, -1 / (c - 1) between them.

    For regression it is the product of the targets, seen from their mean.

    Examples
    --------
    >>> ideal_kernel(Task(np.zeros((3, 1)), np.array([0, 1, 2]), 3, np.ones(3))).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    if task.n_classes == 0:
        away = task.y - (task.weights @ task.y) / task.weights.sum()
        return np.asarray(np.multiply.outer(away, away))
    same = task.y[:, np.newaxis] == task.y[np.newaxis, :]
    return np.where(same, 1.0, -1.0 / (task.n_classes - 1))


def centred(K: Matrix, weights: Vector) -> Matrix:
    """Return the kernel values between samples seen from their mean in feature space.

    Examples
    --------
    >>> centred(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2)).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weights / weights.sum())
    return np.asarray(H @ K @ H.T)


def polarization(task: Task, kernel: Kernel, *, seen_from_mean: bool = False) -> float:
    """Return kernel polarization, by the sum over all pairs."""
    K, T = kernel(task.X), ideal_kernel(task)
    if seen_from_mean:
        K = centred(K, task.weights)
    return float(np.sum(np.outer(task.weights, task.weights) * T * K))


def target_alignment(task: Task, kernel: Kernel, *, seen_from_mean: bool = False) -> float:
    """Return kernel target alignment, by its definition."""
    K, T = kernel(task.X), ideal_kernel(task)
    if seen_from_mean:
        K, T = centred(K, task.weights), centred(T, task.weights)
    pairs = np.outer(task.weights, task.weights)
    return float(np.sum(pairs * T * K) / np.sqrt(np.sum(pairs * T * T) * np.sum(pairs * K * K)))


def class_distances(task: Task, K: Matrix, problems: str = "one-against-all") -> list[float]:
    """Return the squared distance between the centres of the two sides, for every two-class problem.

    Examples
    --------
    >>> task = Task(np.zeros((2, 1)), np.array([0, 1]), 2, np.ones(2))
    >>> class_distances(task, np.array([[1.0, 0.25], [0.25, 1.0]]))
    [1.5]
    """
    c = task.n_classes
    if problems == "pairs" or c == 2:
        sides = [(task.y == a, task.y == b) for a in range(c) for b in range(a + 1, c)]
    else:
        sides = [(task.y == a, task.y != a) for a in range(c)]
    found = []
    for one, other in sides:
        first, second = (np.where(side, task.weights, 0.0) / task.weights[side].sum() for side in (one, other))
        found.append(float((first - second) @ K @ (first - second)))
    return found


def naive_machine(task: Task, K: Matrix, signs: Vector, C: float, rows: Rows) -> tuple[Vector, float]:
    """Coefficients (0 outside of `rows`) and intercept of the model trained on some samples.

    Examples
    --------
    >>> task = Task(np.zeros((2, 1)), np.array([0, 1]), 2, np.ones(2))
    >>> alpha, b = naive_machine(task, np.eye(2), np.array([-1.0, 1.0]), 10.0, np.arange(2))
    >>> alpha.tolist(), b
    ([-1.0, 1.0], 0.0)
    """
    bounds = C * task.weights[rows]
    ridge = np.diag(0.5 / bounds) if task.squared else 0.0
    limit = np.full(len(rows), 1e9) if task.squared else bounds
    ends = signs[rows] * limit
    problem = SmoothProblem(signs[rows], np.minimum(0.0, ends), np.maximum(0.0, ends))
    gram = K[np.ix_(rows, rows)] + ridge
    found = solve_exactly(problem, gram, tolerance=1e-12)
    assert kkt_violation(problem, found, problem.linear - gram @ found) < 1e-8
    slope = problem.linear - gram @ found
    rises, falls = found < problem.upper, found > problem.lower
    alpha = np.zeros(task.n_samples)
    alpha[rows] = found
    return alpha, 0.5 * float(slope[rises].max() + slope[falls].min())


def pair_rows(task: Task, pair: tuple[int, int]) -> tuple[Rows, Vector]:
    """Rows of two classes, and signs over all rows, +1 for the second class."""
    rows = np.flatnonzero(np.isin(task.y, pair) & (task.weights > 0))
    return rows, np.where(task.y == pair[1], 1.0, -1.0)


def naive_left_out(task: Task, kernel: Kernel, C: float, pair: tuple[int, int]) -> Vector:
    """Margins of all samples of a pair of classes by the model trained without each of them, one after the other."""
    rows, signs = pair_rows(task, pair)
    K = kernel(task.X)
    margins = np.empty(len(rows))
    for place, p in enumerate(rows):
        alpha, b = naive_machine(task, K, signs, C, np.delete(rows, place))
        margins[place] = signs[p] * (K[p] @ alpha + b)
    return margins


def naive_leave_one_out(task: Task, kernel: Kernel, C: float) -> float:
    """Share of leave-one-out errors, over all pairs of classes."""
    wrong = weight = 0.0
    for pair in task.pairs:
        rows, _ = pair_rows(task, pair)
        wrong += float(task.weights[rows] @ (naive_left_out(task, kernel, C, pair) <= 0))
        weight += float(task.weights[rows].sum())
    return wrong / weight


def naive_continuous_span(task: Task, kernel: Kernel, C: float) -> float:
    """Continuous count of leave-one-out errors, with retrained models [Glasmachers2008, section 9.1.5]."""
    total = 0.0
    K = kernel(task.X)
    for pair in task.pairs:
        rows, signs = pair_rows(task, pair)
        alpha, b = naive_machine(task, K, signs, C, rows)
        margins = signs[rows] * (K[rows] @ alpha + b)
        left = naive_left_out(task, kernel, C, pair)
        terms = np.where(left > 0, 1.0 - left / np.where(margins > 0, margins, 1.0), 1.0)
        total += float(task.weights[rows] @ np.where(np.abs(alpha[rows]) > 1e-9, terms, 0.0))
    return total


def naive_radius_margin(task: Task, kernel: Kernel, C: float) -> float:
    """Squared radius times squared norm, for the square loss [Glasmachers2008, section 9.1.4]."""
    total = 0.0
    K = kernel(task.X)
    for pair in task.pairs:
        rows, signs = pair_rows(task, pair)
        alpha, _ = naive_machine(task, K, signs, C, rows)
        gram = K[np.ix_(rows, rows)] + np.diag(0.5 / (C * task.weights[rows]))
        norm = float(alpha[rows] @ gram @ alpha[rows])
        diagonal = np.diagonal(gram)
        ball = SmoothProblem(0.5 * diagonal, np.zeros(len(rows)), np.ones(len(rows)))
        beta = solve_exactly(ball, gram, total=1.0, tolerance=1e-12)
        total += norm * float(beta @ diagonal - beta @ gram @ beta)
    return total


def naive_likelihood(values: Vector, signs: Vector, weights: Vector) -> tuple[float, float]:
    """Largest log-likelihood of labels under a sigmoid without offset, and its slope in [0, 100]."""

    def loss(s: float) -> float:
        return float(weights @ np.logaddexp(0.0, -s * signs * values))

    found = minimize_scalar(loss, bounds=(0.0, 100.0), method="bounded", options={"xatol": 1e-12})
    best = min((loss(float(s)), float(s)) for s in (0.0, 100.0, found.x))
    return -best[0], best[1]


def naive_held_out(task: Task, kernel: Kernel, C: float, folds: list[tuple[Rows, Rows]], loss: str) -> float:
    """Loss over held-out rows: "likelihood" (a sum), "smooth" or "zero-one" (means; the latter for two classes)."""
    K = kernel(task.X)
    total = weight = 0.0
    for train, test in folds:
        for pair in task.pairs:
            rows, signs = pair_rows(task, pair)
            alpha, b = naive_machine(task, K, signs, C, np.intersect1d(rows, train))
            held = np.intersect1d(rows, test)
            values, weights = K[held] @ alpha + b, task.weights[held]
            log_likelihood, slope = naive_likelihood(values, signs[held], weights)
            doubt = 1.0 / (1.0 + np.exp(np.minimum(slope * signs[held] * values, 700.0)))
            wrong = signs[held] * values <= 0
            total += {
                "likelihood": log_likelihood,
                "smooth": float(weights @ doubt),
                "zero-one": float(weights @ wrong),
            }[loss]
            weight += float(weights.sum())
    return total if loss == "likelihood" else total / weight


def naive_decision_quality(
    task: Task, kernel: Kernel, C: float, split: tuple[Rows, Rows], sv_penalty: float, feature_term: float = 0.0
) -> float:
    """Return R_R - c1 log2(n_SV) less a term for features; pairs vote, ties go to the largest sum of values."""
    K, (train, judges) = kernel(task.X), split
    present = sorted({one for pair in task.pairs for one in pair})
    votes, sums = np.zeros((2, len(judges), task.n_classes))
    vectors: set[int] = set()
    for pair in task.pairs:
        rows, signs = pair_rows(task, pair)
        alpha, b = naive_machine(task, K, signs, C, np.intersect1d(rows, train))
        vectors |= set(np.flatnonzero(np.abs(alpha) > 1e-7 * C).tolist())
        values = K[judges] @ alpha + b
        for number, sign in zip(pair, (-1.0, 1.0), strict=True):
            votes[:, number] += sign * values > 0
            sums[:, number] += sign * values
    # Sums decide between equal votes: they are brought below one vote.
    found = np.argmax(votes + sums / (3.0 * (np.abs(sums) + 1.0)), axis=1)
    shares = [np.mean(found[task.y[judges] == one] == one) for one in present]
    return float(np.mean(shares)) - sv_penalty * float(np.log2(len(vectors))) - feature_term


def points_with_a_closest_pair(
    n: int, d: int, *, seed: int, closer: float = 0.8
) -> tuple[Matrix, tuple[int, int], float]:
    """Points of which one pair is closer than all the others, for what happens in the limit of narrow kernels.

    Parameters
    ----------
    n, d : int
        Points (at least 3) and features.
    seed : int
    closer : float, default=0.8
        Largest squared distance of the closest pair, relative to that of the second closest.

    Returns
    -------
    points : ndarray of shape (n, d)
    pair : the closest two, the smaller number first
    squared : their squared distance

    Examples
    --------
    >>> X, (p, q), squared = points_with_a_closest_pair(5, 2, seed=1)
    >>> bool(np.isclose(np.square(X[p] - X[q]).sum(), squared))
    True
    """
    generator = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    while True:
        X = generator.normal(size=(n, d))
        squared = np.square(X[first] - X[second]).sum(axis=1)
        closest, next_one = np.argsort(squared)[:2]
        if squared[closest] <= closer * squared[next_one]:
            return X, (int(first[closest]), int(second[closest])), float(squared[closest])

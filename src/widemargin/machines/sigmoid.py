"""Sigmoids that turn decision values into probabilities: P(y = +1 | f) = 1 / (1 + exp(-(s f + r))).

Two models of the values f_n that a machine gave to samples it was not trained on, with labels y_n = +1 and -1 and
weights w_n:

* slope only, r = 0 [Glasmachers2008, section 9.2.2]: probability 1/2 lies on the decision boundary. With the margins
  m_n = y_n f_n the log-likelihood L(s) = -sum_n w_n log(1 + exp(-s m_n)) is concave, and its maximum solves

  sum_{m_n > 0} w_n m_n / (1 + exp(s m_n)) = sum_{m_n < 0} w_n |m_n| / (1 + exp(s m_n));

* slope and offset, for targets t_n that Bayes' rule with a flat prior has pulled off 0 and 1: (N_+ + 1) / (N_+ + 2) for
  the N_+ positive samples, 1 / (N_- + 2) for the N_- negative ones [Platt1999]. With z_n = s f_n + r,
  F(s, r) = sum_n w_n (log(1 + exp(-z_n)) + (1 - t_n) z_n) is convex [Lin2007, Algorithm 1].

Both keep s >= 0: a larger value never means a smaller probability. Thesis and Platt write the exponent with the other
sign. A fit costs O(n) per Newton step, and a handful of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from widemargin import _core

Vector = NDArray[np.float64]

#: Steepest sigmoid of `fit_slope` unless told otherwise. The margin's edge, |f| = 1, is then at 1 - exp(-100).
LARGEST_SLOPE = 100.0

#: Newton's method ends with a step this small, relative to the slope: the next one would be its square.
SLOPE_PRECISION = 1e-9

MOST_STEPS = 100

#: Added to the diagonal of second derivatives, so that they can be inverted [Lin2007, Algorithm 1].
LEAST_CURVATURE = 1e-12

#: What a step must gain, as a share of what its slope promises, and the shortest one tried [Lin2007, Algorithm 1].
SUFFICIENT_GAIN, SHORTEST_STEP = 1e-4, 1e-10

#: A step that promises to gain less than this, relative to the cost, is the last one: the next would gain its square.
LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class Sigmoid:
    """P(y = +1 | f) = 1 / (1 + exp(-(slope f + offset))).

    Parameters
    ----------
    slope : float
        s, at least 0.
    offset : float
        r; 0 in the slope-only model.
    log_likelihood : float
        What the fit maximised, at its maximum: the weighted sum of the logarithms of the labels' probabilities (the
        expected one under Platt's targets in the model with an offset).

    Examples
    --------
    >>> Sigmoid(2.0).probabilities(np.array([-1.0, 0.0, 1.0])).round(3).tolist()
    [0.119, 0.5, 0.881]
    """

    slope: float
    offset: float = 0.0
    log_likelihood: float = 0.0

    def probabilities(self, values: Vector) -> Vector:
        """Return the probability of the positive class for each decision value."""
        return np.asarray(expit(self.slope * values + self.offset))


def fit_slope(
    values: Vector, signs: Vector, weights: Vector | None = None, *, largest: float = LARGEST_SLOPE
) -> Sigmoid:
    """Find the slope that makes the labels likeliest, between 0 and `largest`.

    Where no sample has a negative margin the likelihood rises forever and the slope is `largest`; where the values
    tell the labels no better than the other way round it is 0. The bound is a constant on purpose: where it is active,
    as where it is not, the derivative of the log-likelihood with respect to the values is the partial one at fixed
    slope, s y_n w_n / (1 + exp(s m_n)) [Glasmachers2008, section 9.3.5].

    Parameters
    ----------
    values : ndarray of shape (n,)
        Decision values of samples that the machine was not trained on.
    signs : ndarray of shape (n,)
        Their labels, +1 and -1.
    weights : ndarray of shape (n,), optional
        How often each sample counts; once if not given.
    largest : float, default=LARGEST_SLOPE
        Upper bound of the slope, finite.

    Examples
    --------
    >>> found = fit_slope(np.array([-2.0, -1.0, 0.5, 1.0, 2.0]), np.array([-1.0, 1.0, -1.0, 1.0, 1.0]))
    >>> round(found.slope, 4), round(found.log_likelihood, 4)
    (0.7954, -2.823)
    >>> fit_slope(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), largest=7.0).slope
    7.0
    """
    margins = np.asarray(signs, dtype=np.float64) * values
    counts = np.ones(len(margins)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = margins[np.newaxis], np.ones((1, len(margins))), counts[np.newaxis]
    slope = float(fit_slopes(*rows, np.array([largest]))[0])
    return Sigmoid(slope, 0.0, -float(counts @ np.logaddexp(0.0, -slope * margins)))


def slope_for_no_error(values: Vector, weights: Vector | None = None) -> float:
    """Return the slope whose claims are as bold as N samples without a single error admit.

    By the rule of succession the next sample is wrong with probability 1 / (N + 2) then; a steeper sigmoid would claim
    less, on average over these samples. Samples whose value is 0 say nothing and do not count.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Decision values.
    weights : ndarray of shape (n,), optional
        How often each sample counts; once if not given.

    Examples
    --------
    >>> slope = slope_for_no_error(np.array([1.0, -1.0, 1.0, 1.0]))
    >>> float(expit(-slope).round(4))
    0.1667
    """
    counts = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(slopes_for_no_error(values[np.newaxis], counts[np.newaxis])[0])


def slopes_for_no_error(values: NDArray[np.float64], weights: NDArray[np.float64]) -> Vector:
    """Return the slopes that :func:`slope_for_no_error` finds for the rows of a table of values, with their weights.

    Examples
    --------
    >>> slopes_for_no_error(np.array([[1.0, -1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]), np.ones((2, 4))).round(3).tolist()
    [1.609, 0.0]
    """
    sizes = np.abs(values)
    counts = np.where(sizes > 0.0, weights, 0.0)
    totals, scales = counts.sum(axis=1), np.max(sizes, axis=1, where=counts > 0.0, initial=0.0)
    found = np.zeros(len(values))
    left = np.flatnonzero(scales > 0.0)  # rows that are still looked at
    wanted, counts, sizes = totals[left] / (totals[left] + 2.0), counts[left], sizes[left] / scales[left, np.newaxis]

    def claimed(slopes: Vector) -> NDArray[np.float64]:
        return np.asarray(expit(-slopes[:, np.newaxis] * sizes))

    low, high = np.zeros(len(left)), np.ones(len(left))
    while (too_flat := (counts * claimed(high)).sum(axis=1) > wanted).any():
        low, high = np.where(too_flat, high, low), np.where(too_flat, 2.0 * high, high)
    slopes = low
    # The claimed number of errors falls and is convex in the slope: from the left, Newton's method never overshoots.
    for _ in range(MOST_STEPS):
        doubt = claimed(slopes)
        fall = (counts * sizes * doubt * (1.0 - doubt)).sum(axis=1)
        steps = ((counts * doubt).sum(axis=1) - wanted) / fall
        slopes = slopes + steps
        going = np.abs(steps) > SLOPE_PRECISION * slopes
        found[left] = slopes / scales[left]
        if not going.any():
            break
        left, slopes, wanted, counts, sizes = left[going], slopes[going], wanted[going], counts[going], sizes[going]
    return found


def fit_slopes(
    values: NDArray[np.float64], signs: NDArray[np.float64], weights: NDArray[np.float64], largest: Vector
) -> Vector:
    """Find the slopes that :func:`fit_slope` finds for the rows of a table of values, each with a largest one.

    Examples
    --------
    >>> values, signs = np.array([[-2.0, -1.0, 0.5, 1.0, 2.0]]), np.array([[-1.0, 1.0, -1.0, 1.0, 1.0]])
    >>> fit_slopes(values, signs, np.ones((1, 5)), np.array([100.0])).round(4).tolist()
    [0.7954]
    """
    margins = np.asarray(signs * values)
    scales = np.abs(margins).max(axis=1, initial=0.0)
    units = np.where(scales > 0.0, scales, 1.0)
    margins = np.ascontiguousarray(margins / units[:, np.newaxis])
    weights, steepest = np.ascontiguousarray(weights, dtype=np.float64), (largest * units).tolist()
    found = np.array(list(map(_core.likeliest_slope, margins, weights, steepest))) / units
    return np.where(scales > 0.0, np.minimum(largest, found), 0.0)


def fit_platt(values: Vector, signs: Vector, weights: Vector | None = None) -> Sigmoid:
    """Find slope and offset for Platt's targets, by Newton's method with backtracking [Lin2007, Algorithm 1].

    Where larger values would mean smaller probabilities the slope is 0, and the offset that of the best constant.

    Parameters
    ----------
    values, signs, weights
        As in :func:`fit_slope`.

    Examples
    --------
    >>> found = fit_platt(np.array([-2.0, -1.0, 0.5, 1.0, 2.0]), np.array([-1.0, 1.0, -1.0, 1.0, 1.0]))
    >>> round(found.slope, 4), round(found.offset, 4)
    (0.3889, 0.3057)
    >>> fit_platt(np.array([-1.0, 1.0]), np.array([-1.0, 1.0])).probabilities(np.array([1.0])).round(4).tolist()
    [0.6667]
    """
    counts = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    positive = np.asarray(signs) > 0.0
    n_positive, n_negative = float(counts[positive].sum()), float(counts[~positive].sum())
    targets = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    scale = float(np.abs(values[counts > 0.0]).max(initial=0.0))
    slope, offset = 0.0, 0.0
    if scale > 0.0:
        # [Lin2007] starts here: at the frequencies of the classes.
        begin = np.array([0.0, np.log((n_positive + 1.0) / (n_negative + 1.0))])
        slope, offset = _best_line(values / scale, targets, counts, begin)
        slope /= scale
    if not slope > 0.0:
        slope, offset = 0.0, _log_odds(float(counts @ targets), float(counts @ (1.0 - targets)))
    lines = slope * values + offset
    return Sigmoid(slope, offset, -float(counts @ (np.logaddexp(0.0, -lines) + (1.0 - targets) * lines)))


def _log_odds(positive: float, negative: float) -> float:
    return float(np.log(positive / negative)) if positive > 0.0 and negative > 0.0 else 0.0


def _best_line(values: Vector, targets: Vector, weights: Vector, begin: Vector) -> tuple[float, float]:
    """Minimise F over slope and offset, for values of size at most 1."""
    features = np.stack([values, np.ones(len(values))])

    def cost(line: Vector) -> float:
        z = line @ features
        return float(weights @ (np.logaddexp(0.0, -z) + (1.0 - targets) * z))

    line, least = begin, cost(begin)
    for _ in range(MOST_STEPS):
        p = expit(line @ features)
        gradient = features @ (weights * (p - targets))
        curvature = (features * (weights * p * (1.0 - p))) @ features.T + LEAST_CURVATURE * np.eye(2)
        direction = -np.linalg.solve(curvature, gradient)
        promised, length = float(gradient @ direction), 1.0
        if -promised <= LEAST_GAIN * (1.0 + least):
            line = line + direction
            break
        while length >= SHORTEST_STEP:
            proposal = line + length * direction
            now = cost(proposal)
            if now < least + SUFFICIENT_GAIN * length * promised:
                line, least = proposal, now
                break
            length *= 0.5
        else:  # rounding has the last word
            break
    return float(line[0]), float(line[1])

"""Oracles for probabilities: what sigmoids and coupling are to maximise or minimise, and slow ways to do so."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import LinearConstraint, minimize

Vector = NDArray[np.float64]


def slope_likelihood(slope: float, values: ArrayLike, signs: ArrayLike, weights: ArrayLike) -> float:
    """Log-likelihood of labels under P(y | f) = 1 / (1 + exp(-slope y f)) [Glasmachers2008, section 9.2.2].

    Examples
    --------
    >>> round(slope_likelihood(2.0, [1.0, -1.0], [1, 1], [1, 3]), 4)
    -6.5077
    """
    total = 0.0
    for f, y, w in zip(*map(np.asarray, (values, signs, weights)), strict=True):
        total -= float(w) * float(np.logaddexp(0.0, -slope * y * f))
    return total


def platt_likelihood(slope: float, offset: float, values: ArrayLike, signs: ArrayLike, weights: ArrayLike) -> float:
    """Return the expected log-likelihood of P(+1 | f) = 1 / (1 + exp(-(s f + r))) under Platt's targets [Platt1999].

    Examples
    --------
    >>> round(platt_likelihood(0.0, 0.0, [1.0, -1.0], [1, -1], [1, 1]), 4)
    -1.3863
    """
    f, y, w = (np.asarray(given, dtype=np.float64) for given in (values, signs, weights))
    n_positive, n_negative = w[y > 0].sum(), w[y < 0].sum()
    total = 0.0
    for value, sign, weight in zip(f, y, w, strict=True):
        target = (n_positive + 1) / (n_positive + 2) if sign > 0 else 1 / (n_negative + 2)
        z = slope * value + offset
        total += weight * (-target * np.logaddexp(0.0, -z) - (1 - target) * np.logaddexp(0.0, z))
    return float(total)


def couple_slowly(pairs: ArrayLike, n_classes: int) -> Vector:
    """Minimise sum_{i < j} (r_ji p_i - r_ij p_j)^2 over probabilities p [Wu2004, second approach], for one sample.

    Examples
    --------
    >>> couple_slowly([0.5, 0.8, 0.8], 3).round(3).tolist()
    [0.444, 0.444, 0.111]
    """
    r = np.zeros((n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    r[first, second], r[second, first] = np.asarray(pairs), 1.0 - np.asarray(pairs)

    def cost(p: Vector) -> float:
        return sum(float(r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i, j in zip(first, second, strict=True))

    found = minimize(
        cost,
        np.full(n_classes, 1.0 / n_classes),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_classes,
        constraints=LinearConstraint(np.ones(n_classes), 1.0, 1.0),
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.asarray(found.x)


def favour_slowly(probabilities: ArrayLike, winner: int) -> Vector:
    """Find the nearest probabilities none of which exceeds that of `winner`, for one sample.

    Examples
    --------
    >>> favour_slowly([0.5, 0.3, 0.2], 2).round(3).tolist()
    [0.35, 0.3, 0.35]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    ahead = np.eye(len(p))[winner] - np.eye(len(p))
    found = minimize(
        lambda q: float(np.sum((q - p) ** 2)),
        np.full(len(p), 1.0 / len(p)),
        jac=lambda q: 2.0 * (q - p),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(p),
        constraints=[LinearConstraint(np.ones(len(p)), 1.0, 1.0), LinearConstraint(ahead, 0.0, np.inf)],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.asarray(found.x)

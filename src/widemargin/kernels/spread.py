"""How far samples spread: variances and covariances of their features, samples counted by their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.rows import canonical

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


#: Numbers whose squares, and sums of many of these, float64 holds.
MODERATE = 2.0**200


def moderate(weights: Vector) -> Vector:
    """Return weights that count for as much, at a scale at which sums and products of them stay finite.

    They are as given unless the largest is beyond `MODERATE` or below its inverse; then all are divided by a power of
    two, which rounds none of them. None becomes 0 that was not.

    Examples
    --------
    >>> moderate(np.array([1.0, 3.0])).tolist(), moderate(np.array([2.0**1000, 2.0**998, 0.0])).tolist()
    ([1.0, 3.0], [0.5, 0.125, 0.0])
    """
    largest = float(np.max(weights, initial=0.0))
    if largest == 0.0 or 1.0 / MODERATE <= largest <= MODERATE:
        return weights
    smallest = np.finfo(np.float64).smallest_subnormal
    return np.where(weights > 0, np.maximum(np.ldexp(weights, -np.frexp(largest)[1]), smallest), 0.0)


def _relative(weights: Vector) -> Vector:
    """Return weights in units of the largest: products with squares of entries overflow no sooner than the squares.

    The unit is a power of two, so that no digit changes.
    """
    return np.ldexp(weights, -int(np.frexp(weights.max(initial=0.0))[1]))


def column_moments(X: NDArray[Any], weights: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of every feature, samples counted by their weights.

    Two passes over differences to the first sample and to the mean: nothing cancels, and a constant feature has
    variance 0 exactly.

    Examples
    --------
    >>> means, variances = column_moments(np.array([[1e9, 0.1], [1e9 + 2, 0.1]]), np.ones(2))
    >>> variances.tolist()
    [1.0, 0.0]
    """
    weights = _relative(weights)
    total, first = weights.sum(), X[0].astype(np.float64)
    means, variances = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    step = max(1, 2**18 // max(1, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(0, len(X), step):
            means += weights[at : at + step] @ (X[at : at + step] - first)
        means = first + means / total
        for at in range(0, len(X), step):
            variances += weights[at : at + step] @ np.square(X[at : at + step] - means)
    return means, variances / total


def sparse_variance(X: Any, weights: Vector) -> float:
    """Variance of all entries of a sparse matrix, the zeros that are not stored included.

    Examples
    --------
    >>> sparse_variance(sp.csr_array([[3.0, 3.0], [3.0, 3.0]]), np.ones(2))
    0.0
    >>> sparse_variance(sp.csr_array([[2.0, 0.0]]), np.ones(1))
    1.0
    """
    if X.nnz == 0:
        return 0.0
    entries, weights = canonical(X), _relative(weights)
    share = np.repeat(weights, np.diff(entries.indptr))
    values = entries.data.astype(np.float64)
    total = float(weights.sum()) * X.shape[1]
    unstored = max(0.0, total - float(share.sum())) if entries.nnz < X.shape[0] * X.shape[1] else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        shift = float(values[0])
        mean = shift + (float(share @ (values - shift)) - unstored * shift) / total
        return float((share @ np.square(values - mean) + unstored * np.square(mean)) / total)


def scale_gamma(X: Any, weights: Vector | None = None, moments: tuple[Vector, Vector] | None = None) -> float:
    """Return 1 / (number of features * variance of all entries), what ``gamma="scale"`` means; 1 if nothing varies.

    `moments` are those of :func:`column_moments`, if they are known.

    Examples
    --------
    >>> scale_gamma(np.array([[0.0], [2.0]]))
    1.0
    """
    share = np.ones(X.shape[0]) if weights is None else weights
    if sp.issparse(X):
        variance = sparse_variance(X, share)
    else:
        means, variances = moments or column_moments(np.asarray(X), share)
        variance = float(variances.mean() + np.var(means - means[0]))
    if variance == 0.0:
        return 1.0
    width = float(X.shape[1] * variance)
    if not np.finfo(np.float64).tiny < width < 1e307:
        raise ValueError(
            f"gamma='scale' needs the variance of X, which is {variance:.3g}, too {'small' if width < 1 else 'large'} "
            "to compute with; scale X (for example to unit variance) or pass gamma as a number."
        )
    return 1.0 / width


def column_variances(X: Any, weights: Vector | None = None) -> Vector:
    """Variance of every column of an array or a sparse matrix, divided by the number of rows.

    Examples
    --------
    >>> column_variances(sp.csr_array([[0.0, 1.0], [2.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    share = np.ones(X.shape[0]) if weights is None else _relative(weights)
    if not sp.issparse(X):
        return column_moments(np.asarray(X), share)[1]
    entries, d = sp.csc_array(canonical(X)), X.shape[1]
    stored = np.diff(entries.indptr)
    columns, own, values = np.repeat(np.arange(d), stored), share[entries.indices] / share.sum(), entries.data
    unstored = np.where(stored < X.shape[0], np.maximum(1.0 - np.bincount(columns, own, d), 0.0), 0.0)
    shift = np.zeros(d)
    shift[stored > 0] = values[entries.indptr[:-1][stored > 0]]
    means = shift + np.bincount(columns, own * (values - shift[columns]), d) - unstored * shift
    squares = np.bincount(columns, own * np.square(values - means[columns]), d)
    return np.asarray(squares + unstored * np.square(means))


def covariance(X: Any, weights: Vector | None = None) -> Matrix:
    """Covariance of the columns, divided by the number of rows; sparse samples become dense.

    Examples
    --------
    >>> covariance(np.array([[0.0, 1.0], [2.0, 1.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    share = np.ones(len(dense)) if weights is None else _relative(weights)
    share = share / share.sum()
    away = dense - dense[0]
    away -= share @ away
    found = (away.T * share) @ away
    return np.asarray(0.5 * (found + found.T))

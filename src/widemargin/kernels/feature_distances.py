"""Squared distances over a subset of the features, kept so that a feature can be taken in or left out.

d_B(x, z) = sum over k in B of (x_k - z_k)^2, so that a feature more or less changes d_B by one squared difference: n m
operations, where computing all distances anew takes n m d.

Distances are rounded to float32, and so is every change of them: a toggle adds an error of 2^-24 times the larger one
of the distances before and after. Errors of a chain of toggles add up, and a feature that is left out leaves the
rounding of the distances that it was part of, however small the others are. So toggle distances that were computed
(:meth:`FeatureDistances.between`), once, and not those that were toggled before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import kernel_matrix
from widemargin.runtime import thread_count

#: Largest squared distance that can be kept.
FARTHEST = 1e38

Single = NDArray[np.float32]
Mask = NDArray[np.bool_]


def column(X: Any, feature: int) -> Single:
    """Return a feature of all samples.

    Examples
    --------
    >>> column(sp.csr_matrix([[0.0, 2.0], [1.0, 0.0]]), 1).tolist()
    [2.0, 0.0]
    """
    return np.ascontiguousarray(_exact_column(X, feature), dtype=np.float32)


def columns(X: Any, Z: Any, feature: int) -> tuple[Single, Single]:
    """Return a feature of two sets of samples, seen from its median, so that differences keep their digits in float32.

    The median is the value of a sample, so that whole numbers remain whole.

    Examples
    --------
    >>> own, others = columns(np.array([[1e9], [1e9 + 1]]), np.array([[1e9 + 0.25]]), 0)
    >>> float(own[1] - others[0])
    0.75
    """
    own = _exact_column(X, feature)
    middle = np.partition(own, len(own) // 2)[len(own) // 2] if len(own) else 0.0
    first = np.ascontiguousarray(own - middle, dtype=np.float32)
    if X is Z:
        return first, first
    return first, np.ascontiguousarray(_exact_column(Z, feature) - middle, dtype=np.float32)


def _exact_column(X: Any, feature: int) -> NDArray[np.float64]:
    own = X[:, [feature]].toarray().ravel() if sp.issparse(X) else X[:, feature]
    return np.asarray(own, dtype=np.float64)


def require_room(X: Any, Z: Any) -> None:
    """Refuse samples that are too far from each other for squared distances in float32."""
    with np.errstate(over="ignore"):
        low, high = (
            getattr(np, which)([_ends(one, which) for one in ([X] if X is Z else [X, Z])], axis=0)
            for which in ("min", "max")
        )
        ranges = high - low
        largest = float(np.square(ranges).sum())
    if not largest <= FARTHEST:
        at = int(ranges.argmax())
        raise ValueError(
            f"feature {at} ranges over {ranges[at]:g}; squared distances must be at most {FARTHEST:g}, so scale it."
        )


def _ends(X: Any, which: str) -> NDArray[np.float64]:
    found = getattr(X, which)(axis=0)
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64).ravel()


def selected(X: Any, features: Mask) -> Any:
    """Return the features of a subset; all of them without a copy.

    Examples
    --------
    >>> selected(np.arange(6.0).reshape(2, 3), np.array([True, False, True])).tolist()
    [[0.0, 2.0], [3.0, 5.0]]
    """
    if features.all():
        return X
    chosen = X[:, np.flatnonzero(features)]
    return chosen if sp.issparse(X) else np.ascontiguousarray(chosen)


@dataclass(frozen=True)
class FeatureDistances:
    """Squared distances between two sets of samples over a subset of their features, in float32.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    features : ndarray of bool of shape (d,)
        The subset.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 3.0]])
    >>> both = FeatureDistances.between(X, X, np.array([True, True]))
    >>> both.values.tolist()
    [[0.0, 10.0], [10.0, 0.0]]
    >>> both.toggled(1, X, X).values.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    values: Single
    features: Mask

    @classmethod
    def between(cls, X: Any, Z: Any, features: Mask, *, n_jobs: int | None = None) -> FeatureDistances:
        """Compute the distances between `X` and `Z`: n m d multiplications, half of that if they are the same.

        Raises ValueError where distances over all features would be beyond 1e38.
        """
        require_room(X, Z)
        left = selected(X, features)
        right = None if X is Z else selected(Z, features)
        values = kernel_matrix(left, right, kernel="squared-distance", n_jobs=n_jobs)
        if right is None:
            np.fill_diagonal(values, 0.0)
        return cls(values, features)

    def toggled(
        self, feature: int, X: Any, Z: Any, *, out: Single | None = None, n_jobs: int | None = None
    ) -> FeatureDistances:
        """Return the distances with a feature taken in, if it is not, or else left out; n m operations.

        Parameters
        ----------
        feature : int
        X, Z
            The samples, with all features.
        out : ndarray of shape (n, m), optional
            Where to; may be `values`, for a change in place.
        n_jobs : int, optional
            Threads, as joblib counts them.
        """
        features = self.features.copy()
        features[feature] = not features[feature]
        to = np.asarray(_core.empty_matrix_float32(*self.values.shape)) if out is None else out
        own, others = columns(X, Z, feature)
        _core.toggle_feature(self.values, own, others, bool(features[feature]), to, thread_count(n_jobs))
        return FeatureDistances(to, features)

"""Squared distances over a subset of the features, kept so that a feature can be taken in or left out.

d_B(x, z) = sum over k in B of (x_k - z_k)^2, so that a feature more or less changes d_B by one squared difference: n m
operations, where computing all distances anew takes n m d.
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

Single = NDArray[np.float32]
Mask = NDArray[np.bool_]


def column(X: Any, feature: int) -> Single:
    """Return a feature of all samples.

    Examples
    --------
    >>> column(sp.csr_matrix([[0.0, 2.0], [1.0, 0.0]]), 1).tolist()
    [2.0, 0.0]
    """
    own = X[:, [feature]].toarray().ravel() if sp.issparse(X) else X[:, feature]
    return np.ascontiguousarray(own, dtype=np.float32)


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
        """Compute the distances between `X` and `Z`: n m d multiplications, half of that if they are the same."""
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
        own = column(X, feature)
        others = own if X is Z else column(Z, feature)
        _core.toggle_feature(self.values, own, others, bool(features[feature]), to, thread_count(n_jobs))
        return FeatureDistances(to, features)

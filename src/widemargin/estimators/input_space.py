"""Centres and distances of the linear kernel, which are those of the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.estimators.prediction import as_dense
from widemargin.kernels.spread import moderate
from widemargin.machines.dual import Vector

#: Differences to the centre that are held at once.
BLOCK_ENTRIES = 2**20


def centred(X: Any, weights: Vector) -> Any:
    """Take the weighted mean off dense rows; sparse ones stay as they are.

    Examples
    --------
    >>> centred(np.array([[1e9], [1e9 + 2.0], [0.0]]), np.array([1.0, 1.0, 0.0])).tolist()
    [[-1.0], [1.0], [-1000000001.0]]
    """
    if sp.issparse(X):
        return X
    # Differences to a row of the data, so that a common offset does not round the mean.
    weights = moderate(weights)
    shift = X[int(np.argmax(weights > 0))].astype(np.float64)
    return X - (shift + weights @ (X - shift) / weights.sum())


def squared_distances_to(centre: Any, X: Any) -> Vector:
    """Squared Euclidean distances of the rows of `X`; of dense rows from their differences, in which nothing cancels.

    Examples
    --------
    >>> squared_distances_to(np.array([[1e9, 0.0]]), np.array([[1e9 + 1.0, 2.0]])).tolist()
    [5.0]
    """
    point = as_dense(centre).ravel()
    if sp.issparse(X):
        squares = as_dense(X.multiply(X).sum(axis=1)).ravel()
        return np.asarray(squares - 2.0 * as_dense(X @ point).ravel() + float(point @ point))
    step = max(1, BLOCK_ENTRIES // len(point))
    parts = [np.square(X[begin : begin + step] - point).sum(axis=1) for begin in range(0, len(X), step)]
    return np.concatenate(parts)

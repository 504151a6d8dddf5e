"""Weighted squared differences between two sets of examples: all that derivatives of Gaussian kernels consist of.

sum_ij V_ij (x_i - z_j)(x_i - z_j)' = X' diag(V 1) X + Z' diag(V' 1) Z - X' V Z - Z' V' X, so that one product with V
serves all parameters of a metric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


def diagonal_moments(V: Matrix, X: Any, Z: Any) -> Vector:
    """Sum of V_ij (x_ik - z_jk)^2 over i and j, for every feature k; n m d multiplications.

    Examples
    --------
    >>> diagonal_moments(np.ones((1, 2)), np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 1.0]])).tolist()
    [5.0, 1.0]
    """
    X, Z = _centred(X, Z)
    rows, columns = V.sum(axis=1), V.sum(axis=0)
    if sp.issparse(X):
        squares = X.multiply(X).T @ rows + Z.multiply(Z).T @ columns
        mixed = np.asarray(X.multiply(sp.csr_array(V @ Z)).sum(axis=0)).ravel()
        return np.asarray(squares - 2.0 * mixed)
    squares = rows @ np.square(X) + columns @ np.square(Z)
    return np.asarray(squares - 2.0 * np.einsum("ik,ik->k", X, V @ Z))


def full_moments(V: Matrix, X: Any, Z: Any) -> Matrix:
    """Sum of V_ij (x_i - z_j)(x_i - z_j)' over i and j, shape (d, d); n m d multiplications and n d^2 more.

    Examples
    --------
    >>> full_moments(np.ones((1, 1)), np.array([[1.0, 2.0]]), np.zeros((1, 2))).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    X, Z = (part.toarray() if sp.issparse(part) else part for part in _centred(X, Z))
    mixed = X.T @ (V @ Z)
    return np.asarray((X.T * V.sum(axis=1)) @ X + (Z.T * V.sum(axis=0)) @ Z - mixed - mixed.T)


def _centred(X: Any, Z: Any) -> tuple[Any, Any]:
    """Move both sets, so that squares of large means do not have to cancel; sparse ones stay where they are."""
    if sp.issparse(X) or sp.issparse(Z):
        return sp.csr_array(X), sp.csr_array(Z)
    middle = Z.mean(axis=0)
    moved = Z - middle
    return moved if X is Z else X - middle, moved

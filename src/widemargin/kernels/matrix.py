"""Whole kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import examples, row_source
from widemargin.runtime import single_threaded_blas, thread_count


def kernel_matrix(
    X: Any,
    Y: Any = None,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    coef0: float = 0.0,
    degree: int = 3,
    dtype: str = "float32",
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Kernel values between all rows of `X` and all rows of `Y`.

    Tiles are computed as dot products or distances and pass through the kernel while they are in cache; without `Y`
    only the upper half is computed and mirrored. Cost: n m d multiplications (half of that if symmetric).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    Y : ndarray or sparse matrix of shape (m, d), default=None
        None means `X` itself.
    kernel : {"linear", "poly", "rbf", "sigmoid"}
    gamma, coef0, degree
        See :class:`widemargin.kernels.KernelParameters`.
    dtype : {"float32", "float64"}
        Type of the result and of the arithmetic.
    n_jobs : int, default=None
        Threads, as joblib counts them.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import kernel_matrix
    >>> kernel_matrix(np.array([[0.0], [1.0]]), gamma=1.0, dtype="float64").round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not one of 'float32', 'float64'.")
    rows = row_source(X, kernel=kernel, gamma=gamma, coef0=coef0, degree=degree)
    columns = None if Y is None else examples(Y)
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise ValueError(f"Y has {Y.shape[1]} columns where X has {X.shape[1]}.")
    compute = _core.kernel_matrix_float32 if dtype == "float32" else _core.kernel_matrix_float64
    with single_threaded_blas():
        return np.asarray(compute(rows, columns, thread_count(n_jobs)))

"""Width and magnitude: what the numbers in the examples mean for the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels import KernelParameters, RowSource

Vector = NDArray[np.float64]

#: Share of the variance that makes one column drown all others.
DOMINANT_SHARE = 0.999

#: Kernel values beyond this leave no room for sums of them.
LARGEST_KERNEL_VALUE = 1e30


def _chunks(X: NDArray[Any], weights: Vector) -> Iterator[tuple[NDArray[Any], Vector]]:
    rows = max(1, 2**18 // max(1, X.shape[1]))
    for begin in range(0, len(X), rows):
        yield X[begin : begin + rows], weights[begin : begin + rows]


def column_moments(X: NDArray[Any], weights: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of every column, rows counted by their weights.

    Two passes over differences to the first row and to the mean: nothing cancels, and a constant column has variance 0
    exactly.

    Examples
    --------
    >>> means, variances = column_moments(np.array([[1e9, 0.1], [1e9 + 2, 0.1]]), np.ones(2))
    >>> variances.tolist()
    [1.0, 0.0]
    """
    total, first = weights.sum(), X[0].astype(np.float64)
    means, variances = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for chunk, share in _chunks(X, weights):
            means += share @ (chunk - first)
        means = first + means / total
        for chunk, share in _chunks(X, weights):
            variances += share @ np.square(chunk - means)
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
    entries = X.tocsr()
    share = np.repeat(weights, np.diff(entries.indptr))
    values = entries.data.astype(np.float64)
    total = float(weights.sum()) * X.shape[1]
    unstored = max(0.0, total - float(share.sum())) if X.nnz < X.shape[0] * X.shape[1] else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        shift = float(values[0])
        mean = shift + (float(share @ (values - shift)) - unstored * shift) / total
        return float((share @ np.square(values - mean) + unstored * np.square(mean)) / total)


def resolve_kernel(
    kernel: Any,
    gamma: float | str,
    coef0: float,
    degree: int,
    X: Any,
    weights: Vector,
    names: Any = None,
    *,
    tell: bool = True,
    checked: bool = False,
) -> KernelParameters:
    """Replace gamma="scale" and gamma="auto" by numbers, and refuse or warn where the data do not suit the kernel.

    Without `tell` nobody is warned, and `checked` data are not looked at again: for those who ask a second time.
    """
    number = 1.0
    if kernel in ("rbf", "poly", "sigmoid"):
        if not checked:
            require_magnitude(X)
        wanted = gamma == "scale" or (tell and kernel == "rbf")
        moments = column_moments(X, weights) if wanted and not sp.issparse(X) else None
        if moments is not None and tell:
            warn_if_one_column_dominates(moments[1], names)
        if gamma == "scale":
            number = _scale(sparse_variance(X, weights) if moments is None else _pooled(*moments), X.shape[1])
        else:
            number = 1.0 / X.shape[1] if gamma == "auto" else float(gamma)
    return KernelParameters(kernel, number, float(coef0), int(degree))


def _pooled(means: Vector, variances: Vector) -> float:
    """Variance of all entries: mean of the variances of the columns and variance of their means."""
    return float(variances.mean() + np.var(means - means[0]))


def _scale(variance: float, columns: int) -> float:
    if variance == 0.0:
        return 1.0
    width = columns * variance
    if not np.finfo(np.float64).tiny < width:
        raise ValueError(
            f"gamma='scale' needs the variance of X, which is {variance:.3g}, too small to compute with; scale X (for "
            "example to unit variance) or pass gamma as a number."
        )
    return 1.0 / width


def require_magnitude(X: Any) -> None:
    """Refuse examples whose squared distances overflow."""
    values = X.data if sp.issparse(X) else X
    if not values.size:
        return
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e150 / np.sqrt(X.shape[1]):
        raise ValueError(
            f"X holds values of magnitude {largest:.3g}, too large to compute distances or products with; scale X (for "
            "example to unit variance)."
        )


def require_moderate_diagonal(rows: RowSource, kernel: KernelParameters) -> None:
    """Refuse kernels without an upper bound where they leave the range of the arithmetic."""
    if kernel.kernel not in ("linear", "poly"):
        return
    diagonal = np.abs(rows.diagonal())
    largest = float(diagonal.max())
    if not largest < LARGEST_KERNEL_VALUE:
        row = int(diagonal.argmax())
        raise ValueError(
            f"kernel={kernel.kernel!r} reaches {largest:.3g} at row {row} of X, too large to compute with; scale X "
            "(for example to unit variance) or lower gamma, coef0 or degree."
        )


def warn_if_one_column_dominates(variances: Vector, names: Any = None) -> None:
    """Warn where distances are those along one column, while other columns vary too."""
    total = float(variances.sum())
    column = int(variances.argmax())
    others_vary = np.count_nonzero(variances) > 1
    if others_vary and np.isfinite(total) and variances[column] > DOMINANT_SHARE * total:
        named = "" if names is None else f" ({names[column]!r})"
        warnings.warn(
            f"Column {column}{named} of X carries {100.0 * variances[column] / total:.4g} % of the variance, so that "
            "the kernel hardly sees the others; scale the columns (for example with StandardScaler) if they matter.",
            UserWarning,
            stacklevel=5,
        )

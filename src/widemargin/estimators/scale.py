"""Width and magnitude: what the numbers in the samples mean for the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import KernelParameters, RowSource
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.spread import column_moments, scale_gamma

Vector = NDArray[np.float64]

#: Share of the variance that makes one column drown all others.
DOMINANT_SHARE = 0.999

#: Kernel values beyond this leave no room for sums of them.
LARGEST_KERNEL_VALUE = 1e30

#: Between these, float32 holds kernel values and sums of them.
FLOAT32_KERNEL_VALUES = 1e-30, 1e30


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
    if not isinstance(kernel, str) and is_kernel_object(kernel):
        own = as_kernel(kernel)
        if not checked and own.requires_vector_input:
            require_magnitude(X)
        found = own.fitted(X, weights=weights).resolved()
        if checked or not found.of_examples:
            return found
        mapped = found.mapped(X)
        require_magnitude(mapped)
        # Features that somebody scaled were meant to be what they are.
        scaled_alike = found.kernel == "rbf" and (found.map is None or own.kind_depends_on_data)
        if tell and scaled_alike and not sp.issparse(mapped):
            warn_if_one_column_dominates(column_moments(mapped, weights)[1], names)
        return found
    number = 1.0
    if kernel in ("rbf", "poly", "sigmoid"):
        if not checked:
            require_magnitude(X)
        wanted = gamma == "scale" or (tell and kernel == "rbf")
        moments = column_moments(X, weights) if wanted and not sp.issparse(X) else None
        if moments is not None and tell:
            warn_if_one_column_dominates(moments[1], names)
        if gamma == "scale":
            number = scale_gamma(X, weights, moments)
        else:
            number = 1.0 / X.shape[1] if gamma == "auto" else float(gamma)
    return KernelParameters(kernel, number, float(coef0), int(degree))


class UnusedGammaWarning(UserWarning):
    """A number was given for gamma, and the kernel has no such parameter."""


@contextmanager
def without_gamma_warnings() -> Iterator[None]:
    """Leave out, within, what was said before for all models of a search."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedGammaWarning)
        yield


def leaves_gamma_unused(kernel: Any, gamma: Any) -> bool:
    """Whether a gamma was given, and the kernel of this name computes without one.

    Examples
    --------
    >>> leaves_gamma_unused("linear", 0.1), leaves_gamma_unused("linear", "scale"), leaves_gamma_unused("rbf", 0.1)
    (True, False, False)
    """
    return isinstance(kernel, str) and kernel == "linear" and not (isinstance(gamma, str) and gamma == "scale")


def require_magnitude(X: Any) -> None:
    """Refuse samples whose squared distances overflow."""
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
    if kernel.kernel in ("rbf", "sigmoid", "precomputed") or (callable(kernel.kernel) and kernel.source is None):
        return
    diagonal = np.abs(rows.diagonal())
    largest = float(diagonal.max())
    if not largest < LARGEST_KERNEL_VALUE:
        row = int(diagonal.argmax())
        raise ValueError(
            f"kernel={kernel.kernel!r} reaches {largest:.3g} at row {row} of X, too large to compute with; scale X "
            "(for example to unit variance) or lower gamma, coef0 or degree."
        )


def fits_float32(rows: RowSource) -> bool:
    """Tell whether float32 has the range for a kernel: for what it is computed from, and for its values.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> [fits_float32(row_source(np.array([[1.0], [x]]), kernel="linear")) for x in (2.0, 1e20)]
    [True, False]
    """
    largest, (least, most) = float(np.abs(rows.diagonal()).max(initial=0.0)), FLOAT32_KERNEL_VALUES
    return rows.fits_float32 and (largest == 0.0 or least < largest < most)


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

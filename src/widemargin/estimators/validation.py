"""Checks at the boundary: one sentence naming the parameter, column or row, what was found, what would be accepted."""

from __future__ import annotations

import contextlib
import math
import numbers
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.base import require_instance
from widemargin.kernels.rows import (
    ASYMMETRY,
    KernelCallable,
    KernelParameters,
    RowSource,
    call_kernel,
    count,
    require_equal_mirror,
    take,
)
from widemargin.machines.classifier import LARGEST_RIDGE
from widemargin.runtime import single_threaded_blas, thread_count

#: Kernels by name, those of samples, whose parameters are the estimator's, and all.
KERNELS_OF_SAMPLES = ("linear", "poly", "rbf", "sigmoid")
KERNELS = (*KERNELS_OF_SAMPLES, "precomputed")

#: Types of numbers that the core computes with; others are converted.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

#: Stands for targets where there are none, as in scikit-learn.
UNLABELLED = "no_validation"

#: Coefficients whose sum is given leave float64 beyond this, or below the inverse, when they are squared and summed.
LARGEST_SUM = 1e100

#: Rows of a kernel matrix up to which every entry is compared with its mirror image; for larger ones a first look,
#: which could miss differences that cancel each other, comes before.
LOOKED_AT_CLOSELY = 256

#: Share of the variance that makes one column drown all others.
DOMINANT_SHARE = 0.999

#: Kernel values beyond this leave no room for sums of them.
LARGEST_KERNEL_VALUE = 1e30

#: Between these, float32 holds kernel values and sums of them.
FLOAT32_KERNEL_VALUES = 1e-30, 1e30

#: An eigenvalue below minus this share of the largest is no rounding, not even that of float32 entries.
INDEFINITENESS = 1e-4


#: Refuses a value of the parameter of this name, in one sentence, if it means nothing.
Accepts = Callable[[str, Any], None]


def require_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
    infinite: bool = False,
    others: tuple[Any, ...] = (),
) -> None:
    """Refuse anything but a real (or whole) number within its bounds, or one of the other values."""
    if others and isinstance(value, (str, numbers.Number, NoneType)) and value in others:
        return
    given = repr(value)
    if isinstance(value, numbers.Integral if integer else numbers.Real) and not isinstance(value, (bool, np.bool_)):
        try:
            number = float(value)
        except OverflowError:  # whole numbers have no end
            number, given = math.nan, "one that float64 cannot hold"
        finite = math.isfinite(number) or (infinite and math.isinf(number))
        low = (above is None or number > above) and (at_least is None or number >= at_least)
        if finite and low and (at_most is None or number <= at_most):
            return
    kind = "a whole number" if integer else "a number"
    named = (("above", above), ("of at least", at_least), ("at most", at_most))
    limits = " and ".join(f"{which} {limit:.10g}" for which, limit in named if limit is not None)
    instead = "".join(f"{other!r} or " for other in others)
    raise ValueError(f"{name} must be {instead}{kind}{' ' if limits else ''}{limits}; got {given}.")


def require_fraction(name: str, value: Any, *, below_one: bool = False, with_zero: bool = False) -> None:
    """Refuse anything but a number above (or of at least) 0 and at most (or below) 1."""
    try:
        require_number(name, value, at_least=0)
        fits = (value > 0 or with_zero) and (value < 1 if below_one else value <= 1)
    except ValueError:
        fits = False
    if not fits:
        low, high = "of at least" if with_zero else "above", "below" if below_one else "at most"
        raise ValueError(f"{name} must be a number {low} 0 and {high} 1; got {value!r}.")


def require_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse anything but one of the listed values; strings out of NumPy's arrays are strings."""
    if isinstance(value, (str, NoneType)):
        known = value in choices
    else:
        known = any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices)
    if not known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def require_kernel(name: str, value: Any) -> None:
    """Refuse anything but the name of a kernel or a callable."""
    require_instance(name, value)
    if isinstance(value, str) or not callable(value):
        require_choice(name, value, KERNELS)


def require_jobs(name: str, value: Any) -> None:
    """Refuse what is no number of threads."""
    if value is not None:
        thread_count(value)


def require_class_weight(name: str, value: Any) -> None:
    """Refuse strings other than "balanced"; what else means nothing is found where the classes are known."""
    if isinstance(value, str) and value != "balanced":
        raise ValueError(f"{name} must be one of 'balanced'; got {value!r}.")


def require_flag(name: str, value: Any) -> None:
    """Refuse anything but a truth value."""
    if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


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


def warn_if_gamma_is_unused(kernel: Any, gamma: Any) -> None:
    """Warn, at the line that called ``fit``, if there is a gamma that makes no difference."""
    if leaves_gamma_unused(kernel, gamma):
        warnings.warn(
            f"gamma={gamma!r} makes no difference to kernel={kernel!r}, which has no such parameter; leave it at "
            "'scale', or choose another kernel.",
            UnusedGammaWarning,
            stacklevel=3,
        )


def is_plain(X: Any, y: Any = UNLABELLED, *, gram: bool = False) -> bool:
    """Whether samples, and targets if there are any, are such that no check refuses, converts or warns of anything.

    Those of scikit-learn take longer than a small fit. A sum is finite only if all terms are; where it overflows all
    the same, the checks may have their say. A `gram`, a kernel matrix, is summed up later (:func:`require_gram`).

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]])
    >>> is_plain(X), is_plain(X, np.array([0, 1])), is_plain(X, [0, 1]), is_plain(X[:0]), is_plain([[1.0], [2.0]])
    (True, True, False, False, False)
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in FLOATS or not X.flags.c_contiguous:
        return False
    if y is not UNLABELLED:
        if type(y) is not np.ndarray or y.shape != X.shape[:1] or not y.flags.c_contiguous:
            return False
        if y.dtype.kind not in "biu" and not (y.dtype in FLOATS and np.isfinite(y).all()):
            return False
    if gram and X.shape[0] == X.shape[1]:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(X.sum(dtype=np.float64))


def require_finite(X: Any, feature_names: NDArray[Any] | None = None, columns: NDArray[np.intp] | None = None) -> None:
    """Refuse NaN and infinity in the samples, naming the first column and row; X may hold some of the columns only."""
    values = X.data if sp.issparse(X) else X
    # A sum is finite only if all terms are, overflow aside: one fast pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(values.sum(dtype=np.float64)):
            return
    if sp.issparse(X):
        entries = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        if not len(bad):
            return
        row, column, value = entries.row[bad[0]], entries.col[bad[0]], entries.data[bad[0]]
    else:
        where = np.argwhere(~np.isfinite(X))
        if not len(where):
            return
        row, column = where[0]
        value = X[row, column]
    label = "NaN" if np.isnan(value) else "infinity"
    column = column if columns is None else columns[column]
    named = "" if feature_names is None else f" ({feature_names[column]!r})"
    raise ValueError(
        f"Input X contains {label} in column {column}{named}, first at row {row}; only finite numbers are accepted."
    )


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
        of_vectors = kernel.source is None or kernel.source.requires_vector_input
        instead = "scale X (for example to unit variance) or lower gamma, coef0 or degree"
        raise ValueError(
            f"kernel={kernel.kernel!r} reaches {largest:.3g} at row {row} of X, too large to compute with; "
            f"{instead if of_vectors else 'multiply it, or its weights, by a smaller number'}."
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


def warn_if_one_column_dominates(variances: NDArray[np.float64], names: Any = None) -> None:
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
            stacklevel=4,
        )


def require_gram(K: NDArray[Any], n_threads: int = 1) -> None:
    """Refuse a precomputed kernel matrix that is not square, finite and symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed kernel matrix: X.shape[0] should be equal to X.shape[1]; got shape {K.shape}.")
    if len(K) > LOOKED_AT_CLOSELY and _core.looks_symmetric(K, 0.5 * ASYMMETRY, n_threads):
        return
    require_finite(K)
    found = _core.symmetry(K, n_threads)
    if found.difference > ASYMMETRY * found.largest:
        row, column = found.row, found.column
        raise ValueError(
            f"The precomputed kernel matrix must be symmetric; entries ({row}, {column}) and ({column}, {row}) differ "
            f"by {found.difference:.3g}."
        )


def require_symmetric(kernel: KernelCallable, X: Any, sample: int = 64) -> None:
    """Refuse a kernel callable whose values on a few samples, spread over all, depend on their order."""
    ids = np.unique(np.linspace(0, count(X) - 1, sample).astype(np.intp))
    some = take(X, ids)
    require_equal_mirror(call_kernel(kernel, some, some), ids)


def warn_if_indefinite(K: NDArray[Any], sample: int = 200) -> None:
    """Warn where a principal submatrix of a few rows shows that the kernel matrix is not positive semidefinite.

    By interlacing, the smallest eigenvalue of the whole matrix lies below that of any principal submatrix.
    """
    blocks = np.sort(np.random.default_rng(0).permutation(-(-len(K) // 8))[: max(1, sample // 8)])
    ids = (8 * blocks[:, np.newaxis] + np.arange(8)).ravel()  # eight entries share a line of the processor's cache
    ids = ids[ids < len(K)]
    among = K[np.ix_(ids, ids)].astype(np.float64)
    # No eigenvalue is below -INDEFINITENESS times the largest one, which no entry of the diagonal exceeds, if this has
    # a factor; that takes a thirtieth of the time of the eigenvalues.
    shifted = among + INDEFINITENESS * max(float(np.diagonal(among).max()), 0.0) * np.eye(len(among))
    with single_threaded_blas():
        with contextlib.suppress(np.linalg.LinAlgError):
            np.linalg.cholesky(shifted)
            return
        eigenvalues = np.linalg.eigvalsh(among)
    if eigenvalues[0] < -INDEFINITENESS * np.abs(eigenvalues).max():
        warnings.warn(
            f"The precomputed kernel matrix is not positive semidefinite (an eigenvalue of {eigenvalues[0]:.3g} beside "
            f"a largest one of {eigenvalues[-1]:.3g}), so the model found may not be the best one.",
            UserWarning,
            stacklevel=4,
        )


def is_numeric(X: Any) -> bool:
    """Whether `X` is a matrix of numbers; kernel callables take anything else as it is."""
    if sp.issparse(X):
        return True
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.ndim == 2 and array.dtype.kind in "biufc"


@contextmanager
def numbers_needed(by: str) -> Iterator[None]:
    """Say who needs numbers, and what to do instead, where samples are checked in here and turn out to be text."""
    try:
        yield
    except ValueError as problem:
        if not str(problem).startswith("could not convert string to float"):
            raise
        raise ValueError(f"X holds text ({problem}), but {by}.") from None


def priced(weights: NDArray[np.float64], C: float, squared: str | None = None) -> NDArray[np.float64]:
    """Multiply the weights by C; an infinite one leaves a weight of 0 what it is.

    A product of finite numbers is the largest one there is at most: an infinite one would ask for a hard margin.
    Products that are too small to compute with, all of them, are refused; larger ones if the loss is `squared`, by the
    parameter of this name.
    """
    with np.errstate(over="ignore"):
        prices = np.where(weights > 0, np.inf, 0.0) if np.isinf(C) else float(C) * weights
    if not np.isinf(C):
        prices = np.where(np.isfinite(weights), np.minimum(prices, np.finfo(np.float64).max), prices)
    largest = float(prices.max(initial=0.0))
    if largest == 0.0:
        raise ValueError("C times sample_weight is 0 in float64 for every row; raise C, or the weights.")
    if squared is not None and largest <= 0.5 / LARGEST_RIDGE:
        raise ValueError(
            f"C times the weights reaches {largest:.3g} at most, too small for {squared}; it must be above "
            f"{0.5 / LARGEST_RIDGE:g}."
        )
    return prices


def total_weight(weights: NDArray[np.float64]) -> float:
    """Return the sum of the weights; infinity if that is beyond float64."""
    with np.errstate(over="ignore"):
        return float(weights.sum())


def check_weights(sample_weight: Any, n: int, *, one_above_zero: bool = True) -> NDArray[np.float64]:
    """Read the weights of the samples: one finite number each, not all zero; negative ones are taken for zero."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Real):
        sample_weight = [sample_weight] * n
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except OverflowError:
        raise ValueError(
            "sample_weight contains a number that float64 cannot hold; only finite numbers are accepted."
        ) from None
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight for every row of X.")
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"sample_weight contains {weights[row]} at row {row}; only finite numbers are accepted.")
    negative = int(np.count_nonzero(weights < 0))
    if one_above_zero and negative == np.count_nonzero(weights):
        raise ValueError(
            "Invalid input - all samples have zero or negative weights; sample_weight must hold at least one above 0."
        )
    if negative:
        row = int(np.flatnonzero(weights < 0)[0])
        warnings.warn(
            f"sample_weight holds {negative} negative weight{'s' * (negative > 1)}, first {weights[row]:g} at row "
            f"{row}; these samples are left out, as with a weight of 0.",
            UserWarning,
            stacklevel=4,
        )
        weights = np.maximum(weights, 0.0)
    return weights

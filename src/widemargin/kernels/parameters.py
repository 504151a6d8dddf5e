"""Parameters of kernel objects: what is accepted, when two are the same, and kernels in writing, with all digits."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

#: Range of a parameter to search in, or "fixed" for one that keeps its number.
Bounds = tuple[float, float] | str

#: Range of a positive parameter, unless told otherwise.
WIDE: tuple[float, float] = (1e-8, 1e8)


def require_positive(kernel: str, name: str, value: Any) -> None:
    """Refuse a parameter of a kernel that is not a positive finite number, or several of these."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    if isinstance(value, bool | str) or not numbers.size or not ((numbers > 0.0) & np.isfinite(numbers)).all():
        raise ValueError(f"{name} of {kernel} is {value!r}; it must be positive and finite.")


def broadcast_bounds(name: str, bounds: Any, length: int) -> NDArray[np.float64]:
    """Return the range of a parameter, a row for each of its numbers, or refuse it."""
    given = np.asarray(bounds, dtype=np.float64)
    if given.shape not in ((2,), (1, 2), (length, 2)) or not (given > 0.0).all() or (np.diff(given) < 0.0).any():
        raise ValueError(
            f"{name}_bounds is {bounds!r}; it must be a pair of positive numbers in order, one such pair for each of "
            f"{length} numbers, or 'fixed'."
        )
    return np.broadcast_to(given, (length, 2))


def written(kernel: Any, defaults: Mapping[str, Any] | None = None) -> str:
    """Write a call that makes a kernel, parameters at their defaults left out.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> written(RBF(length_scale=1 / 3))
    'RBF(length_scale=0.3333333333333333)'
    """
    if defaults is None:
        parameters = signature(type(kernel).__init__).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
    given = [
        f"{name}={value_written(value)}"
        for name, value in kernel.get_params(deep=False).items()
        if not same(value, defaults[name])
    ]
    return f"{type(kernel).__name__}({', '.join(given)})"


def value_written(value: Any) -> str:
    """Write a parameter: arrays as lists, numbers without their type."""
    if isinstance(value, np.ndarray | np.generic):
        return repr(value.tolist())
    return repr(value)


def same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal; lists, tuples and arrays of the same numbers are.

    Examples
    --------
    >>> same([1.0, 2.0], np.array([1.0, 2.0])), same(1.0, None), same(1.0, np.float64(1.0))
    (True, False, True)
    """
    if one is other:
        return True
    if isinstance(one, GaussianProcessKernel) or isinstance(other, GaussianProcessKernel):
        return bool(one == other)
    if isinstance(one, list | tuple | np.ndarray) and isinstance(other, list | tuple | np.ndarray):
        return np.shape(one) == np.shape(other) and bool(np.all(np.asarray(one) == np.asarray(other)))
    for kind in (Number, str):  # of whatever library
        if isinstance(one, kind) and isinstance(other, kind):
            return bool(one == other)
    return type(one) is type(other) and bool(one == other)

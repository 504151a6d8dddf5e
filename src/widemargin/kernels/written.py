"""Kernels in writing, with all digits: what `repr` gives is what a program would say to make the same kernel."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from numbers import Number
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel


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
    """Write a parameter: arrays as lists, numbers without their type.

    Examples
    --------
    >>> value_written(np.array([0.5, 2.0])), value_written(np.float64(0.1))
    ('[0.5, 2.0]', '0.1')
    """
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

"""Checks of the parameters of kernel objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Range of a parameter to search in, or "fixed" for one that keeps its number.
Bounds = tuple[float, float] | str

#: Range of a positive parameter, unless told otherwise.
WIDE: tuple[float, float] = (1e-8, 1e8)


def require_positive(kernel: str, name: str, value: Any) -> None:
    """Refuse a parameter of a kernel that is not a positive finite number, or several of these.

    Examples
    --------
    >>> require_positive("Gaussian", "gamma", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: gamma of Gaussian is -1.0; it must be positive and finite.
    """
    if not _all_positive(value) or isinstance(value, bool | str):
        raise ValueError(f"{name} of {kernel} is {value!r}; it must be positive and finite.")


def _all_positive(values: Any) -> bool:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(numbers.size and (numbers > 0.0).all() and np.isfinite(numbers).all())


def broadcast_bounds(name: str, bounds: Any, length: int) -> NDArray[np.float64]:
    """Range of a parameter of some numbers, a row for each of these, or refuse what is none.

    Examples
    --------
    >>> broadcast_bounds("gammas", (0.1, 10.0), 2).tolist()
    [[0.1, 10.0], [0.1, 10.0]]
    """
    given = np.asarray(bounds, dtype=np.float64)
    if given.shape not in ((2,), (1, 2), (length, 2)) or not (given > 0.0).all() or (np.diff(given) < 0.0).any():
        raise ValueError(
            f"{name}_bounds is {bounds!r}; it must be a pair of positive numbers in order, one such pair for each of "
            f"{length} numbers, or 'fixed'."
        )
    return np.broadcast_to(given, (length, 2))

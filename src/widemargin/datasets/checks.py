"""Argument checks shared by the generators: one sentence naming the parameter, what was found and what would do."""

from numbers import Integral, Real
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatMatrix: TypeAlias = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.int64]
RandomState: TypeAlias = int | np.random.Generator | None


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """Return ``value`` as an int, or refuse anything but a whole number of at least ``least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def probability(name: str, value: object) -> float:
    """Return ``value`` as a float, or refuse anything outside [0, 1]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def random_generator(random_state: RandomState) -> np.random.Generator:
    """Return a private generator for a seed, a fresh one for None, and a given generator itself."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, Integral) and not isinstance(random_state, bool | np.bool_) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state must be a non-negative whole number, a numpy.random.Generator or None, got {random_state!r}."
    )


def size_and_generator(n_samples: object, random_state: RandomState) -> tuple[int, np.random.Generator]:
    """Return what every generator of data needs: the checked number of points and its source of random numbers."""
    return whole_number("n_samples", n_samples), random_generator(random_state)

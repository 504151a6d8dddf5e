"""The random functions of [Glasmachers2008, section 11.4] on which searches through noise are judged.

Of each function there is an expected value with one minimum; an evaluation tells the gradient of a random member of
the family. The second parameter of a function is what is random, uniform between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: How many random numbers each trial draws at a time.
BLOCK = 1024


@dataclass(frozen=True)
class NoisyFunction:
    """A family of functions.

    Parameters
    ----------
    name : str
        Number in the thesis.
    optimum : tuple of float
        Where the expected value is least.
    gradient : callable
        Gradients at points, one a row, of members given by as many random numbers.
    expected : callable
        Expected value at a point.
    allowed : float
        How near a search from a distance of 1 has to come within a million evaluations.
    """

    name: str
    optimum: tuple[float, ...]
    gradient: Callable[[Matrix, Matrix], Matrix]
    expected: Callable[[Vector], float]
    allowed: float

    @property
    def n_dims(self) -> int:
        """Number of variables."""
        return len(self.optimum)


_BOUND_TOGETHER = np.array([[2.0, 1.8], [1.8, 2.0]])


def _lopsided(at: float) -> float:
    if at <= 0.0:
        return 1.5 - 3.0 * at
    return at - 0.5 if at >= 1.0 else 2.0 * (at - 0.75) ** 2 + 0.375


SECTION_11_4 = (
    NoisyFunction(
        "f1: |x|, three times out of four",
        (0.0,),
        lambda x, m: np.where(m <= 0.25, -1.0, 1.0) * np.sign(x),
        lambda x: 0.5 * abs(float(x[0])),
        0.01,
    ),
    NoisyFunction(
        "f2: squared distance",
        (0.5, 0.5),
        lambda x, m: 2.0 * (x - m),
        lambda x: float(x @ x - x.sum() + 2.0 / 3.0),
        0.02,
    ),
    NoisyFunction(
        "f3: a narrow valley",
        (0.5, 0.5),
        lambda x, m: (x - m) @ _BOUND_TOGETHER,
        lambda x: float(x @ x + 1.8 * x[0] * x[1] - 1.9 * x.sum() + 67.0 / 60.0),
        0.02,
    ),
    NoisyFunction(
        "f4: steeper on the left",
        (0.75,),
        lambda x, m: np.where(x <= m, -3.0, 1.0),
        lambda x: _lopsided(float(x[0])),
        0.02,
    ),
)


class Trials:
    """Trials of several functions side by side, as one problem whose variables are those of all trials.

    For strategies that treat variables one by one: each trial then goes as it would by itself. A trial begins at a
    distance of 1.0 to 1.1 from the optimum, in any direction, and has a source of random numbers of its own.

    Parameters
    ----------
    functions : sequence of NoisyFunction
    seeds : sequence of int
        One trial of each function for each of them.

    Attributes
    ----------
    start : ndarray of shape (n,)
        Where all trials begin: function after function, in each trial after trial.

    Examples
    --------
    >>> trials = Trials(SECTION_11_4, seeds=range(20))
    >>> trials.start.shape, trials.distances(trials.start).shape
    ((120,), (4, 20))
    """

    def __init__(self, functions: Sequence[NoisyFunction], seeds: Sequence[int]) -> None:
        self.functions, self.n_trials = tuple(functions), len(seeds)
        self._generators = [
            [np.random.default_rng([number, seed]) for seed in seeds] for number in range(len(self.functions))
        ]
        ends = np.cumsum([0, *(function.n_dims * self.n_trials for function in self.functions)])
        self._slices = [slice(a, b) for a, b in pairwise(ends.tolist())]
        self.start = np.concatenate(
            [
                _start(function, generator)
                for function, generators in zip(self.functions, self._generators, strict=True)
                for generator in generators
            ]
        )
        self._random = self._draw()

    def _draw(self) -> Iterator[Vector]:
        while True:
            blocks = [
                generator.random((BLOCK, function.n_dims))
                for function, generators in zip(self.functions, self._generators, strict=True)
                for generator in generators
            ]
            yield from np.concatenate(blocks, axis=1)

    def gradient(self, x: Vector) -> Vector:
        """Draw a member for each trial and return all gradients."""
        random = next(self._random)
        found = np.empty_like(x)
        for function, part in zip(self.functions, self._slices, strict=True):
            shape = (self.n_trials, function.n_dims)
            found[part] = function.gradient(x[part].reshape(shape), random[part].reshape(shape)).ravel()
        return found

    def distances(self, x: Vector) -> Matrix:
        """Return distances to the optima, one row a function, one column a trial."""
        return np.array(
            [
                np.linalg.norm(x[part].reshape(self.n_trials, -1) - np.array(function.optimum), axis=1)
                for function, part in zip(self.functions, self._slices, strict=True)
            ]
        )


def _start(function: NoisyFunction, generator: np.random.Generator) -> Vector:
    direction = generator.standard_normal(function.n_dims)
    away = generator.uniform(1.0, 1.1) * direction / np.linalg.norm(direction)
    return np.asarray(np.array(function.optimum) + away, dtype=np.float64)

"""What a search strategy is: it asks for values at points and is told them, until it stops. It sees numbers only.

A strategy is a function of its start, its seed and what it was told, so that a search is resumed by telling it again,
in order, what is known: nothing else has to be kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """Where to search: a box around a start, on an unconstrained scale.

    Parameters
    ----------
    start : ndarray of shape (n,)
    lower, upper : ndarray of shape (n,)
        Bounds; a strategy asks for no point outside of them.
    """

    start: Vector
    lower: Vector
    upper: Vector

    @property
    def n_dims(self) -> int:
        """Number of parameters."""
        return len(self.start)

    def clipped(self, point: Vector) -> Vector:
        """Return the nearest point inside of the bounds."""
        return np.clip(point, self.lower, self.upper)


@dataclass(frozen=True)
class Ask:
    """A point to evaluate; `part` if only one of the objective's problems is meant."""

    point: Vector
    part: int | None = None


@dataclass(frozen=True)
class Told:
    """What was found at a point. Smaller is better; `higher` are second and third derivative along a line."""

    value: float
    gradient: Vector | None = None
    higher: tuple[float, ...] = ()


class Strategy(ABC):
    """How to get from a start to a good point.

    Attributes
    ----------
    name : str
        What a search calls it.
    needs_gradient : bool
        Whether it asks for derivatives.
    needs_higher : bool
        Whether it asks for second and third derivatives, along one parameter.
    copes_with_noise : bool
        Whether values may be random.
    """

    name: ClassVar[str]
    needs_gradient: ClassVar[bool] = False
    needs_higher: ClassVar[bool] = False
    copes_with_noise: ClassVar[bool] = False

    @abstractmethod
    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run.

        Parameters
        ----------
        space : Space
        seed : int
            For strategies that draw random numbers.
        n_parts : int, default=1
            Problems that an objective can evaluate by themselves.
        max_evaluations : int, optional
            How many evaluations there may be; for strategies that have to plan ahead. None leaves it to them.
        """


class StrategyRun(ABC):
    """A strategy under way."""

    @abstractmethod
    def ask(self) -> Sequence[Ask]:
        """Points to evaluate next, independent of each other; none if the run has come to its end."""

    @abstractmethod
    def tell(self, found: Sequence[Told]) -> None:
        """Take what was found at the points of the last :meth:`ask`, in its order."""

    @property
    @abstractmethod
    def best(self) -> Vector:
        """The point that the run would choose now."""

    @property
    @abstractmethod
    def reason(self) -> str | None:
        """Why the run has come to its end, in words; None while it goes on."""

    @property
    def expected_evaluations(self) -> int | None:
        """How many evaluations the whole run is expected to take; None if nobody knows."""
        return None

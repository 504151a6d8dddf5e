"""What a search strategy is: it asks for values at points and is told them, until it stops. It sees numbers only.

A strategy is a function of its start, its seed and what it was told, so that a search is resumed by telling it again,
in order, what is known: nothing else has to be kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: A bound that is missed by this share of a step is met but for rounding.
ROUNDING = 1e-9

#: Most steps from one end of a parameter's range to the other.
MOST_STEPS = 2**31


@dataclass(frozen=True)
class Space:
    """Where to search: a box around a start, on an unconstrained scale.

    Parameters
    ----------
    start : ndarray of shape (n,)
        Where to begin; the nearest point inside of the bounds, if it lies outside.
    lower, upper : ndarray of shape (n,)
        Bounds, perhaps infinite; a strategy asks for no point outside of them. Where both are equal there is nothing
        to search.
    whole : ndarray of bool of shape (n,), optional
        Parameters that are whole numbers, as start and bounds of them are. None by default.

    Examples
    --------
    >>> space = Space(np.array([0.0, 3.0]), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    >>> space.n_dims, space.start.tolist()
    (2, [0.0, 1.0])
    """

    start: Vector
    lower: Vector
    upper: Vector
    whole: NDArray[np.bool_] | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        shapes = {self.start.shape, self.lower.shape, self.upper.shape}
        if len(shapes) > 1 or self.start.ndim != 1 or not len(self.start):
            raise ValueError(
                "start, lower and upper of a Space must be vectors of one length, at least 1; their shapes are "
                f"{self.start.shape}, {self.lower.shape} and {self.upper.shape}."
            )
        crossed = np.flatnonzero(~(self.lower <= self.upper))
        if len(crossed):
            at = crossed[0]
            raise ValueError(f"lower[{at}]={self.lower[at]} of a Space must be at most upper[{at}]={self.upper[at]}.")
        if not np.isfinite(self.start).all():
            raise ValueError(f"start of a Space must hold finite numbers; it is {self.start.tolist()}.")
        object.__setattr__(self, "start", self.clipped(self.start))

    @property
    def n_dims(self) -> int:
        """Number of parameters."""
        return len(self.start)

    def clipped(self, point: Vector) -> Vector:
        """Return the nearest point inside of the bounds."""
        return np.clip(point, self.lower, self.upper)


@dataclass(frozen=True)
class Lattice(Space):
    """A box of which only evenly spaced points may be asked for: whole numbers, say, or powers of the root of 2.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Distance between neighbouring values of each parameter, above 0; the start is one of them.
    switches : ndarray of bool of shape (n,), optional
        Parameters of which there are many and each matters little, such as the features of a model that are used or
        not. A strategy may look at them less often than at the others. None by default.
    first : sequence of ndarray of int of shape (m, n), optional
        Points to look at first, in steps from the start, in groups that are worth a closer look each; the start belongs
        to the first of them. For whoever knows where evaluations are cheap.
    work : callable (ndarray of shape (n,)) -> float, optional
        What an evaluation at a point takes, more than 0, in any unit, whatever the switches are; the same everywhere if
        not given. It is known before the evaluation and the same on every computer, so that a strategy may go by it.

    Examples
    --------
    >>> lattice = Lattice(np.array([0.0, 1.0]), np.array([-1.0, 0.0]), np.array([1.2, 1.0]), steps=np.array([0.5, 1.0]))
    >>> lattice.lowest.tolist(), lattice.highest.tolist(), lattice.at(np.array([-1, 0])).tolist()
    ([-2, -1], [2, 0], [-0.5, 1.0])
    """

    steps: Vector = field(kw_only=True)
    switches: NDArray[np.bool_] | None = field(kw_only=True, default=None)
    first: Sequence[NDArray[np.integer[Any]]] = field(kw_only=True, default=())
    work: Callable[[Vector], float] | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.switches is None:
            object.__setattr__(self, "switches", np.zeros(self.n_dims, dtype=np.bool_))
        for name in ("steps", "switches"):
            if getattr(self, name).shape != self.start.shape:
                raise ValueError(f"{name} of a Lattice must have one entry for each of its {self.n_dims} parameters.")
        if not (np.isfinite(self.steps) & (self.steps > 0)).all():
            raise ValueError(f"steps of a Lattice must be positive and finite; they are {self.steps.tolist()}.")
        if not (np.isfinite(self.lower) & np.isfinite(self.upper)).all():
            raise ValueError("lower and upper of a Lattice must be finite.")
        with np.errstate(over="ignore"):
            many = np.flatnonzero((self.upper - self.lower) / self.steps > MOST_STEPS)
        if len(many):
            raise ValueError(
                f"steps[{many[0]}]={self.steps[many[0]]} of a Lattice is too short for a range from "
                f"{self.lower[many[0]]} to {self.upper[many[0]]}; there may be {MOST_STEPS:,} steps at most."
            )
        for group in self.first:
            fits = group.ndim == 2 and group.shape[1] == self.n_dims and len(group) > 0
            if not fits or ((group < self.lowest) | (group > self.highest)).any():
                raise ValueError(
                    f"first of a Lattice must hold points of {self.n_dims} parameters within their bounds."
                )

    @property
    def lowest(self) -> NDArray[np.intp]:
        """Steps from the start to the smallest value of each parameter."""
        return np.ceil((self.lower - self.start) / self.steps - ROUNDING).astype(np.intp)

    @property
    def highest(self) -> NDArray[np.intp]:
        """Steps from the start to the largest value of each parameter."""
        return np.floor((self.upper - self.start) / self.steps + ROUNDING).astype(np.intp)

    def at(self, numbers: NDArray[np.intp]) -> Vector:
        """Return the point so many steps from the start."""
        return self.clipped(self.start + self.steps * numbers)


@dataclass(frozen=True)
class Ask:
    """A point to evaluate.

    Parameters
    ----------
    point : ndarray of shape (n,)
    part : int, optional
        Which one of the objective's problems is meant, if not all of them.
    origin : ndarray of shape (n,), optional
        The point that this one is a neighbour of; what is known of it may be used for the evaluation.
    """

    point: Vector
    part: int | None = None
    origin: Vector | None = None


@dataclass(frozen=True)
class Told:
    """What was found at a point.

    Parameters
    ----------
    value : float
        Smaller is better. One that is not finite says that there is no value at this point; it counts as worse than
        all others, and the derivatives are not looked at.
    gradient : ndarray of shape (n,), optional
        Derivatives, all finite. For strategies with `needs_higher` the derivative with respect to p = exp(theta), the
        parameter itself, theta being the point of the ask.
    higher : tuple of floats
        Second and third derivative with respect to p, for strategies with `needs_higher`.
    """

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
    takes_whole_numbers : bool
        Whether parameters may be whole numbers.
    """

    name: ClassVar[str]
    needs_gradient: ClassVar[bool] = False
    needs_higher: ClassVar[bool] = False
    copes_with_noise: ClassVar[bool] = False
    takes_whole_numbers: ClassVar[bool] = False

    def require(self, parameter: str, holds: bool, accepted: str) -> None:
        """Raise ValueError, in a sentence, unless a parameter is as it should be."""
        if not holds:
            raise ValueError(f"{parameter}={getattr(self, parameter)!r} of {self.name!r} must be {accepted}.")

    @staticmethod
    def budget(own: int | None, given: int | None, usual: int) -> int:
        """Settle a budget: the strategy's own limit or the search's, the smaller of both, or else the usual number.

        Examples
        --------
        >>> Strategy.budget(None, None, 100), Strategy.budget(None, 500, 100), Strategy.budget(50, 500, 100)
        (100, 500, 50)
        """
        limits = [limit for limit in (own, given) if limit is not None]
        return min(limits) if limits else usual

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


class CountedRun(StrategyRun):
    """A run that keeps count, for strategies to build on: they say what to ask for and what to make of the answer.

    An ask stands until it is answered, an answer has to fit it, evaluations are counted, and the run ends once the
    next ask would exceed the budget. The best point is the one with the lowest value told so far (the first of equal
    ones), or the start.

    Parameters
    ----------
    space : Space
    budget : int
        Most evaluations.

    Attributes
    ----------
    space : Space
    budget : int
    evaluations : int
        How many were told.
    """

    def __init__(self, space: Space, budget: int) -> None:
        self.space, self.budget, self.evaluations = space, budget, 0
        self._best, self._lowest = space.start, math.inf
        self._standing: Sequence[Ask] | None = None
        self._reason: str | None = None

    @abstractmethod
    def propose(self) -> Sequence[Ask]:
        """Return the points to ask for next, at least one, unless the run ends here (:meth:`end`)."""

    @abstractmethod
    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Make something of what was found at the points that were asked for; perhaps :meth:`end`."""

    def slopes(self, told: Told) -> Vector:
        """Return the gradient that was told; ValueError, in a sentence, if it is missing or unusable."""
        gradient, n = told.gradient, self.space.n_dims
        if gradient is None or gradient.shape != (n,) or not math.isfinite(np.add.reduce(gradient)):
            raise ValueError(f"gradient of a point with a value must be {n} finite numbers; it is {gradient}.")
        return gradient

    def end(self, reason: str) -> None:
        """Ask for nothing any more, and say why."""
        self._reason = reason
        self._standing = ()

    def ask(self) -> Sequence[Ask]:
        """Points to evaluate next; none if the run has come to its end."""
        if self._standing is None:
            proposed = self.propose()
            if self._reason is None and self.evaluations + len(proposed) > self.budget:
                self.end(spent(self.evaluations, self.budget, len(proposed)))
            if self._standing is None:
                self._standing = proposed
        return self._standing

    def tell(self, found: Sequence[Told]) -> None:
        """Take what was found at the points of the last :meth:`ask`, in its order."""
        asked = self._standing
        if not asked or len(found) != len(asked):
            raise ValueError(f"found must answer the last ask, of {len(asked or ())} points; it holds {len(found)}.")
        self._standing = None
        self.evaluations += len(found)
        for ask, told in zip(asked, found, strict=True):
            if -math.inf < told.value < self._lowest:
                self._lowest, self._best = told.value, ask.point
        try:
            self.learn(asked, found)
        except BaseException:
            self.end("an answer could not be used")
            raise
        if self._reason is None and self.evaluations >= self.budget:
            self.end(spent(self.evaluations, self.budget))

    @property
    def best(self) -> Vector:
        """The point with the lowest value told so far; the start if there is none."""
        return self._best

    @property
    def reason(self) -> str | None:
        """Why the run has come to its end, in words; None while it goes on."""
        return self._reason

    @property
    def expected_evaluations(self) -> int | None:
        """The budget."""
        return self.budget


def spent(evaluations: int, budget: int, wanted: int = 1) -> str:
    """Say that a budget is used up, or that what is left of it does not suffice for the evaluations wanted next.

    Examples
    --------
    >>> spent(1200, 1200)
    'the 1,200 evaluations allowed are spent'
    >>> spent(1, 1)
    'the only evaluation allowed is spent'
    >>> spent(28, 40, 14)
    '28 of the 40 evaluations allowed are spent, and the next step takes 14'
    """
    if evaluations >= budget == 1:
        return "the only evaluation allowed is spent"
    if evaluations >= budget:
        return f"the {budget:,} evaluations allowed are spent"
    return f"{evaluations:,} of the {budget:,} evaluations allowed are spent, and the next step takes {wanted:,}"

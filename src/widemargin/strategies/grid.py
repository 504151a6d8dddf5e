"""Every combination of evenly spaced values: the baseline of all searches, for few parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector

#: Evaluations if nobody says how many: 20 x 20 for two parameters.
USUAL = 400


@dataclass(frozen=True)
class GridSearch(Strategy):
    """Evaluate a grid over the box, evenly spaced on the scale of the space (geometric, where that is logarithmic).

    k points on each of n axes are k^n evaluations, from bound to bound; a parameter whose bounds are equal has one
    point. The point with the lowest value is chosen, the first of equal ones, which would be the luckiest if values
    were random. The last parameter changes fastest.

    Parameters
    ----------
    points : int or sequence of int, optional
        Points of each axis, at least 2. As many as the search's evaluations allow if not given, or 400 of them.
    batch : int, default=64
        Points that are asked for at a time.

    Examples
    --------
    >>> run = GridSearch(points=3).begin(Space(np.zeros(2), np.full(2, -1.0), np.full(2, 1.0)), seed=0)
    >>> [ask.point.tolist() for ask in run.ask()][:4]
    [[-1.0, -1.0], [-1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]
    """

    name: ClassVar[str] = "grid"

    points: int | Sequence[int] | None = None
    batch: int = 64

    def __post_init__(self) -> None:
        counts = self.points if isinstance(self.points, Sequence) else [2 if self.points is None else self.points]
        self.require("points", all(count >= 2 for count in counts), "at least 2 on each axis, or None")
        self.require("batch", self.batch >= 1, "at least 1")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it draws no random numbers and knows of no parts."""
        require_bounds(self, space)
        counts = self._counts(space, max_evaluations)
        total = math.prod(counts)
        if max_evaluations is not None and total > max_evaluations:
            shape = " x ".join(str(count) for count in counts)
            raise ValueError(
                f"points={self.points!r} of {self.name!r} make {shape} = {total:,} evaluations; max_evaluations is "
                f"{max_evaluations:,}."
            )
        axes = [
            np.linspace(low, high, count) for low, high, count in zip(space.lower, space.upper, counts, strict=True)
        ]
        return _Run(space, axes, self.batch)

    def _counts(self, space: Space, max_evaluations: int | None) -> list[int]:
        free = space.lower < space.upper
        if isinstance(self.points, Sequence):
            if len(self.points) != space.n_dims:
                raise ValueError(
                    f"points={self.points!r} of {self.name!r} must hold one number for each of the {space.n_dims} "
                    "parameters."
                )
            return [count if moves else 1 for count, moves in zip(self.points, free, strict=True)]
        count = self.points
        if count is None:
            allowed, n = (USUAL if max_evaluations is None else max_evaluations), max(int(free.sum()), 1)
            count = round(allowed ** (1.0 / n))
            count -= count**n > allowed
            if count < 2 and free.any():
                raise ValueError(
                    f"strategy={self.name!r} needs at least {2**n:,} evaluations for {n} parameters; {allowed:,} are "
                    "allowed. 'random' and 'cma-es' need fewer."
                )
        return [count if moves else 1 for moves in free]


class _Run(CountedRun):
    def __init__(self, space: Space, axes: Sequence[Vector], batch: int) -> None:
        super().__init__(space, math.prod(len(axis) for axis in axes))
        self._batch = batch
        self._points: Iterator[tuple[float, ...]] = product(*axes)

    def propose(self) -> Sequence[Ask]:
        """Ask for the next points of the grid."""
        return [Ask(self.space.clipped(np.array(point))) for point in islice(self._points, self._batch)]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Go on until all points have been asked for."""
        if self.evaluations == self.budget:
            self.end(f"all {self.budget:,} points of the grid are evaluated")


def require_bounds(strategy: Strategy, space: Space) -> None:
    """Raise ValueError, in a sentence, if a parameter has no bounds."""
    unbounded = np.flatnonzero(~np.isfinite(space.upper - space.lower))
    if len(unbounded):
        at = unbounded[0]
        raise ValueError(
            f"strategy={strategy.name!r} needs bounds; parameter {at} reaches from {space.lower[at]:g} to "
            f"{space.upper[at]:g}."
        )

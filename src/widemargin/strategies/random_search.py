"""Points at random: the baseline of all searches with many parameters, of which few matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told
from widemargin.strategies.grid import require_bounds


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Evaluate the start, then points uniform in the box, on the scale of the space (so log-uniform, where that is).

    Parameters with a distribution of their own are drawn from it.

    After k draws the best one belongs to the best share p of the box with probability 1 - (1 - p)^k, whatever the
    number of parameters: 95 % for the best 3 % after 100. The point with the lowest value is chosen, which would be the
    luckiest if values were random. Which points are drawn depends on the seed alone; more of them go on where fewer
    end.

    Parameters
    ----------
    evaluations : int, optional
        How many; 100 if neither this nor the search says another number.
    batch : int, default=64
        Points that are asked for at a time.

    Examples
    --------
    >>> run = RandomSearch().begin(Space(np.zeros(1), np.array([-1.0]), np.array([1.0])), seed=0)
    >>> [round(float(ask.point[0]), 3) for ask in run.ask()][:3]
    [0.0, 0.274, -0.46]
    """

    name: ClassVar[str] = "random"
    takes_whole_numbers: ClassVar[bool] = True

    evaluations: int | None = None
    batch: int = 64

    def __post_init__(self) -> None:
        self.require("evaluations", self.evaluations is None or self.evaluations >= 1, "at least 1, or None")
        self.require("batch", self.batch >= 1, "at least 1")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it knows of no parts."""
        require_bounds(self, space)
        return _Run(space, seed, self.batch, self.budget(self.evaluations, max_evaluations, 100))


class _Run(CountedRun):
    def __init__(self, space: Space, seed: int, batch: int, budget: int) -> None:
        super().__init__(space, budget)
        self._generator, self._batch = np.random.default_rng(seed), batch

    def propose(self) -> Sequence[Ask]:
        """Draw the next points."""
        first = [Ask(self.space.start)] if self.evaluations == 0 else []
        count = min(self._batch, self.budget - self.evaluations) - len(first)
        lower, width = self.space.lower, self.space.upper - self.space.lower
        shares = self._generator.random((count, self.space.n_dims))
        drawn = lower + width * shares
        if self.space.whole is not None and self.space.whole.any():
            drawn = np.where(self.space.whole, np.floor(lower + (width + 1.0) * shares), drawn)
        for place, quantile in self.space.quantiles.items():
            drawn[:, place] = quantile(shares[:, place])
        return first + [Ask(self.space.clipped(point)) for point in drawn]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Learn nothing: points do not depend on values."""

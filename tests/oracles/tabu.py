"""Tabu search over vectors of whole numbers, as Table 1 of [Lebrun2006] has it, with lists.

Quality is to be maximised; None is a solution without any. Where the paper is silent it does what
:class:`widemargin.strategies.TabuSearch` says it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Vector = tuple[int, ...]


class TabuWalk:
    """A walk from 0: what it visits, in which phase, what it evaluates."""

    def __init__(
        self,
        q: Callable[[Vector], float | None],
        ranges: Sequence[tuple[int, int]],
        switches: Sequence[bool],
        *,
        n_max: int = 5,
        failures_max: int = 5,
        promising: float = 0.99,
        t: int | None = None,
        seed: int = 0,
    ) -> None:
        self.quality, self.ranges, self.switches = q, ranges, switches
        self.n_max, self.failures_max, self.promising = n_max, failures_max, promising
        self.t = sum(high - low for low, high in ranges) if t is None else t
        self.random = np.random.default_rng(seed)
        self.walk: list[Vector] = []
        self.evaluated: list[Vector] = []
        self.phases: list[str] = []

    def q(self, theta: Vector) -> float:
        if theta not in self.evaluated:
            self.evaluated.append(theta)
        found = self.quality(theta)
        return -np.inf if found is None else found

    def is_tabu(self, theta: Vector) -> bool:
        """There are i and t' in 1..t with theta_i != theta_i^(it-1) and theta_i = theta_i^(it-t')."""
        last = self.walk[::-1][: self.t]
        return any(
            theta[i] != last[0][i] and theta[i] == last[ago - 1][i]
            for i in range(len(theta))
            for ago in range(1, len(last) + 1)
        )

    def two_move(self, i: int, delta: int) -> list[Vector]:
        theta, (low, high) = self.walk[-1], self.ranges[i]
        delta = min(delta, max(theta[i] - low, high - theta[i]))
        values = [value for value in (theta[i] - delta, theta[i] + delta) if low <= value <= high]
        return [(*theta[:i], value, *theta[i + 1 :]) for value in values]

    def best(self, solutions: Sequence[Vector]) -> Vector | None:
        """Return the first of the best of those that have a quality."""
        return max((one for one in solutions if self.q(one) > -np.inf), key=self.q, default=None)

    def movable(self, *, with_switches: bool) -> list[int]:
        found = [i for i, (low, high) in enumerate(self.ranges) if low < high]
        others = [i for i in found if not self.switches[i]]
        return found if with_switches or not others else others

    def run(self) -> None:
        start = (0,) * len(self.ranges)
        self.best_known = self.q(start)
        self.walk.append(start)
        self.n_failure, self.phase = 0, "intensification"
        self.begin_intensification()
        while self.n_failure <= self.failures_max:
            self.phases.append(self.phase)
            (self.intensification if self.phase == "intensification" else self.diversification)()

    def begin_intensification(self) -> None:
        self.phase, self.n_without_improve, self.q_intensification = "intensification", 0, self.q(self.walk[-1])

    def aspired(self, following: Sequence[Vector]) -> bool:
        """Take a solution better than the best known one, tabu or not."""
        [self.q(theta) for theta in following]
        theta = self.best(following)
        if theta is None or self.q(theta) <= self.best_known:
            return False
        self.best_known, self.n_failure = self.q(theta), 0
        self.walk.append(theta)
        self.begin_intensification()
        return True

    def intensification(self) -> None:
        current, known = self.q(self.walk[-1]), self.best_known
        promising = known > -np.inf and current >= known - (1.0 - self.promising) * abs(known)
        following = [theta for i in self.movable(with_switches=promising) for theta in self.two_move(i, 1)]
        if self.aspired(following):
            return
        theta = self.best([one for one in following if not self.is_tabu(one)])
        if theta is None:
            self.n_without_improve = self.n_max + 1
        else:
            self.walk.append(theta)
            if self.q(theta) > self.q_intensification:
                self.q_intensification, self.n_without_improve = self.q(theta), 0
            else:
                self.n_without_improve += 1
        if self.n_without_improve > self.n_max:
            self.n_failure += 1
            self.phase, self.n_diversification, self.theta_diversification = "diversification", 0, None

    def diversification(self) -> None:
        delta = self.n_failure + 1
        eligible = [self.two_move(int(i), delta) for i in self.random.permutation(self.movable(with_switches=False))]
        open_ones = [two for two in eligible if any(not self.is_tabu(theta) for theta in two)]
        following = (open_ones or eligible or [[]])[0]
        if self.aspired(following):
            return
        theta = self.best([one for one in following if not self.is_tabu(one)]) or self.best(following)
        if theta is not None and (
            self.theta_diversification is None or self.q(theta) > self.q(self.theta_diversification)
        ):
            self.theta_diversification = theta
        self.n_diversification += 1
        over = self.n_diversification > self.n_max * self.n_failure
        if over:
            theta = self.theta_diversification
        if theta is not None:
            self.walk.append(theta)
        if over:
            self.begin_intensification()

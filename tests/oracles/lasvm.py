"""LASVM for one decision function, as plainly as it can be written [Bordes2005; Glasmachers2008, chapter 8].

Samples have signed coefficients: maximise y'a - a'Ka/2 subject to sum(a) = 0 and L <= a <= U, where the box of class +1
is [0, C] and that of class -1 is [-C, 0]. All kernel values are given; gradients are computed anew at every step.

After a step that the box does not cut off, both of its gradients are equal: which of them is the largest is up to
rounding. :func:`outcomes` follows every way that ties may be broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: While there are no pairs, so many samples wait for one.
WAITING = 16

#: Steps after a sample has left because of a budget.
REPAIRS = 2


@dataclass
class Lasvm:
    """The kept samples, in the order in which they came, and the coefficients of all."""

    K: NDArray[np.float64]
    y: NDArray[np.float64]
    bounds: NDArray[np.float64]
    selection: str = "second-order"
    tolerance: float = 1e-3
    window: int = 0
    budget: int = 0
    kept: list[int] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)
    time: int = 0
    script: list[int] = field(default_factory=list)  # how ties are broken, one after the other; the first one wins else
    ties: list[int] = field(default_factory=list)  # how many there were to choose from, each time

    def __post_init__(self) -> None:
        self.alpha = np.zeros(len(self.y))
        self.lower, self.upper = np.minimum(0, self.y * self.bounds), np.maximum(0, self.y * self.bounds)

    @property
    def gradient(self) -> NDArray[np.float64]:
        return self.y - self.K @ self.alpha

    def risers(self) -> list[int]:
        return [n for n in self.kept if self.alpha[n] < self.upper[n]]

    def fallers(self) -> list[int]:
        return [n for n in self.kept if self.alpha[n] > self.lower[n]]

    def best(self, candidates: list[Any], rank: Callable[[Any], float]) -> Any:
        """Choose the candidate that ranks first; among equals, what the script says."""
        ranks = np.array([rank(one) for one in candidates])
        first = np.flatnonzero(ranks >= ranks.max() - 1e-9 * (1 + abs(ranks.max())))
        turn = len(self.ties)
        self.ties.append(len(first))
        return candidates[first[self.script[turn] if turn < len(self.script) else 0]]

    def gain(self, i: int, j: int) -> float:
        """Rank the pair: its slope, or the gain of the unconstrained step."""
        slope = self.gradient[i] - self.gradient[j]
        if self.selection == "maximal-violating-pair":
            return float(slope)
        return float(slope**2 / self.curvature(i, j)) if slope > 0 else -1.0

    def curvature(self, i: int, j: int) -> float:
        curvature = self.K[i, i] + self.K[j, j] - 2 * self.K[i, j]
        return float(max(curvature, 1e-12 * abs(self.K[i, i]), np.finfo(float).tiny))

    def step(self, i: int, j: int, most: float = np.inf) -> None:
        room = min(self.upper[i] - self.alpha[i], self.alpha[j] - self.lower[j])
        size = min((self.gradient[i] - self.gradient[j]) / self.curvature(i, j), room, most)
        self.move(i, j, size)

    def move(self, i: int, j: int, size: float) -> None:
        for n, by in ((i, size), (j, -size)):
            self.alpha[n] += by
            rounding = 8 * np.finfo(float).eps * (abs(self.alpha[n]) + abs(by))
            for end in (self.lower[n], self.upper[n]):
                if abs(self.alpha[n] - end) <= rounding:
                    self.alpha[n] = end

    def process(self, n: int) -> None:
        """PROCESS: at its lower bound n is first of the pair, at its upper one second; a free variable tries both."""
        G, candidates = self.gradient, []
        others = [m for m in self.kept if m != n]
        below = [m for m in others if self.alpha[m] > self.lower[m]]
        above = [m for m in others if self.alpha[m] < self.upper[m]]
        if self.alpha[n] < self.upper[n] and below and G[n] > min(G[m] for m in below) + self.tolerance:
            candidates += [(n, m) for m in below]
        if self.alpha[n] > self.lower[n] and above and G[n] < max(G[m] for m in above) - self.tolerance:
            candidates += [(m, n) for m in above]
        up, down = self.risers(), self.fallers()
        if not up or not down:
            waits = len(self.kept) < WAITING
        elif self.y[n] > 0:
            waits = G[n] > max(G[m] for m in up) + self.tolerance
        else:
            waits = G[n] < min(G[m] for m in down) - self.tolerance
        if candidates:
            self.step(*self.best(candidates, lambda pair: self.gain(*pair)))
        if n not in self.kept and (self.alpha[n] != 0 or waits or self.budget):
            self.kept.append(n)
        self.seen[n] = self.time

    def reprocess(self) -> None:
        """REPROCESS: a step among the kept."""
        up, down, G = self.risers(), self.fallers(), self.gradient
        if not up or not down:
            return
        if self.violation <= self.tolerance:
            return
        i = self.best(up, lambda n: G[n])
        others = [n for n in down if n != i]
        j = self.best(others, (lambda n: self.gain(i, n)) if self.selection == "second-order" else lambda n: -G[n])
        self.step(i, j)

    def leave(self) -> None:
        """Those at 0 that improve with no partner, and wait for none, leave."""
        up, down, G = self.risers(), self.fallers(), self.gradient
        if not up or not down:
            if len(self.kept) > WAITING:
                self.kept = [n for n in self.kept if self.alpha[n] != 0 or self.recent(n)]
            return
        first, last = self.best(up, lambda n: G[n]), self.best(down, lambda n: -G[n])
        most, least = G[first], G[last]
        waiting = [
            *[first for _ in [0] if all(most > G[n] + self.tolerance for n in up if self.alpha[n] != 0)],
            *[last for _ in [0] if all(least < G[n] - self.tolerance for n in down if self.alpha[n] != 0)],
        ]
        self.kept = [
            n
            for n in self.kept
            if self.alpha[n] != 0
            or n in waiting
            or self.recent(n)
            or (self.alpha[n] < self.upper[n] and G[n] > least)
            or (self.alpha[n] > self.lower[n] and G[n] < most)
        ]

    def recent(self, n: int) -> bool:
        """With a budget, half of it is for the last samples."""
        return self.budget > 0 and self.seen[n] >= self.time - self.budget // 2

    def forget(self, n: int) -> None:
        """The coefficient of n goes to 0: others take it up, those first whose gradients say that it costs least."""
        while self.alpha[n] != 0:
            G, size = self.gradient, abs(self.alpha[n])
            if self.alpha[n] > 0:
                i = self.best([m for m in self.risers() if m != n], lambda m, G=G: G[m])
                self.move(i, n, min(size, self.upper[i] - self.alpha[i]))
            else:
                j = self.best([m for m in self.fallers() if m != n], lambda m, G=G: -G[m])
                self.move(n, j, min(size, self.alpha[j] - self.lower[j]))
        self.kept.remove(n)

    def leave_at_once(self, n: int, steps: int) -> None:
        """One leaves, whatever its coefficient is; steps follow if it had one."""
        moved = self.alpha[n] != 0
        self.forget(n)
        for _ in range(steps if moved else 0):
            self.reprocess()

    def present(self, n: int) -> None:
        """One sample of the stream."""
        for m in [m for m in self.kept if self.window and self.seen[m] <= self.time - self.window]:
            self.leave_at_once(m, 1)
        self.process(n)
        self.time += 1
        self.reprocess()
        if self.budget:
            for m in self.contradicted():
                self.leave_at_once(m, REPAIRS)
        self.leave()
        while self.budget and len(self.kept) > self.budget:
            self.leave_at_once(min(self.spare(self.kept), key=lambda m: self.seen[m]), REPAIRS)
            self.leave()

    def spare(self, kept: list[int]) -> list[int]:
        """Those whose class has others that are kept."""
        return [n for n in kept if sum(self.y[m] == self.y[n] for m in kept) > 1]

    def contradicted(self) -> list[int]:
        """Of those before the last `budget` samples: who is taken for the other class, and the oldest of that one."""
        up, down, G = self.risers(), self.fallers(), self.gradient
        b = (max(G[n] for n in up) + min(G[n] for n in down)) / 2 if up and down else 0.0
        values = self.y - G + b
        old = sorted((n for n in self.kept if self.seen[n] < self.time - self.budget), key=lambda n: self.seen[n])
        staying, leaving = list(self.kept), list[int]()

        def go(n: int) -> bool:
            if n not in self.spare(staying):
                return False
            staying.remove(n)
            leaving.append(n)
            return True

        for n in old:
            if self.y[n] * values[n] < 0 and n in staying and go(n):
                others = [m for m in old if m in staying and self.y[m] != self.y[n]]
                if others:
                    go(others[0])
        return leaving

    def finish(self) -> None:
        """FINISH: REPROCESS until no pair among the kept violates by more than the tolerance."""
        while True:
            before = self.alpha.copy()
            self.reprocess()
            if (before == self.alpha).all():
                break
        self.leave()

    @property
    def violation(self) -> float:
        up, down, G = self.risers(), self.fallers(), self.gradient
        return max(0.0, max(G[n] for n in up) - min(G[n] for n in down)) if up and down else 0.0

    @property
    def objective(self) -> float:
        return float(self.y @ self.alpha - 0.5 * self.alpha @ self.K @ self.alpha)


def outcomes(start: Lasvm, act: Callable[[Lasvm], None]) -> Iterator[Lasvm]:
    """Act on copies, once for each way to break ties."""
    scripts: list[list[int]] = [[]]
    while scripts:
        script = scripts.pop()
        twin = deepcopy(start)
        twin.script, twin.ties = script, []
        act(twin)
        yield twin
        for turn in range(len(script), len(twin.ties)):
            scripts += [[*script, *[0] * (turn - len(script)), other] for other in range(1, twin.ties[turn])]

"""Naive twins of the strategies that follow signs of gradients: one parameter after the other, everything kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def irprop_plus(
    function: Callable[[Vector], tuple[float, Vector]],
    start: Vector,
    lower: Vector,
    upper: Vector,
    *,
    iterations: int,
    initial_step: float = 0.1,
    shortest: float = 1e-8,
    longest: float = 2.0,
    shrink: float = 0.5,
    grow: float = 1.2,
) -> list[Vector]:
    """Return the points of iRprop+ [Igel2003], without a test for its end; a step grows only where it was taken.

    Examples
    --------
    >>> points = irprop_plus(
    ...     lambda x: (x @ x, 2 * x), np.array([1.0]), np.array([-9.0]), np.array([9.0]), iterations=4
    ... )
    >>> [float(x[0].round(3)) for x in points]
    [1.0, 0.9, 0.78, 0.636]
    """
    n = len(start)
    x, before = start.copy(), start.copy()
    steps, last_gradient, last_value = [initial_step] * n, [0.0] * n, math.nan
    points = []
    for _ in range(iterations):
        points.append(x.copy())
        value, gradient = function(x)
        new = x.copy()
        for i in range(n):
            g = float(gradient[i])
            if last_gradient[i] * g < 0.0:
                steps[i] = max(steps[i] * shrink, shortest)
                new[i] = before[i] if value > last_value else x[i]
                last_gradient[i] = 0.0
                continue
            if last_gradient[i] * g > 0.0 and x[i] != before[i]:
                steps[i] = min(steps[i] * grow, longest)
            new[i] = min(max(x[i] - float(np.sign(g)) * steps[i], lower[i]), upper[i])
            last_gradient[i] = g
        before, x, last_value = x, new, value
    return points


def noisy_rprop(
    gradient: Callable[[Vector], Vector],
    start: Vector,
    lower: Vector,
    upper: Vector,
    *,
    evaluations: int,
    initial_step: float = 0.01,
    shortest: float = 1e-10,
    shortest_episode: int = 40,
) -> list[Vector]:
    """Return the points of NoisyRprop [Glasmachers2008, Algorithm 11.2], as corrected, from walks that keep it all.

    Examples
    --------
    >>> edge = np.array([9.0])
    >>> points = noisy_rprop(lambda x: x, np.array([0.02]), -edge, edge, evaluations=4)
    >>> [round(float(x[0]), 3) for x in points]
    [0.02, 0.01, 0.0, 0.0]
    """
    walks = [
        _Walk(float(x), float(low), float(high), initial_step, shortest, shortest_episode)
        for x, low, high in zip(start, lower, upper, strict=True)
    ]
    points = []
    for _ in range(evaluations):
        x = np.array([walk.path[-1] for walk in walks])
        points.append(x)
        for walk, g in zip(walks, gradient(x), strict=True):
            walk.add(float(g))
    return points


class _Walk:
    """One parameter: the points and the mean gradients of the episode, and the three strategy parameters."""

    def __init__(self, x: float, lower: float, upper: float, step: float, shortest: float, N: int) -> None:
        self.lower, self.upper, self.shortest, self.least_N = lower, upper, shortest, N
        self.longest = max(0.5 * (upper - lower), shortest)
        self.step, self.N, self.M = min(step, self.longest), N, 1
        self.path: list[float] = [x]
        self.means: list[float] = []
        self.draws: list[float] = []

    def add(self, g: float) -> None:
        self.draws.append(g)
        if len(self.draws) < self.M:
            return
        G = sum(self.draws)
        self.draws = []
        self.means.append(G)
        x = self.path[-1] - self.step * float(np.sign(G))
        self.path.append(min(max(x, self.lower), self.upper))
        if len(self.means) == self.N:
            self.adapt()

    def adapt(self) -> None:
        N, x = self.N, self.path
        S1 = abs(x[N] - x[0]) / (self.step * math.sqrt(N))
        # x(0) is taken along, as in the listing; it moves the quantiles by less than 1 %.
        spread = [x[0], *(x[k * N // 100] for k in range(1, 101))]
        S2 = (max(spread) - min(spread)) / (self.step * math.sqrt(N))
        left, right = [G for G in self.means if G > 0], [-G for G in self.means if G < 0]
        changes = [+1] if S1 > 1.64 else [-1] * (S1 < 0.25) + [-1] * (S2 < 0.95) + [+1] * (S2 > 1.77)
        length = N
        for change in changes:
            if change > 0:
                self.step, length = min(2.0 * self.step, self.longest), length // 2
            elif 0.5 * self.step >= self.shortest:
                self.step, length = 0.5 * self.step, 2 * length
        if left and right:
            L, R = sum(left), sum(right)
            S3 = abs(math.sqrt(N) * (R / len(right) - L / len(left)) / ((R + L) / N))
            if S3 < 0.29 and self.M >= 2:
                self.M, length = self.M // 2, 2 * length
            elif S3 > 2.5:
                self.M, length = 2 * self.M, length // 2
        self.N = max(self.least_N, length)
        self.path, self.means = [x[-1]], []

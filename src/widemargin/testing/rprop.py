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

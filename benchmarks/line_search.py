"""The width of a kernel by the second-order method of [Abe2007], through the library's own parts."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from widemargin.kernels import Kernel
from widemargin.objectives import BoundObjective
from widemargin.strategies import SecondOrder, Space, Told


class Width(NamedTuple):
    """A scale, the most evaluations that any of its two-class problems took, and why the search ended."""

    p: float
    iterations: int
    reason: str


def second_order_width(bound: BoundObjective, kernel: Kernel, start: float) -> Width:
    """Maximise each problem of an objective by itself along the one scale of a kernel, and average the scales.

    Parameters
    ----------
    bound : BoundObjective
        Greater is better; with the derivatives of a scale.
    kernel : Kernel
        With one free parameter.
    start : float
        Scale to begin with.
    """
    lower, upper = kernel.bounds[0]
    space = Space(np.array([np.log(start)]), np.array([lower]), np.array([upper]))
    run = SecondOrder().begin(space, seed=0, n_parts=bound.n_parts)
    taken: Counter[int | None] = Counter()
    while asks := run.ask():
        taken.update(ask.part for ask in asks)
        told = []
        for ask in asks:
            found = bound.evaluate(kernel.clone_with_theta(ask.point), 1.0, part=ask.part)
            first, second, third = found.higher
            told.append(Told(-found.value, np.array([-first]), (-second, -third)))
        run.tell(told)
    return Width(float(np.exp(run.best[0])), max(taken.values()), str(run.reason))

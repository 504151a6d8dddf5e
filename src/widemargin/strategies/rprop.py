"""Resilient propagation: a step for each parameter, which knows the signs of the slopes and nothing of their sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector


@dataclass(frozen=True)
class Rprop(Strategy):
    r"""Follow a gradient by signs: iRprop+ [Igel2003; Glasmachers2008, section 11.2].

    Each parameter has a step :math:`\Delta_i` of its own. With the gradients :math:`g` here and :math:`g'` before,

    - :math:`g'_i g_i > 0`: the step grows, :math:`\Delta_i \leftarrow \eta^+ \Delta_i`, and
      :math:`x_i \leftarrow x_i - \mathrm{sign}(g_i) \Delta_i`;
    - :math:`g'_i g_i < 0`: a minimum was jumped over, the step shrinks, :math:`\Delta_i \leftarrow \eta^- \Delta_i`. If
      the value grew as well, the last change of :math:`x_i` is taken back. Next time :math:`g_i` counts as 0;
    - :math:`g'_i g_i = 0`: :math:`x_i \leftarrow x_i - \mathrm{sign}(g_i) \Delta_i`.

    Nothing changes if the objective is replaced by an increasing function of it. The price is that parameters are
    treated one by one: narrow valleys across them are slow.

    A point that would leave the bounds goes as far as they allow; a step does not grow while a bound holds it. At a
    point without a value (see :class:`Told`) the way there is halved. The run ends when all steps are shorter than
    `tolerance` (or held by a bound, or without a slope), and chooses the point with the lowest value that it has seen.
    An iteration costs O(n) beside the evaluation.

    Parameters
    ----------
    initial_step : float, default=0.1
    shortest, longest : float
        Bounds of the steps.
    shrink, grow : float
        :math:`\eta^-` and :math:`\eta^+`.
    tolerance : float, default=1e-4
        Length of steps at which to stop.
    iterations : int, optional
        Most evaluations; 100 sqrt(n) for n parameters if neither this nor the search says another number
        [Glasmachers2008, section 12.1].

    Examples
    --------
    >>> run = Rprop().begin(Space(np.array([3.0]), np.array([-5.0]), np.array([5.0])), seed=0)
    >>> while asks := run.ask():
    ...     run.tell([Told((ask.point[0] - 1) ** 2, 2 * (ask.point - 1)) for ask in asks])
    >>> float(abs(run.best[0] - 1)) < 1e-3, run.reason
    (True, 'all steps are shorter than 0.0001')
    """

    name: ClassVar[str] = "rprop"
    needs_gradient: ClassVar[bool] = True

    initial_step: float = 0.1
    shortest: float = 1e-8
    longest: float = 2.0
    shrink: float = 0.5
    grow: float = 1.2
    tolerance: float = 1e-4
    iterations: int | None = None

    def __post_init__(self) -> None:
        self.require("shortest", self.shortest > 0.0, "above 0")
        self.require("longest", self.shortest <= self.longest < math.inf, f"finite and at least {self.shortest:g}")
        self.require(
            "initial_step",
            self.shortest <= self.initial_step <= self.longest,
            f"between {self.shortest:g} and {self.longest:g}",
        )
        self.require("shrink", 0.0 < self.shrink < 1.0, "between 0 and 1")
        self.require("grow", 1.0 < self.grow < math.inf, "finite and above 1")
        self.require("tolerance", self.shortest < self.tolerance, f"above the shortest step, {self.shortest:g}")
        self.require("iterations", self.iterations is None or self.iterations >= 1, "at least 1, or None")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it draws no random numbers and knows of no parts."""
        usual = math.ceil(100 * math.sqrt(space.n_dims))
        return _Run(self, space, self.budget(self.iterations, max_evaluations, usual))


class _Run(CountedRun):
    def __init__(self, rule: Rprop, space: Space, budget: int) -> None:
        super().__init__(space, budget)
        self._rule = rule
        self._point = self._before = space.start
        self._steps = np.full(space.n_dims, rule.initial_step)
        self._gradient = np.zeros(space.n_dims)
        self._value = math.nan

    def propose(self) -> Sequence[Ask]:
        """Ask for the point that the last steps led to."""
        return [Ask(self._point)]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Go on by one iteration."""
        [told] = found
        if math.isfinite(told.value):
            self._step(told.value, self.slopes(told))
        elif math.isnan(self._value):
            self.end("there is no value at the start")
        else:
            self._halve_the_way()

    def _step(self, value: float, gradient: Vector) -> None:
        rule, point = self._rule, self._point
        agreement = self._gradient * gradient
        onward, jumped = (agreement > 0.0) & (point != self._before), agreement < 0.0
        factors = np.where(onward, rule.grow, np.where(jumped, rule.shrink, 1.0))
        self._steps = np.clip(self._steps * factors, rule.shortest, rule.longest)

        reached = self.space.clipped(point - np.sign(gradient) * self._steps)
        held = (reached == point) & (gradient != 0.0) & ~jumped
        back = self._before if value > self._value else point
        self._before, self._point = point, np.where(jumped, back, reached)
        self._value, self._gradient = value, np.where(jumped, 0.0, gradient)

        if not gradient.any():
            self.end("all slopes vanish")
        elif ((self._steps < rule.tolerance) | held | (gradient == 0.0)).all():
            bound = ", or a bound holds them" if held.any() else ""
            self.end(f"all steps are shorter than {rule.tolerance:g}{bound}")

    def _halve_the_way(self) -> None:
        rule = self._rule
        self._steps = np.maximum(rule.shrink * self._steps, rule.shortest)
        self._point = self.space.clipped(0.5 * (self._before + self._point))
        if (self._steps < rule.tolerance).all():
            self.end(f"there is no value at any step longer than {rule.tolerance:g}")

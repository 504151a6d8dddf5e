"""Signs of gradients through noise: a random walk that watches itself and adapts its steps, episodes and averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector

#: Points of an episode at which its spread is measured, I in the thesis.
SPREAD_POINTS = 100

#: Quantiles of the statistics under the hypothesis that all is well [Glasmachers2008, section 11.3.4].
DRIFT_LOW, DRIFT_HIGH = 0.25, 1.64
SPREAD_LOW, SPREAD_HIGH = 0.95, 1.77
SKEW_LOW, SKEW_HIGH = 0.29, 2.5

_SIDES = np.array([[1.0], [-1.0]])


@dataclass(frozen=True)
class NoisyRprop(Strategy):
    r"""Follow random gradients by signs: NoisyRprop [Glasmachers2008, Algorithm 11.2].

    Each parameter walks by itself, with steps of length :math:`\delta`: a step left where the mean of M gradients is
    positive, right where it is negative. After an episode of N steps three statistics of the points x(0), ..., x(N) say
    whether :math:`\delta`, N and M suit the noise:

    - drift, :math:`S_1 = (x(N) - x(0)) / (\delta \sqrt N)`, is standard normal where left and right are equally
      likely. If its absolute value is above 1.64 the walk leads somewhere, so :math:`\delta` doubles and N halves;
      below 0.25 it oscillates, so :math:`\delta` halves and N doubles;
    - spread, :math:`S_2`: the largest minus the smallest of the points :math:`x(\lfloor k N / I \rfloor)`, I = 100,
      over :math:`\delta \sqrt N`. If the walk does not drift, :math:`\delta` halves and N doubles below 0.95, and the
      other way round above 1.77;
    - skewness, :math:`S_3 = \sqrt N (R / r - L / l) / ((R + L) / N)`, with R and L the sums of the mean gradients
      (their absolute values) that led right and left, and r and l how many of them. Signs find where the *median* of
      the gradient vanishes; means of many are more symmetric. If its absolute value is above 2.5, M doubles and N
      halves; below 0.29 M halves and N doubles. An episode that went one way only says nothing about it.

    N is 40 at least and at first, M is 1. This is the algorithm of the text: the printed listing lacks the changes of
    :math:`\delta` by the drift.

    Points that would leave the bounds stop there: a walk that leans on a bound has little drift and spread, so that its
    step shrinks. Steps are at most half the box and at least `shortest`; an episode is not doubled for a step that is
    at its least. An evaluation without a value is passed over.

    **Which point is chosen.** The last point of a walk is as noisy as the walk. For each parameter the run chooses the
    mean of its points over the current and the last complete episode, but the current point while there is none or if
    the last episode drifted. Values are not looked at.

    An iteration costs O(n) beside the evaluation, some 20 microseconds for n up to a hundred. Where noise remains at
    the optimum, the distance to it falls about as one over the square root of the evaluations.

    Parameters
    ----------
    initial_step : float, default=0.01
    shortest : float, default=1e-10
        Least length of a step.
    shortest_episode : int, default=40
        Least number of steps of an episode.
    evaluations : int, optional
        How many there are; 10,000 sqrt(n) for n parameters if neither this nor the search says another number
        [Glasmachers2008, section 12.1].

    Examples
    --------
    >>> noise = np.random.default_rng(0)
    >>> run = NoisyRprop(evaluations=3000).begin(Space(np.array([2.0]), np.array([-9.0]), np.array([9.0])), seed=0)
    >>> while asks := run.ask():
    ...     run.tell([Told(0.0, ask.point - 1 + noise.normal(size=1)) for ask in asks])
    >>> bool(abs(run.best[0] - 1) < 0.1), run.reason
    (True, 'the 3,000 evaluations allowed are spent')
    """

    name: ClassVar[str] = "noisy-rprop"
    needs_gradient: ClassVar[bool] = True
    copes_with_noise: ClassVar[bool] = True

    initial_step: float = 0.01
    shortest: float = 1e-10
    shortest_episode: int = 40
    evaluations: int | None = None

    def __post_init__(self) -> None:
        self.require("shortest", self.shortest > 0.0, "above 0")
        self.require(
            "initial_step",
            self.shortest <= self.initial_step < math.inf,
            f"finite and at least {self.shortest:g}",
        )
        self.require("shortest_episode", self.shortest_episode >= 2, "at least 2")
        self.require("evaluations", self.evaluations is None or self.evaluations >= 1, "at least 1, or None")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it draws no random numbers of its own and knows of no parts."""
        usual = math.ceil(10_000 * math.sqrt(space.n_dims))
        return _Run(self, space, self.budget(self.evaluations, max_evaluations, usual))


class _Run(CountedRun):
    def __init__(self, rule: NoisyRprop, space: Space, budget: int) -> None:
        super().__init__(space, budget)
        n = space.n_dims
        self._rule = rule
        self._longest = np.maximum(0.5 * (space.upper - space.lower), rule.shortest)
        self._x = space.start.copy()
        self._step = np.minimum(rule.initial_step, self._longest)
        self._N, self._M = np.full(n, rule.shortest_episode), np.ones(n, dtype=np.int64)
        # Towards the next step: gradients and how many. Towards the end of the episode: steps.
        self._gradients, self._averaged, self._taken = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, np.int64)
        # What the statistics need of the episode; rows of left and right are L, l and R, r.
        self._first, self._least, self._most = self._x.copy(), self._x.copy(), self._x.copy()
        self._sums, self._counts = np.zeros((2, n)), np.zeros((2, n))
        # For the point to choose: sum and number of points of this episode, and of the last one unless it drifted.
        self._path, self._points = np.zeros(n), np.zeros(n)
        self._last_path, self._last_points = np.zeros(n), np.zeros(n)

    def propose(self) -> Sequence[Ask]:
        """Ask for where the walk is."""
        return [Ask(self._x.copy())]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Add a gradient; step where there are enough of them; adapt where an episode ends."""
        [told] = found
        if not math.isfinite(told.value):
            return
        self._path += self._x
        self._points += 1.0
        self._gradients += self.slopes(told)
        self._averaged += 1
        ready = self._averaged == self._M
        if not ready.any():
            return

        toward = self._gradients * _SIDES
        chosen = (toward > 0.0) & ready
        self._sums += toward * chosen
        self._counts += chosen
        self._x += self._step * np.subtract(chosen[1], chosen[0], dtype=np.float64)
        np.maximum(self._x, self.space.lower, out=self._x)
        np.minimum(self._x, self.space.upper, out=self._x)

        self._taken += ready
        # Step number k is one of the floor(t N / I) if and only if [k I, k I + I) holds a multiple of N.
        measured = ready & (-SPREAD_POINTS * self._taken % self._N < SPREAD_POINTS)
        np.minimum(self._least, self._x, out=self._least, where=measured)
        np.maximum(self._most, self._x, out=self._most, where=measured)
        np.copyto(self._gradients, 0.0, where=ready)
        np.copyto(self._averaged, 0, where=ready)
        complete = self._taken == self._N
        if complete.any():
            for i in np.flatnonzero(complete):
                self._adapt(int(i))

    def _adapt(self, i: int) -> None:
        """Judge the episode of parameter i, and begin another one."""
        N, scale = int(self._N[i]), self._step[i] * math.sqrt(self._N[i])
        drift = abs(self._x[i] - self._first[i]) / scale
        spread = (self._most[i] - self._least[i]) / scale
        drifted = bool(drift > DRIFT_HIGH)
        self._last_path[i], self._last_points[i] = (0.0, 0.0) if drifted else (self._path[i], self._points[i])

        length = N
        if drifted:
            length = self._lengthen_steps(i, length)
        else:
            if drift < DRIFT_LOW:
                length = self._shorten_steps(i, length)
            if spread < SPREAD_LOW:
                length = self._shorten_steps(i, length)
            elif spread > SPREAD_HIGH:
                length = self._lengthen_steps(i, length)
        (L, R), (n_left, n_right) = self._sums[:, i], self._counts[:, i]
        if n_left > 0 and n_right > 0:
            skewness = abs(math.sqrt(N) * (R / n_right - L / n_left) / ((R + L) / N))
            if skewness < SKEW_LOW and self._M[i] >= 2:
                self._M[i] //= 2
                length *= 2
            elif skewness > SKEW_HIGH:
                self._M[i] *= 2
                length //= 2
        self._N[i] = max(self._rule.shortest_episode, length)

        self._first[i] = self._least[i] = self._most[i] = self._x[i]
        self._sums[:, i] = self._counts[:, i] = 0.0
        self._taken[i] = 0
        self._path[i] = self._points[i] = 0.0

    def _shorten_steps(self, i: int, length: int) -> int:
        """Halve the step and return twice the length, unless the step is at its least."""
        if 0.5 * self._step[i] < self._rule.shortest:
            return length
        self._step[i] *= 0.5
        return 2 * length

    def _lengthen_steps(self, i: int, length: int) -> int:
        """Double the step, as far as the box allows, and return half the length."""
        self._step[i] = min(2.0 * self._step[i], self._longest[i])
        return length // 2

    @property
    def best(self) -> Vector:
        """The mean of the walk over the current and the last complete episode, where that did not drift."""
        settled = self._last_points > 0.0
        points = np.where(settled, self._last_points + self._points, 1.0)
        return self.space.clipped(np.where(settled, (self._last_path + self._path) / points, self._x))

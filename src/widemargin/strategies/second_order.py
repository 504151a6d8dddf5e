"""A line search along one scale that knows three derivatives, and does not believe them everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector

#: Slope and curvature below this part of the steepest slope seen are taken for rounding: a plateau.
PLATEAU = 1e-10

#: A step of the formula that is neither this factor long nor half as long as the last one is not getting anywhere.
LONG = 1.5


@dataclass(frozen=True)
class SecondOrder(Strategy):
    r"""Find the best scale p by second-order steps [Abe2007, eq. 10], each part of an objective by itself.

    The slope of f around p, to second order, vanishes at :math:`p + \Delta p` where

    .. math:: f' + f'' \Delta p + \frac{1}{2} f''' \Delta p^2 = 0, \qquad
              \Delta p = \frac{-2 f'}{f'' + \sqrt{f''^2 - 2 f' f'''}}.

    Of the two roots this is the one at which the slope rises, a minimum of f: for f = -d^2 it is the root that the
    paper argues for, the one with a minus in its notation, written such that nothing cancels. It converges cubically.

    The formula holds nearby only, and there need not be an optimum at all. What is under the root counts as 0 where it
    is negative, and a bracket is kept: p is too small where f' < 0 and too large where f' > 0. A step that leaves the
    bracket, does not exist (its denominator is not positive), or gets nowhere (shorter than half of p, yet longer than
    half the last one) is replaced: by the geometric middle of the bracket, or, if one side is unknown, by `factor`
    times p or p / `factor`. A plateau, where slope and curvature vanish against the steepest slope seen, ends the
    bracket on the far side, as does a point without a value, but neither proves that there is an optimum: if only
    slopes of one sign have been seen when the bracket is down to a factor of two, or at a bound, then there is *no
    interior maximum* (of what is maximised; no minimum of f), and the run says so.

    A part ends when p would change by less than `tolerance`, relative to p. The run chooses the arithmetic mean of the
    p of its parts [Abe2007, section 3.2.3], without those that have no optimum inside unless all are such; before its
    end, a part stands for the p with the lowest value seen. A step costs O(1) beside the evaluation, which has to tell
    three derivatives with respect to p = exp(theta).

    Parameters
    ----------
    start : float, optional
        p to begin with; that of the space if not given. On distances between class centres it matters little: in 170
        problems (up to 300 rows of 17 data sets, scaled as in the paper) starts between 1e-4 and 1e4 took at most 10
        iterations, 5 on average.
    factor : float, default=10.0
    tolerance : float, default=1e-5
    iterations : int, default=30
        Most evaluations of a part.

    Examples
    --------
    f = p - log p is least at p = 1.

    >>> def told(p):
    ...     return Told(p - np.log(p), np.array([1 - 1 / p]), (p**-2, -2 * p**-3))
    >>> run = SecondOrder(start=0.01).begin(Space(np.zeros(1), np.array([-9.0]), np.array([9.0])), seed=0)
    >>> while asks := run.ask():
    ...     run.tell([told(np.exp(ask.point[0])) for ask in asks])
    >>> float(np.exp(run.best[0]).round(6)), run.reason
    (1.0, 'the scale changes by less than 1e-05')
    """

    name: ClassVar[str] = "newton"
    needs_gradient: ClassVar[bool] = True
    needs_higher: ClassVar[bool] = True

    start: float | None = None
    factor: float = 10.0
    tolerance: float = 1e-5
    iterations: int = 30

    def __post_init__(self) -> None:
        self.require("start", self.start is None or 0.0 < self.start < math.inf, "finite and above 0, or None")
        self.require("factor", 2.0 <= self.factor < math.inf, "finite and at least 2")
        self.require("tolerance", 0.0 < self.tolerance < 1.0, "between 0 and 1")
        self.require("iterations", self.iterations >= 1, "at least 1")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run of all parts; it draws no random numbers."""
        if space.n_dims != 1:
            raise ValueError(f"strategy={self.name!r} searches along one parameter; the space has {space.n_dims}.")
        own = self.iterations * n_parts
        return _Run(self, space, n_parts, own if max_evaluations is None else min(own, max_evaluations))


class _Run(CountedRun):
    def __init__(self, rule: SecondOrder, space: Space, n_parts: int, budget: int) -> None:
        super().__init__(space, budget)
        self._rule = rule
        start = space.start[0] if rule.start is None else space.clipped(np.array([math.log(rule.start)]))[0]
        bounds = _scale(float(space.lower[0])), _scale(float(space.upper[0]))
        self._parts = [_Part(rule, _scale(float(start)), *bounds) for _ in range(n_parts)]

    def propose(self) -> Sequence[Ask]:
        """Ask for the next scale of each part that goes on."""
        return [Ask(self._point(part.p), number) for number, part in enumerate(self._parts) if part.verdict is None]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Let each part make its step."""
        for ask, told in zip(asked, found, strict=True):
            assert ask.part is not None
            self._parts[ask.part].learn(told)
        if all(part.verdict is not None for part in self._parts):
            self.end(self._summary())

    def _point(self, p: float) -> Vector:
        return self.space.clipped(np.array([math.log(p)]))

    def _summary(self) -> str:
        if len(self._parts) == 1:
            return str(self._parts[0].verdict)
        verdicts = [str(part.verdict) for part in self._parts]
        counts = {verdict: verdicts.count(verdict) for verdict in verdicts}
        if len(counts) == 1:
            return f"in all {len(verdicts)} parts {verdicts[0]}"
        return "; ".join(f"in {count} of {len(verdicts)} parts {verdict}" for verdict, count in counts.items())

    @property
    def best(self) -> Vector:
        """Mean of the scales of all parts, without those that are known to have no optimum inside, unless all are."""
        parts = [part for part in self._parts if not part.is_one_sided] or self._parts
        return self._point(math.fsum(part.chosen for part in parts) / len(parts))

    @property
    def expected_evaluations(self) -> int | None:
        """Ten a part, as in the paper."""
        return min(self.budget, 10 * len(self._parts))


class _Part:
    """The search of one part: the scale to evaluate next, and a bracket around the optimum."""

    def __init__(self, rule: SecondOrder, start: float, lowest: float, highest: float) -> None:
        self._rule, self._lowest, self._highest = rule, lowest, highest
        self.p = self.chosen = start
        self.verdict: str | None = None
        self.is_one_sided = False
        self._left = self._right = math.nan
        self._falls = self._rises = False
        self._steepest, self._last_step, self._value, self._taken = 0.0, math.inf, math.inf, 0

    def learn(self, told: Told) -> None:
        """Narrow the bracket, then choose the next scale or end."""
        self._taken += 1
        aim = math.nan
        if math.isfinite(told.value):
            if told.value < self._value:
                self._value, self.chosen = told.value, self.p
            first, second, third = _derivatives(told)
            flat = self._narrow(self.p * first, self.p**2 * second)
            aim = math.nan if flat else self.p + _step(first, second, third)
        else:
            self._leave_aside()
        if abs(aim - self.p) <= self._rule.tolerance * self.p:
            self._settle(aim)
        elif self._falls and self._rises and self._right - self._left <= self._rule.tolerance * self._left:
            self._settle(self.p)
        elif self._leads_nowhere():
            self.is_one_sided = True
            self.verdict = f"there is no interior maximum: {self._whither()}"
        elif self._taken >= self._rule.iterations:
            self.verdict = f"{self._taken} iterations were not enough"
        else:
            self._go(aim)

    def _narrow(self, slope: float, bend: float) -> bool:
        """Take a side of the bracket in; say whether this is a plateau."""
        self._steepest = max(self._steepest, abs(slope))
        if max(abs(slope), abs(bend)) <= PLATEAU * self._steepest:
            self._leave_aside()
            return True
        if slope < 0.0:
            self._left, self._falls = self.p, True
        else:
            self._right, self._rises = self.p, True
        return False

    def _leave_aside(self) -> None:
        """Search elsewhere: towards slopes that were seen, or else towards smaller scales."""
        if self._rises and not self._falls:
            self._left = self.p
        else:
            self._right = self.p

    def _leads_nowhere(self) -> bool:
        """Say whether the bracket has no room left, or a bound ends it, without slopes of both signs."""
        if self._falls and self._rises:
            return False
        at_a_bound = self._left >= self._highest or self._right <= self._lowest
        return at_a_bound or self._right <= 2.0 * self._left

    def _whither(self) -> str:
        """Say where the one slope that was found leads."""
        if not self._falls and not self._rises:
            return "no slope was found anywhere"
        if self._left >= self._highest or self._right <= self._lowest:
            return f"the objective improves up to the bound, {self.p:.4g}"
        return f"the objective levels off, or has no value, towards {'large' if self._falls else 'small'} scales"

    def _settle(self, p: float) -> None:
        self.chosen = min(max(p, self._lowest), self._highest)
        self.verdict = f"the scale changes by less than {self._rule.tolerance:g}"

    def _go(self, aim: float) -> None:
        """Choose the next scale: the aim if it is to be trusted, or the middle, or a long way to the unknown side."""
        known_left, known_right = not math.isnan(self._left), not math.isnan(self._right)
        low = self._left if known_left else self._lowest
        high = self._right if known_right else self._highest
        step = abs(math.log(aim / self.p)) if low < aim < high else math.nan
        if step >= math.log(LONG) or step <= 0.5 * self._last_step:
            self._last_step = step
            self.p = aim
        elif known_left and known_right:
            self.p = math.sqrt(low) * math.sqrt(high)
        elif known_left:
            self.p = min(self._rule.factor * self.p, high)
        else:
            self.p = max(self.p / self._rule.factor, low)


def _derivatives(told: Told) -> tuple[float, float, float]:
    numbers = (*(() if told.gradient is None else told.gradient.tolist()), *told.higher)
    if len(numbers) != 3 or not all(math.isfinite(number) for number in numbers):
        raise ValueError(
            f"gradient and higher of a point with a value must be three finite derivatives; they are {numbers}."
        )
    return numbers[0], numbers[1], numbers[2]


def _step(first: float, second: float, third: float) -> float:
    """Return the step to where the slope rises through 0, to second order [Abe2007, eq. 10]; nan if nowhere."""
    bottom = second + math.sqrt(max(second**2 - 2.0 * first * third, 0.0))
    return -2.0 * first / bottom if bottom > 0.0 else math.nan


def _scale(theta: float) -> float:
    # exp(709) is the last that is a number; bounds beyond it bind nothing.
    return math.exp(min(theta, 709.0))

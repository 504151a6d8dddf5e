"""A solve of the core, gone through again step by step with the rules of :mod:`oracles.smo`.

At every step the state is the one that the core's steps so far have led to; from there the rules say which working set
comes next, how far to go and which variables leave the active set, and the core must have done just that. So a wrong
tie, a lost variable or an option without effect is noticed where it happens, though the solution may be the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oracles.smo import (
    Pair,
    Step,
    can_fall,
    can_rise,
    clipped_gain,
    newton_gain,
    planning_ahead_size,
    select,
    slope_along,
    take_step,
    two_step_gain,
)
from widemargin.testing.protocols import Matrix, Problem, SmoothProblem, Vector

KINDS = ("none", "bounded", "free", "planned")
#: Steps after which variables at a kink may change sides.
STEPS_PER_CROSSING = 64
#: A solve aims a little below its tolerance: the recomputed violation differs by rounding.
AIM = 0.95


class Trace(Protocol):
    """What a solve wrote down: one entry a step, and where it ended."""

    @property
    def i(self) -> NDArray[np.int32]:
        """The variables that went up."""

    @property
    def j(self) -> NDArray[np.int32]:
        """The variables that went down."""

    @property
    def size(self) -> Vector:
        """How far."""

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Indices into :data:`KINDS`."""

    @property
    def active(self) -> NDArray[np.int64]:
        """How many variables were active after the step."""

    @property
    def alpha(self) -> Vector:
        """The point reached."""

    @property
    def converged(self) -> bool:
        """Whether the solve says so."""


@dataclass(frozen=True)
class Rules:
    """What a solve was asked to follow.

    Attributes
    ----------
    selection, planning_ahead
        As in :class:`oracles.reference.ReferenceSolver`.
    shrink_every : int
        Steps between two looks at the active set; 0 for none.
    tolerance : float
        On the KKT violation.
    max_iterations : int
        The budget.
    """

    selection: str
    planning_ahead: int = 0
    shrink_every: int = 0
    tolerance: float = 1e-3
    max_iterations: int = 10**7


class _State:
    """Point, gradient, sides and active set. Vectors are in the order of the problem."""

    def __init__(self, problem: Problem, K: Matrix, group: NDArray[np.uint8] | None, start: Vector | None) -> None:
        n = problem.linear.size
        self.problem, self.K = problem, K
        self.group = np.zeros(n, np.uint8) if group is None else group
        self.alpha = np.zeros(n) if start is None else start.copy()
        self.smooth = problem.linear - K @ self.alpha
        self.order, self.active = np.arange(n), n
        self.kink = np.zeros(n) if problem.kink is None else problem.kink
        # A side that consists of 0 alone is no place to be.
        self.above = np.where(self.alpha != 0, self.alpha > 0, problem.linear > problem.linear.mean())
        self.above = np.where((problem.lower == 0) | (problem.upper == 0), problem.upper > 0, self.above)
        self._K_part = K

    @property
    def positions(self) -> NDArray[np.int64]:
        """The active variables in their order."""
        return self.order[: self.active]

    def sided(self) -> tuple[SmoothProblem, Vector]:
        """Return the problem of the sides taken, and its gradient."""
        smooth = self.kink == 0
        shift = np.where(self.above, -self.kink, self.kink)
        lower = np.where(~smooth & self.above, 0.0, self.problem.lower)
        upper = np.where(~smooth & ~self.above, 0.0, self.problem.upper)
        return SmoothProblem(self.problem.linear + shift, lower, upper), self.smooth + shift

    def part(self) -> tuple[SmoothProblem, Matrix, Vector, Vector]:
        """Return the problem, kernel, point and gradient of the active variables."""
        problem, gradient = self.sided()
        at = self.positions
        view = SmoothProblem(problem.linear[at], problem.lower[at], problem.upper[at])
        if len(self._K_part) != self.active:
            self._K_part = self.K[np.ix_(at, at)]
        return view, self._K_part, self.alpha[at], gradient[at]

    def ends(self, group: int) -> tuple[float, float]:
        """Return the two ends of a group's violation."""
        problem, _, alpha, gradient = self.part()
        own = self.group[self.positions] == group
        up = np.where(can_rise(problem, alpha) & own, gradient, -np.inf).max(initial=-np.inf)
        down = np.where(can_fall(problem, alpha) & own, gradient, np.inf).min(initial=np.inf)
        return float(up), float(down)

    def violations(self) -> tuple[float, float]:
        """Return the violation of either group."""
        first, second = (max(0.0, up - down) for up, down in (self.ends(0), self.ends(1)))
        return first, second

    def violation(self) -> float:
        """Return that of the group that violates most."""
        return max(self.violations())

    def leading(self) -> int:
        """Return the group that violates most, the first one of equals."""
        first, second = self.violations()
        return int(second > first)

    def step(self, pair: Pair, size: float) -> None:
        """Go: a step that leaves nothing of the room of a variable, but for rounding, ends on its bound."""
        problem, _ = self.sided()
        for v, mu in ((pair[0], size), (pair[1], -size)):
            up, down = problem.upper[v] - self.alpha[v], self.alpha[v] - problem.lower[v]
            rounding = 8.0 * np.finfo(np.float64).eps * (abs(self.alpha[v]) + abs(mu))
            if mu > 0 and mu >= up - rounding:
                self.alpha[v] = problem.upper[v]
            elif mu < 0 and -mu >= down - rounding:
                self.alpha[v] = problem.lower[v]
            else:
                self.alpha[v] += mu
        self.smooth = self.smooth - size * (self.K[pair[0]] - self.K[pair[1]])

    def beyond(self) -> tuple[NDArray[np.bool_], Vector]:
        """Say which active variables could leave the kink on their other side too, and what their gradient is there."""
        at = self.positions
        other = np.where(self.above, self.problem.lower < 0, self.problem.upper > 0)
        at_kink = (self.kink > 0) & (self.alpha == 0) & other
        _, gradient = self.sided()
        return at_kink[at], (gradient + np.where(self.above, 2.0, -2.0) * self.kink)[at]

    def cross(self) -> bool:
        """Let variables at a kink take the side on which they violate."""
        at_kink, gradient = self.beyond()
        if not at_kink.any():
            return False
        (up, down), above = self.ends(0), self.above[self.positions]
        down = min(down, np.where(at_kink & above, gradient, np.inf).min())
        up = max(up, np.where(at_kink & ~above, gradient, -np.inf).max())
        middle = down if np.isinf(up) else up if np.isinf(down) else 0.5 * (up + down)
        crossing = at_kink & np.where(above, gradient < middle, gradient > middle)
        self.above[self.positions[crossing]] ^= True
        return bool(crossing.any())

    def shrink(self) -> bool:
        """Let bounded variables leave that could not violate even if the violation were half as large again.

        Nothing moves unless three in ten leave, and two stay [Glasmachers2008, section 4.2.5].
        """
        problem, _, alpha, gradient = self.part()
        up, down = can_rise(problem, alpha), can_fall(problem, alpha)
        slack = 0.5 * self.violation()
        ends = np.array([self.ends(0), self.ends(1)])[self.group[self.positions]]
        highest, lowest = ends[:, 0] + slack, ends[:, 1] - slack
        stays = (up & down) | (up & (gradient >= lowest)) | (down & (gradient <= highest))
        at_kink, beyond = self.beyond()
        stays |= at_kink & np.where(up, beyond <= highest, beyond >= lowest)
        leaving = int((~stays).sum())
        if stays.sum() < 2 or 10 * leaving < 3 * self.active:
            return False
        at = self.positions
        self.order = np.concatenate([at[stays], at[~stays], self.order[self.active :]])
        self.active -= leaving
        return True

    def widen(self) -> None:
        """Make all variables active, with gradients from the kernel itself."""
        self.active = self.order.size
        self.smooth = self.problem.linear - self.K @ self.alpha
        self._K_part = self.K[np.ix_(self.order, self.order)]


def replay(
    problem: Problem,
    K: Matrix,
    trace: Trace,
    rules: Rules,
    *,
    group: NDArray[np.uint8] | None = None,
    start: Vector | None = None,
    rounding: float = 1e-9,
) -> int:
    """Assert that a solve followed its rules in every step; return how many steps were planned.

    Parameters
    ----------
    problem, K
        The problem that was solved, and the kernel values that it was solved with.
    trace
        What the core wrote down.
    rules
        What it should have followed.
    group
        0 or 1 for each variable, where steps stay within a group.
    start
        Where the solve started; 0 without it.
    rounding
        Of gains and step sizes, relative: a working set is as good as another if its gain is. With 0 they must be the
        same, ties included, and so must the sizes.
    """
    state = _State(problem, K, group, start)
    step: Step | None = None
    recent: list[Pair] = []  # variables
    standard_steps, planned = 0, 0
    for t, pair in enumerate(zip(trace.i.tolist(), trace.j.tolist(), strict=True)):
        if state.violation() <= AIM * rules.tolerance:
            assert not _ends(state, rules), f"step {t}: the solve goes on though its tolerance is met."
            step, recent = None, []
        where = {int(v): p for p, v in enumerate(state.positions)}
        assert set(pair) <= where.keys(), f"step {t}: variables {pair} are not active."
        at, known = (where[pair[0]], where[pair[1]]), [(where[i], where[j]) for i, j in recent]
        _check_pair(state, rules, at, step, known, rounding, f"step {t}")
        if t + 1 == rules.max_iterations and step is not None and not step.planned:
            step = None  # the last step of a budget is not planned: nothing would win back what it loses
        taken = (float(trace.size[t]), KINDS[trace.kind[t]])
        step = _check_step(state, rules, at, taken, step, known, rounding, f"step {t}")
        state.step(pair, step.size)
        recent = [pair, *recent][: rules.planning_ahead + 1]
        planned += step.planned
        standard_steps += not step.planned
        if not step.planned and _tidy(state, rules, standard_steps):
            step, recent = None, []
        assert trace.active[t] == state.active, f"step {t}: {trace.active[t]} variables are active, not {state.active}."
    if trace.converged:
        assert _ends(state, rules), "the solve ended though its tolerance is not met."
    assert np.allclose(trace.alpha, state.alpha, rtol=0.0, atol=1e-9 * np.abs(state.alpha).max(initial=1.0))
    return planned


def _tidy(state: _State, rules: Rules, steps: int) -> bool:
    """Do what is due after so many standard steps; whether anything changed."""
    crossed = steps % STEPS_PER_CROSSING == 0 and state.cross()
    return (rules.shrink_every > 0 and steps % rules.shrink_every == 0 and state.shrink()) or crossed


def _ends(state: _State, rules: Rules) -> bool:
    """Look again before the end: at kinks, and at all variables."""
    if state.violation() > AIM * rules.tolerance:
        return False
    state.cross()
    if state.violation() > rules.tolerance:
        return False
    state.widen()
    state.cross()
    return state.violation() <= rules.tolerance


def _check_pair(
    state: _State, rules: Rules, found: Pair, last: Step | None, known: list[Pair], rounding: float, name: str
) -> None:
    """Assert that a working set is the one that the rules select, or as good as that up to rounding."""
    problem, K, alpha, gradient = state.part()
    # Only a planned working set may be in the group that violates less.
    held = state.group[state.positions] != state.leading()
    within = SmoothProblem(problem.linear, np.where(held, alpha, problem.lower), np.where(held, alpha, problem.upper))

    def selected(gradient: Vector) -> Pair:
        pair = select(rules.selection, problem, K, alpha, gradient, previous=last, recent=known, within=within)
        assert pair is not None, f"{name}: there is no violating pair."
        return pair

    expected = selected(gradient)
    if found == expected:
        return
    assert rounding > 0.0, f"{name}: working set {found}, expected {expected}."
    # A free step leaves two equal gradients, up to rounding: then the core may see either one ahead.
    unit = 1e-11 * (np.abs(gradient).max() + np.abs(alpha).max())
    nudged = gradient.copy()
    nudged[list(found)] += unit, -unit
    expected = selected(nudged)
    assert can_rise(problem, alpha)[found[0]], f"{name}: position {found[0]} cannot rise."
    assert can_fall(problem, alpha)[found[1]], f"{name}: position {found[1]} cannot fall."
    measures = [
        (slope_along(gradient, pair), newton_gain(K, gradient, pair), clipped_gain(problem, K, alpha, gradient, pair))
        for pair in (found, expected)
    ]
    assert np.isclose(measures[0], measures[1], rtol=rounding, atol=0.0).any(), (
        f"{name}: working set {found}, expected {expected}; slopes and gains are {measures}."
    )


def _check_step(
    state: _State,
    rules: Rules,
    pair: Pair,
    taken: tuple[float, str],
    last: Step | None,
    known: list[Pair],
    rounding: float,
    name: str,
) -> Step:
    """Assert that a step is of the size and kind that the rules say; return it as it was taken."""
    problem, K, alpha, gradient = state.part()
    plan = rules.planning_ahead
    step = take_step(problem, K, alpha, gradient, pair, previous=last, recent=known, planning_ahead=plan)
    size, kind = taken
    assert kind == ("planned" if step.planned else "free" if step.free else "bounded"), f"{name}: {kind}, not {step}."
    if not np.isclose(size, step.size, rtol=rounding, atol=0.0):
        # Two working sets may span one plane with a third: both plans then gain the same, by steps of different sizes.
        assert step.planned, f"{name}: of size {size}, expected {step.size} ({kind})."
        gains: dict[float, float] = {size: -np.inf, step.size: -np.inf}
        for following in known:
            planned = planning_ahead_size(K, gradient, pair, following)
            for one in gains:
                if planned is not None and np.isclose(one, planned, rtol=rounding, atol=0.0):
                    gains[one] = max(gains[one], two_step_gain(K, gradient, pair, following, planned))
        assert np.isclose(gains[size], gains[step.size], rtol=rounding, atol=0.0), (
            f"{name}: a planned step of size {size}, expected {step.size}; with the next one they gain {gains}."
        )
    return Step(size, step.newton, step.free, step.planned)

"""Tabu search over evenly spaced points [Lebrun2006, Table 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime.checks import is_number, is_whole
from widemargin.strategies.base import Ask, CountedRun, Lattice, Space, Strategy, StrategyRun, Told
from widemargin.strategies.grid import require_bounds

#: A solution, in steps from the start.
Solution = NDArray[np.intp]

INTENSIFICATION, DIVERSIFICATION = "intensification", "diversification"

#: Points that take more than so many times the work of the best known one are large: those of the next levels of a
#: model, with twice as many samples each, are not.
LARGE = 8.0

#: Points that are asked for at once hold no more numbers than this, however many parameters they have.
MOST_NUMBERS = 2**21


@dataclass(frozen=True)
class TabuSearch(Strategy):
    r"""Walk from neighbour to neighbour, to the best that is not tabu, even if it is worse [Lebrun2006].

    A solution is a vector of whole numbers. A basic move adds 1 to one of them or takes 1 away. A solution is tabu if
    one of its numbers differs from the current one and is one that this variable had in the last :math:`t` solutions,
    so that the walk does not return to where it was. Two phases take turns:

    - *Intensification* looks at all basic moves if the current solution is promising, that is, if its quality is at
      least `promising` times the best known one; else at those of variables that are no switches (features of a model,
      see :class:`Lattice`). It fails after more than `patience` iterations without an improvement.
    - *Diversification* draws a variable that is no switch and jumps by :math:`\delta = n_\text{failure} + 1`, up or
      down, more than `jumps` times :math:`n_\text{failure}` times; the best solution that it came by takes the place
      of the last one, and the next intensification begins there.

    Any solution better than the best known one is taken at once, tabu or not; the count of failures begins again and
    the walk goes on with an intensification (aspiration). The search ends with more than `failures` failures in a row.

    Where the paper is silent: an intensification all of whose moves are tabu has failed; jumps that would leave the
    range of a variable are cut to the longest that does not; a jump is made with the first variable, in random order,
    that has one that is not tabu, and, if there is none, with the first one. If all variables are switches, jumps are
    made with them. Quality may be negative: "a share :math:`\eta` of the best" is read as no more than
    :math:`(1 - \eta)|q|` below it, so that the best known solution is always promising. Of equal moves the first is
    taken, in the order of the variables, down before up. A point without a value is never moved to.

    The paper's walk begins at the start. Spaces may name groups of points to look at first (see :class:`Lattice`);
    unless `scan` is off, these are asked for after the start, group by group, and the walk begins at the best of all.
    Further walks, if there are to be any, begin at the best points of other groups. They know of the same values, but
    each has its own best known solution and memory.

    Evaluations may differ by orders of magnitude (a space says by how much: `work` of a :class:`Lattice`). A walk that
    finds nothing better has to go where it has not been, in the end to where evaluations take longest. *Large* points
    take more than eight times the work of the best known one, of all walks. With a `large_share` below 1, large points
    are no neighbours of a solution unless all that were evaluated, with the new ones, have taken at most this share of
    the work, or they take less than the solution itself; of an intensification, switches are left out first. So what
    the best known solution is worth decides how much is tried far above it, and its own surroundings, twice or four
    times as much work, are always open.

    Qualities are measured, on so many samples, and improvements may be far smaller than what those can tell. With a
    `min_improvement` above 0 the count of failures begins again only after all improvements since it last did amount
    to this share of the quality; every one of them is still taken.

    No point is asked for twice. An iteration asks for two points for each variable at most, all of them at once unless
    they are too many to be held in memory, or to be evaluated within the budget. Of a point that was asked for nothing
    is kept but its value: memory does not grow with the number of variables times that of evaluations.

    Parameters
    ----------
    promising : float, default=0.99
        :math:`\eta_\text{promising}`, from 0 to 1.
    patience : int, default=5
        :math:`n_\text{max}`.
    failures : int, default=5
        :math:`n^\text{max}_\text{failure}`.
    jumps : int, optional
        Jumps of a diversification, for each failure in a row; `patience` if not given, as in the paper. With many
        switches a large `patience` pays, and long diversifications do not.
    memory : int, optional
        :math:`t`; the sum of the ranges of all variables if not given.
    step : float, default=log(2) / 2
        Distance between neighbouring values, in spaces that have none of their own: a factor of the root of 2 where
        parameters are searched on a logarithmic scale. That of whole numbers is 1.
    scan : bool, default=True
        Whether to look at the points that a space names first; if not, there is one walk, from the start.
    walks : int, default=1
        Most walks, one for each group of points that are looked at first.
    large_share : float, default=1
        Largest share of the work that may be spent on large points, from 0 to 1; with 1 they are like all others, as in
        the paper.
    min_improvement : float, default=0
        Share of the quality by which it has to improve for failures to be forgotten; with 0 any improvement will do, as
        in the paper.
    evaluations : int, optional
        Most evaluations; as many as it takes if neither this nor the search says a number.

    Examples
    --------
    >>> space = Lattice(np.zeros(1), np.array([-9.0]), np.array([9.0]), steps=np.ones(1))
    >>> run = TabuSearch().begin(space, seed=0)
    >>> while asks := run.ask():
    ...     run.tell([Told(float((ask.point[0] - 4.0) ** 2)) for ask in asks])
    >>> run.best.tolist(), run.reason
    ([4.0], '6 intensifications in a row found nothing better')
    """

    name: ClassVar[str] = "tabu"
    takes_whole_numbers: ClassVar[bool] = True

    promising: float = 0.99
    patience: int = 5
    failures: int = 5
    jumps: int | None = None
    memory: int | None = None
    step: float = math.log(2.0) / 2.0
    scan: bool = True
    walks: int = 1
    large_share: float = 1.0
    min_improvement: float = 0.0
    evaluations: int | None = None

    def __post_init__(self) -> None:
        for name in ("promising", "large_share"):
            own = getattr(self, name)
            self.require(name, is_number(own) and 0.0 <= own <= 1.0, "a number from 0 to 1")
        for name, least in (("patience", 0), ("failures", 0), ("walks", 1)):
            self.require(name, is_whole(getattr(self, name), least), f"a whole number of at least {least}")
        for name, least in (("jumps", 0), ("memory", 1), ("evaluations", 1)):
            own = getattr(self, name)
            self.require(name, own is None or is_whole(own, least), f"a whole number of at least {least}, or None")
        own = self.min_improvement
        self.require("min_improvement", is_number(own) and 0.0 <= own < math.inf, "a finite number of at least 0")
        self.require("step", is_number(self.step) and 0.0 < self.step < math.inf, "a positive and finite number")
        self.require("scan", isinstance(self.scan, bool | np.bool_), "True or False")

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it knows of no parts."""
        require_bounds(self, space)
        if not isinstance(space, Lattice):
            whole = np.zeros(space.n_dims, dtype=np.bool_) if space.whole is None else space.whole
            space = Lattice(space.start, space.lower, space.upper, steps=np.where(whole, 1.0, self.step))
        limits = [limit for limit in (self.evaluations, max_evaluations) if limit is not None]
        return TabuRun(self, space, seed, min(limits) if limits else None)


class Move(NamedTuple):
    """A neighbour of the current solution: another value of one variable."""

    variable: int
    value: int


class Spending:
    """The work of all evaluations, by how much each of them took.

    Parameters
    ----------
    lattice : Lattice
    most : float
        Largest share of it that large points may take.

    Examples
    --------
    >>> work = lambda point: 4.0 ** float(point[0])
    >>> spending = Spending(Lattice(np.zeros(1), np.zeros(1), np.full(1, 9.0), steps=np.ones(1), work=work), 0.25)
    >>> spending.add(np.zeros(1, dtype=np.intp))
    >>> spending.allows([1.0, 4.0], large=8.0), spending.allows([16.0], large=8.0)
    (True, False)
    """

    def __init__(self, lattice: Lattice, most: float) -> None:
        self._lattice, self._most = lattice, most
        self._spent: dict[float, float] = {}

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that it might not allow."""
        return self._lattice.work is not None and self._most < 1.0

    def work(self, solution: Solution) -> float:
        """Return what an evaluation takes."""
        return 1.0 if self._lattice.work is None else self._lattice.work(self._lattice.at(solution))

    def add(self, solution: Solution) -> None:
        """Take an evaluation into account."""
        if self.is_limited:
            own = self.work(solution)
            self._spent[own] = self._spent.get(own, 0.0) + own

    def allows(self, works: Sequence[float], large: float) -> bool:
        """Tell whether evaluations of so much work each leave those above a number with their share."""
        of_large = sum(spent for own, spent in self._spent.items() if own > large)
        of_large += sum(own for own in works if own > large)
        return of_large <= self._most * (sum(self._spent.values()) + sum(works))


class TabuRun(CountedRun):
    """A tabu search under way.

    Parameters
    ----------
    options : TabuSearch
    lattice : Lattice
    seed : int
        Of the variables that diversification draws.
    budget : int or None

    Attributes
    ----------
    current : ndarray of int
        The current solution of the walk, in steps from the start of the space.
    phase : str
        "intensification" or "diversification".
    n_failures, n_without_improvement, n_jumps : int
        Failures in a row; iterations since the last improvement of this intensification; those of this
        diversification.
    """

    def __init__(self, options: TabuSearch, lattice: Lattice, seed: int, budget: int | None) -> None:
        super().__init__(lattice, 2**62 if budget is None else budget)
        assert lattice.switches is not None
        self._options, self._lattice, self._limited = options, lattice, budget is not None
        self._generator = np.random.default_rng(seed)
        self._low, self._high = lattice.lowest, lattice.highest
        ranges = self._high - self._low
        self._memory = int(ranges.sum()) if options.memory is None else options.memory
        self._jumps = options.patience if options.jumps is None else options.jumps
        movable = np.flatnonzero(ranges > 0)
        others = movable[~lattice.switches[movable]]
        self._all, self._no_switches, self._switches = movable, others, lattice.switches
        self._for_jumps = others if len(others) else movable
        # The last solution of the walk in which a variable had a value that it has no more.
        self._seen: dict[Move, int] = {}
        self._values: dict[int, float] = {}
        self._spending = Spending(lattice, options.large_share)
        self.current: Solution = np.zeros(lattice.n_dims, dtype=np.intp)
        self._steps: list[list[Move]] = []
        self._key = 0
        self.phase, self.n_failures, self.n_without_improvement, self.n_jumps = INTENSIFICATION, 0, 0, 0
        self._champion = self._phase_best = self._forgiven_at = math.inf
        # The start belongs to the first group, and is asked for before the rest of it.
        start = [(0, self.current)]
        groups = [[(key_of(point), point) for point in group] for group in (lattice.first if options.scan else ())]
        self._groups = [[*start, *(groups[0] if groups else [])], *groups[1:]]
        self._to_look_at = [start, *self._groups]
        self._walks: list[tuple[int, Solution]] = []
        self._jumped_to: Solution | None = None
        self._moves: list[Move] = []
        self._asked: list[tuple[int, Solution]] = []
        self._waiting: list[Move] = []

    @property
    def solutions(self) -> list[Solution]:
        """The walk so far, from its first solution to the current one."""
        found = [self.current]
        for step in reversed(self._steps[1:]):
            before = found[-1].copy()
            for variable, value in step:
                before[variable] = value
            found.append(before)
        return found[::-1] if self._steps else []

    @property
    def expected_evaluations(self) -> int | None:
        """The budget, if there is one."""
        return self.budget if self._limited else None

    def propose(self) -> Sequence[Ask]:
        """Ask for what is not known of the next moves; iterations whose moves are all known are made here."""
        if not self._steps:
            self._asked = self._first_unknown()[: self._at_once]
            return [Ask(self._lattice.at(point)) for _, point in self._asked]
        while self._reason is None:
            if not self._moves:
                self._moves = self._next_moves()
                self._waiting = [move for move in self._moves if self._key_after(move) not in self._values]
            if self._waiting:
                now, self._waiting = self._waiting[: self._at_once], self._waiting[self._at_once :]
                self._asked = [(self._key_after(move), self._after(move)) for move in now]
                origin = self._lattice.at(self.current)
                return [Ask(self._lattice.at(point), origin=origin) for _, point in self._asked]
            self._iterate()
        return []

    @property
    def _at_once(self) -> int:
        return max(1, min(MOST_NUMBERS // self._lattice.n_dims, self.budget - self.evaluations))

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Keep what was found; make the iteration that it was asked for."""
        for (key, point), told in zip(self._asked, found, strict=True):
            self._values[key] = told.value if -math.inf < told.value else math.inf
            self._spending.add(point)
        self._asked = []
        if self._steps:
            if not self._waiting:
                self._iterate()
        elif not self._first_unknown():
            best = [min(group, key=self._value_of_start) for group in self._groups]
            self._walks = sorted(best, key=self._value_of_start)[: self._options.walks]
            self._begin_walk()

    def _first_unknown(self) -> list[tuple[int, Solution]]:
        """Return what is not known of the next group of points to look at before any walk."""
        for group in self._to_look_at:
            unknown = {key: point for key, point in group if key not in self._values}
            if unknown:
                return list(unknown.items())
        return []

    def _value_of_start(self, start: tuple[int, Solution]) -> float:
        return self._values[start[0]]

    def _begin_walk(self) -> None:
        """Forget the last walk, but for values, and begin at the next start."""
        self._key, start = self._walks.pop(0)
        self.current = start.astype(np.intp)
        self._steps, self._seen, self.n_failures, self._moves = [[]], {}, 0, []
        self._champion = self._forgiven_at = self._value_here
        self._begin_intensification()

    def _next_moves(self) -> list[Move]:
        """Return the moves of the next iteration: Θ_next."""
        if self.phase == INTENSIFICATION:
            best, own = self._champion, self._value_here
            # Without any value yet, nothing is promising.
            promising = own <= best + (1.0 - self._options.promising) * abs(best) if math.isfinite(best) else False
            moves = self._basic_moves(self._all) if promising or not len(self._no_switches) else []
            if len(self._no_switches) and not any(self._switches[move.variable] for move in moves):
                moves = self._basic_moves(self._no_switches)
            return moves
        jumps = [
            self._open(self._two_moves(int(variable), self.n_failures + 1))
            for variable in self._generator.permutation(self._for_jumps)
        ]
        possible = [two for two in jumps if two]
        return next((two for two in possible if not all(map(self.is_tabu, two))), possible[0] if possible else [])

    def _basic_moves(self, variables: NDArray[np.intp]) -> list[Move]:
        return self._open([move for variable in variables for move in self._two_moves(int(variable), 1)])

    def _open(self, moves: list[Move]) -> list[Move]:
        """Leave out moves to large points, unless these have their share of the work, all of the new ones together."""
        if not self._spending.is_limited:
            return moves
        here = self._spending.work(self.current)
        works = {
            move: here if self._switches[move.variable] else self._spending.work(self._after(move))
            for move in moves
            if self._key_after(move) not in self._values
        }
        assert self._lattice.work is not None
        large = LARGE * self._lattice.work(self.best)
        if self._spending.allows(list(works.values()), large):
            return moves
        return [move for move in moves if move not in works or works[move] <= large or works[move] < here]

    def _two_moves(self, variable: int, size: int) -> list[Move]:
        """Return the moves of a variable down and up, by so many steps or the longest that stay in its range."""
        value, low, high = int(self.current[variable]), int(self._low[variable]), int(self._high[variable])
        size = min(size, max(value - low, high - value))
        return [Move(variable, other) for other in (value - size, value + size) if low <= other <= high]

    def is_tabu(self, move: Move) -> bool:
        """Tell whether the variable had this value in one of the last solutions, as many as are remembered."""
        seen = self._seen.get(move)
        return seen is not None and seen >= len(self._steps) - self._memory

    def _iterate(self) -> None:
        """Make an iteration, all of whose moves are known."""
        moves, self._moves = self._moves, []
        best = min(moves, key=self._value_after, default=None)
        if best is not None and self._value_after(best) < self._champion:
            self._champion = self._value_after(best)
            self._go(self._after(best))
            # Also true for the first value of all.
            if self._forgiven_at - self._champion > self._options.min_improvement * abs(self._champion):
                self.n_failures, self._forgiven_at = 0, self._champion
            self._begin_intensification()
            return
        possible = [move for move in moves if math.isfinite(self._value_after(move))]
        allowed = [move for move in possible if not self.is_tabu(move)]
        if self.phase == DIVERSIFICATION:
            allowed = allowed or possible
        chosen = min(allowed, key=self._value_after, default=None)
        if self.phase == INTENSIFICATION:
            self._intensify(chosen)
        else:
            self._diversify(chosen)

    def _intensify(self, chosen: Move | None) -> None:
        if chosen is None:
            self.n_without_improvement = self._options.patience + 1
        else:
            self._go(self._after(chosen))
            if self._value_here < self._phase_best:
                self._phase_best, self.n_without_improvement = self._value_here, 0
            else:
                self.n_without_improvement += 1
        if self.n_without_improvement > self._options.patience:
            self.n_failures += 1
            self.phase, self.n_jumps, self._phase_best, self._jumped_to = DIVERSIFICATION, 0, math.inf, None
            if self.n_failures > self._options.failures and self._walks:
                self._begin_walk()
            elif self.n_failures > self._options.failures:
                many = f"{self.n_failures} intensifications in a row" if self.n_failures > 1 else "an intensification"
                self.end(f"{many} found nothing better")

    def _diversify(self, chosen: Move | None) -> None:
        solution = None if chosen is None else self._after(chosen)
        if chosen is not None and self._value_after(chosen) < self._phase_best:
            self._phase_best, self._jumped_to = self._value_after(chosen), solution
        self.n_jumps += 1
        over = self.n_jumps > self._jumps * self.n_failures
        if over:
            # Table 1 assigns the next solution twice: the best jump takes the place of the last.
            solution = self._jumped_to
        if solution is not None:
            self._go(solution)
        if over:
            self._begin_intensification()

    def _begin_intensification(self) -> None:
        self.phase, self.n_without_improvement = INTENSIFICATION, 0
        self._phase_best = self._value_here

    def _go(self, solution: Solution) -> None:
        """Make a solution the current one."""
        left = [
            Move(int(variable), int(self.current[variable])) for variable in np.flatnonzero(solution != self.current)
        ]
        self._seen |= dict.fromkeys(left, len(self._steps) - 1)
        self._steps.append(left)
        self.current, self._key = solution, key_of(solution)

    def _after(self, move: Move) -> Solution:
        solution = self.current.copy()
        solution[move.variable] = move.value
        return solution

    def _key_after(self, move: Move) -> int:
        before = int(self.current[move.variable])
        return (self._key - _key(move.variable, before) + _key(*move)) % 2**128

    @property
    def _value_here(self) -> float:
        return self._values[self._key]

    def _value_after(self, move: Move) -> float:
        return self._values[self._key_after(move)]


def key_of(solution: Solution) -> int:
    """Return a number that tells a solution from others: a sum over its values, so that moves change it by a summand.

    Examples
    --------
    >>> key_of(np.zeros(3, dtype=np.intp)), key_of(np.array([0, 1, 0])) == key_of(np.array([1, 0, 0]))
    (0, False)
    """
    return sum(_key(int(variable), int(solution[variable])) for variable in np.flatnonzero(solution)) % 2**128


@cache
def _key(variable: int, value: int) -> int:
    digest = blake2b(f"{variable} {value}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little") if value else 0

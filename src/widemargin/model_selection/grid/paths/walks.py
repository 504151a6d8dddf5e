"""The ways in which a search can walk through its chains: a backbone across the kernel widths, or a plan of the user's.

Along a backbone, the first model of every chain is trained on the first fold, from that of the neighbouring width;
chains of the other folds start from the same model on the first fold. A given plan is walked on every fold by itself:
far from the backbone, where C is large, a model of another fold is worth less than a neighbour of the same.

Whoever needs a model to start from trains it, with what it needs itself, or waits for the one who does. What a chain
starts from so depends on the search alone, not on who works on what, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widemargin.machines.chain import LinkSolution
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.folds import Start, Way
from widemargin.model_selection.grid.setup import FAMILIES, family_of, prefix_of
from widemargin.plans import Chain, GridGraph, LearningPlan, Plan, heuristic_plan
from widemargin.plans.plan import End
from widemargin.runtime import Lock

#: Parameters of models and of kernel objects that say how wide a kernel is.
WIDTHS = ("gamma", "delta")

#: Names of plans, and of those that suit all models.
PLANS, PLAIN_PLANS = ("heuristic", "learn", "cold"), ("heuristic", "cold")

#: A model: the numbers of its fold and of its candidate.
Place = tuple[int, int]


@dataclass(frozen=True)
class Stretch:
    """A part of a chain, solved on a fold: for each candidate the links of its functions; the last one as a start."""

    links: list[list[LinkSolution]]
    start: Start

    @property
    def iterations(self) -> int:
        """The steps that all links took together."""
        return sum(link.solution.outcome.iterations for links in self.links for link in links)


class Trains(Protocol):
    """Trains candidates of a chain on a fold, each from the one before."""

    def __call__(
        self, fold: int, candidates: tuple[int, ...], start: Start | None, joint: int | None
    ) -> Stretch | None:
        """Train from a start or from nothing; return None if that failed, or if time ran out.

        If `joint` is given, the start is the solution of that candidate, and the chain goes on from there.
        """


@dataclass(frozen=True)
class Beginning:
    """What is known of a chain on a fold: its first candidates, in stretches, and where the others start.

    `joint` is the candidate whose solution that is, if the chain goes on from there.
    """

    candidates: tuple[int, ...] = ()
    stretches: Sequence[Stretch] = ()
    start: Start | None = None
    joint: int | None = None


class Walk:
    """A way through the chains of a search, on all folds.

    Models that others start from are trained when they are first asked for, and kept as starts. A chain whose unit
    comes along later does not train them again.

    Parameters
    ----------
    chains : sequence of Chain
        Candidates of each chain in its order; those that share a kernel had better be side by side.
    wanted : set of int
        Candidates that others start from.
    joints : mapping from int to int, optional
        Candidates that go on from another one, by the first ones of their chains, as if they were of the same chain.
    over_folds : bool, default=False
        Walk the first fold only; chains of other folds start from their own first candidate there, if it is wanted.
    """

    def __init__(
        self,
        chains: Sequence[Chain],
        wanted: Set[int],
        joints: Mapping[int, int] | None = None,
        *,
        over_folds: bool = False,
    ) -> None:
        self.chains = [chain.nodes for chain in chains]
        self._wanted, self._joints, self._over_folds = wanted, joints or {}, over_folds
        self._of_node = {node: chain for chain in chains for node in chain.nodes}
        self._guard = Lock()
        self._locks: dict[Place, Lock] = {}
        self._starts: dict[Place, Start] = {}
        self._links: dict[Place, list[list[LinkSolution]]] = {}

    def begin(self, fold: int, candidates: tuple[int, ...], train: Trains) -> Beginning:
        """Begin a chain on a fold, with the models that others start from."""
        if self._over_folds and fold > 0:
            return Beginning((), (), *self._origin(fold, candidates[0], train))
        stretches: list[Stretch] = []
        done = 0
        for at, candidate in enumerate(candidates):
            if candidate in self._wanted:
                stretch = self._taken((fold, candidate), train)
                if stretch is None:
                    break
                stretches.append(stretch)
                done = at + 1
        if stretches:
            return Beginning(candidates[:done], stretches, stretches[-1].start, candidates[done - 1])
        return Beginning((), (), *self._origin(fold, candidates[0], train))

    def start(self, place: Place, train: Trains) -> Start | None:
        """Return a model that is wanted, as a start; None if it could not be trained."""
        with self._lock_of(place):  # a walk has no circles, nor have those who wait
            if place not in self._starts:
                stretch = self._solve(place, train)
                if stretch is None:
                    return None
                self._starts[place], self._links[place] = stretch.start, stretch.links
            return self._starts[place]

    def _taken(self, place: Place, train: Trains) -> Stretch | None:
        """Return the stretch that ends in a model; its links, which are large, are not kept any longer."""
        with self._lock_of(place):
            start = self.start(place, train)
            if start is None:
                return None
            links = self._links.pop(place, None)
            # Nothing is left for a chain that comes a second time, as one does whose worker was lost.
            return self._solve(place, train) if links is None else Stretch(links, start)

    def _solve(self, place: Place, train: Trains) -> Stretch | None:
        """Train a model and those before it on its chain, back to the last one that is wanted as well."""
        fold, candidate = place
        nodes = self._of_node[candidate].nodes
        end, begin = nodes.index(candidate), 0
        for at in range(end):
            if nodes[at] in self._wanted:
                begin = at + 1
        if begin == 0:
            return train(fold, nodes[: end + 1], *self._origin(fold, nodes[0], train))
        joint = nodes[begin - 1]
        start = self.start((fold, joint), train)
        return None if start is None else train(fold, nodes[begin : end + 1], start, joint)

    def _origin(self, fold: int, first: int, train: Trains) -> tuple[Start | None, int | None]:
        """Return what the first model of a chain starts from, and the joint if there is one."""
        before = self._of_node[first].start
        if self._over_folds and fold > 0:
            fold, before = 0, first if first in self._wanted else None
        start = None if before is None else self.start((fold, before), train)
        return start, None if start is None else self._joints.get(first)

    def _lock_of(self, place: Place) -> Lock:
        with self._guard:
            if place not in self._locks:
                self._locks[place] = Lock()
            return self._locks[place]


class Backbone(Walk):
    """From the smallest C of each width to that of the next smaller gamma, on the first fold; from there to others.

    Chains come in this order too. Steps are about the same in either direction, but narrow kernels take longest: where
    they come first, workers end at the same time. Lines whose way is "down" are walked the other way in both: from the
    largest C of each width to that of the next larger gamma. Those whose way is "cold" start from nothing.

    Parameters
    ----------
    parameters : sequence of mappings
        Those of all candidates.
    lines : sequence of tuples of int
        Candidates of each chain, C rising.
    ways : sequence of {"up", "down", "cold"}
        For each line.
    """

    def __init__(
        self, parameters: Sequence[Mapping[str, Any]], lines: Sequence[tuple[int, ...]], ways: Sequence[Way]
    ) -> None:
        lines = [line[::-1] if way == "down" else line for line, way in zip(lines, ways, strict=True)]
        self._firsts = [line[0] for line in lines]
        own = [parameters[first] for first in self._firsts]
        order = by_width(own, ways)
        if order is None:
            plan = plan_across(own, ways)
            order, parents = plan.order, dict(enumerate(plan.parents))
        else:
            parents = dict(zip(order, (None, *order), strict=False))
        chains = []
        for number in order:
            parent = parents[number]
            chains.append(Chain(lines[number], None if parent is None else self._firsts[parent], None))
        wanted = {first for first, way in zip(self._firsts, ways, strict=True) if way != "cold"}
        super().__init__(chains, wanted, over_folds=True)


def by_width(parameters: Sequence[Mapping[str, Any]], ways: Sequence[Way]) -> Sequence[int] | None:
    """Order lines that differ in the width of their kernels alone, each after the one that it starts from.

    That is the backbone of most grids, and :func:`plan_across` finds the same. None if they differ otherwise.

    Examples
    --------
    >>> by_width([{"C": 1.0, "gamma": gamma} for gamma in (0.1, 10.0, 1.0)], ["up"] * 3)
    [1, 2, 0]
    """
    if len(parameters) < 2:
        return range(len(parameters))
    first, way = parameters[0], ways[0]
    # In a pipeline, names of parameters end in those that the model, or its kernel, knows.
    widths = [name for name in first if name.rpartition("__")[2] in WIDTHS]
    if len(widths) != 1 or way == "cold" or len({*ways}) > 1:
        return None
    for one in parameters:
        if one.keys() != first.keys():
            return None
        for name, value in one.items():
            if type(value) not in (int, float, np.float64) if name == widths[0] else value is not first[name]:
                return None
    return sorted(range(len(parameters)), key=lambda number: parameters[number][widths[0]], reverse=way == "up")


def plan_across(parameters: Sequence[Mapping[str, Any]], ways: Sequence[Way]) -> Plan:
    """Plan the starts of lines from each other: across the widths first, then along whatever else they differ in."""
    graph = GridGraph.from_candidates(parameters)
    widths = next((name for name in graph.axes if name.rpartition("__")[2] in WIDTHS), "gamma")
    starts: dict[Way, tuple[int | None, ...]] = {"cold": (None,) * len(parameters)}
    for way in {*ways} - {"cold"}:
        root: End = "largest" if way == "up" else "smallest"
        starts[way] = heuristic_plan(graph, along="", across=widths, root=root).parents
    # Neighbours have the same way: it depends on the solver, and on whether there is a target at all.
    return Plan(graph, tuple([starts[way][number] for number, way in enumerate(ways)]))


class LearningBackbone(Backbone):
    """The same for all lines, but from nothing where the steps of the models before say that this is cheaper.

    Only the models on the way to a width count, not those that happen to be finished: the same is learnt whoever
    works on what.
    """

    def __init__(
        self, parameters: Sequence[Mapping[str, Any]], lines: Sequence[tuple[int, ...]], ways: Sequence[Way]
    ) -> None:
        warm: list[Way] = ["up" if way == "cold" else way for way in ways]
        super().__init__(parameters, lines, warm)
        self._plan = plan_across([parameters[first] for first in self._firsts], warm)
        self._numbers = {first: number for number, first in enumerate(self._firsts)}
        self._steps: dict[int, tuple[int | None, int]] = {}

    def _solve(self, place: Place, train: Trains) -> Stretch | None:
        fold, candidate = place
        number = self._numbers[candidate]
        parent = self._plan.parents[number]
        known = None if parent is None else self.start((0, self._firsts[parent]), train)
        begin = None if parent is None or known is None else self._learnt(number).next_start(number, {parent})
        made = train(fold, (candidate,), None if begin is None else known, None)
        if made is not None:
            self._steps[number] = begin, made.iterations
        return made

    def _learnt(self, number: int) -> LearningPlan:
        """Learn from all models between a root and a first one."""
        way = []
        parent = self._plan.parents[number]
        while parent is not None:
            way.append(parent)
            parent = self._plan.parents[parent]
        learning = LearningPlan(self._plan)
        for node in reversed(way):
            if node in self._steps:
                begin, steps = self._steps[node]
                learning.learn((begin, node), steps)
        return learning


class PlannedWalk(Walk):
    """Along a given plan, on every fold by itself.

    A chain goes on from a model of the same line, where the other branch at it goes up and this one down, or so.

    Parameters
    ----------
    chains : sequence of Chain
    may_follow : callable (int, int) -> bool
        Tells whether a chain may go on from one candidate to another.
    """

    def __init__(self, chains: Sequence[Chain], may_follow: Callable[[int, int], bool]) -> None:
        joints = {c.nodes[0]: c.start for c in chains if c.start is not None and may_follow(c.start, c.nodes[0])}
        super().__init__(chains, {chain.start for chain in chains if chain.start is not None}, joints)


def walk_of(plan: str | Plan, candidates: Candidates) -> Walk | None:
    """Return the walk of a plan that suits the candidates; None if all chains start from nothing."""
    if isinstance(plan, Plan):
        return PlannedWalk(_chains(plan, candidates), candidates.may_follow)
    family = candidates.family
    if plan == "cold" or not family.startable:
        return None
    ways = [family.way(candidates.models[line[0]]) for line in candidates.lines]
    if plan == "learn":
        return LearningBackbone(candidates.parameters, candidates.lines, ways)
    return None if {*ways} == {"cold"} else Backbone(candidates.parameters, candidates.lines, ways)


def _chains(plan: Plan, candidates: Candidates) -> list[Chain]:
    """Split a plan into chains that can be solved in one go."""
    prefix = prefix_of(candidates.estimator)
    able = {node for line in candidates.lines for node in line}  # the parameters of others are not accepted
    found: list[Chain] = []
    for along in sorted({candidates.along[line[0]] for line in candidates.lines}):
        for chain in plan.chains(prefix + along):
            start = chain.start
            while start is not None and start not in able:
                start = plan.parents[start]
            part: list[int] = []
            for node in (node for node in chain.nodes if node in able and candidates.along[node] == along):
                if part and not candidates.may_follow(part[-1], node):
                    found.append(Chain(tuple(part), start, chain.step))
                    start, part = part[-1], []
                part.append(node)
            if part:
                found.append(Chain(tuple(part), start, chain.step))
    return _side_by_side(found, [candidates.kernel_of(chain.nodes[0]) for chain in found])


def _side_by_side(chains: Sequence[Chain], kernels: Sequence[Hashable]) -> list[Chain]:
    """Order chains, each after the one that it starts from, those of a kernel side by side as far as that goes.

    Examples
    --------
    >>> chains = [Chain((0, 1), None, None), Chain((2,), 0, None), Chain((3,), 2, None), Chain((4,), 1, None)]
    >>> [chain.nodes for chain in _side_by_side(chains, ["wide", "narrow", "wide", "narrow"])]
    [(0, 1), (2,), (4,), (3,)]
    """
    followers: dict[int | None, list[int]] = {}
    for number, chain in enumerate(chains):
        followers.setdefault(chain.start, []).append(number)
    ready: dict[Hashable, list[int]] = {}
    order: list[Chain] = []
    kernel: Hashable = None
    new = followers.get(None, [])
    while new or ready:
        for number in new:
            ready.setdefault(kernels[number], []).append(number)
        if kernel not in ready:  # go where most chains can be solved at once
            kernel = max(ready, key=lambda one: len(ready[one]))
        number = ready[kernel].pop(0)
        if not ready[kernel]:
            del ready[kernel]
        order.append(chains[number])
        new = [child for node in chains[number].nodes for child in followers.get(node, [])]
    return order


def require_plan(plan: Any) -> None:
    """Refuse what is no plan.

    Examples
    --------
    >>> require_plan("warm")
    Traceback (most recent call last):
    ...
    ValueError: plan must be 'heuristic', 'learn', 'cold' or a widemargin.plans.Plan; got 'warm'.
    """
    if not isinstance(plan, Plan) and not (isinstance(plan, str) and plan in PLANS):
        names = ", ".join(map(repr, PLANS))
        raise ValueError(f"plan must be {names} or a widemargin.plans.Plan; got {plan!r}.")


def require_suitable_plan(plan: str | Plan, model: Any, parameters: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a plan that was made for other candidates, or for models that cannot follow it."""
    if isinstance(plan, str):
        require_starts(f"plan={plan!r}", model)
        return
    require_starts("A plan", model)
    graph = GridGraph.from_candidates(parameters)
    if plan.graph != graph:
        raise ValueError(
            f"plan must be for this search's candidates ({_in_words(graph)}), in the order of "
            f"cv_results_['params']; got one for other candidates ({_in_words(plan.graph)})."
        )


def require_starts(what: str, model: Any) -> None:
    """Refuse models whose chains all start from nothing.

    Examples
    --------
    >>> from widemargin import NuSVC
    >>> require_starts("plan='learn'", NuSVC())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: plan='learn' needs models that start from each other across kernels (SVC, SVR, OneClassSVM or SVDD)...
    """
    family = family_of(model)
    if family is None or not family.startable:
        *others, last = (kind.__name__ for kind, own in FAMILIES.items() if own.startable)
        raise ValueError(
            f"{what} needs models that start from each other across kernels ({', '.join(others)} or {last}); chains "
            f"of {type(model).__name__} all start from zero, which plan='heuristic' and plan='cold' accept."
        )


def _in_words(graph: GridGraph) -> str:
    axes = [
        f"{len(values)} values of {name} from {values[0]:g} to {values[-1]:g}"
        for name, values in zip(graph.axes, graph.values, strict=True)
    ]
    return ", ".join([str(len(graph)), *axes])

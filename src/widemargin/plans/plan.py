"""Plans: from which solution every candidate of a search starts.

A plan is a forest over the graph of the candidates. The best one for known costs is a minimum spanning arborescence
[Timm2009, section 3.2], grown from a root outside the grid whose edges cost what solving from nothing costs. Costs are
not known before a search, but what the best trees have in common is: a backbone across the kernel widths, and lines
along C from it (:func:`heuristic_plan`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from widemargin.plans.graph import CostMatrix, GridGraph, Solution, Step, operations
from widemargin.runtime import Work

#: An end of an axis.
End = Literal["smallest", "largest"]


@dataclass(frozen=True)
class Chain:
    """Nodes that start from each other, one after the other; the first starts from `start`, or from nothing."""

    nodes: tuple[int, ...]
    start: int | None
    step: Step | None


@dataclass(frozen=True)
class Plan:
    """The parent of every node: whose solution it starts from, or None if it starts from nothing.

    `along` names the axis that chains run along where they can.

    Examples
    --------
    >>> graph = GridGraph.from_candidates([{"C": C, "gamma": g} for g in (0.1, 1.0) for C in (1, 10, 100)])
    >>> plan = heuristic_plan(graph)
    >>> plan.parents
    (None, 0, 1, 0, 3, 4)
    >>> [(chain.nodes, chain.start) for chain in plan.chains()]
    [((0, 1, 2), None), ((3, 4, 5), 0)]
    """

    graph: GridGraph
    parents: tuple[int | None, ...]
    along: str | None = None

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.graph):
            raise ValueError(f"parents must have {len(self.graph)} entries, one per node; got {len(self.parents)}.")
        for node, parent in enumerate(self.parents):
            if parent is not None:
                self.graph.step(parent, node)
        reached = list(self.roots)
        for node in reached:
            reached.extend(self._children[node])
        if len(reached) < len(self.graph):
            raise ValueError(
                f"parents must not run in a circle, but {len(self.graph) - len(reached)} nodes have no root."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.graph, self.parents, self.along)  # not what was computed from these

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent is not None:
                found[parent].append(node)
        return tuple(map(tuple, found))

    @property
    def roots(self) -> tuple[int, ...]:
        """The nodes that start from nothing."""
        return tuple(node for node, parent in enumerate(self.parents) if parent is None)

    @property
    def order(self) -> tuple[int, ...]:
        """All nodes, chain by chain, each after its parent."""
        return tuple(node for wave in self.waves() for chain in wave for node in chain.nodes)

    def chains(self, along: str | None = None) -> list[Chain]:
        """Split the plan into lines, each along one axis in one direction; every node is in one of them.

        Parameters
        ----------
        along : str, optional
            Join nodes along this axis only. By default along any, the plan's own before others, then the longest line.
        """
        return [chain for wave in self.waves(along) for chain in wave]

    def waves(self, along: str | None = None) -> list[list[Chain]]:
        """Arrange the chains so that each starts from a node of an earlier wave; one wave's can run side by side."""
        waves: list[list[Chain]] = []
        heads: list[tuple[int, int | None]] = [(root, None) for root in self.roots]
        while heads:
            wave = [self._chain(head, start, along) for head, start in heads]
            waves.append(wave)
            members = {node for chain in wave for node in chain.nodes}
            heads = [
                (child, node)
                for chain in wave
                for node in chain.nodes
                for child in self._children[node]
                if child not in members
            ]
        return waves

    def _chain(self, head: int, start: int | None, along: str | None) -> Chain:
        lines = {
            step: self._run(head, step) for step in (self.graph.step(head, child) for child in self._children[head])
        }
        if along is not None:
            lines = {step: line for step, line in lines.items() if step.axis == along}
        if not lines:
            return Chain((head,), start, None)
        best = max(lines, key=lambda step: (step.axis == self.along, len(lines[step])))
        return Chain((head, *lines[best]), start, best)

    def _run(self, node: int, step: Step) -> list[int]:
        """Follow the children of a node as long as the step is the same."""
        found: list[int] = []
        while True:
            further = [child for child in self._children[node] if self.graph.step(node, child) == step]
            if not further:
                return found
            node = further[0]
            found.append(node)

    def cost(self, costs: CostMatrix) -> float:
        """Add up what the plan costs by measured costs."""
        return sum(costs.of(parent, node) for node, parent in enumerate(self.parents))

    def orientations(self) -> dict[Step, float]:
        """Return the share of each orientation among the edges of the plan [Timm2009, Figure 2c].

        Examples
        --------
        >>> graph = GridGraph.from_candidates([{"C": C, "gamma": g} for g in (0.1, 1.0) for C in (1, 10)])
        >>> {f"{axis} {way:+}": round(share, 2) for (axis, way), share in heuristic_plan(graph).orientations().items()}
        {'C +1': 0.67, 'C -1': 0.0, 'gamma +1': 0.33, 'gamma -1': 0.0}
        """
        found = Counter(self.graph.step(parent, node) for node, parent in enumerate(self.parents) if parent is not None)
        steps = [Step(axis, direction) for axis in self.graph.axes for direction in (1, -1)]
        return {step: found[step] / max(1, found.total()) for step in steps}

    def walk(
        self,
        solve: Callable[[int, Solution | None], tuple[Solution, Work]],
        cost: Callable[[Work], float] = operations,
    ) -> NDArray[np.float64]:
        """Solve every node from its parent, as that was solved, and return the costs.

        They need not be those of the edges in a :class:`CostMatrix`, whose starts were solved from nothing.
        """
        costs = np.empty(len(self.graph))
        solutions: dict[int, Solution] = {}
        waiting = [len(children) for children in self._children]
        for node in self.order:
            parent = self.parents[node]
            solution, work = solve(node, None if parent is None else solutions[parent])
            costs[node] = cost(work)
            if waiting[node]:
                solutions[node] = solution
            if parent is not None:
                waiting[parent] -= 1
                if not waiting[parent]:
                    del solutions[parent]
        return costs


def minimum_arborescence(costs: CostMatrix, along: str | None = None) -> Plan:
    """Find the cheapest plan of all, by Edmonds' algorithm [Timm2009, section 3.2].

    It starts from nothing wherever that pays, which is at one node at least of every part of the graph.

    Examples
    --------
    >>> graph = GridGraph.from_candidates([{"C": C} for C in (1, 10, 100)])
    >>> edges = {(0, 1): 2.0, (1, 0): 1.0, (1, 2): 9.0, (2, 1): 1.0}
    >>> minimum_arborescence(CostMatrix(graph, np.array([4.0, 5.0, 8.0]), edges)).parents
    (1, 2, None)
    """
    return _arborescence(costs, range(len(costs.graph)), along)


def best_tree_for_root(costs: CostMatrix, root: int, along: str | None = None) -> Plan:
    """Find the cheapest plan in which `root` is the only node of its part of the graph that starts from nothing."""
    if not 0 <= root < len(costs.graph):
        raise ValueError(f"root must be a node, a number from 0 to {len(costs.graph) - 1}, got {root!r}.")
    own = next(part for part in costs.graph.components() if root in part)
    return _arborescence(costs, [root, *sorted(set(range(len(costs.graph))) - set(own))], along)


def best_trees(costs: CostMatrix, along: str | None = None) -> list[Plan]:
    """Find the cheapest plan for every root [Timm2009, section 3.2]; takes as many runs as there are nodes."""
    return [best_tree_for_root(costs, root, along) for root in range(len(costs.graph))]


def best_tree(costs: CostMatrix, along: str | None = None) -> Plan:
    """Find the cheapest plan with one root in every part of the graph: the best of :func:`best_trees`, at once."""
    # One start from nothing more than needed costs more than everything else together.
    dear = costs.total_cold + sum(costs.edges.values())
    return _arborescence(costs, range(len(costs.graph)), along, dear)


def _arborescence(costs: CostMatrix, roots: range | list[int], along: str | None, extra: float = 0.0) -> Plan:
    import networkx  # here, because most searches do without it

    outside = -1
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from((outside, node, extra + float(costs.cold[node])) for node in roots)
    graph.add_weighted_edges_from((start, node, float(cost)) for (start, node), cost in costs.edges.items())
    tree = networkx.minimum_spanning_arborescence(graph)
    parents: list[int | None] = [None] * len(costs.graph)
    for start, node in tree.edges:
        parents[node] = None if start == outside else start
    return Plan(costs.graph, tuple(parents), along)


def heuristic_plan(
    graph: GridGraph,
    along: str = "C",
    across: str = "gamma",
    *,
    backbone: End | None = None,
    root: End | None = None,
    costs: CostMatrix | None = None,
) -> Plan:
    """Plan without known costs: a backbone across the widths, then lines along C from it [Timm2009, Figure 2b].

    Candidates that lack one of the two axes make a single line; those that differ in other parameters are joined where
    they are neighbours, and start from nothing where they are not.

    Parameters
    ----------
    graph : GridGraph
    along, across : str
        The axis of the lines and that of the backbone. The graph need not have both.
    backbone : {"smallest", "largest"}, optional
        Value of `along` at which the backbone lies; by default the cheapest if costs are given, else the smallest.
    root : {"smallest", "largest"}, optional
        Value of `across` at which the backbone starts; by default where solving from nothing is cheapest if costs are
        given, else the smallest.
    costs : CostMatrix, optional
        Costs measured on the same graph.
    """
    if along == across:
        raise ValueError(f"along and across must be two axes, got {along!r} for both.")
    for name, end in (("backbone", backbone), ("root", root)):
        if end not in (None, "smallest", "largest"):
            raise ValueError(f"{name} must be 'smallest', 'largest' or None, got {end!r}.")
    if costs is not None and costs.graph != graph:
        raise ValueError("costs must be those of the graph that is planned, but were measured on another one.")
    last = len(graph.values[graph.axes.index(along)]) - 1 if along in graph.axes else 0
    rank: NDArray[Any] = graph.positions(across) * (-1 if root == "largest" else 1)
    if root is None and costs is not None:
        rank = costs.cold
    if backbone is not None or costs is None:
        return _grow(graph, along, across, last if backbone == "largest" else 0, rank)
    plans = [_grow(graph, along, across, position, rank) for position in range(last + 1)]
    return min(plans, key=lambda plan: plan.cost(costs))


def _grow(graph: GridGraph, along: str, across: str, backbone: int, rank: NDArray[Any]) -> Plan:
    """Join lines by the links nearest to the backbone, those across first; walk each line from where it is entered.

    Every part of the graph is entered at the node of the lowest rank next to the backbone.
    """
    lines = graph.lines(along)
    line_of = {node: number for number, line in enumerate(lines) for node in line}
    distance = np.abs(graph.positions(along) - backbone).tolist()
    parents: list[int | None] = [None] * len(graph)
    entered: set[int] = set()
    links: list[tuple[bool, int, int, int, int]] = []
    sequence = count()

    def enter(node: int, start: int | None) -> None:
        entered.add(line_of[node])
        line = lines[line_of[node]]
        at = line.index(node)
        parents[node] = start
        for before, after in zip(line[at:], line[at + 1 :], strict=False):
            parents[after] = before
        for before, after in zip(line[at::-1], line[:at][::-1], strict=False):
            parents[after] = before
        for member in line:
            for near in graph.neighbours(member):
                if line_of[near] not in entered:
                    other = graph.step(member, near).axis != across
                    heapq.heappush(links, (other, distance[near], next(sequence), member, near))

    for component in graph.components():
        own = {line_of[node] for node in component}
        entries = [min(lines[number], key=lambda node: (distance[node], node)) for number in own]
        enter(min(entries, key=lambda entry: (rank[entry], entry)), None)
        while links:
            *_, start, node = heapq.heappop(links)
            if line_of[node] not in entered:
                enter(node, start)
    return Plan(graph, tuple(parents), along)

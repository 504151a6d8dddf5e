"""The candidates of a search as a graph, and what its edges cost [Timm2009, section 3.2].

Nodes are candidates, numbered as they are given. Every parameter that holds numbers is an axis; its values, ascending,
give every candidate an integer coordinate. Neighbours are next to each other on a line: equal in everything but one
axis, with no candidate between them. The cost of an edge i -> j is the work of solving j from the solution of i.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime import Work
from widemargin.runtime.checks import is_number
from widemargin.runtime.files import replaced_file

Solution = TypeVar("Solution")

#: Read from and written into files of costs.
FORMAT = "widemargin search costs 1"


class Step(NamedTuple):
    """The orientation of an edge: the axis along which it runs, and 1 towards larger values or -1 towards smaller."""

    axis: str
    direction: int


def operations(work: Work) -> float:
    """Return the kernel evaluations and scanned entries of some work: the same on every computer."""
    return work.kernel_evaluations + work.scans


def seconds(work: Work) -> float:
    """Return the seconds that some work took."""
    return work.seconds


@dataclass(frozen=True)
class GridGraph:
    """Candidates with integer coordinates on named axes.

    Build one with :meth:`from_candidates`.

    Attributes
    ----------
    axes : tuple of str
        Names of the parameters that hold numbers.
    values : tuple of tuples
        The values of every axis, ascending.
    coordinates : tuple of tuples
        Of every candidate: the position of its value on each axis, or None where it has no number.
    groups : tuple of int
        Candidates of one group have equal values wherever they have no numbers. Others are never neighbours.
    """

    axes: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    coordinates: tuple[tuple[int | None, ...], ...]
    groups: tuple[int, ...]

    @classmethod
    def from_candidates(cls, candidates: Sequence[Mapping[str, Any]], axes: Sequence[str] | None = None) -> Self:
        """Find the graph of some candidates.

        Parameters
        ----------
        candidates : list of dicts
            Values of parameters. They need not form a whole grid, nor have the same parameters.
        axes : list of str, optional
            The parameters to take for axes; by default all that hold a number in some candidate. Whatever else
            candidates differ in keeps them apart.

        Examples
        --------
        >>> graph = GridGraph.from_candidates([{"C": C, "gamma": g} for g in (0.1, 1.0) for C in (1, 10, 100)])
        >>> graph.axes, graph.coordinates[5], graph.neighbours(4)
        (('C', 'gamma'), (2, 1), (1, 3, 5))
        """
        numeric = dict.fromkeys(name for one in candidates for name, value in one.items() if _is_number(value))
        names = tuple(numeric if axes is None else axes)
        if len(set(names)) < len(names):
            raise ValueError(f"axes must name every parameter once, got {list(names)}.")
        for name in names:
            if name not in numeric:
                raise ValueError(f"axes names {name!r}, for which no candidate has a number.")
        values = tuple(tuple(sorted({one[name] for one in candidates if _is_number(one.get(name))})) for name in names)
        places = [{value: place for place, value in enumerate(line)} for line in values]
        coordinates, groups = [], []
        seen: dict[Hashable, int] = {}
        for one in candidates:
            numbers = {name for name in names if _is_number(one.get(name))}
            coordinates.append(
                tuple(place[one[name]] if name in numbers else None for name, place in zip(names, places, strict=True))
            )
            others = frozenset((name, _key(value)) for name, value in one.items() if name not in numbers)
            groups.append(seen.setdefault((others, frozenset(numbers)), len(seen)))
        return cls(names, values, tuple(coordinates), tuple(groups))

    def __len__(self) -> int:
        return len(self.coordinates)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.axes, self.values, self.coordinates, self.groups)  # not what was computed from these

    def position(self, node: int, axis: str) -> int | None:
        """Return the coordinate of a node on an axis; None if it has none there."""
        return self.coordinates[node][self.axes.index(axis)] if axis in self.axes else None

    def positions(self, axis: str) -> NDArray[np.intp]:
        """Return the coordinates of all nodes on an axis; 0 for those that have none there."""
        at = self.axes.index(axis) if axis in self.axes else None
        return np.array([0 if at is None else place[at] or 0 for place in self.coordinates], dtype=np.intp)

    def lines(self, axis: str) -> list[tuple[int, ...]]:
        """Return the lines along an axis, ascending; a node without a coordinate on it is a line of its own."""
        if axis not in self.axes:
            return [(node,) for node in range(len(self))]
        at = self.axes.index(axis)
        found: dict[Hashable, list[int]] = defaultdict(list)
        for node, place in enumerate(self.coordinates):
            found[node if place[at] is None else (self.groups[node], place[:at], place[at + 1 :])].append(node)
        return [
            tuple(sorted(line, key=lambda node: (self.coordinates[node][at] or 0, node))) for line in found.values()
        ]

    @cached_property
    def _steps(self) -> dict[tuple[int, int], Step]:
        """Every directed edge; of two candidates that are equal, along the first axis."""
        found: dict[tuple[int, int], Step] = {}
        for axis in self.axes:
            for line in self.lines(axis):
                for low, high in pairwise(line):
                    found.setdefault((low, high), Step(axis, 1))
                    found.setdefault((high, low), Step(axis, -1))
        return found

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in range(len(self))]
        for start, end in sorted(self._steps):
            found[start].append(end)
        return tuple(map(tuple, found))

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Return the candidates one step away, in ascending order."""
        return self._neighbours[node]

    def edges(self) -> list[tuple[int, int]]:
        """Return every pair of neighbours, in both directions."""
        return sorted(self._steps)

    def step(self, start: int, end: int) -> Step:
        """Return the orientation of an edge.

        Examples
        --------
        >>> GridGraph.from_candidates([{"C": 1}, {"C": 10}]).step(1, 0)
        Step(axis='C', direction=-1)
        """
        if (start, end) not in self._steps:
            raise ValueError(f"nodes {start} and {end} are not neighbours.")
        return self._steps[start, end]

    def components(self) -> list[tuple[int, ...]]:
        """Return the parts between which there is no edge, each in ascending order."""
        left, found = set(range(len(self))), []
        while left:
            reached, front = set(), {min(left)}
            while front:
                reached |= front
                front = {near for node in front for near in self.neighbours(node)} - reached
            left -= reached
            found.append(tuple(sorted(reached)))
        return found


def _is_number(value: Any) -> bool:
    return is_number(value) and bool(value == value)


def _key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return type(value).__name__, repr(value)
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class CostMatrix:
    """What it costs to solve every node from nothing (`cold`) and from each of its neighbours (`edges`)."""

    graph: GridGraph
    cold: NDArray[np.float64]
    edges: Mapping[tuple[int, int], float]

    def __post_init__(self) -> None:
        if len(self.cold) != len(self.graph):
            raise ValueError(f"cold must hold a cost for each of {len(self.graph)} nodes, got {len(self.cold)}.")

    def of(self, start: int | None, node: int) -> float:
        """Return the cost of `node` from `start`, or from nothing if that is None."""
        return float(self.cold[node]) if start is None else self.edges[start, node]

    @property
    def total_cold(self) -> float:
        """The cost of solving every node from nothing."""
        return float(self.cold.sum())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the costs and their graph as JSON; an existing file is replaced only by a whole one."""
        content = {
            "format": FORMAT,
            "axes": self.graph.axes,
            "values": [[float(value) for value in line] for line in self.graph.values],
            "coordinates": self.graph.coordinates,
            "groups": self.graph.groups,
            "cold": self.cold.tolist(),
            "edges": [[start, end, cost] for (start, end), cost in sorted(self.edges.items())],
        }
        with replaced_file(path) as file:
            file.write(json.dumps(content).encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` has written."""
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise ValueError(f"{os.fspath(path)} holds {found!r}, which is not {FORMAT!r}.")
        graph = GridGraph(
            tuple(content["axes"]),
            tuple(map(tuple, content["values"])),
            tuple(map(tuple, content["coordinates"])),
            tuple(content["groups"]),
        )
        edges = {(start, end): float(cost) for start, end, cost in content["edges"]}
        return cls(graph, np.array(content["cold"], dtype=np.float64), edges)


def measure_costs(
    graph: GridGraph,
    solve: Callable[[int, Solution | None], tuple[Solution, Work]],
    cost: Callable[[Work], float] = operations,
    order: Sequence[int] | None = None,
) -> CostMatrix:
    """Solve every node from nothing, then from each of its neighbours as that was solved from nothing [Timm2009, 3.2].

    Parameters
    ----------
    graph : GridGraph
    solve : callable (node, start) -> (solution, work)
        `start` is the solution of a neighbour, which must not be changed, or None.
    cost : callable (work) -> number
        :func:`operations` by default, for trees that are the same on every computer; or :func:`seconds`.
    order : sequence of int, optional
        The order in which nodes are solved, by default that of their numbers; first each from nothing, then each from
        all its neighbours. Solvers that keep a kernel from one call to the next want those of a kernel side by side.

    Examples
    --------
    A solver that moves from 0, or from the solution it is given, in steps of 1:

    >>> graph = GridGraph.from_candidates([{"C": C} for C in (10, 12, 15)])
    >>> def solve(node, start):
    ...     target = graph.values[0][node]
    ...     return target, Work(scans=abs(target - (start or 0)))
    >>> costs = measure_costs(graph, solve)
    >>> costs.cold, costs.of(0, 1), costs.of(2, 1)
    (array([10., 12., 15.]), 2.0, 3.0)
    """
    nodes = range(len(graph)) if order is None else order
    if sorted(nodes) != list(range(len(graph))):
        raise ValueError(f"order must name each of {len(graph)} nodes once, got {list(nodes)}.")
    solutions, cold = {}, np.empty(len(graph))
    for node in nodes:
        solutions[node], work = solve(node, None)
        cold[node] = cost(work)
    edges = {
        (start, end): float(cost(solve(end, solutions[start])[1])) for end in nodes for start in graph.neighbours(end)
    }
    return CostMatrix(graph, cold, edges)

"""Where the chains of a search start: at the solutions of other chains, as a walk through all of them says.

Whoever needs a model to start from trains it, with what it needs itself, or waits for the one who does. What a chain
starts from so depends on the search alone, not on who works on what, or when.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.machines.chain import LinkSolution
from widemargin.machines.dual import Vector
from widemargin.plans import Chain
from widemargin.runtime import Lock

#: A model: the numbers of its fold and of its candidate.
Place = tuple[int, int]


@dataclass(frozen=True)
class Start:
    """Coefficients to start from, by decision function; those of most samples are 0."""

    size: int
    functions: Mapping[Hashable, tuple[NDArray[np.intp], Vector]]

    @classmethod
    def of(cls, functions: Mapping[Hashable, Vector]) -> Start:
        """Keep the coefficients of all samples, (n,), of each function.

        Examples
        --------
        >>> start = Start.of({"f": np.array([0.0, 2.0, 0.0])})
        >>> start.coefficients("f").tolist(), start.coefficients("g")
        ([0.0, 2.0, 0.0], None)
        """
        size = len(next(iter(functions.values())))
        kept = {key: (np.flatnonzero(own), own[own != 0]) for key, own in functions.items()}
        return cls(size, kept)

    def coefficients(self, function: Hashable) -> Vector | None:
        """Return the coefficients of all samples, or None for a function that is not known."""
        if function not in self.functions:
            return None
        samples, values = self.functions[function]
        whole = np.zeros(self.size)
        whole[samples] = values
        return whole


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

"""Where the chains of a search start: a backbone across the kernel widths, and from there to the other splits.

The first machine of every chain is trained on the first split, from the solution that the plan names: that of the
neighbouring width. Chains of the other splits start from the same machine on the first split. What a chain starts from
so depends on the search alone, not on who works on what, or when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.machines.dual import Outcome, Vector
from widemargin.search import GridGraph, LearningPlan, heuristic_plan

#: Names of plans.
PLANS = ("heuristic", "learn", "cold")


@dataclass(frozen=True)
class Start:
    """Coefficients to start from, by decision function; those of most examples are 0."""

    size: int
    functions: Mapping[Hashable, tuple[NDArray[np.intp], Vector]]

    @classmethod
    def of(cls, functions: Mapping[Hashable, Vector]) -> Start:
        """Keep the coefficients of all examples, (n,), of each function.

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
        """Return the coefficients of all examples, or None for a function that is not known."""
        if function not in self.functions:
            return None
        rows, values = self.functions[function]
        whole = np.zeros(self.size)
        whole[rows] = values
        return whole


@dataclass(frozen=True)
class FirstMachine:
    """The first machine of a chain on the first split, and what it took."""

    start: Start
    iterations: int
    kernel_evaluations: int
    seconds: float

    @classmethod
    def of(cls, start: Start, outcomes: Sequence[Outcome]) -> FirstMachine:
        """Add up what the solves of its functions took."""
        took = [(one.iterations, one.kernel_evaluations, one.seconds) for one in outcomes]
        iterations, kernel_evaluations, seconds = (sum(part) for part in zip(*took, strict=True))
        return cls(start, int(iterations), int(kernel_evaluations), seconds)


#: Trains the first candidate of a chain on the first split, from a start or from nothing; None if time ran out.
Trains = Callable[[tuple[int, ...], Start | None], FirstMachine | None]


class Backbone:
    """The first machines of all chains, each trained once, when it is first asked for.

    Parameters
    ----------
    plan : {"heuristic", "learn"}
        "heuristic" goes from each width to the next larger one; "learn" starts from nothing instead, where the steps
        counted so far say that this is cheaper.
    candidates : sequence of mappings
    chains : sequence of tuples of int
        Candidates of each chain, in its order.
    """

    def __init__(self, plan: str, candidates: Sequence[Mapping[str, Any]], chains: Sequence[tuple[int, ...]]) -> None:
        self._chains = list(chains)
        self._numbers = {chain: number for number, chain in enumerate(self._chains)}
        graph = GridGraph.from_candidates([candidates[chain[0]] for chain in self._chains])
        # In a pipeline, names of parameters end in those that the machine knows.
        widths = next((name for name in graph.axes if name.rpartition("__")[2] == "gamma"), "gamma")
        self._prior = heuristic_plan(graph, along="", across=widths)
        # One for each part of the grid, in which there is one order: the same is learnt whoever works on what.
        parts = [(part, LearningPlan(self._prior)) for part in graph.components()] if plan == "learn" else []
        self._learning = {number: own for part, own in parts for number in part}
        self._locks = [threading.Lock() for _ in self._chains]
        self._known: dict[int, FirstMachine] = {}

    def first(self, chain: tuple[int, ...], train: Trains) -> FirstMachine | None:
        """Return the first machine of a chain; None if it could not be trained to its end."""
        return self._first(self._numbers[chain], train)

    def _first(self, number: int, train: Trains) -> FirstMachine | None:
        with self._locks[number]:  # the plan has no circles, nor have those who wait
            if number not in self._known:
                parent = self._prior.parents[number]
                before = None if parent is None else self._first(parent, train)
                start = None if before is None else parent
                if number in self._learning and start is not None:
                    start = self._learning[number].next_start(number, {start})
                made = train(self._chains[number], None if start is None or before is None else before.start)
                if made is None:
                    return None
                self._known[number] = made
                if number in self._learning:
                    self._learning[number].learn((start, number), made.iterations)
            return self._known[number]


def require_plan(plan: Any) -> None:
    """Refuse what is no plan."""
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(map(repr, PLANS))}; got {plan!r}.")

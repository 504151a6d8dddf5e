"""The choice of one compact model: level of simplification, features, C and width, along a tabu search.

A point of the search is (features, k, log C, log sigma): whole numbers, and steps of a factor sqrt(2), with
C = 2^(C'/2), sigma = 2^(sigma'/2), C' and sigma' from -10 to 20 [Lebrun2006, section 3]. The kernel is
exp(-||x - z||^2 / sigma^2) over the features that are selected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import MaskedGaussian
from widemargin.objectives.base import Place, Vector
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.prototype_quality import PrototypeQuality
from widemargin.runtime import Stop
from widemargin.strategies import Ask, Lattice, TabuSearch
from widemargin.study import Progress, Records, Trace
from widemargin.study.findings import SHOW_EVERY, WRITE_EVERY, Finding, Findings, Found, Standing
from widemargin.study.points import Points
from widemargin.study.runner import Ended, run
from widemargin.study.strategy_search import StrategySearch, Wanted

Mask = NDArray[np.bool_]

#: Range of C' and sigma' [Lebrun2006, section 3].
EXPONENTS = -10, 20

#: What the search looks at first: these levels, which cost next to nothing, and exponents so many apart.
FIRST_LEVELS, FIRST_EXPONENTS = range(7), 4

#: Distance between neighbouring values of log C and log sigma.
STEP = math.log(2.0) / 2.0

#: Bytes that are kept of each evaluation, beside its point: value, measures, work, and their objects.
KEPT_OF_EACH = 2048

#: What an entry of a front says.
FRONT = np.dtype(
    [
        ("model", np.intp),
        ("evaluation", np.intp),
        ("recognition_rate", np.float64),
        ("support_vectors", np.intp),
        ("feature_cost", np.float64),
        ("n_features", np.intp),
        ("quality", np.float64),
        ("level", np.intp),
        ("C", np.float64),
        ("sigma", np.float64),
    ]
)


@dataclass(frozen=True)
class CompactSpace:
    """What is searched.

    Parameters
    ----------
    varies : ndarray of bool of shape (d,)
        Features that may be selected; the others have one value only.
    select_features : bool
        Whether they are searched; else all that vary are used.
    start_level, highest_level : int
        Of simplification.
    work : sequence of float, optional
        What a model of each level takes: distances, say; the same if not given. Levels that are looked at first cost
        next to nothing, and count as the last of them.
    """

    varies: Mask
    select_features: bool
    start_level: int
    highest_level: int
    work: Sequence[float] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        features = [f"feature {number}" for number in range(len(self.varies))] if self.select_features else []
        return [*features, "level", "C", "sigma"]

    @cached_property
    def kept(self) -> Points:
        """How points are kept: features as bits."""
        n_dims = len(self.names)
        return Points(np.arange(n_dims) < n_dims - 3)

    @property
    def lattice(self) -> Lattice:
        """The points; the start, all features and C' = sigma' = 0 [Lebrun2006, footnote 3]; what to look at first."""
        own = self.varies.astype(np.float64) if self.select_features else np.empty(0)
        low, high = (STEP * end for end in EXPONENTS)
        some = [number for number in range(EXPONENTS[0], EXPONENTS[1] + 1) if number % FIRST_EXPONENTS == 0]
        groups = [
            self._group(level, list(product(some, some)))
            for level in sorted(FIRST_LEVELS, key=lambda level: abs(level - self.start_level))
            if level <= self.highest_level
        ]
        return Lattice(
            start=np.concatenate([own, [self.start_level, 0.0, 0.0]]),
            lower=np.concatenate([np.zeros(len(own)), [0.0, low, low]]),
            upper=np.concatenate([own, [self.highest_level, high, high]]),
            steps=np.concatenate([np.ones(len(own)), [1.0, STEP, STEP]]),
            switches=np.arange(len(own) + 3) < len(own),
            first=groups,
            work=None if self.work is None else self._work,
        )

    def _group(self, level: int, exponents: Sequence[tuple[int, int]]) -> NDArray[np.int8]:
        """Return points of a level with all features, in steps from the start; narrow, since there may be thousands."""
        group = np.zeros((len(exponents), len(self.names)), dtype=np.int8)
        group[:, -3], group[:, -2:] = level - self.start_level, exponents
        return group

    def _work(self, point: Vector) -> float:
        assert self.work is not None
        return self.work[min(max(self._steps(point)[0], FIRST_LEVELS[-1]), self.highest_level)]

    def features(self, point: Vector) -> Mask:
        """Return the features that are used at a point."""
        return np.asarray(point[:-3] > 0.5) if self.select_features else self.varies

    @staticmethod
    def numbers(point: Vector) -> tuple[int, float, float]:
        """Return level, C and sigma at a point."""
        level, c_exponent, width_exponent = CompactSpace._steps(point)
        return level, 2.0 ** (c_exponent / 2), 2.0 ** (width_exponent / 2)

    def place(self, point: Vector) -> Place:
        """Return what a point stands for."""
        level, c_exponent, width_exponent = self._steps(point)
        return Place(MaskedGaussian(self.features(point), 2.0**-width_exponent), 2.0 ** (c_exponent / 2), level)

    @staticmethod
    def _steps(point: Vector) -> tuple[int, int, int]:
        """Return k, C' and sigma', whatever the sum of steps was rounded to."""
        level, log_c, log_sigma = point[-3:].tolist()
        return round(level), round(log_c / STEP), round(log_sigma / STEP)

    def at(self, ask: Ask) -> tuple[Place, Place | None]:
        """Return what is asked for, and the neighbour that it is a move from."""
        return self.place(ask.point), None if ask.origin is None else self.place(ask.origin)


@dataclass(frozen=True)
class Searched:
    """What a search has come to.

    Attributes
    ----------
    point : ndarray or None
        The best; None if nothing was evaluated.
    trace : Trace
    ended : Ended
    space : CompactSpace
    found : Found
        All evaluations.
    number : int
        Of the model.
    """

    point: Vector | None
    trace: Trace
    ended: Ended
    space: CompactSpace
    found: Found
    number: int

    @cached_property
    def front(self) -> NDArray[Any]:
        """What no other evaluation beats in recognition rate, support vectors and cost of features at once."""
        return pareto_front(self.space, self.found.values(), self.number)


def searched(
    space: CompactSpace,
    objective: DecisionQuality,
    bound: PrototypeQuality,
    strategy: TabuSearch,
    stop: Stop,
    *,
    number: int,
    seed: int,
    journal: Records | None,
    progress: Progress,
    max_bytes: int | None = None,
) -> Searched:
    """Search for a model; what a journal holds is not repeated.

    Parameters
    ----------
    space : CompactSpace
    objective : DecisionQuality
    bound : PrototypeQuality
    strategy : TabuSearch
    stop : Stop
    number : int
        Of the model, for its entries in the front.
    seed : int
    journal : Journal, JournalPart or None
    progress : Progress
    max_bytes : int, optional
        The search ends when what is kept of its evaluations takes so much.
    """
    room = None if max_bytes is None else max(1, max_bytes // (KEPT_OF_EACH + 8 * space.kept.n_dims))
    if room is not None and (stop.max_evaluations is None or room < stop.max_evaluations):
        stop = replace(stop, max_evaluations=room)
    lattice = space.lattice
    logarithmic = [*([False] * (lattice.n_dims - 2)), True, True]
    trace = Trace(space.names, logarithmic, greater_is_better=True, kept=space.kept)
    search = StrategySearch(
        strategy.begin(lattice, seed=seed, max_evaluations=stop.max_evaluations),
        objective,
        bound,
        lambda: bound.with_threads(1),
        space.at,
        Wanted(),
        trace,
        stop,
        seed=seed,
        n_threads=bound.task.n_threads,
    )
    findings = Findings(
        Standing(search.expected),
        journal,
        stop,
        n_dims=space.kept.n_dims,
        progress=progress,
        pause=WRITE_EVERY,
        show_every=SHOW_EVERY,
    )
    ended = run(search, findings, stop, progress)
    if trace.n_evaluations == room:
        ended = Ended("what is kept of evaluations takes all of max_memory", True)
    return Searched(search.chosen(), trace, ended, space, findings.found, number)


def pareto_front(space: CompactSpace, found: Iterable[Finding], number: int = 0) -> NDArray[Any]:
    """Return the evaluations that no other one beats in rate, support vectors and cost at once, best rate first.

    Of equal ones the first counts. Without selection of features their cost is their number, the same for all.
    """
    entries = []
    for one in found:
        if one.measures is not None and one.point is not None:
            point = space.kept.whole(one.point)
            level, C, sigma = space.numbers(point)
            n_features = int(np.count_nonzero(space.features(point)))
            rate, n_support = one.measures["recognition_rate"], int(one.measures["support_vectors"])
            cost = one.measures.get("feature_cost", float(n_features))
            entries.append((number, one.number, rate, n_support, cost, n_features, one.value, level, C, sigma))
    entries.sort(key=lambda entry: (-entry[2], entry[3], entry[4], entry[1]))
    front: list[tuple[Any, ...]] = []
    for entry in entries:
        if not any(other[3] <= entry[3] and other[4] <= entry[4] for other in front):
            front.append(entry)
    return np.array(front, dtype=FRONT)

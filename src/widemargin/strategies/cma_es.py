"""Evolution with an adapted covariance matrix: values alone are compared, no gradient is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from widemargin.strategies.base import Ask, CountedRun, Space, Strategy, StrategyRun, Told, Vector

Answer = Literal["lowest", "mean"]

#: Generations of which all values are equal, after which there is nothing to follow. The 0-1 loss is flat in places.
FLAT_GENERATIONS = 20

#: The package's words for its ends, in ours.
_ENDS = {
    "tolx": "steps have become too short to matter",
    "noeffectaxis": "steps have become too short to matter",
    "noeffectcoord": "steps have become too short to matter",
    "tolxstagnation": "the mean has not moved for long",
    "tolstagnation": "values have not improved for long",
    "tolflatfitness": f"all values were equal for more than {FLAT_GENERATIONS} generations",
    "tolconditioncov": "the covariance matrix is ill-conditioned",
    "tolfacupx": "steps have grown without end",
    "tolupsigma": "steps have grown without end",
}


@dataclass(frozen=True)
class CMAES(Strategy):
    r"""Sample populations from a normal distribution that follows the better half [Hansen2006], through `cma`.

    A generation draws :math:`\lambda = \max(5, \lfloor 3 \log n \rfloor + 4)` points from
    :math:`N(m, \sigma^2 C)`, moves m to the weighted mean of the better half, and learns C and :math:`\sigma` from the
    way it went. Values are compared with each other and not used otherwise, so that steps and ties (as of the 0-1 loss)
    do no harm, and a good deal of noise evens out. The thesis descends the cross-validation error by it
    [Glasmachers2008, section 12.1].

    All points of a generation are asked for at once. They keep to the bounds by a smooth transformation of the space.
    Parameters whose bounds are equal are left out; a single parameter is accompanied by another one that does not
    matter, since the package needs two. Points without a value count as worse than the worst seen. Random numbers
    come from a generator of the run's own. A generation costs O(n^2) a point and now and then O(n^3).

    Parameters
    ----------
    initial_step : float, default=1.0
        Standard deviation at the start; at most a quarter of the box, parameter by parameter.
    generations : int, optional
        How many at most; 100 sqrt(n) if neither this nor the search says another number [Glasmachers2008, section
        12.1].
    tolerance : float, default=1e-4
        Length of steps (standard deviations of all parameters) at which to stop.
    answer : {"lowest", "mean"}, default="lowest"
        Which point is chosen: the one with the lowest value seen; or the mean of the means m of the later half of the
        generations, which is no nearer as a rule, but was not chosen for the luck of its draw: for values with noise.

    Examples
    --------
    >>> run = CMAES().begin(Space(np.array([2.0, 2.0]), np.full(2, -5.0), np.full(2, 5.0)), seed=1)
    >>> len(run.ask())
    6
    >>> while asks := run.ask():
    ...     run.tell([Told(float(ask.point @ ask.point)) for ask in asks])
    >>> bool(np.abs(run.best).max() < 1e-3)
    True
    """

    name: ClassVar[str] = "cma-es"
    copes_with_noise: ClassVar[bool] = True

    initial_step: float = 1.0
    generations: int | None = None
    tolerance: float = 1e-4
    answer: Answer = "lowest"

    def __post_init__(self) -> None:
        self.require("initial_step", 0.0 < self.initial_step < math.inf, "finite and above 0")
        self.require("generations", self.generations is None or self.generations >= 1, "at least 1, or None")
        self.require("tolerance", self.tolerance > 0.0, "above 0")
        self.require("answer", self.answer in get_args(Answer), '"lowest" or "mean"')

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run; it knows of no parts."""
        free = np.flatnonzero(space.lower < space.upper)
        n = max(len(free), 1)
        population = max(5, math.floor(3 * math.log(n)) + 4)
        own = None if self.generations is None else self.generations * population
        usual = math.ceil(100 * math.sqrt(n)) * population
        return _Run(self, space, seed, free, population, self.budget(own, max_evaluations, usual))


class _Run(CountedRun):
    def __init__(
        self, rule: CMAES, space: Space, seed: int, free: NDArray[np.intp], population: int, budget: int
    ) -> None:
        super().__init__(space, budget)
        self._rule, self._free, self._worst = rule, free, -math.inf
        self._evolution = _evolution(rule, space, seed, free, population) if len(free) else None
        self._drawn: list[Vector] = []
        self._means: list[Vector] = []

    def propose(self) -> Sequence[Ask]:
        """Draw a generation."""
        if self._evolution is None:
            return [Ask(self.space.start)]
        self._drawn = self._evolution.ask()
        return [Ask(self._point(drawn)) for drawn in self._drawn]

    def learn(self, asked: Sequence[Ask], found: Sequence[Told]) -> None:
        """Let the distribution follow the better points."""
        if self._evolution is None:
            self.end("the bounds leave nothing to search")
            return
        self._worst = max([self._worst, *(told.value for told in found if math.isfinite(told.value))])
        beyond = self._worst + max(1.0, abs(self._worst)) if math.isfinite(self._worst) else 0.0
        self._evolution.tell(self._drawn, [told.value if math.isfinite(told.value) else beyond for told in found])
        self._means.append(self._point(self._evolution.result.xfavorite))
        ends = self._evolution.stop()
        if ends:
            self.end(" and ".join(sorted({_ENDS.get(end, f"cma stopped for {end!r}") for end in ends})))

    def _point(self, drawn: Any) -> Vector:
        """Put the parameters that are searched back among those that are not."""
        point = self.space.start.copy()
        point[self._free] = drawn[: len(self._free)]
        return self.space.clipped(point)

    @property
    def best(self) -> Vector:
        """The point with the lowest value seen, or the mean of the later means."""
        if self._rule.answer == "lowest" or not self._means:
            return super().best
        return self.space.clipped(np.mean(self._means[len(self._means) // 2 :], axis=0))


def _evolution(rule: CMAES, space: Space, seed: int, free: NDArray[np.intp], population: int) -> Any:
    import cma

    generator = np.random.default_rng(seed)
    start, lower, upper = (vector[free] for vector in (space.start, space.lower, space.upper))
    deviations = np.minimum(rule.initial_step, 0.25 * (upper - lower))
    if len(free) == 1:
        start, lower, upper = np.append(start, 0.0), np.append(lower, -np.inf), np.append(upper, np.inf)
        deviations = np.append(deviations, deviations)
    options = {
        "popsize": population,
        "bounds": [lower.tolist(), upper.tolist()],
        "CMA_stds": deviations.tolist(),
        "randn": lambda *shape: generator.standard_normal(shape or None),
        "seed": math.nan,
        "maxiter": math.inf,
        "tolx": rule.tolerance,
        # Differences of values end nothing: those of the 0-1 loss are 0 now and then, with better points elsewhere.
        "tolfun": 0.0,
        "tolfunhist": 0.0,
        "tolflatfitness": FLAT_GENERATIONS,
        "verbose": -10,
        "verb_disp": 0,
        "verb_log": 0,
    }
    return cma.CMAEvolutionStrategy(start, 1.0, options)

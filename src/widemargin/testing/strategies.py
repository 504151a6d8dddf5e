"""What a new search strategy has to pass before it may join the package, and problems to try it on."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from widemargin.strategies.base import Ask, Space, Strategy, StrategyRun, Told
from widemargin.testing.contracts import Contract
from widemargin.testing.protocols import Vector

Function = Callable[[Ask], Told]
Exchange = tuple[list[Ask], list[Told]]

#: Exchanges after which a run is taken to go on for ever.
TOO_MANY = 1_000_000


@dataclass
class Bowl:
    r"""A convex quadratic to minimise, :math:`\sum_i s_i (\theta_i - c_i)^2 / 2`, possibly with noise.

    Parameters
    ----------
    centre : ndarray of shape (n,)
    curvatures : ndarray of shape (n,)
        The s above.
    noise : float, default=0.0
        Standard deviation of what is added to the value and to the derivatives.
    missing : callable, optional
        Says of a point whether it has no value.
    seed : int, default=0
        Of the noise.
    along_a_scale : bool, default=False
        Whether to tell three derivatives with respect to p = exp(theta) instead of the gradient, of one parameter.

    Examples
    --------
    >>> Bowl(np.array([1.0]), np.array([2.0]))(Ask(np.array([2.0])))
    Told(value=1.0, gradient=array([2.]), higher=())
    """

    centre: Vector
    curvatures: Vector
    noise: float = 0.0
    missing: Callable[[Vector], bool] | None = None
    seed: int = 0
    along_a_scale: bool = False

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)

    def __call__(self, ask: Ask) -> Told:
        """Evaluate."""
        away = ask.point - self.centre
        if self.missing is not None and self.missing(ask.point):
            return Told(math.nan, np.full(len(away), math.nan))
        noise = self.noise * self._generator.standard_normal(1 + len(away))
        value, gradient = 0.5 * float(self.curvatures @ away**2) + noise[0], self.curvatures * away + noise[1:]
        if not self.along_a_scale:
            return Told(float(value), gradient)
        # With respect to p = exp(theta): each derivative with respect to theta divides by p and brings down a power.
        p, first, second = math.exp(float(ask.point[0])), float(gradient[0]), float(self.curvatures[0])
        return Told(float(value), np.array([first / p]), ((second - first) / p**2, (2.0 * first - 3.0 * second) / p**3))


def minimise(run: StrategyRun, function: Function) -> list[Exchange]:
    """Answer a run until it ends, and return what was asked and told."""
    exchanges: list[Exchange] = []
    while asks := list(run.ask()):
        assert len(exchanges) < TOO_MANY, f"a run must come to its end; {TOO_MANY:,} exchanges were not enough."
        told = [function(ask) for ask in asks]
        run.tell(told)
        exchanges.append((asks, told))
    return exchanges


@dataclass(frozen=True)
class StrategyContract(Contract):
    """The clauses that a strategy has to keep: each is a method that raises AssertionError with a sentence.

    Parameters
    ----------
    strategy : Strategy
    n_dims : int, default=2
        Of the problems; 1 for strategies that search along one parameter.
    precision, noisy_precision : float
        How near the end of a run has to come to the minimum of a quadratic, without and with noise. The box reaches
        from -4 to 4.
    noise : float, default=0.1
        Standard deviation of the noise of value and gradient; the quadratic's curvatures are 1 to 2.

    Examples
    --------
    >>> from widemargin.strategies import Rprop
    >>> from widemargin.testing import StrategyContract
    >>> StrategyContract(Rprop()).check()
    """

    strategy: Strategy
    n_dims: int = 2
    precision: float = 0.01
    noisy_precision: float = 0.3
    noise: float = 0.1

    def _space(self) -> Space:
        """Return the box of the problems, [-4, 4], with the start at 2, -2, 2, ..."""
        edge = np.full(self.n_dims, 4.0)
        signs = np.where(np.arange(self.n_dims) % 2, -1.0, 1.0)
        return Space(2.0 * signs, -edge, edge)

    def _bowl(
        self, centre: float = 0.7, *, noise: float = 0.0, missing: Callable[[Vector], bool] | None = None
    ) -> Bowl:
        """Return a quadratic whose bottom is at the same number in all parameters, steeper in later ones."""
        return Bowl(
            np.full(self.n_dims, centre),
            np.linspace(1.0, 2.0, self.n_dims),
            noise=noise,
            missing=missing,
            along_a_scale=self.strategy.needs_higher,
        )

    def _begin(self, seed: int = 0, *, space: Space | None = None, max_evaluations: int | None = None) -> StrategyRun:
        """Start a run on the box."""
        return self.strategy.begin(space or self._space(), seed=seed, max_evaluations=max_evaluations)

    def finds_the_minimum(self) -> None:
        """Require that the end of a run is near the bottom of a bowl, wherever the seed."""
        for seed in range(3):
            run = self._begin(seed)
            minimise(run, self._bowl())
            away = float(np.abs(run.best - 0.7).max())
            assert away <= self.precision, f"the minimum must be within {self.precision:g}; it is {away:.3g} away."

    def finds_the_minimum_through_noise_if_declared(self) -> None:
        """Require the same through noise, less exactly, of strategies that cope with it."""
        if not self.strategy.copes_with_noise:
            return
        run = self._begin()
        minimise(run, self._bowl(noise=self.noise))
        away = float(np.abs(run.best - 0.7).max())
        assert away <= self.noisy_precision, (
            f"the minimum must be found through noise within {self.noisy_precision:g}; it is {away:.3g} away."
        )

    def asks_inside_of_the_bounds(self) -> None:
        """Require that no point leaves the box, also where the slope leads out of it."""
        space = self._space()
        for centre in (0.7, 9.0, -9.0):
            run = self._begin()
            for asks, _ in minimise(run, self._bowl(centre)):
                for ask in asks:
                    inside = ask.point.shape == (self.n_dims,) and np.array_equal(ask.point, space.clipped(ask.point))
                    assert inside, f"a point to evaluate must lie in [-4, 4]^{self.n_dims}; one is {ask.point}."
            assert np.array_equal(run.best, space.clipped(run.best)), f"the best point must lie inside, not {run.best}."

    def leaves_parameters_alone_whose_bounds_are_equal(self) -> None:
        """Require that parameters stay where their bounds hold them: all of them, or the last of several."""
        space = self._space()
        run = self._begin(space=Space(space.start, space.start, space.start), max_evaluations=60)
        points = [ask.point for asks, _ in minimise(run, self._bowl()) for ask in asks]
        held = all(np.array_equal(point, space.start) for point in (*points, run.best))
        assert held, "parameters between equal bounds must stay."
        if self.n_dims == 1:
            return
        last = np.arange(self.n_dims) == self.n_dims - 1
        start, lower, upper = (np.where(last, 1.5, vector) for vector in (space.start, space.lower, space.upper))
        run = self._begin(space=Space(start, lower, upper))
        points = [ask.point for asks, _ in minimise(run, self._bowl()) for ask in asks]
        assert all(point[-1] == 1.5 for point in (*points, run.best)), "a parameter between equal bounds must stay."
        away = float(np.abs(run.best - 0.7)[:-1].max())
        assert away <= self.precision, f"the other parameters must find the minimum; it is {away:.3g} away."

    def keeps_whole_numbers_whole_if_declared(self) -> None:
        """Require that strategies which take whole numbers ask for such, and find the lowest."""
        if not self.strategy.takes_whole_numbers:
            return
        space = self._space()
        first = np.arange(self.n_dims) == 0
        run = self._begin(space=Space(space.start, space.lower, space.upper, whole=first))
        for asks, _ in minimise(run, self._bowl()):
            for ask in asks:
                own = float(ask.point[0])
                assert own == round(own), f"a whole number must stay one; {own:g} was asked for."
        assert run.best[0] == 1.0, f"the whole number next to 0.7 must be found; it is {run.best[0]:g}."

    def asks_for_parts_that_exist(self) -> None:
        """Require that of three parts none but these is asked for, if any is."""
        run = self.strategy.begin(self._space(), seed=0, n_parts=3, max_evaluations=120)
        for asks, _ in minimise(run, self._bowl()):
            for ask in asks:
                assert ask.part in (None, 0, 1, 2), f"there are parts 0, 1 and 2; {ask.part} was asked for."

    def ends_with_a_reason_within_its_budget(self) -> None:
        """Require that a run says why it ends exactly when it asks for nothing more, and keeps to its evaluations."""
        for budget in (None, 25):
            run = self._begin(max_evaluations=budget)
            assert run.reason is None, f"a run that has just begun cannot have ended: {run.reason!r}."
            bowl, taken = self._bowl(), 0
            while asks := run.ask():
                assert run.reason is None, f"a run that asks for more cannot have ended: {run.reason!r}."
                run.tell([bowl(ask) for ask in asks])
                taken += len(asks)
                assert taken < TOO_MANY, f"a run must come to its end; {TOO_MANY:,} evaluations were not enough."
            assert run.reason, "a run that has ended must say why."
            assert not run.ask(), "a run that has ended must not ask again."
            allowed = TOO_MANY if budget is None else budget
            assert taken <= allowed, f"{taken} evaluations were made where {allowed} were allowed."

    def replays_bit_for_bit(self) -> None:
        """Require that the same answers lead to the same asks, whatever else draws random numbers meanwhile."""
        first = self._begin(5)
        exchanges = minimise(first, self._bowl(noise=self.noise if self.strategy.copes_with_noise else 0.0))
        with _common_sources_restored():
            again = self._begin(5)
            for number, (asks, told) in enumerate(exchanges):
                _seed_common_sources(number)
                assert _same(asks, again.ask()), "a run that is told the same must ask for the same, bit for bit."
                assert _same(asks, again.ask()), "an ask must stand until it is answered."
                again.tell(told)
        assert not again.ask(), "a run that is told the same must end at the same time."
        assert again.reason == first.reason, f"the same run must end for {first.reason!r}, not for {again.reason!r}."
        assert np.array_equal(again.best, first.best), "a run that is told the same must choose the same point."

    def leaves_what_it_handed_out_alone(self) -> None:
        """Require that points, spaces and answers are not written into later."""
        space = self._space()
        copies = [vector.copy() for vector in (space.start, space.lower, space.upper)]
        run, bowl, kept = self._begin(space=space, max_evaluations=60), self._bowl(), []
        while asks := run.ask():
            told = [bowl(ask) for ask in asks]
            kept += [(ask.point, ask.point.copy()) for ask in asks] + [(run.best, run.best.copy())]
            kept += [(ask.origin, ask.origin.copy()) for ask in asks if ask.origin is not None]
            kept += [(item.gradient, item.gradient.copy()) for item in told if item.gradient is not None]
            run.tell(told)
        kept += list(zip((space.start, space.lower, space.upper), copies, strict=True))
        assert all(np.array_equal(*pair) for pair in kept), "points, spaces and answers must not be written into."

    def leaves_common_random_numbers_alone(self) -> None:
        """Require that neither NumPy's nor Python's common source of random numbers is used or set."""
        before = _common_sources()
        minimise(self._begin(1, max_evaluations=200), self._bowl())
        assert before == _common_sources(), "a strategy must draw from a source of its own."

    def refuses_answers_that_do_not_fit(self) -> None:
        """Require a ValueError for too many answers, and for answers that nobody asked for."""
        run, bowl = self._begin(), self._bowl()
        told = [bowl(ask) for ask in run.ask()]
        _refuses(run, [*told, told[0]])
        run.tell(told)
        run = self._begin()
        minimise(run, bowl)
        _refuses(run, told)

    def survives_points_without_a_value(self) -> None:
        """Require that a run ends with a reason and chooses a point that has a value, where a quarter has none."""
        hole: Callable[[Vector], bool] = lambda point: bool((point < 0.5).all())  # noqa: E731
        for missing in (hole, lambda point: True):
            run = self._begin(max_evaluations=500)
            minimise(run, self._bowl(missing=missing))
            assert run.reason, "a run that has ended must say why."
            assert np.isfinite(run.best).all(), f"the best point must be finite, not {run.best}."
            if missing is hole:
                assert not hole(run.best), f"the best point must have a value; {run.best} has none."


def _common_sources() -> bytes:
    return pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002


def _seed_common_sources(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)


@contextmanager
def _common_sources_restored() -> Iterator[None]:
    of_numpy, of_python = pickle.loads(_common_sources())
    try:
        yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


def _same(asks: Sequence[Ask], others: Sequence[Ask]) -> bool:
    return len(asks) == len(others) and all(
        np.array_equal(one.point, other.point)
        and one.part == other.part
        and (one.origin is None) == (other.origin is None)
        and (one.origin is None or np.array_equal(one.origin, other.origin))  # type: ignore[arg-type]
        for one, other in zip(asks, others, strict=True)
    )


def _refuses(run: StrategyRun, told: Sequence[Told]) -> None:
    try:
        run.tell(told)
    except ValueError:
        return
    raise AssertionError(f"{len(told)} answers that were not asked for must be refused with a ValueError.")

"""The contract of strategies itself: an honest one keeps it, and each way of cheating is caught."""

from __future__ import annotations

import random

import numpy as np
import pytest

from widemargin.strategies import Ask, Space, Strategy
from widemargin.strategies.base import CountedRun
from widemargin.testing import StrategyContract
from widemargin.testing.strategies import Bowl, minimise


class Compass(CountedRun):
    """Look around with a step that is halved where nothing is better; see the subclasses for how to cheat."""

    def __init__(self, space, budget=2000, seed=0):
        super().__init__(space, budget)
        self.step, self.centre, self.value = 1.0, space.start, np.inf

    def propose(self):
        n = self.space.n_dims
        return [Ask(self.space.clipped(self.centre + self.step * way)) for way in np.vstack([np.eye(n), -np.eye(n)])]

    def learn(self, asked, found):
        values = [told.value if np.isfinite(told.value) else np.inf for told in found]
        if min(values) < self.value:
            self.centre, self.value = asked[int(np.argmin(values))].point, min(values)
        else:
            self.step /= 2
        if self.step < 1e-3:
            self.end("the step is short")


def strategy_of(kind, *, boasts=False, whole=False):
    class Tried(Strategy):
        name = "tried"
        copes_with_noise = boasts
        takes_whole_numbers = whole

        def begin(self, space, *, seed, n_parts=1, max_evaluations=None):
            return kind(space, 2000 if max_evaluations is None else max_evaluations, seed)

    return Tried()


def fails(kind, words):
    with pytest.raises(AssertionError, match=words):
        StrategyContract(strategy_of(kind)).check()


def test_an_honest_strategy_passes():
    StrategyContract(strategy_of(Compass)).check()
    StrategyContract(strategy_of(Compass), n_dims=1).check()


def test_searches_that_end_too_early_fail():
    class Hasty(Compass):
        def learn(self, asked, found):
            super().learn(asked, found)
            if self.step < 0.2:
                self.end("that will do")

    fails(Hasty, "the minimum must be within 0.01")


def test_searches_that_do_not_cope_with_noise_fail_if_they_say_so():
    StrategyContract(strategy_of(Compass), noise=3.0).finds_the_minimum_through_noise_if_declared()
    boastful = StrategyContract(strategy_of(Compass, boasts=True), noise=3.0)
    with pytest.raises(AssertionError, match="must be found through noise within"):
        boastful.finds_the_minimum_through_noise_if_declared()


def test_searches_that_take_whole_numbers_apart_fail_if_they_say_so():
    StrategyContract(strategy_of(Compass)).keeps_whole_numbers_whole_if_declared()
    with pytest.raises(AssertionError, match=r"a whole number must stay one; 1\.5 was asked for"):
        StrategyContract(strategy_of(Compass, whole=True)).keeps_whole_numbers_whole_if_declared()

    class Wide(Compass):
        def learn(self, asked, found):
            super().learn(asked, found)
            if self.step < 1.0:
                self.end("the step is short")

        @property
        def best(self):
            return np.round(self.centre) + 1.0

    with pytest.raises(AssertionError, match=r"the whole number next to 0\.7 must be found; it is 2"):
        StrategyContract(strategy_of(Wide, whole=True)).keeps_whole_numbers_whole_if_declared()


def test_points_outside_fail():
    class Careless(Compass):
        def propose(self):
            return [Ask(ask.point + 1e-12) for ask in super().propose()]

    fails(Careless, r"must lie in \[-4, 4\]")

    class Restless(Compass):
        def propose(self):
            first, *others = super().propose()
            inside = np.clip(first.point + 0.01, self.space.lower, self.space.upper + 0.01 * (self.space.upper < 4))
            return [Ask(inside), *others]

    fails(Restless, "parameters between equal bounds must stay")


def test_parts_that_do_not_exist_fail():
    class Parted(Compass):
        def propose(self):
            return [Ask(ask.point, 3) for ask in super().propose()]

    fails(Parted, "parts 0, 1 and 2; 3 was asked for")


def test_runs_that_do_not_say_why_they_end_fail():
    class Silent(Compass):
        @property
        def reason(self):
            return None

    class Hushed(Compass):
        @property
        def reason(self):
            return "enough"

    class Greedy(Compass):
        def __init__(self, space, budget, seed):
            super().__init__(space, 2000)

    fails(Silent, "must say why")
    fails(Hushed, "cannot have ended: 'enough'")
    fails(Greedy, "evaluations were made where 25 were allowed")


def test_runs_that_do_not_repeat_themselves_fail():
    class Moody(Compass):
        def propose(self):
            asks = super().propose()
            random.shuffle(asks)
            return asks

    generator = np.random.default_rng()

    class Drawn(Compass):
        def __init__(self, space, budget, seed):
            super().__init__(space, budget)
            self.step = generator.uniform(0.9, 1.0)

    class Fickle(Compass):
        def ask(self):
            self._standing = self._standing if self._standing == () else None
            self.step *= 0.999
            return super().ask()

    class Lost(Compass):
        def propose(self):
            return [Ask(ask.point, origin=generator.uniform(size=self.space.n_dims)) for ask in super().propose()]

    class Forgetful(Compass):
        def propose(self):
            known = random.random() < 0.5
            return [Ask(ask.point, origin=self.centre if known else None) for ask in super().propose()]

    fails(Moody, "bit for bit")
    fails(Lost, "bit for bit")
    fails(Forgetful, "bit for bit")
    fails(Drawn, "bit for bit")
    fails(Fickle, "an ask must stand until it is answered")


def test_runs_that_write_into_what_they_handed_out_fail():
    class Scribbling(Compass):
        def propose(self):
            self.best[0] += 1e-9
            return super().propose()

    class Smudging(Compass):
        def propose(self):
            self.here = getattr(self, "here", np.zeros(self.space.n_dims))
            self.here += 1e-9
            return [Ask(ask.point, origin=self.here) for ask in super().propose()]

    for kind in (Scribbling, Smudging):
        with pytest.raises(AssertionError, match="must not be written into"):
            StrategyContract(strategy_of(kind)).leaves_what_it_handed_out_alone()


def test_runs_that_use_common_random_numbers_fail():
    class Common(Compass):
        def propose(self):
            np.random.random()  # noqa: NPY002
            return super().propose()

    with pytest.raises(AssertionError, match="a source of its own"):
        StrategyContract(strategy_of(Common)).leaves_common_random_numbers_alone()


def test_runs_that_take_any_answer_fail():
    class Indifferent(Compass):
        def tell(self, found):
            super().tell(list(found)[: len(self.ask())])

    fails(Indifferent, "answers that were not asked for must be refused")


def test_runs_that_choose_points_without_a_value_fail():
    class Blind(Compass):
        @property
        def best(self):
            return np.zeros(self.space.n_dims)

    with pytest.raises(AssertionError, match="the best point must have a value"):
        StrategyContract(strategy_of(Blind)).survives_points_without_a_value()


def test_runs_without_end_are_noticed(monkeypatch):
    monkeypatch.setattr("widemargin.testing.strategies.TOO_MANY", 50)

    class Endless(Compass):
        def learn(self, asked, found):
            self.evaluations = 0

    with pytest.raises(AssertionError, match="a run must come to its end; 50 exchanges were not enough"):
        minimise(Endless(Space(np.zeros(1), -np.ones(1), np.ones(1))), Bowl(np.zeros(1), np.ones(1)))


def test_bowls_tell_their_derivatives_along_a_scale():
    bowl = Bowl(np.array([0.3]), np.array([2.0]), along_a_scale=True)

    def value(p):
        return bowl(Ask(np.log([p]))).value

    p, h = 1.7, 1e-3
    told = bowl(Ask(np.log([p])))
    assert told.gradient[0] == pytest.approx((value(p + h) - value(p - h)) / (2 * h), rel=1e-5)
    assert told.higher[0] == pytest.approx((value(p + h) - 2 * value(p) + value(p - h)) / h**2, rel=1e-5)
    third = (value(p + 2 * h) - 2 * value(p + h) + 2 * value(p - h) - value(p - 2 * h)) / (2 * h**3)
    assert told.higher[1] == pytest.approx(third, rel=1e-4)

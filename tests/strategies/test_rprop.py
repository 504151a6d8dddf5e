from __future__ import annotations

import math

import numpy as np
import pytest

from oracles.rprop import irprop_plus
from widemargin.strategies import Rprop, Space, Told
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


def test_contract():
    StrategyContract(Rprop()).check()


def rosenbrock(x):
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    return a**2 + 10 * b**2, np.array([-2 * a - 40 * b * x[0], 20 * b])


def absolute(x):
    return float(np.abs(x).sum()), np.sign(x)


@pytest.mark.parametrize("function", [rosenbrock, absolute])
@pytest.mark.parametrize("edge", [0.8, 5.0])
def test_it_is_the_naive_algorithm(function, edge):
    start = np.array([-0.7, 0.55])
    lower, upper = np.array([-2.0, -0.1]), np.array([edge, edge])
    expected = irprop_plus(function, start, lower, upper, iterations=300)
    run = Rprop(iterations=300).begin(Space(start, lower, upper), seed=0)
    asked = [asks[0].point for asks, _ in minimise(run, lambda ask: Told(*function(ask.point)))]
    assert len(asked) > 30
    np.testing.assert_array_equal(asked, expected[: len(asked)])


def test_the_naive_algorithm_takes_steps_back_only_if_the_value_grew():
    # From 1 by steps of 0.9: the slope changes its sign both times, the value grows only in the second case.
    for slope, last in ((1.0, -0.1), (0.01, 1.0)):

        def function(x, slope=slope):
            return (x[0] ** 2 * slope, 2 * x * slope) if x[0] > 0 else (x[0] ** 2, 2 * x)

        start = np.array([1.0])
        points = irprop_plus(function, start, start - 9, start + 9, iterations=3, initial_step=1.1)
        assert points[1][0] == pytest.approx(-0.1)
        assert points[2][0] == pytest.approx(last)


def test_the_best_point_is_the_lowest_and_not_the_last():
    run = Rprop(initial_step=1.5, iterations=2).begin(Space(np.array([1.0]), np.array([-9.0]), np.array([9.0])), seed=0)
    exchanges = minimise(run, Bowl(np.array([0.75]), np.ones(1)))
    assert [asks[0].point[0] for asks, _ in exchanges] == [1.0, -0.5]
    assert run.best[0] == 1.0
    assert run.reason == "the 2 evaluations allowed are spent"


def test_a_bound_that_holds_everything_ends_the_run():
    run = Rprop().begin(Space(np.zeros(2), -np.ones(2), np.ones(2)), seed=0)
    minimise(run, Bowl(np.array([3.0, -3.0]), np.ones(2)))
    assert run.best.tolist() == [1.0, -1.0]
    assert run.reason == "all steps are shorter than 0.0001, or a bound holds them"


def test_steps_do_not_grow_at_a_bound():
    # The second parameter's slope changes its sign long after it has been held: it must not leap then.
    def function(ask):
        x, y = ask.point
        return Told(float(y * (0.5 - x)), np.array([-1.0, 0.5 - x]))

    run = Rprop(initial_step=0.01, grow=1.001, longest=1.0, iterations=60).begin(
        Space(np.array([-0.0, -1.0]), -np.ones(2), np.ones(2)), seed=0
    )
    y = np.array([asks[0].point[1] for asks, _ in minimise(run, function)])
    assert (y[:50] == -1.0).all()
    assert 0.0 < y[-1] + 1.0 < 0.2


def test_steps_grow_to_the_longest_and_no_further():
    slope = np.array([1.0, -1.0])
    run = Rprop(initial_step=0.1, grow=2.0, longest=0.5, iterations=12).begin(
        Space(np.zeros(2), np.full(2, -99.0), np.full(2, 99.0)), seed=0
    )
    exchanges = minimise(run, lambda ask: Told(float(slope @ ask.point), slope))
    steps = np.diff([asks[0].point for asks, _ in exchanges], axis=0)
    np.testing.assert_allclose(np.abs(steps[:, 0]), [0.1, 0.2, 0.4, *[0.5] * 8])
    np.testing.assert_array_equal(steps[:, 0], -steps[:, 1])


def test_a_plateau_ends_the_run():
    run = Rprop().begin(Space(np.zeros(2), -np.ones(2), np.ones(2)), seed=0)
    minimise(run, lambda ask: Told(1.0, np.zeros(2)))
    assert run.reason == "all slopes vanish"
    assert run.evaluations == 1


def test_points_without_a_value():
    space = Space(np.array([1.0]), np.array([-9.0]), np.array([9.0]))
    run = Rprop(initial_step=1.6).begin(space, seed=0)
    exchanges = minimise(run, Bowl(np.array([0.25]), np.ones(1), missing=lambda point: bool(point[0] < 0)))
    asked = [asks[0].point[0] for asks, _ in exchanges]
    assert asked[1] == pytest.approx(-0.6)
    assert asked[2] == pytest.approx(0.2)
    assert run.best[0] == pytest.approx(0.25, abs=1e-3)
    run = Rprop().begin(space, seed=0)
    run.ask()
    run.tell([Told(math.nan)])
    assert run.reason == "there is no value at the start"
    run = Rprop().begin(space, seed=0)
    minimise(run, Bowl(np.array([0.25]), np.ones(1), missing=lambda point: bool(point[0] < 1)))
    assert run.reason == "there is no value at any step longer than 0.0001"


def test_the_usual_budget_is_that_of_the_thesis():
    space = Space(np.zeros(4), -np.ones(4), np.ones(4))
    assert Rprop().begin(space, seed=0).expected_evaluations == 200
    assert Rprop().begin(space, seed=0, max_evaluations=300).expected_evaluations == 300
    assert Rprop(iterations=50).begin(space, seed=0, max_evaluations=300).expected_evaluations == 50


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"initial_step": 3.0}, r"initial_step=3.0 of 'rprop' must be between 1e-08 and 2\."),
        ({"shortest": 0.0}, r"shortest=0.0 of 'rprop' must be above 0\."),
        ({"longest": 0.0}, r"longest=0.0 of 'rprop' must be finite and at least 1e-08\."),
        ({"shrink": 1.0}, r"shrink=1.0 of 'rprop' must be between 0 and 1\."),
        ({"grow": 1.0}, r"grow=1.0 of 'rprop' must be finite and above 1\."),
        ({"tolerance": 1e-9}, r"tolerance=1e-09 of 'rprop' must be above the shortest step, 1e-08\."),
        ({"iterations": 0}, r"iterations=0 of 'rprop' must be at least 1, or None\."),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        Rprop(**settings)


@pytest.mark.parametrize("gradient", [None, np.zeros(1), np.array([math.nan, 0.0])])
def test_a_value_without_a_gradient(gradient):
    run = Rprop().begin(Space(np.zeros(2), -np.ones(2), np.ones(2)), seed=0)
    run.ask()
    with pytest.raises(ValueError, match="gradient of a point with a value must be 2 finite numbers"):
        run.tell([Told(1.0, gradient)])

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris

from widemargin.strategies import SecondOrder, Space, Told
from widemargin.testing.strategies import StrategyContract, minimise


def test_contract():
    StrategyContract(SecondOrder(), n_dims=1).check()


def line(start=1.0, lower=1e-6, upper=1e9):
    return Space(np.log([start]), np.log([lower]), np.log([upper]))


def found(run, *functions):
    """Run parts that tell value and three derivatives with respect to p; return iterations of each."""
    taken = [0] * len(functions)

    def told(ask):
        taken[ask.part] += 1
        value, first, second, third = functions[ask.part](math.exp(ask.point[0]))
        return Told(value, np.array([first]), (second, third))

    minimise(run, told)
    return taken


def class_distances(X, y):
    """Return -d^2(p) of each class against all others, with three derivatives [Abe2007, eq. 7], naively."""
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2) / X.shape[1]

    def function(label):
        signs = np.where(y == label, 1 / np.sum(y == label), -1 / np.sum(y != label))
        weights = np.outer(signs, signs)
        return lambda p: tuple(-np.sum(weights * (-squared) ** order * np.exp(-p * squared)) for order in (0, 1, 2, 3))

    return [function(label) for label in np.unique(y)]


def iris(*, standardised):
    X, y = load_iris(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return (X / X.std(axis=0) if standardised else X), y


@pytest.mark.parametrize(("standardised", "expected"), [(False, 15.15), (True, 0.970)])
@pytest.mark.parametrize("start", [0.01, 1.0, 100.0])
def test_class_distances_of_iris(standardised, expected, start):
    functions = class_distances(*iris(standardised=standardised))
    run = SecondOrder(start=start).begin(line(), seed=0, n_parts=3)
    taken = found(run, *functions)
    assert max(taken) <= 10
    assert run.reason == "in all 3 parts the scale changes by less than 1e-05"
    exact = [
        math.exp(minimize_scalar(lambda t, f=f: f(math.exp(t))[0], bounds=(-3, 5), options={"xatol": 1e-9}).x)
        for f in functions
    ]
    assert math.exp(run.best[0]) == pytest.approx(np.mean(exact), rel=1e-4)
    assert math.exp(run.best[0]) == pytest.approx(expected, rel=5e-3)


def test_a_step_is_that_of_the_paper():
    [function, *_] = class_distances(*iris(standardised=False))
    for p in (11.0, 14.0):
        _, first, second, third = (-number for number in function(p))
        minus = (-second - math.sqrt(second**2 - 2 * first * third)) / third
        run = SecondOrder().begin(line(p), seed=0)
        run.ask()
        value, *derivatives = function(p)
        run.tell([Told(value, np.array(derivatives[:1]), tuple(derivatives[1:]))])
        assert math.exp(run.ask()[0].point[0]) == pytest.approx(p + minus)


def test_the_start_is_that_of_the_space_unless_given_and_stays_inside():
    assert math.exp(SecondOrder().begin(line(3.0), seed=0).ask()[0].point[0]) == pytest.approx(3.0)
    assert math.exp(SecondOrder(start=0.5).begin(line(3.0), seed=0).ask()[0].point[0]) == pytest.approx(0.5)
    assert math.exp(SecondOrder(start=9.0).begin(line(3.0, upper=4.0), seed=0).ask()[0].point[0]) == pytest.approx(4.0)


def levels_off(p):
    return -(1 - math.exp(-p)), -math.exp(-p), math.exp(-p), -math.exp(-p)


def falls(p):
    return -math.log(p), -1 / p, p**-2, -2 * p**-3


def rises(p):
    return math.log(p), 1 / p, -(p**-2), 2 * p**-3


def flat(p):
    return 1.0, 0.0, 0.0, 0.0


def peaked(at):
    """Return -x exp(-x), x = p / at, with three derivatives: least where p = at, and only zeros from 750 at on."""

    def function(p):
        x, decay = p / at, math.exp(-p / at)
        return -x * decay, (x - 1) * decay / at, (2 - x) * decay / at**2, (x - 3) * decay / at**3

    return function


LEVELS_OFF = "the objective levels off, or has no value, towards large scales"
NO_SLOPE = "no slope was found anywhere"


@pytest.mark.parametrize(
    ("function", "start", "ending", "most"),
    [
        (levels_off, 1e-3, LEVELS_OFF, 10),
        (levels_off, 1.0, LEVELS_OFF, 10),
        (levels_off, 1e3, LEVELS_OFF, 15),
        (falls, 1e-3, "the objective improves up to the bound, 1e+09", 30),
        (falls, 1.0, "the objective improves up to the bound, 1e+09", 20),
        (rises, 1e3, "the objective improves up to the bound, 1e-06", 10),
        (rises, 1.0, "the objective improves up to the bound, 1e-06", 10),
        (flat, 1.0, NO_SLOPE, 10),
    ],
)
def test_functions_without_a_peak(function, start, ending, most):
    run = SecondOrder(start=start).begin(line(), seed=0)
    [taken] = found(run, function)
    assert run.reason == f"there is no interior maximum: {ending}"
    assert taken <= most


def test_a_peak_between_a_slope_and_a_plateau_is_not_missed():
    run = SecondOrder(start=0.01, factor=1e6).begin(line(), seed=0)
    [taken] = found(run, peaked(3.0))
    assert run.reason == "the scale changes by less than 1e-05"
    assert math.exp(run.best[0]) == pytest.approx(3.0, rel=1e-5)
    assert taken <= 15


def test_a_start_on_the_plateau_comes_back():
    run = SecondOrder(start=1e6).begin(line(), seed=0)
    found(run, peaked(1.0))
    assert math.exp(run.best[0]) == pytest.approx(1.0, rel=1e-5)


def test_the_mean_is_arithmetic_and_over_parts_with_a_peak():
    run = SecondOrder().begin(line(), seed=0, n_parts=3)
    asks = run.ask()
    assert [ask.part for ask in asks] == [0, 1, 2]
    found(run, peaked(2.0), falls, peaked(20.0))
    assert math.exp(run.best[0]) == pytest.approx(11.0, rel=1e-5)
    assert run.reason == (
        "in 2 of 3 parts the scale changes by less than 1e-05; "
        "in 1 of 3 parts there is no interior maximum: the objective improves up to the bound, 1e+09"
    )
    run = SecondOrder().begin(line(upper=100.0), seed=0, n_parts=2)
    found(run, falls, falls)
    assert math.exp(run.best[0]) == pytest.approx(100.0)
    assert run.reason.startswith("in all 2 parts there is no interior maximum")


def test_parts_that_have_ended_are_not_asked_for_again():
    run = SecondOrder().begin(line(), seed=0, n_parts=2)
    taken = found(run, peaked(1e-4), peaked(1.0))
    assert taken[1] <= 2 < taken[0]


def test_a_budget_may_end_it_early():
    run = SecondOrder(iterations=2).begin(line(0.1), seed=0)
    assert found(run, peaked(1.0)) == [2]
    assert run.reason == "2 iterations were not enough"
    run = SecondOrder().begin(line(0.1), seed=0, n_parts=2, max_evaluations=5)
    assert found(run, peaked(1.0), peaked(1.0)) == [2, 2]
    assert run.reason == "4 of the 5 evaluations allowed are spent, and the next step takes 2"


def test_more_than_one_parameter_is_refused():
    space = Space(np.zeros(2), -np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="strategy='newton' searches along one parameter; the space has 2"):
        SecondOrder().begin(space, seed=0)


@pytest.mark.parametrize(
    "told", [Told(1.0), Told(1.0, np.ones(1)), Told(1.0, np.ones(1), (1.0, math.nan)), Told(1.0, None, (1.0, 1.0))]
)
def test_missing_derivatives(told):
    run = SecondOrder().begin(line(), seed=0)
    run.ask()
    with pytest.raises(ValueError, match="gradient and higher of a point with a value must be three finite"):
        run.tell([told])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": 0.0}, r"start=0.0 of 'newton' must be finite and above 0, or None\."),
        ({"factor": 1.5}, r"factor=1.5 of 'newton' must be finite and at least 2\."),
        ({"tolerance": 0.0}, r"tolerance=0.0 of 'newton' must be between 0 and 1\."),
        ({"iterations": 0}, r"iterations=0 of 'newton' must be at least 1\."),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        SecondOrder(**settings)

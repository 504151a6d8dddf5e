from __future__ import annotations

import gc
import math
import threading
import time

import numpy as np
import pytest
from scipy.optimize import minimize

from widemargin.strategies import LBFGSB, Space, Told
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


@pytest.mark.parametrize("n_dims", [1, 2, 9])
def test_contract(n_dims):
    StrategyContract(LBFGSB(), n_dims=n_dims).check()


@pytest.fixture(autouse=True)
def no_thread_is_left_over():
    yield
    gc.collect()
    deadline = time.monotonic() + 10
    while waiting():
        assert time.monotonic() < deadline, "a thread is left over"
        time.sleep(0.01)


def waiting():
    return [thread for thread in threading.enumerate() if thread.name == "l-bfgs-b"]


def rosenbrock(x):
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    return a**2 + 100 * b**2, np.array([-2 * a - 400 * b * x[0], 200 * b])


def box(start=(-1.2, 1.0), edge=2.0):
    return Space(np.array(start), np.full(len(start), -edge), np.full(len(start), edge))


def test_it_asks_for_what_scipy_asks_for():
    seen = []

    def recorded(x):
        seen.append(x.copy())
        return rosenbrock(x)

    options = {"gtol": 1e-5, "ftol": 1e-9, "maxcor": 10}
    expected = minimize(recorded, [-1.2, 1.0], jac=True, method="L-BFGS-B", bounds=[(-2, 2)] * 2, options=options)
    run = LBFGSB().begin(box(), seed=0)
    asked = [asks[0].point for asks, _ in minimise(run, lambda ask: Told(*rosenbrock(ask.point)))]
    np.testing.assert_array_equal(asked, seen)
    assert run.best == pytest.approx(expected.x, abs=1e-6)
    assert run.best == pytest.approx([1.0, 1.0], abs=1e-3)


def test_it_ends_with_a_reason_in_words():
    run = LBFGSB(value_tolerance=0.0).begin(box(), seed=0)
    minimise(run, Bowl(np.ones(2), np.ones(2)))
    assert run.reason == "the slope is at most 1e-05"
    run = LBFGSB(value_tolerance=1e-2, tolerance=0.0).begin(box(), seed=0)
    minimise(run, lambda ask: Told(*rosenbrock(ask.point)))
    assert run.reason == "the value changes by less than 0.01, relative to it"
    run = LBFGSB().begin(box(), seed=0)
    minimise(run, lambda ask: Told(float(ask.point @ ask.point), -2 * ask.point))
    assert run.reason.startswith("the line search found nothing better")
    run = LBFGSB().begin(box(), seed=0, max_evaluations=5)
    assert len(minimise(run, lambda ask: Told(*rosenbrock(ask.point)))) == 5
    assert run.reason == "the 5 evaluations allowed are spent"


def test_points_without_a_value_end_it():
    run = LBFGSB().begin(box(), seed=0)
    minimise(run, lambda ask: Told(math.nan))
    assert run.reason == "there is no value at the start"
    run = LBFGSB().begin(box((2.0, 2.0), 9.0), seed=0)
    minimise(run, Bowl(np.zeros(2), np.ones(2), missing=lambda point: bool((point < 1).all())))
    assert run.reason == "a step led where there is no value"
    assert (run.best >= 1).all()


def test_a_run_that_ends_leaves_no_thread():
    run = LBFGSB().begin(box(), seed=0)
    assert not waiting()
    run.ask()
    assert len(waiting()) == 1
    minimise(run, Bowl(np.ones(2), np.ones(2)))
    assert not waiting()


@pytest.mark.parametrize("answered", [False, True])
def test_a_run_that_nobody_holds_any_more_leaves_no_thread(answered):
    run = LBFGSB().begin(box(), seed=0)
    asks = run.ask()
    if answered:
        run.tell([Told(*rosenbrock(asks[0].point))])
        run.ask()
    assert len(waiting()) == 1
    del run
    # The fixture waits for the thread.


def test_an_answer_that_is_none_ends_the_run():
    run = LBFGSB().begin(box(), seed=0)
    run.ask()
    with pytest.raises(ValueError, match="gradient of a point with a value must be 2 finite numbers"):
        run.tell([Told(1.0)])
    assert not run.ask()
    assert run.reason == "an answer could not be used"


def test_failures_of_the_thread_arrive(monkeypatch):
    def broken(*_, **__):
        raise FloatingPointError("broken")

    monkeypatch.setattr("scipy.optimize.minimize", broken)
    run = LBFGSB().begin(box(), seed=0)
    with pytest.raises(FloatingPointError, match="broken"):
        run.ask()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": -1.0}, r"tolerance=-1.0 of 'l-bfgs-b' must be at least 0\."),
        ({"value_tolerance": -1.0}, r"value_tolerance=-1.0 of 'l-bfgs-b' must be at least 0\."),
        ({"memory": 0}, r"memory=0 of 'l-bfgs-b' must be at least 1\."),
        ({"evaluations": 0}, r"evaluations=0 of 'l-bfgs-b' must be at least 1, or None\."),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        LBFGSB(**settings)

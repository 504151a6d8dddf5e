"""One value says when work ends: handed down, narrowed, sent to other processes, asked for its reason."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import replace

import pytest

from widemargin.machines.dual import StopRule
from widemargin.runtime import INTERRUPTED, STOPPED, TIME_IS_UP, Stop, StoppedError


def test_without_limits_nothing_ends() -> None:
    stop = Stop()
    stop.check()
    assert stop.reason is None
    assert not stop.late
    assert stop.seconds_left() is None
    assert stop.within(None) is stop
    assert stop.after(10) is stop


def test_time_that_is_up() -> None:
    stop = Stop().within(-2.0)
    assert stop.late
    assert stop.reason == TIME_IS_UP
    left = stop.seconds_left()
    assert left is not None
    assert -3.0 < left <= -2.0
    with pytest.raises(StoppedError, match="time is up"):
        stop.check()


def test_the_first_reason_counts_and_all_parts_hear_it() -> None:
    stop = Stop().within(60.0)
    part = stop.within(1.0).after(3)
    threading.Thread(target=stop.request, args=(INTERRUPTED,)).start()
    while not part.signal.requested:
        time.sleep(0.001)
    part.request(STOPPED)
    assert stop.reason == part.reason == INTERRUPTED
    with pytest.raises(TimeoutError, match="interrupted"):
        part.check()


def test_parts_end_no_later_than_the_whole() -> None:
    whole = Stop(max_iterations=7).within(10.0)
    assert whole.within(60.0).deadline == whole.deadline
    sooner = whole.within(1.0)
    assert sooner.deadline is not None
    assert whole.deadline is not None
    assert sooner.deadline < whole.deadline - 8.0
    assert whole.after(5).max_iterations == 2
    assert whole.after(9).max_iterations == 0


def test_the_clock_of_a_rule_goes_on_when_its_tolerance_changes() -> None:
    rule = StopRule(1e-3, max_iterations=8, grace_seconds=0.5).within(5.0)
    other = replace(rule, tolerance=1e-6)
    assert (other.deadline, other.signal, other.grace_seconds) == (rule.deadline, rule.signal, 0.5)
    assert other.after(3) == replace(other, max_iterations=5)
    assert rule.within(1.0).deadline != rule.deadline


def test_moments_travel_between_processes_and_requests_do_not() -> None:
    rule = StopRule(1e-5, max_iterations=9, grace_seconds=0.25).within(5.0)
    rule.request()
    arrived = pickle.loads(pickle.dumps(rule))
    assert isinstance(arrived, StopRule)
    assert (arrived.tolerance, arrived.max_iterations, arrived.grace_seconds) == (1e-5, 9, 0.25)
    assert arrived.deadline == pytest.approx(rule.deadline, abs=0.5)
    assert arrived.reason is None
    assert pickle.loads(pickle.dumps(Stop())).deadline is None


def test_compiled_code_hears_of_it() -> None:
    stop = Stop()
    assert stop.limits() == {"max_seconds": 1e10, "signal": stop.signal.core}
    assert not stop.signal.core.requested
    stop.request()
    assert stop.signal.core.requested

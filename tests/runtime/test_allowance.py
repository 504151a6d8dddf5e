"""What is allowed is known within, to the thread that said so, and only there, whatever ends it."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import pytest

from widemargin.runtime import Allowance, Stop, allowed, as_allowed_here


def test_it_holds_within_and_a_stop_holds_until_there_is_another() -> None:
    stop = Stop().within(60.0)

    def within() -> None:
        assert allowed()["n_threads"] == 3
        assert allowed()["signal"] is stop.signal.core
        assert 0.0 < allowed()["max_seconds"] <= 60.0
        inner = Allowance(2).run(allowed)
        assert inner["n_threads"] == 2
        assert inner["signal"] is stop.signal.core
        assert Allowance(2, Stop()).run(allowed)["max_seconds"] > 1e9
        assert allowed()["n_threads"] == 3

    assert allowed()["n_threads"] == 1
    Allowance(3, stop).run(within)
    assert allowed()["n_threads"] == 1


def test_an_error_leaves_what_the_caller_has_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError):
        Allowance(3, Stop()).run(divmod, 1, 0)
    assert allowed()["n_threads"] == 1


def test_ctrl_c_at_any_instruction_leaves_what_the_caller_has_as_it_was() -> None:
    own, stop, at, done = Allowance(3, Stop()), Stop(), 0, 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal done
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_code.co_filename.endswith("allowance.py"):
            done += 1
            if done == at:
                raise KeyboardInterrupt
        return trace

    def interrupted() -> None:
        nonlocal at, done
        before = allowed()["signal"], allowed()["n_threads"]
        finished = False
        while not finished:
            at, done, usual = at + 1, 0, sys.gettrace()
            sys.settrace(trace)
            try:
                own.run(len, ())
                finished = True
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(usual)
            assert (allowed()["signal"], allowed()["n_threads"]) == before

    Allowance(2, stop).run(interrupted)
    assert at > 10


def test_other_threads_have_their_own() -> None:
    found: list[int] = []

    def within() -> None:
        other = threading.Thread(target=lambda: found.append(allowed()["n_threads"]))
        other.start()
        other.join()

    Allowance(3).run(within)
    assert found == [1]


def test_a_function_takes_along_what_was_allowed_where_it_was_made() -> None:
    stop, found = Stop(), list[dict[str, Any]]()
    kept = Allowance(3, stop).run(as_allowed_here, allowed)
    other = threading.Thread(target=lambda: found.append(kept()))
    other.start()
    other.join()
    assert found[0]["n_threads"] == 3
    assert Allowance(2, Stop()).run(kept)["signal"] is stop.signal.core
    assert Allowance(2).run(as_allowed_here(allowed))["n_threads"] == 2

"""What is allowed is known within, to the thread that said so, and only there."""

from __future__ import annotations

import threading

from widemargin.runtime import Stop, allowance, allowing


def test_it_holds_within_and_a_stop_holds_until_there_is_another() -> None:
    stop = Stop().within(60.0)
    assert allowance()["n_threads"] == 1
    with allowing(3, stop):
        assert allowance()["n_threads"] == 3
        assert allowance()["signal"] is stop.signal.core
        assert 0.0 < allowance()["max_seconds"] <= 60.0
        with allowing(2):
            assert allowance()["n_threads"] == 2
            assert allowance()["signal"] is stop.signal.core
        with allowing(2, Stop()):
            assert allowance()["max_seconds"] > 1e9
        assert allowance()["n_threads"] == 3
    assert allowance()["n_threads"] == 1


def test_other_threads_have_their_own() -> None:
    found: list[int] = []
    with allowing(3):
        other = threading.Thread(target=lambda: found.append(allowance()["n_threads"]))
        other.start()
        other.join()
    assert found == [1]

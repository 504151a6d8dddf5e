"""A first Ctrl-C waits, a second one does not, and afterwards everything is as it was."""

from __future__ import annotations

import signal
import threading

import pytest

from widemargin.runtime.interrupts import HeldBack, interrupt_held_back


def test_a_first_interruption_waits() -> None:
    usual, done = signal.getsignal(signal.SIGINT), False
    with interrupt_held_back() as held:
        assert not held.asked
        signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    assert held.asked
    assert signal.getsignal(signal.SIGINT) is usual
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_second_one_does_not() -> None:
    usual, reached = signal.getsignal(signal.SIGINT), []

    def interrupted() -> None:
        with interrupt_held_back():
            for number in range(3):
                signal.raise_signal(signal.SIGINT)
                reached.append(number)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == [0]
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_error_goes_on() -> None:
    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="wrong"), interrupt_held_back():
        raise ValueError("wrong")
    assert signal.getsignal(signal.SIGINT) is usual


def test_who_ignores_interruptions_goes_on_doing_so() -> None:
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt_held_back() as held:
            signal.raise_signal(signal.SIGINT)
        assert not held.asked
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads() -> None:
    found: list[HeldBack] = []

    def work() -> None:
        with interrupt_held_back() as held:
            found.append(held)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [held.asked for held in found] == [False]

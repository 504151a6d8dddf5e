"""Evaluations on their way between processes."""

from __future__ import annotations

import math
import threading
import time
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from widemargin.model_selection.grid.workers.reports import Address, Reporter, Reports
from widemargin.runtime import Work
from widemargin.study.findings import Finding

#: Of a candidate.
SPLITS = 5


def evaluation(candidate: int, split: int = 0, score: Any = 0.5, cost: float = 1.0) -> Finding:
    return Finding(candidate * SPLITS + split, score, Work(trained=1, seconds=cost))


def test_what_was_sent_has_arrived_in_the_end() -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        workers = [Reporter.to(reports.address) for _ in range(5)]
        for number in range(200):
            for k, worker in enumerate(workers):
                worker(evaluation(number, k, {"accuracy": 0.1 * number, "loss": math.inf}))
    assert len(found) == 1000
    for k in range(5):
        own = [one for one in found if one.number % SPLITS == k]
        assert [one.number // SPLITS for one in own] == list(range(200))
        assert own[7].value == {"accuracy": 0.1 * 7, "loss": math.inf}


def test_several_threads_share_a_reporter() -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        threads = [
            threading.Thread(target=lambda k=k: [worker(evaluation(number, k)) for number in range(100)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({one.number for one in found}) == len(found) == 400


def test_a_search_that_cannot_be_reached(tmp_path: Path) -> None:
    assert Reporter.to(Address(str(tmp_path / "elsewhere"), b"key")) is None
    with Reports(pytest.fail) as reports:
        assert Reporter.to(Address(reports.address.place, b"another key")) is None
        assert Reporter.to(reports.address) is not None
    assert not Path(reports.address.place).exists()
    assert Reporter.to(reports.address) is None


def test_a_search_that_is_over_is_no_error() -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0))
    for number in range(5):
        worker(evaluation(number))
    assert len(found) == 1


def test_scores_that_json_has_no_words_for_come_with_their_chain() -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0, score=1j))
        worker(evaluation(1))
    assert [one.number // SPLITS for one in found] == [1]


@pytest.mark.parametrize("message", [b"nonsense", b"[1]\n", b'{"of": "another version"}\n'])
def test_a_worker_that_talks_nonsense_is_not_listened_to(message: bytes) -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        other = Reporter.to(reports.address)
        stranger = Client(reports.address.place, authkey=reports.address.key)
        stranger.send_bytes(message)
        with pytest.raises((EOFError, OSError)):  # which is what it is told
            stranger.recv_bytes()
        stranger.close()
        other(evaluation(3))
    assert [one.number // SPLITS for one in found] == [3]


def test_ends_while_workers_knock() -> None:
    for _ in range(20):
        with Reports(lambda one: None) as reports:
            threads = [threading.Thread(target=Reporter.to, args=(reports.address,)) for _ in range(8)]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(10.0)
            assert not thread.is_alive()


def test_a_worker_in_the_middle_of_a_word_does_not_hold_up_the_end() -> None:
    found: list[Finding] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0))
        stranger = Client(reports.address.place, authkey=reports.address.key)
        stranger._send((1000).to_bytes(4, "big") + b"half of it")
        began = time.monotonic()
    assert time.monotonic() - began < 10.0
    assert [one.number // SPLITS for one in found] == [0]
    stranger.close()

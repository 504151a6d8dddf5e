"""Evaluations on their way between processes, and what becomes of them."""

from __future__ import annotations

import math
import threading
import time
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from widemargin.model_selection.grid.findings import Findings, Standing
from widemargin.model_selection.grid.setup import Evaluation
from widemargin.model_selection.grid.workers.reports import Address, Reporter, Reports
from widemargin.study import Journal, JournalError, SilentProgress


def evaluation(candidate: int, split: int = 0, score: Any = 0.5, cost: float = 1.0) -> Evaluation:
    return Evaluation(candidate, split, score, None, 10, cost, 0.0)


# Between processes.


def test_what_was_sent_has_arrived_in_the_end() -> None:
    found: list[Evaluation] = []
    with Reports(found.append) as reports:
        workers = [Reporter.to(reports.address) for _ in range(5)]
        for number in range(200):
            for k, worker in enumerate(workers):
                worker(evaluation(number, k, {"accuracy": 0.1 * number, "loss": math.inf}))
    assert len(found) == 1000
    for k in range(5):
        own = [one for one in found if one.split == k]
        assert [one.candidate for one in own] == list(range(200))
        assert own[7].test_scores == {"accuracy": 0.1 * 7, "loss": math.inf}


def test_several_threads_share_a_reporter() -> None:
    found: list[Evaluation] = []
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
    assert len({(one.candidate, one.split) for one in found}) == len(found) == 400


def test_a_search_that_cannot_be_reached(tmp_path: Path) -> None:
    assert Reporter.to(Address(str(tmp_path / "elsewhere"), b"key")) is None
    with Reports(pytest.fail) as reports:
        assert Reporter.to(Address(reports.address.place, b"another key")) is None
        assert Reporter.to(reports.address) is not None
    assert not Path(reports.address.place).exists()
    assert Reporter.to(reports.address) is None


def test_a_search_that_is_over_is_no_error() -> None:
    found: list[Evaluation] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0))
    for number in range(5):
        worker(evaluation(number))
    assert len(found) == 1


def test_scores_that_json_has_no_words_for_come_with_their_chain() -> None:
    found: list[Evaluation] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0, score=1j))
        worker(evaluation(1))
    assert [one.candidate for one in found] == [1]


@pytest.mark.parametrize("message", [b"nonsense", b"[1]\n", b'{"of": "another version"}\n'])
def test_a_worker_that_talks_nonsense_is_not_listened_to(message: bytes) -> None:
    found: list[Evaluation] = []
    with Reports(found.append) as reports:
        other = Reporter.to(reports.address)
        stranger = Client(reports.address.place, authkey=reports.address.key)
        stranger.send_bytes(message)
        with pytest.raises((EOFError, OSError)):  # which is what it is told
            stranger.recv_bytes()
        stranger.close()
        other(evaluation(3))
    assert [one.candidate for one in found] == [3]


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
    found: list[Evaluation] = []
    with Reports(found.append) as reports:
        worker = Reporter.to(reports.address)
        worker(evaluation(0))
        stranger = Client(reports.address.place, authkey=reports.address.key)
        stranger._send((1000).to_bytes(4, "big") + b"half of it")
        began = time.monotonic()
    assert time.monotonic() - began < 10.0
    assert [one.candidate for one in found] == [0]
    stranger.close()


# What becomes of them.


class Recorder:
    """Writes down how a search goes."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float, float | None, float | None]] = []

    def start(self, machines: int) -> None: ...
    def finish(self, reason: str) -> None: ...

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        self.calls.append((machines, cost, expected_cost_left, best_score))


def findings(journal: Journal | None = None, told: Any = None, progress: Any = None, stop: Any = None) -> Findings:
    return Findings(Standing(3, 2), journal, progress or SilentProgress(), told, stop or (lambda: None))


def test_what_comes_twice_counts_once(tmp_path: Path) -> None:
    told, shown = [], Recorder()
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        with findings(journal, lambda one: told.append(one), shown) as found:
            found.know([evaluation(0)])
            for _ in range(3):
                for candidate in range(3):
                    found.take(evaluation(candidate))
        assert [record["candidate"] for record in journal.records] == [1, 2]
    assert [one.candidate for one in told] == [0, 1, 2]
    assert sorted(found.found) == [(0, 0), (1, 0), (2, 0)]
    assert [machines for machines, *_ in shown.calls] == [1, 1, 1]


def test_costs_that_are_expected_and_the_best_score() -> None:
    shown = Recorder()
    with findings(progress=shown) as found:
        found.take(evaluation(0, 0, score=0.5, cost=2.0))
        found.take(evaluation(0, 1, score=0.7, cost=4.0))
        found.take(evaluation(1, 0, score=0.9, cost=1.0))
        found.take(evaluation(1, 1, score=math.nan, cost=1.0))
        found.take(evaluation(2, 0, score=0.8, cost=5.0))
        found.take(evaluation(2, 1, score=0.8, cost=5.0))
    # Three left of candidates nobody knows; then two; one of a known candidate and two others at (3 + 1) / 2; two; one.
    assert [expected for _, _, expected, _ in shown.calls] == [10.0, 12.0, 1.0 + 2 * 2.0, 2 * 2.0, 5.0, 0.0]
    assert [best for *_, best in shown.calls] == pytest.approx([None, 0.6, 0.6, 0.6, 0.6, 0.8])


def test_an_end_that_was_asked_for() -> None:
    stopped: list[bool] = []
    with findings(told=lambda one: one.candidate == 1, stop=lambda: stopped.append(True)) as found:
        found.take(evaluation(0))
        assert not found.stopped
        found.take(evaluation(1))
        assert found.stopped
        assert stopped == [True]


@pytest.mark.parametrize("when", ["check", "end"])
def test_errors_are_raised_where_the_search_is(when: str) -> None:
    def told(one: Evaluation) -> bool:
        raise LookupError("not there")

    stopped: list[bool] = []
    found = findings(told=told, stop=lambda: stopped.append(True))
    thread = threading.Thread(target=found.take, args=(evaluation(0),))
    thread.start()
    thread.join()
    assert stopped == [True]
    with pytest.raises(LookupError, match="not there"):
        found.check() if when == "check" else found.__exit__(None, None, None)
    found.check()  # it was told


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError()], ids=["interruption", "another error"])
def test_an_error_of_the_journal_outweighs_an_interruption(error: BaseException, tmp_path: Path) -> None:
    def search(journal: Journal) -> None:
        with findings(journal) as found:
            found.take(evaluation(0))
            raise error

    with Journal(tmp_path / "study.jsonl", {}) as journal:
        (tmp_path / "study.jsonl").unlink()
        with pytest.raises((JournalError, ZeroDivisionError)) as raised:
            search(journal)
    assert isinstance(raised.value, JournalError if isinstance(error, KeyboardInterrupt) else ZeroDivisionError)


def test_what_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        with findings(journal) as found:
            found.take(evaluation(0))
        found.take(evaluation(1))
        assert list(found.found) == [(0, 0)]
        assert len(journal.records) == 1


def test_who_waits_for_single_evaluations(tmp_path: Path) -> None:
    assert not findings().awaited
    assert findings(progress=Recorder()).awaited
    assert findings(told=lambda one: False).awaited
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        assert findings(journal).awaited

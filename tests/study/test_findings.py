"""Findings of a search: what counts, what is written, what is shown, and what goes wrong with them."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin.runtime import FAILED, STOPPED, Stop, Work
from widemargin.study import Journal, JournalError
from widemargin.study.findings import Finding, Findings, Standing, as_record, from_record


def evaluation(candidate: int, split: int = 0, score: Any = 0.5, cost: float = 1.0) -> Finding:
    return Finding(candidate * 2 + split, score, Work(trained=1, seconds=cost))


class Recorder:
    """Writes down how a search goes."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float, float | None, float | None]] = []

    def start(self, machines: int) -> None: ...
    def finish(self, reason: str) -> None: ...

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        self.calls.append((machines, cost, expected_cost_left, best_score))


def findings(journal: Journal | None = None, told: Any = None, progress: Any = None, stop: Any = None) -> Findings:
    return Findings(Standing(6, 2), journal, stop or Stop(), limit=6, progress=progress, told=told)


def test_what_comes_twice_counts_once(tmp_path: Path) -> None:
    told, shown = [], Recorder()
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        with findings(journal, lambda one: told.append(one), shown) as found:
            found.know([evaluation(0)])
            for _ in range(3):
                for candidate in range(3):
                    found.take(evaluation(candidate))
        assert [record["evaluation"] for record in journal.records] == [2, 4]
    assert [one.number for one in told] == [0, 2, 4]
    assert sorted(found.found) == [0, 2, 4]
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
    stop = Stop()
    with findings(told=lambda one: one.number == 2, stop=stop) as found:
        found.take(evaluation(0))
        assert stop.reason is None
        found.take(evaluation(1))
        assert stop.reason == STOPPED


@pytest.mark.parametrize("when", ["check", "end"])
def test_errors_are_raised_where_the_search_is(when: str) -> None:
    def told(one: Finding) -> bool:
        raise LookupError("not there")

    stop = Stop()
    found = findings(told=told, stop=stop)
    thread = threading.Thread(target=found.take, args=(evaluation(0),))
    thread.start()
    thread.join()
    assert stop.reason == FAILED
    with pytest.raises(LookupError, match="not there"):
        found.check() if when == "check" else found.__exit__(None, None, None)
    found.check()  # it was told


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError], ids=["interruption", "another error"])
def test_an_error_of_the_journal_outweighs_an_interruption(error: type[BaseException], tmp_path: Path) -> None:
    def search(journal: Journal) -> None:
        with findings(journal) as found:
            found.take(evaluation(0))
            raise error

    with Journal(tmp_path / "study.jsonl", {}) as journal:
        (tmp_path / "study.jsonl").unlink()
        with pytest.raises((JournalError, ZeroDivisionError)) as raised:
            search(journal)
    assert isinstance(raised.value, JournalError if error is KeyboardInterrupt else ZeroDivisionError)


def test_what_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        with findings(journal) as found:
            found.take(evaluation(0))
        found.take(evaluation(1))
        assert list(found.found) == [0]
        assert len(journal.records) == 1


def test_who_waits_for_single_evaluations(tmp_path: Path) -> None:
    assert not findings().awaited
    assert findings(progress=Recorder()).awaited
    assert findings(told=lambda one: False).awaited
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        assert findings(journal).awaited


def test_records_read_back_exactly() -> None:
    plain = Finding(3, {"accuracy": math.nan}, Work(), error=None)
    assert as_record(plain).keys() == {"evaluation", "value", "work"}
    full = Finding(
        4,
        0.1 + 0.2,
        Work(trained=2, iterations=7, seconds=0.5),
        ("a note",),
        point=np.array([0.1, 0.2]),
        part=0,
        gradient=np.array([1.0, -1.0]),
        higher=(1.0, 2.0),
        chosen=True,
    )
    again = from_record(as_record(full))
    for one, other in zip(again, full, strict=True):
        np.testing.assert_array_equal(one, other)
    assert as_record(again) == as_record(full)


def test_findings_that_come_fast_are_written_together(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, {}) as journal:
        header = path.read_bytes().count(b"\n")
        with Findings(Standing(None), journal, Stop(), n_dims=1, pause=60.0) as found:
            for number in range(5):
                found.take(Finding(number, 0.5, Work(), point=np.zeros(1)))
            assert len(found.found) == 5
            assert path.read_bytes().count(b"\n") == header
        assert path.read_bytes().count(b"\n") == header + 5
    with Journal(path, {}) as journal, Findings(Standing(None), journal, Stop(), n_dims=1, pause=60.0) as found:
        assert sorted(found.known) == list(range(5))
        found.take(found.known[3])
        assert list(found.found) == [3]
    assert path.read_bytes().count(b"\n") == header + 5

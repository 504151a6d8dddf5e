"""The one runner: batches until there are none, and every way in which a search may end before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from widemargin.runtime import FAILED, FINISHED, INTERRUPTED, STOPPED, TIME_IS_UP, Stop, StoppedError, Work
from widemargin.study import Journal, SilentProgress
from widemargin.study.findings import Finding, Findings, Standing
from widemargin.study.runner import run


class Counting:
    """Proposes two numbers at a time; `happens` is called with each of them."""

    expected = 6
    reason = "all are counted"

    def __init__(self, happens: Any = None, missing: bool = False) -> None:
        self._happens, self._next, self.closed = happens, 0, 0
        self.unfinished = TIME_IS_UP if missing else None
        self.evaluated: list[int] = []

    def propose(self) -> list[int]:
        batch = list(range(self._next, min(self.expected, self._next + 2)))
        self._next += len(batch)
        return batch

    def evaluate(self, batch: list[int], findings: Findings) -> None:
        for number in batch:
            if number in findings.taken:
                continue
            self.evaluated.append(number)
            if self._happens is not None:
                self._happens(number)
            findings.take(Finding(number, 0.5, Work(trained=1)))

    def close(self) -> None:
        self.closed += 1


class Ends(SilentProgress):
    """Keeps how a search ended."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, machines: int | None) -> None:
        self.told.append(machines)

    def finish(self, reason: str) -> None:
        self.told.append(reason)


def raising(error: type[BaseException]) -> Any:
    def happens(number: int) -> None:
        if number == 3:
            raise error

    return happens


def ran(proposer: Counting, stop: Stop | None = None, told: Any = None) -> tuple[Any, Findings, Ends]:
    stop, shown = stop or Stop(), Ends()
    findings = Findings(Standing(6), None, stop, limit=6, told=told)
    return run(proposer, findings, stop, shown), findings, shown


def test_to_the_end() -> None:
    proposer = Counting()
    ended, findings, shown = ran(proposer)
    assert ended == ("all are counted", False)
    assert sorted(findings.found) == list(range(6))
    assert shown.told == [6, FINISHED]
    assert proposer.closed == 1


def test_what_is_missing_in_the_end_is_a_reason() -> None:
    assert ran(Counting(missing=True))[0] == (TIME_IS_UP, True)


@pytest.mark.parametrize(
    ("error", "why"), [(KeyboardInterrupt, INTERRUPTED), (StoppedError, TIME_IS_UP)], ids=["Ctrl-C", "time"]
)
def test_ends_before_its_time_keep_what_is_found(error: type[BaseException], why: str) -> None:
    proposer, stop = Counting(raising(error)), Stop()
    ended, findings, shown = ran(proposer, stop)
    assert ended == (why, True)
    assert sorted(findings.found) == [0, 1, 2]
    assert shown.told == [6, why]
    assert stop.reason == why
    assert proposer.closed == 1


def test_whoever_is_told_may_end_it() -> None:
    ended, findings, shown = ran(Counting(), told=lambda one: one.number == 1)
    assert ended == (STOPPED, True)
    assert sorted(findings.found) == [0, 1]
    assert shown.told == [6, STOPPED]


def test_an_error_comes_through_and_is_shown() -> None:
    proposer, stop, shown = Counting(raising(ZeroDivisionError)), Stop(), Ends()
    with pytest.raises(ZeroDivisionError):
        run(proposer, Findings(Standing(6), None, stop, limit=6), stop, shown)
    assert shown.told == [6, FAILED]
    assert proposer.closed == 1


def test_it_goes_on_where_a_journal_ends(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    for _ in range(2):
        with Journal(path, {}) as journal:
            stop = Stop()
            proposer = Counting(raising(KeyboardInterrupt) if not journal.records else None)
            findings = Findings(Standing(6), journal, stop, limit=6)
            ended, _ = run(proposer, findings, stop, SilentProgress(), findings.known.values())
    assert ended == "all are counted"
    assert proposer.evaluated == [3, 4, 5]
    assert sorted(findings.found) == list(range(6))

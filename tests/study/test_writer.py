"""Journals that are written beside the search."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from widemargin.study import Journal, JournalError, JournalWriter


class SlowJournal:
    """A journal whose disk works when it is let, and fails if it is told to."""

    def __init__(self) -> None:
        self.disk = threading.Semaphore(0)
        self.writes: list[list[Any]] = []
        self.error: Exception | None = None

    def extend(self, records: Iterator[Any]) -> None:
        batch = list(records)
        self.disk.acquire()
        if self.error is not None:
            raise self.error
        self.writes.append(batch)


def wait_for(condition: Any) -> None:
    ended = time.monotonic() + 10.0
    while not condition() and time.monotonic() < ended:
        time.sleep(0.001)
    assert condition()


def put_from_threads(writer: JournalWriter, numbers: Iterable[int]) -> list[threading.Thread]:
    """Put records, each from a thread of its own, in this order."""
    threads = []
    for number in numbers:
        brought = writer._brought
        threads.append(threading.Thread(target=writer.put, args=({"number": number},)))
        threads[-1].start()
        wait_for(lambda brought=brought: writer._brought > brought)
    return threads


def test_records_that_come_while_the_disk_is_busy_are_one_write() -> None:
    journal, errors, written = SlowJournal(), [], []
    writer = JournalWriter(journal, written.extend, errors.append)
    threads = put_from_threads(writer, range(50))
    assert written == []
    journal.disk.release(2)
    for thread in threads:
        thread.join(10.0)
    assert [len(batch) for batch in journal.writes] == [1, 49]
    assert [one["number"] for batch in journal.writes for one in batch] == list(range(50))
    assert written == [one for batch in journal.writes for one in batch]
    assert not errors


def test_who_puts_a_record_waits_for_the_disk() -> None:
    journal = SlowJournal()
    writer = JournalWriter(journal, lambda records: None, pytest.fail)
    threads = put_from_threads(writer, range(3))
    journal.disk.release()
    threads[0].join(10.0)
    wait_for(lambda: len(journal.writes) == 1)
    threads[1].join(0.05)
    assert [thread.is_alive() for thread in threads] == [False, True, True]
    journal.disk.release()
    for thread in threads:
        thread.join(10.0)
    assert [len(batch) for batch in journal.writes] == [1, 2]


def test_records_of_many_threads(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        writer = JournalWriter(journal, lambda records: None, pytest.fail)
        threads = [
            threading.Thread(target=lambda k=k: [writer.put({"thread": k, "number": i}) for i in range(100)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        for k in range(4):
            assert [one["number"] for one in journal.records if one["thread"] == k] == list(range(100))


def test_an_error_is_told_once_and_ends_the_writing() -> None:
    journal, errors = SlowJournal(), []
    journal.error = OSError(errno.ENOSPC, "No space left on device")
    journal.disk.release(10)
    writer = JournalWriter(journal, lambda records: None, errors.append)
    writer.put({"number": 0})
    writer.put({"number": 1})
    assert errors == [journal.error]
    assert journal.writes == []


def test_an_error_keeps_what_was_written(tmp_path: Path) -> None:
    path, errors = tmp_path / "study.jsonl", []
    with Journal(path, {}) as journal:
        writer = JournalWriter(journal, lambda records: None, errors.append)
        writer.put({"number": 0})
        path.unlink()
        writer.put({"number": 1})
        assert journal.records == [{"number": 0}]
    (error,) = errors
    assert isinstance(error, JournalError)
    assert "deleted" in str(error)


def test_a_journal_closes_behind_a_write_that_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The number of a file that is closed may be another file's in a moment.
    path, at_work, disk = tmp_path / "study.jsonl", threading.Event(), threading.Event()
    opened = Journal(path, {})
    sync = os.fsync

    def slow(descriptor: int) -> None:
        at_work.set()
        assert disk.wait(10.0)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    writer = JournalWriter(opened, lambda records: None, pytest.fail)
    (putting,) = put_from_threads(writer, [0])
    assert at_work.wait(10.0)
    closing = threading.Thread(target=opened.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    disk.set()
    closing.join(10.0)
    putting.join(10.0)
    with Journal(path, {}) as again:
        assert again.records == [{"number": 0}]

"""Journals that are written beside the search."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
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


def test_records_that_come_while_the_disk_is_busy_are_one_write() -> None:
    journal, errors = SlowJournal(), []
    writer = JournalWriter(journal, errors.append)
    writer.put({"number": 0})
    wait_for(writer._records.empty)
    for number in range(1, 50):
        writer.put({"number": number})  # nobody waits here
    journal.disk.release()
    wait_for(lambda: len(journal.writes) == 1)
    journal.disk.release(2)
    writer.close()
    assert [len(batch) for batch in journal.writes if batch] == [1, 49]
    assert [one["number"] for batch in journal.writes for one in batch] == list(range(50))
    assert not errors


def test_closing_waits_for_the_disk(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        writer = JournalWriter(journal, pytest.fail)
        threads = [
            threading.Thread(target=lambda k=k: [writer.put({"thread": k, "number": i}) for i in range(100)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        writer.close()
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        for k in range(4):
            assert [one["number"] for one in journal.records if one["thread"] == k] == list(range(100))


def test_an_error_is_told_once_and_ends_the_writing() -> None:
    journal, errors = SlowJournal(), []
    journal.error = OSError(errno.ENOSPC, "No space left on device")
    writer = JournalWriter(journal, errors.append)
    writer.put({"number": 0})
    journal.disk.release(10)
    wait_for(lambda: errors)
    writer.put({"number": 1})
    writer.close()
    assert errors == [journal.error]
    assert journal.writes == []


def test_an_error_keeps_what_was_written(tmp_path: Path) -> None:
    path, errors = tmp_path / "study.jsonl", []
    with Journal(path, {}) as journal:
        writer = JournalWriter(journal, errors.append)
        writer.put({"number": 0})
        wait_for(lambda: journal.records)
        path.unlink()
        writer.put({"number": 1})
        writer.close()
        assert journal.records == [{"number": 0}]
    (error,) = errors
    assert isinstance(error, JournalError)
    assert "deleted" in str(error)


def test_a_writer_without_records_has_no_thread(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        before = threading.active_count()
        writer = JournalWriter(journal, pytest.fail)
        assert threading.active_count() == before
        writer.close()


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
    writer = JournalWriter(opened, pytest.fail)
    writer.put({"number": 0})
    assert at_work.wait(10.0)
    closing = threading.Thread(target=opened.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    disk.set()
    closing.join(10.0)
    writer.close()
    with Journal(path, {}) as again:
        assert again.records == [{"number": 0}]

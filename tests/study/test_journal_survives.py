"""What a journal keeps when processes are killed, disks are full and searches collide."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from killable import IDENTITY, Nursery

from widemargin.study import Journal, JournalError

APPEND = """
def work(argument):
    path, kind = argument.split()
    say("pid", os.getpid())
    with Journal(path, IDENTITY) as journal:
        say("opened", len(journal.records))
        while True:
            number = len(journal.records)
            batch = [record(number + i) for i in range(1 if kind == "append" else 7)]
            if kind == "append":
                journal.append(batch[0])
            else:
                journal.extend(batch)
            say("has", number + len(batch))

def record(number):
    return {"number": number, "score": 1 / (number + 1), "text": "x" * (number * 7919 % 20000)}
"""

HOLD = """
def work(argument):
    path, fork = argument.split()
    journal = Journal(path, IDENTITY)
    child = 0
    if fork == "fork":
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(told, b"runs")
            time.sleep(60)
            os._exit(0)
        os.read(heard, 4)
    say("holds", os.getpid(), child)
    time.sleep(60)
"""


def record(number: int) -> dict[str, object]:
    return {"number": number, "score": 1 / (number + 1), "text": "x" * (number * 7919 % 20000)}


@pytest.mark.parametrize("kind", ["append", "extend"])
def test_killed_ten_times_at_any_moment(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "study.jsonl"
    moments = random.Random(7)
    nursery = Nursery(APPEND)
    counts = [0]
    try:
        for turn in range(10):
            nursery.begin(f"{path} {kind}")
            child = int(nursery.hear().removeprefix("pid "))
            heard = ""
            while turn % 2 and not heard.startswith("has"):
                heard = nursery.hear()
            time.sleep(moments.uniform(0, 0.06))
            os.kill(child, signal.SIGKILL)
            acknowledged = int(heard.removeprefix("has ") or 0)
            while (heard := nursery.hear()) != "dead":
                word, number = heard.split()
                assert word in ("opened", "has")
                acknowledged = int(number)
            with Journal(path, IDENTITY) as journal:
                found = journal.records
            assert found == [record(i) for i in range(len(found))]
            assert max(acknowledged, counts[-1]) <= len(found)
            assert len(found) <= max(acknowledged, counts[-1]) + (1 if kind == "append" else 7)
            counts.append(len(found))
    finally:
        nursery.close()
    assert counts[-1] >= 5


@pytest.mark.parametrize("fork", ["alone", "fork"])
def test_two_processes_are_kept_apart(tmp_path: Path, fork: str) -> None:
    path = tmp_path / "study.jsonl"
    nursery = Nursery(HOLD)
    child = 0
    try:
        nursery.begin(f"{path} {fork}")
        word, holder, child = (part if part == "holds" else int(part) for part in nursery.hear().split())  # type: ignore[assignment]
        assert word == "holds"
        with pytest.raises(
            JournalError, match="is in use by another search; wait until that has ended, or give another"
        ):
            Journal(path, IDENTITY)
        os.kill(int(holder), signal.SIGKILL)
        assert nursery.hear() == "dead"
        # A process that the killed one had forked still runs, and must not keep the lock.
        with Journal(path, IDENTITY) as journal:
            journal.append({"a": 1})
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        nursery.close()


def test_two_journals_of_one_process_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, IDENTITY), pytest.raises(JournalError, match="is in use by another search"):
        Journal(path, IDENTITY)
    Journal(path, IDENTITY).close()


def test_a_refused_journal_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    Journal(path, IDENTITY).close()
    with pytest.raises(JournalError, match="other data"):
        Journal(path, IDENTITY | {"data": "x"})
    Journal(path, IDENTITY).close()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


FULL = (
    r"cannot grow, since the disk is full or a limit is reached \({}\); what it held before is kept, so free some space"
)


def fill(journal: Journal, reason: str) -> int:
    """Append until the disk is full; return how many records there is space for."""
    for number in range(1000):
        before = journal.path.read_bytes()
        failure = None
        try:
            journal.append(record(number * 3 % 11))
        except JournalError as error:
            failure = str(error)
        if failure is not None:
            assert reason in failure
            assert journal.path.read_bytes() == before
            assert len(journal.records) == number
            return number
    pytest.fail("the disk was never full")


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, IDENTITY) as journal:
        with largest_file(100_000):
            count = fill(journal, "(File too large)")
            assert count > 0
            with pytest.raises(JournalError, match=FULL.format("File too large")):
                journal.extend([record(9)] * 3)
        journal.append({"after": True})
    with Journal(path, IDENTITY) as journal:
        assert journal.records == [*(record(i * 3 % 11) for i in range(count)), {"after": True}]


def test_a_full_disk(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 20_000)
    path = small_disk / "study.jsonl"
    with Journal(path, IDENTITY) as journal:
        count = fill(journal, "(No space left on device)")
        filler.unlink()
        journal.append({"after": True})
    with Journal(path, IDENTITY) as journal:
        assert journal.records == [*(record(i * 3 % 11) for i in range(count)), {"after": True}]


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(b"x" * 100_000)
    path = small_disk / "study.jsonl"
    with pytest.raises(JournalError, match=FULL.format("No space left on device")):
        Journal(path, IDENTITY)
    filler.unlink()
    with Journal(path, IDENTITY) as journal:
        journal.append({"a": 1})


@pytest.mark.parametrize(
    "error", [partial(OSError, 5, "Input/output error"), KeyboardInterrupt], ids=["disk", "Ctrl-C"]
)
def test_a_write_that_does_not_reach_the_disk_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]
) -> None:
    path = tmp_path / "study.jsonl"
    sync = os.fsync
    answers: list[BaseException] = []

    def sometimes(descriptor: int) -> None:
        if answers:
            raise answers.pop()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sometimes)
    with Journal(path, IDENTITY) as journal:
        journal.append({"a": 1})
        content = path.read_bytes()
        answers.append(error())
        kind = KeyboardInterrupt if error is KeyboardInterrupt else JournalError
        with pytest.raises(kind):
            journal.append({"a": 2})
        assert path.read_bytes() == content
        journal.append({"a": 3})
        assert journal.records == [{"a": 1}, {"a": 3}]
    with Journal(path, IDENTITY) as journal:
        assert journal.records == [{"a": 1}, {"a": 3}]


def test_writes_that_the_system_takes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: write(file, data[:7], offset))
    path = tmp_path / "study.jsonl"
    with Journal(path, IDENTITY) as journal:
        journal.extend([record(1), record(2)])
    with Journal(path, IDENTITY) as journal:
        assert journal.records == [record(1), record(2)]

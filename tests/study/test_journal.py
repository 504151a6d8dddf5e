"""A journal from creation to reopening, and every way in which it may be refused."""

from __future__ import annotations

import copy
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killable import IDENTITY

from widemargin.study import Journal, JournalError
from widemargin.study.lines import sealed

RECORDS = [{"candidate": i, "split": i % 3, "score": 1 / (i + 1)} for i in range(5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of five records."""
    file = tmp_path / "study.jsonl"
    with Journal(file, IDENTITY) as journal:
        for record in RECORDS:
            journal.append(record)
    return file


def refusal(path: Any, identity: Any = IDENTITY) -> str:
    """Return the sentence with which a journal is refused."""
    with pytest.raises(JournalError) as caught:
        Journal(path, identity)
    message = str(caught.value)
    assert message.startswith(f"The journal {str(path)!r} ")
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message.replace(str(path), "")
    return message


def test_a_journal_reads_back(path: Path) -> None:
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(len(line.pop("crc")) == 8 for line in (header, *lines))
    assert header == {"schema": 2, "study": "widemargin", "identity": IDENTITY}
    assert lines == RECORDS
    with Journal(str(path), IDENTITY) as journal:
        assert journal.records == RECORDS
        assert journal.identity == IDENTITY
        journal.append({"candidate": 9})
        assert journal.records == [*RECORDS, {"candidate": 9}]
        assert repr(journal) == f"Journal({str(path)!r}, 6 records, open)"
    with Journal(path, IDENTITY) as journal:
        assert journal.records == [*RECORDS, {"candidate": 9}]


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.dictionaries(st.text(max_size=3), st.floats() | st.text(max_size=5), max_size=3), max_size=3))
)
def test_what_is_appended_is_what_is_read(batches: list[list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.jsonl"
        for batch in batches:
            with Journal(file, {}) as journal:
                before = list(journal.records)
                journal.extend(batch)
                after = journal.records
            assert repr(after) == repr([*before, *batch])
            with Journal(file, {}) as journal:
                assert repr(journal.records) == repr(after)


def test_a_record_is_on_the_disk_when_append_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    write, sync = os.pwrite, os.fsync
    monkeypatch.setattr(os, "pwrite", lambda *args: (calls.append("write"), write(*args))[1])
    monkeypatch.setattr(os, "fsync", lambda *args: (calls.append("sync"), sync(*args))[1])
    with Journal(path, IDENTITY) as journal:
        assert calls == []
        journal.append({"a": 1})
        assert calls == ["write", "sync"]
        journal.extend([{"a": i} for i in range(100)])
        assert calls == ["write", "sync"] * 2
        journal.extend([])
        assert calls == ["write", "sync"] * 2
    Journal(path.with_name("new.jsonl"), IDENTITY).close()
    assert calls[4:] == ["write", "sync", "sync"]  # the second one is the folder's


def test_records_are_as_they_are_read_back(path: Path) -> None:
    record = {"pair": (1, 2)}
    with Journal(path, IDENTITY) as journal:
        journal.append(record)
        record["pair"] = (3, 4)
        assert journal.records[-1] == {"pair": [1, 2]}


def test_the_last_line_cut_off_at_every_byte(path: Path) -> None:
    content = path.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(content)):
        path.write_bytes(content[:end])
        with Journal(path, IDENTITY) as journal:
            assert journal.records == RECORDS[:-1]
            assert path.read_bytes() == content[:last]
            journal.append({"next": end})
        with Journal(path, IDENTITY) as journal:
            assert journal.records == [*RECORDS[:-1], {"next": end}]


def test_the_header_cut_off_at_every_byte(path: Path) -> None:
    path.unlink()
    Journal(path, {"data": "d"}).close()
    header = path.read_bytes()
    for end in range(len(header)):
        path.write_bytes(header[:end])
        with Journal(path, {"data": "d"}) as journal:
            assert journal.records == []
        assert path.read_bytes() == header


@pytest.mark.parametrize("torn", [b"\0" * 20, b'\0\0\0\0": 1}\n', b'{"a": \0\0\0}\n'])
def test_zeros_that_a_power_failure_left(path: Path, torn: bytes) -> None:
    content = path.read_bytes()
    path.write_bytes(content + torn)
    with Journal(path, IDENTITY) as journal:
        assert journal.records == RECORDS
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "garbage", [b"hello\n", b"\n", b'{"a": 1\n', b"[1]\n", b"\xff\n", b'{"a": NaN}\n', b"[" * 5000 + b"\n"]
)
@pytest.mark.parametrize("place", [1, 3, 5])
def test_garbage_in_the_middle_names_its_line(path: Path, garbage: bytes, place: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(place, garbage)
    damaged = b"".join(lines)
    path.write_bytes(damaged)
    assert f"is damaged in line {place + 1} of 7" in refusal(path)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"hello\n",
        b"a,b\n1,2\n",
        b"\n",
        b"{}\n",
        b"\0",
        b'{"schema": 1}\n',
        b'{"schema": 1, "study": "other"}\n',
        b"\x89PNG\r\n",
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "precious.txt"
    file.write_bytes(content)
    message = refusal(file)
    assert "is not a journal of widemargin" in message
    assert "delete" not in message
    assert file.read_bytes() == content


def test_every_byte_of_every_line_counts(path: Path) -> None:
    """A changed byte is refused with its line, but for the end of the last one, without which that line is torn."""
    content, random = path.read_bytes(), np.random.default_rng(0)
    for place in range(len(content) - 1):
        line = content.count(b"\n", 0, place) + 1
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(random.integers(8))
        damaged[place] = damaged[place] or 1  # zeros at the end are what a power failure left
        path.write_bytes(damaged)
        assert f"is damaged in line {line} of " in refusal(path), (place, bytes(damaged[place - 9 : place + 9]))
        assert path.read_bytes() == damaged


def test_numbers_that_somebody_corrected(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"score": 0.5', b'"score": 0.9'))
    message = refusal(path)
    assert "is damaged in line 3 of 6, which is not what was written there; remove that line, give another" in message


def test_lines_from_another_place_are_lines(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[:0:-1]]))
    with Journal(path, IDENTITY) as journal:
        assert journal.records == RECORDS[::-1]


def test_a_record_may_have_an_entry_of_any_name(tmp_path: Path) -> None:
    record = {"crc": "00000000", "": {}, "x": '"crc": "00000000"}'}
    for _ in range(2):
        with Journal(tmp_path / "study.jsonl", {"crc": 1}) as journal:
            assert journal.records in ([], [record])
            journal.append(record) if not journal.records else None


def test_a_journal_of_another_release(path: Path) -> None:
    """The first version had no checksums; later ones may have others."""
    first = b'{"schema": 1, "study": "widemargin", "identity": {}}\n{"candidate": 0}\n'
    later = sealed(b'{"schema": 3, "study": "widemargin", "identity": {}}\n') + b"anything\n"
    for version, content in ((1, first), (3, later)):
        path.write_bytes(content)
        assert (
            f"was written by another release of widemargin, in version {version} of the format where this one reads "
            "version 2; give another file name, or delete it to start over"
        ) in refusal(path)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": "e" * 64}, "a search with other data;"),
        ({"candidates": "e" * 64}, "a search with another grid;"),
        ({"splits": "e" * 64}, "a search with other folds;"),
        ({"data": "e" * 64, "splits": "e" * 64}, "a search with other data and other folds;"),
        ({"schema": 2}, "a search with another version of its records (1 there, 2 here);"),
        (
            {"schema": 2, "data": "", "candidates": ["e"] * 9},
            "another version of its records (1 there, 2 here), other data and another grid;",
        ),
        ({"tol": 0.001}, "a search with another 'tol' (none there, 0.001 here);"),
        ({"data": None}, "a search with other data;"),
    ],
)
def test_another_search_is_refused(path: Path, changes: dict[str, Any], words: str) -> None:
    content = path.read_bytes() + b'{"torn'
    path.write_bytes(content)
    message = refusal(path, IDENTITY | changes)
    assert words in message
    assert message.endswith("; give another file name, or delete it to start over.")
    assert path.read_bytes() == content


def test_a_key_that_is_missing_differs(path: Path) -> None:
    identity = {key: value for key, value in IDENTITY.items() if key != "splits"}
    assert "with other folds;" in refusal(path, identity)


@pytest.mark.parametrize("value", [float("nan"), (1, 2), {"b": 1, "a": [2.0]}, "=", True])
def test_equal_identities_are_accepted(tmp_path: Path, value: Any) -> None:
    Journal(tmp_path / "study.jsonl", {"value": value, "other": 1}).close()
    Journal(tmp_path / "study.jsonl", {"other": 1, "value": copy.deepcopy(value)}).close()


def test_the_order_within_an_identity_does_not_matter(tmp_path: Path) -> None:
    Journal(tmp_path / "study.jsonl", {"value": {"a": 1, "b": 2}}).close()
    Journal(tmp_path / "study.jsonl", {"value": {"b": 2, "a": 1}}).close()


def test_numbers_of_another_type_differ(tmp_path: Path) -> None:
    Journal(tmp_path / "study.jsonl", {"value": 1}).close()
    assert "another 'value' (1 there, true here)" in refusal(tmp_path / "study.jsonl", {"value": True})


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    assert refusal(tmp_path).endswith("is a folder; give the name of a file.")
    assert "since there is no folder" in refusal(tmp_path / "missing" / "study.jsonl")
    file = tmp_path / "file"
    file.write_text("")
    assert "(Not a directory)" in refusal(file / "study.jsonl")
    assert "(File name too long)" in refusal(tmp_path / ("x" * 300))
    assert "is not a regular file" in refusal("/dev/full")
    with pytest.raises(JournalError, match="null byte"):
        Journal("a\0b", IDENTITY)
    for wrong in (3, b"bytes", None):
        with pytest.raises(TypeError, match=f"^path must be the name of a file .*; got {re.escape(repr(wrong))}.$"):
            Journal(wrong, IDENTITY)  # type: ignore[arg-type]


@pytest.fixture
def folder_of_others() -> Iterator[Path]:
    """A folder that nobody but root may write to, as somebody who is not root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Journal(folder / "there.jsonl", IDENTITY) as journal:
            journal.append({"a": 1})
        (folder / "there.jsonl").chmod(0o444)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_a_read_only_folder(folder_of_others: Path) -> None:
    folder = folder_of_others
    where = f"in the folder {str(folder)!r} (Permission denied); give another file name."
    assert refusal(folder / "new.jsonl").endswith(f"cannot be created {where}")
    assert refusal(folder / "there.jsonl").endswith(f"cannot be opened for writing {where}")
    assert sorted(file.name for file in folder.iterdir()) == ["there.jsonl"]
    assert (folder / "there.jsonl").read_text().splitlines()[-1].startswith('{"a": 1, "crc": ')


def test_a_closed_journal_takes_nothing(path: Path) -> None:
    journal = Journal(path, IDENTITY)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match=r"is closed; open it again to add records\.$"):
        journal.append({"a": 1})
    assert journal.records == RECORDS


def test_a_deleted_journal_says_so(path: Path) -> None:
    with Journal(path, IDENTITY) as journal:
        path.unlink()
        with pytest.raises(JournalError, match="was deleted while it was in use"):
            journal.append({"a": 1})


def test_a_record_that_is_none_changes_nothing(path: Path) -> None:
    content = path.read_bytes()
    with Journal(path, IDENTITY) as journal:
        with pytest.raises(TypeError, match="got set"):
            journal.extend([{"a": 1}, {"a": {1}}])
        assert journal.records == RECORDS
    assert path.read_bytes() == content

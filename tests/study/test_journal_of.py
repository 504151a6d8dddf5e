"""Studies of other data have journals of their own, beside the first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from widemargin.study import Journal, JournalError, journal_of

OURS = {"data": "5f0c", "target": "91aa", "candidates": "c0"}


def test_the_first_study_gets_the_file_itself_and_others_one_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    for _ in range(2):
        for number, data in enumerate(("5f0c", "77aa", "01bd")):
            with journal_of(path, {**OURS, "data": data}) as journal:
                journal.append({"of": data})
                assert {record["of"] for record in journal.records} == {data}
                assert (journal.path == path) is (number == 0)
    assert len(list(tmp_path.iterdir())) == 3


def test_another_study_of_the_same_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    for data in ("5f0c", "77aa"):
        journal_of(path, {**OURS, "data": data}).close()
        with pytest.raises(JournalError, match="another grid"):
            journal_of(path, {**OURS, "data": data, "candidates": "c1"})


def test_a_file_in_use_by_a_study_of_other_data_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with journal_of(path, OURS), journal_of(path, {**OURS, "data": "77aa"}) as other:
        assert other.path != path
        with pytest.raises(JournalError, match="is in use by another search"):
            journal_of(path, OURS)
        with pytest.raises(JournalError, match="is in use by another search"):
            journal_of(path, {**OURS, "data": "77aa"})


@pytest.mark.parametrize("content", [b"my table\n1,2\n", b"no line", b'{"study": "widemargin"}\n', b"\xff\xfe\n"])
def test_what_is_no_journal_is_refused_as_ever(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(JournalError):
        journal_of(path, OURS)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_paths_that_are_none_are_refused_as_ever(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="path must be"):
        journal_of(3, OURS)  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="is a folder"):
        journal_of(tmp_path, OURS)
    with pytest.raises(JournalError, match="there is no folder"):
        journal_of(tmp_path / "nowhere" / "study.jsonl", OURS)


CHILD = """
import sys
from widemargin.study import journal_of
with journal_of(sys.argv[1], {"data": sys.argv[2]}) as journal:
    journal.append({"of": sys.argv[2]})
    sys.stdin.readline()
"""


def test_many_who_begin_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(n)], stdin=subprocess.PIPE) for n in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    assert [child.wait(60) for child in children] == [0] * 4
    for child in children:
        assert child.stdin is not None
        child.stdin.close()
    assert len(list(tmp_path.iterdir())) == 4
    for n in range(4):
        with journal_of(path, {"data": str(n)}) as journal:
            assert journal.records == [{"of": str(n)}]


def test_whoever_opens_a_journal_by_itself_asks_for_the_refusal(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    journal_of(path, OURS).close()
    with pytest.raises(JournalError, match="other data"):
        Journal(path, {**OURS, "data": "77aa"})

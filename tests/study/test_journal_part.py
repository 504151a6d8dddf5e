"""Stages of a search in one journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from widemargin.study import Journal, JournalError, JournalPart


def test_parts_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, {}) as journal:
        first, second = (JournalPart(journal, {"stage": stage, "round": 0}) for stage in "ab")
        first.extend([{"value": 0.1 + 0.2}, {"value": float("nan")}])
        second.extend([{"value": 3.0}])
        JournalPart(journal, {"stage": "a", "round": 1}).extend([{"value": 4.0}])
        assert first.records[0] == {"value": 0.30000000000000004}
        assert second.records == [{"value": 3.0}]
    with Journal(path, {}) as journal:
        assert [len(JournalPart(journal, {"stage": "a", "round": number}).records) for number in (0, 1, 2)] == [2, 1, 0]
        assert len(JournalPart(journal, {"stage": "a"}).records) == 3


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        first, second = (JournalPart(journal, {"stage": stage}) for stage in "ab")
        for part in (first, second, first, second):
            part.extend([{"value": 1.0}])
        with pytest.raises(JournalError, match="damaged in line 5 of 5, which is odd"):
            second.refuse(1, "which is odd")


def test_records_that_nobody_keeps_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, {}) as journal:
        JournalPart(journal, {"stage": "a"}).extend([{"value": 1.0}], keep=False)
        assert journal.records == []
    with Journal(path, {}) as journal:
        assert journal.records == [{"stage": "a", "value": 1.0}]

"""Seeds of searches: the one that is meant, kept by a journal if nobody gave one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin.study import Journal, JournalError, JournalPart
from widemargin.study.seeds import seed_of, settled_seed


@pytest.mark.parametrize("given", [7, np.int64(7), np.uint8(7)])
def test_a_number_is_the_seed(given: Any) -> None:
    assert seed_of(given) == 7
    assert type(seed_of(given)) is int
    assert seed_of(2**62) == 2**62


def test_a_source_of_random_numbers_draws_one() -> None:
    first, again = (seed_of(np.random.RandomState(3)) for _ in range(2))
    assert first == again
    source = np.random.RandomState(3)
    assert [seed_of(source), seed_of(source)] != [first, first]
    assert seed_of(np.random.RandomState(3)) == np.random.RandomState(3).randint(2**31 - 1)


@pytest.mark.parametrize("given", [-1, "seven", 7.5])
def test_what_is_no_seed(given: Any) -> None:
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        seed_of(given)


def test_a_seed_that_was_given_is_not_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        assert settled_seed(5, journal) == 5
        assert journal.records == []


def test_a_seed_that_nobody_gave_is_drawn_and_kept(tmp_path: Path) -> None:
    assert settled_seed(None, None) != settled_seed(None, None)
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        part = JournalPart(journal, {"stage": "beginning"})
        drawn = settled_seed(None, part)
        assert 0 <= drawn < 2**32
        assert journal.records == [{"stage": "beginning", "seed": drawn}]
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        part = JournalPart(journal, {"stage": "beginning"})
        assert [settled_seed(None, part) for _ in range(2)] == [drawn, drawn]
        assert len(journal.records) == 1


@pytest.mark.parametrize("record", [{"seed": -1}, {"seed": "many"}, {"colour": 1}, {"seed": 1, "colour": 1}])
def test_a_record_that_is_no_seed_is_refused(record: dict[str, Any], tmp_path: Path) -> None:
    with Journal(tmp_path / "study.jsonl", {}) as journal:
        journal.extend([record])
        with pytest.raises(JournalError, match=r"damaged in line 2 of 2, "):
            settled_seed(None, journal)

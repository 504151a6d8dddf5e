"""Journals whose records are no evaluations of the search that is to go on from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from widemargin import SVC, GridSearchCV
from widemargin.study import JournalError
from widemargin.study.findings import RECORD_SCHEMA, Finding
from widemargin.study.lines import sealed, unsealed

GRID = {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}


def rows() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(60, 2))
    return X, (X.sum(axis=1) > 0).astype(int)


def search(journal: Path, **how: Any) -> GridSearchCV:
    return GridSearchCV(SVC(), GRID, cv=3, journal=journal, **how).fit(*rows())


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of a finished search: a header and 12 records."""
    path = tmp_path / "study.jsonl"
    search(path)
    return path


def changed(path: Path, line: int, change: Any) -> None:
    """Change a line of a journal, as another release might write it."""
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(unsealed(lines[line - 1].rstrip()))
    change(record)
    lines[line - 1] = sealed(json.dumps(record).encode() + b"\n")
    path.write_bytes(b"".join(lines))


def refusal(path: Path, **how: Any) -> str:
    """Return the sentence with which a search refuses a journal, which it leaves as it is."""
    before = path.read_bytes()
    with pytest.raises(JournalError) as caught:
        search(path, **how)
    assert path.read_bytes() == before
    message = str(caught.value)
    assert message.startswith(f"The journal {str(path)!r} ")
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("evaluation", 99, "a whole number from 0 to 11"),
        ("evaluation", -1, "a whole number from 0 to 11"),
        ("evaluation", "1", "a whole number from 0 to 11"),
        ("evaluation", True, "a whole number from 0 to 11"),
        ("evaluation", 1.0, "a whole number from 0 to 11"),
        ("value", "high", "a number, numbers by name, or null"),
        ("value", [0.5], "a number, numbers by name, or null"),
        ("value", {}, "a number, numbers by name, or null"),
        ("value", {"score": "high"}, "a number, numbers by name, or null"),
        ("train_value", "high", "a number, numbers by name, or null"),
        ("score_seconds", None, "a number"),
        ("error", 3, "a string"),
        ("notes", ["well", 1], "a list of strings"),
        ("work", {"iterations": 0.5}, "counts of work by name"),
        ("work", {"iterations": -1}, "counts of work by name"),
        ("work", {"seconds": "long"}, "counts of work by name"),
        ("work", {"miles": 1}, "counts of work by name"),
        ("work", 7, "counts of work by name"),
    ],
)
def test_values_that_do_not_fit(journal: Path, name: str, value: Any, wanted: str) -> None:
    changed(journal, 5, lambda record: record.update({name: value}))
    message = refusal(journal)
    assert f"is damaged in line 5 of 13, where {name!r} is {value!r} in place of {wanted}; remove that line" in message


@pytest.mark.parametrize("name", ["evaluation", "value", "work"])
def test_some_fields_are_needed(journal: Path, name: str) -> None:
    changed(journal, 13, lambda record: record.pop(name))
    assert f"is damaged in line 13 of 13, which lacks {name!r}; " in refusal(journal)


def test_a_name_too_many(journal: Path) -> None:
    changed(journal, 2, lambda record: record.update(colour="red"))
    message = refusal(journal)
    assert "is damaged in line 2 of 13, which holds 'colour', a name that evaluations do not have; " in message


def test_scores_and_errors_exclude_each_other(journal: Path) -> None:
    changed(journal, 3, lambda record: record.update(error="It failed."))
    assert "in line 3 of 13, which holds both scores and an error; " in refusal(journal)
    changed(journal, 3, lambda record: [record.pop("error"), record.update(value=None)])
    assert "in line 3 of 13, which holds neither scores nor an error; " in refusal(journal)


def test_scores_by_other_metrics(journal: Path) -> None:
    changed(journal, 4, lambda record: record.update(value={"accuracy": 0.5}))
    assert "in line 4 of 13, which has scores by other metrics than the lines before; " in refusal(journal)


def test_train_scores_are_there_or_not(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    search(path, return_train_score=True)
    changed(path, 4, lambda record: record.pop("train_value"))
    assert "which has scores by other metrics than the lines before" in refusal(path, return_train_score=True)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite:UserWarning")
def test_failures_and_scores_that_are_no_numbers_are_read_back(tmp_path: Path) -> None:
    def sometimes(machine: Any, X: Any, y: Any) -> float:
        return float("nan") if machine.C == 1.0 else 0.5

    path = tmp_path / "study.jsonl"
    first = search(path, scoring=sometimes)
    records = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    line = 2 + next(n for n, one in enumerate(records) if one["evaluation"] == 1)
    changed(path, line, lambda record: record.update(error="It failed.", value=None))
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 12"):
        again = search(path, scoring=sometimes, error_score=0.25)
    before, after = (one.cv_results_["split1_test_score"].tolist() for one in (first, again))
    assert before == pytest.approx([0.5, 0.5, np.nan, np.nan], nan_ok=True)
    assert after == pytest.approx([0.25, 0.5, np.nan, np.nan], nan_ok=True)


def test_a_journal_of_another_release(journal: Path) -> None:
    changed(journal, 1, lambda header: header["identity"].update(schema=RECORD_SCHEMA + 1))
    there = f"another version of its records ({RECORD_SCHEMA + 1} there, {RECORD_SCHEMA} here);"
    assert f"belongs to a search with {there}" in refusal(journal)
    changed(journal, 1, lambda header: header["identity"].pop("schema"))
    assert "another version of its records (none there, " in refusal(journal)


def test_another_plan_is_put_into_words(journal: Path) -> None:
    assert "belongs to a search with another plan;" in refusal(journal, plan="cold")


def test_records_that_change_have_another_version() -> None:
    """Whoever changes the fields of an evaluation gives its records another version, and writes both here."""
    names = "number value work notes error score_seconds train_value point part gradient higher chosen measures"
    assert (RECORD_SCHEMA, " ".join(Finding._fields)) == (4, f"{names} coefficients")

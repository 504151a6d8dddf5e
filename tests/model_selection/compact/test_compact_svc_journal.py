"""Journals of compact searches: killed, cut anywhere and continued, they end with the same model."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "study"))

from killable import Nursery
from small_problems import fitted, same_models, three_classes, two_classes

from widemargin import SVC, CompactSVC, GridSearchCV, UnfinishedSearchWarning
from widemargin.model_selection.compact import selection
from widemargin.strategies import TabuSearch
from widemargin.study import JournalError
from widemargin.study.lines import sealed, unsealed

HERE = Path(__file__).parent

KILLABLE = """
import sys
sys.path.insert(0, {folder!r})
from small_problems import fitted, three_classes
from widemargin.model_selection.compact import selection

selection.WRITE_EVERY = 0.0

def work(journal):
    say("pid", os.getpid())
    fitted(*three_classes(), select_features=True, strategy=None, journal=journal)
    say("done")
"""


@pytest.fixture(autouse=True)
def _written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "WRITE_EVERY", 0.0)


def test_cut_at_any_line(tmp_path: Path) -> None:
    X, y = three_classes()
    journal = tmp_path / "study.jsonl"
    whole = fitted(X, y, select_features=True)
    same_models(fitted(X, y, select_features=True, journal=journal), whole)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + whole.n_evaluations_
    places = random.Random(0).sample(range(1, len(lines)), 7)
    for count in [1, *places, len(lines)]:
        # A line that is not finished is what a crash leaves.
        journal.write_bytes(b"".join(lines[:count]) + (lines[count][:20] if count < len(lines) else b""))
        same_models(fitted(X, y, select_features=True, journal=journal, n_jobs=1 + count % 3), whole)
        assert len(journal.read_bytes().splitlines()) == len(lines)


def test_killed_at_any_moment(tmp_path: Path) -> None:
    moments, own, killed = random.Random(1), Nursery(KILLABLE.format(folder=str(HERE))), 0
    journal, heard, lengths = tmp_path / "study.jsonl", "", []
    try:
        while heard != "done":
            own.begin(journal)
            child = int(own.hear().removeprefix("pid "))
            if len(lengths) < 5:
                time.sleep(moments.uniform(0.02, 0.15))
                with suppress(ProcessLookupError):  # it may have been faster
                    os.kill(child, signal.SIGKILL)
            heard = own.hear()
            killed += heard == "dead"
            lengths.append(len(journal.read_bytes().splitlines()) if journal.exists() else 0)
        assert own.hear() == "dead"
    finally:
        own.close()
    assert killed > 1
    assert lengths == sorted(lengths)
    X, y = three_classes()
    how: Any = {"select_features": True, "strategy": None}
    same_models(fitted(X, y, **how, journal=journal), fitted(X, y, **how))


def test_what_a_journal_holds_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    first = fitted(X, y, journal=journal)
    monkeypatch.setattr("widemargin.objectives.prototype_quality.PrototypeQuality.evaluate", None)
    same_models(fitted(X, y, journal=journal), first)


def test_a_seed_that_nobody_gave_is_kept(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    first = fitted(X, y, random_state=None, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[1])["seed"] == first.seed_
    journal.write_bytes(b"".join(lines[:40]))
    same_models(fitted(X, y, random_state=None, journal=journal), first)


def test_a_drawn_seed_is_drawn_once(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    first = fitted(X, y, random_state=np.random.RandomState(3), journal=journal)
    assert json.loads(journal.read_bytes().splitlines()[0])["identity"]["random_state"] == first.seed_
    same_models(fitted(X, y, random_state=np.random.RandomState(3), journal=journal), first)
    same_models(fitted(X, y, random_state=np.random.RandomState(3)), first)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_a_deadline_and_then_the_rest(tmp_path: Path) -> None:
    X, y = three_classes()
    journal, lengths = tmp_path / "study.jsonl", []
    whole = fitted(X, y, strategy=None)
    for seconds in np.linspace(0.05, 10.0, 200):  # what is known takes time to read, too
        with suppress(TimeoutError):
            model = fitted(X, y, strategy=None, journal=journal, max_time=float(seconds))
            if [one.ended for one in model.models_] == [one.ended for one in whole.models_]:
                break
        lengths.append(len(journal.read_bytes().splitlines()))
    assert lengths
    assert lengths == sorted(lengths)
    same_models(model, whole)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("sv_penalty", "another objective"),
        ("feature_costs", "another objective"),
        ("strategy", "another strategy"),
        ("validation_size", "another estimator"),
        ("standardize", "another estimator"),
        ("select_features", "another estimator"),
        ("random_state", "another random_state"),
    ],
)
def test_journals_of_other_searches_are_refused(what: str, words: str, tmp_path: Path) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"journal": tmp_path / "study.jsonl", "max_evaluations": 64}
    fitted(X, y, **how)
    before = how["journal"].read_bytes()
    how[what] = {
        "sv_penalty": 0.02,
        "feature_costs": np.ones(6) * 2.0,
        "strategy": TabuSearch(patience=3),
        "validation_size": 0.5,
        "standardize": False,
        "select_features": True,
        "random_state": 1,
    }[what]
    with pytest.raises(JournalError, match=words):
        fitted(X, y, **how)
    assert how["journal"].read_bytes() == before


def test_other_data_get_a_journal_beside_the_first(tmp_path: Path) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"journal": tmp_path / "study.jsonl", "max_evaluations": 64}
    fitted(X, y, **how)
    before = how["journal"].read_bytes()
    fitted(X + 1e-9, y, **how)
    fitted(X, 1 - y, **how)
    assert how["journal"].read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


def test_a_journal_of_a_grid_is_refused(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    GridSearchCV(SVC(), {"C": [1.0, 2.0]}, journal=journal).fit(X, y)
    with pytest.raises(JournalError, match="belongs to a search"):
        fitted(X, y, journal=journal)


def test_what_does_not_change_a_search_may_change(tmp_path: Path) -> None:
    X, y = three_classes()
    journal = tmp_path / "study.jsonl"
    first = fitted(X, y, journal=journal)
    other = fitted(X, y, journal=journal, decision="argmax", refit=True, n_jobs=2, max_time=600)
    np.testing.assert_array_equal(first.front_, other.front_)


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        (2, {"stage": "prologue"}, "belongs to no part"),
        (2, {"value": "good"}, "'value' is 'good' in place of a number"),
        (2, {"point": [1.0]}, "'point' is .* in place of a list of 3 numbers"),
        (3, {"point": [1.0, 0.0, 0.5]}, "evaluation 1 is at another point"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, line: int, change: dict[str, Any], words: str) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    model: CompactSVC = fitted(X, y, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    record = json.loads(unsealed(lines[line - 1].rstrip()))
    lines[line - 1] = sealed(json.dumps(record | change).encode() + b"\n")
    journal.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=f"damaged in line {line} of {len(lines)}, .*{words}"):
        model.fit(X, y)


def cut(journal: Path, count: int) -> None:
    """Leave so many evaluations of a journal."""
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[: 1 + count]))


def test_time_that_is_up_leaves_what_a_journal_holds(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    whole = fitted(X, y, journal=journal)
    same_models(fitted(X, y, journal=journal, max_time=1e-9), whole)
    count = whole.n_evaluations_ // 2
    cut(journal, count)
    words = (
        rf"of class 1 has ended early \(time is up\) after {count} evaluations; the best model until then was chosen"
    )
    with pytest.warns(UnfinishedSearchWarning, match=words):
        model = fitted(X, y, journal=journal, max_time=1e-9)
    [one] = model.models_
    assert one.ended == "time is up"
    assert one.quality == pytest.approx(max(whole.models_[0].trace["value"][:count]), abs=1e-6)


def test_an_interruption_leaves_what_a_journal_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    whole = fitted(X, y, journal=journal)
    cut(journal, 100)
    monkeypatch.setattr(
        "widemargin.objectives.prototype_quality.PrototypeQuality.evaluate",
        lambda *given, **how: signal.raise_signal(signal.SIGINT),
    )
    with pytest.warns(UnfinishedSearchWarning, match=r"ended early \(interrupted\) after 100 evaluations"):
        model = fitted(X, y, journal=journal)
    [one] = model.models_
    assert one.ended == "interrupted"
    assert one.quality == pytest.approx(max(whole.models_[0].trace["value"][:100]), abs=1e-6)

"""Model searches that are stopped and go on: bit for bit what they would have been."""

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
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

sys.path.insert(0, str(Path(__file__).parents[2] / "study"))

from killable import Nursery
from model_searches import Downhill, Remembering, same_searches, three_classes, two_classes

from widemargin import SVC, GridSearchCV, ModelSearch, kernels
from widemargin.strategies import STRATEGIES
from widemargin.study import Journal, JournalError
from widemargin.study.lines import sealed, unsealed

KILLABLE = """
sys.path.insert(0, {folder!r})
from test_study_journal import fitted
from widemargin.model_selection.search import study
study.WRITE_EVERY = 0.0

def work(argument):
    strategy, journal = argument.split()
    say("pid", os.getpid())
    fitted(strategy, journal=journal)
    say("done")
"""


def searches(strategy: Any) -> dict[str, Any]:
    """Return what to search with a strategy: something that it can follow, with machines that start from each other."""
    how: dict[str, Any] = {"strategy": strategy, "random_state": 5, "max_evaluations": 70}
    if strategy == "newton":
        return {**how, "estimator": SVC(kernel=kernels.Mahalanobis()), "objective": "class-distance"}
    if strategy == "noisy-rprop":
        return {**how, "estimator": SVC(kernel=kernels.DiagonalGaussian()), "objective": "likelihood"}
    if strategy in ("rprop", "l-bfgs-b"):
        return {**how, "estimator": SVC(kernel=kernels.DiagonalGaussian()), "objective": "span"}
    space = {"C": (0.1, 100.0), "gamma": (0.01, 1.0)}
    return {**how, "estimator": SVC(), "objective": "cross-validation", "space": space}


def fitted(strategy: Any, **how: Any) -> ModelSearch:
    X, y = three_classes() if strategy == "newton" else two_classes()
    return ModelSearch(**{**searches(strategy), **how}).fit(X, y)


def cut(journal: Path, lines: list[bytes], count: int) -> None:
    journal.write_bytes(b"".join(line + b"\n" for line in lines[:count]))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_cut_anywhere_and_go_on(tmp_path: Path, strategy: str) -> None:
    journal = tmp_path / "study.jsonl"
    whole = fitted(strategy)
    same_searches(fitted(strategy, journal=journal), whole)
    lines = journal.read_bytes().splitlines()
    assert len(lines) > 8
    for count in sorted({1, 2, 3, 9, len(lines) // 3, len(lines) // 2, len(lines) - 1, len(lines)}):
        cut(journal, lines, count)
        same_searches(fitted(strategy, journal=journal), whole)


@pytest.mark.parametrize("objective", ["decision-quality", "cross-validation"])
def test_tabu_search_goes_on_from_every_evaluation(tmp_path: Path, objective: str) -> None:
    """Values of neighbours, and what they are made of, are taken from the journal; the walk is the same."""
    journal, how = tmp_path / "study.jsonl", {"objective": objective, "max_evaluations": 50}
    whole = fitted("tabu", **how)
    assert whole.n_evaluations_ > 40
    same_searches(fitted("tabu", journal=journal, n_jobs=2, **how), whole)
    lines = journal.read_bytes().splitlines()
    records = [json.loads(line) for line in lines if b"evaluation" in line]
    assert len(records) == whole.n_evaluations_
    made_of = {"recognition_rate", "support_vectors"} if objective == "decision-quality" else set()
    assert all(record.get("measures", {}).keys() == made_of for record in records)
    for count in range(1, len(lines)):
        cut(journal, lines, count)
        same_searches(fitted("tabu", journal=journal, n_jobs=1 + count % 2, **how), whole)
        assert len(journal.read_bytes().splitlines()) == len(lines)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("at_once", [1, 3, 7, 20])
def test_every_line_is_a_place_to_go_on_from(tmp_path: Path, at_once: int, noisy: bool) -> None:
    journal = tmp_path / "study.jsonl"
    X, y = two_classes()

    def search(**how: Any) -> ModelSearch:
        strategy = Downhill(steps=45, at_once=at_once)
        return ModelSearch(SVC(), objective=Remembering(noisy), strategy=strategy, random_state=3, **how).fit(X, y)

    whole = search()
    same_searches(search(journal=journal, n_jobs=3), whole)
    lines = journal.read_bytes().splitlines()
    for count in range(1, len(lines)):
        cut(journal, lines, count)
        same_searches(search(journal=journal, n_jobs=1 + count % 3), whole)


def test_what_is_repeated_to_go_on(tmp_path: Path) -> None:
    journal, calls = tmp_path / "study.jsonl", []
    X, y = two_classes()
    search = ModelSearch(SVC(), objective=Remembering(calls=calls), strategy=Downhill(steps=40), journal=journal)
    search.fit(X, y)
    assert [cold for _, cold in calls] == [number % 16 == 0 for number in range(40)]
    first = list(calls)
    lines = journal.read_bytes().splitlines()
    for known, repeated in [(40, 0), (39, 7), (33, 1), (32, 0), (31, 15), (16, 0), (0, 0)]:
        cut(journal, lines, 2 + known)
        calls.clear()
        search.fit(X, y)
        assert calls == first[known - repeated :], known


def test_of_several_points_the_last_says_where_the_next_start(tmp_path: Path) -> None:
    journal, calls = tmp_path / "study.jsonl", []
    X, y = two_classes()
    strategy = Downhill(steps=16, at_once=4)
    search = ModelSearch(SVC(), objective=Remembering(calls=calls), strategy=strategy, journal=journal, random_state=0)
    search.fit(X, y)
    first = list(calls)
    lines = journal.read_bytes().splitlines()
    cut(journal, lines, 1 + 9)  # the header, two questions and the first point of the third
    calls.clear()
    search.fit(X, y)
    assert calls == [first[3], first[7], *first[9:]]


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Every strategy, killed again and again, goes on to the same end; every evaluation is written at once here."""
    moments, nursery, killed = random.Random(3), Nursery(KILLABLE.format(folder=str(Path(__file__).parent))), 0
    try:
        for strategy in STRATEGIES:
            journal, heard, lengths = tmp_path / f"{strategy}.jsonl", "", []
            while not heard.startswith("done"):
                nursery.begin(f"{strategy} {journal}")
                child = int(nursery.hear().removeprefix("pid "))
                if len(lengths) < 4:
                    time.sleep(moments.uniform(0.0, 0.1))
                    with suppress(ProcessLookupError):  # it may have been faster
                        os.kill(child, signal.SIGKILL)
                heard = nursery.hear()
                killed += heard == "dead"
                lengths.append(len(journal.read_bytes().splitlines()) if journal.exists() else 0)
            assert nursery.hear() == "dead"
            assert lengths == sorted(lengths)
            same_searches(fitted(strategy, journal=journal), fitted(strategy))
    finally:
        nursery.close()
    assert killed > len(STRATEGIES)


def test_a_path_of_c_cut_anywhere_counts_its_kernel_once(tmp_path: Path) -> None:
    journal = tmp_path / "study.jsonl"
    X, y = two_classes()

    def search(**how: Any) -> ModelSearch:
        return ModelSearch(SVC(), objective="polarization", strategy=Downhill(steps=3), **how, random_state=0).fit(X, y)

    whole = search()
    same_searches(search(journal=journal), whole)
    lines = journal.read_bytes().splitlines()
    for count in range(4, len(lines)):
        cut(journal, lines, count)
        same_searches(search(journal=journal), whole)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_a_deadline_and_then_the_rest(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    how: dict[str, Any] = {"objective": "polarization", "strategy": Downhill(steps=30)}
    slow = SVC(kernel=Slow())
    whole = ModelSearch(slow, **how).fit(X, y)
    limited, turns = ModelSearch(slow, **how, journal=journal, max_time=0.08), 0
    for _ in range(100):
        turns += 1
        try:
            limited.fit(X, y)
        except TimeoutError:
            continue
        if limited.ended_ == whole.ended_ and len(limited.trace_) == len(whole.trace_):
            break
    assert turns > 1
    same_searches(limited, whole)


class Slow(kernels.Gaussian):
    """A kernel that takes its time."""

    def values(self, X: Any, Y: Any) -> Any:
        time.sleep(0.002)
        return super().values(X, Y)


def test_a_seed_that_nobody_gave_is_kept(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    how: dict[str, Any] = {"objective": Remembering(random=True), "strategy": Downhill(steps=30, at_once=3)}
    first = ModelSearch(SVC(), **how, journal=journal).fit(X, y)
    lines = journal.read_bytes().splitlines()
    assert json.loads(lines[1]).keys() == {"stage", "seed", "crc"}
    cut(journal, lines, 12)
    same_searches(ModelSearch(SVC(), **how, journal=journal).fit(X, y), first)
    other = ModelSearch(SVC(), **how).fit(X, y)
    assert other.best_value_ != first.best_value_


def test_more_evaluations_go_on_from_fewer(tmp_path: Path) -> None:
    journal = tmp_path / "study.jsonl"
    few = fitted("noisy-rprop", journal=journal, max_evaluations=40)
    assert few.n_evaluations_ == 41  # the point that is chosen was never asked for
    more = fitted("noisy-rprop", journal=journal, max_evaluations=70)
    same_searches(more, fitted("noisy-rprop", max_evaluations=70))
    same_searches(fitted("noisy-rprop", journal=journal, max_evaluations=40), few)


def test_evaluations_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    extend = Journal.extend

    def counted(self: Journal, records: Any, **how: Any) -> None:
        records = list(records)
        writes.append(len(records))
        extend(self, records, **how)

    monkeypatch.setattr(Journal, "extend", counted)
    X, y = two_classes()
    search = ModelSearch(SVC(), objective=Remembering(), strategy=Downhill(steps=500), random_state=0)
    search.set_params(journal=tmp_path / "study.jsonl").fit(X, y)
    assert sum(writes) == 500
    assert len(writes) < 50


@pytest.mark.parametrize("what", ["weights", "estimator", "objective", "strategy", "space", "random_state", "splits"])
def test_journals_of_other_searches_are_refused(what: str, tmp_path: Path) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"objective": "polarization", "strategy": Downhill(), "random_state": 0}
    how["journal"] = tmp_path / "study.jsonl"
    machine, fit = SVC(), {}
    ModelSearch(machine, **how).fit(X, y)
    before = how["journal"].read_bytes()
    if what == "weights":
        fit = {"sample_weight": np.full(len(y), 2.0)}
    elif what == "estimator":
        machine = SVC(tol=1e-4)
    else:
        how |= {
            "objective": {"objective": "target-alignment"},
            "strategy": {"strategy": Downhill(first=0.4)},
            "space": {"space": {"C": (0.1, 10.0), "gamma": (0.1, 1.0)}},
            "random_state": {"random_state": None},
            "splits": {"cv": 4},
        }[what]
    words = {"weights": "other sample weights", "space": "other parameters to search", "splits": "other folds"}
    with pytest.raises(JournalError, match=words.get(what, f"another {what}")):
        ModelSearch(machine, **how).fit(X, y, **fit)
    assert how["journal"].read_bytes() == before


def test_a_journal_in_a_nested_cross_validation(tmp_path: Path) -> None:
    X, y = two_classes()
    search = ModelSearch(SVC(), strategy=Downhill(), random_state=0, journal=tmp_path / "study.jsonl")
    plain = cross_val_score(clone(search).set_params(journal=None), X, y, cv=3)
    for _ in range(2):
        np.testing.assert_array_equal(cross_val_score(search, X, y, cv=3, error_score="raise"), plain)
        assert len(list(tmp_path.iterdir())) == 3


def test_a_journal_of_a_grid_is_refused(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    GridSearchCV(SVC(), {"C": [1.0, 2.0]}, journal=journal).fit(X, y)
    with pytest.raises(JournalError, match=r"belongs to a search with .*objective"):
        ModelSearch(SVC(), objective="polarization", strategy=Downhill(), journal=journal).fit(X, y)


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        (2, {"seed": "many"}, "'seed' is 'many' in place of a whole number"),
        (2, {"stage": "prologue"}, "belongs to no part"),
        (3, {"value": "good"}, "'value' is 'good' in place of a number"),
        (3, {"point": [1.0]}, "'point' is .* in place of a list of 2 numbers"),
        (3, {"gradient": [1.0, None]}, "'gradient' is .* in place of a list of 2 numbers"),
        (3, {"work": [1]}, "'work' is .* in place of counts of work by name"),
        (3, {"notes": [1]}, "'notes' is .* in place of a list of strings"),
        (3, {"measures": {"rate": "high"}}, "'measures' is .* in place of numbers by name"),
        (3, {"measures": [1.0]}, "'measures' is .* in place of numbers by name"),
        (3, {"colour": "red"}, "holds 'colour'"),
        (4, {"evaluation": 0}, "holds evaluation 0 again"),
        (4, {"point": [0.25, 0.5]}, "evaluation 1 is at another point"),
        (4, {"part": 0}, "evaluation 1 is at another point"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, line: int, change: dict[str, Any], words: str) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    search = ModelSearch(SVC(), objective=Remembering(), strategy=Downhill(steps=5), journal=journal).fit(X, y)
    lines = journal.read_bytes().splitlines(keepends=True)
    record = json.loads(unsealed(lines[line - 1].rstrip()))
    lines[line - 1] = sealed(json.dumps(record | change).encode() + b"\n")
    journal.write_bytes(b"".join(lines))
    before = journal.read_bytes()
    with pytest.raises(JournalError, match=f"damaged in line {line} of {len(lines)}, .*{words}"):
        search.fit(X, y)
    assert journal.read_bytes() == before


def test_a_journal_in_use_and_one_without_a_folder(tmp_path: Path) -> None:
    X, y = two_classes()
    search = ModelSearch(SVC(), objective="polarization", strategy=Downhill(), journal=tmp_path / "no" / "study.jsonl")
    with pytest.raises(JournalError, match="no folder"):
        search.fit(X, y)

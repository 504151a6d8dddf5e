"""Searches that are stopped and go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score

from widemargin import SVC, GridSearchCV
from widemargin.study import JournalError

GRID = {"C": 2.0 ** np.arange(-2, 8), "gamma": 10.0 ** np.linspace(-2, 1, 5)}

CHILD = """
import sys
import numpy as np
from widemargin import SVC, GridSearchCV
sys.path.insert(0, sys.argv[2])
from test_grid_search_journal import GRID, rows
X, y = rows()
GridSearchCV(SVC(), GRID, cv=4, journal=sys.argv[1]).fit(X, y)
"""


def rows(n: int = 700) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=n) > 0, "up", "down")


def scores(search: GridSearchCV) -> dict[str, Any]:
    return {key: value for key, value in search.cv_results_.items() if "time" not in key and key != "params"}


def assert_same(one: GridSearchCV, other: GridSearchCV) -> None:
    for key, value in scores(one).items():
        np.testing.assert_array_equal(value, other.cv_results_[key], err_msg=key)
    assert one.best_params_ == other.best_params_


def test_kill_at_any_moment_and_go_on(tmp_path: Path) -> None:
    X, y = rows()
    whole = GridSearchCV(SVC(), GRID, cv=4).fit(X, y)
    journal, rng, lengths = tmp_path / "study.jsonl", np.random.default_rng(1), [0]
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(journal), str(Path(__file__).parent)])
        ended = time.monotonic() + 60
        before = journal.stat().st_size if journal.exists() else 0
        # The child needs a while to start; it is killed soon after it has written something new.
        while child.poll() is None and time.monotonic() < ended:
            if journal.exists() and journal.stat().st_size > before + 200:
                break
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0, 0.03)))
        child.send_signal(signal.SIGKILL)
        child.wait()
        lengths.append(len(journal.read_bytes().splitlines()))
    assert lengths == sorted(lengths)
    assert lengths[-1] > 1
    resumed = GridSearchCV(SVC(), GRID, cv=4, journal=journal).fit(X, y)
    assert_same(resumed, whole)
    again = GridSearchCV(SVC(), GRID, cv=4, journal=journal).fit(X, y)
    assert_same(again, whole)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_a_deadline_and_then_the_rest(tmp_path: Path) -> None:
    X, y = rows()
    journal = tmp_path / "study.jsonl"
    whole = GridSearchCV(SVC(), GRID, cv=4).fit(X, y)
    limited = GridSearchCV(SVC(), GRID, cv=4, journal=journal, max_time=0.25)
    for _ in range(100):
        try:
            search = limited.fit(X, y)
        except TimeoutError:
            continue
        if search.work_report_.unfinished == 0:
            break
    assert_same(limited, whole)


def test_every_evaluation_is_a_line(tmp_path: Path) -> None:
    X, y = rows(200)
    journal = tmp_path / "study.jsonl"
    grid = {"C": [0.1, 1.0, -1.0], "gamma": [0.1, 1.0]}
    with pytest.warns(FitFailedWarning):
        GridSearchCV(SVC(), grid, cv=3, journal=journal, refit=False, error_score=0.0).fit(X, y)
    assert len(journal.read_text().splitlines()) == 1 + 2 * 2 * 3


def test_several_scores_survive(tmp_path: Path) -> None:
    X, y = rows(200)
    how: dict[str, Any] = {
        "scoring": ["accuracy", "balanced_accuracy"],
        "refit": "accuracy",
        "return_train_score": True,
        "cv": 3,
    }
    grid = {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}
    first = GridSearchCV(SVC(), grid, journal=tmp_path / "study.jsonl", **how).fit(X, y)
    second = GridSearchCV(SVC(), grid, journal=tmp_path / "study.jsonl", **how).fit(X, y)
    assert_same(second, first)


@pytest.mark.parametrize("what", ["grid", "splits", "scoring", "estimator", "weights"])
def test_journals_of_other_searches_are_refused(what: str, tmp_path: Path) -> None:
    X, y = rows(150)
    how: dict[str, Any] = {"cv": 3, "journal": tmp_path / "study.jsonl", "scoring": "accuracy"}
    grid, machine, fit = {"C": [0.1, 1.0]}, SVC(gamma=0.5), {}
    GridSearchCV(machine, grid, **how).fit(X, y)
    if what == "grid":
        grid = {"C": [0.1, 2.0]}
    elif what == "splits":
        how["cv"] = 4
    elif what == "scoring":
        how["scoring"] = "balanced_accuracy"
    elif what == "estimator":
        machine = SVC(gamma=0.6)
    else:
        fit = {"sample_weight": np.arange(1.0, 151.0)}
    with pytest.raises(JournalError):
        GridSearchCV(machine, grid, **how).fit(X, y, **fit)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_journal_in_a_nested_cross_validation(n_jobs: int, tmp_path: Path) -> None:
    X, y = rows(200)
    inner = GridSearchCV(SVC(), {"C": [0.1, 10.0]}, cv=3, journal=tmp_path / "study.jsonl")
    plain = cross_val_score(clone(inner).set_params(journal=None), X, y, cv=4)
    for _ in range(2):
        np.testing.assert_array_equal(cross_val_score(inner, X, y, cv=4, n_jobs=n_jobs, error_score="raise"), plain)
        files = sorted(tmp_path.iterdir())
        assert len(files) == 4
        assert tmp_path / "study.jsonl" in files
        assert [len(file.read_text().splitlines()) for file in files] == [1 + 2 * 3] * 4


def test_other_data_get_a_journal_beside_the_first(tmp_path: Path) -> None:
    X, y = rows(150)
    first = tmp_path / "study.jsonl"
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3, journal=first).fit(X, y)
    before = first.read_bytes()
    search.fit(X + 1e-9, y)
    search.fit(X, y[::-1])
    assert first.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(JournalError, match="another grid"):
        clone(search).set_params(param_grid={"C": [0.1, 2.0]}).fit(X + 1e-9, y)


def test_a_search_that_shares_nothing_has_no_journal(tmp_path: Path) -> None:
    X, y = rows(60)
    with pytest.raises(ValueError, match="journal"):
        GridSearchCV(SVC(solver="smo"), {"C": [1.0]}, journal=tmp_path / "study.jsonl").fit(X, y)


def test_progress_is_told(tmp_path: Path) -> None:
    class Recorder:
        def __init__(self) -> None:
            self.machines, self.done, self.best, self.left, self.reason = 0, 0, [], [], ""

        def start(self, machines: int) -> None:
            self.machines = machines

        def advance(self, machines: int, cost: float, expected_cost_left: float | None, best: float | None) -> None:
            self.done += machines
            self.best.append(best)
            self.left.append(expected_cost_left)

        def finish(self, reason: str) -> None:
            self.reason = reason

    X, y = rows(200)
    seen = Recorder()
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, cv=3, progress=seen).fit(X, y)
    assert seen.machines == seen.done == 12
    assert seen.best[-1] == pytest.approx(search.best_score_)
    assert seen.left[-1] == 0
    assert seen.reason == "finished"

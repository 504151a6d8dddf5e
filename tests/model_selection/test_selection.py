"""A machine chosen from the data alone."""

from __future__ import annotations

import _thread
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score

from widemargin import SVC, datasets, select
from widemargin.model_selection import growth, selection
from widemargin.model_selection.grid import grid_search, samples

X, Y = datasets.twonorm(150, random_state=0)


class Rounds:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.machines: list[int] = []
        self.reasons: list[str] = []

    def start(self, machines: int) -> None:
        self.machines.append(machines)

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        pass

    def finish(self, reason: str) -> None:
        self.reasons.append(reason)


def test_score_and_standard_error_are_those_of_the_chosen_machine() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    chosen = select(rows, labels)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(chosen.model, rows, labels, cv=folds)
    assert chosen.score == pytest.approx(scores.mean(), abs=0.002)
    assert chosen.standard_error == pytest.approx(scores.std(ddof=1) / np.sqrt(5), abs=0.001)
    machine = chosen.model[-1]
    assert isinstance(machine, SVC)
    assert (machine.C, machine.gamma) == (chosen.parameters["C"], chosen.parameters["gamma"])
    assert all(type(value) is float for value in chosen.parameters.values())
    assert chosen.parameters in chosen.ties
    assert chosen.work.fits == 5 * chosen.candidates


def test_lists_and_data_frames() -> None:
    expected = select(X, Y, cv=3)
    for rows, labels in ((X.tolist(), Y.tolist()), (pd.DataFrame(X).add_prefix("x"), pd.Series(Y))):
        chosen = select(rows, labels, cv=3)
        assert (chosen.parameters, chosen.score) == (expected.parameters, expected.score)
        np.testing.assert_array_equal(chosen.model.predict(rows), expected.model.predict(X))


def test_the_grid_grows_beyond_its_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = datasets.chess_board(200, size=2, random_state=0)
    monkeypatch.setattr(selection, "c_values", lambda: np.array([0.01, 0.04]))
    progress = Rounds()
    chosen = select(rows, labels, cv=3, progress=progress)
    assert chosen.parameters["C"] > 0.04
    assert len(chosen.reports) == len(progress.machines) > 1
    assert chosen.candidates == sum(progress.machines) / 3
    assert chosen.work.fits == sum(one.fits for one in chosen.reports) == sum(progress.machines)


def test_growth_that_brings_nothing_ends() -> None:
    # Without noise, larger values of C go on to score a little better, for ever more steps.
    rows, labels = datasets.chess_board(500, random_state=0)
    chosen = select(rows, labels)
    grid, *steps = chosen.reports
    assert (grid.fits, [step.fits for step in steps]) == (5 * 72, [5 * 8])
    assert chosen.edges == {}
    assert chosen.score > 0.97


def test_saturation_is_that_of_the_machines_on_the_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    # The best C is the largest of the grid, and the first that no coefficient meets.
    rows, labels = datasets.chess_board(200, size=2, random_state=0)
    chosen = select(rows, labels)
    machine = chosen.model[-1]
    assert machine.C == 4096.0
    assert 1024.0 < np.abs(machine.dual_coef_).max() < 4096.0
    assert len(chosen.reports) == 1
    assert chosen.edges == {}
    monkeypatch.setattr(growth.GrowthStep, "is_saturated", lambda *_: False)
    needless = select(rows, labels)
    assert len(needless.reports) == 2
    assert (needless.parameters, needless.score) == (chosen.parameters, chosen.score)


def test_a_step_along_c_computes_no_kernel_again() -> None:
    rows, labels = datasets.chess_board(500, random_state=0)
    chosen = select(rows, labels)
    assert [one.kernel_evaluations for one in chosen.reports] == [8 * 5 * 500**2, 0]


def test_a_step_along_gamma_computes_its_own_kernel_only() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    chosen = select(rows, rows @ [50.0, 100.0, 150.0], regression=True)
    assert [one.kernel_evaluations for one in chosen.reports] == [8 * 5 * 60**2, 5 * 60**2]


def test_kernels_that_take_too_much_room_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = datasets.chess_board(500, random_state=0)
    expected = select(rows, labels)
    monkeypatch.setattr(samples, "ROOM_FOR_KERNELS", 2**20)
    chosen = select(rows, labels)
    # The second step counts the matrix on which the largest C was seen to be met.
    assert [one.kernel_evaluations for one in chosen.reports] == [40 * 500**2, 41 * 500**2]
    assert (chosen.parameters, chosen.score, chosen.ties) == (expected.parameters, expected.score, expected.ties)


def test_kernels_are_let_go_of_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[Any] = []
    alive: list[bool] = []

    class Watched(grid_search.SharedSearch):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            searches.append(weakref.ref(self))

    def fit(self: SVC, *given: Any) -> Any:
        alive.extend(search() is not None for search in searches)
        return plain(self, *given)

    plain = SVC.fit
    monkeypatch.setattr(grid_search, "SharedSearch", Watched)
    monkeypatch.setattr(SVC, "fit", fit)
    rows, labels = datasets.chess_board(500, random_state=0)
    assert len(select(rows, labels).reports) == 2
    assert alive == [False, False]


def test_folds_of_a_splitter() -> None:
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    expected, chosen = (select(X, Y, cv=cv) for cv in (folds, list(folds.split(X, Y))))
    assert chosen.work.fits == 4 * chosen.candidates
    assert (chosen.parameters, chosen.score) == (expected.parameters, expected.score)
    with pytest.raises(ValueError, match="n_splits=1"):
        select(X, Y, cv=1)


def test_edges_that_remain_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = datasets.chess_board(200, size=2, random_state=0)
    monkeypatch.setattr(selection, "c_values", lambda: np.array([0.01, 0.04]))
    monkeypatch.setattr(growth, "MOST_STEPS", 0)
    assert select(rows, labels, cv=3).edges["C"] == "largest"


def test_a_journal_for_each_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "c_values", lambda: np.array([0.01, 0.04]))
    how: dict[str, Any] = {"cv": 3, "journal": str(tmp_path / "study.jsonl")}
    first, again = select(X, Y, **how), select(X, Y, **how)
    assert (first.parameters, first.score) == (again.parameters, again.score)
    names = ["study.jsonl", *(f"study.{number}.jsonl" for number in range(2, len(first.reports) + 1))]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_a_deadline_before_anything_is_found() -> None:
    with pytest.raises(TimeoutError, match="max_time=1e-09 is too short: no candidate was finished"):
        select(X, Y, max_time=1e-9)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_an_interrupted_search_does_not_grow() -> None:
    rows, labels = datasets.chess_board(600, random_state=0)

    class Interrupting(Rounds):
        def advance(self, machines: int, cost: float, left: float | None, best_score: float | None) -> None:
            if best_score is not None and not self.sent:
                self.sent = True
                threading.Timer(0.01, _thread.interrupt_main).start()

        sent = False

    progress = Interrupting()
    chosen = select(rows, labels, progress=progress)
    assert progress.reasons[-1] == "interrupted"
    assert chosen.work.unfinished > 0
    assert len(progress.reasons) == len(chosen.reports)

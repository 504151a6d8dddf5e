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
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

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
    first, second = (one.kernel_evaluations for one in select(rows, labels).reports)
    # Each kernel once in float32, and once more in float64 where float32 has too few digits for C.
    assert 8 * 5 * 500**2 <= first <= 2 * 8 * 5 * 500**2
    assert second <= 8 * 5 * 500**2


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
    # The second step counts the matrices that the first one had, and that on which the largest C was seen to be met.
    assert all(one.kernel_evaluations >= 40 * 500**2 for one in chosen.reports)
    assert chosen.reports[1].kernel_evaluations >= expected.reports[1].kernel_evaluations + 41 * 500**2
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


def test_the_score_is_compared_with_that_of_no_model() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    chosen = select(rows, labels)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    alone = cross_val_score(DummyClassifier(strategy="most_frequent"), rows, labels, cv=folds)
    assert chosen.baseline == pytest.approx(alone.mean())
    assert chosen.beats_baseline
    rng = np.random.default_rng(0)
    noise, numbers = rng.normal(size=(100, 2)), rng.normal(size=100)
    chosen = select(noise, numbers, regression=True)
    alone = cross_val_score(DummyRegressor(), noise, numbers, cv=KFold(5, shuffle=True, random_state=0))
    assert chosen.baseline == pytest.approx(alone.mean())
    assert not chosen.beats_baseline
    assert not select(noise, np.ones(100), regression=True).beats_baseline  # both scores are 1


FRAME = pd.DataFrame(X[:, :2], columns=["age", "income"])
LETTERS = np.where(Y > 0, "a", "b").astype(object)


@pytest.mark.parametrize(
    ("y", "more", "sentence"),
    [
        (np.ones(150), {}, "y holds one class only, 1.0; a classifier needs two"),
        (["a"] * 150, {}, "y holds one class only, 'a'; a classifier needs two"),
        (None, {}, "y is None, but select needs a class for each sample, or a number and regression=True."),
        (None, {"regression": True}, "y is None, but select needs a number for each sample."),
        ([None, *LETTERS[1:]], {}, "y is None in row 0, but a class is needed; leave samples without one out."),
        ([*LETTERS[1:], np.nan], {}, "y is nan in row 149, but a class is needed"),
        (pd.Series([*LETTERS[1:], pd.NA], dtype="string"), {}, "y is <NA> in row 149, but a class is needed"),
        ([*Y[1:], np.nan], {}, "y is nan in row 149, but a class is needed"),
        ([*X[1:, 0], np.nan], {"regression": True}, "y is nan in row 149, but a number is needed"),
        ([*X[1:, 0], np.inf], {"regression": True}, "y is inf in row 149, but a number is needed"),
        (X[:, 0], {}, "in row 0, a number that is not whole, so no class; pass regression=True to predict numbers."),
        (LETTERS, {"regression": True}, "in row 0, but regression=True predicts numbers; leave it out to predict clas"),
        ([1, *LETTERS[1:]], {}, "y mixes classes of the types int and str; give all of them one type."),
        (Y[:20], {}, r"y has shape \(20,\), but X has 150 samples; a class for each of them is needed."),
        (np.c_[Y, Y], {}, r"y has shape \(150, 2\), but X has 150 samples; a class for each of them is needed."),
        (np.arange(150) == 7, {}, r"cv=5 leaves 1 class of y to train on in split \d, \[False\]; every split needs"),
    ],
    ids=lambda value: None if isinstance(value, dict | str) else "",
)
@pytest.mark.filterwarnings("ignore:The least populated class in y")
def test_targets_that_cannot_be_learnt(y: Any, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        select(FRAME, y, **more)
    with pytest.raises(ValueError, match=sentence):
        select(["ACGT"] * 150, y, **more)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_missing_are_named(value: float) -> None:
    rows = FRAME.copy()
    rows.loc[7, "income"] = value
    named = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=rf"Input X contains {named} in column 1 \('income'\), first at row 7; only"):
        select(rows, Y)
    with pytest.raises(ValueError, match=rf"Input X contains {named} in column 1, first at row 7; only"):
        select(rows.to_numpy(), Y)
    with pytest.raises(ValueError, match=rf"Input X contains {named} in column 1, first at row 7; only"):
        select(sp.csr_matrix(rows.to_numpy()), Y)

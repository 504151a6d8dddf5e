"""Searches over one-class machines with squared slack, by either solver, and over rejection targets; no labels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import check_cells, data
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import GridSearchCV, LeaveOneOutScore, OneClassSVM, RegionScore, RejectionScore, UnfinishedSearchWarning
from widemargin.machines.max_min_over import count_to_gap

GRID = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": [0.02, 0.2]}
BOTH: dict[str, Any] = {
    "scoring": {"rejection": RejectionScore(0.1), "leave_one_out": LeaveOneOutScore()},
    "refit": "rejection",
}


def depth(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    return float(np.average(estimator.decision_function(X), weights=sample_weight))


def squared(**parameters: Any) -> OneClassSVM:
    return OneClassSVM(**{"loss": "squared_hinge", "tol": 1e-6, **parameters})


def alone(machine: Any, X: Any, grid: Any = None, fit: dict[str, Any] | None = None, **how: Any) -> Any:
    """Search with the shared work and without it."""
    how = {"cv": 3, "scoring": depth, **how}
    grid = GRID if grid is None else grid
    ours = GridSearchCV(machine, grid, **how).fit(X, **(fit or {}))
    check_cells(ours, PlainGridSearchCV(machine, grid, **how).fit(X, **(fit or {})))
    return ours


@pytest.mark.parametrize("how", [{}, {"scoring": RejectionScore()}, BOTH], ids=["depth", "rejection", "both"])
def test_the_same_numbers(how: dict[str, Any]) -> None:
    X, _ = data("two")
    found = alone(squared(), X, return_train_score=True, **how)
    assert found.work_report_.fits == 24
    assert "scoring" not in how or found.best_estimator_.offset_ == 1.0


def test_without_a_scorer_one_row_in_twenty_is_to_be_rejected() -> None:
    X, _ = data("two")
    found, named = (GridSearchCV(squared(), GRID, cv=3, scoring=how).fit(X) for how in (None, RegionScore(0.05)))
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


@pytest.mark.parametrize("name", ["two", "iris", "wine"])
def test_counting_finds_the_same_machines(name: str) -> None:
    X, _ = data(name)
    counted = GridSearchCV(squared(solver="maxminover", tol=1e-6), GRID, cv=3, scoring=depth).fit(X)
    check_cells(counted, GridSearchCV(squared(), GRID, cv=3, scoring=depth).fit(X))
    assert counted.work_report_.iterations > 0


def test_counting_with_both_scores() -> None:
    X, _ = data("two")
    machine = squared(solver="maxminover", tol=1e-7)
    found = alone(machine, X, **{**BOTH, "scoring": {**BOTH["scoring"], "depth": depth}})
    assert set(found.scorer_) == {"rejection", "leave_one_out", "depth"}


@pytest.mark.parametrize("plan", ["cold", "heuristic"])
def test_counting_goes_on_from_the_last_counts(plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data("two")
    starts: list[tuple[float, float]] = []

    def watched(state: Any, bounds: Any, **options: Any) -> Any:
        starts.append((float(bounds[0]), float(state.counts.sum())))
        assert (state.counts == np.rint(state.counts)).all()
        return count_to_gap(state, bounds, **options)

    monkeypatch.setattr("widemargin.machines.max_min_over.count_to_gap", watched)
    machine = squared(solver="maxminover", tol=1e-4)
    GridSearchCV(machine, GRID, cv=3, scoring=depth, refit=False, plan=plan).fit(X)
    if plan == "cold":
        assert [C for C, _ in starts] == [1.0, 10.0, 100.0, 1000.0] * 6
        assert [counts > 0 for _, counts in starts] == [number % 4 > 0 for number in range(24)]
        return
    # From the largest C down. On the first split, the rest of a chain goes on from its first machine, which is
    # looked at once more; the first machine of all has nothing to start from.
    first, others = [1000.0, 1000.0, 100.0, 10.0, 1.0], [1000.0, 100.0, 10.0, 1.0]
    assert [C for C, _ in starts] == [*first, *others, *others] * 2
    assert [counts > 0 for _, counts in starts] == [number > 0 for number in range(26)]


@pytest.mark.parametrize("solver", ["auto", "maxminover"])
def test_weights_and_shuffled_splits(solver: str) -> None:
    X, _ = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-0.5, 0.5, size=len(X))
    weights[::9] = 0.0
    cv = ShuffleSplit(3, train_size=0.5, test_size=0.3, random_state=0)
    alone(squared(solver=solver), X, fit={"sample_weight": weights}, cv=cv)
    # Whether a coefficient is 0 or next to it makes a support vector more or less.
    tolerance = 1e-8 if solver == "maxminover" else 1e-6
    alone(squared(solver=solver, tol=tolerance), X, fit={"sample_weight": weights + 0.1}, **BOTH)


@pytest.mark.parametrize("solver", ["auto", "maxminover"])
def test_a_pipeline(solver: str) -> None:
    X, _ = data("iris")
    machine = Pipeline([("scale", StandardScaler()), ("one", squared(solver=solver))])
    grid = {"one__C": [1.0, 10.0], "one__gamma": [0.1, 1.0]}
    alone(machine, X, grid)
    alone(machine, X, grid, **BOTH)
    alone(machine, X, grid, scoring=RejectionScore())


@pytest.mark.parametrize("solver", ["auto", "maxminover"])
@pytest.mark.parametrize("kernel", ["poly", "precomputed", "callable"])
def test_kernels(kernel: str, solver: str) -> None:
    X, _ = data("wine")
    X = rbf_kernel(X, gamma=0.05) if kernel == "precomputed" else 0.1 * np.abs(X) + 0.5
    machine = squared(kernel=rbf_kernel if kernel == "callable" else kernel, gamma=0.05, coef0=1.0, solver=solver)
    alone(machine, X[::3] if kernel == "callable" else X, {"C": [1.0, 10.0, 100.0]})


@pytest.mark.parametrize("solver", ["auto", "maxminover"])
def test_little_memory_changes_no_score(solver: str) -> None:
    X, _ = data("two")
    whole, rows = (
        GridSearchCV(squared(solver=solver), GRID, cv=3, scoring=depth, max_memory=m).fit(X) for m in ("auto", 1e-3)
    )
    check_cells(rows, whole)


@pytest.mark.parametrize("parameters", [{}, {"loss": "squared_hinge", "C": 10.0}], ids=["hinge", "squared"])
@pytest.mark.parametrize("scoring", [depth, RejectionScore()], ids=["depth", "rejection"])
def test_targets(parameters: dict[str, Any], scoring: Any) -> None:
    X, _ = data("breast_cancer")
    machine = OneClassSVM(tol=1e-6, **parameters)
    found = alone(machine, X, {"target_rejection": [0.05, 0.2], "gamma": [0.005, 0.05]}, scoring=scoring)
    if scoring is not depth:
        # A threshold that was set by held-out rows rejects about the share that is asked for.
        assert found.best_score_ > -0.03


def test_machines_with_one_target_share_a_chain() -> None:
    X, _ = data("two")
    grid = {"C": [1.0, 10.0, 100.0], "target_rejection": [0.1], "gamma": [0.2]}
    alone(squared(), X, grid)
    # The machine does not depend on the target, only its threshold does.
    found = alone(squared(C=10.0, gamma=0.2), X, {"target_rejection": [0.05, 0.1, 0.3]})
    assert (found.work_report_.trained, found.work_report_.skipped) == (3, 6)


@pytest.mark.parametrize("weighted", [False, True])
def test_targets_of_precomputed_kernels_and_weights(weighted: bool) -> None:
    X, _ = data("two")
    fit = {"sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))} if weighted else {}
    machine = OneClassSVM(kernel="precomputed", tol=1e-6)
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)
    alone(machine, rbf_kernel(X, gamma=0.1), {"target_rejection": [0.1, 0.3]}, fit, cv=cv)


def test_a_start_from_the_last_machine_changes_no_machine() -> None:
    X, _ = data("two")

    def objective(estimator: Any, X: Any, y: Any = None) -> float:
        return float(estimator.fit_report_[0].objective)

    for solver, tolerance in (("auto", 1e-8), ("maxminover", 1e-6)):
        machine = squared(solver=solver, tol=tolerance)
        together = GridSearchCV(machine, GRID, cv=3, scoring=objective, refit=False).fit(X).cv_results_
        for params, score in zip(together["params"], together["mean_test_score"], strict=True):
            cold = GridSearchCV(machine, {k: [v] for k, v in params.items()}, cv=3, scoring=objective, refit=False)
            assert score == pytest.approx(cold.fit(X).cv_results_["mean_test_score"][0], rel=10 * tolerance)


def test_solvers_and_slacks_in_one_grid() -> None:
    X, _ = data("two")
    grid = [
        {"nu": [0.1, 0.3]},
        {"loss": ["squared_hinge"], "C": [1.0, 10.0], "solver": ["auto", "maxminover"]},
        {"loss": ["squared_hinge"], "C": [10.0], "target_rejection": [0.1]},
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone(OneClassSVM(tol=1e-6, gamma=0.2), X, grid)


def test_counting_whose_time_is_up_at_once_is_unfinished_not_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, _ = data("two")
    machine, grid = squared(solver="maxminover", tol=1e-3), {"C": [1.0, 10.0], "gamma": [50.0, 200.0]}
    how: dict[str, Any] = {"cv": 3, "scoring": depth, "refit": False, "plan": "cold"}
    undisturbed = GridSearchCV(machine, grid, **how).fit(X)
    calls: list[float] = []

    def hurried(state: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(float(state.counts.sum()))
        if calls[-1] > 0.0 or len(calls) <= 6:
            return count_to_gap(state, *arguments, **options)
        # As if the clock had been looked at after three steps.
        found = count_to_gap(state, *arguments, stop=replace(options["stop"], max_iterations=3))
        return replace(found, outcome=replace(found.outcome, reason="time budget"))

    journal = tmp_path / "study.jsonl"
    with monkeypatch.context() as patched, warnings.catch_warnings():
        patched.setattr("widemargin.machines.max_min_over.count_to_gap", hurried)
        warnings.simplefilter("error")
        with pytest.warns(UnfinishedSearchWarning, match="2 of 4 candidates were not finished"):
            GridSearchCV(machine, grid, max_time=0.5, journal=journal, **how).fit(X)
    resumed = GridSearchCV(machine, grid, journal=journal, **how).fit(X)
    assert resumed.work_report_.unfinished == 0
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(resumed.cv_results_[key], undisturbed.cv_results_[key])

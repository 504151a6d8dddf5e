"""Searches over machines that train each class against all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from searches import classifier, data, search_alone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import GridSearchCV
from widemargin.testing import many_class_points

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}


@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": "squared_hinge"}, {"fit_intercept": False}, {"class_weight": "balanced"}],
)
@pytest.mark.parametrize("name", ["iris", "three"])
def test_shared_and_alone(name: str, parameters: Any) -> None:
    X, y = data(name)
    ours, theirs = search_alone(classifier(multi_class="ovr", **parameters), GRID, X, y, return_train_score=True)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=0.002)
    assert ours.best_estimator_.dual_coef_.shape[0] == 3
    assert ours.work_report_.kernel_evaluations < ours.work_report_.cold_kernel_evaluations


def test_schemes_and_rules_side_by_side() -> None:
    X, y = many_class_points(5, 30)
    grid = {**GRID, "multi_class": ["ovo", "ovr"], "decision": ["auto", "fuzzy-minimum"]}
    ours, _ = search_alone(classifier(), grid, X, y)
    scores = {
        (params["multi_class"], params["decision"], params["C"], params["gamma"]): score
        for params, score in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True)
    }
    for C in GRID["C"]:
        for gamma in GRID["gamma"]:
            assert scores["ovr", "auto", C, gamma] == scores["ovr", "fuzzy-minimum", C, gamma]
    assert any(scores["ovo", "auto", C, 0.5] != scores["ovr", "auto", C, 0.5] for C in GRID["C"])


@pytest.mark.parametrize("plan", ["heuristic", "learn", "cold"])
@pytest.mark.parametrize("memory", ["auto", 0.01])
def test_plans_and_kernels_that_do_not_fit(plan: str, memory: Any) -> None:
    X, y = data("iris")
    search = GridSearchCV(classifier(multi_class="ovr"), GRID, cv=3, plan=plan, max_memory=memory).fit(X, y)
    _, alone = search_alone(classifier(multi_class="ovr"), GRID, X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], atol=0.002)


def test_splits_without_a_class_and_hard_margins() -> None:
    X, y = data("iris")
    groups = np.where(y == 2, 0, np.arange(len(y)) % 2 + 1)
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    grid = {"C": [1.0, np.inf], "gamma": [5.0]}
    ours, _ = search_alone(classifier(multi_class="ovr"), grid, X, y, cv=splits)
    assert ours.cv_results_["split0_test_score"].tolist() == [0.0, 0.0]  # of a class that it has not seen


def test_a_scorer_gets_the_decision_values_of_all_classes() -> None:
    X, y = data("iris")

    def largest(machine: Any, X: Any, y: Any) -> float:
        values = machine.decision_function(X)
        assert values.shape == (len(y), 3)
        return float(np.mean(values.argmax(axis=1) == y))

    ours = GridSearchCV(classifier(multi_class="ovr"), GRID, cv=3, scoring=largest).fit(X, y)
    plain = GridSearchCV(classifier(multi_class="ovr"), GRID, cv=3).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


def test_pipelines_weights_and_sparse_rows() -> None:
    X, y = data("iris")
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    search_alone(classifier(multi_class="ovr"), GRID, sp.csr_array(X), y, fit={"sample_weight": weights})
    pipeline = make_pipeline(StandardScaler(), classifier(multi_class="ovr"))
    search_alone(pipeline, {f"svc__{name}": values for name, values in GRID.items()}, X, y)


def test_a_journal_continues(tmp_path: Path) -> None:
    X, y = data("iris")
    path = tmp_path / "study.jsonl"
    whole = GridSearchCV(classifier(multi_class="ovr"), GRID, cv=3, journal=path).fit(X, y)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    again = GridSearchCV(classifier(multi_class="ovr"), GRID, cv=3, journal=path).fit(X, y)
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(again.best_estimator_.dual_coef_, whole.best_estimator_.dual_coef_)

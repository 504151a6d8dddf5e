"""Every machine of a search, wherever it started, is as good as one that started from nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from searches import classifier, data, regressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from widemargin import GridSearchCV

GRID = {"C": [0.1, 1.0, 10.0, 1000.0], "gamma": [0.01, 0.1, 1.0]}
SPLITS = KFold(3, shuffle=True, random_state=0)
MACHINES = {
    "two classes": (classifier(tol=1e-6), "two"),
    "three classes": (classifier(tol=1e-6), "three"),
    "class weights": (classifier(tol=1e-6, class_weight="balanced"), "two"),
    "squared hinge": (classifier(tol=1e-6, loss="squared_hinge"), "two"),
    "no intercept": (classifier(tol=1e-6, fit_intercept=False), "two"),
    "tube": (regressor(tol=1e-6), "friedman"),
    "squared tube": (regressor(tol=1e-6, loss="squared_epsilon_insensitive"), "friedman"),
}


def certified(machine: Any, X: Any, y: Any) -> dict[str, float]:
    """Return the dual objective of a fitted machine, summed over its problems, and the largest violation."""
    problems = machine.fit_report_
    return {
        "objective": sum(one.objective for one in problems),
        "violation": max(one.kkt_violation for one in problems),
    }


@pytest.mark.parametrize("plan", ["heuristic", "learn", "cold"])
@pytest.mark.parametrize("name", MACHINES)
def test_objectives_are_those_of_cold_machines(name: str, plan: str) -> None:
    machine, source = MACHINES[name]
    X, y = data(source)
    how: dict[str, Any] = {"scoring": certified, "refit": False, "cv": SPLITS, "n_jobs": 2}
    found = GridSearchCV(machine, GRID, plan=plan, **how).fit(X, y).cv_results_
    for number, params in enumerate(found["params"]):
        alone = GridSearchCV(machine, {key: [value] for key, value in params.items()}, **how).fit(X, y).cv_results_
        for split in range(3):
            objective, violation = (found[f"split{split}_test_{key}"][number] for key in ("objective", "violation"))
            assert objective == pytest.approx(alone[f"split{split}_test_objective"][0], rel=1e-6), (split, params)
            assert violation <= 1e-6, (split, params)


def test_objectives_are_what_they_say() -> None:
    """By the definition: the sum of the coefficients less half of the norm of the normal."""
    X, y = data("two")

    def difference(machine: Any, X: Any, y: Any) -> float:
        alpha, support = machine.dual_coef_.ravel(), machine.support_vectors_
        value = np.abs(alpha).sum() - 0.5 * alpha @ rbf_kernel(support, gamma=machine.gamma) @ alpha
        return float(value / machine.fit_report_[0].objective - 1.0)

    grid = {**GRID, "C": [0.1, 1.0, 10.0]}  # the kernel values of a search are floats, and a large C magnifies that
    found = GridSearchCV(classifier(), grid, scoring=difference, refit=False, cv=SPLITS).fit(X, y).cv_results_
    for split in range(3):
        assert np.abs(found[f"split{split}_test_score"]).max() < 1e-5

"""Where the chains of a search start: plans change its work, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from searches import GRID, check_cells, classifier, data, regressor
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, NuSVC, NuSVR


def searched(machine: Any, name: str, plan: str, grid: Any = None, **options: Any) -> GridSearchCV:
    return GridSearchCV(machine, GRID if grid is None else grid, cv=4, plan=plan, **options).fit(*data(name))


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
@pytest.mark.parametrize("memory", ["auto", 1e-3])
def test_a_plan_changes_no_score(name: str, memory: Any) -> None:
    machine = regressor() if name == "friedman" else classifier()
    cold, *others = (searched(machine, name, plan, max_memory=memory) for plan in ("cold", "heuristic", "learn"))
    for other in others:
        check_cells(other, cold)
        assert other.best_params_ == cold.best_params_


@pytest.mark.parametrize("options", [{"loss": "squared_hinge"}, {"fit_intercept": False}, {"class_weight": "balanced"}])
def test_other_machines(options: dict[str, Any]) -> None:
    check_cells(*(searched(classifier(**options), "two", plan) for plan in ("heuristic", "cold")))


def test_a_pipeline_starts_its_splits_from_the_first() -> None:
    machine = make_pipeline(StandardScaler(), SVC(tol=1e-6))
    grid = {f"svc__{name}": values for name, values in GRID.items()}
    check_cells(*(searched(machine, "two", plan, grid) for plan in ("heuristic", "cold")))


def test_steps_are_saved() -> None:
    X, y = data("breast_cancer")
    steps = [
        GridSearchCV(SVC(), GRID, cv=5, plan=plan).fit(X, y).work_report_.iterations for plan in ("heuristic", "cold")
    ]
    assert steps[0] < steps[1]


@pytest.mark.parametrize("plan", ["heuristic", "learn"])
def test_the_result_does_not_depend_on_who_works_on_what(plan: str) -> None:
    alone, together = (searched(classifier(), "three", plan, n_jobs=n_jobs).cv_results_ for n_jobs in (1, 3))
    for key in alone:
        if "time" not in key:
            np.testing.assert_array_equal(alone[key], together[key])


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_first_split_that_cannot_be_trained_on_spoils_no_other() -> None:
    X, y = data("two")
    splits = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1)), (np.arange(0, 120, 2), np.arange(1, 120, 2))]
    with pytest.warns(FitFailedWarning, match="fits failed out of"):
        found = GridSearchCV(classifier(), GRID, cv=splits, error_score=0.0, refit=False).fit(X, y).cv_results_
    assert (found["split0_test_score"] == 0.0).all()
    assert (found["split1_test_score"] > 0.0).all()


def test_what_is_learnt_does_not_depend_on_who_works_on_what_where_the_backbone_branches() -> None:
    grid = {"C": [0.1, 1.0], "gamma": [0.01, 0.1, 1.0], "epsilon": [0.05, 0.1, 0.2]}
    machine = regressor()
    alone, together = (searched(machine, "friedman", "learn", grid, n_jobs=n_jobs).cv_results_ for n_jobs in (1, 3))
    np.testing.assert_array_equal(alone["mean_test_score"], together["mean_test_score"])


@pytest.mark.parametrize("plan", ["warm", None, 3, ["cold"]])
def test_what_is_no_plan_is_refused(plan: Any) -> None:
    with pytest.raises(ValueError, match=r"plan must be 'heuristic', 'learn', 'cold' or a widemargin.plans.Plan; got"):
        GridSearchCV(SVC(), GRID, plan=plan).fit(*data("two"))


@pytest.mark.parametrize("machine", [NuSVC(), NuSVR()], ids=str)
def test_machines_that_take_no_starts_have_nothing_to_learn(machine: Any) -> None:
    X, y = data("two")
    grid = {"nu": [0.2, 0.4], "gamma": [0.1, 1.0]}
    name = type(machine).__name__
    with pytest.raises(ValueError, match=rf"plan='learn' needs models .*\(SVC, SVR, OneClassSVM or SVDD\).*of {name}"):
        GridSearchCV(machine, grid, cv=3, plan="learn").fit(X, y)
    check_cells(*(GridSearchCV(machine, grid, cv=3, plan=plan).fit(X, y) for plan in ("heuristic", "cold")))

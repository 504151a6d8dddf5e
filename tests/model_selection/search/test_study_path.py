"""C along a path, once the kernel is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_searches import Downhill, same_searches, targets, three_classes, two_classes
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, GridSearchCV, ModelSearch, kernels
from widemargin.datasets import chess_board
from widemargin.model_selection import growth
from widemargin.plans.ranges import c_values
from widemargin.solvers import SMO


def search(machine: Any, **how: Any) -> ModelSearch:
    return ModelSearch(machine, **{"objective": "polarization", "strategy": Downhill(), **how})


def path_of(found: ModelSearch) -> tuple[list[float], list[float]]:
    own = found.trace_["stage"] == "C"
    return found.trace_["C"][own].tolist(), found.trace_["value"][own].tolist()


@pytest.mark.parametrize("name", ["two", "three", "numbers", "pipeline", "squared"])
def test_it_is_a_grid_search_of_the_chosen_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "MOST_STEPS", 0)
    X, y = {"three": three_classes, "numbers": targets}.get(name, two_classes)()
    machine: Any = {
        "two": SVC(class_weight="balanced"),
        "three": SVC(fit_intercept=False),
        "numbers": SVR(epsilon=0.5),
        "pipeline": make_pipeline(StandardScaler(), SVC()),
        "squared": SVC(loss="squared_hinge"),
    }[name]
    found = search(machine, cv=3).fit(X, y)
    prefix = "svc__" if name == "pipeline" else ""
    unit = float(np.std(y)) if name == "numbers" else 1.0
    kernel = {f"{prefix}gamma": [found.best_params_[f"{prefix}gamma"]]}
    grid = GridSearchCV(machine, {f"{prefix}C": c_values() * unit, **kernel}, cv=3).fit(X, y)
    prices, scores = path_of(found)
    assert prices == (c_values() * unit).tolist()
    assert scores == grid.cv_results_["mean_test_score"].tolist()
    assert found.best_params_[f"{prefix}C"] == grid.best_params_[f"{prefix}C"]
    assert found.best_score_ == grid.best_score_
    report = found.work_report_.path
    assert report is not None
    assert report.fits == 27
    assert report.kernel_evaluations == grid.work_report_.kernel_evaluations
    path = found.trace_["stage"] == "C"
    assert found.trace_["iterations"][path].sum() == report.iterations
    assert found.trace_["trained"][path].sum() == report.trained
    assert "then C: 27 fits" in str(found.work_report_)


@pytest.mark.parametrize("kernel", [kernels.DiagonalGaussian(), kernels.GeneralGaussian(), 0.5 * kernels.Gaussian()])
def test_kernel_values_of_objects_are_computed_once(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "MOST_STEPS", 0)
    X, y = two_classes()
    found = search(SVC(kernel=kernel), objective="target-alignment").fit(X, y)
    assert found.work_report_.path is not None
    assert found.work_report_.path.kernel_evaluations <= len(y) ** 2
    assert (found.trace_["stage"] == "C").sum() == 9


def test_without_a_path_the_score_is_the_objective() -> None:
    X, y = two_classes()
    found = search(SVC()).fit(X, y)
    assert found.best_score_ == max(path_of(found)[1])
    found.set_params(space={"gamma": (1e-3, 1.0)}).fit(X, y)
    assert found.best_score_ == found.best_value_
    assert not {"cv_results_", "best_index_", "n_splits_"} & vars(found).keys()


def test_the_smallest_of_the_best_is_chosen() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-5, 1, size=(30, 2)), rng.normal(5, 1, size=(30, 2))])
    found = search(SVC()).fit(X, np.repeat([0, 1], 30))
    prices, scores = path_of(found)
    assert max(scores) == 1.0
    assert found.best_params_["C"] == min(C for C, score in zip(prices, scores, strict=True) if score == 1.0)


def test_it_goes_on_beyond_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widemargin.model_selection.search.study.c_values", lambda: np.array([0.01, 0.04]))
    X, y = chess_board(200, size=2, random_state=0)
    found = search(SVC()).fit(X, y)
    prices, scores = path_of(found)
    assert len(prices) > 2
    assert found.best_params_["C"] == prices[int(np.argmax(scores))] > 0.04
    report = found.work_report_.path
    assert report is not None
    assert report.fits == 5 * len(prices)
    assert report.kernel_evaluations == len(y) ** 2  # the steps beyond have the kernels of the first one


def test_a_range_is_kept_to() -> None:
    X, y = two_classes()
    found = search(SVC(), space={"C": (1e-3, 4e-3), "gamma": (0.01, 1.0)}).fit(X, y)
    assert path_of(found)[0] == [1e-3, 4e-3]
    assert found.edges_["C"] in ("smallest", "largest")


def test_splitters_draw_once() -> None:
    X, y = two_classes()
    random = ShuffleSplit(3, random_state=np.random.RandomState(0))
    one = search(SVC(), cv=random).fit(X, y)
    two = search(SVC(), cv=random).fit(X, y)
    assert path_of(one)[1] != path_of(two)[1]
    groups = np.arange(len(y)) % 6
    grouped = search(SVC(), cv=GroupKFold(3)).fit(X, y, groups=groups)
    kernel = {"gamma": [grouped.best_params_["gamma"]]}
    grid = GridSearchCV(SVC(), {"C": c_values(), **kernel}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert path_of(grouped)[1][:9] == grid.cv_results_["mean_test_score"].tolist()


def test_scoring() -> None:
    X, y = two_classes()
    by_area = search(SVC(), scoring="roc_auc", cv=KFold(3)).fit(X, y)
    kernel = {"gamma": [by_area.best_params_["gamma"]]}
    grid = GridSearchCV(SVC(), {"C": c_values(), **kernel}, cv=KFold(3), scoring="roc_auc").fit(X, y)
    assert path_of(by_area)[1][:9] == grid.cv_results_["mean_test_score"].tolist()


def test_machines_that_cannot_share_work_do_along_the_path() -> None:
    X, y = two_classes()
    own = SVC(solver=SMO(selection="maximum-gain", dtype="float64"), max_time=10.0)
    found = search(own, max_time=60.0).fit(X, y)
    assert found.best_params_ == search(SVC()).fit(X, y).best_params_
    assert found.best_estimator_.solver == own.solver


def test_the_path_of_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    whole = search(SVC(), journal=journal).fit(X, y)
    lines = journal.read_bytes().splitlines()
    path = [line for line in lines if b'"stage": "C"' in line]
    assert len(path) == 5 * (whole.trace_["stage"] == "C").sum()
    for missing in (1, 17, 40):
        journal.write_bytes(b"\n".join(lines[:-missing]) + b"\n")
        same_searches(search(SVC(), journal=journal).fit(X, y), whole)
        assert len(journal.read_bytes().splitlines()) == len(lines)


def test_another_kernel_has_another_path(tmp_path: Path) -> None:
    """A search that was cut short has chosen C for a kernel that is not the one it chooses in the end."""
    X, y = two_classes()
    journal = tmp_path / "study.jsonl"
    search(SVC(), journal=journal, max_evaluations=3).fit(X, y)
    before = journal.read_bytes()
    found = search(SVC(), journal=journal).fit(X, y)
    same_searches(found, search(SVC()).fit(X, y))
    assert journal.read_bytes().startswith(before)

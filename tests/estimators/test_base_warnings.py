"""Warnings of a fit point at the line that called it, whichever machine warns, and of what."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from widemargin import SVC, SVDD, SVR, GridSearchCV, ModelSearch, NuSVC, NuSVR, OneClassSVM
from widemargin.estimators.validation import UnusedGammaWarning

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]


def _data() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, np.where(X[:, 0] > 0, 1, -1)


def _warnings_of(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert {one.filename for one in caught} == {__file__}
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize(
    "model",
    [*(Machine(max_iter=1, tol=1e-9) for Machine in MACHINES)]
    + [OneClassSVM(loss="squared_hinge", solver=name, max_iter=1, tol=1e-9) for name in ("mdm", "maxminover")],
    ids=repr,
)
def test_of_a_budget(model: Any) -> None:
    assert "max_iter" in _warnings_of(model, *_data())


@pytest.mark.parametrize("Machine", MACHINES)
def test_of_a_dominant_column(Machine: Any) -> None:
    X, y = _data()
    assert "Column 1" in _warnings_of(Machine(), X * [1.0, 1e6], y)


@pytest.mark.parametrize("Machine", MACHINES)
def test_of_an_indefinite_matrix(Machine: Any) -> None:
    X, y = _data()
    K = X @ X.T + np.eye(len(X))
    K[0, 1] = K[1, 0] = 20.0
    assert "semidefinite" in _warnings_of(Machine(kernel="precomputed", tol=0.1), K, y)


@pytest.mark.parametrize("gamma", [0.1, "auto"])
@pytest.mark.parametrize("Machine", MACHINES)
def test_of_a_gamma_that_makes_no_difference(Machine: Any, gamma: Any) -> None:
    X, y = _data()
    told = _warnings_of(Machine(kernel="linear", gamma=gamma, tol=0.1), X, y)
    assert told.count("makes no difference") == 1
    assert f"gamma={gamma!r} makes no difference to kernel='linear', which has no such parameter" in told
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedGammaWarning)
        Machine(kernel="linear", gamma="scale", tol=0.1).fit(X, y)
        Machine(kernel="rbf", gamma=gamma, tol=0.1).fit(X, y)


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(SVC(), {"kernel": ["linear", "rbf"], "gamma": [0.1, 1.0], "C": [1.0, 10.0]}, cv=2),
        GridSearchCV(SVC(kernel="linear", gamma=0.1), {"C": [1.0, 10.0]}, cv=2),
        GridSearchCV(Pipeline([("svc", SVC(kernel="linear"))]), {"svc__gamma": [0.1, 1.0]}, cv=2),
        GridSearchCV(SVC(kernel="linear", gamma=0.1), {"solver": ["smo"], "C": [1.0, 10.0]}, cv=2),
        ModelSearch(SVC(kernel="linear", gamma=0.1), max_evaluations=20),
    ],
    ids=["grid", "machine", "pipeline", "alone", "model search"],
)
@pytest.mark.filterwarnings("ignore::widemargin.model_selection.grid.grid_search.PlainSearchWarning")
def test_of_a_gamma_that_makes_no_difference_once_in_a_search(search: Any) -> None:
    X, y = _data()
    assert _warnings_of(search, X, y).count("makes no difference") == 1


@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (SVC(kernel="linear", gamma=0.1), {"kernel": ["rbf", "poly"]}),
        (SVC(), [{"kernel": ["linear"], "C": [1.0, 2.0]}, {"gamma": [0.1, 1.0]}]),
    ],
)
def test_of_no_gamma_that_no_candidate_has(machine: Any, grid: Any) -> None:
    X, y = _data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedGammaWarning)
        GridSearchCV(machine, grid, cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (SVC(C=np.inf, kernel="linear", max_iter=1000), "hard margin"),
        (NuSVC(nu=0.01, kernel="linear"), "no margin"),
        (SVR(C=np.inf, kernel="linear", max_iter=1000), "inside the tube"),
    ],
    ids=repr,
)
def test_of_a_machine_that_is_not_there(model: Any, sentence: str) -> None:
    X, y = _data()
    y[:3] *= -1
    assert sentence in _warnings_of(model, X, y)

"""Budgets end a regression soon, with a word and a usable model; C=inf is a word too where it asks too much."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVR, NuSVR
from widemargin.testing import kernel_matrix

BOTH = pytest.mark.parametrize("Machine", [SVR, NuSVR])
LONG = {"C": 1e6, "gamma": 0.5, "tol": 1e-10, "max_iter": -1}


def _noise(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 4.0, size=(n, 2))
    return X, np.sin(3.0 * X).sum(axis=1) + rng.normal(size=n)


def _fit_with_warning(model: Any, X: Any, y: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert [one.category for one in caught] == [ConvergenceWarning]
    assert caught[0].filename == __file__
    return str(caught[0].message)


def _gap(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Dual objective and duality gap from the fitted attributes alone."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_.ravel()
    K = kernel_matrix(X, gamma=model.gamma)
    width = getattr(model, "epsilon_", getattr(model, "epsilon", None))
    dual = y @ beta - 0.5 * beta @ K @ beta
    beyond = np.maximum(0.0, np.abs(y - K @ beta - model.intercept_) - width)
    primal = 0.5 * beta @ K @ beta + model.C * beyond.sum()
    if isinstance(model, NuSVR):
        return dual, primal + model.C * model.nu * width * len(y) - dual
    dual -= width * np.abs(beta).sum()
    return dual, primal - dual


@BOTH
@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
def test_a_deadline_is_kept(Machine: Any, solver: str) -> None:
    X, y = _noise(1500)
    model = Machine(**LONG, max_time=0.2, solver=solver)
    began = time.perf_counter()
    sentence = _fit_with_warning(model, X, y)
    assert time.perf_counter() - began < 1.5
    (entry,) = model.fit_report_
    assert entry.reason == "time budget"
    assert "max_time" in sentence
    assert "gap" in sentence
    assert "binary" not in sentence
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()
    dual, gap = _gap(model, X, y)
    assert entry.objective == pytest.approx(dual, rel=1e-5)
    assert entry.duality_gap == pytest.approx(gap, rel=1e-3)


@BOTH
@pytest.mark.parametrize("budget", [0, 1, 50])
def test_an_iteration_budget_is_kept(Machine: Any, budget: int) -> None:
    X, y = _noise(200)
    model = Machine(**{**LONG, "max_iter": budget, "C": 10.0})
    sentence = _fit_with_warning(model, X, y)
    (entry,) = model.fit_report_
    assert entry.reason == "iteration budget"
    assert "max_iter" in sentence
    assert entry.iterations == model.n_iter_ <= budget
    dual, gap = _gap(model, X, y)
    assert entry.objective == pytest.approx(dual, rel=1e-6, abs=1e-9)
    assert entry.duality_gap == pytest.approx(gap, rel=1e-6)


@BOTH
def test_the_gap_of_a_finished_fit_is_primal_minus_dual(Machine: Any) -> None:
    X, y = _noise(150)
    model = Machine(gamma=0.5, C=2.0).fit(X, y)
    dual, gap = _gap(model, X, y)
    assert model.fit_report_[0].objective == pytest.approx(dual, rel=1e-9)
    assert model.fit_report_[0].duality_gap == pytest.approx(gap, abs=1e-7)
    assert model.fit_status_ == 0


def test_an_infinite_price_gives_the_flattest_function_inside_the_tube() -> None:
    X, y = _noise(40)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        model = SVR(C=np.inf, epsilon=0.2, gamma=5.0, tol=1e-8, loss=loss).fit(X, y)
        assert np.abs(model.predict(X) - y).max() <= 0.2 + 1e-6
        large = SVR(C=1e6, epsilon=0.2, gamma=5.0, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(model.predict(X), large.predict(X), atol=1e-5)
        assert model.fit_report_.converged


def test_an_impossible_tube_ends_with_a_warning() -> None:
    X, y = _noise(40)
    X[1] = X[0]
    sentence = _fit_with_warning(SVR(C=np.inf, epsilon=0.01, gamma=5.0), X, y)
    assert "C=inf" in sentence
    assert "epsilon=0.01" in sentence


def test_weights_do_not_change_an_infinite_price_unless_they_are_zero() -> None:
    X, y = _noise(30)
    weights = np.where(np.arange(30) % 5 == 0, 0.0, np.linspace(0.5, 2.0, 30))
    parameters = {"C": np.inf, "epsilon": 0.1, "gamma": 5.0, "tol": 1e-8}
    weighted = SVR(**parameters).fit(X, y, sample_weight=weights)
    kept = SVR(**parameters).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(weighted.predict(X), kept.predict(X), atol=1e-6)


@BOTH
def test_the_core_never_prints(Machine: Any, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = _noise(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Machine(max_iter=3).fit(X, y)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""

"""C that changes between calls: with weights, without enough time, and with kernels that fail."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from tests.estimators.online.test_online_svc import two_classes

from widemargin import SVC, OnlineSVC


def require_feasible(model: OnlineSVC, C: float) -> None:
    assert np.abs(model.dual_coef_).max() <= C * (1 + 1e-12)
    assert abs(model.dual_coef_.sum()) < 1e-8


def test_weights_are_kept_under_another_price() -> None:
    X, y = two_classes()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    model = OnlineSVC(C=10.0, gamma=0.3).partial_fit(X, y, classes=["no", "yes"], sample_weight=weights)
    kept = model.set_params(C=0.5).finish().kept_ids_
    assert (np.abs(model.dual_coef_[0]) <= 0.5 * weights[model.support_] * (1 + 1e-12)).all()
    batch = SVC(C=0.5, gamma=0.3).fit(X[kept], y[kept], sample_weight=weights[kept])
    assert model.fit_report_[0].objective == pytest.approx(batch.fit_report_[0].objective, rel=1e-3)
    np.testing.assert_allclose(model.decision_function(X), batch.decision_function(X), atol=0.02)
    assert abs(model.dual_coef_.sum()) < 1e-8


class Failing:
    """A kernel in Python that takes its time, or fails, from some call on."""

    def __init__(self) -> None:
        self.calls, self.fails_after, self.seconds = 0, 10**9, 0.0

    def __call__(self, A: Any, B: Any) -> Any:
        self.calls += 1
        time.sleep(self.seconds)
        if self.calls > self.fails_after:
            raise KeyboardInterrupt
        return np.exp(-0.3 * ((np.asarray(A)[:, np.newaxis] - np.asarray(B)) ** 2).sum(axis=2))


def started(kernel: Failing) -> tuple[OnlineSVC, Any, Any]:
    X, y = two_classes(200)
    # So little memory that rows are computed anew.
    model = OnlineSVC(C=10.0, kernel=kernel, cache_size=1e-3).partial_fit(X, y, classes=["no", "yes"])
    require_feasible(model, 10.0)
    return model, X, y


def test_a_price_that_was_interrupted_has_not_changed() -> None:
    kernel = Failing()
    model, X, y = started(kernel)
    before = model.dual_coef_.copy()
    for calls in (1, 5, 20):
        kernel.calls, kernel.fails_after = 0, calls
        with pytest.raises(KeyboardInterrupt):
            model.set_params(C=1e-3).finish()
        require_feasible(model, 10.0)
    kernel.fails_after = 10**9
    np.testing.assert_allclose(model.set_params(C=10.0).dual_coef_, before)
    model.set_params(C=1e-3).partial_fit(X[:5], y[:5])
    require_feasible(model, 1e-3)
    assert model.finish().fit_report_.converged


def test_a_price_for_which_time_does_not_suffice_has_not_changed() -> None:
    kernel = Failing()
    model, X, y = started(kernel)
    kernel.seconds = 0.05
    began = time.perf_counter()
    model.set_params(C=1e-3, max_time=0.3).partial_fit(X[:5], y[:5])
    assert model.n_seen_ == 200
    assert model.fit_report_[0].reason == "time budget"
    require_feasible(model, 10.0)
    with pytest.warns(UserWarning, match="time budget"):
        model.finish()
    assert time.perf_counter() - began < 5.0
    require_feasible(model, 10.0)
    kernel.seconds = 0.0
    model.set_params(max_time=None).finish()
    require_feasible(model, 1e-3)
    assert model.fit_report_.converged


def test_slow_kernels_are_timed_by_their_calls() -> None:
    kernel = Failing()
    model, X, y = started(kernel)
    kernel.seconds = 0.05
    began = time.perf_counter()
    model.set_params(max_time=1.0).partial_fit(X, y)  # a step makes a row anew, and there are hundreds
    assert time.perf_counter() - began < 6.0
    assert 200 <= model.n_seen_ < 400
    assert model.fit_report_[0].reason == "time budget"


def test_prices_beyond_float64_are_refused_and_nothing_has_changed() -> None:
    X, y = two_classes(60)
    model = OnlineSVC(C=2.0, gamma=0.3).partial_fit(X, y, classes=["no", "yes"], sample_weight=np.full(60, 1e10))
    before = model.decision_function(X)
    for act in (model.finish, lambda: model.partial_fit(X[:5], y[:5])):
        model.set_params(C=1e300)
        with pytest.raises(ValueError, match=r"C=1e\+300 times the weight of a kept sample is beyond float64"):
            act()
        np.testing.assert_allclose(model.decision_function(X), before, rtol=1e-9)
    with pytest.raises(ValueError, match=r"C times the weight of row 3, .* is beyond float64"):
        model.partial_fit(X[:5], y[:5], sample_weight=np.where(np.arange(5) == 3, 1e100, 1.0))
    assert model.set_params(C=2.0).finish().n_seen_ == 60


def test_a_fit_needs_a_weight_above_0() -> None:
    X, y = two_classes(60)
    with pytest.raises(ValueError, match="is 0 in float64 for every row"):
        OnlineSVC(class_weight={"no": 0.0, "yes": 0.0}).fit(X, y)

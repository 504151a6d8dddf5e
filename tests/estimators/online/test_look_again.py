"""The second look at samples before a model is finished."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import SVC, OnlineSVC
from widemargin.estimators.online import look_again
from widemargin.estimators.online.look_again import nearly_finished, violating
from widemargin.machines.dual import StopRule
from widemargin.machines.online.stream import Batch, OnlineRules
from widemargin.runtime import Stop


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_comes_near_the_batch_model_since_samples_come_by_once_more(classes: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 4))
    noise = X[:, 0] * X[:, 1] + 0.8 * random.normal(size=1500)
    y = np.digitize(noise, [0.0] if classes == 2 else [-0.5, 0.5])

    def short_of_batch(model: OnlineSVC) -> float:
        return 1 - sum(end.objective for end in model.fit_report_) / batch

    batch = sum(end.objective for end in SVC(C=10, gamma=1, multi_class="ovr").fit(X, y).fit_report_)
    parameters = {"C": 10, "gamma": 1, "random_state": 0}
    fitted = OnlineSVC(**parameters).fit(X, y)
    assert fitted.fit_report_.converged
    assert short_of_batch(fitted) < 1e-3
    assert short_of_batch(OnlineSVC(**parameters, finishing=False).fit(X, y).finish()) > 5e-3


@pytest.mark.parametrize("classes", [2, 3])
def test_who_violates_a_margin_or_nearly_so_is_found(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_again, "AT_ONCE", 7)
    random = np.random.default_rng(1)
    labels = random.integers(0, classes, 60).astype(np.int32)
    X = random.normal(size=(60, 2)) + 2.0 * labels[:, np.newaxis]
    model = OnlineSVC(gamma=0.5).partial_fit(X[:30], labels[:30], classes=range(classes))
    values = model.decision_function(X)
    if classes == 2:
        short = np.where(labels == 1, values, -values) < 1.1
    else:
        short = (np.where(labels[:, np.newaxis] == np.arange(3), values, -values) < 1.1).any(axis=1)
    rows = np.arange(60)
    batch, others = Batch(X, labels, np.ones(60), rows, rows), np.arange(30, 60, dtype=np.int32)
    found = violating(model._functions(), batch, others, classes, Stop())
    assert found is not None
    assert found.tolist() == (30 + np.flatnonzero(short[30:])).tolist()
    assert 0 < len(found) < 30
    assert violating(model._functions(), batch, others, classes, Stop(deadline=0.0)) is None


def test_a_tolerance_that_is_larger_stays() -> None:
    assert nearly_finished(OnlineRules(stop=StopRule(0.5))).stop.tolerance == 0.5

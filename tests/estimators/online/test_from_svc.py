"""Online models that start from a fitted SVC."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from tests.estimators.online.test_online_svc_forget import banana_like

from widemargin import SVC, OnlineSVC
from widemargin.estimators.online.from_svc import parameters_of
from widemargin.kernels import Gaussian


def test_it_starts_from_a_fitted_model() -> None:
    X, y = load_iris(return_X_y=True)
    for batch in (
        SVC(C=3.0, multi_class="ovr").fit(X, y),
        SVC(C=3.0, class_weight={1: 2.0}).fit(X[:100], y[:100]),
        SVC(kernel=Gaussian(gamma=0.4)).fit(sp.csr_matrix(X[50:]), y[50:]),
    ):
        online = OnlineSVC.from_model(batch)
        np.testing.assert_allclose(online.decision_function(X), batch.decision_function(X), atol=2e-3)
        assert sorted(online.kept_ids_) == sorted(batch.support_)
        assert online.fit_report_[0].kkt_violation <= 2e-3
        own = np.isin(y, batch.classes_)
        online.partial_fit(X[own], y[own]).finish()
        assert online.score(X[own], y[own]) >= 0.85
    with pytest.raises(ValueError, match="multi_class='ovr'"):
        OnlineSVC.from_model(SVC().fit(X, y))
    with pytest.raises(ValueError, match="a fitted SVC"):
        OnlineSVC.from_model(SVC())


def test_a_model_that_is_too_large_starts_within_the_budget() -> None:
    X, y = banana_like(500)
    batch = SVC(C=1.0, gamma=0.5).fit(X, y)
    online = OnlineSVC.from_model(batch, budget=60)
    assert len(online.kept_ids_) == 60 < len(batch.support_)
    assert np.mean(online.predict(X) == batch.predict(X)) > 0.9
    assert np.mean(online.finish().predict(X) == batch.predict(X)) > 0.9


def test_parameters_are_those_of_the_fit() -> None:
    X, y = banana_like(50)
    found = parameters_of(SVC(C=3.0, gamma="scale", tol=1e-2, class_weight={1: 2.0}).fit(X, y))
    assert found == {
        **{"C": 3.0, "tol": 1e-2, "class_weight": {1: 2.0}, "kernel": "rbf"},
        **{"gamma": pytest.approx(1 / (2 * X.var())), "coef0": 0.0, "degree": 3},
    }
    assert "gamma" not in parameters_of(SVC(kernel=Gaussian(gamma=0.4)).fit(X, y))
    for model, message in (
        (SVC(loss="squared_hinge"), "loss='hinge'"),
        (SVC(kernel="precomputed"), "no values for samples that are yet to come"),
    ):
        with pytest.raises(ValueError, match=message):
            parameters_of(model.fit(X @ X.T if model.kernel == "precomputed" else X, y))

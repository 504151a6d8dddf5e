"""Fitted models as pickles: equal for equal fits, and without kernel values."""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.model_selection._search import BaseSearchCV

from widemargin import (
    SVC,
    SVDD,
    SVR,
    CompactSVC,
    GridSearchCV,
    ModelSearch,
    NuSVC,
    NuSVR,
    OneClassSVM,
    VectorQuantizer,
    compress,
    load_model,
    save_model,
)
from widemargin.estimators.report import FitReport
from widemargin.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(600, 4))
Y = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=600) > 0).astype(int)


def slow_kernel(A: Any, B: Any) -> Any:
    return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))


MODELS: dict[str, Any] = {
    "SVC": SVC(),
    "SVC that starts from its last solution": SVC(warm_start=True),
    "SVC with probabilities": SVC(probability=True),
    "SVC of a callable": SVC(kernel=slow_kernel),
    "SVC of a kernel object": SVC(kernel=Gaussian() * Gaussian(0.1)),
    "NuSVC": NuSVC(probability=True),
    "SVR": SVR(),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.1),
    "OneClassSVM with a threshold from folds": OneClassSVM(target_rejection=0.1),
    "SVDD": SVDD(nu=0.1),
    "VectorQuantizer": VectorQuantizer(),
}

SEARCHES: dict[str, Any] = {
    "GridSearchCV": GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=3),
    "GridSearchCV with probabilities": GridSearchCV(SVC(calibration="from-search"), {"C": [1.0, 10.0]}, cv=3),
    "ModelSearch": ModelSearch(SVC(), max_evaluations=3),
    "CompactSVC": CompactSVC(max_evaluations=70, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_equal_fits_have_equal_hashes(model: Any) -> None:
    first = copy.deepcopy(model).fit(X, Y)
    time.sleep(0.001)
    second = copy.deepcopy(model).fit(X, Y)
    assert joblib.hash(first) == joblib.hash(second)
    assert joblib.hash(first) == joblib.hash(pickle.loads(pickle.dumps(first)))
    assert joblib.hash(first) != joblib.hash(copy.deepcopy(model).fit(X + 1.0 + X**2, Y))


@pytest.mark.parametrize("model", {**MODELS, **SEARCHES}.values(), ids={**MODELS, **SEARCHES})
def test_pickles_hold_samples_and_no_kernel_values(model: Any) -> None:
    found = copy.deepcopy(model).fit(X, Y)
    assert len(pickle.dumps(found)) < 2 * X.nbytes + 20_000  # kernel values would be 2.9 MB
    if not isinstance(found, BaseSearchCV | CompactSVC | VectorQuantizer):
        assert len(pickle.dumps(compress(found, n_vectors=5))) < 10_000


def test_reports_of_equal_fits_are_equal(tmp_path: Any) -> None:
    first, second = SVC().fit(X, Y), SVC().fit(X, Y)
    assert first.fit_report_ == second.fit_report_
    assert hash(first.fit_report_) == hash(second.fit_report_)
    assert first.fit_report_ != SVC(C=2.0).fit(X, Y).fit_report_
    for other in (copy.copy(first), copy.deepcopy(first)):
        assert other.fit_report_[0].seconds == first.fit_report_[0].seconds > 0.0
    pickled = pickle.loads(pickle.dumps(first))
    assert pickled.fit_report_ == first.fit_report_
    assert isinstance(pickled.fit_report_, FitReport)
    assert np.isnan(pickled.fit_report_[0].seconds)
    assert "nan" not in str(pickled.fit_report_)
    save_model(pickled, tmp_path / "model.wm")
    assert load_model(tmp_path / "model.wm").fit_report_ == first.fit_report_

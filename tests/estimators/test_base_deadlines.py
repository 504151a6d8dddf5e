"""`max_time` holds for every machine, and what it leaves is a model: feasible, finite, and honest about itself."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM, load_model, save_model
from widemargin.testing import kernel_matrix

N = 400


def slow_kernel(A: Any, B: Any) -> Any:
    """Take two milliseconds a row, the diagonal aside: a gradient of the start takes longer than there is time."""
    if len(B) > 64:
        time.sleep(2e-3 * len(A))
    return kernel_matrix(A, B, gamma=0.1)


def _data() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 5))
    return X, random.integers(0, 2, N)


def _fit(model: Any, X: Any, y: Any) -> tuple[float, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model.fit(X, y)
        taken = time.perf_counter() - began
    assert all(issubclass(one.category, ConvergenceWarning) for one in caught)
    return taken, [str(one.message) for one in caught]


MACHINES = {
    "SVC": SVC(),
    "SVC, squared hinge": SVC(loss="squared_hinge"),
    "SVC, hard": SVC(C=np.inf),
    "SVC, mdm": SVC(loss="squared_hinge", fit_intercept=False, solver="mdm"),
    "SVC, folds": SVC(calibration="folds"),
    "NuSVC": NuSVC(nu=0.4),
    "SVR": SVR(),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(),
    "OneClassSVM, squared": OneClassSVM(loss="squared_hinge"),
    "OneClassSVM, maxminover": OneClassSVM(loss="squared_hinge", solver="maxminover", tol=1e-9),
    "OneClassSVM, rejection": OneClassSVM(target_rejection=0.1),
    "SVDD": SVDD(),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_keeps_its_time_and_its_word(name: str) -> None:
    X, y = _data()
    model = MACHINES[name].set_params(kernel=slow_kernel, max_time=0.1)
    taken, sentences = _fit(model, X, y)
    assert taken < 0.1 * 1.2 + 0.2 + 0.5  # the last is for a busy machine; it would take seconds
    assert any("time budget" in sentence for sentence in sentences)
    assert {entry.reason for entry in model.fit_report_} == {"time budget"}
    assert model.fit_status_ == 1
    values = model.predict(X[:5]) if isinstance(model, SVR | NuSVR) else model.decision_function(X[:5])
    assert np.isfinite(values).all()
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    for entry in model.fit_report_:
        assert (entry.kkt_violation == np.inf) == np.isnan(entry.objective)
        assert entry.kkt_violation > model.tol


def test_coefficients_are_feasible_without_time() -> None:
    X, y = _data()
    one_class = OneClassSVM(nu=0.3, kernel=slow_kernel, max_time=0.02)
    _, (sentence,) = _fit(one_class, X, None)
    assert "no time to compute its violation" in sentence
    assert one_class.dual_coef_.sum() == pytest.approx(0.3 * N)
    assert one_class.dual_coef_.min() >= 0.0
    assert one_class.dual_coef_.max() <= 1.0
    ball = SVDD(nu=0.3, kernel=slow_kernel, max_time=0.02)
    _fit(ball, X, None)
    assert ball.center_coef_.sum() == pytest.approx(1.0)
    nu = NuSVC(nu=0.3, kernel=slow_kernel, max_time=0.02)
    _fit(nu, X, y)
    assert nu.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(nu.dual_coef_).sum())


def test_a_start_that_is_known_only_in_part_rejects_about_as_many_rows() -> None:
    X, _ = _data()
    model = OneClassSVM(nu=0.3, kernel=slow_kernel, max_time=0.02)
    _fit(model, X, None)
    rejected = float(np.mean(model.predict(X) < 0))
    assert 0.02 < rejected < 0.9


def test_very_many_classes_end_in_time_with_a_report_of_all_pairs() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 5)), np.arange(600) % 300
    model = SVC(max_time=0.005, calibration="folds")
    used = time.process_time()
    _, sentences = _fit(model, X, y)
    assert time.process_time() - used < 1.5  # it took some seconds
    pairs = 300 * 299 // 2
    assert len(model.fit_report_) == len(model.n_iter_) == len(model.intercept_) == len(model.sigmoids_) == pairs
    assert model.fit_report_[-1].classes == (298, 299)
    assert (model.fit_report_[-1].reason, model.fit_report_[-1].kkt_violation) == ("time budget", np.inf)
    assert any(f"of {pairs} binary problems" in sentence for sentence in sentences)
    assert not model.fit_report_.converged
    assert np.isfinite(model.decision_function(X[:3])).all()
    assert model.dual_coef_.shape == (299, len(model.support_))


def test_a_report_of_pairs_that_were_not_begun_behaves_like_any_other() -> None:
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 100
    model = SVC(max_time=1e-3)
    _fit(model, X, y)
    report = model.fit_report_
    assert [entry.classes for entry in report] == [(a, b) for a in range(100) for b in range(a + 1, 100)]
    assert report[-1].classes == report[len(report) - 1 :][0].classes == (98, 99)
    assert report.unfinished == sum(entry.reason != "converged" for entry in report)
    assert report.worst.kkt_violation == np.inf
    with pytest.raises(IndexError):
        report[len(report)]


def test_a_model_cut_short_can_be_saved(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(8000, 50))
    model = OneClassSVM(max_time=1e-6)
    _fit(model, X, None)
    assert model.fit_report_[0].kkt_violation == np.inf
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(X[:5]), model.decision_function(X[:5]))
    assert loaded.fit_report_[0].kkt_violation == model.fit_report_[0].kkt_violation


def test_a_search_over_many_classes_ends_in_time() -> None:
    X, y = np.random.default_rng(0).normal(size=(600, 5)), np.arange(600) % 60
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3, max_time=0.01)
    used = time.process_time()
    with pytest.raises(TimeoutError, match="no candidate was finished"):
        search.fit(X, y)
    assert time.process_time() - used < 1.0

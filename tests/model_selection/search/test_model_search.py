"""A model search: what it looks for, what it finds, what it says of itself, and its face."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from model_searches import (
    Downhill,
    Remembering,
    polarization,
    same_searches,
    search,
    targets,
    three_classes,
    two_classes,
)
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, ModelFileError, ModelSearch, kernels, objectives, save_model
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.strategies import Rprop


def test_a_kernel_by_name() -> None:
    X, y = two_classes()
    found = search().fit(X, y)
    assert list(found.best_params_) == ["C", "gamma"]
    assert all(type(value) is float for value in found.best_params_.values())
    assert found.best_value_ == polarization(kernels.Gaussian(found.best_params_["gamma"]), X, y)
    start = jaakkola_gamma(X, y)
    assert found.trace_[0]["gamma"] == pytest.approx(start, rel=1e-15)
    assert found.best_value_ > polarization(kernels.Gaussian(start), X, y)
    assert found.best_estimator_.kernel_ == kernels.Gaussian(found.best_params_["gamma"])
    alone = SVC(**found.best_params_).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), alone.decision_function(X))


def test_a_kernel_object() -> None:
    X, y = two_classes()
    found = search(SVC(kernel=kernels.DiagonalGaussian())).fit(X, y)
    assert list(found.best_params_) == ["C", "kernel"]
    kernel = found.best_params_["kernel"]
    assert isinstance(kernel, kernels.DiagonalGaussian)
    assert kernel.gammas.shape == (4,)
    assert found.trace_.names == ("gammas[0]", "gammas[1]", "gammas[2]", "gammas[3]", "C")
    best = int(np.argmax(found.trace_["value"][found.trace_["stage"] == "search"]))
    assert [found.trace_[best][f"gammas[{k}]"] for k in range(4)] == pytest.approx(kernel.gammas, rel=1e-14)
    assert found.best_value_ == polarization(kernel, X, y)
    np.testing.assert_array_equal(found.best_estimator_.kernel_.gammas, kernel.gammas)
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))


def test_other_kernels() -> None:
    X, y = two_classes()
    both = search(SVC(kernel=0.5 * kernels.Gaussian() + kernels.Gaussian(gamma=0.01, gamma_bounds="fixed"))).fit(X, y)
    assert both.trace_.names == ("k1__scale", "k1__kernel__gamma", "C")
    assert both.best_params_["kernel"].k2 == kernels.Gaussian(gamma=0.01, gamma_bounds="fixed")
    poly = search(SVC(kernel="poly", degree=2, gamma=0.1, coef0=1.0), objective="target-alignment").fit(X, y)
    assert list(poly.best_params_) == ["C", "gamma", "coef0"]
    assert poly.trace_[0]["coef0"] == 1.0
    theirs = search(SVC(kernel=RBF(2.0))).fit(X, y)
    assert theirs.trace_.names == ("length_scale", "C")
    general = search(SVC(kernel=kernels.GeneralGaussian(fixed="orientation"))).fit(X, y)
    assert general.trace_.names == ("size", "shape[0]", "shape[1]", "shape[2]", "C")
    assert general.best_params_["kernel"].matrix.shape == (4, 4)


def test_numbers_that_are_given_are_where_it_begins() -> None:
    X, y = two_classes()
    by_name = search(SVC(gamma=0.7)).fit(X, y)
    assert by_name.trace_[0]["gamma"] == pytest.approx(0.7, rel=1e-15)
    mixed = search(SVC(kernel=kernels.Gaussian(gamma=0.7) + kernels.Gaussian())).fit(X, y)
    assert mixed.trace_[0]["k1__gamma"] == pytest.approx(0.7, rel=1e-15)
    assert mixed.trace_[0]["k2__gamma"] == pytest.approx(jaakkola_gamma(X, y), rel=1e-15)


def test_an_objective_that_chooses_the_price() -> None:
    X, y = two_classes()
    found = search(SVC(C=2.0), objective="span", strategy="rprop").fit(X, y)
    assert set(found.trace_["stage"]) == {"search"}
    assert found.trace_[0]["C"] == pytest.approx(2.0)
    assert len(set(found.trace_["C"])) > 5
    best = int(np.argmin(found.trace_["value"]))
    assert found.best_value_ == found.trace_["value"][best]
    assert found.best_params_["C"] == pytest.approx(found.trace_["C"][best], rel=1e-15)
    assert found.best_params_["gamma"] == pytest.approx(found.trace_["gamma"][best], rel=1e-14)


def test_regression() -> None:
    X, y = targets()
    found = search(SVR(), objective="cross-validation", strategy=Downhill(steps=3)).set_params(
        objective=objectives.TargetAlignment()
    )
    found.fit(X, y)
    assert is_regressor(found)
    assert not is_classifier(found)
    assert found.score(X, y) > 0.5
    # C follows the scale of the targets where the loss does.
    scaled = clone(found).set_params(estimator=SVR(epsilon=100.0, C=1000.0)).fit(X, 1000.0 * y)
    assert scaled.best_params_["C"] == pytest.approx(1000.0 * found.best_params_["C"])


def test_several_classes() -> None:
    X, y = three_classes()
    names = np.array(["a", "b", "c"])[y]
    found = search().fit(X, names)
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.score(X, names) > 0.8


# Defaults.


@pytest.mark.parametrize(
    ("objective", "strategy"),
    [("target-alignment", "rprop"), ("likelihood", "noisy-rprop"), ("span", "rprop"), ("posterior", "noisy-rprop")],
)
def test_strategies_that_suit_objectives(objective: str, strategy: str) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"objective": objective, "max_evaluations": 20, "random_state": 0}
    same_searches(ModelSearch(SVC(), **how).fit(X, y), ModelSearch(SVC(), **how, strategy=strategy).fit(X, y))


def test_target_alignment_is_what_a_search_follows_unless_told_otherwise() -> None:
    X, y = two_classes()
    same_searches(ModelSearch(SVC()).fit(X, y), ModelSearch(SVC(), objective="target-alignment").fit(X, y))
    options = ModelSearch(SVC(), strategy=Rprop(iterations=7)).fit(X, y)
    assert options.n_evaluations_ == 7


# What it says of itself.


def test_the_trace_is_a_table() -> None:
    X, y = two_classes()
    found = search(objective=Remembering()).fit(X, y)
    trace = found.trace_
    frame = pd.DataFrame(trace.columns)
    assert len(frame) == len(trace) == found.n_evaluations_ == 20
    assert frame.columns.tolist() == [
        "stage", "evaluation", "gamma", "C", "part", "value", "gradient_norm", "best",
        "trained", "iterations", "kernel_evaluations", "factorizations", "seconds",
    ]  # fmt: skip
    assert frame["best"].tolist() == np.minimum.accumulate(frame["value"]).tolist()
    assert (frame["seconds"] > 0).all()
    pd.testing.assert_frame_equal(pd.DataFrame(list(trace)), frame)
    assert trace[-1] == frame.iloc[-1].to_dict()
    assert trace[2:4] == [trace[2], trace[3]]
    assert frame[["trained", "iterations", "kernel_evaluations", "factorizations"]].sum().tolist() == [20, 40, 60, 80]
    report = found.work_report_
    assert (report.evaluations, report.trained, report.iterations) == (20, 20, 40)
    assert (report.kernel_evaluations, report.factorizations, report.path) == (60, 80, None)
    assert str(report).startswith("20 evaluations in ")
    slope = np.sqrt(4 * (np.log(trace[0]["gamma"]) - 1) ** 2 + 4 * (np.log(trace[0]["C"]) + 1) ** 2)
    assert trace[0]["gradient_norm"] == pytest.approx(slope)
    assert repr(trace).count("\n") == 8


def test_notes_are_counted() -> None:
    X, y = two_classes()
    found = search(objective=Remembering()).fit(X, y)
    assert found.notes_ == {"far away": int(np.sum(found.trace_["value"] > 4.0))}
    assert found.notes_["far away"] > 0


def test_a_point_that_was_never_asked_for_is_evaluated() -> None:
    X, y = two_classes()
    found = ModelSearch(SVC(), objective="likelihood", max_evaluations=60, random_state=1).fit(X, y)
    assert found.n_evaluations_ == 61
    last = found.trace_[-1]
    assert last["value"] == found.best_value_
    assert last["gamma"] == pytest.approx(found.best_params_["gamma"], rel=1e-15)
    assert np.isnan(last["gradient_norm"])


def test_every_evaluation_has_random_numbers_of_its_own() -> None:
    X, y = two_classes()
    noisy = search(objective=Remembering(random=True), random_state=7).fit(X, y)
    gamma, price = np.log(noisy.trace_["gamma"][0]), np.log(noisy.trace_["C"][0])
    drawn = float(np.random.default_rng([7, 0]).normal())
    assert noisy.trace_["value"][0] == pytest.approx((gamma - 1) ** 2 + (price + 1) ** 2 + 0.01 * drawn, rel=1e-12)
    gamma, price = np.log(noisy.trace_["gamma"][16]), np.log(noisy.trace_["C"][16])  # starts from nothing, too
    drawn = float(np.random.default_rng([7, 16]).normal())
    assert noisy.trace_["value"][16] == pytest.approx((gamma - 1) ** 2 + (price + 1) ** 2 + 0.01 * drawn, rel=1e-12)


def test_random_states() -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"objective": "likelihood", "max_evaluations": 20, "refit": False}

    def first(random_state: Any) -> float:
        return ModelSearch(SVC(), **how, random_state=random_state).fit(X, y).trace_[0]["value"]

    assert first(3) == first(3) != first(4)
    assert first(np.random.RandomState(3)) == first(np.random.RandomState(3))
    states = np.random.RandomState(3)
    assert first(states) != first(states)
    assert first(None) != first(None)


# Its face.


def test_a_fitted_search_is_its_machine() -> None:
    X, y = two_classes()
    found = search()
    with pytest.raises(NotFittedError):
        found.predict(X)
    assert not hasattr(found, "n_features_in_")
    found.fit(X, y)
    assert found.score(X, y) == accuracy_score(y, found.predict(X))
    assert found.n_features_in_ == 4
    assert found.classes_.tolist() == [0, 1]
    assert found.refit_time_ > 0
    assert not hasattr(search(SVR()), "decision_function")
    assert not hasattr(found, "predict_proba") or found.predict_proba(X).shape == (len(X), 2)
    balanced = search(scoring="balanced_accuracy").fit(X, y)
    assert balanced.score(X, y) == balanced.scorer_(balanced.best_estimator_, X, y)


def test_without_a_refit() -> None:
    X, y = two_classes()
    found = search(refit=False).fit(X, y)
    assert found.best_params_ == search().fit(X, y).best_params_
    assert not hasattr(found, "best_estimator_")
    assert not hasattr(found, "predict")
    assert not hasattr(found, "refit_time_")


def test_parameters_clone_and_pickle() -> None:
    X, y = two_classes()
    found = search(objective=objectives.Likelihood(share=0.3), max_evaluations=15, random_state=0)
    copy = clone(found)
    assert copy.get_params().keys() == found.get_params().keys()
    assert copy.objective.share == 0.3
    assert found.set_params(estimator__tol=1e-4).estimator.tol == 1e-4
    assert "max_evaluations=15" in repr(found)
    found.fit(X, y)
    kept = pickle.loads(pickle.dumps(found))
    same_searches(kept, found)
    np.testing.assert_array_equal(kept.predict(X), found.predict(X))
    assert not hasattr(clone(found), "trace_")
    assert found._repr_html_()


def test_frames_sparse_rows_and_float32() -> None:
    X, y = two_classes()
    plain = search().fit(X, y)
    frame = search().fit(pd.DataFrame(X, columns=list("abcd")), pd.Series(y))
    assert frame.feature_names_in_.tolist() == list("abcd")
    assert frame.best_params_ == plain.best_params_
    sparse = search().fit(sp.csr_array(X), y)
    assert sparse.best_params_["gamma"] == pytest.approx(plain.best_params_["gamma"])
    single = search().fit(X.astype(np.float32), y)
    assert single.best_params_["gamma"] == pytest.approx(plain.best_params_["gamma"], rel=1e-4)


def test_weights_of_0_and_2() -> None:
    X, y = two_classes()
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    splits = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
    weighted = search(cv=splits, scoring=None).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = search(cv=3).fit(X[rows], y[rows])
    assert weighted.best_params_["gamma"] == pytest.approx(repeated.best_params_["gamma"], rel=1e-9)
    assert weighted.best_value_ == pytest.approx(repeated.best_value_)
    assert not np.array_equal(weighted.decision_function(X), search(cv=splits).fit(X, y).decision_function(X))


def test_weights_behind_a_pipeline() -> None:
    X, y = two_classes()
    weights = np.where(y == 1, 3.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), SVC())
    one = search(pipeline).fit(X, y, svc__sample_weight=weights)
    assert one.best_params_["svc__gamma"] != search(pipeline).fit(X, y).best_params_["svc__gamma"]


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="pipelines cannot be asked to score without weights before",
)
def test_weights_behind_a_pipeline_and_routing() -> None:
    X, y = two_classes()
    weights = np.where(y == 1, 3.0, 1.0)
    one = search(make_pipeline(StandardScaler(), SVC())).fit(X, y, svc__sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler, machine = StandardScaler().set_fit_request(sample_weight=False), SVC()
        machine = machine.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = search(make_pipeline(scaler, machine)).fit(X, y, sample_weight=weights)
    assert routed.best_params_ == one.best_params_


def test_a_pipeline_sees_all_rows_once() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), SVC())
    found = search(pipeline, cv=[(np.arange(40), np.arange(40, 60))]).fit(1e3 * X, y)
    alone = search(cv=[(np.arange(40), np.arange(40, 60))]).fit(StandardScaler().fit_transform(1e3 * X), y)
    assert found.best_params_["svc__gamma"] == pytest.approx(alone.best_params_["gamma"], rel=1e-12)
    assert found.best_value_ == pytest.approx(alone.best_value_, rel=1e-12)


def test_inside_of_a_cross_validation() -> None:
    X, y = two_classes()
    assert cross_val_score(search(), X, y, cv=3).mean() > 0.6


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("objective", ["span", "likelihood", "polarization"])
def test_threads_change_no_bit(objective: str, at_once: int) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"objective": objective, "strategy": Downhill(steps=24, at_once=at_once), "random_state": 0}
    one = search(SVC(kernel=kernels.DiagonalGaussian()), **how).fit(X, y)
    for n_jobs in (2, 5):
        many = search(SVC(kernel=kernels.DiagonalGaussian()), n_jobs=n_jobs, **how).fit(X, y)
        same_searches(many, one)


def test_model_files_keep_the_machine() -> None:
    found = search().fit(*two_classes())
    with pytest.raises(ModelFileError, match="ModelSearch is a search; save its best_estimator_"):
        save_model(found, "never.wm")

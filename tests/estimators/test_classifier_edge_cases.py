"""Unusual but legal data: a correct model, no hang, nothing silently wrong."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from oracles.estimators import pair_solutions
from oracles.multi_class import predict_one_versus_one
from widemargin import SVC
from widemargin.testing import many_class_points
from widemargin.testing.oracles import resolve_gamma


def _certified(model: SVC, X: Any, y: Any, weights: Any = None) -> None:
    for pair in pair_solutions(model, X, y, sample_weight=weights):
        assert pair.certificate.kkt_violation <= 1.001 * model.tol


def test_constant_columns_change_nothing_but_the_width() -> None:
    X, y = many_class_points(2, 40)
    wider = np.hstack((X, np.full((80, 2), 1e3)))
    plain, padded = SVC(gamma=0.5, tol=1e-6).fit(X, y), SVC(gamma=0.5, tol=1e-6).fit(wider, y)
    np.testing.assert_allclose(plain.decision_function(X), padded.decision_function(wider), atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_all_rows_equal_gives_a_constant_machine(kernel: str, container: Any, value: float) -> None:
    X, y = container(np.full((30, 2), value)), np.arange(30) % 3 == 0
    model = SVC(kernel=kernel).fit(X, y)
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    assert np.ptp(values) <= 1e-6
    # Twenty rows against ten: the majority wins.
    assert not model.predict(X).any()


def test_contradicting_duplicates_cancel() -> None:
    X, _ = many_class_points(2, 30)
    points, y = np.vstack((X, X)), np.repeat([0, 1], 60)
    model = SVC(gamma=0.5).fit(points, y)
    _certified(model, points, y)
    assert np.abs(model.decision_function(points)).max() <= 1e-2


def test_contradicting_duplicates_among_others() -> None:
    X, y = many_class_points(2, 40)
    points, labels = np.vstack((X, X[:20])), np.concatenate((y, 1 - y[:20]))
    for solver in ("smo", "block"):
        model = SVC(gamma=0.5, C=100.0, solver=solver).fit(points, labels)
        _certified(model, points, labels)


def test_many_exact_duplicates_are_fast() -> None:
    X, y = many_class_points(2, 10)
    points, labels = np.tile(X, (100, 1)), np.tile(y, 100)
    began = time.perf_counter()
    model = SVC(gamma=0.5, tol=1e-5).fit(points, labels)
    assert time.perf_counter() - began < 5.0
    _certified(model, points, labels)
    weighted = SVC(gamma=0.5, tol=1e-5).fit(X, y, sample_weight=np.full(20, 100.0))
    np.testing.assert_allclose(model.decision_function(X), weighted.decision_function(X), atol=1e-2)


def test_support_indices_refer_to_the_users_rows() -> None:
    X, y = many_class_points(3, 40)
    weights = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    model = SVC(gamma=0.5).fit(X, y, sample_weight=weights)
    assert (weights[model.support_] > 0.0).all()
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert np.array_equal(np.repeat(np.arange(3), model.n_support_), y[model.support_])
    assert model.shape_fit_ == X.shape
    _certified(model, X, y, weights)


@pytest.mark.parametrize("vanished", [0, 1, 2])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_class_without_weight_keeps_its_place(vanished: int, container: Any) -> None:
    X, y = many_class_points(3, 40)
    names = np.array(["ant", "bee", "cat"])
    weights = np.where(y == vanished, 0.0, 1.0)
    model = SVC(gamma=0.5, tol=1e-6).fit(container(X), names[y], sample_weight=weights)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert model.n_support_[vanished] == 0
    assert len(model.n_support_) == 3
    assert model.decision_function(container(X)).shape == (120, 3)
    kept = y != vanished
    without = SVC(gamma=0.5, tol=1e-6).fit(container(X[kept]), names[y[kept]])
    predicted = model.predict(container(X))
    assert names[vanished] not in predicted
    assert np.mean(predicted == without.predict(container(X))) >= 0.99


def test_class_weight_zero_is_like_weight_zero() -> None:
    X, y = many_class_points(3, 30)
    by_class = SVC(gamma=0.5, class_weight={1: 0.0}).fit(X, y)
    by_row = SVC(gamma=0.5).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    assert np.array_equal(by_class.predict(X), by_row.predict(X))


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_ties_are_broken_by_confidence(shape: str) -> None:
    # Five clouds around a circle with few rows each: in between, several classes win equally many votes.
    X, y = many_class_points(5, 8, seed=4)
    grid = np.stack(np.meshgrid(np.linspace(-5, 5, 40), np.linspace(-5, 5, 40)), axis=-1).reshape(-1, 2)
    model = SVC(gamma=0.5, C=3.0, decision_function_shape=shape).fit(X[:-3], y[:-3])
    values = model.set_params(decision_function_shape="ovo").decision_function(grid)
    model.set_params(decision_function_shape=shape)
    expected = predict_one_versus_one(values, 5)
    first_wins = predict_one_versus_one(values, 5, break_ties=False)
    assert (expected != first_wins).any()
    assert np.array_equal(model.predict(grid), expected)
    assert np.array_equal(model.set_params(break_ties=False).predict(grid), first_wins)


def test_two_rows() -> None:
    for kernel in ("linear", "rbf"):
        model = SVC(kernel=kernel, gamma=1.0).fit([[0.0], [1.0]], ["left", "right"])
        assert model.predict([[-1.0], [2.0]]).tolist() == ["left", "right"]
        assert model.decision_function([[0.5]])[0] == pytest.approx(0.0, abs=1e-6)


def test_one_row_in_a_class() -> None:
    X, _ = many_class_points(2, 30)
    alone = np.where(np.arange(60) == 5, 2, 0)
    model = SVC(gamma=0.5).fit(X, alone)
    _certified(model, X, alone)
    assert model.n_support_[1] == 1


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3000)), np.arange(20) % 2
    for kernel in ("linear", "rbf"):
        model = SVC(kernel=kernel, C=10.0).fit(X, y)
        _certified(model, X, y)
        assert model.score(X, y) == 1.0


def test_all_zero_rows_of_a_sparse_matrix() -> None:
    X, y = sparse.csr_array((40, 5)), np.arange(40) % 2
    model = SVC().fit(X, y)
    assert np.ptp(model.decision_function(X)) == 0.0


@pytest.mark.parametrize("C", [1e-12, 1e-6, 1e6])
def test_extreme_penalties(C: float) -> None:
    X, y = many_class_points(2, 60)
    model = SVC(C=C, gamma=0.5).fit(X, y)
    _certified(model, X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("gamma", [1e-12, 1e-3, 1e3, 1e12])
def test_extreme_widths(gamma: float) -> None:
    X, y = many_class_points(2, 60)
    model = SVC(gamma=gamma).fit(X, y)
    _certified(model, X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-19, 1e-10, 1e10, 1e19, 1e30])
def test_the_unit_of_measurement_does_not_matter(scale: float) -> None:
    X, y = many_class_points(2, 60)
    expected = SVC(tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC(tol=1e-6).fit(X * scale, y).decision_function(X * scale), expected, atol=1e-3)


def test_a_tiny_cache_changes_nothing_but_time() -> None:
    X, y = many_class_points(3, 100)
    roomy, cramped = SVC(gamma=0.5, tol=1e-6).fit(X, y), SVC(gamma=0.5, tol=1e-6, cache_size=0.01).fit(X, y)
    np.testing.assert_allclose(roomy.decision_function(X), cramped.decision_function(X), atol=1e-3)


def test_many_classes() -> None:
    X, y = many_class_points(30, 6)
    model = SVC(gamma=2.0, C=10.0, decision_function_shape="ovo").fit(X, y)
    assert model.decision_function(X).shape == (180, 435)
    assert model.dual_coef_.shape[0] == 29
    assert len(model.fit_report_) == 435
    _certified(model, X, y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_width_taken_from_the_data(container: Any) -> None:
    X, y = many_class_points(2, 40)
    X = container(np.hstack((X, np.zeros((80, 2)))))
    for name in ("scale", "auto"):
        by_name, by_number = (
            SVC(gamma=gamma, tol=1e-6).fit(X, y).decision_function(X) for gamma in (name, resolve_gamma(name, X))
        )
        np.testing.assert_allclose(by_name, by_number, atol=1e-6)


@pytest.mark.parametrize("attribute", ["n_support_", "dual_coef_", "support_vectors_", "intercept_"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_altered_models_are_refused(attribute: str, n_classes: int) -> None:
    X, y = many_class_points(n_classes, 30)
    model = SVC().fit(X, y)
    fitted = getattr(model, attribute)
    setattr(
        model, attribute, fitted * 1000 if attribute == "n_support_" else np.repeat(fitted, 2, axis=fitted.ndim - 1)
    )
    with pytest.raises(ValueError, match=r"differ|shape|altered|support|intercept|feature|column"):
        model.predict(X)


def test_predictions_come_from_attributes_only() -> None:
    X, y = many_class_points(2, 40)
    model = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-5)
    assert np.array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)])

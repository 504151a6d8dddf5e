"""Decision values are as exact as the machine: in float64 wherever that costs nothing or float32 would not do."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse

from widemargin import SVC
from widemargin.estimators import prediction
from widemargin.kernels.rows import KernelParameters
from widemargin.solvers import Auto
from widemargin.testing import kernel_matrix, many_class_points
from widemargin.testing.oracles import as_matrix


def _exact(model: SVC, X: Any, gamma: float) -> np.ndarray:
    """Decision values of all pairs from the attributes, computed in float64 the slow way."""
    K = kernel_matrix(
        as_matrix(X), as_matrix(model.support_vectors_), kernel=model.kernel, gamma=gamma, coef0=model.coef0
    )
    coefficients, owners = as_matrix(model.dual_coef_), np.repeat(np.arange(len(model.classes_)), model.n_support_)
    columns = [
        K @ (np.where(owners == a, coefficients[b - 1], 0.0) + np.where(owners == b, coefficients[a], 0.0))
        for a, b in combinations(range(len(model.classes_)), 2)
    ]
    return np.column_stack(columns) + model.intercept_


def _values(model: SVC, X: Any) -> np.ndarray:
    values = model.set_params(decision_function_shape="ovo").decision_function(X)
    return values.reshape(len(values), -1)


@pytest.mark.parametrize("container", [np.asarray, csr_array, csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_small_models_are_evaluated_in_float64(n_classes: int, kernel: str, container: Any) -> None:
    X, y = many_class_points(n_classes, 40)
    model = SVC(kernel=kernel, gamma=0.1, coef0=0.5).fit(container(X), y)
    for rows in (container(X), X, X[:1]):
        expected = _exact(model, rows, 0.1)
        np.testing.assert_allclose(_values(model, rows), expected, atol=1e-12 * max(1.0, np.abs(expected).max()))


def _wide(rows: int = 600, columns: int = 700) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, columns)), np.arange(rows) % 2


def test_large_models_are_evaluated_in_float32_whatever_the_batch() -> None:
    X, y = _wide()
    model = SVC().fit(X, y)
    assert model.support_vectors_.size > prediction.SMALL_MODEL
    error = np.abs(_values(model, X[:50]) - _exact(model, X[:50], 1.0 / (X.shape[1] * X.var()))).max()
    assert 1e-12 < error < 1e-4
    alone = np.concatenate([model.decision_function(X[[k]]) for k in range(50)])
    # Rounding of float64 sums is all that a batch may change.
    assert np.abs(alone - model.decision_function(X)[:50]).max() < 1e-5


@pytest.mark.parametrize(
    ("parameters", "scale"),
    [({"solver": Auto(dtype="float64")}, 1.0), ({}, 1e-17), ({}, 1e17), ({"kernel": "linear"}, 1.0)],
    ids=["float64", "tiny numbers", "huge numbers", "linear"],
)
def test_large_models_are_evaluated_in_float64_where_they_must(parameters: dict[str, Any], scale: float) -> None:
    X, y = _wide()
    model = SVC(**parameters).fit(X * scale, y)
    assert model.support_vectors_.size > prediction.SMALL_MODEL
    expected = _exact(model, X[:50] * scale, 1.0 / (X.shape[1] * X.var()) / scale**2)
    np.testing.assert_allclose(_values(model, X[:50] * scale), expected, atol=1e-9)


def test_a_machine_that_needed_float64_predicts_in_it() -> None:
    small, large = np.ones((2, 2)), np.ones((500, 500))
    few, many = np.ones((1, 2)), np.ones((1, 500))
    needs_double = partial(prediction.needs_double, KernelParameters())
    assert needs_double(small, few, False)
    assert not needs_double(large, many, False)
    assert needs_double(large, many, True)
    assert needs_double(large, 1e5 * many, False)
    assert not needs_double(np.zeros((500, 500)), many, False)


def test_the_report_names_the_precision() -> None:
    X, y = many_class_points(3, 40)
    assert {entry.precision for entry in SVC().fit(X, y).fit_report_} <= {"float32", "float64"}
    assert {entry.precision for entry in SVC(solver=Auto(dtype="float64")).fit(X, y).fit_report_} == {"float64"}


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_linear_machines_predict_through_their_weights(container: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = many_class_points(3, 60)
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(container(X), y)
    weights = as_matrix(model.coef_)
    assert issparse(model.coef_) == issparse(container(X))
    expected = X @ weights.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-13, atol=1e-13)
    # Weights too many for a dense matrix stay sparse; more pairs than support vectors go through the kernel.
    monkeypatch.setattr(prediction, "BLOCK_ENTRIES", 1)
    for rows in (X, container(X)):
        np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-12)


def test_many_classes_of_few_support_vectors_predict_through_the_kernel() -> None:
    X, y = many_class_points(30, 6)
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert len(model.intercept_) > len(model.support_)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)


def test_linear_weights_are_read_only() -> None:
    X, y = many_class_points(2, 30)
    for container in (np.asarray, csr_array):
        model = SVC(kernel="linear").fit(container(X), y)
        weights = model.coef_
        with pytest.raises(ValueError, match="read-only"):
            (weights.data if issparse(weights) else weights)[:] = 0.0
        with pytest.raises(AttributeError):
            model.coef_ = weights

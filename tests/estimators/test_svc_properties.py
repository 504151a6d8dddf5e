"""Properties that hold for every data set: order, repetition, weights, offsets and the names of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.estimators import pair_solutions
from widemargin import SVC
from widemargin.testing import many_class_points

TIGHT = 1e-7


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Two overlapping classes on a grid of step 1/64, and the parameters of a machine."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n, dimension = draw(st.integers(8, 40), label="rows"), draw(st.integers(1, 4), label="columns")
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    X = np.round((rng.normal(size=(n, dimension)) + 0.5 * y[:, None]) * 64.0) / 64.0
    parameters: dict[str, Any] = {
        "kernel": draw(st.sampled_from(["rbf", "linear", "poly"]), label="kernel"),
        "C": draw(st.sampled_from([0.1, 1.0, 10.0]), label="C"),
        "gamma": draw(st.sampled_from([0.1, 1.0]), label="gamma"),
        "coef0": 1.0,
        "degree": 2,
        "tol": TIGHT,
    }
    return X, y, parameters


def _has_free_variables(model: SVC, X: Any, y: Any, weights: Any = None) -> bool:
    """Whether the offset is determined; with all variables at their bounds any value of an interval is as good."""
    (pair,) = pair_solutions(model, X, y, sample_weight=weights)
    width = pair.case.upper - pair.case.lower
    inside = (pair.alpha > pair.case.lower + 1e-5 * width) & (pair.alpha < pair.case.upper - 1e-5 * width)
    return bool(inside.any())


def _assert_same_machine(first: np.ndarray, second: np.ndarray) -> None:
    np.testing.assert_allclose(first, second, atol=2e-4 * max(1.0, float(np.abs(first).max())))


@settings(max_examples=30)
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(problem: Any, seed: int) -> None:
    X, y, parameters = problem
    order = np.random.default_rng(seed).permutation(len(y))
    first, second = SVC(**parameters).fit(X, y), SVC(**parameters).fit(X[order], y[order])
    assume(_has_free_variables(first, X, y))
    _assert_same_machine(first.decision_function(X), second.decision_function(X))


@settings(max_examples=30)
@given(problems())
def test_a_weight_of_two_is_a_repeated_row(problem: Any) -> None:
    X, y, parameters = problem
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    repeats = weights.astype(int)
    weighted = SVC(**parameters).fit(X, y, sample_weight=weights)
    assume(_has_free_variables(weighted, X, y, weights))
    repeated = SVC(**parameters).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    _assert_same_machine(weighted.decision_function(X), repeated.decision_function(X))


@settings(max_examples=30)
@given(problems())
def test_a_weight_of_zero_is_a_removed_row(problem: Any) -> None:
    X, y, parameters = problem
    weights = np.where(np.arange(len(y)) % 4 == 3, 0.0, 1.0)
    kept = weights > 0.0
    # Also where the width is taken from the data: removed rows must not be felt there either.
    parameters = {**parameters, "gamma": "scale"}
    weighted = SVC(**parameters).fit(X, y, sample_weight=weights)
    assume(_has_free_variables(weighted, X, y, weights))
    removed = SVC(**parameters).fit(X[kept], y[kept])
    _assert_same_machine(weighted.decision_function(X), removed.decision_function(X))
    assert kept[weighted.support_].all()
    assert np.array_equal(np.flatnonzero(kept)[removed.support_], weighted.support_)
    assert np.array_equal(weighted.support_vectors_, X[weighted.support_])


@settings(max_examples=30)
@given(problems(), st.sampled_from([1.0, -1e3, 1e6, 1e7]))
def test_a_common_offset_does_not_change_a_gaussian_machine(problem: Any, offset: float) -> None:
    X, y, parameters = problem
    parameters = {**parameters, "kernel": "rbf"}
    shifted = X + offset
    np.testing.assert_array_equal(shifted - offset, X)
    first, second = SVC(**parameters).fit(X, y), SVC(**parameters).fit(shifted, y)
    assume(_has_free_variables(first, X, y))
    _assert_same_machine(first.decision_function(X), second.decision_function(shifted))


def test_a_common_offset_does_not_change_the_width_taken_from_the_data() -> None:
    X, y = many_class_points(2, 60)
    X = np.round(X * 64.0) / 64.0
    expected = SVC(tol=TIGHT).fit(X, y).decision_function(X)
    _assert_same_machine(expected, SVC(tol=TIGHT).fit(X + 1e7, y).decision_function(X + 1e7))


@settings(max_examples=30)
@given(problems())
def test_swapping_the_labels_negates_the_decision_values(problem: Any) -> None:
    X, y, parameters = problem
    first, second = SVC(**parameters).fit(X, y), SVC(**parameters).fit(X, -y)
    assume(_has_free_variables(first, X, y))
    _assert_same_machine(first.decision_function(X), -second.decision_function(X))


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.25, 3.0]))
def test_scaling_all_weights_is_scaling_the_penalty(problem: Any, factor: float) -> None:
    X, y, parameters = problem
    weighted = SVC(**parameters).fit(X, y, sample_weight=np.full(len(y), factor))
    assume(_has_free_variables(weighted, X, y, np.full(len(y), factor)))
    scaled = SVC(**{**parameters, "C": factor * parameters["C"]}).fit(X, y)
    _assert_same_machine(weighted.decision_function(X), scaled.decision_function(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_many_classes_are_indifferent_to_order_and_repetition(kernel: str) -> None:
    X, y = many_class_points(4, 25, seed=3)
    parameters = {"kernel": kernel, "gamma": 0.5, "tol": TIGHT, "decision_function_shape": "ovo"}
    expected = SVC(**parameters).fit(X, y).decision_function(X)
    order = np.random.default_rng(0).permutation(len(y))
    _assert_same_machine(expected, SVC(**parameters).fit(X[order], y[order]).decision_function(X))
    twice = SVC(**parameters).fit(np.vstack((X, X)), np.concatenate((y, y)))
    weighted = SVC(**parameters).fit(X, y, sample_weight=np.full(len(y), 2.0))
    _assert_same_machine(weighted.decision_function(X), twice.decision_function(X))

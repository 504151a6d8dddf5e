"""Which class is predicted, and how likely it is said to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from small_problems import fitted, three_classes, two_classes

from oracles.multi_class import fuzzy_one_against_all

DECISIONS = "calibrated", "argmax", "fuzzy-minimum"


def values_of(model: Any, X: Any) -> Any:
    """Decision values of all functions, by the formula."""
    columns = []
    for one, vectors in zip(model.models_, model.support_vectors_, strict=True):
        apart = (X[:, np.newaxis, one.features] - vectors) * model.scale_.factors[one.features]
        kernel = np.exp(-np.square(apart).sum(axis=2) / one.sigma**2)
        columns.append(kernel @ one.model.dual_coef_[0] + one.model.intercept_[0])
    return np.column_stack(columns)


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("select", [False, True])
def test_the_largest_of_several_wins(decision: str, select: bool, refit: bool) -> None:
    X, y = three_classes()
    model = fitted(X, y, decision=decision, select_features=select, refit=refit)
    found = model.decision_function(X)
    values = values_of(model, X)
    if decision == "calibrated":
        values = values * [one.sigmoid[0] for one in model.models_] + [one.sigmoid[1] for one in model.models_]
    elif decision == "fuzzy-minimum":
        values = fuzzy_one_against_all(values)
    np.testing.assert_allclose(found, values, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(found, axis=1)])
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[np.argmax(chances, axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(chances))
    assert model.score(X, y) > 0.8


def test_the_decision_may_change_after_the_fit() -> None:
    X, y = three_classes()
    model = fitted(X, y)
    for decision in DECISIONS:
        model.decision = decision
        own = fitted(X, y, decision=decision)
        np.testing.assert_array_equal(model.decision_function(X), own.decision_function(X))
        np.testing.assert_array_equal(model.predict(X), own.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
    model.decision = "votes"
    with pytest.raises(ValueError, match=r"^decision must be one of 'calibrated', 'argmax', 'fuzzy-minimum'; got "):
        model.predict(X)


def test_two_classes_are_told_apart_by_the_sign() -> None:
    X, y = two_classes()
    expected = None
    for decision in DECISIONS:
        model = fitted(X, y, decision=decision)
        found = model.decision_function(X)
        expected = found if expected is None else expected
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(found, values_of(model, X)[:, 0], atol=1e-4)
        np.testing.assert_array_equal(model.predict(X), (found > 0).astype(int))
        chances = model.predict_proba(X)
        slope, offset = model.models_[0].sigmoid
        assert offset == 0.0
        assert slope > 0.0
        np.testing.assert_allclose(chances[:, 1], expit(slope * found), atol=1e-12)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        np.testing.assert_array_equal(np.argmax(chances, axis=1), model.predict(X))


def test_probabilities_are_those_of_the_validation_samples() -> None:
    """The sigmoid is fitted to samples that no model was trained on: no other slope is more likely there."""
    X, y = two_classes(600)
    model = fitted(X, y)
    rows = model.split_.validation
    values, signs = model.decision_function(X[rows]), np.where(y[rows] == 1, 1.0, -1.0)
    slope = model.models_[0].sigmoid[0]

    def loss(one: float) -> float:
        return float(np.logaddexp(0.0, -one * signs * values).mean())

    assert loss(slope) <= min(loss(1.1 * slope), loss(slope / 1.1)) + 1e-9

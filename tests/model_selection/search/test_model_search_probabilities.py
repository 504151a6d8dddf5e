"""Probabilities from the rows that the folds of a model search held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_searches import two_classes
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, ModelSearch
from widemargin.objectives import CrossValidation

FOLDS = StratifiedKFold(5, shuffle=True, random_state=3)


def machine(**parameters: Any) -> SVC:
    return SVC(tol=1e-6, calibration="from-search", **parameters)


def of_grid_search(estimator: Any, best: dict[str, Any], X: Any, y: Any, **params: Any) -> Any:
    """Search a grid of one candidate with the same folds."""
    return GridSearchCV(estimator, {name: [value] for name, value in best.items()}, cv=FOLDS).fit(X, y, **params)


def check(search: ModelSearch, X: Any, y: Any, **params: Any) -> None:
    search.fit(X, y, **params)
    meant = of_grid_search(search.estimator, search.best_params_, X, y, **params)
    probabilities = search.predict_proba(X)
    np.testing.assert_allclose(probabilities, meant.predict_proba(X), atol=2e-4)
    np.testing.assert_array_equal(search.classes_[probabilities.argmax(axis=1)], search.predict(X))


@pytest.mark.parametrize("sigmoid", ["slope", "platt"])
@pytest.mark.parametrize("how", [{"objective": CrossValidation(FOLDS)}, {"objective": "target-alignment", "cv": FOLDS}])
def test_they_are_those_of_a_grid_search_with_the_same_folds(how: Any, sigmoid: str) -> None:
    X, y = two_classes()
    check(ModelSearch(machine(calibration_method=sigmoid), random_state=0, max_evaluations=20, **how), X, y)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_more_than_two_classes_with_weights(multi_class: str) -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    search = ModelSearch(machine(multi_class=multi_class), objective="class-distance", cv=FOLDS)
    check(search, X, y, sample_weight=weights)


def test_at_the_end_of_a_pipeline() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), machine())
    check(ModelSearch(pipeline, objective="target-alignment", cv=FOLDS, max_evaluations=5), X, y)


def test_a_resumed_search_has_the_same(tmp_path: Any) -> None:
    X, y = two_classes()
    how = {"objective": "cross-validation", "random_state": 0, "max_evaluations": 12, "journal": tmp_path / "journal"}
    first, again = (ModelSearch(machine(), **how).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("objective", ["likelihood", "span", "hold-out"])
def test_objectives_without_folds_refuse(objective: str) -> None:
    X, y = two_classes()
    with pytest.raises(ValueError, match=f"objective='{objective}' has no folds; pass calibration='folds'"):
        ModelSearch(machine(), objective=objective).fit(X, y)

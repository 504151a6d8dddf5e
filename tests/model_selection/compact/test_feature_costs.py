"""Costs of features by name end up at their columns, and names that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from widemargin import CompactSVC
from widemargin.model_selection.compact.feature_costs import by_name, in_order

NAMES = ["age", "biopsy", "weight"]
COSTS = {"weight": 2.0, "age": 1.0, "biopsy": 300.0}


@pytest.mark.parametrize("given", [COSTS, pd.Series(COSTS)])
def test_names_are_looked_up(given: Any) -> None:
    assert in_order(given, NAMES).tolist() == [1.0, 300.0, 2.0]


@pytest.mark.parametrize("given", [None, [1.0, 2.0], np.array([1.0]), pd.Series([1.0, 2.0]), (3.0,)])
def test_sequences_are_left_alone(given: Any) -> None:
    assert in_order(given, NAMES) is given
    assert by_name(given) is None


@pytest.mark.parametrize(
    ("given", "names", "message"),
    [
        (COSTS, None, "columns of X have no names"),
        (COSTS, ["age", "biopsy"], "names 'weight', which is no column of X"),
        ({"age": 1.0}, NAMES, "no cost for column 'biopsy'"),
    ],
)
def test_names_that_do_not_fit(given: Any, names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_order(given, names)


def test_a_model_goes_by_names() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = pd.DataFrame({name: y + rng.normal(scale=0.3, size=120) for name in NAMES})
    found = []
    for given in (COSTS, pd.Series(COSTS), [1.0, 300.0, 2.0]):
        model = CompactSVC(select_features=True, feature_penalty=0.05, feature_costs=given, random_state=0)
        found.append(model.fit(X, y))
    first, *others = found
    assert 1 not in first.selected_features_
    for other in others:
        assert other.selected_features_.tolist() == first.selected_features_.tolist()
        assert other.models_[0].feature_cost == first.models_[0].feature_cost
    with pytest.raises(ValueError, match="have no names"):
        found[0].fit(X.to_numpy(), y)

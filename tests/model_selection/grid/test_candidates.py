"""The candidates of a search: which of them mean nothing, and the lines that the others make."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.folds import ClassifierFold


def candidates(estimator: Any, grid: dict[str, Any]) -> Candidates:
    return Candidates(estimator, list(ParameterGrid(grid)), ClassifierFold, raises=False)


@pytest.mark.parametrize("wrong", [-1.0, "much", True])
def test_a_value_that_means_nothing_fails_wherever_it_is(wrong: Any) -> None:
    grid = {"C": [1, wrong, 2.0], "gamma": [0.1, wrong, 1.0]}
    found = candidates(SVC(), grid)
    refused = [any(value is wrong for value in one.values()) for one in ParameterGrid(grid)]
    assert [number in found.failures for number in range(9)] == refused
    assert sorted(node for line in found.lines for node in line) == [n for n in range(9) if not refused[n]]


def test_a_model_that_means_nothing_fails_with_all_steps_before_it() -> None:
    found = candidates(make_pipeline(StandardScaler(), SVC(C=-1.0)), {"standardscaler__with_std": [True, False]})
    assert sorted(found.failures) == [0, 1]


def test_lines_go_along_the_price() -> None:
    assert candidates(SVC(), {"C": [3.0, 1.0, 2.0], "gamma": [0.1, 1.0]}).lines == [(2, 4, 0), (3, 5, 1)]

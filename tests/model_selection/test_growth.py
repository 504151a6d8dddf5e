"""A grid grows beyond its edges for as long as that pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import SVC, SVR, datasets
from widemargin.model_selection import SearchReport, growth
from widemargin.runtime import Stop


class Grid:
    """A search as growth sees it: one parameter, a score for each of its values, and the steps it took."""

    def __init__(self, values: Any, score: Any, steps: int, unfinished: int = 0) -> None:
        scores = [score(value) for value in values]
        self.best_index_, self.n_splits_ = int(np.argmax(scores)), 5
        params = [{"C": value} for value in values]
        self.cv_results_ = {"params": params, "mean_test_score": scores, "std_test_score": [0.02] * len(scores)}
        self.best_score_, self.best_params_ = max(scores), params[self.best_index_]
        self.work_report_ = SearchReport(trained=1, unfinished=unfinished, iterations=steps)


def never(search: Any) -> bool:
    """No C is saturated."""
    return False


def rising(C: float) -> float:
    """Score better for every larger C."""
    return float(1.0 - 1.0 / C)


@pytest.mark.parametrize(
    ("gain", "steps", "tried", "edges"),
    [
        (0.02, [100, 10, 10, 10, 10], [8.0, 16.0, 32.0, 64.0], {"C": "largest"}),  # to the last round
        (0.009, [100, 10], [8.0], {}),  # within the standard error, which is 0.01
        (0.02, [100, 101], [8.0], {"C": "largest"}),  # harder than the grid
        (0.02, [100, 60, 161], [8.0, 16.0], {"C": "largest"}),
        (0.02, [100, 60, 160, 321], [8.0, 16.0, 32.0], {"C": "largest"}),
    ],
)
def test_a_grid_grows_for_as_long_as_that_pays(
    gain: float, steps: list[int], tried: list[float], edges: dict[str, str]
) -> None:
    grids: list[Any] = []

    def search(grid: Any, number: int) -> Any:
        grids.append(grid["C"].tolist())
        return Grid(grid["C"], lambda value: 0.5 + gain * np.log2(value), steps[number])

    found, left = growth.grown(search, never, {"C": np.array([1.0, 2.0, 4.0])})
    assert grids == [[1.0, 2.0, 4.0], *([value] for value in tried)]
    assert len(found) == len(steps)
    assert left == edges


def test_a_step_beyond_that_brings_nothing_leaves_the_best_inside() -> None:
    axes = {"C": np.array([1.0, 2.0, 4.0])}

    def search(grid: Any, number: int) -> Any:
        return Grid(grid["C"], lambda value: -abs(value - 4.0), 10)

    found, left = growth.grown(search, never, axes)
    assert (len(found), left) == (2, {})
    assert axes["C"].tolist() == [1.0, 2.0, 4.0, 8.0]


def test_a_step_that_is_not_finished_is_the_last() -> None:
    def search(grid: Any, number: int) -> Any:
        return Grid(grid["C"], rising, 10, unfinished=number)

    found, left = growth.grown(search, never, {"C": np.array([1.0, 2.0])})
    assert (len(found), left) == (2, {"C": "largest"})


def test_a_grid_does_not_grow_beyond_a_c_that_is_saturated() -> None:
    grids: list[list[float]] = []
    asked: list[float] = []

    def search(grid: Any, number: int) -> Any:
        grids.append(grid["C"].tolist())
        return Grid(grid["C"], rising, 10)

    def saturated(search: Any) -> bool:
        asked.append(search.best_params_["C"])
        return bool(search.best_params_["C"] >= 8.0)

    _, left = growth.grown(search, saturated, {"C": np.array([2.0, 4.0])})
    assert (grids, asked, left) == ([[2.0, 4.0], [8.0]], [4.0, 8.0], {})


def test_nothing_lies_beyond_a_perfect_score() -> None:
    axes = {"C": np.array([1.0, 2.0])}
    found, left = growth.grown(lambda grid, number: Grid(grid["C"], lambda value: value / 2.0, 10), never, axes)
    assert (len(found), left) == (1, {})


def test_time_that_is_up_while_saturation_is_looked_at_keeps_what_was_found() -> None:
    def saturated(search: Any) -> bool:
        raise TimeoutError

    axes = {"C": np.array([1.0, 2.0])}
    found, left = growth.grown(lambda grid, number: Grid(grid["C"], rising, 10), saturated, axes)
    assert (len(found), left) == (1, {"C": "largest"})


@pytest.mark.parametrize("C", [0.5, 2.0])
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_matrix])
def test_c_is_saturated_if_no_coefficient_meets_it(C: float, regression: bool, as_rows: Any) -> None:
    X, y = datasets.twonorm(150, random_state=0)
    model: Any = SVR(epsilon=0.0, gamma=1e6) if regression else SVC(gamma=1e6)
    targets = np.where(np.equal(y, y[0]), 1.0, -1.0)
    step = growth.GrowthStep(model, {"C": [C]}, cv=3, refit=False).fit(as_rows(X), targets)
    assert step.is_saturated(Stop()) == (C == 2.0)  # coefficients are about 1
    with pytest.raises(TimeoutError):
        step.is_saturated(Stop().within(-1.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_c_is_not_saturated_where_models_did_not_converge() -> None:
    X, y = datasets.twonorm(150, random_state=0)
    step = growth.GrowthStep(SVC(gamma=1e6, max_iter=1), {"C": [2.0]}, cv=3, refit=False).fit(X, y)
    assert not step.is_saturated(Stop())

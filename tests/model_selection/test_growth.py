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

    def __init__(self, grid: Any, score: Any, steps: int = 10, unfinished: int = 0, saturated: Any = None) -> None:
        values, self._saturated = grid["C"], saturated
        scores = [score(value) for value in values]
        self.best_index_, self.n_splits_ = int(np.argmax(scores)), 5
        params = [{"C": value} for value in values]
        self.cv_results_ = {"params": params, "mean_test_score": scores, "std_test_score": [0.02] * len(scores)}
        self.best_score_, self.best_params_ = max(scores), params[self.best_index_]
        self.work_report_ = SearchReport(trained=1, unfinished=unfinished, iterations=steps)

    def fit(self, X: Any, y: Any) -> Grid:
        """Be found as it is."""
        return self

    def is_saturated(self, stop: Stop) -> bool:
        """Tell what the test says of the best C; none is saturated unless it says so."""
        return self._saturated is not None and self._saturated(self.best_params_["C"])


@pytest.fixture
def grow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Grow from some values of C, with searches that a function makes from the grid and its number."""

    def grown(values: Any, search: Any, **how: Any) -> Any:
        made: list[Grid] = []

        def step(estimator: Any, grid: Any, **options: Any) -> Grid:
            made.append(search(grid, len(made)))
            return made[-1]

        monkeypatch.setattr(growth, "GrowthStep", step)
        axes = {"C": np.array(values)}
        found, left = growth.grown(SVC(), axes, None, None, stop=Stop(), **how)
        assert found == made
        assert [one.before for one in found] == [None, *found[:-1]]
        return found, left, axes["C"].tolist()

    return grown


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
    grow: Any, gain: float, steps: list[int], tried: list[float], edges: dict[str, str]
) -> None:
    grids: list[Any] = []

    def search(grid: Any, number: int) -> Grid:
        grids.append(grid["C"].tolist())
        return Grid(grid, lambda value: 0.5 + gain * np.log2(value), steps[number])

    found, left, _ = grow([1.0, 2.0, 4.0], search)
    assert grids == [[1.0, 2.0, 4.0], *([value] for value in tried)]
    assert len(found) == len(steps)
    assert left == edges


def test_a_step_beyond_that_brings_nothing_leaves_the_best_inside(grow: Any) -> None:
    found, left, values = grow([1.0, 2.0, 4.0], lambda grid, number: Grid(grid, lambda value: -abs(value - 4.0)))
    assert (len(found), left) == (2, {})
    assert values == [1.0, 2.0, 4.0, 8.0]


def test_a_step_that_is_not_finished_is_the_last(grow: Any) -> None:
    found, left, _ = grow([1.0, 2.0], lambda grid, number: Grid(grid, rising, unfinished=number))
    assert (len(found), left) == (2, {"C": "largest"})


def test_a_grid_that_is_not_to_grow_does_not(grow: Any) -> None:
    found, left, _ = grow([1.0, 2.0], lambda grid, number: Grid(grid, rising), grows=False)
    assert (len(found), left) == (1, {"C": "largest"})


@pytest.mark.parametrize("looks_ahead", [True, False])
def test_a_grid_does_not_grow_beyond_a_c_that_is_saturated(grow: Any, looks_ahead: bool) -> None:
    grids: list[list[float]] = []
    asked: list[float] = []

    def saturated(C: float) -> bool:
        asked.append(C)
        return C >= 8.0

    def search(grid: Any, number: int) -> Grid:
        grids.append(grid["C"].tolist())
        return Grid(grid, rising, saturated=saturated)

    _, left, _ = grow([2.0, 4.0], search, looks_ahead=looks_ahead)
    if looks_ahead:
        assert (grids, asked, left) == ([[2.0, 4.0], [8.0]], [4.0, 8.0], {})
    else:
        assert (grids[:3], asked) == ([[2.0, 4.0], [8.0], [16.0]], [])


def test_nothing_lies_beyond_a_perfect_score(grow: Any) -> None:
    found, left, _ = grow([1.0, 2.0], lambda grid, number: Grid(grid, lambda value: value / 2.0))
    assert (len(found), left) == (1, {})


def test_time_that_is_up_while_saturation_is_looked_at_keeps_what_was_found(grow: Any) -> None:
    def saturated(C: float) -> bool:
        raise TimeoutError

    found, left, _ = grow([1.0, 2.0], lambda grid, number: Grid(grid, rising, saturated=saturated))
    assert (len(found), left) == (1, {"C": "largest"})


def test_no_grid_is_searched_when_time_is_up() -> None:
    with pytest.raises(TimeoutError):
        growth.grown(SVC(), {"C": np.array([1.0, 2.0])}, None, None, stop=Stop().within(-1.0))


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

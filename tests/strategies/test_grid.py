from __future__ import annotations

import numpy as np
import pytest

from widemargin.strategies import GridSearch, Space
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


def test_contract():
    # 20 points between -4 and 4.
    StrategyContract(GridSearch(), precision=0.5 * 8 / 19 + 1e-9).check()


def box(n=2):
    return Space(np.zeros(n), np.full(n, -1.0), np.arange(1.0, n + 1))


def asked(strategy, space, **budget):
    run = strategy.begin(space, seed=0, **budget)
    exchanges = minimise(run, Bowl(space.lower, np.ones(space.n_dims)))
    return run, np.array([ask.point for asks, _ in exchanges for ask in asks]), exchanges


def test_all_combinations_are_evaluated_once():
    run, points, exchanges = asked(GridSearch(points=[3, 5], batch=4), box())
    expected = [[x, y] for x in np.linspace(-1, 1, 3) for y in np.linspace(-1, 2, 5)]
    np.testing.assert_allclose(points, expected)
    assert [len(asks) for asks, _ in exchanges] == [4, 4, 4, 3]
    assert run.best.tolist() == [-1.0, -1.0]
    assert run.reason == "all 15 points of the grid are evaluated"
    assert run.expected_evaluations == 15


@pytest.mark.parametrize(
    ("n", "budget", "count"),
    [(1, None, 400), (2, None, 20), (3, None, 7), (2, 30, 5), (3, 27, 3), (3, 26, 2), (5, 243, 3)],
)
def test_points_follow_from_the_budget(n, budget, count):
    _, points, _ = asked(GridSearch(), box(n), max_evaluations=budget)
    assert len(points) == count**n


def test_parameters_between_equal_bounds_have_one_point():
    space = Space(np.zeros(3), np.array([-1.0, 2.0, -1.0]), np.array([1.0, 2.0, 1.0]))
    for points in (3, [3, 7, 3]):
        _, found, _ = asked(GridSearch(points=points), space)
        assert found.shape == (9, 3)
        assert (found[:, 1] == 2.0).all()


def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"points=4 of 'grid' make 4 x 4 = 16 evaluations; max_evaluations is 15\."):
        GridSearch(points=4).begin(box(), seed=0, max_evaluations=15)
    with pytest.raises(ValueError, match=r"points=\[4\] of 'grid' must hold one number for each of the 2 parameters\."):
        GridSearch(points=[4]).begin(box(), seed=0)
    with pytest.raises(ValueError, match=r"strategy='grid' needs at least 512 evaluations for 9 parameters; 400 are"):
        GridSearch().begin(box(9), seed=0)
    with pytest.raises(ValueError, match=r"points=1 of 'grid' must be at least 2 on each axis, or None\."):
        GridSearch(points=1)
    with pytest.raises(ValueError, match=r"points=\[3, 1\] of 'grid' must be at least 2"):
        GridSearch(points=[3, 1])
    with pytest.raises(ValueError, match=r"batch=0 of 'grid' must be at least 1\."):
        GridSearch(batch=0)
    space = Space(np.zeros(2), np.array([-1.0, -np.inf]), np.ones(2))
    with pytest.raises(ValueError, match=r"strategy='grid' needs bounds; parameter 1 reaches from -inf to 1\."):
        GridSearch().begin(space, seed=0)

from __future__ import annotations

import numpy as np
import pytest

from widemargin.strategies import RandomSearch, Space
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


def test_contract():
    StrategyContract(RandomSearch(evaluations=2000), precision=0.3).check()


def asked(strategy, seed=0, **budget):
    space = Space(np.array([0.5, 0.5]), np.array([0.0, -3.0]), np.array([1.0, 1.0]))
    run = strategy.begin(space, seed=seed, **budget)
    exchanges = minimise(run, Bowl(np.array([0.5, 0.5]), np.ones(2)))
    return run, np.array([ask.point for asks, _ in exchanges for ask in asks]), exchanges


def test_points_are_uniform_after_the_start():
    run, points, _ = asked(RandomSearch(evaluations=4001))
    assert points[0].tolist() == [0.5, 0.5]
    assert run.best.tolist() == [0.5, 0.5]
    shares = np.histogram2d(points[1:, 0], points[1:, 1], bins=4, range=[[0, 1], [-3, 1]])[0] / 4000
    np.testing.assert_allclose(shares, 1 / 16, atol=0.015)


def test_points_depend_on_the_seed_alone():
    _, few, _ = asked(RandomSearch(evaluations=50, batch=7))
    _, many, exchanges = asked(RandomSearch(evaluations=200, batch=64))
    np.testing.assert_array_equal(few, many[:50])
    assert [len(asks) for asks, _ in exchanges] == [64, 64, 64, 8]
    _, other, _ = asked(RandomSearch(evaluations=50), seed=1)
    assert not np.isin(few[1:], other[1:]).any()


def test_budgets():
    assert len(asked(RandomSearch())[1]) == 100
    assert len(asked(RandomSearch(), max_evaluations=30)[1]) == 30
    run, points, _ = asked(RandomSearch(evaluations=20), max_evaluations=30)
    assert len(points) == 20
    assert run.reason == "the 20 evaluations allowed are spent"


def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"evaluations=0 of 'random' must be at least 1, or None\."):
        RandomSearch(evaluations=0)
    with pytest.raises(ValueError, match=r"batch=0 of 'random' must be at least 1\."):
        RandomSearch(batch=0)
    with pytest.raises(ValueError, match=r"strategy='random' needs bounds; parameter 0 reaches from 0 to inf\."):
        RandomSearch().begin(Space(np.zeros(1), np.zeros(1), np.array([np.inf])), seed=0)


def test_whole_numbers_are_all_as_likely():
    space = Space(np.array([2.0, 0.5]), np.array([1.0, 0.0]), np.array([3.0, 1.0]), whole=np.array([True, False]))
    run = RandomSearch(batch=601).begin(space, seed=0, max_evaluations=601)
    points = np.array([ask.point for ask in run.ask()])[1:]
    assert np.bincount(points[:, 0].astype(int))[1:].min() > 160
    assert len(np.unique(points[:, 1])) == 600
    held = Space(np.full(1, 2.0), np.full(1, 2.0), np.full(1, 2.0), whole=np.array([True]))
    assert {ask.point[0] for ask in RandomSearch().begin(held, seed=0).ask()} == {2.0}


def test_parameters_with_quantiles_are_drawn_by_these():
    bounds = np.zeros(2), np.zeros(2), np.ones(2)
    points = [
        np.array([ask.point for ask in RandomSearch().begin(space, seed=0).ask()])
        for space in (Space(*bounds), Space(*bounds, quantiles={1: np.square}))
    ]
    np.testing.assert_allclose(points[1], points[0] ** [1.0, 2.0], rtol=1e-15)

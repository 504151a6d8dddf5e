"""The functions' random gradients are those of their expected values, on average."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.glasmachers.noisy_functions import SECTION_11_4, Trials


@pytest.mark.parametrize("function", SECTION_11_4, ids=lambda function: function.name[:2])
def test_mean_gradients_are_slopes_of_the_expected_value(function):
    rng = np.random.default_rng(0)
    for x in rng.uniform(-0.5, 1.5, size=(5, function.n_dims)):
        members = rng.random((100_000, function.n_dims))
        mean = function.gradient(np.broadcast_to(x, members.shape), members).mean(axis=0)
        for i, unit in enumerate(1e-6 * np.eye(function.n_dims)):
            slope = (function.expected(x + unit) - function.expected(x - unit)) / 2e-6
            assert mean[i] == pytest.approx(slope, abs=0.02)


@pytest.mark.parametrize("function", SECTION_11_4, ids=lambda function: function.name[:2])
def test_the_expected_value_is_least_at_the_optimum(function):
    optimum = np.array(function.optimum)
    away = np.random.default_rng(1).normal(size=(50, function.n_dims))
    assert all(function.expected(optimum) < function.expected(optimum + step) for step in away)


def test_trials_begin_at_their_distance_and_draw_for_themselves():
    trials = Trials(SECTION_11_4, seeds=range(10))
    distances = trials.distances(trials.start)
    assert distances.min() >= 1.0
    assert distances.max() <= 1.1
    other = Trials(SECTION_11_4, seeds=range(10, 20))
    assert not np.isin(trials.start, other.start).any()
    draws = np.array([trials.gradient(trials.start) for _ in range(2000)])
    means = draws[:, 10:30] - trials.start[10:30] * 2
    assert np.abs(np.corrcoef(means.T) - np.eye(20)).max() < 0.1

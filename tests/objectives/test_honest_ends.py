"""Objectives where arithmetic or training comes to its ends: nothing leaks, nothing runs for ever."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels import Gaussian, Polynomial
from widemargin.objectives import (
    Bootstrap,
    CrossValidation,
    HoldOut,
    LeaveOneOut,
    Likelihood,
    RadiusMargin,
    SpanBound,
    SupportVectors,
    Task,
)

#: Values of this kernel are 1e15 each, in float32 all the same: it knows nothing about any example.
BLIND = Polynomial(gamma=1e-8, coef0=1e5)


def noise(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose labels have nothing to do with them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), np.arange(n) % 2


@pytest.mark.parametrize("objective", [CrossValidation(), HoldOut(), Bootstrap()])
def test_labels_of_rows_held_out_do_not_leak_into_predictions_through_rounding(objective):
    X, y = noise()
    bound = objective.bind(Task(X, y, 2, np.ones(60)))
    assert bound.evaluate(BLIND, 1e5, generator=np.random.default_rng(0)).value > 0.3


def test_targets_of_rows_held_out_do_not_leak_either():
    X, _ = noise()
    y = np.random.default_rng(1).normal(size=60)
    task = Task(X, y, 0, np.ones(60), loss="epsilon_insensitive")
    assert CrossValidation().bind(task).evaluate(BLIND, 1e5).value > 0.5 * np.var(y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "objective",
    [CrossValidation(), HoldOut(), LeaveOneOut(), Likelihood(), RadiusMargin(), SpanBound(), SupportVectors()],
    ids=lambda one: one.name,
)
def test_hard_margins_that_do_not_exist_have_a_value_all_the_same(objective, loss):
    X, y = noise(20)
    X, y = np.vstack([X, X]), np.concatenate([y, 1 - y])
    weights = np.ones(40)
    weights[:4] = 0.0
    bound = objective.bind(Task(X, y, 2, weights, loss=loss))
    found = bound.evaluate(Gaussian(gamma=0.5), np.inf, generator=np.random.default_rng(0))
    assert np.isfinite(found.value)


@pytest.mark.parametrize("objective", [CrossValidation(), SpanBound(), SupportVectors()], ids=lambda one: one.name)
def test_machines_that_need_more_steps_than_allowed_are_noted(objective):
    X, y = noise()
    for limit, unfinished in [(10**6, False), (3, True)]:
        bound = objective.bind(Task(X, y, 2, np.ones(60), max_iterations=limit))
        notes = bound.evaluate(Gaussian(gamma=0.5), 10.0, gradient=False).notes
        assert ("machines ended before they met their tolerance" in notes) == unfinished

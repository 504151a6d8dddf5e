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
    Posterior,
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


@pytest.mark.parametrize("kind", [HoldOut, Bootstrap, Likelihood, Posterior])
@pytest.mark.parametrize("share", [0.0, 1.0, 2.0, -0.5, np.nan, "half"])
def test_shares_that_leave_nothing_are_refused(kind, share):
    with pytest.raises(ValueError, match=r"share must be a number between 0 and 1; got"):
        kind(share=share)


@pytest.mark.parametrize("kind", [Bootstrap, Likelihood, Posterior])
@pytest.mark.parametrize("draws", [0, -1, 1.5])
def test_draws_that_are_none_are_refused(kind, draws):
    with pytest.raises(ValueError, match=r"draws must be a whole number of at least 1; got"):
        kind(draws=draws)


def test_priors_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"prior must be None or a callable .*; got 3"):
        Posterior(prior=3)
    X, y = noise()
    bound = Posterior(prior=lambda kernel, C: (0.0, np.zeros(3), 0.0)).bind(Task(X, y, 2, np.ones(60)))
    with pytest.raises(ValueError, match=r"shape \(3,\) for Gaussian\(gamma=0.5\), whose theta holds 1 numbers"):
        bound.evaluate(Gaussian(gamma=0.5), 1.0, generator=np.random.default_rng(0))

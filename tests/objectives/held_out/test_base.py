"""What objectives over examples held out share: losses, regression, and labels that do not leak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machine_contracts import LOSSES, tasks

from oracles.objectives import naive_held_out
from widemargin.kernels import DiagonalGaussian, Gaussian, Polynomial
from widemargin.objectives import (
    Bootstrap,
    CrossValidation,
    HoldOut,
    Likelihood,
    SupportVectors,
    Task,
)
from widemargin.objectives.held_out.hold_out import random_split
from widemargin.testing import small_regression_task


@pytest.mark.parametrize("loss", LOSSES)
def test_held_out_losses_are_the_naive_ones(loss):
    task = tasks(loss)[1]
    kernel = DiagonalGaussian([0.2, 0.5, 0.1])
    split = random_split(task, 0.2, np.random.default_rng(3))
    found = Likelihood().bind(task).evaluate(kernel, 2.0, generator=np.random.default_rng(3)).value
    assert found == pytest.approx(naive_held_out(task, kernel, 2.0, [split], "likelihood"), rel=1e-5)
    for kind in ("zero-one", "smooth"):
        objective = HoldOut(loss=kind, random_state=3).bind(task)
        meant = naive_held_out(task, kernel, 2.0, [split], kind)
        assert objective.evaluate(kernel, 2.0).value == pytest.approx(meant, rel=1e-5)


@pytest.mark.parametrize("objective", [CrossValidation(), HoldOut(), Bootstrap(), SupportVectors()])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression(objective, loss):
    task = replace(small_regression_task(tolerance=1e-7), loss=loss)
    found = objective.bind(task).evaluate(Gaussian(0.3), 1.0, generator=np.random.default_rng(0))
    assert found.gradient is None
    assert 0 < found.value < (len(task.y) + 1 if isinstance(objective, SupportVectors) else np.var(task.y))


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

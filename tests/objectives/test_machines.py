"""What objectives with machines share: hard margins that do not exist, budgets, dependent variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machine_contracts import MACHINE

from widemargin.kernels import Gaussian
from widemargin.objectives import (
    CrossValidation,
    HoldOut,
    LeaveOneOut,
    Likelihood,
    RadiusMargin,
    SpanBound,
    SupportVectors,
    Task,
)
from widemargin.testing import ObjectiveContract, small_tasks


def noise(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose labels have nothing to do with them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), np.arange(n) % 2


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
        assert ("models ended before they met their tolerance" in notes) == unfinished


def test_dependent_free_variables_are_held_and_told():
    task = small_tasks(tolerance=1e-7)[0]
    twice = replace(task, X=np.vstack([task.X, task.X]), y=np.tile(task.y, 2), weights=np.ones(2 * len(task.y)))
    for objective in (SpanBound(), SpanBound("unchanged"), LeaveOneOut()):
        notes = {note for C in (0.3, 3.0, 30.0) for note in objective.bind(twice).evaluate(Gaussian(0.3), C).notes}
        assert any("depend" in note for note in notes)
    ObjectiveContract(
        Likelihood(share=0.4), [twice], [Gaussian()], n_points=10, **MACHINE
    ).has_the_slope_of_its_values()

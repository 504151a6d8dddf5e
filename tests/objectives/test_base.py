"""Tasks, and what an objective says of itself unless it says something else."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels import Gaussian
from widemargin.objectives import Evaluated, Objective, Task
from widemargin.objectives.base import BoundObjective
from widemargin.runtime import Stop, StoppedError


class Zero(Objective):
    name = "zero"

    def bind(self, task):
        return BoundZero(task)


class BoundZero(BoundObjective):
    def evaluate(self, kernel, C, *, gradient=True, **how):
        self.task.stop.check()
        return Evaluated(0.0)


def task(**settings) -> Task:
    return Task(np.zeros((4, 1)), np.array([0, 1, 2, 1]), 3, np.array([1.0, 1.0, 0.0, 1.0]), **settings)


def test_pairs_are_those_of_classes_with_weight():
    assert task().pairs == [(0, 1)]
    assert Task(np.zeros((2, 1)), np.array([0.5, 1.5]), 0, np.ones(2)).pairs == []


@pytest.mark.parametrize(
    ("loss", "squared"), [("hinge", False), ("squared_hinge", True), ("squared_epsilon_insensitive", True)]
)
def test_losses_count_slack_or_its_square(loss, squared):
    assert task(loss=loss).squared == squared


def test_what_is_not_said_is_usual():
    objective = Zero()
    flags = objective.deterministic, objective.differentiable, objective.trains_models, objective.chooses_c
    assert flags == (True, True, True, True)
    assert not objective.greater_is_better
    assert objective.why_not(task(), 1.0) is None
    assert objective.bind(task()).n_parts == 1


def test_a_task_cuts_an_evaluation_short():
    assert Zero().bind(task()).evaluate(Gaussian(1.0), 1.0).value == 0.0
    with pytest.raises(StoppedError):
        Zero().bind(task(stop=Stop().within(-1.0))).evaluate(Gaussian(1.0), 1.0)

"""Spans of support vectors where hardly any are free."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels import Gaussian
from widemargin.machines.sensitivity import Sensitivity
from widemargin.objectives import SpanBound, Task
from widemargin.objectives.leave_one_out import machine_of
from widemargin.objectives.machines import TaskKernel
from widemargin.objectives.span import OUT_OF_REACH, spans


def test_the_only_free_variable_is_out_of_reach() -> None:
    # Bounds of 0.1, 0.1 and 0.15: two variables are at them, and what the third has makes the sum 0.
    X, kernel = np.array([[0.0], [0.2], [1.0]]), Gaussian(0.7)
    task = Task(X, np.array([0, 0, 1]), 2, np.array([1.0, 1.0, 1.5]), tolerance=1e-9)
    values = TaskKernel(kernel, task)
    machine = machine_of(values, task, (0, 1), 0.1, None)
    sensitivity = Sensitivity(values.among, machine, values.single, rows=machine.support)
    (free,) = sensitivity.kept
    bounded = sensitivity.bounded
    assert sorted([free, *bounded]) == [0, 1, 2]
    found = spans(sensitivity, kernel.diagonal(X)).squared
    assert found[free] == OUT_OF_REACH
    # What a bounded variable has can go to the free one alone: its span is the distance between the two.
    K = kernel(X)
    assert found[bounded] == pytest.approx(2.0 - 2.0 * K[free, bounded], rel=1e-9)
    # So it counts in full; a bounded one by what its margin would lose, in full where that is all of it.
    margins = (machine.problem.signs * machine.values)[bounded]
    left = margins - np.abs(machine.alpha[bounded]) * found[bounded]
    lost = np.where(left > 0, 1.0 - left / np.where(left > 0, margins, 1.0), 1.0)
    expected = task.weights[free] + task.weights[bounded] @ lost
    assert SpanBound().bind(task).evaluate(kernel, 0.1).value == pytest.approx(expected, rel=1e-6)

"""The span bound beside machines that are trained without each example, one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from machine_contracts import LOSSES, machine_contract

from widemargin import SVC
from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian
from widemargin.machines.derivatives import Sensitivity
from widemargin.objectives import (
    LeaveOneOut,
    SpanBound,
    SupportVectors,
    Task,
)
from widemargin.objectives.leave_one_out import machine_of
from widemargin.objectives.machines import TaskKernel
from widemargin.objectives.span import OUT_OF_REACH, spans

CASES = [(seed, gamma, C) for seed in range(5) for gamma in (0.05, 0.5, 5.0) for C in (0.1, 1.0, 10.0)]


def sample(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2))
    return X, (X[:, 0] + 0.8 * rng.normal(size=24) > 0).astype(np.intp)


@cache
def errors(seed: int, gamma: float, C: float) -> int:
    """Count the examples that a machine trained on all others predicts wrongly."""
    X, y = sample(seed)
    signs, wrong = 2 * y - 1, 0
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        machine = SVC(C=C, gamma=gamma, tol=1e-8).fit(X[others], y[others])
        wrong += bool(signs[n] * machine.decision_function(X[[n]])[0] <= 0.0)
    return wrong


def value(objective: SpanBound, seed: int, gamma: float, C: float) -> float:
    X, y = sample(seed)
    task = Task(X, y, 2, np.ones(len(y)), tolerance=1e-8)
    return objective.bind(task).evaluate(Gaussian(gamma), C, gradient=False).value


@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_no_leave_one_out_error_is_missed(gamma: float) -> None:
    for case in CASES:
        if case[1] == gamma:
            found = value(SpanBound(), *case)
            assert found >= errors(*case) - 1e-6, case
            X, y = sample(case[0])
            assert found <= SVC(C=case[2], gamma=gamma, tol=1e-8).fit(X, y).n_support_.sum() + 1e-6


def test_with_unchanged_sets_it_is_an_estimate() -> None:
    estimates = np.array([value(SpanBound("unchanged"), *case) for case in CASES])
    exact = np.array([errors(*case) for case in CASES])
    assert (estimates < exact - 1e-6).any()
    assert (estimates <= 24.0 + 1e-6).all()


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
    assert SpanBound("unchanged").bind(task).evaluate(kernel, 0.1).value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", [SpanBound(), SpanBound("unchanged")], ids=["retrained", "unchanged"])
def test_keeps_the_contract(objective, loss):
    machine_contract(objective, loss).check()


def test_the_span_predicts_left_out_values_where_sets_stay():
    # Far apart pairs: leaving one out changes no set, so that prediction and retraining agree.
    X = np.array([[0.0], [1.0], [50.0], [51.0], [52.5]])
    task = Task(X, np.array([0, 1, 0, 1, 0]), 2, np.ones(5), loss="squared_hinge", tolerance=1e-9)
    predicted, retrained = (SpanBound(s).bind(task).evaluate(Gaussian(0.1), 5.0) for s in ("unchanged", "retrained"))
    assert predicted.value == pytest.approx(retrained.value, rel=1e-6)
    np.testing.assert_allclose(predicted.gradient, retrained.gradient, rtol=1e-5)


@pytest.mark.parametrize(("gamma", "C"), [(0.01, 1e5), (0.1, 1e6), (1.0, 1e3)])
def test_span_lies_between_errors_and_support_vectors(gamma, C):
    X, y = chess_board(200, random_state=np.random.default_rng([9, 0]))
    task = Task(X, np.where(y > 0, 1, 0), 2, np.ones(200))
    errors, span, count = (
        one.bind(task).evaluate(Gaussian(gamma), C, gradient=False)
        for one in (LeaveOneOut(), SpanBound(), SupportVectors())
    )
    assert 200 * errors.value <= span.value <= count.value
    # The first two kernel matrices are nearly singular for their C: it is said so, unless exact rows were taken.
    assert gamma == 0.1 or any("float32" in note for note in span.notes) == (gamma < 1.0)
    assert span.notes == errors.notes

"""Leaving one out along paths is training without it."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian
from widemargin.machines.derivatives import PairProblem, Sensitivity, leave_one_out, train
from widemargin.machines.dual import StopRule
from widemargin.runtime import Stop

from .settings import N, setting, trained


def test_leaving_out_where_sets_are_those_of_rounded_kernel_values():
    X, y = chess_board(100, random_state=0)
    K, problem = Gaussian(0.1)(X), PairProblem(y.astype(float), np.full(100, 1e6))
    single = K.astype(np.float32)
    sensitivity = Sensitivity(K, train(single, problem), single)
    assert sensitivity.rounded
    rounded = single.astype(np.float64)
    found = leave_one_out(rounded, single, sensitivity, lambda problem, start: train(single, problem, start=start))
    again = [train(single, problem.held_out(np.array([p]))).values[p] for p in range(100)]
    assert np.count_nonzero((found.values > 0) != (np.array(again) > 0)) <= 1


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("number", range(6))
def test_leaving_out_is_training_without(number, squared, fit_intercept):
    X, y, kernel, C, _ = setting(number)
    sensitivity, K = trained(X, y, kernel, C, squared, fit_intercept), kernel(X)
    single = K.astype(np.float32)

    def solve(problem, start):
        return train(single, problem, start=start)

    found, same = (leave_one_out(K, single, sensitivity, solve, keep=True, n_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(found.values, same.values)
    scale = 1e-4 * max(1.0, C)
    for p, without in zip(found.samples, found.machines, strict=True):
        again = train(single, sensitivity.machine.problem.held_out(np.array([p])), stop=StopRule(1e-8))
        assert found.values[p] == pytest.approx(again.values[p], abs=scale)
        assert without.alpha[p] == 0.0
        np.testing.assert_allclose(without.values, again.values, atol=scale)
    others = np.setdiff1d(np.arange(N), found.samples)
    np.testing.assert_array_equal(found.values[others], sensitivity.machine.values[others])


def not_trained(problem, start):
    pytest.fail("a machine was trained")


def test_paths_need_no_training():
    X, y, kernel, _, _ = setting(1)
    assert leave_one_out(kernel(X), None, trained(X, y, kernel, 5.0, False, True), not_trained).trained == 0


def test_leaving_out_ends_when_time_is_up():
    X, y, kernel, _, _ = setting(1)
    with pytest.raises(TimeoutError):
        leave_one_out(kernel(X), None, trained(X, y, kernel, 5.0, False, True), not_trained, stop=Stop().within(0.0))

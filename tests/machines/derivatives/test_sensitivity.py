"""The derivative of a trained machine, and its leave-one-out machines, against solving again."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian
from widemargin.machines.derivatives import PairProblem, Sensitivity, train

from .settings import HELD, N, setting, trained


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("number", range(12))
def test_derivatives_are_those_of_machines_solved_again(number, squared, fit_intercept):
    X, y, kernel, C, generator = setting(number)
    of_values, of_coefficients = generator.normal(size=(2, N))

    def total(theta, log_c):
        machine = trained(X, y, kernel.clone_with_theta(theta), np.exp(log_c), squared, fit_intercept).machine
        return of_values @ machine.values + of_coefficients @ machine.alpha

    sensitivity = trained(X, y, kernel, C, squared, fit_intercept)
    adjoint = sensitivity.adjoint(of_values, of_coefficients)
    W, rows, columns = adjoint.weights
    of_theta = kernel.pull_back(W, X[rows], X[columns], kernel(X)[np.ix_(rows, columns)])
    found = np.append(of_theta, adjoint.c_slope)
    at = np.append(kernel.theta, np.log(C))
    meant, kinks = [], []
    for direction in np.eye(len(at)):
        slopes = []
        for step in (1e-5, 2e-5):
            ahead, behind = at + step * direction, at - step * direction
            slopes.append((total(ahead[:-1], ahead[-1]) - total(behind[:-1], behind[-1])) / (2 * step))
        meant.append(slopes[0])
        kinks.append(abs(slopes[0] - slopes[1]) > 1e-5 * max(1.0, abs(slopes[0])))
    meant, smooth = np.array(meant), ~np.array(kinks)
    assert smooth.mean() > 0.5
    np.testing.assert_allclose(found[smooth], meant[smooth], atol=1e-5 * max(1.0, np.abs(meant).max()))


def bordered_adjoint(K, machine, of_values, of_coefficients):
    """Solve the system of section 9.3.1 as it is written."""
    problem, free, bounded = machine.problem, machine.free, machine.bounded
    m, border = len(free), int(problem.fit_intercept)
    H = np.zeros((m + border, m + border))
    H[:m, :m] = K[np.ix_(free, free)]
    if problem.squared:
        H[:m, :m] += np.diag(problem.ridge[free])
    H[:m, m:], H[m:, :m] = 1.0, 1.0
    right = np.append(K[free] @ of_values + of_coefficients[free], [of_values.sum()] * border)
    unknowns = np.linalg.solve(H, right)
    left = of_values.copy()
    left[free] -= unknowns[:m]
    if problem.squared:
        return left, unknowns[:m] @ (problem.ridge[free] * machine.alpha[free])
    growing = np.zeros(len(left))
    growing[bounded] = machine.alpha[bounded]
    return left, left @ K @ growing - unknowns[m:].sum() * growing.sum() + of_coefficients @ growing


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("number", range(4))
def test_adjoints_are_those_of_the_bordered_system(number, squared, fit_intercept):
    X, y, kernel, C, generator = setting(number)
    sensitivity = trained(X, y, kernel, C, squared, fit_intercept)
    of_values, of_coefficients = generator.normal(size=(2, N))
    found = sensitivity.adjoint(of_values, of_coefficients)
    left, slope = bordered_adjoint(kernel(X), sensitivity.machine, of_values, of_coefficients)
    np.testing.assert_allclose(found.left, left, rtol=1e-8, atol=1e-8)
    assert found.c_slope == pytest.approx(slope, rel=1e-7, abs=1e-7)


def test_repeated_examples_share_the_weight_of_one():
    X, y, kernel, C, _ = setting(7)
    twice = np.repeat(np.arange(N), 2)
    one, two = (
        Sensitivity(K, train(K.astype(np.float32), PairProblem(labels, bounds)), K.astype(np.float32))
        for K, labels, bounds in (
            (kernel(X), y, np.full(N, 2 * C)),
            (kernel(X[twice]), y[twice], np.full(2 * N, C)),
        )
    )
    assert two.dependent > 0 == one.dependent
    np.testing.assert_allclose(two.machine.values, one.machine.values[twice], atol=1e-6)
    assert two.adjoint(np.ones(2 * N)).c_slope == pytest.approx(2 * one.adjoint(np.ones(N)).c_slope, rel=1e-6)


def test_machines_are_exact_on_their_sets():
    X, y, kernel, _, _ = setting(1)
    sensitivity = trained(X, y, kernel, 5.0, False, True)
    machine = sensitivity.machine
    np.testing.assert_allclose(machine.values[machine.free], y[machine.free], atol=1e-10)
    assert abs(machine.alpha.sum()) < 1e-10
    assert not machine.alpha[HELD].any()


def violation_of(sensitivity, K):
    machine, problem = sensitivity.machine, sensitivity.machine.problem
    margins, size = problem.signs * (K @ machine.alpha + machine.intercept), np.abs(machine.alpha)
    return max(np.max(1 - margins[size < problem.bounds]), np.max(margins[size > 0] - 1))


@pytest.mark.parametrize(("gamma", "C", "rounded"), [(0.03, 1e5, True), (0.1, 1e6, True), (0.1, 1e2, False)])
def test_sets_that_only_rounded_kernel_values_have(gamma, C, rounded):
    """Solving for these machines with exact kernel values gives violations from 1,000 to 100,000."""
    X, y = chess_board(200, random_state=np.random.default_rng([9, 0]))
    K, problem = Gaussian(gamma)(X), PairProblem(y.astype(float), np.full(200, C))
    single = K.astype(np.float32)
    sensitivity = Sensitivity(K, train(single, problem), single)
    assert sensitivity.rounded == rounded
    assert violation_of(sensitivity, single.astype(np.float64) if rounded else K) < 1e-5


def test_no_free_variable_leaves_the_intercept_between_two_examples():
    X, y, kernel, _, _ = setting(1)
    sensitivity = trained(X, y, kernel, 1e-3, False, True)
    assert len(sensitivity.free) == 0
    found = sensitivity.adjoint(np.ones(N))
    step = 1e-6
    totals = [trained(X, y, kernel, 1e-3 * np.exp(by), False, True).machine.values.sum() for by in (-step, step)]
    assert found.c_slope == pytest.approx((totals[1] - totals[0]) / (2 * step), rel=1e-4)

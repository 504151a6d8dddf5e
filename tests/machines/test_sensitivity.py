"""The derivative of a trained machine, and its leave-one-out machines, against solving again."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.datasets import chess_board, noisy_chess_board, sparse_coordinates
from widemargin.kernels import DiagonalGaussian, Gaussian, Polynomial
from widemargin.machines.dual import StopRule
from widemargin.machines.free_system import FreeSystem
from widemargin.machines.leave_one_out import leave_one_out
from widemargin.machines.sensitivity import PairProblem, Sensitivity, train
from widemargin.runtime import Stop

N = 60
HELD = np.arange(0, N, 6)


def setting(number: int):
    """Random kernels, C, labels; some rows held out."""
    generator = np.random.default_rng(number)
    draw = (chess_board, noisy_chess_board, sparse_coordinates)[number % 3]
    X, y = draw(N, random_state=number)
    X = X + 0.01 * generator.normal(size=X.shape)
    kernel = DiagonalGaussian(np.exp(generator.normal(size=X.shape[1])) / X.shape[1])
    return X, y.astype(float), kernel, float(np.exp(generator.uniform(-4.0, 5.0))), generator


def trained(X, y, kernel, C, squared, fit_intercept):
    K = kernel(X)
    problem = PairProblem(y, np.full(N, C), squared, fit_intercept).held_out(HELD)
    single = K.astype(np.float32)
    return Sensitivity(K, train(single, problem), single)


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


@pytest.mark.parametrize("squared", [False, True])
def test_a_part_of_the_kernel_is_enough(squared):
    X, y, kernel, C, generator = setting(4)
    K, single = kernel(X), kernel(X).astype(np.float32)
    machine = train(single, PairProblem(y, np.full(N, C), squared).held_out(HELD))
    whole = Sensitivity(K, machine, single)
    part = Sensitivity(lambda rows, columns: K[np.ix_(rows, columns)], machine, single, rows=HELD)
    np.testing.assert_allclose(part.machine.values[HELD], whole.machine.values[HELD], rtol=1e-12)
    of_values = np.zeros(N)
    of_values[HELD] = generator.normal(size=len(HELD))
    np.testing.assert_allclose(part.adjoint(of_values).left, whole.adjoint(of_values).left, atol=1e-12)
    assert part.adjoint(of_values).c_slope == pytest.approx(whole.adjoint(of_values).c_slope)
    with pytest.raises(ValueError, match="no row in the kernel"):
        part.adjoint(np.ones(N))


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


def test_no_free_variable_leaves_the_intercept_between_two_examples():
    X, y, kernel, _, _ = setting(1)
    sensitivity = trained(X, y, kernel, 1e-3, False, True)
    assert len(sensitivity.free) == 0
    found = sensitivity.adjoint(np.ones(N))
    step = 1e-6
    totals = [trained(X, y, kernel, 1e-3 * np.exp(by), False, True).machine.values.sum() for by in (-step, step)]
    assert found.c_slope == pytest.approx((totals[1] - totals[0]) / (2 * step), rel=1e-4)


def test_dependent_variables_are_held():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(12, 2))
    K = Polynomial(degree=1, gamma=1.0, coef0=1e-9)(X)
    system = FreeSystem.factorised(K)
    assert len(system.kept) == 3  # two features, and the intercept
    right = K @ generator.normal(size=12)
    x, last = system.solve(right - right.mean(), 0.0)
    assert np.count_nonzero(x) <= 3
    np.testing.assert_allclose(K @ x + last, right - right.mean(), atol=1e-8)


@pytest.mark.parametrize("bordered", [True, False])
def test_the_inverse_is_that_of_the_bordered_matrix(bordered):
    generator = np.random.default_rng(1)
    K = Gaussian(0.5)(generator.normal(size=(9, 3)))
    ridge = generator.uniform(0.1, 1.0, size=9)
    system = FreeSystem.factorised(K, ridge, bordered=bordered)
    H = K + np.diag(ridge)
    if bordered:
        H = np.block([[np.zeros((1, 1)), np.ones((1, 9))], [np.ones((9, 1)), H]])
    np.testing.assert_allclose(system.whole_inverse(), np.linalg.inv(H), atol=1e-9)
    right = generator.normal(size=(9, 4))
    totals = generator.normal(size=4)
    x, last = system.solve(right, totals)
    stacked = np.vstack([totals, right]) if bordered else right
    meant = np.linalg.solve(H, stacked)
    np.testing.assert_allclose(x, meant[1:] if bordered else meant, atol=1e-8)
    if bordered:
        np.testing.assert_allclose(last, meant[0], atol=1e-8)


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
    for p, without in zip(found.examples, found.machines, strict=True):
        again = train(single, sensitivity.machine.problem.held_out(np.array([p])), stop=StopRule(1e-8))
        assert found.values[p] == pytest.approx(again.values[p], abs=scale)
        assert without.alpha[p] == 0.0
        np.testing.assert_allclose(without.values, again.values, atol=scale)
    others = np.setdiff1d(np.arange(N), found.examples)
    np.testing.assert_array_equal(found.values[others], sensitivity.machine.values[others])


def not_trained(problem, start):
    pytest.fail("a machine was trained")


def test_paths_need_no_training():
    X, y, kernel, _, _ = setting(1)
    assert leave_one_out(kernel(X), None, trained(X, y, kernel, 5.0, False, True), not_trained).trained == 0


def test_leaving_out_ends_when_time_is_up():
    X, y, kernel, _, _ = setting(1)
    with pytest.raises(TimeoutError):
        leave_one_out(kernel(X), None, trained(X, y, kernel, 5.0, False, True), not_trained, stop=Stop(max_seconds=0.0))


@pytest.mark.parametrize("C", [1e-3, 5.0])
def test_some_rows_suffice(C):
    X, y, kernel, _, generator = setting(1)
    whole = trained(X, y, kernel, C, False, True)
    machine = train(kernel(X).astype(np.float32), whole.machine.problem)
    asked = []

    def evaluate(rows, columns):
        asked.append((len(rows), len(columns)))
        return kernel(X[rows], X[columns])

    some = Sensitivity(evaluate, machine, kernel(X).astype(np.float32), rows=HELD)
    np.testing.assert_allclose(some.machine.values[HELD], whole.machine.values[HELD], atol=1e-12)
    of_values = np.zeros(N)
    of_values[HELD] = generator.normal(size=len(HELD))
    one, other = some.adjoint(of_values), whole.adjoint(of_values)
    np.testing.assert_allclose(one.left, other.left, atol=1e-12)
    assert one.c_slope == pytest.approx(other.c_slope, rel=1e-9)
    assert len(asked) == 1
    assert asked[0][0] <= len(HELD) + 2 + len(some.free)
    assert asked[0][1] == len(machine.support)

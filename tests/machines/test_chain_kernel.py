"""Kernels that chains are solved on, as matrices and as rows; chains of single machines against their own solvers."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import Chain, ChainKernel, Link
from widemargin.machines.classifier import PairSamples, box
from widemargin.machines.dual import DualProblem, SolverOptions, StopRule
from widemargin.machines.enclosing_ball import ball_chain, ball_machine, train_ball
from widemargin.machines.max_min_over import count_chain
from widemargin.machines.nu_classifier import solve_nu_chain, solve_nu_pairs
from widemargin.machines.one_class import solve_sums
from widemargin.machines.regression import nu_function, solve_nu_tube, solve_nu_tube_chain

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
STOP = StopRule(1e-7)
both_kernels = pytest.mark.parametrize("kernel", ["matrix", "rows"], indirect=True)


@pytest.fixture
def kernel(request: pytest.FixtureRequest) -> ChainKernel:
    rows = row_source(X, gamma=0.5)
    return ChainKernel(rows, kernel_matrix(X, gamma=0.5) if request.param == "matrix" else None)


@both_kernels
@pytest.mark.parametrize("ids", [None, np.arange(0, N, 2, dtype=np.int32)], ids=["all", "some"])
def test_variables_without_a_constant_sum(kernel: ChainKernel, ids: np.ndarray | None) -> None:
    chosen = np.arange(N) if ids is None else ids
    ridge, n = np.full(len(chosen), 0.5), len(chosen)
    problem = DualProblem(np.ones(n), np.zeros(n), np.full(n, np.inf))
    (found,) = kernel.solve(Chain((Link(problem, ridge),), ids, any_sum=True), STOP)
    K = kernel_matrix(X[chosen], gamma=0.5, dtype="float64") + np.diag(ridge)
    alpha = found.solution.alpha
    gradient = 1.0 - K @ alpha
    assert found.solution.intercept == 0.0
    assert alpha.shape == (n,)
    np.testing.assert_allclose(found.solution.gradient, gradient, atol=1e-5)
    assert gradient.max() < 1e-5
    assert np.abs(gradient[alpha > 0]).max() < 1e-5


@both_kernels
def test_a_part_may_repeat_examples(kernel: ChainKernel) -> None:
    ids = np.array([3, 1, 3], dtype=np.int32)
    part = kernel.part(ids)
    expected = kernel_matrix(X[ids], gamma=0.5)
    np.testing.assert_allclose(part.diagonal(), np.ones(3), atol=1e-6)
    if part.matrix is not None:
        np.testing.assert_allclose(part.matrix, expected, atol=1e-6)
    assert part.rows.size == 3


@both_kernels
def test_a_walk_starts_where_it_is_told_and_skips_what_is_known(kernel: ChainKernel) -> None:
    links = [Link(box(Y, np.full(N, C))) for C in (1.0, 1e6, 1e7)]
    seen = []

    def start(link: Link, last: object) -> None:
        seen.append(last is None)

    found = list(kernel.walk(links, start, STOP))
    assert [one.repeated for one in found] == [False, False, True]
    assert seen == [True, False]
    alone = [next(kernel.solve(Chain((link,)), STOP)).solution.outcome.objective for link in links]
    np.testing.assert_allclose([one.solution.outcome.objective for one in found], alone, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["matrix"], indirect=True)
def test_a_walk_ends_when_time_is_up(kernel: ChainKernel) -> None:
    links = [Link(box(Y, np.full(N, C))) for C in (1.0, 10.0)]
    found = kernel.walk(links, lambda link, last: None, StopRule(1e-7).within(0.0))
    assert [one.solution.outcome.reason for one in found] == ["time budget"]


@both_kernels
def test_sums_are_solved_as_if_alone(kernel: ChainKernel) -> None:
    upper = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    totals = np.array([0.05, 0.2, 0.5, 0.9]) * upper.sum()
    problems = [DualProblem(np.zeros(N), np.zeros(N), upper, (total, 0.0)) for total in totals]
    for problem, one in zip(problems, solve_sums(kernel, problems, None, STOP), strict=True):
        (alone,) = kernel.solve(Chain((Link(problem),)), STOP)
        assert one.solution.alpha.sum() == pytest.approx(problem.total[0])
        assert not one.solution.alpha[upper == 0].any()
        assert one.solution.outcome.objective == pytest.approx(alone.solution.outcome.objective, rel=1e-6)


@both_kernels
def test_counts_lead_to_the_machine_of_squared_slack(kernel: ChainKernel) -> None:
    prices = [np.where(np.arange(N) % 4 == 0, 0.0, C) for C in (1.0, 10.0, 100.0)]
    for own, one in zip(prices, count_chain(kernel, prices, stop=StopRule(1e-6)), strict=True):
        used = own > 0
        ridge = np.divide(1.0, own, out=np.zeros(N), where=used)
        problem = DualProblem(np.ones(N), np.zeros(N), np.where(used, np.inf, 0.0))
        (exact,) = kernel.solve(Chain((Link(problem, ridge),), any_sum=True), STOP)
        scores = 1.0 - exact.solution.gradient - ridge * exact.solution.alpha
        np.testing.assert_allclose(1.0 - one.solution.gradient, scores, atol=5e-3)
        assert not one.solution.alpha[~used].any()


@both_kernels
@pytest.mark.parametrize("nus", [(0.1, 0.3, 0.7), (0.7, 0.3)])
def test_pairs_of_classes_along_nu(kernel: ChainKernel, nus: tuple[float, ...]) -> None:
    samples = PairSamples((0, 1), np.arange(N, dtype=np.int32), Y)
    found = solve_nu_chain(kernel, samples, np.ones(N), nus, stop=STOP)
    labels = (Y < 0).astype(np.intp)
    for nu, one in zip(nus, found, strict=True):
        (alone,) = solve_nu_pairs(kernel.rows, labels, 2, nu, np.ones(N), stop=STOP, options=SolverOptions())
        assert one.outcome.objective == pytest.approx(alone.outcome.objective, rel=1e-5)


@both_kernels
def test_tubes_along_c_and_nu(kernel: ChainKernel) -> None:
    targets = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    pairs = [(0.1, 0.3), (1.0, 0.3), (100.0, 0.3), (100.0, 0.8)]
    bounds, nus = [C * weights for C, _ in pairs], [nu for _, nu in pairs]
    found = solve_nu_tube_chain(kernel, targets, bounds, nus, stop=STOP)
    for own, nu, one in zip(bounds, nus, found, strict=True):
        alone = solve_nu_tube(kernel.rows, targets, own, nu=nu, stop=STOP, options=SolverOptions())
        assert one.solution.outcome.objective == pytest.approx(alone.outcome.objective, rel=1e-5)
        assert nu_function(one.solution)[1] == pytest.approx(alone.epsilon, abs=1e-4)
        assert not one.solution.alpha[weights == 0].any()


@both_kernels
def test_balls_along_nu(kernel: ChainKernel) -> None:
    weights, diagonal = np.where(np.arange(N) % 5 == 0, 0.0, 1.0), np.ones(N)
    machines = [ball_machine(weights, diagonal, nu=nu) for nu in (0.1, 0.4)] + [ball_machine(weights, diagonal)]
    for machine, (ball, distances, _) in zip(
        machines, ball_chain(kernel, machines, diagonal, 1.0, stop=STOP), strict=True
    ):
        alone, _, _ = train_ball(machine, kernel.rows, diagonal, stop=STOP, options=SolverOptions())
        assert ball.squared_radius == pytest.approx(alone.squared_radius, abs=1e-5)
        np.testing.assert_allclose(distances[machine.ids], alone.squared_distances, atol=1e-5)

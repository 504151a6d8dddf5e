"""Square losses over kernels of low rank, which are solved in the primal: the same solutions as SMO's, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from widemargin.kernels.rows import derived_rows, kernel_matrix, row_source
from widemargin.machines.dual import DualProblem, Solution, SolverOptions, StopRule, solve

N = 2100
TOLERANCE = 1e-5


@dataclass
class LowRankCase:
    problem: DualProblem
    ridge: np.ndarray


def points() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(N, 2))


def case(name: str) -> LowRankCase:
    rng = np.random.default_rng(7)
    X = points()
    signs = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=N) > X[:, 1], 1.0, -1.0)
    ridge = np.full(N, 0.05)
    most = np.full(N, np.inf)
    if name == "weighted classifier":
        ridge = np.exp(rng.uniform(-4.0, 1.0, size=N))
    if name == "held-out rows":
        most[::3] = 0.0
        ridge[::3] = 0.0
    if name == "bounded":
        most[:] = 2.0
    box = np.where(signs > 0, 0.0, -most), np.where(signs > 0, most, 0.0)
    if name == "regression":
        y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=N)
        return LowRankCase(DualProblem(y, -most, most, kink=np.full(N, 0.1)), ridge)
    if name == "one class":
        return LowRankCase(DualProblem(np.zeros(N), np.zeros(N), most, (1.0, 0.0)), ridge)
    return LowRankCase(DualProblem(signs, *box), ridge)


def solution(one: LowRankCase, solver: str = "auto", gamma: float = 0.2, max_seconds: float | None = None) -> Solution:
    rows = derived_rows(row_source(points(), gamma=gamma), base=np.arange(N, dtype=np.int32), ridge=one.ridge)
    stop = StopRule(TOLERANCE).within(max_seconds)
    return solve(one.problem, rows, stop=stop, options=SolverOptions(solver=solver))


@pytest.mark.parametrize(
    "name", ["classifier", "weighted classifier", "held-out rows", "bounded", "regression", "one class"]
)
def test_the_primal_finds_what_smo_finds(name: str) -> None:
    one = case(name)
    primal, smo = solution(one), solution(one, "smo")
    assert primal.outcome.reason == smo.outcome.reason == "converged"
    assert primal.outcome.iterations < 100 < smo.outcome.iterations
    assert primal.outcome.objective == pytest.approx(smo.outcome.objective, rel=1e-7)
    K = kernel_matrix(points(), gamma=0.2, dtype="float64") + np.diag(one.ridge)
    gradient = one.problem.linear - K @ primal.alpha
    np.testing.assert_allclose(primal.gradient, gradient, atol=2e-5)
    kink = one.problem.kink if one.problem.kink is not None else np.zeros(N)
    rises = (gradient - np.where(primal.alpha >= 0, kink, -kink))[primal.alpha < one.problem.upper]
    falls = (gradient + np.where(primal.alpha <= 0, kink, -kink))[primal.alpha > one.problem.lower]
    assert rises.max() - falls.min() <= TOLERANCE
    assert primal.alpha.sum() == pytest.approx(one.problem.total[0], abs=1e-9)
    assert (primal.alpha >= one.problem.lower).all()
    assert (primal.alpha <= one.problem.upper).all()


def test_a_kernel_of_high_rank_is_left_to_smo() -> None:
    one = case("classifier")
    found = solution(one, gamma=200.0)
    assert found.outcome.reason == "converged"
    assert found.outcome.iterations > 100


def test_a_deadline_ends_it_with_a_certificate() -> None:
    found = solution(case("classifier"), max_seconds=1e-9)
    assert found.outcome.reason == "time budget"
    assert np.isfinite(found.outcome.duality_gap)


def test_a_variable_without_ridge_is_left_to_smo() -> None:
    one = case("bounded")
    one.ridge[5] = 0.0
    found = solution(one)
    assert found.outcome.reason == "converged"
    assert found.outcome.iterations > 100

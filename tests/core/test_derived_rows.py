"""Kernels derived from another one: repeated samples, labels, ridge."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import _core
from widemargin.kernels.rows import derived_rows, row_source
from widemargin.machines.dual import DualProblem, SolverOptions, StopRule, Subproblem, solve, solve_all
from widemargin.testing.oracles import kernel_matrix

N = 40
X = np.random.default_rng(0).normal(size=(N, 30))
K = kernel_matrix(X, kernel="rbf", gamma=0.04)
BASES = {"each-once": np.arange(N), "mirrored": np.r_[0:N, 0:N], "some": np.array([3, 3, 17, 0, 3, 39]), "none": None}


def expected(base, scale, ridge):
    behind = np.arange(N) if base is None else base
    s = np.ones(len(behind)) if scale is None else scale
    return s[:, None] * s * K[np.ix_(behind, behind)] + np.diag(np.zeros(len(behind)) if ridge is None else ridge)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("with_scale", [False, True])
@pytest.mark.parametrize("with_ridge", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_rows_are_those_of_the_formula(base, with_scale, with_ridge, container):
    n = N if base is None else len(base)
    random = np.random.default_rng(1)
    scale = random.choice([-1.0, 0.0, 1.0], n) if with_scale else None
    ridge = random.uniform(0, 2, n) if with_ridge else None
    rows = derived_rows(row_source(container(X), gamma=0.04), base=base, scale=scale, ridge=ridge)
    wanted = expected(base, scale, ridge)
    store = _core.KernelStore(rows, 1 << 20)
    np.testing.assert_allclose([store.row(i) for i in range(n)], wanted, atol=1e-6)
    np.testing.assert_allclose(rows.diagonal(), np.diag(wanted), atol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 24])
def test_repeated_samples_are_computed_once_and_solved_right(solver, cache_bytes):
    y = np.sin(X[:, 0])
    problem = DualProblem(np.r_[y - 0.1, y + 0.1], np.r_[np.zeros(N), -np.ones(N)], np.r_[np.ones(N), np.zeros(N)])
    mirrored = derived_rows(row_source(X, gamma=0.04), base=BASES["mirrored"])
    options = SolverOptions(solver=solver, cache_bytes=cache_bytes)
    once = solve(problem, mirrored, stop=StopRule(1e-7), options=options)
    twice = solve_all(
        [Subproblem(BASES["mirrored"].astype(np.int32), problem)],
        row_source(X, gamma=0.04),
        stop=StopRule(1e-7),
        options=options,
    )[0]
    assert once.outcome.objective == pytest.approx(twice.outcome.objective, rel=1e-9)
    assert once.outcome.kernel_evaluations < 0.8 * twice.outcome.kernel_evaluations


@pytest.mark.parametrize(
    "wrong",
    [{"base": [0, N]}, {"base": [-1]}, {"scale": np.ones(3)}, {"ridge": np.ones(N + 1)}],
    ids=["past the end", "negative", "short scale", "long ridge"],
)
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(ValueError, match=r"outside|differ"):
        derived_rows(row_source(X, gamma=0.04), **wrong)

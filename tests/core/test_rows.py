"""Row sources and the cache, through what can be seen of them: the same solutions, fewer kernel values."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import _core
from widemargin.kernels.rows import row_source
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, Subproblem, solve, solve_all


def noisy_problem(n=600, d=3, seed=0, C=10.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.4 * random.normal(size=n) > 0, 1.0, -1.0)
    return X, y, box(y, np.full(n, C))


def pairs_of(labels, C):
    for first, second in itertools.combinations(range(labels.max() + 1), 2):
        ids = np.concatenate([np.flatnonzero(labels == first), np.flatnonzero(labels == second)]).astype(np.int32)
        signs = np.where(labels[ids] == first, 1.0, -1.0)
        yield Subproblem(ids, box(signs, np.full(len(ids), C)))


@pytest.mark.parametrize("solver", ["smo", "block"])
def test_sharing_a_class_saves_kernel_values_and_changes_nothing(solver):
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(5), 80)
    X = random.normal(size=(400, 4)) + 0.8 * random.normal(size=(5, 4))[labels]
    rows = row_source(X, gamma=0.3)
    shared = _core.class_shared_source(rows, labels.astype(np.int32), 1 << 26)
    options = SolverOptions(solver=solver, n_threads=2)
    alone = solve_all(list(pairs_of(labels, 5.0)), rows, stop=StopRule(), options=options)
    together = solve_all(list(pairs_of(labels, 5.0)), shared, stop=StopRule(), options=options)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)
    count = [sum(s.outcome.kernel_evaluations for s in solutions) for solutions in (alone, together)]
    assert count[1] < 0.9 * count[0]


def test_a_store_without_room_shares_nothing_and_still_solves():
    X, _, _ = noisy_problem(200)
    labels = (np.arange(200) % 3).astype(np.int32)
    rows = row_source(X, gamma=0.3)
    crowded = _core.class_shared_source(rows, labels, 100)
    for sub in pairs_of(labels, 1.0):
        one, other = (solve_all([sub], r, stop=StopRule(), options=SolverOptions())[0] for r in (rows, crowded))
        np.testing.assert_array_equal(one.alpha, other.alpha)


@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize(
    ("d", "density"),
    [(3, 1.0), (40, 1.0), (40, 0.1), (2500, 0.01)],
    ids=["distances", "products", "sparse-rows", "sparse-columns"],
)
def test_a_tiny_cache_costs_kernel_values_but_not_the_solution(solver, d, density):
    random = np.random.default_rng(2)
    X = random.normal(size=(500, d)) * (random.uniform(size=(500, d)) < density)
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * random.normal(size=500) > 0, 1.0, -1.0)
    problem, rows = box(y, np.full(500, 10.0)), row_source(X, gamma=1.0 / (d * density))
    tight = StopRule(1e-6)
    roomy = solve(problem, rows, stop=tight, options=SolverOptions(solver=solver, cache_bytes=1 << 26))
    narrow = solve(problem, rows, stop=tight, options=SolverOptions(solver=solver, cache_bytes=1))
    assert roomy.outcome.reason == narrow.outcome.reason == "converged"
    assert narrow.outcome.objective == pytest.approx(roomy.outcome.objective, rel=1e-8)
    if solver == "smo":  # a smaller block may even need fewer values
        assert narrow.outcome.kernel_evaluations > roomy.outcome.kernel_evaluations


def test_rows_survive_shrinking_and_unshrinking():
    X, _, problem = noisy_problem(1500, C=100.0)
    rows = row_source(X, gamma=1.0)
    shrunk = solve(problem, rows, stop=StopRule(1e-6), options=SolverOptions(solver="smo", shrinking=True))
    whole = solve(problem, rows, stop=StopRule(1e-6), options=SolverOptions(solver="smo", shrinking=False))
    assert shrunk.outcome.reason == whole.outcome.reason == "converged"
    assert shrunk.outcome.objective == pytest.approx(whole.outcome.objective, rel=1e-9)


def test_sparse_and_dense_samples_give_the_same_rows():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 30)) * (random.uniform(size=(300, 30)) < 0.2)
    y = np.where(X.sum(axis=1) > 0, 1.0, -1.0)
    problem = box(y, np.full(300, 4.0))
    solutions = [
        solve(problem, row_source(data, gamma=0.2), stop=StopRule(1e-8))
        for data in (X, sp.csr_matrix(X), sp.csr_array((X * 1.0).astype(np.float64)))
    ]
    for other in solutions[1:]:
        np.testing.assert_allclose(other.alpha, solutions[0].alpha, atol=1e-9)


def test_a_gram_matrix_is_looked_up_not_evaluated():
    X, _, problem = noisy_problem(200)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    outcome = solve(problem, row_source(K, kernel="precomputed")).outcome
    assert outcome.kernel_evaluations == 0
    assert outcome.objective == pytest.approx(solve(problem, row_source(X, gamma=1.0)).outcome.objective, rel=1e-6)


def test_labels_must_fit_the_rows():
    rows = row_source(np.eye(3))
    with pytest.raises(ValueError, match="length"):
        _core.class_shared_source(rows, np.zeros(2, dtype=np.int32), 100)
    with pytest.raises(ValueError, match="negative"):
        _core.class_shared_source(rows, np.array([0, -1, 0], dtype=np.int32), 100)

"""Pairs of many classes, solved in one call, against each of them alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, _core
from widemargin.kernels.rows import row_source
from widemargin.machines.classifier import ClassPairs, SolvedPairs, classes_present, solve_pairs
from widemargin.machines.dual import COLUMNS, SolverOptions, StopRule
from widemargin.testing import kernel_matrix


def problem(n_classes: int, per_class: int, seed: int = 0) -> tuple[Any, Any]:
    """Return samples and class numbers, in no order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    return rng.normal(size=(len(y), 4)) + 1.5 * rng.normal(size=(n_classes, 4))[y], y


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_pairs_find_what_each_of_them_finds_alone(n_threads: int, squared: bool, fit_intercept: bool) -> None:
    X, y = problem(7, 9)
    bounds = np.random.default_rng(1).uniform(0.5, 3.0, size=len(y))
    bounds[::5] = 0.0
    how: Any = {"stop": StopRule(1e-6), "options": SolverOptions(n_threads=n_threads)}
    loss: Any = {"squared": squared, "fit_intercept": fit_intercept}
    found = solve_pairs(row_source(X, gamma=0.3), y, 7, bounds, **how, **loss)
    assert isinstance(found, SolvedPairs)
    assert [one.pair for one in found] == list(ClassPairs(y, 7, bounds).names)
    for one in found:
        own = one.ids
        labels = (y[own] == one.pair[1]).astype(np.intp)
        (alone,) = solve_pairs(row_source(X[own], gamma=0.3), labels, 2, bounds[own], **how, **loss)
        np.testing.assert_allclose(one.solution.alpha, alone.solution.alpha, atol=1e-8)
        np.testing.assert_allclose(one.solution.gradient, alone.solution.gradient, atol=1e-8)
        assert one.solution.intercept == pytest.approx(alone.solution.intercept, abs=1e-7)
        assert one.outcome.objective == pytest.approx(alone.outcome.objective, rel=1e-10)
        assert one.outcome.reason == "converged"


def test_values_that_all_pairs_share_are_computed_once() -> None:
    X, y = problem(6, 10)
    found = SVC(gamma=0.3).fit(X, y).fit_report_
    assert [entry.kernel_evaluations for entry in found] == [len(y) ** 2, *[0] * 14]


def test_a_cache_too_small_for_them_is_respected() -> None:
    X, y = problem(6, 10)
    small, plenty = SVC(gamma=0.3, cache_size=0.01).fit(X, y), SVC(gamma=0.3).fit(X, y)
    assert small.fit_report_[1].kernel_evaluations > 0
    np.testing.assert_allclose(small.dual_coef_, plenty.dual_coef_, atol=1e-8)


def test_hundreds_of_classes_are_told_apart() -> None:
    X, y = problem(120, 3)
    model = SVC(C=10.0, gamma=0.5).fit(X, y)
    assert len(model.fit_report_) == 120 * 119 // 2
    assert model.fit_report_.converged
    assert model.score(X, y) > 0.9


def test_solutions_are_the_same_as_a_table_and_as_a_list() -> None:
    X, y = problem(4, 8)
    found = solve_pairs(row_source(X), y, 4, np.ones(len(y)), stop=StopRule(), options=SolverOptions())
    again = SolvedPairs.of(list(found))
    assert again.names == list(found.names)
    for name in ("ids", "begins", "alpha", "gradient", "outcomes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    halves = SolvedPairs.joined([SolvedPairs.of(found[:2]), SolvedPairs.of(found[2:])])
    np.testing.assert_array_equal(halves.begins, found.begins)
    assert halves[-1].pair == found[-1].pair == found[5].pair
    np.testing.assert_array_equal(halves[-1].solution.alpha, found[5].solution.alpha)


def test_a_report_of_many_pairs_is_kept_by_pickle() -> None:
    X, y = problem(5, 6)
    report = SVC().fit(X, np.array(list("abcde"))[y]).fit_report_
    again = pickle.loads(pickle.dumps(report))
    assert again == report
    assert again[3].classes == ("a", "e")
    seconds = {f"{entry.seconds:.3f}" for entry in report}  # which a pickle does not hold
    assert str(again).split() == [word for word in str(report).split() if word not in seconds]
    assert hash(again) == hash(report)


def test_samples_of_several_pairs_stand_side_by_side() -> None:
    labels = np.array([2, 0, 1, 0, 2, 1, 1])
    pairs = ClassPairs(labels, 4, np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]))
    ids, sizes, signs = pairs.side_by_side([(0, 1), (1, 2)])
    assert ids.tolist() == [1, 3, 2, 5, 6, 2, 5, 6, 0]
    assert sizes.tolist() == [5, 4]
    assert signs.tolist() == [1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0]
    assert classes_present(labels, np.ones(7)) == [0, 1, 2]


def test_outcomes_have_a_column_for_each_number_of_the_core() -> None:
    assert tuple(COLUMNS) == _core.OUTCOME_COLUMNS
    assert {"converged", "time budget", "overflow"} <= set(_core.REASONS)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_symmetry_of_a_matrix(n_threads: int, dtype: Any) -> None:
    K = kernel_matrix(np.random.default_rng(0).normal(size=(150, 2))).astype(dtype)
    found = _core.symmetry(K, n_threads)
    assert (found.difference, found.largest) == (0.0, 1.0)
    K[140, 3] += 0.5
    K[7, 9] -= 0.25
    found = _core.symmetry(K, n_threads)
    assert (found.row, found.column) == (3, 140)
    assert found.difference == pytest.approx(0.5)
    K[149, 148] = np.nan
    assert _core.symmetry(K, n_threads).largest == np.inf
    with pytest.raises(ValueError, match="square"):
        _core.symmetry(K[:3], n_threads)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_first_look_at_the_symmetry_of_a_matrix(n_threads: int, dtype: Any) -> None:
    K = (1e5 * kernel_matrix(np.random.default_rng(0).normal(size=(300, 2)))).astype(dtype)
    assert _core.looks_symmetric(K, 1e-4, n_threads)
    for row, column, found in ((299, 0, K[299, 0] + 25.0), (3, 140, np.nan), (7, 7, np.inf), (0, 299, -np.inf)):
        other = K.copy()
        other[row, column] = found
        assert not _core.looks_symmetric(other, 1e-4, n_threads)
    assert not _core.looks_symmetric(np.triu(K), 1e-4, n_threads)
    with pytest.raises(ValueError, match="square"):
        _core.looks_symmetric(K[:3], 1e-4, n_threads)


@pytest.mark.parametrize("n", [40, 600], ids=["small", "large"])
def test_what_is_wrong_with_a_kernel_matrix_is_said_by_its_place(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 2))
    y, K = X[:, 0] > 0, kernel_matrix(X)
    for value, told in (
        (np.nan, "contains NaN in column 7, first at row 31"),
        (5.0, r"entries \(7, 31\) and \(31, 7\)"),
    ):
        wrong = K.copy()
        wrong[31, 7] = value
        with pytest.raises(ValueError, match=told):
            SVC(kernel="precomputed").fit(wrong, y)

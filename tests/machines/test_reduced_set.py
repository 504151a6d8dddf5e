"""Reduced sets: choices against the definition, least squares against NumPy's, gradients against differences."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.reduced_set import greedy_selection, squared_error
from widemargin.kernels.rows import kernel_matrix
from widemargin.machines import reduced_set
from widemargin.machines.reduced_set import EXHAUSTED, LIMIT, MET, LeastSquares, Matching, moved, reductions
from widemargin.runtime import TIME_IS_UP, Stop


def task(seed, p=12, n=30, functions=1, d=2):
    """Columns of Gaussian kernels, and targets that are sums of them."""
    random = np.random.default_rng(seed)
    X, Z = random.normal(size=(n, d)), random.normal(size=(p, d))
    K = kernel_matrix(Z, X, gamma=1.0, dtype="float64")
    return X, Z, K, K.T @ random.normal(size=(p, functions)) + random.normal(size=functions)


def reduce(K, F, *, constant=True, n_vectors=None, largest_change=0.0, reweight=False, stop=None):
    found = reductions(
        Matching(K, F, constant=constant),
        lambda ids: K[ids],
        F,
        constant=constant,
        n_vectors=len(K) if n_vectors is None else n_vectors,
        largest_change=largest_change,
        reweight=reweight,
        stop=Stop() if stop is None else stop,
    )
    return list(found)


def errors(K, F, found):
    return F - (found.coefficients @ K[found.chosen] + found.constants[:, np.newaxis]).T


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), functions=st.integers(1, 3), constant=st.booleans())
def test_choices_are_those_of_the_definition_step_by_step(seed, functions, constant):
    _, _, K, F = task(seed, functions=functions)
    matching = Matching(K, F, constant=constant)
    assert [matching.choose() for _ in range(6)] == greedy_selection(K, F, 6, constant=constant)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_choices_do_not_depend_on_units(scale):
    _, _, K, F = task(3)
    wanted = [Matching(K, F, constant=True).choose() for _ in range(5)]
    assert [Matching(scale * K, F / scale, constant=True).choose() for _ in range(5)] == wanted


def test_choices_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(reduced_set, "PART", 3)
    _, _, K, F = task(4, p=20)
    one, three = (Matching(K, F, constant=True, n_threads=n) for n in (1, 3))
    assert [one.choose() for _ in range(10)] == [three.choose() for _ in range(10)]


def test_copies_and_constants_are_never_chosen():
    _, _, K, F = task(5, p=4)
    K = np.vstack([K, K, 2.0 * K, np.full((1, K.shape[1]), 7.0), np.zeros((1, K.shape[1]))])
    matching = Matching(K, F, constant=True)
    chosen = [matching.choose() for _ in range(6)]
    assert chosen[4:] == [None, None]
    assert sorted(one % 4 for one in chosen[:4]) == [0, 1, 2, 3]
    assert max(chosen[:4]) < 12


def test_nearly_dependent_columns_are_told_apart_once_digits_are_brought_back():
    x = np.linspace(-1.0, 1.0, 200)[:, np.newaxis]
    K = kernel_matrix(x[::10], x, gamma=0.05, dtype="float64")
    F = 1e4 * K.T @ np.random.default_rng(0).normal(size=(20, 1))
    last = reduce(K, F)[-1]
    assert np.abs(errors(K, F, last)).max() < 1e-9 * np.abs(F).max()
    assert (last.reason, len(last.chosen) < 10) == (EXHAUSTED, True)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 10), functions=st.integers(1, 3), constant=st.booleans())
def test_fits_are_least_squares_and_know_their_largest_error(seed, m, functions, constant):
    _, _, K, F = task(seed, p=14, functions=functions)
    last = reduce(K, F, n_vectors=m, constant=constant)[-1]
    left = errors(K, F, last)
    assert last.reason == LIMIT
    np.testing.assert_allclose(np.square(left).sum(), squared_error(K[last.chosen], F, constant=constant), rtol=1e-6)
    fit = LeastSquares(F, constant=constant)
    fit.add(K[last.chosen])
    for _ in range(m):
        fit.take()
    np.testing.assert_allclose(fit.largest, np.abs(left).max(), rtol=1e-6)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_more_vectors_never_make_the_squared_error_larger(seed):
    _, _, K, F = task(seed, p=40, n=60)
    squares = [np.square(errors(K, F, reduce(K, F, n_vectors=m)[-1])).sum() for m in (1, 2, 5, 17, 25, 33)]
    assert all(later <= sooner * (1 + 1e-9) for sooner, later in pairwise(squares))


def test_a_reduction_ends_where_the_change_is_small_enough():
    _, _, K, F = task(6, p=60, n=200)
    found = reduce(K, F, largest_change=0.05)
    assert found[0].reason == MET
    assert np.abs(errors(K, F, found[0])).max() <= 0.05
    fewer = reduce(K, F, n_vectors=len(found[0].chosen) - 1)[-1]
    assert np.abs(errors(K, F, fewer)).max() > 0.05
    assert (found[-1].reason, len(found[-1].chosen)) == (LIMIT, 60)


def test_reweighting_lowers_the_largest_error():
    _, _, K, F = task(7, p=200, n=2000, d=3)
    plain = reduce(K, F, n_vectors=30)[-1]
    largest = np.abs(errors(K, F, plain)).max()
    found = reduce(K, F, n_vectors=30, largest_change=0.85 * largest, reweight=True)[0]
    assert found.reason == MET
    assert len(found.chosen) <= 30
    assert np.abs(errors(K, F, found)).max() <= 0.85 * largest * (1 + 1e-9)


def test_a_reduction_that_is_out_of_time_has_one_vector():
    _, _, K, F = task(8)
    last = reduce(K, F, stop=Stop().within(-1.0))[-1]
    assert (last.reason, len(last.chosen)) == (TIME_IS_UP, 1)


def test_functions_that_are_constant_need_no_vector():
    _, _, K, F = task(9)
    last = reduce(K, np.full_like(F, 3.0))[-1]
    assert len(last.chosen) == 0
    np.testing.assert_allclose(last.constants, [3.0])
    none = reduce(K, np.zeros_like(F), constant=False)[-1]
    assert none.coefficients.shape == (1, 0)


@pytest.mark.parametrize("factors", [None, np.array([1.0, 0.5]), np.array([[1.0, 0.3], [0.2, 1.0]])])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_moving_vectors_finds_those_that_targets_were_made_of(factors, scale):
    random = np.random.default_rng(0)
    X, Z = random.uniform(-2, 2, size=(300, 2)), np.array([[-1.0, -1.0], [1.0, 0.5]])
    mapped = (lambda A: A) if factors is None else (lambda A: A * factors if factors.ndim == 1 else A @ factors)
    F = 5.0 + 1e3 * kernel_matrix(mapped(X), mapped(Z), gamma=0.7, dtype="float64") @ np.array([[1.0], [-2.0]])
    given = {"gamma": 0.7 / scale**2, "constant": True, "factors": factors}
    found = moved(scale * (Z + 0.3), scale * X, F, **given)
    np.testing.assert_allclose(found.vectors, scale * Z, rtol=1e-3)
    assert found.kernel_evaluations % (2 * 300) == 0


def test_moving_vectors_ends_in_time_with_the_best_so_far():
    X, Z, _, F = task(10, p=3, n=100)
    found = moved(Z, X, F, gamma=1.0, constant=True, stop=Stop().within(-1.0))
    assert found.kernel_evaluations == 300
    np.testing.assert_array_equal(found.vectors, Z)


def test_errors_that_are_all_zero_are_the_least():
    fit = LeastSquares(np.full((5, 2), 3.0), constant=True)
    coefficients, constants = fit.minimax(0.0)
    assert coefficients.shape == (2, 0)
    np.testing.assert_allclose(constants, [3.0, 3.0])

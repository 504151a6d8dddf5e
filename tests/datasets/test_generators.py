"""The generators: shapes, labels, the laws they claim to follow, seeds, and refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.datasets import (
    chess_board,
    noisy_chess_board,
    ringnorm,
    sparse_coordinates,
    twonorm,
    waveform,
)

GENERATORS = [chess_board, noisy_chess_board, sparse_coordinates, twonorm, ringnorm, waveform]
WIDTHS = {chess_board: 2, noisy_chess_board: 2, sparse_coordinates: 20, twonorm: 20, ringnorm: 20, waveform: 21}

Generator = Callable[..., tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


@pytest.mark.parametrize("generator", GENERATORS)
def test_shapes_types_and_labels(generator: Generator) -> None:
    X, y = generator(200, random_state=0)
    assert X.shape == (200, WIDTHS[generator])
    assert X.dtype == np.float64
    assert y.shape == (200,)
    assert y.dtype == np.int64
    assert set(y.tolist()) == ({0, 1, 2} if generator is waveform else {-1, 1})


@pytest.mark.parametrize("generator", GENERATORS)
def test_seeds_and_generators_as_random_state(generator: Generator) -> None:
    X, y = generator(50, random_state=7)
    X_again, y_again = generator(50, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, generator(50, random_state=8)[0])
    shared = np.random.default_rng(7)
    assert not np.array_equal(generator(50, random_state=shared)[0], generator(50, random_state=shared)[0])


@pytest.mark.parametrize("generator", GENERATORS)
def test_global_random_state_is_left_alone(generator: Generator) -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what is being guarded
    X, _ = generator(50)
    assert not np.array_equal(X, generator(50)[0])
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@given(size=st.integers(1, 6), dimensions=st.integers(1, 4), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_chess_board_without_noise_follows_its_rule(size: int, dimensions: int, seed: int) -> None:
    X, y = chess_board(100, size=size, dimensions=dimensions, random_state=seed)
    assert X.shape == (100, dimensions)
    assert X.min() >= 0
    assert X.max() < size
    np.testing.assert_array_equal(y, [(-1) ** int(sum(row)) for row in np.floor(X).tolist()])


def test_chess_board_points_are_uniform() -> None:
    X, _ = chess_board(16_000, random_state=0)
    counts, _, _ = np.histogram2d(*X.T, bins=4, range=[[0, 4], [0, 4]])
    # The 99.9 % quantile of chi-square with 15 degrees of freedom is 37.7.
    assert ((counts - 1000) ** 2 / 1000).sum() < 37.7


@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_noise_flips_half_of_its_share(noise: float) -> None:
    X, y = chess_board(40_000, noise=noise, random_state=1)
    flipped = np.mean(y != 1 - 2 * (np.floor(X).sum(axis=1) % 2))
    assert flipped == pytest.approx(noise / 2, abs=4 * np.sqrt(0.25 / 40_000) if noise else 0.0)


def test_noisy_chess_board_is_the_chess_board_with_noise() -> None:
    for ours, theirs in zip(
        noisy_chess_board(30, random_state=3), chess_board(30, noise=0.2, random_state=3), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@given(n=st.integers(1, 4), m=st.integers(0, 5), data=st.data())
@settings(max_examples=40, deadline=None)
def test_sparse_coordinates_support(n: int, m: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 2 * n + m))
    X, y = sparse_coordinates(60, n=n, m=m, k=k, random_state=data.draw(st.integers(0, 99)))
    assert X.shape == (60, 2 * n + m)
    assert set(np.unique(X).tolist()) <= {0.0, 1.0}
    assert np.all(X.sum(axis=1) == k)
    own = np.where(y > 0, X[:, :n].sum(axis=1), X[:, n : 2 * n].sum(axis=1))
    assert np.all(own >= 1)


def test_sparse_coordinates_are_uniform_given_the_first_one() -> None:
    X, y = sparse_coordinates(40_000, n=2, m=3, k=3, random_state=0)
    # One of two own coordinates first, then 2 of the 6 left: 1/2 + 1/2 * 1/3 for those two, 1/3 for the rest.
    expected = np.array([2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(X[y > 0].mean(axis=0), expected, atol=0.015)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), expected[[2, 3, 0, 1, 4, 5, 6]], atol=0.015)


def test_twonorm_moments() -> None:
    X, y = twonorm(40_000, random_state=0)
    for label in (-1, 1):
        np.testing.assert_allclose(X[y == label].mean(axis=0), label * 2 / np.sqrt(20), atol=0.04)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(20), atol=0.06)


def test_ringnorm_moments() -> None:
    X, y = ringnorm(40_000, random_state=0)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(np.cov(X[y == 1].T), 4 * np.eye(20), atol=0.25)
    np.testing.assert_allclose(X[y == -1].mean(axis=0), 2 / np.sqrt(20), atol=0.04)
    np.testing.assert_allclose(np.cov(X[y == -1].T), np.eye(20), atol=0.06)


def test_waveform_class_means_are_midpoints_of_two_waves() -> None:
    X, y = waveform(60_000, random_state=0)
    i = np.arange(1, 22)
    waves = {1: 11, 2: 15, 3: 7}
    h = {name: np.maximum(6 - np.abs(i - centre), 0) for name, centre in waves.items()}
    for label, (first, second) in enumerate([(1, 2), (1, 3), (2, 3)]):
        members = X[y == label]
        np.testing.assert_allclose(members.mean(axis=0), (h[first] + h[second]) / 2, atol=0.06)
        # u h + (1 - u) h' + noise has variance (h - h')^2 / 12 + 1 in every feature.
        np.testing.assert_allclose(members.var(axis=0), (h[first] - h[second]) ** 2 / 12 + 1, atol=0.12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chess_board(0), "n_samples must be a whole number of at least 1, got 0"),
        (lambda: twonorm(2.5), "n_samples must be a whole number of at least 1, got 2.5"),
        (lambda: waveform(True), "n_samples must be a whole number of at least 1, got True"),
        (lambda: chess_board(5, size=0), "size must be a whole number"),
        (lambda: chess_board(5, dimensions="2"), "dimensions must be a whole number of at least 1, got '2'"),
        (lambda: chess_board(5, noise=1.5), "noise must be a number between 0 and 1, got 1.5"),
        (lambda: chess_board(5, noise=float("nan")), "noise must be a number between 0 and 1, got nan"),
        (lambda: sparse_coordinates(5, n=1, m=0, k=3), "k must be at most 2 n \\+ m = 2, got 3"),
        (lambda: sparse_coordinates(5, m=-1), "m must be a whole number of at least 0, got -1"),
        (lambda: ringnorm(5, random_state=-1), "random_state must be a non-negative whole number"),
        (
            lambda: ringnorm(5, random_state=np.random.RandomState(0)),
            "random_state must be a non-negative whole number",
        ),
    ],
)
def test_refusals(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

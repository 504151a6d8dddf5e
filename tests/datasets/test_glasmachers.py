"""Chess boards and sparse coordinates against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.datasets import (
    chess_board,
    noisy_chess_board,
    sparse_coordinates,
)


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

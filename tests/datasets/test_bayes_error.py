"""Bayes errors: known values, brute force, and Monte Carlo with the optimal rule."""

from collections.abc import Callable
from itertools import combinations
from math import comb, erf, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2, norm

from widemargin.datasets import (
    bayes_error,
    chess_board,
    noisy_chess_board,
    ringnorm,
    sparse_coordinates,
    twonorm,
    waveform,
)

ROWS = 100_000
Array = npt.NDArray[np.float64]


def test_published_values() -> None:
    # [Glasmachers2008, section 3.4]
    assert bayes_error(sparse_coordinates, n=3, m=14, k=3) == 144 / 1026
    assert bayes_error(sparse_coordinates, n=3, m=14, k=5) == 5262 / 23256
    assert bayes_error(chess_board) == 0.0
    assert bayes_error(chess_board, noise=0.3, size=8, dimensions=3) == 0.15
    assert bayes_error(noisy_chess_board) == 0.1
    assert bayes_error(twonorm) == pytest.approx((1 - erf(2 / sqrt(2))) / 2, rel=1e-14)


@given(n=st.integers(1, 3), m=st.integers(0, 3), data=st.data())
@settings(max_examples=30, deadline=None)
def test_sparse_coordinates_by_listing_every_vector(n: int, m: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 2 * n + m))
    coordinates = range(2 * n + m)
    total = 0.0
    for ones in combinations(coordinates, k):
        positive = sum(one < n for one in ones) / n / comb(2 * n + m - 1, k - 1)
        negative = sum(n <= one < 2 * n for one in ones) / n / comb(2 * n + m - 1, k - 1)
        total += min(positive, negative) / 2
    assert bayes_error("sparse_coordinates", n=n, m=m, k=k) == pytest.approx(total, abs=1e-14)


def test_ringnorm_by_integrating_along_the_mean() -> None:
    def error_at(s: float) -> float:
        """Average over the squared distance q from the line through both means, at position s on that line."""
        equal = (20 * log(2) - (s - 2) ** 2 / 2 + s**2 / 8) * 8 / 3  # the q at which both densities agree
        wide = norm.pdf(s, scale=2) * chi2.cdf(equal / 4, 19)
        tight = norm.pdf(s, loc=2) * chi2.sf(equal, 19)
        return float(wide + tight) / 2

    assert bayes_error(ringnorm) == pytest.approx(quad(error_at, -20, 20, points=[0, 2])[0], rel=1e-7)


def _board_rule(X: Array) -> npt.NDArray[np.int64]:
    return np.asarray(1 - 2 * (np.floor(X).sum(axis=1) % 2), dtype=np.int64)


def _sparse_rule(X: Array) -> npt.NDArray[np.int64]:
    return np.where(X[:, :3].sum(axis=1) > X[:, 3:6].sum(axis=1), 1, -1)


def _twonorm_rule(X: Array) -> npt.NDArray[np.int64]:
    return np.where(X.sum(axis=1) > 0, 1, -1)


def _ringnorm_rule(X: Array) -> npt.NDArray[np.int64]:
    wide = -(X**2).sum(axis=1) / 8 - 20 * np.log(2)
    tight = -((X - 2 / sqrt(20)) ** 2).sum(axis=1) / 2
    return np.where(wide > tight, 1, -1)


def _waveform_rule(X: Array) -> npt.NDArray[np.int64]:
    """Integrate the density over the mixing share numerically, in all 21 features."""
    i = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6.0 - np.abs(i - centre), 0.0) for centre in (11, 15, 7))
    share = (np.arange(60) + 0.5)[:, np.newaxis] / 60
    likelihoods = []
    for first, second in ((h1, h2), (h1, h3), (h2, h3)):
        means = share * first + (1 - share) * second
        exponent = X @ means.T - (means**2).sum(axis=1) / 2 - (X**2).sum(axis=1)[:, np.newaxis] / 2
        likelihoods.append(np.exp(exponent).sum(axis=1))
    return np.argmax(likelihoods, axis=0)


@pytest.mark.parametrize(
    ("generator", "parameters", "rule"),
    [
        (chess_board, {"noise": 0.3, "size": 3, "dimensions": 3}, _board_rule),
        (noisy_chess_board, {}, _board_rule),
        (sparse_coordinates, {}, _sparse_rule),
        (sparse_coordinates, {"k": 5}, _sparse_rule),
        (twonorm, {}, _twonorm_rule),
        (ringnorm, {}, _ringnorm_rule),
        (waveform, {}, _waveform_rule),
    ],
)
def test_monte_carlo_with_the_optimal_rule(
    generator: Callable[..., Any], parameters: dict[str, Any], rule: Callable[[Array], npt.NDArray[np.int64]]
) -> None:
    X, y = generator(ROWS, random_state=0, **parameters)
    expected = bayes_error(generator, **parameters)
    deviation = sqrt(expected * (1 - expected) / ROWS)
    assert abs(np.mean(rule(X) != y) - expected) < 4 * deviation


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"generator must be one of chess_board, .*, got 'chess'"):
        bayes_error("chess")
    with pytest.raises(ValueError, match="generator must be one of"):
        bayes_error(len)
    with pytest.raises(TypeError, match="of chess_board takes only size, dimensions, noise as parameters, got 'nois'"):
        bayes_error(chess_board, nois=0.1)
    with pytest.raises(TypeError, match="of twonorm takes none as parameters, got 'noise'"):
        bayes_error(twonorm, noise=0.1)
    with pytest.raises(ValueError, match="noise must be a number between 0 and 1, got 2"):
        bayes_error(chess_board, noise=2)
    with pytest.raises(ValueError, match="k must be at most"):
        bayes_error(sparse_coordinates, k=21)

"""Kernel parameters that are guessed from the examples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.kernels import heuristics
from widemargin.kernels.heuristics import jaakkola_gamma


def plain(X: np.ndarray, y: np.ndarray | None) -> float:
    """Return the heuristic by two loops, every row as it is."""
    far = [[np.sqrt(np.sum(np.square(a - b))) for b in X] for a in X]
    n = len(X)
    if y is None:
        distances = [far[i][j] for i in range(n) for j in range(i + 1, n)]
    else:
        distances = [min(far[i][j] for j in range(n) if y[i] != y[j] and far[i][j] > 0) for i in range(n)]
    return float(1.0 / (2.0 * np.median(distances) ** 2))


@pytest.fixture
def points() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    return generator.normal(size=(41, 3)) + 100.0, generator.integers(0, 3, size=41)


def test_is_the_median_distance_to_the_nearest_of_another_class(points):
    X, y = points
    assert jaakkola_gamma(X, y) == pytest.approx(plain(X, y), rel=1e-9)
    assert jaakkola_gamma(X, np.array(["a", "b", "c"])[y]) == jaakkola_gamma(X, y)


def test_without_classes_all_pairs_count(points):
    X, y = points
    assert jaakkola_gamma(X) == pytest.approx(plain(X, None), rel=1e-9)
    assert jaakkola_gamma(X, np.zeros(len(y))) == jaakkola_gamma(X)


def test_weights_are_repetitions(points):
    X, y = points
    times = np.random.default_rng(2).integers(0, 4, size=len(y))
    assert jaakkola_gamma(X, y, times) == pytest.approx(plain(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert jaakkola_gamma(X, y, np.full(len(y), 2.5)) == jaakkola_gamma(X, y)


def test_sparse_and_dense_agree(points):
    X, y = points
    X = np.maximum(X - 100.0, 0.0)
    assert jaakkola_gamma(sp.csr_matrix(X), y) == pytest.approx(jaakkola_gamma(X, y))


def test_more_rows_are_drawn_the_same_way_each_time(points, monkeypatch):
    generator = np.random.default_rng(3)
    y = np.repeat([0, 1], [30, 600])
    X = generator.normal(size=(630, 2)) + 2.0 * y[:, np.newaxis]
    whole = jaakkola_gamma(X, y)
    monkeypatch.setattr(heuristics, "EXACT_ROWS", 200)
    drawn = jaakkola_gamma(X, y)
    assert drawn == jaakkola_gamma(X, y)
    assert drawn != whole
    assert drawn == pytest.approx(whole, rel=0.5)


def test_equal_examples():
    X = np.array([[5.1], [5.1], [5.1], [5.1], [5.1], [7.1]])
    assert jaakkola_gamma(X, [0, 1, 0, 1, 0, 1]) == pytest.approx(1 / 8)
    assert jaakkola_gamma(X[:5], [0, 1, 0, 1, 0]) == 1.0
    assert jaakkola_gamma(X[:1], [0]) == 1.0


def test_wrong_lengths_are_named():
    with pytest.raises(ValueError, match=r"y has shape \(2,\), but X has 3 samples"):
        jaakkola_gamma(np.zeros((3, 1)), [0, 1])
    with pytest.raises(ValueError, match=r"weights has shape \(1,\), but X has 3 samples"):
        jaakkola_gamma(np.zeros((3, 1)), [0, 1, 1], np.ones(1))
    with pytest.raises(ValueError, match="weight above 0"):
        jaakkola_gamma(np.zeros((2, 1)), [0, 1], np.zeros(2))


def test_wrong_labels_narrow_it():
    generator = np.random.default_rng(4)
    y = np.repeat([0, 1], 100)
    X = generator.normal(size=(200, 2)) + 6.0 * y[:, np.newaxis]
    flipped = np.where(np.arange(200) % 10 == 0, 1 - y, y)
    assert jaakkola_gamma(X, flipped) > 5 * jaakkola_gamma(X, y)

"""Queries: which samples of a pool a model wants labels for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from widemargin import OnlineSVC
from widemargin.datasets import chess_board
from widemargin.estimators.online.query import ambiguities, near_and_diverse
from widemargin.kernels import DiagonalGaussian, Gaussian


def naive(ambiguity: Any, squared: Any, n: int) -> list[int]:
    """The rule of the docstring, with all distances at hand."""
    chosen: list[int] = []
    for _ in range(n):
        similarity = np.zeros(len(ambiguity))
        if chosen:
            scale = squared[chosen[0]].mean()
            similarity = np.max([1 - squared[c] / scale for c in chosen], axis=0).clip(0)
        cost = ambiguity + similarity
        cost[chosen] = np.inf
        chosen.append(int(cost.argmin()))
    return chosen


@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_rule(n: int) -> None:
    random = np.random.default_rng(n)
    X, ambiguity = random.normal(size=(30, 3)), random.random(30)
    squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    assert near_and_diverse(ambiguity, lambda i: squared[i], n).tolist() == naive(ambiguity, squared, n)


def test_equal_samples_are_asked_for_last() -> None:
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 5)
    found = near_and_diverse(np.full(20, 0.3), lambda i: (x - x[i]) ** 2, 4)
    assert len(set(x[found])) == 4
    assert near_and_diverse(np.zeros(3), lambda i: np.zeros(3), 3).tolist() == [0, 1, 2]


def model_of(X: Any, y: Any, **parameters: Any) -> OnlineSVC:
    return OnlineSVC(**{"C": 10.0, "gamma": 1.0, **parameters}).partial_fit(X, y, classes=np.unique(y))


def test_the_first_is_the_nearest_to_the_boundary() -> None:
    X, y = chess_board(400, random_state=0)
    model = model_of(X[:60], y[:60])
    assert model.query(X[60:]).tolist() == [int(np.abs(model.decision_function(X[60:])).argmin())]
    X, y = load_iris(return_X_y=True)
    model = model_of(X[::3], y[::3])
    ordered = np.sort(model.decision_function(X), axis=1)
    assert model.query(X, n=1).tolist() == [int((ordered[:, 2] - ordered[:, 1]).argmin())]
    np.testing.assert_allclose(ambiguities(model.decision_function(X)), (ordered[:, 2] - ordered[:, 1]) / 2)


def test_those_asked_for_at_once_are_no_near_duplicates() -> None:
    X, y = chess_board(300, random_state=1)
    model = model_of(X[:50], y[:50])
    pool = np.repeat(X[50:], 4, axis=0) + 1e-9 * np.arange(1000)[:, np.newaxis]
    chosen = pool[model.query(pool, n=20)]
    nearest = pool[np.argsort(np.abs(model.decision_function(pool)), kind="stable")[:20]]

    def closest(points: Any) -> float:
        away = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
        return float(away[np.triu_indices(20, 1)].min())

    assert closest(chosen) > 0.05 > 1e-6 > closest(nearest)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Gaussian(1.0), DiagonalGaussian([1.0, 2.0])])
def test_containers_and_kernels(kernel: Any) -> None:
    X, y = chess_board(200, random_state=2)
    named = {"gamma": 1.0} if kernel in ("rbf", "poly") else {"gamma": "scale"}
    model = model_of(X[:50], y[:50], kernel=kernel, **named)
    found = model.query(X[50:], n=8)
    assert len(set(found.tolist())) == 8
    assert found.tolist() == model.query(X[50:], n=8).tolist()
    assert found.tolist() == model.query(X[50:].tolist(), n=8).tolist()
    if isinstance(kernel, str):
        assert found.tolist() == model.query(sp.csr_matrix(X[50:]), n=8).tolist()
    K = model.kernel_(X[50:], X[50:])
    squared = np.diag(K)[:, np.newaxis] + np.diag(K) - 2 * K
    assert found.tolist() == naive(np.abs(model.decision_function(X[50:])), squared, 8)


def test_strings() -> None:
    def letters(A: Any, B: Any) -> Any:
        return np.array([[sum(a.count(c) * b.count(c) for c in "ab") for b in B] for a in A], dtype=float)

    words, y = ["aa", "ab", "bb", "ba", "aaa", "bbb"], [0, 0, 1, 1, 0, 1]
    model = OnlineSVC(kernel=letters).partial_fit(words, y, classes=[0, 1])
    found = model.query(["ab", "ab", "aab", "bba"], n=3).tolist()
    assert found[:1] == [0]
    assert 1 not in found


def test_bad_input_is_refused() -> None:
    X, y = chess_board(60, random_state=0)
    model = model_of(X, y)
    with pytest.raises(ValueError, match="n must be at most the number of samples in X_pool, 60; got 61"):
        model.query(X, n=61)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got 0"):
        model.query(X, n=0)
    with pytest.raises(ValueError, match="3 features"):
        model.query(np.ones((4, 3)))
    with pytest.raises(ValueError, match="query before it has learnt"):
        OnlineSVC().query(X)

"""Budgets of kept samples: who leaves, and what stays true."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from oracles.lasvm import Lasvm, outcomes
from widemargin.kernels.rows import KernelParameters, kernel_matrix
from widemargin.machines.online.stream import Batch, OnlineRules, Stream

C, BUDGET = 5.0, 12


def problem(n: int = 100, seed: int = 0, classes: int = 2) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, n).astype(np.int32)
    X = random.normal(size=(n, 3))
    X[np.arange(n), labels % 3] += 1.0
    return X, labels, random.uniform(0.5, 2.0, n)


def learn(stream: Stream, X: Any, labels: Any, weights: Any, own: slice, rules: OnlineRules, price: float = C) -> None:
    numbers = np.arange(own.start, own.stop, dtype=np.int64)
    orders = [np.arange(own.stop - own.start, dtype=np.int32)]
    stream.learn(Batch(X[own], labels[own], weights[own], numbers, numbers), orders, price, rules)


def stream_of(classes: int = 2) -> Stream:
    return Stream(classes, KernelParameters("rbf", 0.5), True, C)


@pytest.mark.parametrize("seed", range(2))
def test_the_core_takes_the_steps_of_its_naive_twin(seed: int) -> None:
    X, labels, weights = problem(seed=seed)
    twin = Lasvm(
        kernel_matrix(X, gamma=0.5, dtype="float64"), np.where(labels == 0, 1.0, -1.0), C * weights, budget=BUDGET
    )
    stream, rules, most, contradicted = stream_of(), OnlineRules(budget=BUDGET), 0, 0
    for n in range(len(labels)):
        learn(stream, X, labels, weights, slice(n, n + 1), rules)
        kept, alpha = stream.ids[stream.kept].tolist(), np.zeros(len(labels))
        alpha[kept] = stream.alpha[0][stream.kept]
        for one in outcomes(twin, lambda copy, n=n: copy.present(n)):
            if sorted(one.kept) == sorted(kept) and np.allclose(one.alpha, alpha, rtol=1e-8, atol=1e-10):
                one.alpha, one.kept, twin = alpha, kept, one
                break
        else:
            raise AssertionError(f"sample {n} leads nowhere near {kept}")
        np.testing.assert_allclose(C * stream.weights[stream.kept], (twin.upper - twin.lower)[kept], rtol=1e-12)
        most = max(most, len(kept))
        contradicted += n > BUDGET and len(kept) < BUDGET
    assert most == BUDGET
    assert contradicted > 5  # or none would have left but for the size of the budget


@pytest.mark.parametrize("classes", [2, 4])
def test_a_budget_is_kept_and_the_point_is_feasible(classes: int) -> None:
    X, labels, weights = problem(300, classes=classes)
    stream, rules = stream_of(classes), OnlineRules(budget=BUDGET, window=120)
    for begin in range(0, 300, 20):
        learn(stream, X, labels, weights, slice(begin, begin + 20), rules)
        kept = stream.kept
        assert len(kept) <= BUDGET
        a, y = stream.alpha[:, kept], np.array(stream._signs(stream.labels[kept]))
        np.testing.assert_allclose(a.sum(axis=1), 0.0, atol=1e-10)
        assert (y * a >= 0).all()
        assert (y * a <= C * stream.weights[kept] * (1 + 1e-12)).all()
        K = kernel_matrix(stream.samples, gamma=0.5, dtype="float64")
        np.testing.assert_allclose(stream.core.gradient()[:, kept], y - a @ K[np.ix_(kept, kept)], atol=1e-9)
        last = np.arange(begin + 20 - BUDGET // 2, begin + 20)
        assert np.isin(last, stream.ids[kept]).all()  # whatever their coefficients are
    assert len(kept) > BUDGET // 2
    assert stream.gap > 0
    stream.finish(C, rules)
    assert stream.gap < 0.1
    assert stream.finished_at == rules.stop.tolerance


def test_nothing_of_a_sample_stays_when_it_leaves() -> None:
    X, labels, weights = problem(200)
    stream, rules = stream_of(), OnlineRules(budget=BUDGET)
    learn(stream, X, labels, weights, slice(0, 150), rules)
    kept = stream.kept
    np.testing.assert_array_equal(stream.weights[kept], weights[stream.ids[kept]])
    np.testing.assert_allclose(stream.core.bounds()[kept], C * weights[stream.ids[kept]], rtol=1e-12)
    twin = pickle.loads(pickle.dumps(stream))
    for one in (stream, twin):
        one.finish(3 * C, rules)
        np.testing.assert_allclose(one.core.bounds(), 3 * C * weights[one.ids], rtol=1e-12)
        learn(one, X, labels, weights, slice(150, 200), rules, 3 * C)
    np.testing.assert_array_equal(stream.ids, twin.ids)
    np.testing.assert_allclose(stream.alpha, twin.alpha, atol=1e-9)


def test_the_oldest_leave_and_a_long_memory_is_that_of_what_is_still_true() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    labels = (X[:, 0] > 0).astype(np.int32)
    labels[300:] = 1 - labels[300:]  # from here on the other way round
    stream, rules = stream_of(), OnlineRules(budget=100)
    learn(stream, X, labels, np.ones(600), slice(0, 300), rules)
    assert len(stream.kept) < 100
    assert stream.ids[stream.kept].min() < 200  # longer than a window of 100
    learn(stream, X, labels, np.ones(600), slice(300, 600), rules)
    assert stream.ids[stream.kept].min() >= 300
    many = stream_of()
    learn(many, X, labels, np.ones(600), slice(0, 300), OnlineRules())
    learn(many, X, labels, np.ones(600), slice(300, 600), OnlineRules())
    assert (many.ids[many.kept] < 300).sum() > 20


def test_a_class_keeps_its_last_sample() -> None:
    X, labels, weights = problem(200)
    labels[:] = 0
    labels[3] = 1
    stream = stream_of()
    learn(stream, X, labels, weights, slice(0, 200), OnlineRules(budget=2))
    assert sorted(stream.labels[stream.kept].tolist()) == [0, 1]

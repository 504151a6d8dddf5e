"""target_rejection: the share of fresh rows that is rejected is the share asked for, within what chance allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from widemargin import SVDD, OneClassSVM
from widemargin.estimators.novelty import parts_to_hold_out
from widemargin.estimators.out_of_fold import N_FOLDS
from widemargin.testing import kernel_matrix

Draw = Callable[[np.random.Generator, int], Any]

DISTRIBUTIONS: dict[str, Draw] = {
    "gaussian": lambda rng, n: rng.normal(size=(n, 5)),
    "clusters": lambda rng, n: rng.normal(size=(n, 2)) * 0.3 + 3.0 * rng.integers(0, 3, size=(n, 1)),
    "skewed": lambda rng, n: rng.exponential(size=(n, 3)),
}
MACHINES: dict[str, Callable[[float], Any]] = {
    "hinge": lambda target: OneClassSVM(target_rejection=target),
    "squared": lambda target: OneClassSVM(target_rejection=target, loss="squared_hinge", C=0.5),
    "ball": lambda target: SVDD(target_rejection=target),
    "linear ball": lambda target: SVDD(target_rejection=target, kernel="linear"),
}


@pytest.mark.parametrize("target", [0.05, 0.2])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_fresh_rows_are_rejected_at_the_rate_asked_for(name: str, machine: str, target: float) -> None:
    """The rate has two errors: that of a quantile of n training rows, and that of a mean over m fresh ones.

    With rows independent, both are binomial with variances q(1 - q)/n and q(1 - q)/m; four deviations of their sum are
    allowed, and 0.01 for what machines of four fifths of the rows differ from that of all.
    """
    n, m = 1000, 4000
    rng = np.random.default_rng(7)
    model = MACHINES[machine](target).fit(DISTRIBUTIONS[name](rng, n))
    rate = float(np.mean(model.predict(DISTRIBUTIONS[name](rng, m)) == -1))
    deviation = np.sqrt(target * (1 - target) * (1 / n + 1 / m))
    assert abs(rate - target) <= 4 * deviation + 0.01


def test_a_machine_that_remembers_its_rows_is_not_believed() -> None:
    """With a very narrow kernel few training rows are rejected and most new ones: only held-out rows show it."""
    rng = np.random.default_rng(0)
    X, fresh = rng.normal(size=(500, 5)), rng.normal(size=(2000, 5))
    naive = OneClassSVM(nu=0.1, gamma=2.0).fit(X)
    assert np.mean(naive.predict(fresh) == -1) > 0.3
    honest = OneClassSVM(target_rejection=0.1, gamma=2.0).fit(X)
    assert abs(np.mean(honest.predict(fresh) == -1) - 0.1) < 0.06


def dealt(X: Any, *, pairwise: bool) -> Any:
    parts = parts_to_hold_out(X, pairwise=pairwise)
    assert np.array_equal(np.sum(parts, axis=0), np.ones(len(parts[0])))
    return np.argmax(parts, axis=0)


def test_every_row_is_held_out_once_and_equal_rows_together() -> None:
    X = np.random.default_rng(0).normal(size=(103, 4))
    folds = dealt(X, pairwise=False)
    assert set(folds) == set(range(N_FOLDS))
    assert np.ptp(np.bincount(folds)) <= 1
    assert np.array_equal(dealt(sparse.csr_array(X), pairwise=False), folds)
    assert np.array_equal(
        dealt(X.astype(np.float32).astype(np.float64), pairwise=False),
        dealt(X.astype(np.float32), pairwise=False),
    )
    order = np.random.default_rng(1).permutation(103)
    assert np.array_equal(dealt(X[order], pairwise=False), folds[order])
    twice = dealt(np.vstack((X, X)), pairwise=False)
    assert np.array_equal(twice[:103], twice[103:])
    objects = dealt(["a", "b", "a", "c"] * 10, pairwise=False)
    assert np.bincount(objects).tolist() == [8] * N_FOLDS


@pytest.mark.parametrize("kind", [OneClassSVM, SVDD])
def test_precomputed_and_callable_kernels(kind: Any) -> None:
    shares: dict[str, list[float]] = {"precomputed": [], "callable": []}
    for seed in range(8):  # which rows are held out together is a matter of chance
        X, new = np.split(np.random.default_rng(seed).normal(size=(1200, 2)), [200])
        precomputed = kind(kernel="precomputed", target_rejection=0.1).fit(kernel_matrix(X, gamma=0.5))
        called = kind(kernel=lambda A, B: kernel_matrix(A, B, gamma=0.5), target_rejection=0.1).fit(X)
        shares["precomputed"].append(float(np.mean(precomputed.predict(kernel_matrix(new, X, gamma=0.5)) == -1)))
        shares["callable"].append(float(np.mean(called.predict(new) == -1)))
    for own in shares.values():
        assert np.mean(own) == pytest.approx(0.1, abs=0.04)

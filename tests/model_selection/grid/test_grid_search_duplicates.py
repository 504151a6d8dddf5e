"""Searches over samples that repeat and contradict each other: they end, and their scores are those of models alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.datasets import load_npz
from widemargin.machines.chain import Chain, Link, solve_chain
from widemargin.machines.classifier import box
from widemargin.machines.dual import StopRule


def _near_duplicates(n: int, distance: float, seed: int) -> tuple[Any, Any]:
    """Pairs of samples closer than two-byte kernel values can tell, half of them of different classes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n // 2, 4))
    X = np.repeat(centres, 2, axis=0) + distance * rng.normal(size=(n, 4))
    return X, rng.permutation(np.arange(n) % 2)


KINDS = ["contradicting", "constant column", "few rows", "binary", "near duplicates"]


def _samples(kind: str, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    if kind == "near duplicates":
        return _near_duplicates(400, 10.0 ** rng.uniform(-4.0, -2.0), seed)
    X = rng.normal(size=(400, 5))
    if kind == "contradicting":
        X = X[rng.integers(0, 150, size=400)]
    elif kind == "constant column":
        X[:, :3] = 1.0
        X[:, 3] = rng.integers(0, 3, size=400)
    elif kind == "few rows":
        X = X[rng.integers(0, 4, size=400)]
    else:
        X = rng.integers(0, 2, size=(400, 8)).astype(float)
    return X, (X[:, -1] + rng.normal(size=400) > 0).astype(int)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_searches_end_with_the_scores_of_their_models(kind: str, seed: int) -> None:
    X, y = _samples(kind, seed)
    folds = StratifiedKFold(3)
    grid = {"C": 4.0 ** np.arange(-2, 6), "gamma": [0.05, 0.5]}
    search = GridSearchCV(SVC(max_iter=200_000), grid, cv=folds, refit=False, plan=["heuristic", "cold"][seed % 2])
    search.fit(X, y)
    for candidate in (0, 7, 12, 15):
        parameters = search.cv_results_["params"][candidate]
        for split, (train, test) in enumerate(folds.split(X, y)):
            alone = SVC(**parameters).fit(X[train], y[train])
            near = np.count_nonzero(np.abs(alone.decision_function(X[test])) < 0.02) / len(test)
            found = search.cv_results_[f"split{split}_test_score"][candidate]
            assert abs(found - alone.score(X[test], y[test])) <= near + 1e-9


@pytest.mark.parametrize("distance", [1e-4, 1e-3, 3e-3, 1e-2])
@pytest.mark.parametrize("C", [1e2, 1e4])
def test_rounds_on_two_byte_kernels_that_overshoot_end(distance: float, C: float) -> None:
    """Half the curvature makes a step twice as long as it should be, and the next one takes it back, for ever."""
    X, labels = _near_duplicates(600, distance, 0)
    K = np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)).astype(np.float32)
    y = 2.0 * labels - 1.0
    links = tuple(Link(box(y, np.full(len(y), c))) for c in (0.1, 1.0, 10.0, C))
    found = solve_chain(K, Chain(links), stop=StopRule(1e-3, max_iterations=300_000).within(30.0))
    assert len(found) == len(links)
    assert {one.solution.outcome.reason for one in found} <= {"converged", "stalled"}


def test_the_search_that_never_ended(data_folder: Any) -> None:
    X, y, _ = load_npz("phishing", data_folder)
    X, _, y, _ = train_test_split(X, y, train_size=3000, random_state=0, stratify=y)
    X = StandardScaler().fit_transform(X.toarray() if hasattr(X, "toarray") else X)
    grid = {"C": 4.0 ** np.arange(-2, 9), "gamma": [0.5]}
    search = GridSearchCV(SVC(), grid, cv=5, n_jobs=1, max_time=100.0).fit(X, y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()

"""Many classes with few samples each: what pairs decide is counted in blocks, and agrees with their values."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, make_scorer

from oracles.multi_class import fuzzy_one_versus_one
from widemargin import SVC, GridSearchCV
from widemargin.estimators import prediction
from widemargin.solvers import SMO


def points(n_classes: int, per_class: int, seed: int = 0, scale: float = 1.0) -> tuple[Any, Any]:
    centres = scale * np.random.default_rng(0).normal(size=(n_classes, 4))
    y = np.repeat(np.arange(n_classes), per_class)
    return centres[y] + np.random.default_rng(1 + seed).normal(size=(len(y), 4)), y


def counted(values: Any, k: int, *, zero_is_lost: bool) -> Any:
    """Return votes and sums of the decision values of all pairs."""
    votes, sums, column = np.zeros((len(values), k)), np.zeros((len(values), k)), 0
    for a in range(k):
        for b in range(a + 1, k):
            value = values[:, column]
            lost = value <= 0 if zero_is_lost else value < 0
            votes[:, a] += ~lost
            votes[:, b] += lost
            sums[:, a] += value
            sums[:, b] -= value
            column += 1
    return votes, sums


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_votes_are_those_of_the_decision_values(kernel: str, n_threads: int) -> None:
    X, y = points(20, 3)
    new, _ = points(20, 13, seed=5)
    model = SVC(kernel=kernel, C=3.0, n_jobs=n_threads).fit(X, y)
    assert len(model.intercept_) > len(model.support_)
    values = model.set_params(decision_function_shape="ovo").decision_function(new)
    votes, sums = counted(values, 20, zero_is_lost=False)
    confidences = votes + sums / (3.0 * (np.abs(sums) + 1.0))
    model.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(model.decision_function(new), confidences, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.decision_function(new).argmax(axis=1))
    model.set_params(break_ties=False)
    np.testing.assert_array_equal(model.predict(new), counted(values, 20, zero_is_lost=True)[0].argmax(axis=1))
    model.set_params(break_ties=True, decision="fuzzy-minimum")
    np.testing.assert_allclose(model.decision_function(new), fuzzy_one_versus_one(values, 20), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sample_gets_the_same_wherever_it_stands(sparse: bool) -> None:
    X, y = points(25, 4)
    new, _ = points(25, 11, seed=3)
    of = sp.csr_array if sparse else np.asarray
    model = SVC(gamma=0.2).fit(of(X), y)
    whole = model.decision_function(of(new))
    for begin, end in ((0, 1), (1, 3), (100, 133), (200, 275)):
        np.testing.assert_allclose(model.decision_function(of(new[begin:end])), whole[begin:end], atol=1e-12)


def test_callable_and_precomputed_kernels_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(12, 4)
    new, _ = points(12, 5, seed=2)
    K, between = X @ X.T, new @ X.T
    found = []
    for entries in (prediction.BLOCK_VALUES, 7 * 66):
        monkeypatch.setattr(prediction, "BLOCK_VALUES", entries)
        found.append(
            [
                SVC(kernel="precomputed").fit(K, y).decision_function(between),
                SVC(kernel=lambda a, b: a @ b.T).fit(X, y).decision_function(new),
                SVC(kernel="linear").fit(X, y).decision_function(new),
            ]
        )
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(one, found[0][0], atol=1e-2)


def test_probabilities_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(11, 10, scale=2.0)
    model = SVC(calibration="folds").fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr(prediction, "BLOCK_VALUES", 55 * 9)
    np.testing.assert_allclose(model.predict_proba(X), whole, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[whole.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("how", [{}, {"loss": "squared_hinge"}, {"fit_intercept": False}, {"C": 100.0}])
def test_tiny_problems_end_where_other_solvers_do(how: dict[str, Any]) -> None:
    X, y = points(9, 6)
    X[3], X[20] = X[50], X[50]  # contradictions
    ours, others = SVC(gamma=0.3, **how).fit(X, y), SVC(gamma=0.3, tol=1e-7, solver=SMO(), **how).fit(X, y)
    assert ours.fit_report_.converged
    for one, other in zip(ours.fit_report_, others.fit_report_, strict=True):
        assert one.kkt_violation <= 1e-9
        assert one.duality_gap <= 1e-6 * max(1.0, abs(one.objective))
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(ours.intercept_, others.intercept_, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The scoring")
@pytest.mark.parametrize("break_ties", [True, False])
@pytest.mark.parametrize("scoring", ["accuracy", None, "plain"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_search_finds_the_scores_of_its_models(break_ties: bool, scoring: Any, weighted: bool) -> None:
    X, y = points(14, 9)
    weights = np.where(y == 3, 0.0, 1.0)  # a class that nobody learns
    scorer = make_scorer(lambda a, b: accuracy_score(a, b)) if scoring == "plain" else scoring
    folds = [(np.flatnonzero(np.arange(len(y)) % 3 != f), np.flatnonzero(np.arange(len(y)) % 3 == f)) for f in range(3)]
    search = GridSearchCV(SVC(break_ties=break_ties), {"C": [1, 5], "gamma": [0.1]}, cv=folds, scoring=scorer)
    search.fit(X, y, **({"sample_weight": weights} if weighted else {}))
    for at, candidate in enumerate(search.cv_results_["params"]):
        for f, (train, test) in enumerate(folds):
            alone = SVC(break_ties=break_ties, **candidate)
            alone.fit(X[train], y[train], sample_weight=weights[train] if weighted else None)
            counts = weights[test] if weighted and scoring != "plain" else None
            expected = alone.score(X[test], y[test], sample_weight=counts)
            assert search.cv_results_[f"split{f}_test_score"][at] == pytest.approx(expected, abs=1e-12)


PREDICTS = """
model = SVC(gamma=0.1).fit(X, y)
assert (model.predict(np.repeat(X, 10, axis=0)) == np.repeat(y, 10)).mean() > 0.9
"""
SEARCHES = """
search = GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": [0.1]}, cv=2).fit(X, y)
assert search.best_score_ > 0.5
"""


@pytest.mark.parametrize("work", [PREDICTS, SEARCHES])
def test_values_of_all_pairs_are_never_there_at_once(work: str) -> None:
    """They would take 6 and 1.5 gigabytes."""
    code = (
        "import resource\nimport numpy as np\nfrom widemargin import SVC, GridSearchCV\n"
        "y = np.repeat(np.arange(400), 4)\n"
        "X = (4 * np.random.default_rng(0).normal(size=(400, 10)))[y]\n"
        "X = X + np.random.default_rng(1).normal(size=X.shape)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n" + work
    )
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=alone)

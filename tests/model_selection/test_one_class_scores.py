"""Scores of one-class machines: what they say, whom they refuse, that they travel."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as PeerOneClassSVM

from widemargin import SVDD, GridSearchCV, LeaveOneOutScore, OneClassSVM, RejectionScore

X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (OneClassSVM(nu=0.2), 0.2),
        (OneClassSVM(target_rejection=0.1), 0.1),
        (OneClassSVM(loss="squared_hinge", C=10.0), 0.05),
        (OneClassSVM(loss="squared_hinge", C=10.0, target_rejection=0.3), 0.3),
        (SVDD(nu=0.2), 0.2),
        (SVDD(C=1.0), 0.05),
        (SVDD(target_rejection=0.1), 0.1),
        (PeerOneClassSVM(nu=0.3), 0.3),
    ],
    ids=str,
)
def test_the_target_is_the_machine_s_own(machine: Any, target: float) -> None:
    machine.fit(X)
    rejected = np.mean(machine.predict(X) == -1)
    assert RejectionScore()(machine, X) == pytest.approx(-abs(rejected - target))
    assert RejectionScore(0.4)(machine, X) == pytest.approx(-abs(rejected - 0.4))


def test_weights_count_in_shares() -> None:
    machine = OneClassSVM(nu=0.2).fit(X)
    weights = np.where(machine.predict(X) == -1, 3.0, 0.0) + 1.0
    share = np.average(machine.predict(X) == -1, weights=weights)
    assert RejectionScore()(machine, X, sample_weight=weights) == pytest.approx(-abs(share - 0.2))


@pytest.mark.parametrize("target", [0.0, -0.1, 1.5, "much", np.nan])
def test_targets_that_are_no_share(target: Any) -> None:
    with pytest.raises(ValueError, match="target must be"):
        RejectionScore(target)(OneClassSVM().fit(X), X)


def left_out(machine: Any) -> float:
    """Share of rows rejected by the machine trained on all others."""
    others = (np.delete(X, row, axis=0) for row in range(len(X)))
    return float(np.mean([machine.fit(rest).predict(X[[row]])[0] == -1 for row, rest in enumerate(others)]))


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize(
    "machine",
    [
        OneClassSVM(loss="squared_hinge", C=1.0),
        OneClassSVM(loss="squared_hinge", C=100.0),
        SVDD(C=0.05),
        SVDD(C=np.inf),
    ],
    ids=str,
)
def test_the_leave_one_out_error_is_exact_where_the_price_is_fixed(machine: Any, gamma: float) -> None:
    machine.set_params(gamma=gamma, tol=1e-7)
    assert LeaveOneOutScore()(machine.fit(X), X) == -left_out(machine)


def test_a_moved_border_has_no_such_error() -> None:
    with pytest.raises(ValueError, match=r"target_rejection=0\.1 moves it"):
        LeaveOneOutScore()(OneClassSVM(target_rejection=0.1).fit(X), X)


def test_pipelines_are_scored_by_their_machine() -> None:
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.2)).fit(X)
    rows = pipeline[:-1].transform(X)
    for score in (RejectionScore(), LeaveOneOutScore()):
        assert score(pipeline, X) == score(pipeline[-1], rows)


def test_scores_travel_to_other_processes() -> None:
    for score in (RejectionScore(0.2), LeaveOneOutScore()):
        assert pickle.loads(pickle.dumps(score)) == score
    grid = {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}
    how: dict[str, Any] = {"scoring": {"r": RejectionScore(0.1), "l": LeaveOneOutScore()}, "refit": "r", "cv": 2}
    here = GridSearchCV(OneClassSVM(loss="squared_hinge"), grid, **how).fit(X)
    with parallel_config("loky", n_jobs=2):
        there = GridSearchCV(OneClassSVM(loss="squared_hinge"), grid, **how).fit(X)
    for key in ("mean_test_r", "mean_test_l"):
        np.testing.assert_array_equal(here.cv_results_[key], there.cv_results_[key])

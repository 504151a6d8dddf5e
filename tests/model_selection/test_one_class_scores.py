"""Scores of one-class machines: what they say, whom they refuse, that they travel."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as PeerOneClassSVM

from widemargin import SVDD, GridSearchCV, LeaveOneOutScore, OneClassSVM, RegionScore, RejectionScore
from widemargin.model_selection.one_class_scores import background

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


def ring(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(scale=0.1, size=(n, 2))


@pytest.mark.parametrize("machine", [OneClassSVM(nu=0.05), SVDD(nu=0.05), OneClassSVM(target_rejection=0.05)], ids=str)
def test_a_search_finds_the_hole_of_a_ring(machine: Any) -> None:
    search = GridSearchCV(machine, {"gamma": [0.001, 0.01, 0.1, 1.0, 10.0]}).fit(ring(400))
    assert search.best_params_["gamma"] >= 1.0
    assert search.best_estimator_.predict([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0]]).tolist() == [-1, 1, -1]


def test_a_search_of_many_features_finds_what_belongs_together() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    samples = common + 0.2 * rng.normal(size=(400, 10))  # ten times the same, nearly
    search = GridSearchCV(OneClassSVM(nu=0.05), {"gamma": [1e-6, 1e-4, 0.01, 0.1]}).fit(samples)
    apart = rng.permuted(samples, axis=0)
    assert np.mean(search.predict(apart) == -1) > 0.9
    assert np.mean(search.predict(samples) == -1) < 0.15


def test_containers_have_the_same_background() -> None:
    wide = np.random.default_rng(0).normal(size=(300, 6))
    points = background(wide)
    frame = background(pd.DataFrame(wide, columns=list("abcdef")))
    assert frame.columns.tolist() == list("abcdef")
    np.testing.assert_array_equal(points, frame.to_numpy())
    np.testing.assert_array_equal(points, background(pl.DataFrame(wide, schema=list("abcdef"))).to_numpy())
    for column in range(6):
        assert np.isin(points[:, column], wide[:, column]).all()
    few = background(pd.DataFrame(wide[:, :2], columns=["a", "b"]))
    np.testing.assert_array_equal(few.to_numpy(), background(wide[:, :2]))


def test_sparse_samples_keep_how_full_their_columns_are() -> None:
    samples = sp.random_array((400, 50), density=0.1, rng=np.random.default_rng(0), format="csr")
    points = background(samples)
    assert points.shape == (400, 50)
    full, meant = ((one != 0).sum(axis=0) / one.shape[0] for one in (points.toarray(), samples.toarray()))
    np.testing.assert_allclose(full, meant, atol=0.06)
    assert np.isin(points.data, samples.data).all()


def test_frames_of_several_kinds_keep_them() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Categorical(["x", "y", "x"]), "c": ["u", None, "w"]})
    points = background(frame)
    assert points.dtypes.tolist() == frame.dtypes.tolist()
    assert len(points) == 250


@pytest.mark.parametrize("samples", [np.array(["ACGT", "AAAA"]), ["ACGT", "AAAA"], np.zeros((2, 2, 2))], ids=str)
def test_what_has_no_features_has_no_background(samples: Any) -> None:
    assert background(samples) is None


def test_kernel_values_are_scored_by_rejection() -> None:
    kernel = np.exp(-np.square(X[:, np.newaxis] - X).sum(axis=2))
    model = OneClassSVM(kernel="precomputed", nu=0.2).fit(kernel)
    assert RegionScore()(model, kernel) == RejectionScore()(model, kernel)

"""VectorQuantizer: scikit-learn's checks, its attributes, searches over its level, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC, VectorQuantizer
from widemargin.datasets import chess_board
from widemargin.quantization import Codebooks


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([VectorQuantizer(), VectorQuantizer(level=1, tol=0.0, n_jobs=2), VectorQuantizer(level=2)])
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.fixture(name="X")
def samples() -> Any:
    return np.random.default_rng(0).normal(size=(500, 4))


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_attributes_belong_together(X: Any, kind: Any) -> None:
    given = kind(X)
    model = VectorQuantizer(level=5).fit(given)
    squared = euclidean_distances(given.astype(np.float64), model.cluster_centers_, squared=True)
    assert model.cluster_centers_.shape == (32, 4)
    assert model.labels_.tolist() == squared.argmin(axis=1).tolist() == model.predict(given).tolist()
    assert model.labels_.tolist() == clone(model).fit_predict(given).tolist()
    np.testing.assert_allclose(model.distortion_, squared.min(axis=1).mean(), rtol=1e-6)
    np.testing.assert_allclose(model.score(given), -squared.min(axis=1).sum(), rtol=1e-6)
    np.testing.assert_allclose(model.transform(given), np.sqrt(np.maximum(squared, 0)), rtol=1e-5, atol=1e-6)
    assert len(model.distortions_) == 6
    assert (np.diff(model.distortions_) < 0).all()
    assert 0.99 * model.distortions_[-1] < model.distortion_ <= model.distortions_[-1]
    books = Codebooks(given)
    assert model.n_iter_ == sum(books.level(k).rounds for k in range(6))
    assert model.get_feature_names_out()[-1] == "vectorquantizer31"


def test_no_worse_than_k_means_from_one_random_start(X: Any) -> None:
    ours = VectorQuantizer(level=5, tol=0.0, max_iter=1000).fit(X)
    theirs = [KMeans(32, init="random", n_init=1, random_state=seed, tol=0.0).fit(X).inertia_ for seed in range(10)]
    assert ours.distortion_ * len(X) < np.mean(theirs)


def test_weights(X: Any) -> None:
    w = np.random.default_rng(1).integers(0, 3, size=len(X))
    weighted, repeated = VectorQuantizer().fit(X, sample_weight=w), VectorQuantizer().fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.distortion_, repeated.distortion_)
    assert len(weighted.labels_) == len(X)
    np.testing.assert_allclose(weighted.score(X, sample_weight=w), repeated.score(np.repeat(X, w, axis=0)))


def test_far_from_zero(X: Any) -> None:
    plain, moved = VectorQuantizer().fit(X), VectorQuantizer().fit(X + 1e7)
    np.testing.assert_allclose(moved.distortion_, plain.distortion_, rtol=1e-5)
    np.testing.assert_allclose(moved.transform(X[:50] + 1e7), plain.transform(X[:50]), atol=1e-5)


def test_from_the_level_of_all_samples_on_there_is_nothing_left(X: Any) -> None:
    model = VectorQuantizer(level=9).fit(X)
    assert model.distortion_ == model.distortions_[-1] == 0.0
    assert sorted(map(tuple, model.cluster_centers_)) == sorted(map(tuple, X))
    duplicated = VectorQuantizer(level=9).fit(np.repeat(X[:5], 3, axis=0))
    assert sorted(map(tuple, duplicated.cluster_centers_)) == sorted(map(tuple, X[:5]))


def test_the_level_can_be_searched_in_a_pipeline() -> None:
    X, y = chess_board(400, random_state=0)
    pipeline = make_pipeline(StandardScaler(), VectorQuantizer(), SVC())
    search = GridSearchCV(pipeline, {"vectorquantizer__level": [0, 2, 6], "svc__C": [1.0, 100.0]}, cv=3).fit(X, y)
    by_level = search.cv_results_["mean_test_score"].reshape(2, 3).max(axis=0)
    assert by_level[0] < 0.7 < by_level[1:].min()
    assert search.best_params_["vectorquantizer__level"] > 0


def test_all_rounds_used_up_is_said(X: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="level 1 took max_iter=1 rounds without meeting tol=0.0") as caught:
        VectorQuantizer(level=2, tol=0.0, max_iter=1).fit(X[:, :1])
    assert caught[0].filename == __file__


def test_time_that_is_up_keeps_the_last_level(X: Any) -> None:
    many = np.random.default_rng(2).normal(size=(60_000, 20))
    with pytest.warns(ConvergenceWarning, match=r"max_time=0.3 sufficed for level \d+ of 14"):
        model = VectorQuantizer(level=14, tol=0.0, max_time=0.3).fit(many)
    last = len(model.distortions_) - 1
    assert len(model.cluster_centers_) == 2**last < 2**14
    with pytest.warns(ConvergenceWarning, match="sufficed for level 0 of 3"):
        model = VectorQuantizer(max_time=1e-9).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, X.mean(axis=0, keepdims=True))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"level": -1}, "level must be a whole number of at least 0 and at most 62; got -1"),
        ({"level": 1.5}, "level must be a whole number of at least 0 and at most 62; got 1.5"),
        ({"tol": -1.0}, "tol must be a number of at least 0; got -1.0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1 and at most 2147483647; got 0"),
        ({"max_time": 0.0}, "max_time must be None or a number above 0; got 0.0"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_bad_parameters(X: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VectorQuantizer(**parameters).fit(X)


def test_bad_samples(X: Any) -> None:
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN in column 1, first at row 3"):
        VectorQuantizer().fit(X)
    with pytest.raises(ValueError, match="too large to compute distances"):
        VectorQuantizer().fit([[1e200], [0.0]])

"""Samples of several classes: models see them sorted by class and fold, users and their scorers as they gave them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.folds.classifier import PairwiseFold

X, CODES = load_iris(return_X_y=True)
SHUFFLED = np.random.default_rng(3).permutation(len(X))
X, Y = (
    X[SHUFFLED] + np.random.default_rng(4).normal(scale=0.4, size=X.shape),
    np.array(["c", "a", "b"])[CODES[SHUFFLED]],
)
WEIGHTS = np.random.default_rng(5).integers(1, 4, len(X)).astype(float)
GRID = {"C": [0.5, 8.0], "gamma": [0.1, 1.0]}


def stretches(ids: Any) -> int:
    return 1 + int(np.count_nonzero(np.diff(np.sort(ids)) != 1))


def test_training_samples_of_a_class_are_two_stretches_at_most() -> None:
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, Y))
    order = PairwiseFold.order(Y, folds)
    assert order is not None
    assert sorted(order.tolist()) == list(range(len(X)))
    places = np.argsort(order)
    for train, test in folds:
        for label in np.unique(Y):
            assert stretches(places[train[Y[train] == label]]) <= 2
            assert stretches(places[test[Y[test] == label]]) == 1


def test_two_classes_stay_as_they_are() -> None:
    assert PairwiseFold.order(Y == "a", [(np.arange(10), np.arange(10, 20))]) is None


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(4, shuffle=True, random_state=1),
        ShuffleSplit(3, test_size=0.3, random_state=1),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1),
    ],
    ids=["folds", "draws", "repeated"],
)
def test_scores_are_those_of_models_alone(container: Any, multi_class: str, cv: Any) -> None:
    samples = container(X)
    search = GridSearchCV(SVC(multi_class=multi_class), GRID, cv=cv, scoring="accuracy", return_train_score=True)
    search.fit(samples, Y, sample_weight=WEIGHTS)
    for number, (train, test) in enumerate(cv.split(X, Y)):
        for cell, setting in enumerate(search.cv_results_["params"]):
            alone = SVC(multi_class=multi_class, **setting).fit(samples[train], Y[train], sample_weight=WEIGHTS[train])
            for part, ids in (("test", test), ("train", train)):
                expected = accuracy_score(Y[ids], alone.predict(samples[ids]), sample_weight=WEIGHTS[ids])
                assert search.cv_results_[f"split{number}_{part}_score"][cell] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("before", [(), (StandardScaler(),)], ids=["alone", "pipeline"])
@pytest.mark.parametrize("asks_coefficients", [False, True], ids=["predictions", "coefficients"])
def test_scorers_get_samples_in_the_order_of_the_folds(before: Any, asks_coefficients: bool) -> None:
    folds = [
        (test_last[:100], test_last[100:]) for test_last in (np.random.default_rng(k).permutation(150) for k in (0, 1))
    ]
    seen = []

    def scorer(model: Any, samples: Any, y: Any) -> float:
        seen.append((samples, y))
        if asks_coefficients:
            svc = model[-1] if before else model
            assert (svc.n_support_.sum(), len(svc.classes_)) == (len(svc.support_vectors_), 3)
        return accuracy_score(y, model.predict(samples))

    estimator = make_pipeline(*before, SVC(C=2.0)) if before else SVC(C=2.0)
    grid = {"svc__gamma" if before else "gamma": [0.2]}
    search = GridSearchCV(estimator, grid, cv=folds, scoring=scorer, refit=False).fit(X, Y)
    for (samples, y), (train, test), number in zip(seen, folds, (0, 1), strict=True):
        np.testing.assert_array_equal(samples, X[test])
        np.testing.assert_array_equal(y, Y[test])
        alone = (make_pipeline(*before, SVC(C=2.0, gamma=0.2)) if before else SVC(C=2.0, gamma=0.2)).fit(
            X[train], Y[train]
        )
        assert search.cv_results_[f"split{number}_test_score"][0] == accuracy_score(Y[test], alone.predict(X[test]))


def test_probabilities_from_the_search_belong_to_their_samples() -> None:
    """Held-out values in the wrong order would make probabilities that know nothing."""
    model = SVC(gamma=0.2, calibration="from-search")
    search = GridSearchCV(model, {"C": [2.0]}, cv=StratifiedKFold(5, shuffle=True, random_state=0)).fit(X, Y)
    alone = SVC(C=2.0, gamma=0.2, calibration="folds").fit(X, Y)
    difference = search.predict_proba(X) - alone.predict_proba(X)
    assert np.abs(difference).max() < 0.15


def test_a_kernel_matrix_that_the_grid_asks_for_stays_as_it_is() -> None:
    K = np.exp(-0.2 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)).astype(np.float32)  # worth a copy by its size
    cv = StratifiedKFold(3, shuffle=True, random_state=2)
    found = GridSearchCV(SVC(), {"kernel": ["precomputed"], "C": [0.5, 8.0]}, cv=cv, refit=False).fit(K, Y)
    same = GridSearchCV(SVC(gamma=0.2), {"C": [0.5, 8.0]}, cv=cv, refit=False).fit(X, Y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"])

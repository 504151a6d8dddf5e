"""A search has scikit-learn's face: results, scorers, refits, splitters, frames, routing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from searches import SMALL_GRID, check_best, check_cells, classifier, data, peer, regressor, search_alone, search_both
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, fbeta_score, hinge_loss, make_scorer
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import (
    GroupKFold,
)

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.grid_search import PlainSearchWarning


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"return_train_score": True},
        {"scoring": ["accuracy", "f1"], "refit": "f1", "return_train_score": True},
        {"scoring": {"a": "accuracy", "b": make_scorer(fbeta_score, beta=2)}, "refit": False},
    ],
    ids=["plain", "train", "list", "dict"],
)
def test_results_have_the_same_keys_and_types(how: dict[str, Any]) -> None:
    X, y = data("two")
    grid = [{"C": [1, 10], "gamma": [0.1, "scale"]}, {"kernel": ["linear"], "class_weight": [None, "balanced"]}]
    ours, theirs = search_both(classifier(), grid, X, y, **how)
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, value in theirs.cv_results_.items():
        mine = ours.cv_results_[key]
        assert type(mine) is type(value), key
        if isinstance(value, np.ndarray):
            assert mine.dtype == value.dtype, key
            assert mine.shape == value.shape, key
        if isinstance(value, np.ma.MaskedArray):
            np.testing.assert_array_equal(mine.mask, value.mask)
            assert mine.tolist() == value.tolist()
    for key in ("mean_fit_time", "mean_score_time", "std_fit_time", "std_score_time"):
        assert (ours.cv_results_[key] >= 0).all()
    assert (ours.cv_results_["mean_fit_time"] > 0).all()
    public = {name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")}
    assert public <= set(vars(ours))


def test_clone_parameters_and_pickle() -> None:
    X, y = data("three")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3, max_time=100.0, max_memory=50)
    parameters = search.get_params()
    assert parameters["max_time"] == 100.0
    assert parameters["max_memory"] == 50
    assert parameters["estimator__tol"] == classifier().tol
    assert clone(search).get_params().keys() == parameters.keys()
    search.set_params(estimator__degree=2, cv=4, max_time=None)
    assert search.estimator.degree == 2
    assert search.cv == 4
    assert "max_time=100.0" in repr(clone(search).set_params(max_time=100.0))
    search.fit(X, y)
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.predict(X), search.predict(X))
    np.testing.assert_array_equal(copy.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    assert copy.work_report_ == search.work_report_
    assert not hasattr(clone(search), "cv_results_")


def test_a_fitted_search_is_its_best_machine() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3)
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, y)
    alone = classifier(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    assert search.score(X, y) == accuracy_score(y, alone.predict(X))
    assert search.n_features_in_ == 6
    assert search.classes_.tolist() == [0, 1]
    assert search.refit_time_ > 0
    assert not hasattr(search, "predict_proba")
    assert not hasattr(GridSearchCV(regressor(), SMALL_GRID), "decision_function")


@pytest.mark.parametrize(
    ("name", "scoring"),
    [
        ("two", "roc_auc"),
        ("two", "average_precision"),
        ("two", "f1"),
        ("two", "balanced_accuracy"),
        ("two", "accuracy"),
        ("two", make_scorer(fbeta_score, beta=2, pos_label=0)),
        ("two", make_scorer(accuracy_score, greater_is_better=False)),
        ("two", make_scorer(hinge_loss, response_method="decision_function")),
        ("three", "f1_macro"),
        ("three", "accuracy"),
        ("three", make_scorer(lambda y, f: float(np.mean(f.argmax(axis=1) == y)), response_method="decision_function")),
        ("friedman", "r2"),
        ("friedman", "neg_mean_absolute_error"),
        ("friedman", "neg_max_error"),
    ],
)  # fmt: skip
def test_scorers(name: str, scoring: Any) -> None:
    X, y = data(name)
    machine = regressor() if name == "friedman" else classifier()
    how = {"return_train_score": name != "three"}
    ours, theirs = search_both(machine, {"C": [1.0, 10.0], "gamma": [0.05, 0.5]}, X, y, scoring=scoring, **how)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.002)


def test_scorers_of_string_labels() -> None:
    X, y = data("two")
    labels = np.array(["good", "bad"])[y]
    scorer = make_scorer(fbeta_score, beta=1, pos_label="bad")
    search_both(classifier(), SMALL_GRID, X, labels, scoring={"f": scorer, "auc": "roc_auc"}, refit="f")


def plain_scorer(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X) == y))


def several(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    right = estimator.predict(X) == y
    return {"right": float(np.mean(right)), "wrong": float(-np.mean(~right))}


def sparsity(estimator: Any, X: Any, y: Any) -> float:
    return -1e-3 * len(estimator.support_vectors_)


def stability(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X) == estimator.predict(X + 0.01)))


def half(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X[::2]) == y[::2]))


def by_row(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean([estimator.predict(row[None])[0] == label for row, label in zip(X, y, strict=True)]))


def rescored(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator.score(np.array(X), y))


def introspective(estimator: Any, X: Any, y: Any) -> float:
    assert X.shape[1] == estimator.n_features_in_
    return float(np.abs(estimator.dual_coef_).sum() + estimator.C + len(estimator.classes_) + estimator.intercept_[0])


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("scoring", [plain_scorer, sparsity, stability, half, by_row, rescored])
def test_any_callable_scores(name: str, scoring: Any) -> None:
    X, y = data(name)
    search_both(classifier(), SMALL_GRID, X, y, scoring=scoring)


def test_a_scorer_may_look_inside_the_machine() -> None:
    X, y = data("two")
    search_alone(classifier(), SMALL_GRID, X, y, scoring=introspective)


def test_a_scorer_gets_the_rows_as_they_came() -> None:
    X, y = data("two")
    frame = pd.DataFrame(X, columns=list("abcdef"))

    def costs(estimator: Any, X: Any, y: Any) -> float:
        return float(np.mean(np.abs(X["a"].to_numpy()) * (estimator.predict(X) == np.asarray(y))))

    search_both(classifier(), SMALL_GRID, frame, y, scoring=costs)


@pytest.mark.parametrize("refit", ["right", "wrong", False])
def test_a_callable_with_several_scores(refit: Any) -> None:
    X, y = data("two")
    ours, theirs = search_both(classifier(), SMALL_GRID, X, y, scoring=several, refit=refit, return_train_score=True)
    assert ours.multimetric_ is theirs.multimetric_ is True
    assert hasattr(ours, "best_estimator_") == bool(refit)
    if refit:
        check_best(ours, theirs, str(refit))


def test_a_callable_with_several_scores_needs_a_choice() -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match="multi-metric"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, scoring=several).fit(X, y)
    with pytest.raises(ValueError, match="multi-metric"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, scoring=["accuracy", "f1"]).fit(X, y)


@pytest.mark.parametrize(
    "scoring",
    [["accuracy", "f1"], ("f1", "accuracy"), {"accuracy": "accuracy", "f1": "f1"}],
    ids=["list", "tuple", "dict"],
)
def test_several_metrics(scoring: Any) -> None:
    X, y = data("two")
    ours, theirs = search_both(classifier(), SMALL_GRID, X, y, scoring=scoring, refit="f1", return_train_score=True)
    check_best(ours, theirs, "f1")
    assert set(ours.scorer_) == set(theirs.scorer_)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.002)


def last(results: dict[str, Any]) -> int:
    return len(results["params"]) - 1


@pytest.mark.parametrize("refit", [last, True, False])
def test_refits(refit: Any) -> None:
    X, y = data("two")
    ours, theirs = search_both(classifier(), SMALL_GRID, X, y, refit=refit)
    if callable(refit):
        assert ours.best_index_ == theirs.best_index_ == 3
        assert ours.best_params_ == theirs.best_params_
    else:
        check_best(ours, theirs)
    assert hasattr(ours, "best_score_") == hasattr(theirs, "best_score_")
    assert hasattr(ours, "best_estimator_") == hasattr(theirs, "best_estimator_") == bool(refit)
    assert hasattr(ours, "refit_time_") == bool(refit)


def test_a_refit_that_makes_no_sense_is_refused() -> None:
    X, y = data("two")
    with pytest.raises(IndexError):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, refit=lambda results: 99).fit(X, y)
    with pytest.raises(TypeError):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, refit=lambda results: 0.5).fit(X, y)
    with pytest.raises(ValueError, match="nothing"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3, scoring=["f1"], refit="nothing").fit(X, y)


def test_data_frames() -> None:
    X, y = data("two")
    frame, series = (
        pd.DataFrame(X, columns=list("abcdef"), index=np.arange(120) + 7),
        pd.Series(y, index=np.arange(120) + 7),
    )
    ours, theirs = search_both(classifier(), SMALL_GRID, frame, series, return_train_score=True)
    assert ours.feature_names_in_.tolist() == theirs.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(ours.predict(frame), theirs.predict(frame))
    labels = pd.Series(np.array(["a", "b"])[y], dtype="category")
    search_both(classifier(), SMALL_GRID, frame.reset_index(drop=True), labels)


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_metadata_routing() -> None:
    X, y = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(y))
    groups = np.arange(len(y)) % 5
    fit = {"sample_weight": weights, "groups": groups}
    scorer = make_scorer(accuracy_score)
    for fitted, scored in ((True, True), (True, False), (False, True)):
        own = scorer.set_score_request(sample_weight=scored)
        ours, theirs = (
            search(made.set_fit_request(sample_weight=fitted), SMALL_GRID, cv=GroupKFold(3), scoring=own).fit(
                X, y, **fit
            )
            for search, made in ((GridSearchCV, classifier()), (PlainGridSearchCV, peer(classifier())))
        )
        check_cells(ours, theirs)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.usefixtures("_routing")
def test_metadata_that_nobody_asked_for_is_refused() -> None:
    X, y = data("two")
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y, sample_weight=np.ones(len(y)))


def test_a_search_inside_a_search_and_a_cross_validation() -> None:
    X, y = data("two")
    inner = GridSearchCV(classifier(), SMALL_GRID, cv=2)
    scores = sklearn.model_selection.cross_val_score(inner, X, y, cv=3)
    peers = sklearn.model_selection.cross_val_score(PlainGridSearchCV(peer(classifier()), SMALL_GRID, cv=2), X, y, cv=3)
    np.testing.assert_allclose(scores, peers, atol=0.002)


def test_subclasses_may_be_searched() -> None:
    class Cautious(SVC):
        def predict(self, X: Any) -> Any:
            return np.where(np.abs(self.decision_function(X)) < 0.2, 0, super().predict(X))

    X, y = data("two")
    with pytest.warns(PlainSearchWarning, match="Cautious"):
        search_alone(Cautious(tol=1e-5), SMALL_GRID, X, y)


def test_subclasses_that_train_in_another_way_are_trained_their_way() -> None:
    class Contrary(SVC):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return super().fit(X, 1 - y, sample_weight)

    X, y = data("two")
    alone = PlainGridSearchCV(Contrary(tol=1e-5), SMALL_GRID, cv=3).fit(X, y)
    with pytest.warns(PlainSearchWarning):
        check_cells(GridSearchCV(Contrary(tol=1e-5), SMALL_GRID, cv=3).fit(X, y), alone)

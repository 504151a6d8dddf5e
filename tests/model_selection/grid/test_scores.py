"""Scores without scorers are those of scikit-learn's scorers, or left to them."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import data
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, f1_score, get_scorer, make_scorer, roc_auc_score
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer, _Scorer
from sklearn.model_selection import StratifiedKFold

from widemargin import SVC, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM
from widemargin.estimators.prediction import tallied
from widemargin.model_selection.grid.folds import ClassifierFold, RegressorFold
from widemargin.model_selection.grid.grid_search import PlainSearchWarning
from widemargin.model_selection.grid.scores import OF_CLASSES, OF_NUMBERS, ChainScores

#: Labels of two classes, by what is special about them.
TWO_CLASSES = {
    "0 and 1": [0, 1],
    "-1 and 1": [-1, 1],
    "1 comes first": [1, 2],
    "no 1": [3, 5],
    "floats": [0.0, 1.0],
    "truth": [False, True],
    "words": ["no", "yes"],
}


class Said(ClassifierMixin, BaseEstimator):
    """A fitted classifier that has said what it says."""

    def __init__(self, classes: Any, values: Any, predicted: Any) -> None:
        self.classes_, self.values, self.predicted = classes, values, predicted

    def decision_function(self, X: Any) -> Any:
        return self.values

    def predict(self, X: Any) -> Any:
        return self.predicted


class SaidNumbers(RegressorMixin, BaseEstimator):
    """A fitted regressor that has said what it says."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def predict(self, X: Any) -> Any:
        return self.values


class KnownClasses(ClassifierFold):
    """A fold whose models have decision values as given, a row for each."""

    def values(self, models: Any, found: Any, samples: Any) -> Any:
        return self.given

    def tallied(self, models: Any, found: Any, samples: Any, rule: str) -> Any:
        return tallied(self.given, len(self.classes), rule)


class KnownNumbers(RegressorFold):
    """The same with numbers."""

    def values(self, models: Any, found: Any, samples: Any) -> Any:
        return self.given


def by_scorer(name: str, judged: Any, y: Any) -> float:
    """What scikit-learn's scorer says; NaN where it warns or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return float(get_scorer(name)(judged, np.zeros((len(y), 1)), y))
        except (ValueError, UserWarning):
            return np.nan


def classified(classes: Any, truth: Any, values: Any) -> tuple[ClassifierFold, Any]:
    """A fold that is trained on samples of all classes and tested on others, and the labels of the latter."""
    y = np.concatenate([np.repeat(classes, 2), truth])
    n = 2 * len(classes)
    fold = KnownClasses(y, np.arange(n), np.arange(n, len(y)), np.ones(len(y)), np.arange(n, len(y)))
    fold.given = values.reshape(-1, values.shape[-1])
    return fold, y[n:]


def assert_agrees(
    name: str, fold: ClassifierFold, y: Any, n_models: int, *, all_told: bool = True
) -> list[float | None]:
    """Scores are the scorer's where it is content; without `all_told`, some of these may be left to it."""
    model = SVC()
    scores = ChainScores.of(get_scorer(name), model)
    assert scores is not None
    found = scores(fold, [model] * n_models, [[]] * n_models, fold.test)
    for own, score in zip(fold.given.reshape(n_models, len(y), -1), found, strict=True):
        numbers = own if len(fold.classes) == 2 else tallied(own, len(fold.classes), "votes")
        predicted = fold.classes[fold.predicted(model, numbers)]
        expected = by_scorer(name, Said(fold.classes, own.ravel(), predicted), y)
        if score is not None:
            assert type(score) is float
            assert score == pytest.approx(expected, abs=1e-12, rel=1e-12)
        elif all_told:
            assert np.isnan(expected)
    return found


@pytest.mark.parametrize("labels", TWO_CLASSES)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_scores_of_two_classes_are_scikit_learns(name: str, labels: str) -> None:
    rng = np.random.default_rng(0)
    classes = np.array(TWO_CLASSES[labels])
    truth = classes[rng.integers(0, 2, size=40)]
    values = rng.normal(size=(5, 40, 1)) + np.linspace(0, 2, 5)[:, None, None] * (truth == classes[1])[:, None]
    values[1] = values[1].round(1)  # ties
    values[2] = values[2].round()
    values[3] = 0.0
    values[4] = 1.0
    fold, y = classified(classes, truth, values)
    found = assert_agrees(name, fold, y, 5)
    looks_for_one = name in ("precision", "recall", "f1", "average_precision")
    assert (found[0] is None) == (looks_for_one and labels in ("no 1", "words"))


@pytest.mark.parametrize("kind", ["whole", "a class not tested", "a class not trained on", "one predicted"])
@pytest.mark.parametrize("name", OF_CLASSES)
def test_scores_of_more_classes_are_scikit_learns(name: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    truth, values = rng.integers(0, 4, size=60), rng.normal(size=(3, 60, 6)).round(1)
    if kind == "a class not tested":
        truth[truth == 2] = 1
    if kind == "a class not trained on":
        truth[:3] = 9
    if kind == "one predicted":
        values[:] = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    fold, y = classified(np.arange(4), truth, values)
    found = assert_agrees(name, fold, y, 3, all_told=kind != "a class not trained on")
    if kind == "whole":
        assert (None in found) == (name in ("roc_auc", "average_precision", "precision", "recall", "f1"))


@pytest.mark.parametrize("name", OF_CLASSES)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_in_the_test_part(name: str, label: int) -> None:
    values = np.array([[0.5, -1.0, 2.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])[..., None]
    assert_agrees(name, *classified(np.array([0, 1]), np.full(3, label), values), 3)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_values_that_are_no_numbers_are_left_to_the_scorer(name: str) -> None:
    values = np.array([[0.5, -1.0, np.nan], [1.0, 2.0, -3.0]])[..., None]
    fold, _ = classified(np.array([0, 1]), np.array([0, 1, 0]), values)
    found = ChainScores.of(get_scorer(name), SVC())(fold, [SVC()] * 2, [[]] * 2, fold.test)
    assert found[0] is None
    assert found[1] is not None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(-1e300, 1e300) | st.integers(-3, 3)), min_size=1, max_size=30))
def test_ranks_tell_the_area_under_the_curve(samples: list[tuple[bool, float]]) -> None:
    truth = np.array([one for one, _ in samples], dtype=np.int64)
    values = np.array([value for _, value in samples], dtype=np.float64)[None, :, None]
    fold, y = classified(np.array([0, 1]), truth, values)
    for name in ("roc_auc", "average_precision"):
        (score,) = assert_agrees(name, fold, y, 1)
        assert (score is None) == (not truth.any() or (truth.all() and name == "roc_auc"))
    if 0 < truth.sum() < len(truth):
        more = values[0, truth == 1] - values[0, truth == 0].T
        area = np.mean((more > 0) + 0.5 * (more == 0))
        assert assert_agrees("roc_auc", fold, y, 1)[0] == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("kind", ["whole", "constant targets", "one sample", "huge"])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_scores_of_numbers_are_scikit_learns(name: str, kind: str) -> None:
    rng = np.random.default_rng(2)
    n = 1 if kind == "one sample" else 50
    y, values = rng.normal(size=n + 5), rng.normal(size=(3, n))
    if kind == "constant targets":
        y[:] = 2.0
        values[0] = 2.0
    if kind == "huge":
        values *= 1e200
    samples = np.arange(5, n + 5)
    fold = KnownNumbers(y, np.arange(5), samples, np.ones(n + 5), samples)
    fold.given = values.reshape(-1, 1)
    found = ChainScores.of(get_scorer(name), SVR())(fold, [SVR()] * 3, [[]] * 3, samples)
    for own, score in zip(values, found, strict=True):
        if score is not None:
            assert score == pytest.approx(by_scorer(name, SaidNumbers(own), y[samples]), abs=1e-12, rel=1e-12)
    assert (None in found) == (
        (name == "r2" and kind in ("constant targets", "one sample"))
        or (kind == "huge" and name != "neg_mean_absolute_error")
    )


class OwnScorer(_Scorer):
    """A scorer of a user."""


class OwnSVC(SVC):
    """A model of a user."""


def test_only_scikit_learns_own_scorers_are_known() -> None:
    roc = get_scorer("roc_auc")
    assert ChainScores.of(roc, SVC()) is not None
    assert ChainScores.of(make_scorer(accuracy_score), NuSVC()) is not None
    changed = get_scorer("roc_auc")
    changed._score = lambda *_, **__: 0.0
    others = [
        changed,
        OwnScorer(roc_auc_score, 1, {}, ("decision_function", "predict_proba")),
        make_scorer(roc_auc_score, response_method="predict"),
        make_scorer(roc_auc_score, response_method=("decision_function", "predict_proba"), max_fpr=0.5),
        make_scorer(lambda y, predicted: accuracy_score(y, predicted)),
        make_scorer(accuracy_score, greater_is_better=False),
        make_scorer(accuracy_score, normalize=False),
        make_scorer(f1_score, average="macro", zero_division=1),
        get_scorer("neg_log_loss"),
        get_scorer("r2"),
        lambda model, X, y: 0.0,
    ]
    for other in others:
        assert ChainScores.of(other, SVC()) is None, other
        assert ChainScores.of(_MultimetricScorer(scorers={"one": roc, "other": other}), SVC()) is None
    assert ChainScores.of(get_scorer("accuracy"), SVR()) is None


def test_only_models_of_the_library_are_known() -> None:
    assert ChainScores.of(get_scorer("r2"), NuSVR()) is not None
    for model in (OwnSVC(), OneClassSVM()):
        assert ChainScores.of(get_scorer("accuracy"), model) is None


def test_scores_of_models_themselves() -> None:
    for model in (SVC(), NuSVC(), SVR(), NuSVR()):
        assert ChainScores.of(_PassthroughScorer(model), model) is not None

    class Judge(SVC):
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            return 0.25

    X, y = data("two")
    with pytest.warns(PlainSearchWarning, match="Judge"):
        found = GridSearchCV(Judge(), {"C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert found.cv_results_["mean_test_score"].tolist() == [0.25, 0.25]


@cache
def asked_scorer(name: str) -> Any:
    """A scorer that is scikit-learn's in all but its type, and so is asked."""
    known = get_scorer(name)
    return OwnScorer(known._score_func, known._sign, known._kwargs, known._response_method)


@pytest.mark.parametrize("train_scores", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("case", ["two", "three", "diabetes"])
def test_searches_find_what_scorers_say(case: str, n_jobs: int, train_scores: bool) -> None:
    X, y = data(case)
    names = list(OF_NUMBERS) if case == "diabetes" else ["accuracy", "balanced_accuracy", "f1_macro", "f1_weighted"]
    names += ["roc_auc", "average_precision", "f1"] if case == "two" else []
    model, grid = SVR() if case == "diabetes" else SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}
    how: dict[str, Any] = {"cv": 3, "n_jobs": n_jobs, "return_train_score": train_scores, "refit": names[0]}
    quick = GridSearchCV(model, grid, scoring=names, **how).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = GridSearchCV(model, grid, scoring={name: asked_scorer(name) for name in names}, **how).fit(X, y)
    for key, values in quick.cv_results_.items():
        if key.startswith("split"):
            np.testing.assert_allclose(values, asked.cv_results_[key], rtol=1e-12, atol=1e-12, err_msg=key)
    assert quick.best_params_ == asked.best_params_


def test_scorers_are_asked_where_they_warn() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), (np.arange(60) < 6).astype(int)
    search = GridSearchCV(SVC(gamma=0.1), {"C": [1e-3, 1e-2]}, scoring="precision", cv=StratifiedKFold(3))
    with pytest.warns(UserWarning, match="Precision is ill-defined"):
        search.fit(X, y)
    assert search.cv_results_["mean_test_score"].tolist() == [0.0, 0.0]


def test_scores_by_weights_are_left_to_scorers() -> None:
    X, y = data("two")
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=len(y))
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = SVC().set_fit_request(sample_weight=False)
        weighted = GridSearchCV(model, {"C": [1.0, 10.0]}, scoring=scorer, cv=3).fit(X, y, sample_weight=weights)
        plain = GridSearchCV(model, {"C": [1.0, 10.0]}, scoring=scorer, cv=3).fit(X, y)
    for number, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        own = SVC(C=10.0).fit(X[train], y[train]).predict(X[test]) == y[test]
        assert weighted.cv_results_[f"split{number}_test_score"][1] == pytest.approx(
            np.average(own, weights=weights[test])
        )
        assert plain.cv_results_[f"split{number}_test_score"][1] == pytest.approx(own.mean())

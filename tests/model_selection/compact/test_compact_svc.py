"""What a fit reports is what anybody can recompute from the model and the samples."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from small_problems import SHORT, fitted, same_models, three_classes, two_classes

from widemargin import CompactSVC
from widemargin.strategies import TabuSearch


def quality_by_hand(model: CompactSVC, X: Any, y: Any, number: int, costs: Any) -> float:
    """Balanced rate on the validation samples of one class against the others, less what predictions cost."""
    one, rows = model.models_[number], model.split_.validation
    positive = y[rows] == one.label
    vectors = model.support_vectors_[number]
    gamma = one.sigma**-2.0
    factors = model.scale_.factors[one.features]
    apart = (X[rows][:, np.newaxis, one.features] - vectors) * factors
    values = np.exp(-gamma * np.square(apart).sum(axis=2)) @ one.model.dual_coef_[0] + one.model.intercept_[0]
    rate = (np.mean(values[positive] > 0) + np.mean(values[~positive] <= 0)) / 2.0
    assert one.validation_rate == pytest.approx(rate)
    tests = model.split_.test
    assert len(vectors) == one.n_support == model.n_support_[number]
    paid = 0.0
    if model.select_features:
        assert one.feature_cost == pytest.approx(costs[one.features].sum())
        paid = model.feature_penalty * math.log2(costs[one.features].sum())
    assert len(tests) == len(y) - len(rows) - len(model.split_.train)
    return float(rate) - model.sv_penalty * math.log2(one.n_support) - paid


@pytest.mark.parametrize("select", [False, True])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_the_numbers_of_a_fit(data: Any, select: bool) -> None:
    X, y = data()
    d = X.shape[1]
    given = np.arange(1.0, d + 1.0)
    costs = given / given.mean() if select else np.ones(d)
    model = fitted(
        X, y, select_features=select, feature_costs=given if select else None, sv_penalty=0.02, feature_penalty=0.03
    )
    # Rates and quality, from what the model predicts.
    qualities = [quality_by_hand(model, X, y, number, costs) for number in range(len(model.models_))]
    assert model.quality_ == pytest.approx(np.mean(qualities))
    rows = model.split_.test
    assert model.recognition_rate_ == pytest.approx(balanced_accuracy_score(y[rows], model.predict(X[rows])))
    if len(model.classes_) == 2:
        [one] = model.models_
        assert one.label == 1
        assert one.test_rate == model.recognition_rate_
        right = model.predict(X[model.split_.validation]) == y[model.split_.validation]
        assert one.validation_rate == pytest.approx(
            np.mean([right[y[model.split_.validation] == label].mean() for label in (0, 1)])
        )
    else:
        assert [one.label for one in model.models_] == [0, 1, 2]
    # The split is a partition.
    np.testing.assert_array_equal(np.sort(np.concatenate(model.split_)), np.arange(len(y)))
    # Features are scaled; each vector takes a product a feature, one for the width, one for its coefficient.
    by_hand = sum(len(one.features) + one.n_support * (len(one.features) + 1 + 1) for one in model.models_)
    assert model.cost_ == by_hand
    used = sorted({int(column) for one in model.models_ for column in one.features})
    assert model.selected_features_.tolist() == used
    assert (len(used) == d) or select
    assert model.n_evaluations_ == model.work_report_.evaluations
    assert model.n_evaluations_ == sum(one.trace.n_evaluations for one in model.models_)
    assert model.work_report_.trained > 0
    assert model.work_report_.seconds > 0.0


@pytest.mark.parametrize("select", [False, True])
def test_the_front_is_that_of_the_trace(select: bool) -> None:
    X, y = three_classes()
    model = fitted(X, y, select_features=select)
    assert set(model.front_["model"]) == {0, 1, 2}
    for number, one in enumerate(model.models_):
        front = model.front_[model.front_["model"] == number]
        for entry in front:
            row = one.trace[int(entry["evaluation"])]
            assert entry["quality"] == row["value"]
            assert entry["level"] == row["level"]
            assert (entry["C"], entry["sigma"]) == (pytest.approx(row["C"]), pytest.approx(row["sigma"]))
            n_features = sum(row[f"feature {column}"] for column in range(5)) if select else 5
            assert entry["n_features"] == n_features
            paid = 0.01 * math.log2(entry["feature_cost"]) if select else 0.0
            expected = entry["recognition_rate"] - 0.01 * math.log2(entry["support_vectors"]) - paid
            assert entry["quality"] == pytest.approx(expected)
        # Nothing beats anything else, and the best of the trace is there.
        three = np.column_stack([-front["recognition_rate"], front["support_vectors"], front["feature_cost"]])
        for place, own in enumerate(three):
            assert not any((other <= own).all() for at, other in enumerate(three) if at != place)
        assert front["quality"].max() == np.nanmax(one.trace["value"])
        assert all(first >= second for first, second in pairwise(front["recognition_rate"]))
        # The model that was chosen is the best of the trace.
        best = one.trace[int(np.nanargmax(one.trace["value"]))]
        assert (one.level, one.C, one.sigma) == (best["level"], pytest.approx(best["C"]), pytest.approx(best["sigma"]))
        assert one.quality == pytest.approx(best["value"], abs=1e-6)


def test_support_vectors_are_prototypes_in_the_units_of_the_samples() -> None:
    X, y = two_classes()
    X = X * np.array([1.0, 1e3, 1e-3, 1.0, 1.0, 1.0]) + 5.0
    model = fitted(X, y)
    [vectors] = model.support_vectors_
    train = X[model.split_.train]
    assert ((vectors >= train.min(axis=0) - 1e-3) & (vectors <= train.max(axis=0) + 1e-3)).all()
    whole = fitted(X, y, sv_penalty=0.0, max_evaluations=64)
    assert 2 ** whole.models_[0].level * 2 >= whole.n_support_[0]


def test_twice_as_many_support_vectors_have_to_be_worth_it() -> None:
    X, y = two_classes(300)
    sizes = [int(fitted(X, y, sv_penalty=penalty, strategy=None).n_support_[0]) for penalty in (0.0, 0.1)]
    assert sizes[1] == 2 < sizes[0]


def test_the_expensive_one_of_two_copies_is_dropped() -> None:
    generator = np.random.default_rng(0)
    wanted = generator.normal(size=400)
    X = np.column_stack([wanted, generator.normal(size=400), wanted])
    y = wanted > 0
    for costs, cheap in (([1.0, 1.0, 20.0], 0), ([20.0, 1.0, 1.0], 2)):
        for seed in range(3):
            how: Any = {"select_features": True, "feature_penalty": 0.05, "strategy": None, "random_state": seed}
            model = fitted(X, y, feature_costs=costs, **how)
            assert model.selected_features_.tolist() == [cheap]
            assert model.recognition_rate_ > 0.95
            # Only ratios matter.
            other = fitted(X, y, feature_costs=[1000.0 * cost for cost in costs], **how)
            assert other.selected_features_.tolist() == [cheap]


@pytest.mark.parametrize("seed", range(4))
def test_five_of_fifty_features(seed: int) -> None:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(2000, 50))
    informative = generator.choice(50, 5, replace=False)
    y = X[:, informative].sum(axis=1) > 0
    model = fitted(X, y, select_features=True, feature_penalty=0.05, strategy=None, random_state=seed)
    chosen = set(model.selected_features_.tolist())
    assert len(chosen) <= 8
    assert len(chosen & set(informative.tolist())) >= 4
    assert model.recognition_rate_ > 0.9


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_any_number_of_threads_finds_the_same(data: Any) -> None:
    X, y = data()
    one = fitted(X, y, select_features=True)
    for n_jobs in (2, 3):
        other = fitted(X, y, select_features=True, n_jobs=n_jobs)
        same_models(one, other)
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_a_seed_decides() -> None:
    X, y = two_classes()
    same_models(fitted(X, y), fitted(X, y))
    others = [fitted(X, y, random_state=seed) for seed in range(3)]
    assert len({one.split_.test.tobytes() for one in others}) == 3
    drawn = fitted(X, y, random_state=np.random.RandomState(5))
    same_models(drawn, fitted(X, y, random_state=drawn.seed_))
    same_models(drawn, fitted(X, y, random_state=np.random.RandomState(5)))
    assert fitted(X, y, random_state=None).seed_ != fitted(X, y, random_state=None).seed_


@pytest.mark.parametrize("select", [False, True])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_samples_are_the_same_samples(make: Any, select: bool) -> None:
    X, y = three_classes()
    X = X * (np.abs(X) > 0.5)
    dense, sparse = fitted(X, y, select_features=select), fitted(make(X), y, select_features=select)
    np.testing.assert_array_equal(dense.selected_features_, sparse.selected_features_)
    assert dense.quality_ == pytest.approx(sparse.quality_)
    np.testing.assert_array_equal(dense.front_["support_vectors"], sparse.front_["support_vectors"])
    for model in (dense, sparse):
        for samples in (X, make(X)):
            np.testing.assert_allclose(model.decision_function(samples), dense.decision_function(X), atol=1e-3)
            np.testing.assert_array_equal(model.predict(samples), dense.predict(X))
    assert all(sp.issparse(vectors) for vectors in sparse.support_vectors_)
    for mine, theirs in zip(dense.support_vectors_, sparse.support_vectors_, strict=True):
        np.testing.assert_allclose(mine, theirs.toarray(), atol=1e-5)


def test_training_once_more_on_all_samples() -> None:
    X, y = three_classes()
    before, after = fitted(X, y, refit=False), fitted(X, y, refit=True)
    assert (after.quality_, after.recognition_rate_) == (before.quality_, before.recognition_rate_)
    np.testing.assert_array_equal(after.front_, before.front_)
    for mine, theirs in zip(before.models_, after.models_, strict=True):
        assert (mine.level, mine.C, mine.sigma) == (theirs.level, theirs.C, theirs.sigma)
        assert mine.sigmoid == theirs.sigmoid
        assert len(theirs.model.support_) == theirs.n_support
    assert (before.decision_function(X) != after.decision_function(X)).any()
    assert after.cost_ == sum(one.cost for one in after.models_)
    assert after.n_support_.tolist() == [one.n_support for one in after.models_]
    assert after.score(X, y) > 0.8
    # At the highest level, all samples are what it is trained on.
    whole = fitted(X[y < 2], y[y < 2], refit=True, sv_penalty=0.0)
    assert whole.n_support_[0] <= np.count_nonzero(y < 2)


def test_without_a_test() -> None:
    X, y = two_classes()
    model = fitted(X, y, test_size=0)
    assert math.isnan(model.recognition_rate_)
    assert math.isnan(model.models_[0].test_rate)
    assert len(model.split_.test) == 0
    assert len(model.split_.validation) == 50


def test_a_fit_that_fails_leaves_no_model() -> None:
    X, y = two_classes()
    model = CompactSVC(strategy=SHORT, random_state=0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="every class needs 3"):
        model.fit(X[:, :2], np.r_[np.zeros(148), 1, 1])
    for ask in (model.predict, model.decision_function, model.predict_proba):
        with pytest.raises(NotFittedError):
            ask(X)
    with pytest.raises(NotFittedError):
        _ = model.support_vectors_


def test_clones_have_the_same_parameters() -> None:
    model = CompactSVC(strategy=TabuSearch(patience=3), feature_costs=[1.0, 2.0], decision="argmax")
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert CompactSVC().get_params()["strategy"] is None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"sv_penalty": -1.0}, r"sv_penalty must be a finite number of at least 0; got -1\.0\."),
        ({"feature_penalty": math.nan}, r"feature_penalty must be a finite number of at least 0; got nan\."),
        ({"select_features": "yes"}, r"select_features must be True or False; got 'yes'\."),
        ({"decision": "votes"}, r"decision must be one of 'calibrated', 'argmax', 'fuzzy-minimum'; got 'votes'\."),
        ({"strategy": "tabu"}, r"strategy must be None or a TabuSearch; got 'tabu'\."),
        ({"validation_size": 0.0}, r"validation_size must be a number above 0 and below 1; got 0\.0\."),
        ({"validation_size": 1.0}, r"validation_size must be a number above 0 and below 1; got 1\.0\."),
        ({"test_size": 1.0}, r"test_size must be a number of at least 0 and below 1; got 1\.0\."),
        ({"test_size": -0.5}, r"test_size must be a number of at least 0 and below 1; got -0\.5\."),
        ({"test_size": "a third"}, r"test_size must be a number of at least 0 and below 1; got 'a third'\."),
        ({"tol": 0.0}, r"tol must be a number above 0; got 0\.0\."),
        ({"max_time": 0.0}, r"max_time must be None or a number above 0; got 0\.0\."),
        ({"max_evaluations": 0}, r"max_evaluations must be None or a whole number of at least 1; got 0\."),
        ({"max_evaluations": 1.5}, r"max_evaluations must be None or a whole number of at least 1; got 1\.5\."),
        ({"n_jobs": 0}, "n_jobs"),
        ({"progress": "loud"}, "progress"),
        ({"feature_costs": [1.0, 2.0]}, r"feature_costs must hold a number for each of the 6 features; its shape is "),
        ({"feature_costs": [1, 1, 1, 1, 0, 1]}, r"feature_costs\[4\] is 0; the cost of every feature must be positive"),
        ({"feature_costs": [1, 1, -2, 1, 1, 1]}, r"feature_costs\[2\] is -2; the cost"),
        ({"feature_costs": [math.nan, 1, 1, 1, 1, 1]}, r"feature_costs\[0\] is nan; the cost"),
    ],
)
def test_parameters_that_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fitted(*two_classes(), **how)


def test_steps_of_a_strategy_are_refused() -> None:
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"^step=0\.5 of the strategy means nothing to CompactSVC, whose C and width"):
        fitted(X, y, strategy=TabuSearch(step=0.5))

"""RiverSVC: river's own checks, and what streams of dicts promise."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import river.ensemble
import river.multiclass
import scipy.sparse as sp
from river import checks, datasets, evaluate, metrics, preprocessing
from river.base import Classifier

from widemargin import OnlineSVC
from widemargin.river import RiverSVC


def dicts(n: int = 120, seed: int = 0, classes: int = 2) -> list[tuple[dict[str, float], Any]]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, n)
    X = random.normal(size=(n, 3)) + 1.5 * np.eye(3)[labels]
    names = ["zero", "one", "two"]
    return [(dict(zip("abc", row, strict=True)), names[y]) for row, y in zip(X.tolist(), labels.tolist(), strict=True)]


def learnt(samples: list[tuple[dict[str, float], Any]], **parameters: Any) -> RiverSVC:
    model = RiverSVC(**{"gamma": 0.3, **parameters})
    for x, y in samples:
        model.learn_one(x, y)
    return model


CASES = [
    pytest.param(parameters, check, id=f"{check.__name__}-{number}")
    for parameters in RiverSVC._unit_test_params()
    for number, check in enumerate(checks.yield_checks(RiverSVC(**parameters)))
]


@pytest.mark.parametrize(("parameters", "check"), CASES)
def test_rivers_own_checks(parameters: dict[str, Any], check: Any) -> None:
    check(RiverSVC(**parameters))


def test_it_is_one_of_rivers_classifiers_and_learns_a_stream() -> None:
    model = RiverSVC(C=1.0, gamma=0.1)
    assert isinstance(model, Classifier)
    pipeline = preprocessing.StandardScaler() | model
    metric = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.Accuracy())
    assert metric.get() > 0.88


def test_it_is_the_model_of_online_svc() -> None:
    samples = dicts()
    model = learnt(samples)
    X = np.array([list(x.values()) for x, _ in samples])
    first = samples[0][1]
    y = np.array([int(label != first) for _, label in samples])
    began = int(np.flatnonzero(y)[0])
    other = OnlineSVC(gamma=0.3)
    other.partial_fit(X[:began], y[:began], classes=[0, 1])
    for n in range(began, len(y)):
        other.partial_fit(X[n : n + 1], y[n : n + 1])
    assert model.model is not None
    np.testing.assert_allclose(model.model.decision_function(X), other.decision_function(X), atol=1e-9)


def test_classes_come_up_on_the_fly() -> None:
    samples = dicts(200, classes=3)
    two = [one for one in samples if one[1] != "two"]
    model = RiverSVC(gamma=0.3)
    assert model.predict_one(two[0][0]) is None
    model.learn_one(*two[0])
    assert model.predict_one(two[1][0]) == two[0][1]
    for x, y in two[1:]:
        model.learn_one(x, y)
    assert model.model is not None
    kept = len(model.model.kept_ids_)
    model.learn_one(*next(one for one in samples if one[1] == "two"))
    assert model.model.classes_.tolist() == [0, 1, 2]
    assert model.model.n_seen_ == kept + 1
    for x, y in samples:
        model.learn_one(x, y)
    assert np.mean([model.predict_one(x) == y for x, y in samples]) > 0.7


def test_a_missing_feature_is_0_and_so_is_one_that_is_yet_to_come() -> None:
    samples = dicts()
    sparse = [
        ({name: value for name, value in x.items() if n > 60 or name != "b"}, y) for n, (x, y) in enumerate(samples)
    ]
    filled = [({**dict.fromkeys("abc", 0.0), **x}, y) for x, y in sparse]
    emerging, known = learnt(sparse), learnt(filled)
    assert emerging.model is not None
    assert known.model is not None
    assert emerging.model.dual_coef_.shape == known.model.dual_coef_.shape
    np.testing.assert_allclose(emerging.model.dual_coef_, known.model.dual_coef_, atol=1e-6)
    for x, _ in samples:
        assert emerging.predict_one({**x, "never seen": 7.0}) == known.predict_one(x)


def test_a_pickle_goes_on_as_if_it_had_not_been_one() -> None:
    samples = dicts(classes=3)
    model = learnt(samples[:60], budget=20)
    twin = pickle.loads(pickle.dumps(model))
    for x, y in samples[60:]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert model.model is not None
    np.testing.assert_array_equal(model.model.dual_coef_, twin.model.dual_coef_)
    assert len(model.model.kept_ids_) <= 20


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": 1e200}, "zero", "too large to compute"),
        ({"new feature": 1e200}, "zero", "too large to compute"),
        ({"a": 1e200}, "new class", "too large to compute|budget must be"),
        ({"a": 1e200}, "another", "too large to compute|budget must be at least the number of classes, 3"),
        ({"a": 1.0}, None, "y is None, which is no class"),
        ({"a": 1.0}, float("nan"), "y is nan, which is no class"),
    ],
)
@pytest.mark.parametrize("begun", [1, 40])
def test_a_sample_that_is_refused_teaches_nothing(x: dict[str, float], y: Any, message: str, begun: int) -> None:
    samples, budget = dicts(80), 2 if y == "another" else None
    model, twin = learnt(samples[:begun], budget=budget), learnt(samples[:begun], budget=budget)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y)
    for x, y in samples[begun:]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert model.model is not None
    assert twin.model is not None
    np.testing.assert_array_equal(model.model.dual_coef_, twin.model.dual_coef_)
    assert [model.predict_one(x) for x, _ in samples] == [twin.predict_one(x) for x, _ in samples]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_class_that_is_predicted_is_the_most_probable_one(classes: int, kernel: str) -> None:
    samples = dicts(300, classes=classes)
    model = RiverSVC(kernel=kernel, gamma=0.3)
    assert model.predict_proba_one(samples[0][0]) == {}
    model.learn_one(*samples[0])
    assert model.predict_proba_one(samples[1][0]) == {samples[0][1]: 1.0}
    for x, y in samples[1:]:
        found = model.predict_proba_one(x)
        assert max(found, key=lambda name: found[name]) == model.predict_one(x)
        assert sum(found.values()) == pytest.approx(1.0)
        assert min(found.values()) >= 0.0
        model.learn_one(x, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_probabilities_are_about_as_often_right_as_they_say(classes: int, scale: float) -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, classes, 1500)
    X = scale * random.normal(size=(1500, 3)) + np.eye(3)[labels]
    model, loss, said, right = RiverSVC(C=1.0, gamma=0.3), metrics.LogLoss(), [], []
    if classes > 2:
        loss = metrics.CrossEntropy()
    for n, (row, y) in enumerate(zip(X.tolist(), labels.tolist(), strict=True)):
        x = dict(zip("abc", row, strict=True))
        found = model.predict_proba_one(x)
        if n > 500:
            loss.update(y, found.get(1, 0.0) if classes == 2 else found)
            said.append(max(found.values()))
            right.append(max(found, key=lambda name: found[name]) == y)
        model.learn_one(x, y)
    assert abs(np.mean(said) - np.mean(right)) < 0.07
    assert loss.get() < np.log(classes)


@pytest.mark.parametrize(
    "ensemble",
    [
        lambda: river.ensemble.BaggingClassifier(RiverSVC(gamma=0.3), n_models=3, seed=0),
        lambda: river.ensemble.ADWINBaggingClassifier(RiverSVC(gamma=0.3), n_models=3, seed=0),
        lambda: river.ensemble.LeveragingBaggingClassifier(RiverSVC(gamma=0.3), n_models=3, seed=0),
        lambda: river.multiclass.OneVsRestClassifier(RiverSVC(gamma=0.3)),
    ],
    ids=["bagging", "ADWIN", "leveraging", "one against the rest"],
)
def test_rivers_ensembles(ensemble: Any) -> None:
    model, accuracy = ensemble(), metrics.Accuracy()
    for x, y in dicts(250, classes=2):
        accuracy.update(y, model.predict_one(x) or "none")
        model.learn_one(x, y)
    assert accuracy.get() > 0.7


def test_the_area_under_the_curve_and_further_metrics() -> None:
    pipeline = preprocessing.StandardScaler() | RiverSVC(C=1.0, gamma=0.1, window=300)
    found = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.ROCAUC() + metrics.LogLoss())
    area, loss = found.get()
    assert area > 0.93
    assert loss < 0.4


def test_probabilities_of_copies() -> None:
    samples = dicts(100)
    model = learnt(samples)
    twin, fresh = pickle.loads(pickle.dumps(model)), model.clone()
    assert twin.predict_proba_one(samples[0][0]) == model.predict_proba_one(samples[0][0])
    assert fresh.predict_proba_one(samples[0][0]) == {}
    assert model.clone(include_attributes=True).predict_proba_one(samples[0][0]) == pytest.approx(
        model.predict_proba_one(samples[0][0])
    )


def test_predictions_change_nothing() -> None:
    samples = dicts(100)
    model = learnt(samples)
    before = pickle.dumps(model)
    for x, _ in samples:
        model.predict_one(x)
        model.predict_proba_one(x)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_many_features_are_sparse_and_change_nothing(kernel: str) -> None:
    random = np.random.default_rng(0)
    words = random.zipf(1.4, (300, 12)) % 3000
    labels = [int((row < 4).sum() > 4) for row in words]
    samples: list[tuple[dict[str, float], Any]] = [
        ({f"word {word}": float(n) for word, n in zip(*np.unique(row, return_counts=True), strict=True)}, y)
        for row, y in zip(words, labels, strict=True)
    ]
    model = RiverSVC(kernel=kernel, gamma=0.1)
    names = {name: number for number, name in enumerate(sorted({name for x, _ in samples for name in x}))}
    X = np.zeros((300, len(names)))
    for row, (x, _) in zip(X, samples, strict=True):
        row[[names[name] for name in x]] = list(x.values())
    agree = 0
    other = OnlineSVC(kernel=kernel, **({} if kernel == "linear" else {"gamma": 0.1}))
    for n, (x, y) in enumerate(samples):
        if n > 50:
            agree += model.predict_one(x) == other.predict(X[n : n + 1])[0]
        model.learn_one(x, y)
        other.partial_fit(X[n : n + 1], [y], classes=[0, 1])
    assert agree >= 246  # of 249: float32 and float64
    assert model.model is not None
    assert sp.issparse(model.model.support_vectors_)
    assert len(model.model.kept_ids_) == pytest.approx(len(other.kept_ids_), abs=3)


def test_a_sample_may_have_no_features() -> None:
    model = learnt([({}, "zero"), ({}, "one"), ({"a": 3.0}, "one"), ({}, "zero"), ({"a": 3.0}, "one")])
    assert model.predict_one({}) == "zero"
    assert model.predict_one({"a": 3.0}) == "one"


def test_gamma_is_that_of_the_first_sample() -> None:
    model = RiverSVC()
    for x, y in [({"a": 1.0, "b": 2.0}, 0), ({"a": 1.0, "b": 2.0, "c": 0.0, "d": 0.0}, 0), ({"a": 2.0}, 1)]:
        model.learn_one(x, y)
    assert model.model is not None
    assert model.model.gamma == 0.5


def test_weights() -> None:
    samples = dicts(40)
    model, twin = learnt(samples), learnt(samples)
    model.learn_one({"new feature": 9.0}, "new class", w=0.0)
    assert pickle.dumps(model) == pickle.dumps(twin)
    with pytest.raises(ValueError, match="w must be a number of at least 0; got -1"):
        model.learn_one({"a": 1.0}, "zero", w=-1)


@pytest.mark.parametrize("value", ["red", None, float("nan"), float("inf"), b"1"])
def test_values_that_are_no_numbers_are_refused(value: Any) -> None:
    model = learnt(dicts(30))
    before = pickle.dumps(model)
    for act in (lambda: model.learn_one({"a": 1.0, "colour": value}, "zero"), lambda: model.predict_one({"a": value})):
        with pytest.raises(ValueError, match="only finite numbers are accepted"):
            act()
    assert pickle.dumps(model) == before


def test_parameters_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="C must be a number above 0"):
        RiverSVC(C=0.0)
    with pytest.raises(ValueError, match="kernel must be one of 'linear', 'poly', 'rbf', 'sigmoid'"):
        RiverSVC(kernel="precomputed")
    with pytest.raises(ValueError, match="gamma must be 'auto' or a number"):
        RiverSVC(gamma="scale")
    with pytest.raises(ValueError, match="budget must be at least the number of classes, 3"):
        learnt(dicts(60, classes=3), budget=2)


def test_without_river_one_sentence_says_what_to_install() -> None:
    code = "import sys; sys.modules['river'] = None; import widemargin.river"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "pip install widemargin[river]" in said

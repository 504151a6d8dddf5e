"""SVC and NuSVC with the parameter `probability`, as scikit-learn has it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from widemargin import SVC, NuSVC, compress, load_model, save_model

MODELS: list[Any] = [SVC, NuSVC]


def noisy(n_classes: int = 2, n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.2, random_state=seed
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["slope", "platt"])
@pytest.mark.parametrize("model", MODELS)
def test_it_is_calibration_by_folds(model: Any, method: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    asked = model(probability=True, calibration_method=method).fit(X, y)
    p = asked.predict_proba(X)
    np.testing.assert_array_equal(p, model(calibration="folds", calibration_method=method).fit(X, y).predict_proba(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(asked.classes_[p.argmax(axis=1)], asked.predict(X))
    np.testing.assert_array_equal(asked.predict_log_proba(X), np.log(p))
    np.testing.assert_array_equal(asked.decision_function(X), model().fit(X, y).decision_function(X))


@pytest.mark.parametrize("model", MODELS)
def test_methods_come_and_go_with_it(model: Any) -> None:
    X, y = noisy()
    for asked in (model(probability=True), model(probability=True).fit(X, y)):
        assert hasattr(asked, "predict_proba")
        assert hasattr(asked, "predict_log_proba")
        assert hasattr(clone(asked), "predict_proba")
    plain = model().fit(X, y)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "predict_log_proba")
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        plain.set_params(probability=True).predict_proba(X)
    with pytest.raises(NotFittedError):
        model(probability=True).predict_proba(X)
    with pytest.raises(ValueError, match="probability must be True or False; got 'yes'"):
        model(probability="yes").fit(X, y)


@pytest.mark.parametrize("model", MODELS)
def test_the_message_says_how_to_get_probabilities(model: Any) -> None:
    X, y = noisy()
    with pytest.raises(AttributeError, match=rf"pass {model.__name__}\(probability=True\) and fit again"):
        model().fit(X, y).predict_proba(X)
    with pytest.raises(AttributeError) as raised:  # scikit-learn's pipeline gives ours as the cause of its own
        make_pipeline(StandardScaler(), model()).fit(X, y).predict_proba(X)
    assert "(probability=True) and fit again" in str(raised.value.__cause__)


def test_from_search_is_offered_where_there_is_such_a_thing() -> None:
    with pytest.raises(AttributeError, match="calibration='from-search' in a search"):
        SVC().predict_proba  # noqa: B018
    with pytest.raises(AttributeError, match=r"fit again\.$"):
        NuSVC().predict_proba  # noqa: B018
    with pytest.raises(ValueError, match="calibration must be one of None, 'folds'; got 'from-search'"):
        NuSVC(calibration="from-search").fit(*noisy())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("ours", "theirs"), [(SVC, sklearn.svm.SVC), (NuSVC, sklearn.svm.NuSVC)], ids=["SVC", "NuSVC"])
@pytest.mark.filterwarnings("ignore:.*was deprecated:FutureWarning")
def test_lines_are_near_those_of_scikit_learn(ours: Any, theirs: Any, n_classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes] + 0.5 * np.random.default_rng(0).normal(size=X.shape)[y < n_classes], y[y < n_classes]
    parameters = {"nu": 0.3} if ours is NuSVC else {}
    model = ours(probability=True, calibration_method="platt", **parameters).fit(X, y)
    other = theirs(probability=True, random_state=0, **parameters).fit(X, y)
    np.testing.assert_allclose(model.probA_, other.probA_, rtol=0.3)
    np.testing.assert_allclose(model.probB_, other.probB_, atol=0.3)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, other.predict_proba(X)) + 0.02
    if n_classes == 2:
        f = model.decision_function(X)
        expected = expit(-(model.probA_ * f - model.probB_))
        agreeing = (expected > 0.5) == (f > 0)
        np.testing.assert_allclose(model.predict_proba(X)[agreeing, 1], expected[agreeing])


@pytest.mark.parametrize("model", MODELS)
def test_lines_without_probabilities(model: Any) -> None:
    plain = model()
    with pytest.raises(AttributeError):
        plain.probA_  # noqa: B018
    plain.fit(*noisy())
    assert plain.probA_.shape == plain.probB_.shape == (0,)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_nu_are_those_of_the_same_model_with_C(n_classes: int) -> None:  # noqa: N802
    X, y = noisy(n_classes)
    model = NuSVC(nu=0.5, tol=1e-6, probability=True).fit(X, y)
    if n_classes == 2:
        C = float(np.abs(model.dual_coef_).max())
        same = SVC(C=C, tol=1e-6, probability=True).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-4)
    weighted = np.random.default_rng(0).integers(0, 3, size=len(y))
    by_weight = NuSVC(nu=0.4, tol=1e-6, probability=True).fit(X, y, weighted).predict_proba(X)
    repeated = NuSVC(nu=0.4, tol=1e-6, gamma="scale", probability=True).fit(
        np.repeat(X, weighted, axis=0), np.repeat(y, weighted)
    )
    np.testing.assert_allclose(by_weight, repeated.predict_proba(X), atol=1e-3)


def test_a_pair_without_a_margin_is_not_known() -> None:
    X, y = np.tile([[0.0], [1.0]], (10, 1)), np.repeat([0, 1], 10)
    with pytest.warns(ConvergenceWarning, match="too small for classes"):
        model = NuSVC(nu=0.1, probability=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_travel(model: Any, tmp_path: Path) -> None:
    X, y = noisy(3)
    fitted = model(probability=True).fit(X, y)
    save_model(fitted, tmp_path / "model.wm")
    for other in (load_model(tmp_path / "model.wm"), pickle.loads(pickle.dumps(fitted))):
        assert other.probability is True
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
    small = compress(fitted, n_vectors=50, X=X)
    assert np.abs(small.predict_proba(X) - fitted.predict_proba(X)).mean() < 0.1


@pytest.mark.parametrize("model", MODELS)
def test_others_find_probabilities(model: Any) -> None:
    X, y = noisy(3)
    asked = make_pipeline(StandardScaler(), model(probability=True))
    assert asked.fit(X, y).predict_proba(X).shape == (len(X), 3)
    vote = VotingClassifier([("a", asked), ("b", model(gamma=1.0, probability=True))], voting="soft").fit(X, y)
    assert vote.score(X, y) > 0.7
    partly = np.where(np.arange(len(y)) < 200, y, -1)
    assert SelfTrainingClassifier(model(probability=True)).fit(X, partly).score(X, y) > 0.7

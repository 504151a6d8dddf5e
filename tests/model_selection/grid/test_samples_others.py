"""Pipelines, samplers and subclasses of other people: a search gives the scores that scikit-learn's search gives."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from searches import check_cells, classifier, data
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, KernelCenterer, Normalizer, StandardScaler

from widemargin import SVC, GridSearchCV, NuSVC, OneClassSVM
from widemargin.kernels import Spectrum
from widemargin.model_selection.grid.grid_search import PlainSearchWarning

GRID = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.01, 0.1]}


def assert_same(estimator: Any, grid: Any, X: Any, y: Any, *, plain: bool = False, **how: Any) -> Any:
    """Raise AssertionError unless both searches give the same cells, ours with the work shared or not as expected."""
    fit, how = how.pop("fit", {}), {"cv": 3, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlainSearchWarning)
        ours = GridSearchCV(clone(estimator), grid, **how).fit(X, y, **fit)
    theirs = PlainGridSearchCV(clone(estimator), grid, **how).fit(X, y, **fit)
    assert ours.work_report_.counted is not plain
    check_cells(ours, theirs)
    if plain:
        for key in (key for key in theirs.cv_results_ if "_test_" in key):
            np.testing.assert_array_equal(ours.cv_results_[key], theirs.cv_results_[key], err_msg=key)
    return ours


class NoBase:
    """Knows fit and transform, and nothing else of scikit-learn."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def fit(self, X: Any, y: Any = None) -> NoBase:
        return self

    def transform(self, X: Any) -> Any:
        return self.factor * X

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"factor": self.factor}

    def set_params(self, **parameters: Any) -> NoBase:
        vars(self).update(parameters)
        return self


class NoState(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns nothing."""

    def fit(self, X: Any, y: Any = None) -> NoState:
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X) * 2.0


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(np.tanh),
        Normalizer(),
        NoBase(),
        NoState(),
        make_union(FunctionTransformer(np.tanh), NoState()),
        FeatureUnion([("a", NoBase()), ("b", "passthrough")]),
        "passthrough",
    ],
    ids=["function", "normalizer", "no base", "no state", "union", "union of all kinds", "passthrough"],
)
@pytest.mark.parametrize("first", [False, True])
def test_steps_without_a_state_before_the_model(step: Any, first: bool) -> None:
    X, y = data("two")
    steps = [("scaler", StandardScaler()), ("step", step)][not first :]
    assert_same(Pipeline([*steps, ("svc", classifier())]), GRID, X, y, return_train_score=True)


def test_pipelines_with_a_memory_use_it(tmp_path: Any) -> None:
    X, y = data("two")
    cached = Pipeline([("scaler", StandardScaler()), ("svc", classifier())], memory=str(tmp_path))
    assert_same(cached, GRID, X, y)
    assert any(tmp_path.rglob("*.pkl"))
    assert_same(cached, GRID, X, y, n_jobs=2)


def test_parameters_of_a_step_that_has_no_base() -> None:
    X, y = data("two")
    pipeline = Pipeline([("step", NoBase()), ("svc", classifier())])
    assert_same(pipeline, {**GRID, "step__factor": [1.0, 3.0]}, X, y)


def test_targets_reach_the_steps_as_they_were_given() -> None:
    class ByIndex(NoState):
        def fit(self, X: Any, y: Any = None) -> ByIndex:
            self.mean_ = float(y[y.index % 2 == 0].mean())
            return self

        def transform(self, X: Any) -> Any:
            return np.asarray(X) + self.mean_

    X, y = data("two")
    assert_same(Pipeline([("step", ByIndex()), ("svc", classifier())]), GRID, X, pd.Series(y))


def test_sequences_behind_steps() -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(60)]
    y = np.array([text.count("AC") > 1 for text in X]).astype(int)
    for samples in (X, np.array(X), pd.Series(X)):
        pipeline = Pipeline([("step", "passthrough"), ("svc", classifier(kernel=Spectrum(2)))])
        assert_same(pipeline, {"svc__C": [1.0, 10.0]}, samples, y)


class Encoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Tells training samples something else than others, as encoders do that fit in folds."""

    def fit(self, X: Any, y: Any = None) -> Encoder:
        self.fitted_ = True
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X, y).transform(X) + np.linspace(-1.0, 1.0, len(X))[:, np.newaxis]

    def transform(self, X: Any) -> Any:
        return np.array(X)


def test_steps_that_treat_training_samples_in_their_own_way() -> None:
    X, y = data("two")
    pipeline = Pipeline([("step", Encoder()), ("svc", classifier())])
    for scoring in ("accuracy", "roc_auc", ["accuracy", "f1"]):
        assert_same(pipeline, GRID, X, y, return_train_score=True, scoring=scoring, refit=isinstance(scoring, str))
    every = np.arange(len(y))
    assert_same(pipeline, GRID, X, y, cv=[(every, every), (every[::2], every[::3])])
    again = np.random.default_rng(0).integers(0, len(y), size=len(y))
    weights = 10.0 ** np.random.default_rng(1).uniform(-1, 1, size=len(y))
    folds = [(again, np.setdiff1d(every, again)), (again[::-1], np.setdiff1d(every, again))]
    assert_same(pipeline, GRID, X, y, cv=folds, return_train_score=True, fit={"svc__sample_weight": weights})


def test_folds_with_samples_of_their_own_start_from_nothing() -> None:
    X, y = data("two")
    pipeline, every = Pipeline([("step", Encoder()), ("svc", classifier())]), np.arange(len(y))
    search = GridSearchCV(pipeline, GRID, cv=[(every, every)], plan="learn")
    with pytest.raises(ValueError, match=r"^plan='learn' needs samples that all folds know"):
        search.fit(X, y)
    with pytest.raises(ValueError, match=r"^measure_costs needs samples that all folds know"):
        search.set_params(plan="heuristic").measure_costs(X, y)


def test_steps_of_the_grid_belong_to_one_fold() -> None:
    def looking(model: Any, X: Any, y: Any) -> float:
        return float(model.named_steps["scaler"].mean_[0] + np.mean(model.predict(X) == y))

    X, y = data("two")
    scaler = StandardScaler()
    pipeline = Pipeline([("scaler", "passthrough"), ("svc", classifier())])
    search = assert_same(pipeline, {**GRID, "scaler": [scaler]}, X, y, scoring=looking)
    assert not hasattr(scaler, "mean_")
    assert search.best_estimator_[0] is not scaler


class Dropping(NoState):
    """Loses samples on the way, which scikit-learn's pipelines do not know how to do."""

    def __init__(self, when: str = "fit") -> None:
        self.when = when

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return X[:-1] if self.when == "fit" else X

    def transform(self, X: Any) -> Any:
        return X if self.when == "fit" else X[:-1]


@pytest.mark.parametrize(("when", "words"), [("fit", "fitted on"), ("predict", "held out")])
def test_steps_that_lose_samples_fail(when: str, words: str) -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match=f"The steps before the model made .* samples of .*{words}"):
        GridSearchCV(make_pipeline(Dropping(when), SVC()), GRID, cv=3, error_score="raise").fit(X, y)


@pytest.mark.parametrize("kind", ["centerer", "kernel"])
def test_pipelines_of_kernel_matrices(kind: str) -> None:
    class Kernel(NoState):
        def fit(self, X: Any, y: Any = None) -> Kernel:
            self.samples_ = X
            return self

        def transform(self, X: Any) -> Any:
            return rbf_kernel(X, self.samples_, gamma=0.1)

    X, y = data("two")
    step, X = (KernelCenterer(), rbf_kernel(X, gamma=0.1)) if kind == "centerer" else (Kernel(), X)
    assert_same(make_pipeline(step, SVC(kernel="precomputed")), {"svc__C": [0.1, 1.0]}, X, y, plain=True)


class OwnScore(Pipeline):  # type: ignore[misc]
    def score(self, X: Any, y: Any = None, **parameters: Any) -> float:
        return 0.5


class OwnFit(Pipeline):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None, **parameters: Any) -> Any:
        return super().fit(X, np.roll(y, 1), **parameters)


class OwnPredictions(Pipeline):  # type: ignore[misc]
    def predict(self, X: Any, **parameters: Any) -> Any:
        return 1 - super().predict(X, **parameters)


@pytest.mark.parametrize("kind", [OwnScore, OwnFit, OwnPredictions])
@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_subclasses_of_pipeline_do_what_their_methods_say(kind: Any, scoring: Any) -> None:
    X, y = data("two")
    pipeline = kind([("scaler", StandardScaler()), ("svc", classifier())])
    assert_same(pipeline, GRID, X, y, plain=True, scoring=scoring)
    with pytest.warns(PlainSearchWarning, match=f"{kind.__name__} is a subclass of Pipeline"):
        GridSearchCV(pipeline, {"svc__C": [1.0]}, cv=3).fit(X, y)


class ScoredByItself(SVC):
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return 0.25


class PredictsItself(SVC):
    def predict(self, X: Any) -> Any:
        return np.ones(len(X), dtype=int)


class DecidesItself(SVC):
    def decision_function(self, X: Any) -> Any:
        return -super().decision_function(X)


class FitsItself(SVC):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, 1 - y, sample_weight)


class NamesItself(SVC):
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return super().get_params(deep=deep)


@pytest.mark.parametrize("kind", [ScoredByItself, PredictsItself, DecidesItself, FitsItself, NamesItself])
@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_subclasses_of_our_models_do_what_their_methods_say(kind: Any, scoring: Any) -> None:
    X, y = data("two")
    grid = {"C": [1.0, 10.0], "gamma": [0.05]}
    assert_same(kind(tol=1e-5), grid, X, y, plain=True, scoring=scoring)
    pipeline = Pipeline([("scaler", StandardScaler()), ("svc", kind(tol=1e-5))])
    assert_same(pipeline, {f"svc__{name}": values for name, values in grid.items()}, X, y, plain=True, scoring=scoring)


def test_a_one_class_model_with_a_score_is_judged_by_it() -> None:
    class Scored(OneClassSVM):
        def score(self, X: Any, y: Any = None) -> float:
            return float(self.nu)

    X, _ = data("two")
    search = assert_same(Scored(), {"nu": [0.1, 0.4, 0.2]}, X, None, plain=True)
    assert search.best_params_ == {"nu": 0.4}


# Samplers: a small pipeline of our own that resamples, and those of imbalanced-learn where it is installed.


class Resampling(Pipeline):  # type: ignore[misc]
    """Steps with ``fit_resample`` change samples and targets in a fit, and are passed by in predictions."""

    def fit(self, X: Any, y: Any = None, **parameters: Any) -> Any:
        for _, step in self.steps[:-1]:
            if hasattr(step, "fit_resample"):
                X, y = step.fit_resample(X, y)
            else:
                X = step.fit_transform(X, y)
        self.steps[-1][1].fit(X, y, **{name.partition("__")[2]: value for name, value in parameters.items()})
        return self

    def _seen(self, X: Any) -> Any:
        for _, step in self.steps[:-1]:
            X = X if hasattr(step, "fit_resample") else step.transform(X)
        return X

    def predict(self, X: Any, **parameters: Any) -> Any:
        return self.steps[-1][1].predict(self._seen(X))

    def decision_function(self, X: Any, **parameters: Any) -> Any:
        return self.steps[-1][1].decision_function(self._seen(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **parameters: Any) -> float:
        return float(self.steps[-1][1].score(self._seen(X), y))


class Sampler(BaseEstimator):  # type: ignore[misc]
    """As many samples of each class, or more or fewer of all, and somewhat moved."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def fit(self, X: Any, y: Any = None) -> Sampler:
        return self

    def fit_resample(self, X: Any, y: Any) -> Any:
        rng, classes = np.random.default_rng(0), np.unique(y)
        n = int(self.factor * len(y) / len(classes))
        chosen = np.concatenate([rng.choice(np.flatnonzero(y == label), n) for label in classes])
        return X[chosen] + 0.05 * rng.normal(size=(len(chosen), X.shape[1])), y[chosen]


@pytest.fixture(params=["plain", "shared"])
def shared(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the small pipeline is taken for that of imbalanced-learn."""
    if request.param == "shared":
        monkeypatch.setitem(sys.modules, "imblearn.pipeline", SimpleNamespace(Pipeline=Resampling))
    return bool(request.param == "shared")


def uneven(classes: int = 2) -> tuple[Any, Any]:
    weights = [0.9, 0.1] if classes == 2 else [0.7, 0.2, 0.1]
    return make_classification(
        240, 5, n_informative=4, n_redundant=0, n_classes=classes, weights=weights, class_sep=0.8, random_state=2
    )


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.7])
def test_samplers(shared: bool, factor: float) -> None:
    X, y = uneven()
    pipeline = Resampling([("sampler", Sampler(factor)), ("scaler", StandardScaler()), ("svc", classifier())])
    for scoring in ("f1", "roc_auc", None):
        how: dict[str, Any] = {"scoring": scoring, "return_train_score": True, "plain": not shared}
        assert_same(pipeline, GRID, X, y, **how)
    assert_same(pipeline, {**GRID, "sampler__factor": [0.5, 1.5]}, X, y, scoring="f1", plain=not shared)


@pytest.mark.parametrize("machine", [{"loss": "squared_hinge"}, {"multi_class": "ovr"}, {}], ids=str)
def test_samplers_of_several_classes(shared: bool, machine: Any) -> None:
    X, y = uneven(3)
    y = np.array(["few", "many", "some"])[y]
    pipeline = Resampling([("scaler", StandardScaler()), ("sampler", Sampler()), ("svc", classifier(**machine))])
    assert_same(pipeline, GRID, X, y, scoring="f1_macro", cv=4, return_train_score=True, plain=not shared)


def test_a_scorer_that_looks_at_what_samplers_have_made(shared: bool) -> None:
    def looking(model: Any, X: Any, y: Any) -> float:
        assert type(model) is Resampling
        svc = model.steps[-1][1]
        return float(np.mean(model.predict(X) == y) + 1e-3 * svc.shape_fit_[0] + svc.class_weight_.sum())

    X, y = uneven()
    pipeline = Resampling([("sampler", Sampler(1.3)), ("svc", classifier(class_weight="balanced"))])
    assert_same(pipeline, GRID, X, y, scoring=looking, plain=not shared)


def test_probabilities_from_a_search_with_samplers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imblearn.pipeline", SimpleNamespace(Pipeline=Resampling))
    X, y = uneven()
    pipeline = Resampling([("sampler", Sampler()), ("svc", SVC(calibration="from-search"))])
    search = GridSearchCV(pipeline, GRID, cv=3, scoring="f1").fit(X, y)
    chosen = search.best_estimator_.steps[-1][1].predict_proba(X)
    assert np.mean((chosen[:, 1] > 0.5) == search.predict(X)) > 0.99


def test_samplers_of_imbalanced_learn() -> None:
    imblearn = pytest.importorskip("imblearn")
    pytest.importorskip("imblearn.pipeline")
    make, over, under = imblearn.pipeline.make_pipeline, imblearn.over_sampling, imblearn.under_sampling
    X, y = make_classification(300, 8, n_informative=4, flip_y=0.02, weights=[0.9], class_sep=0.7, random_state=1)
    smote = make(over.SMOTE(random_state=0), StandardScaler(), classifier())
    for scoring in ("f1", "roc_auc"):
        assert_same(smote, GRID, X, y, scoring=scoring, return_train_score=True)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert_same(smote, GRID, frame, pd.Series(y, name="target"), scoring="f1")
    for sampler in (under.RandomUnderSampler(random_state=0), under.EditedNearestNeighbours()):
        assert_same(make(StandardScaler(), sampler, classifier()), GRID, X, y, scoring="balanced_accuracy")
    grid = {**GRID, "smote": [over.SMOTE(random_state=0), over.RandomOverSampler(random_state=1), "passthrough"]}
    assert_same(smote, grid, X, y, scoring="f1")
    assert_same(smote, {**GRID, "smote__k_neighbors": [2, 5]}, X, y, scoring="f1")
    assert_same(make(StandardScaler(), classifier()), GRID, X, y, scoring="f1")
    other = make(over.SMOTE(random_state=0), NuSVC(tol=1e-5))
    assert_same(other, {"nusvc__nu": [0.1, 0.3]}, X, y, scoring="f1")
    X, y = load_iris(return_X_y=True)
    some = np.r_[0:50, 50:70, 100:130]
    several = make(over.RandomOverSampler(random_state=0), StandardScaler(), classifier())
    assert_same(several, GRID, X[some], np.array(["a", "b", "c"])[y[some]], scoring="f1_macro")


def test_samplers_on_threads(shared: bool) -> None:
    X, y = uneven()
    pipeline = Resampling([("sampler", Sampler(1.3)), ("svc", classifier())])
    assert_same(pipeline, GRID, X, y, scoring="f1", n_jobs=2, plain=not shared)

"""What cannot work is refused before the first fit, in one sentence that names what would."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform
from searches import data
from sklearn import svm
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin import SVC, SVR, GridSearchCV, NuSVC, OneClassSVM
from widemargin.kernels import Gaussian, Spectrum
from widemargin.model_selection.grid.grid_search import PlainSearchWarning

GRID = {"C": [1.0, 10.0]}


def refusal(estimator: Any, grid: Any, X: Any, y: Any, kind: type[Exception] = ValueError, **how: Any) -> str:
    """The one sentence of the error that a search raises, without a warning of fits or scores that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PlainSearchWarning)
        with pytest.raises(kind) as raised:
            GridSearchCV(estimator, grid, **{"cv": 3, **how}).fit(X, y)
    words = str(raised.value)
    assert "\n" not in words
    assert "Traceback" not in words
    return words


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
@pytest.mark.parametrize("model", [SVC(), NuSVC(), make_pipeline(StandardScaler(), SVC())], ids=["C", "nu", "pipeline"])
def test_probabilities_that_no_candidate_has(scoring: str, model: Any) -> None:
    X, y = data("two")
    words = refusal(model, {}, X, y, scoring=scoring)
    assert "needs predict_proba, and no candidate of" in words
    if not isinstance(model, NuSVC):
        assert words.endswith("pass SVC(calibration='folds').")


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.grid.grid_search.PlainSearchWarning")
@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the test scores are non-finite")
def test_candidates_with_probabilities_are_searched_and_others_never_chosen() -> None:
    X, y = data("two")
    grid = {"C": [1.0, 0.1], "calibration": [None, "folds"]}
    search = GridSearchCV(SVC(), grid, cv=3, scoring="neg_log_loss").fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert np.isnan(means).tolist() == [True, False, True, False]
    assert search.best_params_["calibration"] == "folds"
    assert search.best_score_ == np.nanmax(means)
    assert search.cv_results_["rank_test_score"][[0, 2]].tolist() == [3, 3]


def test_a_metric_of_several_that_no_candidate_can_have() -> None:
    X, y = data("two")
    words = refusal(SVC(), GRID, X, y, scoring=["accuracy", "neg_log_loss"], refit="accuracy")
    assert words.startswith("scoring='neg_log_loss' needs predict_proba")


def test_decision_values_of_a_regressor() -> None:
    X, y = data("friedman")
    words = refusal(SVR(), GRID, X, y, scoring="roc_auc")
    assert words == (
        "scoring='roc_auc' needs decision_function or predict_proba, and no candidate of SVR has such a method; pass "
        "another scoring."
    )


@pytest.mark.parametrize(
    ("scoring", "remedy"),
    [
        ("roc_auc", "pass scoring='roc_auc_ovr', which needs SVC(calibration='folds')."),
        ("f1", "pass scoring='f1_macro', say."),
        ("precision", "pass scoring='precision_macro', say."),
        ("jaccard", "pass scoring='jaccard_macro', say."),
        (make_scorer(fbeta_score, beta=2), "pass make_scorer(fbeta_score, average='macro')."),
    ],
)
def test_scores_of_two_classes_where_there_are_three(scoring: Any, remedy: str) -> None:
    X, y = data("three")
    words = refusal(SVC(), GRID, X, y, scoring=scoring)
    assert "cannot score these targets" in words
    assert words.endswith(remedy)


def test_scores_of_a_class_that_is_not_there() -> None:
    X, y = data("two")
    words = refusal(SVC(), GRID, X, np.array(["no", "yes"])[y], scoring="f1")
    assert words.endswith("one of ['no' 'yes']); pass make_scorer(f1_score, pos_label=...), say, with one of them.")
    GridSearchCV(SVC(), GRID, cv=3, scoring=make_scorer(fbeta_score, beta=1, pos_label="yes")).fit(
        X, np.array(["no", "yes"])[y]
    )


def test_scorers_of_other_people_are_never_judged() -> None:
    def fussy(truth: Any, predicted: Any) -> float:
        if np.array_equal(truth, predicted):
            raise ValueError("too good to be true")
        return float(np.mean(truth == predicted))

    X, y = data("two")
    assert GridSearchCV(SVC(), GRID, cv=3, scoring=make_scorer(fussy)).fit(X, y).best_score_ > 0.5


def test_a_fold_that_trains_on_one_class() -> None:
    X, y = data("two")
    order = np.argsort(y, kind="stable")
    for model in (SVC(), make_pipeline(StandardScaler(), SVC())):
        words = refusal(model, {}, X[order], y[order], cv=KFold(2))
        assert words == (
            "The training part of a fold must hold at least two classes; that of fold 1 of cv holds 0 only; pass "
            "cv=StratifiedKFold(shuffle=True), say, or other folds."
        )
    with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 4"):
        GridSearchCV(SVC(), GRID, cv=KFold(2), error_score=0.0).fit(X[order], y[order])


def test_a_fold_that_tests_on_one_class() -> None:
    X, y = data("two")
    ones = np.flatnonzero(y == 1)
    cv = [(np.arange(0, 120, 2), np.arange(1, 120, 2)), (np.setdiff1d(np.arange(120), ones[:9]), ones[:9])]
    words = refusal(SVC(), GRID, X, y, scoring="roc_auc", cv=cv)
    assert words.startswith("scoring='roc_auc' has no value on fold 1 of cv, which tests on samples of 1 class only")
    several = GridSearchCV(SVC(), GRID, scoring=["accuracy", "roc_auc"], refit="accuracy", cv=cv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = several.fit(X, y).cv_results_
    assert np.isnan(means["mean_test_roc_auc"]).all()
    assert np.isfinite(means["mean_test_accuracy"]).all()


def test_folds_of_one_sample() -> None:
    X, y = data("friedman")
    words = refusal(SVR(), GRID, X[:20], y[:20], cv=LeaveOneOut())
    assert words.startswith(
        "scoring=None (the model's own score) has no value on fold 0 of cv, which tests on 1 sample"
    )
    GridSearchCV(SVR(), GRID, cv=LeaveOneOut(), scoring="neg_mean_absolute_error").fit(X[:20], y[:20])
    X, y = data("two")
    GridSearchCV(SVC(), GRID, cv=LeaveOneOut()).fit(X[:20], y[:20])


@pytest.mark.parametrize("model", [SVC(), NuSVC(), SVC(solver="smo"), make_pipeline(StandardScaler(), SVC())], ids=str)
def test_targets_of_one_class(model: Any) -> None:
    X, _ = data("two")
    words = refusal(model, {}, X, np.full(len(X), "same"))
    assert words == "y must hold at least two classes; got 1 class, 'same', in all 120 samples."


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("model", [SVC(), SVC(solver="smo")], ids=["shared", "plain"])
@pytest.mark.filterwarnings("ignore::widemargin.model_selection.grid.grid_search.PlainSearchWarning")
def test_nothing_is_chosen_where_nothing_has_a_score(model: Any) -> None:
    def hopeless(model: Any, X: Any, y: Any) -> float:
        return float("nan")

    X, y = data("two")
    for refit in (True, False):
        search = GridSearchCV(model, GRID, cv=3, scoring=hopeless, refit=refit)
        with pytest.raises(ValueError, match=r"^No candidate has a score on every fold \(on fold 0, 1, 2 "):
            search.fit(X, y)
        assert not hasattr(search, "best_score_")
        assert not hasattr(search, "best_estimator_")
    chosen = GridSearchCV(model, GRID, cv=3, scoring=hopeless, refit=lambda results: 1).fit(X, y)
    assert chosen.best_index_ == 1


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_models_of_scikit_learn_are_chosen_as_scikit_learn_does() -> None:
    X, y = data("two")
    search = GridSearchCV(svm.SVC(), GRID, cv=3, scoring=lambda model, X, y: float("nan"))
    with pytest.warns(PlainSearchWarning):
        assert search.fit(X, y).best_index_ == 0


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_numbers_that_are_none_are_never_the_best() -> None:
    def sometimes(model: Any, X: Any, y: Any) -> float:
        return float("nan") if model.C == 1.0 else -model.C

    X, y = data("two")
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0, 5.0]}, cv=3, scoring=sometimes).fit(X, y)
    assert search.best_params_ == {"C": 5.0}
    assert search.cv_results_["rank_test_score"].tolist() == [3, 2, 1]


def test_values_that_are_no_list() -> None:
    X, y = data("two")
    words = refusal(SVC(), {"C": 1}, X, y, TypeError)
    assert "'C' needs to be a list" in words
    for grid in ({"C": loguniform(1e-3, 1e3)}, [{"C": [1.0]}, {"C": loguniform(1e-3, 1e3)}]):
        words = refusal(SVC(), grid, X, y, TypeError)
        assert words.startswith("param_grid: 'C' is a distribution, and a grid needs a list of its values")
    with pytest.raises((TypeError, ValueError)):
        GridSearchCV(SVC(), {"C": []}).fit(X, y)
    with pytest.raises(TypeError, match=r"dict|list"):
        GridSearchCV(SVC(), 3.0).fit(X, y)


@pytest.mark.parametrize("model", [SVC(), SVC(solver="smo")], ids=["shared", "plain"])
def test_names_without_their_step(model: Any) -> None:
    X, y = data("two")
    pipeline = Pipeline([("scaler", StandardScaler()), ("svc", model)])
    words = refusal(pipeline, {"C": [1.0]}, X, y)
    assert words == "param_grid names 'C', which is no parameter of the Pipeline; did you mean 'svc__C'?"
    assert "did you mean 'gamma'?" in refusal(model, {"gama": [1.0]}, X, y)
    assert "svm__C" in refusal(pipeline, {"svm__C": [1.0]}, X, y)
    assert "prize" in refusal(pipeline, {"scaler__prize": [1.0]}, X, y)
    assert "prize" in refusal(pipeline, {"svc__prize": [1.0]}, X, y)


def test_names_that_the_grid_brings_itself() -> None:
    X, y = data("two")
    pipeline = Pipeline([("step", "passthrough"), ("svc", SVC())])
    grid: Any = {"step": [PCA(random_state=0)], "step__n_components": [2, 3], "svc__C": [1.0]}
    assert GridSearchCV(pipeline, grid, cv=3).fit(X, y).best_params_["step__n_components"] in (2, 3)
    grid = [{"step": [MinMaxScaler()]}, {"svc__kernel": [Gaussian(gamma=0.1)], "svc__kernel__gamma": [0.1, 0.2]}]
    assert len(GridSearchCV(pipeline, grid, cv=3).fit(X, y).cv_results_["params"]) == 3


def test_many_folds_are_looked_at_in_no_time() -> None:
    X, y = data("two")
    folds = [(np.delete(np.arange(120), n), np.array([n])) for n in range(120)]
    search = GridSearchCV(SVC(), {"C": [1.0]}, cv=folds, scoring="f1_macro").fit(X, y)
    assert search.n_splits_ == 120


def test_models_of_one_class_and_sequences_have_no_such_targets() -> None:
    X, _ = data("two")
    GridSearchCV(OneClassSVM(), {"nu": [0.1, 0.2]}, cv=3).fit(X)
    texts, y = ["ACGT", "TTAC", "ACGG", "GTTA"] * 6, [0, 1, 0, 1] * 6
    GridSearchCV(SVC(kernel=Spectrum(2)), GRID, cv=StratifiedKFold(3)).fit(texts, y)


def test_subclasses_may_know_what_to_make_of_one_class() -> None:
    class Constant(SVC):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> Any:
            return np.full(len(X), self.classes_[0])

    X, _ = data("two")
    with pytest.warns(PlainSearchWarning):
        assert GridSearchCV(Constant(), GRID, cv=3).fit(X, np.ones(len(X))).best_score_ == 1.0

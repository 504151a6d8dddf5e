"""Packages that use support vector machines: the same program on scikit-learn's classes and on ours.

A client is a function of a namespace with ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM`` and ``GridSearchCV``;
it returns numbers: scores, probabilities, predictions. What it returns for both has to agree within its tolerance.
Packages that are not installed are said so: ``pip install -e ".[outside]"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import sklearn.model_selection
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin

Classes = Any
Client = Callable[[Classes], Any]

NAMES = "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"
THEIRS = SimpleNamespace(
    **{name: getattr(sklearn.svm, name) for name in NAMES}, GridSearchCV=sklearn.model_selection.GridSearchCV
)
OURS = SimpleNamespace(**{name: getattr(widemargin, name) for name in NAMES}, GridSearchCV=widemargin.GridSearchCV)


class Entry(NamedTuple):
    """A client, and how far its numbers may be apart."""

    run: Client
    tolerance: float


CLIENTS: dict[str, Entry] = {}

#: Clients that may differ, and why.
EXPECTED: dict[str, str] = {}


def client(tolerance: float = 0.0) -> Callable[[Client], Client]:
    """Add a client; its name is that of the package and what is done with it."""

    def add(run: Client) -> Client:
        CLIENTS[run.__name__] = Entry(run, tolerance)
        return run

    return add


def unbalanced() -> tuple[Any, Any]:
    return make_classification(400, 8, weights=[0.9], flip_y=0.05, random_state=0)


def halves(X: Any, y: Any) -> Sequence[Any]:
    return train_test_split(X, y, random_state=0, stratify=y)


@client(0.01)
def imblearn_smote_in_a_search(svm: Classes) -> Any:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline as pipeline_of

    pipeline = pipeline_of(SMOTE(random_state=0), StandardScaler(), svm.SVC())
    grid = {"svc__C": [0.1, 1, 10], "svc__gamma": [0.01, 0.1]}
    return svm.GridSearchCV(pipeline, grid, scoring="f1", cv=3).fit(*unbalanced()).cv_results_["mean_test_score"]


@client(0.01)
def imblearn_rows_dropped_in_a_search(svm: Classes) -> Any:
    from imblearn.pipeline import make_pipeline as pipeline_of
    from imblearn.under_sampling import RandomUnderSampler

    pipeline = pipeline_of(StandardScaler(), RandomUnderSampler(random_state=0), svm.SVC())
    return svm.GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10]}, scoring="f1", cv=3).fit(*unbalanced()).best_score_


@client(0.02)
def imblearn_svm_smote(svm: Classes) -> Any:
    from imblearn.over_sampling import SVMSMOTE

    X, y = SVMSMOTE(svm_estimator=svm.SVC(), random_state=0).fit_resample(*unbalanced())
    return [len(y), y.mean(), X.mean()]


@client(0.05)
def imblearn_instance_hardness(svm: Classes) -> Any:
    from imblearn.under_sampling import InstanceHardnessThreshold

    _, y = InstanceHardnessThreshold(estimator=svm.SVC(probability=True), random_state=0).fit_resample(*unbalanced())
    return len(y) / 400


@client(0.02)
def imblearn_balanced_bagging(svm: Classes) -> Any:
    from imblearn.ensemble import BalancedBaggingClassifier

    X, y = unbalanced()
    return BalancedBaggingClassifier(svm.SVC(), random_state=0).fit(X, y).score(X, y)


@client(0.05)
def tslearn_time_series_svc(svm: Classes) -> Any:
    import tslearn.svm.svm as module
    from tslearn.svm import TimeSeriesSVC

    module.SVC = svm.SVC
    X = np.random.default_rng(0).normal(size=(40, 20, 1)).cumsum(axis=1)
    y = (X[:, -1, 0] > 0).astype(int)
    model = TimeSeriesSVC(kernel="gak", gamma=1.0, probability=True).fit(X, y)
    return [model.score(X, y), model.predict_proba(X).shape[1]]


@client(0.05)
def tslearn_time_series_svr(svm: Classes) -> Any:
    import tslearn.svm.svm as module
    from tslearn.svm import TimeSeriesSVR

    module.SVR = svm.SVR
    X = np.random.default_rng(0).normal(size=(40, 20, 1)).cumsum(axis=1)
    return TimeSeriesSVR(kernel="gak", gamma=1.0).fit(X, X[:, -1, 0]).score(X, X[:, -1, 0])


@client(0.05)
def modal_active_learner(svm: Classes) -> Any:
    from modAL.models import ActiveLearner

    X, y = load_iris(return_X_y=True)
    learner = ActiveLearner(svm.SVC(probability=True, random_state=0), X_training=X[::10], y_training=y[::10])
    for _ in range(10):
        index, _ = learner.query(X)
        learner.teach(X[index], y[index])
    return learner.score(X, y)


@client(0.06)
def mapie_split_conformal(svm: Classes) -> Any:
    from mapie.classification import SplitConformalClassifier

    X, X_test, y, y_test = halves(*load_iris(return_X_y=True))
    model = SplitConformalClassifier(svm.SVC(probability=True).fit(X, y), confidence_level=0.9, prefit=True)
    _, sets = model.conformalize(X_test, y_test).predict_set(X_test)
    return sets.mean()


@client(0.05)
def mapie_regression(svm: Classes) -> Any:
    from mapie.regression import CrossConformalRegressor

    X, y = load_diabetes(return_X_y=True)
    model = CrossConformalRegressor(make_pipeline(StandardScaler(), svm.SVR(C=100.0)), confidence_level=0.9, cv=3)
    _, bounds = model.fit_conformalize(X, y).predict_interval(X)
    return np.mean((bounds[:, 0, 0] <= y) & (y <= bounds[:, 1, 0]))


@client(0.05)
def shap_kernel_explainer(svm: Classes) -> Any:
    import shap

    X, y = load_iris(return_X_y=True)
    model = svm.SVC(probability=True, random_state=0).fit(X, y)
    return shap.KernelExplainer(model.predict_proba, X[::15], silent=True).shap_values(X[:2], nsamples=40, silent=True)


@client(0.1)
def lime_tabular(svm: Classes) -> Any:
    from lime.lime_tabular import LimeTabularExplainer

    X, y = load_iris(return_X_y=True)
    model = svm.SVC(probability=True, random_state=0).fit(X, y)
    explained = LimeTabularExplainer(X, random_state=0).explain_instance(X[0], model.predict_proba, num_features=4)
    return [weight for _, weight in sorted(explained.as_list())]


@client(0.03)
def dalex_explainer(svm: Classes) -> Any:
    import dalex

    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), svm.SVC(probability=True, random_state=0)).fit(X, y)
    return dalex.Explainer(model, X, y, verbose=False).model_performance().result["auc"].item()


@client(0.1)
def venn_abers_probabilities(svm: Classes) -> Any:
    from venn_abers import VennAbersCalibrator

    X, X_test, y, _ = halves(*load_breast_cancer(return_X_y=True))
    model = VennAbersCalibrator(estimator=svm.SVC(probability=True), inductive=True, cal_size=0.3, random_state=0)
    model.fit(X, y)
    return model.predict_proba(X_test).mean(axis=0)


@client(0.1)
def crepes_classifier(svm: Classes) -> Any:
    from crepes import WrapClassifier

    X, X_test, y, y_test = halves(*load_iris(return_X_y=True))
    model = WrapClassifier(svm.SVC(probability=True))
    model.fit(X, y)
    model.calibrate(X_test, y_test)
    return np.mean([len(labels) for labels in model.predict_set(X_test)])


@client(0.02)
def mlxtend_sequential_selection(svm: Classes) -> Any:
    from mlxtend.feature_selection import SequentialFeatureSelector

    X, y = load_iris(return_X_y=True)
    return SequentialFeatureSelector(svm.SVC(), k_features=2, cv=3).fit(X, y).k_score_


@client(0.02)
def mlxtend_stacking(svm: Classes) -> Any:
    from mlxtend.classifier import StackingCVClassifier
    from sklearn.linear_model import LogisticRegression

    X, y = load_iris(return_X_y=True)
    models = [svm.SVC(probability=True, random_state=0), svm.NuSVC(nu=0.2, probability=True, random_state=0)]
    stack = StackingCVClassifier(models, LogisticRegression(), use_probas=True, random_state=0)
    return stack.fit(X, y).score(X, y)


@client(0.02)
def optuna_search(svm: Classes) -> Any:
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna_integration import OptunaSearchCV

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {"C": FloatDistribution(0.1, 10.0, log=True), "gamma": FloatDistribution(0.01, 1.0, log=True)}
    sampler = {"random_state": 0, "n_trials": 8, "cv": 3}
    return OptunaSearchCV(svm.SVC(), space, **sampler).fit(*load_iris(return_X_y=True)).best_score_


@client(0.02)
def dask_ml_incremental_search(svm: Classes) -> Any:
    from dask_ml.model_selection import GridSearchCV

    X, y = load_iris(return_X_y=True)
    return GridSearchCV(svm.SVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, cv=3).fit(X, y).best_score_


@client(0.02)
def dask_ml_parallel_post_fit(svm: Classes) -> Any:
    import dask.array as da
    from dask_ml.wrappers import ParallelPostFit

    X, y = load_iris(return_X_y=True)
    return (ParallelPostFit(svm.SVC()).fit(X, y).predict(da.from_array(X, chunks=(50, 4))).compute() == y).mean()


@client(0.02)
def skrub_table_vectorizer(svm: Classes) -> Any:
    import pandas as pd
    from skrub import TableVectorizer

    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 5.5, "long", "short"))
    pipeline = make_pipeline(TableVectorizer(), StandardScaler(), svm.SVC())
    return svm.GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10]}, cv=3).fit(frame, y).cv_results_["mean_test_score"]


@client(0.02)
def feature_engine_in_a_search(svm: Classes) -> Any:
    import pandas as pd
    from feature_engine.discretisation import EqualFrequencyDiscretiser
    from feature_engine.selection import DropCorrelatedFeatures

    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(DropCorrelatedFeatures(threshold=0.95), EqualFrequencyDiscretiser(q=8), svm.SVC())
    return svm.GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10]}, cv=3).fit(frame, y).cv_results_["mean_test_score"]


@client(0.02)
def category_encoders_in_a_search(svm: Classes) -> Any:
    import pandas as pd
    from category_encoders import TargetEncoder

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("abcde"), 300), "size": rng.normal(size=300)})
    y = (frame["city"].isin(["a", "b"]) ^ (rng.uniform(size=300) < 0.1)).astype(int)
    pipeline = make_pipeline(TargetEncoder(), StandardScaler(), svm.SVC())
    return svm.GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10]}, cv=3).fit(frame, y).cv_results_["mean_test_score"]


@client(0.02)
def scikit_lego_thresholder(svm: Classes) -> Any:
    from sklego.meta import Thresholder

    X, y = unbalanced()
    return Thresholder(svm.SVC(probability=True, random_state=0), threshold=0.3).fit(X, y).score(X, y)


@client(0.0)
def skops_files(svm: Classes) -> Any:
    import skops.io

    X, y = load_iris(return_X_y=True)
    data = skops.io.dumps(make_pipeline(StandardScaler(), svm.SVC()).fit(X, y))
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data)).predict(X)


@client(0.02)
def sklearn_soft_voting(svm: Classes) -> Any:
    from sklearn.ensemble import VotingClassifier

    X, y = load_iris(return_X_y=True)
    models = [("a", svm.SVC(probability=True, random_state=0)), ("b", svm.NuSVC(nu=0.2, probability=True))]
    return VotingClassifier(models, voting="soft").fit(X, y).score(X, y)


@client(0.02)
def sklearn_self_training(svm: Classes) -> Any:
    from sklearn.semi_supervised import SelfTrainingClassifier

    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    return SelfTrainingClassifier(svm.SVC(probability=True, random_state=0)).fit(X, few).score(X, y)


@client(0.01)
def sklearn_subclass_with_its_own_score(svm: Classes) -> Any:
    class Half(svm.SVC):  # type: ignore[misc]
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            return 0.5

    return svm.GridSearchCV(Half(), {"C": [0.1, 1.0]}, cv=3).fit(*load_iris(return_X_y=True)).best_score_


@client(0.01)
def sklearn_calibrated_cross_validation(svm: Classes) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(svm.SVC(), cv=3))
    return cross_val_score(model, X, y, cv=3, scoring="neg_log_loss")


@client(0.01)
def sklearn_stacked_regressors(svm: Classes) -> Any:
    from sklearn.ensemble import StackingRegressor

    X, y = load_diabetes(return_X_y=True)
    models = [("a", svm.SVR(C=100.0)), ("b", svm.NuSVR(C=100.0))]
    stack = make_pipeline(StandardScaler(), StackingRegressor(models))
    return cross_val_score(stack, X, y, cv=3)


def _numbers(run: Client, classes: Classes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.atleast_1d(np.asarray(run(classes), dtype=np.float64))


def compared(name: str) -> tuple[str, str]:
    """Run a client on both; return "same", "differs", "both fail" or "not installed", and what is to be said of it."""
    run, tolerance = CLIENTS[name]
    try:
        theirs = _numbers(run, THEIRS)
    except ModuleNotFoundError as error:
        return "not installed", str(error)
    except Exception as error:  # it does not work with scikit-learn's classes
        return "both fail", f"{type(error).__name__}: {error}"
    try:
        ours = _numbers(run, OURS)
    except Exception as error:
        return "differs", f"{type(error).__name__}: {error}"
    if ours.shape != theirs.shape:
        return "differs", f"shapes {ours.shape} and {theirs.shape}"
    apart = float(np.abs(ours - theirs).max())
    return ("same" if apart <= tolerance + 1e-9 else "differs"), f"{apart:.3g} apart, {tolerance:g} allowed"


def clients(only: Sequence[str] | None = None) -> bool:
    """Compare clients, print a line each; return whether all is as expected."""
    fine = True
    for name in only or CLIENTS:
        verdict, said = compared(name)
        if verdict == "differs" and name in EXPECTED:
            verdict, said = "as expected", EXPECTED[name]
        elif verdict == "same" and name in EXPECTED:
            verdict, said = "UNEXPECTED", f"is the same, though it may differ ({EXPECTED[name]}): take it off the list"
        elif verdict == "differs":
            verdict = "UNEXPECTED"
        fine &= verdict != "UNEXPECTED"
        print(f"{verdict:14} {name}: {said.splitlines()[0][:200]}", flush=True)
    return fine

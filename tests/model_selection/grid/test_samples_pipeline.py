"""A search over pipelines: what comes before the machine is fitted on the training part of each split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from joblib import parallel_config
from searches import check_best, check_cells, classifier, data, peer, regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from widemargin import GridSearchCV
from widemargin.model_selection.grid.grid_search import PlainSearchWarning
from widemargin.study import JournalError

GRID = {"svc__C": [1.0, 10.0], "svc__gamma": [0.05, "scale"]}


def pipelines(*steps: Any, machine: Any = None) -> tuple[Pipeline, Pipeline]:
    """The same steps before our machine and before scikit-learn's."""
    machine = classifier() if machine is None else machine
    name = "svr" if hasattr(machine, "epsilon") else "svc"
    before = [(f"step{k}", step) for k, step in enumerate(steps)]
    return Pipeline([*before, (name, machine)]), Pipeline([*before, (name, peer(machine))])


def search_both(both: tuple[Pipeline, Pipeline], grid: Any, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
    fit = how.pop("fit", {})
    how = {"cv": 3, **how}
    ours = GridSearchCV(both[0], grid, **how).fit(X, y, **fit)
    theirs = PlainGridSearchCV(both[1], grid, **how).fit(X, y, **fit)
    check_cells(ours, theirs)
    return ours, theirs


@pytest.mark.parametrize("name", ["two", "three", "iris"])
def test_a_scaler_is_fitted_for_each_split(name: str) -> None:
    X, y = data(name)
    # A column that means something else in each part gives away who fitted the scaler on all samples.
    X = X * np.array([1e3, 1.0, 1e-3, 10.0, 1.0, 1.0])[: X.shape[1]] + np.arange(len(y))[:, None] / 50.0
    ours, theirs = search_both(pipelines(StandardScaler()), GRID, X, y, cv=ShuffleSplit(3, random_state=1))
    check_best(ours, theirs)
    if ours.best_params_ == theirs.best_params_:
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert isinstance(ours.best_estimator_, Pipeline)
    assert ours.work_report_.fits == 12


def test_train_scores() -> None:
    X, y = data("two")
    search_both(pipelines(StandardScaler()), GRID, X, y, return_train_score=True)


def test_regression() -> None:
    X, y = data("friedman")
    grid = {"svr__C": [0.1, 10.0], "svr__epsilon": [0.1, 0.5], "svr__gamma": [0.05]}
    search_both(pipelines(StandardScaler(), machine=regressor()), grid, X, y)


def test_parameters_of_the_scaler() -> None:
    X, y = data("three")
    grid = {**GRID, "step0__with_mean": [True, False], "step0__with_std": [True, False]}
    ours, theirs = search_both(pipelines(StandardScaler()), grid, 3.0 * X + 1.0, y)
    check_best(ours, theirs)


def test_steps_in_the_grid() -> None:
    X, y = data("two")
    grid = [
        {**GRID, "step0": [StandardScaler(), MinMaxScaler(), "passthrough", None]},
        {"step1__n_components": [2, 4], "svc__kernel": ["linear"], "svc__C": [0.1, 1.0]},
    ]
    search_both(pipelines(StandardScaler(), PCA(random_state=0)), grid, 3.0 * X + 1.0, y)


def test_steps_that_look_at_the_targets() -> None:
    rng = np.random.default_rng(0)
    X, y = data("two")
    X = np.hstack([X, rng.normal(size=(len(y), 40))])
    search_both(pipelines(SelectKBest(k=5)), {**GRID, "step0__k": [3, 10]}, X, y)


def test_a_pipeline_of_the_machine_alone() -> None:
    X, y = data("two")
    search_both(pipelines(), GRID, X, y)


def test_steps_that_pass_everything_through() -> None:
    X, y = data("two")
    search_both(pipelines("passthrough", None), GRID, X, y)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_kernels(kernel: str) -> None:
    X, y = data("two")
    machine = classifier(kernel=kernel, gamma=0.02, coef0=0.1)
    search_both(pipelines(StandardScaler(), machine=machine), {"svc__C": [0.1, 1.0]}, X, y)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows(form: Any) -> None:
    X, y = data("two")
    X = form(np.where(np.abs(X) < 0.5, 0.0, X))
    search_both(pipelines(MaxAbsScaler()), GRID, X, y, return_train_score=True)


def test_steps_that_make_sparse_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(90, 5)), rng.integers(0, 2, size=90)
    search_both(pipelines(OneHotEncoder(handle_unknown="ignore")), GRID, X, y)


def test_texts() -> None:
    rng = np.random.default_rng(0)
    words = np.array(["wide", "margin", "kernel", "vector", "support", "grid"])
    y = rng.integers(0, 2, size=60)
    texts = [" ".join(rng.choice(words[: 4 + 2 * label] if label else words[2:], size=6)) for label in y]
    search_both(pipelines(TfidfVectorizer()), GRID, texts, y)


def test_frames_with_columns_of_several_kinds() -> None:
    X, y = data("two")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = np.where(X[:, 0] > 0, "left", "right")
    frame.loc[::9, "a"] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), list("abcdef")),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        ]
    )
    ours, _ = search_both(pipelines(columns), GRID, frame, pd.Series(y, name="label"))
    assert ours.feature_names_in_.tolist() == [*"abcdef", "kind"]


def test_steps_that_return_frames() -> None:
    X, y = data("two")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    search_both(pipelines(StandardScaler().set_output(transform="pandas")), GRID, frame, y)


def test_transformed_rows_of_float32() -> None:
    X, y = data("two")
    search_both(pipelines(StandardScaler()), GRID, X.astype(np.float32), y)


def test_rows_of_neither_part_and_rows_that_are_repeated() -> None:
    X, y = data("two")
    splits = [(np.repeat(np.arange(0, 60), 2), np.arange(60, 90)), (np.arange(50, 120), np.arange(0, 120, 5))]
    search_both(pipelines(StandardScaler()), GRID, 3 * X + 1, y, cv=splits, return_train_score=True)


def test_a_row_in_both_parts_is_transformed_alike() -> None:
    X, y = data("three")
    splits = [(np.arange(0, 100), np.arange(50, 120))]
    search_both(pipelines(StandardScaler()), GRID, X, y, cv=splits)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_step_that_fails_in_one_split() -> None:
    class Fussy(StandardScaler):
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            if X[0, 0] == -777.0:
                raise ValueError("this row is not to be learnt from")
            return super().fit(X, y)

    X, y = data("two")
    X[0, 0] = -777.0
    ours, theirs = pipelines(Fussy())
    how: dict[str, Any] = {"cv": KFold(3), "refit": False}
    search = GridSearchCV(ours, GRID, **how)
    with (
        pytest.warns(sklearn.exceptions.FitFailedWarning, match="not to be learnt from"),
        pytest.raises(ValueError, match="No candidate has a score on every fold"),
    ):
        search.fit(X, y)
    with pytest.warns(sklearn.exceptions.FitFailedWarning):
        check_cells(search, PlainGridSearchCV(theirs, GRID, **how).fit(X, y))


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite", "ignore:Scoring failed")
def test_what_a_step_makes_is_checked() -> None:
    X, y = data("two")
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GridSearchCV(pipelines("passthrough")[0], {"svc__gamma": [0.05, 0.5]}, cv=3, refit=False).fit(X, y)


def test_scorers_get_the_pipeline() -> None:
    X, y = data("two")

    def shares(estimator: Any, X: Any, y: Any) -> float:
        return float(np.mean(estimator.predict(X) == y) + estimator.named_steps["step0"].mean_[0])

    search_both(pipelines(StandardScaler()), GRID, X, y, scoring=shares)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", ["accuracy", "f1"]], ids=str)
def test_scorers(scoring: Any) -> None:
    X, y = data("two")
    refit = "f1" if isinstance(scoring, list) else True
    search_both(pipelines(StandardScaler()), GRID, X, y, scoring=scoring, refit=refit)


def test_string_labels() -> None:
    X, y = data("three")
    labels = np.array(["x", "y", "z"], dtype=object)[y]
    ours, theirs = search_both(pipelines(StandardScaler()), GRID, X, labels)
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["x", "y", "z"]


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def uneven(X: np.ndarray) -> np.ndarray:
    """Weights that move the mean and the spread of the features."""
    return 10.0 ** np.random.default_rng(0).uniform(-2, 2, size=len(X)) * np.where(X[:, 0] > 0, 10.0, 1.0)


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize(("scaler", "machine"), [(True, True), (True, False), (False, True), ("other", True)])
def test_routed_weights(scaler: bool | str, machine: bool, backend: str) -> None:
    X, y = data("two")
    fit = {"sample_weight": uneven(X)} | ({"other": np.arange(1.0, len(y) + 1.0)} if scaler == "other" else {})

    def searched(search: Any, own: Any) -> Any:
        return search(
            Pipeline(
                [
                    ("step0", StandardScaler().set_fit_request(sample_weight=scaler)),
                    ("svc", own.set_fit_request(sample_weight=machine)),
                ]
            ),
            {"svc__C": [1.0, 10.0], "svc__gamma": [0.05], "step0__with_std": [True, False]},
            cv=3,
            scoring=sklearn.metrics.make_scorer(sklearn.metrics.accuracy_score).set_score_request(sample_weight=False),
        ).fit(X, y, **fit)

    with parallel_config(backend, n_jobs=2):
        ours = searched(GridSearchCV, classifier())
    theirs = searched(PlainGridSearchCV, peer(classifier()))
    check_cells(ours, theirs)
    means = [one.best_estimator_["step0"].mean_ for one in (ours, theirs)]
    np.testing.assert_allclose(*means)
    unweighted = search_both(pipelines(StandardScaler()), ours.param_grid, X, y)[0]
    assert (ours.cv_results_["mean_test_score"] != unweighted.cv_results_["mean_test_score"]).any()


@pytest.mark.usefixtures("_routing")
def test_a_step_of_the_grid_that_takes_no_weights_fails_as_in_scikit_learn() -> None:
    X, y = data("two")
    scalers = [StandardScaler().set_fit_request(sample_weight=True), StandardScaler()]
    searches = [
        search(
            Pipeline([("step0", scalers[0]), ("svc", own.set_fit_request(sample_weight=True))]),
            {"svc__C": [1.0], "svc__gamma": [0.05], "step0": scalers},
            cv=3,
            scoring=sklearn.metrics.make_scorer(sklearn.metrics.accuracy_score).set_score_request(sample_weight=False),
            error_score=-1.0,
        )
        for search, own in ((GridSearchCV, classifier()), (PlainGridSearchCV, peer(classifier())))
    ]
    for search in searches:
        with pytest.warns(sklearn.exceptions.FitFailedWarning, match="3 fits failed"):
            search.fit(X, y, sample_weight=uneven(X))
    check_cells(*searches)


@pytest.mark.usefixtures("_routing")
def test_weights_that_only_the_scorer_asks_for() -> None:
    X, y = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-2, 2, size=len(y))

    def searched(search: Any, machine: Any) -> Any:
        return search(
            Pipeline(
                [
                    ("step0", StandardScaler().set_fit_request(sample_weight=False)),
                    ("svc", machine.set_fit_request(sample_weight=False)),
                ]
            ),
            {"svc__C": [1.0, 10.0], "svc__gamma": [0.05]},
            cv=3,
            scoring=sklearn.metrics.make_scorer(sklearn.metrics.accuracy_score).set_score_request(sample_weight=True),
        ).fit(X, y, sample_weight=weights)

    check_cells(searched(GridSearchCV, classifier()), searched(PlainGridSearchCV, peer(classifier())))


def test_weights_by_the_name_of_the_step() -> None:
    X, y = data("two")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(y))
    ours, theirs = pipelines(StandardScaler())
    grid = {"svc__C": [1.0, 10.0], "svc__gamma": [0.05]}
    alone = PlainGridSearchCV(theirs, grid, cv=3).fit(X, y, svc__sample_weight=weights)
    check_cells(GridSearchCV(ours, grid, cv=3).fit(X, y, svc__sample_weight=weights), alone)
    both = {"svc__sample_weight": weights, "step0__sample_weight": uneven(X)}
    alone = PlainGridSearchCV(theirs, grid, cv=3).fit(X, y, **both)
    check_cells(GridSearchCV(ours, grid, cv=3).fit(X, y, **both), alone)


def test_a_journal_belongs_to_the_weights_of_all_steps(tmp_path: Any) -> None:
    X, y = data("two")
    search = GridSearchCV(pipelines(StandardScaler())[0], {"svc__C": [1.0]}, cv=3, journal=tmp_path / "study.jsonl")
    search.fit(X, y, step0__sample_weight=uneven(X))
    search.fit(X, y, step0__sample_weight=uneven(X))
    with pytest.raises(JournalError):
        search.fit(X, y, step0__sample_weight=2.0 * uneven(X))


def test_what_a_machine_does_not_know_is_announced() -> None:
    X, y = data("two")
    search = GridSearchCV(pipelines(StandardScaler())[0], {"svc__C": [1.0]}, cv=3, error_score="raise")
    with pytest.warns(PlainSearchWarning, match="svc__colour"), pytest.raises(TypeError, match="colour"):
        search.fit(X, y, svc__colour=np.ones(len(y)))


def test_weights_for_nobody_are_refused_as_by_a_pipeline() -> None:
    X, y = data("two")
    ours, _ = pipelines(StandardScaler())
    search = GridSearchCV(ours, {"svc__C": [1.0]}, cv=3)
    with pytest.warns(PlainSearchWarning), pytest.raises(ValueError, match="sample_weight"):
        search.fit(X, y, sample_weight=np.ones(len(y)))


def test_pipelines_that_cannot_share_are_announced() -> None:
    X, y = data("two")
    pipeline, _ = pipelines(StandardScaler())
    grid = {"svc": [classifier(gamma=0.05, C=1.0), peer(classifier(gamma=0.05, C=1.0))]}
    with pytest.warns(PlainSearchWarning, match="svc"):
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == pytest.approx(scores[1], abs=0.002)


def test_memory_for_rows_only_gives_the_same_scores() -> None:
    X, y = data("three")
    pipeline = pipelines(StandardScaler())[0]
    whole = GridSearchCV(pipeline, GRID, cv=3).fit(X, y)
    check_cells(GridSearchCV(pipeline, GRID, cv=3, max_memory=1e-3).fit(X, y), whole)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs: int) -> None:
    X, y = data("three")
    both = [
        GridSearchCV(pipelines(StandardScaler())[0], {**GRID, "step0__with_mean": [True, False]}, cv=4, n_jobs=jobs)
        for jobs in (1, n_jobs)
    ]
    one, many = (search.fit(3 * X + 1, y).cv_results_ for search in both)
    for key in one:
        if "time" not in key and key != "params":
            np.testing.assert_array_equal(np.asarray(one[key]), np.asarray(many[key]))

"""Searches over the folds of `cv`, by any scorer: what they choose by, what they report, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from model_searches import same_searches, targets, three_classes, two_classes
from sklearn.metrics import f1_score, fbeta_score, get_scorer, make_scorer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, GridSearchCV, JournalError, ModelSearch
from widemargin.objectives import CrossValidation, Task
from widemargin.study import progress


def rare_positives() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 4))
    value = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.7 * generator.normal(size=200)
    return X, (value > np.quantile(value, 0.91)).astype(int)


def over_folds(model: Any = None, **how: Any) -> ModelSearch:
    # Beyond this, with C or gamma next to 0, several models meet the tolerance, and each ranks samples in its own way.
    space = {"C": (0.1, 100.0), "gamma": (0.01, 10.0)}
    how = {"strategy": "random", "max_evaluations": 10, "random_state": 0, "space": space, **how}
    return ModelSearch(SVC(tol=1e-6) if model is None else model, objective="cross-validation", **how)


def alone(found: ModelSearch, X: Any, y: Any, cv: Any, scoring: Any = None, **how: Any) -> np.ndarray:
    """Score the model that was chosen as scikit-learn does, trained by itself on each fold."""
    best = sklearn.base.clone(found.estimator).set_params(**found.best_params_)
    return cross_val_score(best, X, y, cv=cv, scoring=scoring, **how)


def check(found: ModelSearch, X: Any, y: Any, cv: Any, scoring: Any = None, **how: Any) -> None:
    """Compare what a search says of its choice with scikit-learn, and its parts with each other."""
    splits, results = alone(found, X, y, cv, scoring, **how), found.cv_results_
    own = [results[f"split{fold}_test_score"][found.best_index_] for fold in range(found.n_splits_)]
    np.testing.assert_allclose(own, splits, rtol=1e-5)
    assert found.best_score_ == pytest.approx(splits.mean(), rel=1e-5)
    assert found.best_score_ == results["mean_test_score"][found.best_index_] == results["mean_test_score"].max()
    assert results["std_test_score"][found.best_index_] == pytest.approx(splits.std(), rel=1e-4)
    assert results["rank_test_score"][found.best_index_] == 1
    assert results["params"][found.best_index_] == found.best_params_
    assert len(results["params"]) == found.n_evaluations_


# What a search follows.


@pytest.mark.parametrize("cv", [10, StratifiedKFold(10, shuffle=True, random_state=1)])
def test_a_scorer_over_the_folds_of_cv_chooses(cv: Any) -> None:
    X, y = rare_positives()
    found = over_folds(cv=cv, scoring="roc_auc").fit(X, y)
    check(found, X, y, cv, "roc_auc")
    assert found.best_value_ == found.best_score_
    assert found.score(X, y) == get_scorer("roc_auc")(found.best_estimator_, X, y)
    others = [over_folds(cv=other, scoring=by).fit(X, y) for other, by in ((10, None), (3, "roc_auc"), (None, None))]
    assert len({one.best_score_ for one in (found, *others)}) == 4


def test_with_the_default_tolerance() -> None:
    X, y = rare_positives()
    found = over_folds(SVC(), cv=10, scoring="roc_auc").fit(X, y)
    assert found.best_score_ == pytest.approx(alone(found, X, y, 10, "roc_auc").mean(), abs=1e-3)


@pytest.mark.parametrize(
    "scoring",
    [
        "accuracy",
        "f1",
        "balanced_accuracy",
        "average_precision",
        "neg_hinge_loss",
        make_scorer(fbeta_score, beta=2.0),
        make_scorer(f1_score, pos_label=0),
        lambda model, X, y: float((model.predict(X[::2]) == np.asarray(y)[::2]).mean()),
        lambda model, X, y: model.score(X, y),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scorers_of_two_classes(scoring: Any) -> None:
    X, y = two_classes(63)
    if scoring == "neg_hinge_loss":
        scoring = make_scorer(sklearn.metrics.hinge_loss, greater_is_better=False, response_method="decision_function")
    check(over_folds(cv=4, scoring=scoring).fit(X, y), X, y, 4, scoring)


@pytest.mark.parametrize(
    "how", [{}, {"decision_function_shape": "ovo", "break_ties": False}, {"decision": "fuzzy-minimum"}]
)
@pytest.mark.parametrize("scoring", ["f1_macro", None, lambda model, X, y: float(model.decision_function(X).sum())])
def test_several_classes(how: Any, scoring: Any) -> None:
    X, y = three_classes()
    names = np.array(["a", "b", "c"])[y]
    model = SVC(tol=1e-8, **how)
    folds = StratifiedKFold(5)
    found = over_folds(model, cv=folds, scoring=scoring).fit(X, names)
    if scoring is None:
        # The objective's own loss votes, and the confidences decide between equal votes.
        assert found.best_score_ == pytest.approx(1.0 - found.best_value_)
        assert found.best_score_ == pytest.approx(alone(found, X, names, folds).mean(), abs=0.05)
    elif callable(scoring):
        assert found.best_score_ == pytest.approx(alone(found, X, names, folds, scoring).mean(), rel=1e-3)
    else:
        check(found, X, names, folds, scoring)


def test_classes_that_a_fold_does_not_train_on() -> None:
    X, y = three_classes()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    check(over_folds(cv=KFold(3), scoring="accuracy").fit(X, y), X, y, KFold(3), "accuracy")


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", None])
def test_regression(scoring: Any) -> None:
    X, y = targets()
    found = over_folds(SVR(tol=1e-8), cv=4, scoring=scoring).fit(X, y)
    check(found, X, y, 4, scoring or "neg_mean_squared_error")
    assert found.best_value_ == pytest.approx(found.best_score_ if scoring else -found.best_score_)


def test_folds_of_different_sizes_count_the_same() -> None:
    X, y = two_classes(67)
    found = over_folds(cv=5).fit(X, y)
    check(found, X, y, 5)
    assert found.best_value_ == pytest.approx(1.0 - found.best_score_)
    folds = ShuffleSplit(3, test_size=0.3, random_state=0)
    check(over_folds(cv=folds).fit(X, y), X, y, folds)
    listed = [(list(range(40)), list(range(40, 67))), (np.arange(67) >= 30, np.arange(67) < 30)]
    found = over_folds(cv=listed, scoring="accuracy").fit(X, y)
    check(found, X, y, listed, "accuracy")


def test_without_cv_and_scoring_the_error_over_all_samples_is_followed() -> None:
    X, y = two_classes(63)
    found = over_folds().fit(X, y)
    same_searches(over_folds().set_params(objective=CrossValidation()).fit(X, y), found)
    task = Task(X, y, 2, np.ones(63), tolerance=1e-6)
    splits = CrossValidation().splits(task)
    folds = [found.cv_results_[f"split{fold}_test_score"] for fold in range(5)]
    sizes = [len(test) for _, test in splits]
    np.testing.assert_allclose(1.0 - np.average(folds, axis=0, weights=sizes), found.trace_["value"])
    np.testing.assert_allclose(np.mean(folds, axis=0), found.cv_results_["mean_test_score"])
    assert found.best_score_ == pytest.approx(alone(found, X, y, splits).mean())
    assert found.cv_results_["rank_test_score"][found.best_index_] == 1
    smooth = ModelSearch(SVC(), objective=CrossValidation(loss="smooth"), max_evaluations=5, random_state=0).fit(X, y)
    assert 0.5 < smooth.best_score_ == pytest.approx(1.0 - smooth.best_value_, abs=0.01)


def test_weights_count_as_in_a_grid_search() -> None:
    X, y = two_classes()
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0 + (np.arange(60) % 2))
    found = over_folds(cv=3, scoring="roc_auc").fit(X, y, sample_weight=weights)
    grid = {name: [value] for name, value in found.best_params_.items()}
    meant = GridSearchCV(SVC(tol=1e-6), grid, cv=3, scoring="roc_auc").fit(X, y, sample_weight=weights)
    assert found.best_score_ == pytest.approx(meant.best_score_)
    lost = over_folds(cv=3).fit(X, y, sample_weight=weights)
    assert lost.best_score_ == pytest.approx(1.0 - lost.best_value_)
    folds = [(np.arange(2, 60), np.arange(2)), (np.arange(40), np.arange(40, 60))]
    with pytest.raises(
        ValueError, match="cv must hold out samples of weight above 0 in each fold, and in fold 0 there"
    ):
        over_folds(cv=folds).fit(X, y, sample_weight=np.where(np.arange(60) < 2, 0.0, 1.0))


def test_metadata_reaches_scorers() -> None:
    X, y = two_classes()
    weights = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = SVC(tol=1e-6).set_fit_request(sample_weight=True)
        for n_jobs in (1, 2):
            found = over_folds(model, cv=3, scoring=scorer, n_jobs=n_jobs).fit(X, y, sample_weight=weights)
            check(found, X, y, 3, scorer, params={"sample_weight": weights})


def test_groups() -> None:
    X, y = two_classes()
    groups = np.arange(60) // 4
    folds = GroupKFold(3)
    found = over_folds(cv=folds, scoring="roc_auc").fit(X, y, groups=groups)
    check(found, X, y, folds, "roc_auc", groups=groups)
    by_number = over_folds(cv=3, scoring="roc_auc").fit(X, y, groups=groups)
    assert by_number.n_splits_ == 3
    with pytest.raises(ValueError, match="on both sides of fold"):
        over_folds(cv=KFold(3)).fit(X, y, groups=np.arange(60) % 7)


def test_containers_and_pipelines() -> None:
    X, y = two_classes()
    plain = over_folds(cv=3, scoring="f1").fit(X, y)
    same_searches(over_folds(cv=3, scoring="f1").fit(pd.DataFrame(X), pd.Series(y, index=np.arange(60)[::-1])), plain)
    same_searches(over_folds(cv=3, scoring="f1").fit(X.tolist(), y.tolist()), plain)
    piped = over_folds(make_pipeline(StandardScaler(), SVC(tol=1e-6)), cv=3, scoring="f1", space=None).fit(1e3 * X, y)
    inside = over_folds(cv=3, scoring="f1", space=None).fit(StandardScaler().fit_transform(1e3 * X), y)
    assert piped.best_score_ == pytest.approx(inside.best_score_)
    assert piped.cv_results_["params"][piped.best_index_] == piped.best_params_


@pytest.mark.parametrize("strategy", [None, "cma-es", "tabu"])
def test_other_strategies_find_the_greatest(strategy: str | None) -> None:
    X, y = rare_positives()
    found = over_folds(strategy=strategy, cv=3, scoring="roc_auc", max_evaluations=30).fit(X, y)
    assert found.best_score_ == max(found.trace_["value"])
    assert found.trace_[-1]["best"] == found.best_score_


def test_threads_and_journals_change_no_bit(tmp_path: Path) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"cv": StratifiedKFold(4, shuffle=True, random_state=0), "scoring": "roc_auc"}
    one = over_folds(**how).fit(X, y)
    journal = tmp_path / "study.jsonl"
    for n_jobs in (3, 1):  # the second time everything is known
        other = over_folds(**how, n_jobs=n_jobs, journal=journal).fit(X, y)
        same_searches(other, one)
        for name in ("mean_test_score", "split3_test_score", "rank_test_score"):
            np.testing.assert_array_equal(other.cv_results_[name], one.cv_results_[name])
    for another in ({"cv": 4}, {"scoring": "f1"}, {"scoring": None}):
        with pytest.raises(JournalError):
            over_folds(**{**how, **another}, journal=journal).fit(X, y)


def test_random_folds_are_drawn_once() -> None:
    X, y = two_classes()
    found = over_folds(cv=ShuffleSplit(3), n_jobs=2, strategy="grid", max_evaluations=9).fit(X, y)
    known = {}
    for params, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        assert known.setdefault(repr(params), score) == score


def test_progress_shows_the_greatest() -> None:
    seen: list[float | None] = []
    found = over_folds(cv=3, scoring="roc_auc", progress=Loud(seen)).fit(*rare_positives())
    assert seen[-1] == found.best_score_


class Loud(progress.Progress):
    """Notes the best value shown."""

    def __init__(self, seen: list[float | None]) -> None:
        self.seen = seen

    def begin(self, *args: Any, **kwargs: Any) -> None: ...

    def advance(self, new: int, cost: float, left: float | None, best: float | None) -> None:
        self.seen.append(best)

    def end(self, *args: Any, **kwargs: Any) -> None: ...


# One sense of scores.


@pytest.mark.parametrize(
    ("objective", "sign"), [("span", -1.0), ("polarization", 1.0), ("posterior", 1.0), ("hold-out", -1.0)]
)
def test_scores_without_folds_are_values_of_the_objective(objective: str, sign: float) -> None:
    X, y = two_classes()
    found = ModelSearch(SVC(), objective=objective, space={"gamma": (0.01, 1.0)}, max_evaluations=20, random_state=0)
    found.fit(X, y)
    assert found.best_score_ == sign * found.best_value_
    assert not hasattr(found, "cv_results_")
    found.set_params(objective="cross-validation", cv=3).fit(X, y)
    assert found.n_splits_ == 3
    found.set_params(objective=objective, cv=None).fit(X, y)
    assert not {"cv_results_", "best_index_", "n_splits_"} & vars(found).keys()


def test_the_path_of_c_has_results() -> None:
    X, y = two_classes()
    found = ModelSearch(SVC(tol=1e-6), objective="polarization", cv=4, scoring="roc_auc", random_state=0).fit(X, y)
    results = found.cv_results_
    assert found.n_splits_ == 4
    assert found.best_score_ == results["mean_test_score"][found.best_index_] == results["mean_test_score"].max()
    assert results["params"][found.best_index_] == found.best_params_
    path = found.trace_["stage"] == "C"
    np.testing.assert_allclose(results["param_C"].astype(float), found.trace_["C"][path])
    np.testing.assert_allclose(results["mean_test_score"], found.trace_["value"][path])
    assert set(results["param_gamma"]) == {found.best_params_["gamma"]}
    assert found.best_score_ == pytest.approx(alone(found, X, y, 4, "roc_auc").mean())


# Probabilities.


def test_probabilities_from_the_folds_of_cv() -> None:
    X, y = two_classes()
    by_cv = [
        over_folds(SVC(calibration="from-search"), cv=folds, space={"C": (0.9, 1.1)}, max_evaluations=1).fit(X, y)
        for folds in (3, 10)
    ]
    assert by_cv[0].best_params_ == by_cv[1].best_params_
    assert not np.allclose(*[one.predict_proba(X) for one in by_cv])
    # Objectives without folds take those of cv.
    span = ModelSearch(SVC(calibration="from-search"), objective="span", cv=3, max_evaluations=3).fit(X, y)
    assert span.predict_proba(X).shape == (60, 2)


# What is refused before the first evaluation.


def reads_samples(model: Any, X: Any, y: Any) -> float:
    return float(np.asarray(X)[:, 0].mean())


def reads_a_column(model: Any, X: Any, y: Any) -> float:
    return float(X[:, 0].mean())


def reads_the_model(model: Any, X: Any, y: Any) -> float:
    return -float(model.n_support_.sum())


def asks_for_probabilities(model: Any, X: Any, y: Any) -> float:
    return float(model.predict_proba(X)[:, 1].mean())


def returns_two(model: Any, X: Any, y: Any) -> Any:
    return {"accuracy": 0.5, "f1": 0.4}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"scoring": "neg_log_loss"}, "'neg_log_loss' needs predict_proba, and a ModelSearch has no probabilities"),
        ({"scoring": reads_samples}, r"scoring=reads_samples cannot judge .* \(X holds numbers of rows, since"),
        ({"scoring": reads_a_column}, "scoring=reads_a_column cannot judge models by their held-out decision values"),
        ({"scoring": reads_the_model}, r"cannot judge .*no attribute 'n_support_'\); pass a scorer that calls predict"),
        ({"scoring": asks_for_probabilities}, r"\(probabilities are calibrated once a ModelSearch has chosen, and not"),
        ({"scoring": returns_two}, r"scoring=returns_two returned {'accuracy': 0.5, 'f1': 0.4} where one number is"),
        ({"scoring": ["accuracy", "f1"]}, "scoring must be None, the name of a scorer or a callable"),
        ({"scoring": "roc_auc", "y": "three"}, "scoring='roc_auc' cannot score these targets"),
        ({"scoring": "f1", "y": "named"}, "cannot score these targets .*pos_label"),
        ({"scoring": "roc_auc", "cv": KFold(3), "y": "sorted"}, "must hold at least two classes|tests on samples of 1"),
        ({"cv": KFold(2), "y": "sorted"}, "The training part of a fold must hold at least two classes of weight above"),
        ({"cv": [(np.arange(60), np.arange(0))]}, "cv yields an empty test part of fold 0"),
        ({"cv": [(np.arange(60), [60])], "scoring": "f1"}, "cv yields a test part of fold 0 that cannot be used"),
        ({"cv": []}, "cv yields no folds; at least one is needed"),
        ({"cv": [(np.arange(60), np.arange(60))], "objective": "span"}, "^cv would change nothing"),
        ({"cv": 5, "objective": CrossValidation(folds=3)}, "cv=5 would change nothing, since .* folds of its own"),
        ({"cv": 5, "objective": CrossValidation()}, "pass objective='cross-validation' by name"),
        ({"cv": 5, "objective": "span"}, "cv=5 would change nothing, since objective='span' has no folds"),
        ({"cv": 5, "objective": "likelihood", "strategy": None}, "since objective='likelihood' has no folds"),
        (
            {"cv": 5, "objective": "polarization", "space": {"gamma": (0.1, 1.0)}},
            "objective='polarization' has no folds, and no C is chosen along a path",
        ),
        (
            {"cv": 5, "objective": CrossValidation(), "estimator": SVC(calibration="from-search")},
            "cv=5 would change nothing",
        ),
        (
            {"scoring": "f1", "objective": CrossValidation(loss="smooth")},
            "scoring='f1' and loss='smooth' of objective='cross-validation' both say what is best",
        ),
        (
            {"scoring": "neg_log_loss", "objective": "polarization", "estimator": SVC(calibration="folds")},
            "'neg_log_loss' needs predict_proba",
        ),
        ({"scoring": "roc_auc", "objective": "polarization", "y": "three"}, "'roc_auc' cannot score these targets"),
    ],
)
def test_refusals(how: dict[str, Any], words: str, tmp_path: Path) -> None:
    X, y = two_classes()
    which = how.pop("y", "two")
    y = {"two": y, "named": np.array(["no", "yes"])[y], "sorted": np.sort(y), "three": np.arange(60) % 3}[which]
    journal = tmp_path / "study.jsonl"
    with pytest.raises(ValueError, match=words) as caught:
        over_folds(how.pop("estimator", None), journal=journal).set_params(**how).fit(X, y)
    assert "\n" not in str(caught.value)
    assert not journal.exists()


def test_scores_by_name_along_the_path_are_refused() -> None:
    with pytest.raises(ValueError, match="scoring must return one number"):
        ModelSearch(SVC(), objective="polarization", scoring=returns_two, max_evaluations=3).fit(*two_classes())


def test_scoring_without_folds_is_what_score_returns() -> None:
    X, y = rare_positives()
    found = ModelSearch(SVC(), objective="span", scoring="roc_auc", max_evaluations=3).fit(X, y)
    plain = ModelSearch(SVC(), objective="span", max_evaluations=3).fit(X, y)
    same_searches(found, plain)
    assert found.score(X, y) == get_scorer("roc_auc")(found.best_estimator_, X, y)


class Halves(CrossValidation):
    """Two folds, one after the other."""

    def splits(self, task: Task) -> Any:
        rows = np.arange(task.n_samples)
        return [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]


def test_folds_of_a_subclass_are_judged_too() -> None:
    X, y = two_classes()
    found = over_folds(scoring="roc_auc").set_params(objective=Halves()).fit(X, y)
    check(found, X, y, Halves().splits(Task(X, y, 2, np.ones(60))), "roc_auc")

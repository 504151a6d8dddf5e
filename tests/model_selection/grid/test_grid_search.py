"""A search gives scikit-learn's numbers, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from searches import (
    GRID,
    SMALL_GRID,
    check_best,
    check_cells,
    classifier,
    data,
    peer,
    regressor,
    search_alone,
    search_both,
)
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import shuffle

from widemargin import GridSearchCV

CLASSIFICATION = ("breast_cancer", "iris", "digits", "wine", "two", "three")
REGRESSION = ("diabetes", "friedman")


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classifiers(name: str) -> None:
    X, y = data(name)
    grid = {"C": [0.1, 1.0, 100.0], "gamma": [0.01, 0.1]} if name in ("digits", "breast_cancer") else GRID
    ours, theirs = search_both(classifier(), grid, X, y, return_train_score=name != "breast_cancer")
    check_best(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), ours.best_estimator_.predict(X))
    if ours.best_params_ == theirs.best_params_:
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.999
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.002)


@pytest.mark.parametrize("name", REGRESSION)
def test_regressors(name: str) -> None:
    X, y = data(name)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1], "epsilon": [0.0, 0.1, 0.5]}
    ours, theirs = search_both(regressor(), grid, X, y, return_train_score=True)
    check_best(ours, theirs)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3 * np.abs(y).max())


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("name", ["two", "digits"])
def test_sparse_rows(form: Any, name: str) -> None:
    X, y = data(name)
    X = form(np.where(np.abs(X) < 0.3, 0.0, X))
    grid = {"C": [0.1, 10.0], "gamma": ["scale", 0.1]}
    ours, theirs = search_both(classifier(), grid, X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.002)


def test_sparse_and_dense_rows_are_the_same() -> None:
    X, y = data("three")
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    check_cells(GridSearchCV(classifier(), GRID, cv=3).fit(sp.csr_array(X), y), dense)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_numbers(dtype: type) -> None:
    X, y = data("two")
    search_both(classifier(), SMALL_GRID, np.round(4 * X).astype(dtype), y)


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize(
    "grid",
    [
        {"kernel": ["linear"], "C": [0.01, 0.1, 1.0]},
        {"kernel": ["poly"], "C": [0.1, 1.0], "gamma": [0.1], "degree": [2, 3], "coef0": [0.0, 1.0]},
        {"kernel": ["sigmoid"], "C": [0.1, 1.0], "gamma": [0.01, 0.02], "coef0": [0.0, -0.1]},
        {"kernel": ["rbf"], "C": [0.1, 10.0], "gamma": ["scale", "auto", 0.3]},
        {"kernel": ["poly", "rbf"], "gamma": ["scale", "auto"]},
        [{"kernel": ["linear"], "C": [0.1, 1.0]}, {"kernel": ["rbf"], "gamma": [0.1, 1.0], "C": [1.0]}, {}],
    ],
    ids=["linear", "poly", "sigmoid", "rbf", "two", "list"],
)
def test_kernels(grid: Any, name: str) -> None:
    X, y = data(name)
    search_both(classifier(), grid, X, y)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_kernels_of_regressors(kernel: str) -> None:
    X, y = data("friedman")
    X = X - X.mean(axis=0)
    search_both(regressor(kernel=kernel, gamma=0.1), {"C": [0.1, 1.0, 5.0], "epsilon": [0.1, 0.3]}, X, y)


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
def test_precomputed_kernels(name: str) -> None:
    X, y = data(name)
    K = rbf_kernel(X, gamma=0.1)
    machine = (regressor if name == "friedman" else classifier)(kernel="precomputed")
    ours, theirs = search_both(machine, {"C": [0.1, 1.0, 10.0]}, K, y, return_train_score=True)
    np.testing.assert_allclose(ours.predict(K).astype(float), theirs.predict(K).astype(float), atol=1e-3)


def wide(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return rbf_kernel(left, right, gamma=0.05)


def narrow(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return rbf_kernel(left, right, gamma=0.5)


def shared_letters(left: Any, right: Any) -> np.ndarray:
    return np.array([[len(set(a) & set(b)) for b in right] for a in left], dtype=float)


@pytest.mark.parametrize("name", ["two", "three"])
def test_callable_kernels(name: str) -> None:
    X, y = data(name)
    search_both(classifier(), {"kernel": [wide, narrow, "rbf"], "C": [0.1, 10.0]}, X, y)
    search_both(classifier(), {"kernel": [wide], "C": [0.1, 10.0]}, X, y)


def test_a_callable_kernel_of_words() -> None:
    words = ["tree", "reed", "weed", "deer", "rete", "dew", "we", "two"] * 4 + [
        "loop",
        "pool",
        "polo",
        "oil",
        "lip",
    ] * 4
    labels = ["e" if "e" in word else "o" for word in words]
    words, labels = shuffle(words, labels, random_state=0)
    machine = classifier(kernel=shared_letters)
    ours, _ = search_alone(machine, {"C": [0.01, 1.0]}, words, labels, return_train_score=True)
    assert list(ours.predict(["tee", "pop"])) == ["e", "o"]


@pytest.mark.parametrize("name", ["two", "three"])
def test_sample_weights(name: str) -> None:
    X, y = data(name)
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(y))
    weights[::7] = 0.0
    search_both(classifier(), SMALL_GRID, X, y, fit={"sample_weight": weights}, return_train_score=True)


def test_sample_weights_of_regressors() -> None:
    X, y = data("friedman")
    weights = 10.0 ** np.random.default_rng(0).uniform(-1, 1, size=len(y))
    weights[::7] = 0.0
    search_both(regressor(), SMALL_GRID, X, y, fit={"sample_weight": weights}, return_train_score=True)


def test_weights_count_in_the_width_as_they_do_alone() -> None:
    X, y = data("two")
    weights = np.where(X[:, 0] > 0, 5.0, 0.2)
    search_alone(classifier(), {"C": [0.1, 1.0, 10.0], "gamma": ["scale"]}, X, y, fit={"sample_weight": weights})


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("balance", ["balanced", {0: 5.0, 1: 0.5}, None], ids=["balanced", "dict", "none"])
def test_class_weights(name: str, balance: Any) -> None:
    X, y = data(name)
    if name == "three" and isinstance(balance, dict):
        balance = {**balance, 2: 2.0}
    # Where all coefficients of two classes of equal weight are at their bounds, any intercept of an interval will do.
    search_both(classifier(class_weight=balance), {"C": [1.0, 10.0], "gamma": [0.05, 0.5]}, X, y)
    search_alone(classifier(class_weight=balance), {"C": [0.01, 0.1], "gamma": [0.05, 0.5]}, X, y)


def test_class_weights_in_the_grid() -> None:
    X, y = data("two")
    grid = {
        "C": [1.0, 10.0],
        "gamma": [0.05, 0.5],
        "class_weight": [None, "balanced", {0: 0.2, 1: 3.0}, {0: 3.0, 1: 0.2}],
    }
    search_both(classifier(), grid, X, y, scoring="balanced_accuracy")


@pytest.mark.parametrize("labels", [["no", "yes", "maybe"], [-1.0, 7.0, 2.0], [True, False, True]], ids=str)
@pytest.mark.parametrize("name", ["two", "three"])
def test_labels_of_any_type(labels: list[Any], name: str) -> None:
    X, y = data(name)
    y = np.array(labels)[y]
    ours, theirs = search_both(classifier(), SMALL_GRID, X, y)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    # As a list of Python objects too.
    check_cells(GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X.tolist(), y.tolist()), theirs)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("ties", [True, False])
def test_votes(shape: str, ties: bool) -> None:
    X, y = data("digits")
    if shape == "ovo" and ties:
        pytest.skip("scikit-learn refuses this combination")
    machine = classifier(decision_function_shape=shape, break_ties=ties, gamma=0.05)
    search_both(machine, {"C": [0.01, 1.0]}, X, y)


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
def test_the_squared_loss(name: str) -> None:
    X, y = data(name)
    squared = regressor(loss="squared_epsilon_insensitive"), classifier(loss="squared_hinge")
    machine = squared[name != "friedman"]
    search_alone(machine, {"C": [0.01, 1.0, 100.0], "gamma": [0.05, 0.5]}, X, y, return_train_score=True)


def test_losses_in_the_grid() -> None:
    X, y = data("three")
    search_alone(classifier(gamma=0.1), {"C": [0.1, 10.0], "loss": ["hinge", "squared_hinge"]}, X, y)


def test_tolerances_in_the_grid() -> None:
    X, y = data("two")
    ours, theirs = search_both(classifier(gamma=0.1), {"C": [0.1, 10.0], "tol": [1e-3, 1e-6]}, X, y)
    assert ours.work_report_.fits == theirs.n_splits_ * 4


def test_the_order_of_the_grid_does_not_matter() -> None:
    X, y = data("two")
    grid = {"gamma": [1.0, 0.01, 0.1], "C": [100.0, 0.1, 10.0, 1.0, 10.0]}
    ours, _ = search_both(classifier(), grid, X, y)
    forth = {
        tuple(p.values()): s for p, s in zip(*(ours.cv_results_[k] for k in ("params", "mean_test_score")), strict=True)
    }
    again = GridSearchCV(classifier(), {k: sorted(set(v)) for k, v in grid.items()}, cv=3).fit(X, y).cv_results_
    for params, score in zip(again["params"], again["mean_test_score"], strict=True):
        assert forth[params["C"], params["gamma"]] == score


@pytest.mark.parametrize("name", ["two", "three"])
def test_large_prices_are_recognised_as_the_same_machine(name: str) -> None:
    X, y = data(name)
    X = np.hstack([X, 3.0 * y[:, None]])
    ours, theirs = search_both(classifier(gamma=0.2), {"C": [1.0, 1e3, 1e4, 1e5]}, X, y)
    report = ours.work_report_
    assert report.fits == 12
    assert report.skipped >= 3
    assert report.trained + report.skipped == 12
    assert report.unfinished == 0
    assert str(report.fits) in str(report)
    scores = ours.cv_results_["mean_test_score"]
    assert scores[2] == scores[3] == theirs.cv_results_["mean_test_score"][3]


def test_defaults_of_both() -> None:
    X, y = data("wine")
    ours = GridSearchCV(classifier(), SMALL_GRID).fit(X, y)
    theirs = PlainGridSearchCV(peer(classifier()), SMALL_GRID).fit(X, y)
    check_cells(ours, theirs)
    assert ours.n_splits_ == theirs.n_splits_ == 5
    assert ours.multimetric_ is False


def test_a_search_of_one_machine() -> None:
    X, y = data("two")
    ours, _ = search_both(classifier(gamma=0.1), {}, X, y)
    assert ours.best_params_ == {}
    assert ours.work_report_.fits == 3


def test_the_estimator_and_the_data_are_left_as_they_were() -> None:
    X, y = data("three")
    machine = classifier()
    before, rows, targets = clone(machine), X.copy(), y.copy()
    GridSearchCV(machine, GRID, cv=3, return_train_score=True).fit(X, y)
    assert repr(machine.get_params()) == repr(before.get_params())
    assert vars(machine).keys() == vars(before).keys()
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(y, targets)


def test_what_an_estimator_learnt_before_is_forgotten() -> None:
    X, y = data("three")
    fitted = classifier().fit(X[:, :2], y == 1)
    check_cells(
        GridSearchCV(fitted, SMALL_GRID, cv=3).fit(X, y), GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(X, y)
    )


def test_fitting_again_forgets_the_last_fit() -> None:
    X, y = data("two")
    search = GridSearchCV(classifier(), SMALL_GRID, cv=3).fit(*data("three"))
    check_cells(search.fit(X, y), GridSearchCV(classifier(), SMALL_GRID, cv=StratifiedKFold(3)).fit(X, y))
    assert len(search.classes_) == 2


def test_ties_go_to_the_smoothest_machine() -> None:
    X, y = data("two")
    X = np.hstack([X, 50.0 * y[:, None]])
    grid = {"gamma": [0.01, 0.001], "C": [100.0, 10.0, 1000.0]}
    search = GridSearchCV(classifier(kernel="rbf"), grid, cv=3).fit(X, y)
    assert search.cv_results_["mean_test_score"].max() == 1.0
    tied = [
        p for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True) if s == 1.0
    ]
    assert search.ties_ == tied
    assert len(tied) > 1
    assert search.best_params_ == min(tied, key=lambda p: (p["C"], p["gamma"]))
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1


def test_edges_of_the_grid_are_named() -> None:
    X, y = data("two")
    grid = {"C": [1e-6, 1e-5], "gamma": [1e-8, 0.1, 1e8], "shrinking": [True, False]}
    search = GridSearchCV(classifier(), grid, cv=3, refit=lambda results: 4).fit(X, y)
    assert not hasattr(search, "best_score_")
    search = GridSearchCV(classifier(gamma=0.1), {"C": [1e-6, 1.0, 1e-5]}, cv=3).fit(X, y)
    assert search.edges_ == {"C": "largest"}
    search = GridSearchCV(classifier(C=1.0), {"gamma": [1e8, 0.1, 1e-8]}, cv=3).fit(X, y)
    assert search.edges_ == {}

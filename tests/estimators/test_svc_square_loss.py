"""SVC(loss="squared_hinge"): LinearSVC's machine, weights, threads, warm starts, scikit-learn's checks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles.estimators import gram_of
from widemargin import SVC
from widemargin.solvers import MDM
from widemargin.testing import Case, many_class_points, solve_exactly

SQUARED: dict[str, Any] = {"loss": "squared_hinge"}


# One of the checks takes any square matrix for a kernel matrix.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVC(loss="squared_hinge"),
        SVC(loss="squared_hinge", kernel="linear", warm_start=True, class_weight="balanced"),
        SVC(loss="squared_hinge", kernel="precomputed"),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        SVC(loss="squared_hinge", solver="block", tol=1e-10, n_jobs=2),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def _two_classes(load: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    keep = y != 0 if len(np.unique(y)) > 2 else np.ones(len(y), bool)
    return StandardScaler().fit_transform(X[keep]), y[keep]


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_it_is_the_machine_of_linear_svc(load: Any, C: float, container: Any, class_weight: Any) -> None:
    X, y = _two_classes(load)
    theirs = LinearSVC(
        loss="squared_hinge",
        dual=True,
        tol=1e-10,
        fit_intercept=False,
        C=C,
        max_iter=1_000_000,
        class_weight=class_weight,
        random_state=0,
    ).fit(X, y)
    ours = SVC(**SQUARED, kernel="linear", C=C, fit_intercept=False, tol=1e-7, class_weight=class_weight).fit(
        container(X), y
    )
    weights = ours.coef_.toarray() if hasattr(ours.coef_, "toarray") else ours.coef_
    np.testing.assert_allclose(weights, theirs.coef_, atol=1e-5)
    assert ours.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_it_is_the_machine_of_a_naive_solver(kernel: str) -> None:
    X, y = many_class_points(2, 40)
    model = SVC(**SQUARED, kernel=kernel, gamma=0.5, coef0=1.0, degree=2, C=2.0, tol=1e-8).fit(X, y)
    K, sign = gram_of(model, X), np.where(y == 1, 1.0, -1.0)
    ridged, edge = K + np.eye(80) / 4.0, sign * np.inf
    case = Case("oracle", sign, np.minimum(0.0, edge), np.maximum(0.0, edge), ridged, X, kernel, 0.5)
    alpha = solve_exactly(case, ridged)
    fitted = np.zeros(80)
    fitted[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(fitted, alpha, atol=1e-6)
    free = (sign - ridged @ alpha)[alpha != 0].mean()
    assert model.intercept_[0] == pytest.approx(free, abs=1e-6)
    np.testing.assert_allclose(model.decision_function(X), K @ alpha + free, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weight_two_is_a_repeated_row_and_weight_zero_none(n_classes: int, fit_intercept: bool) -> None:
    X, y = many_class_points(n_classes, 40)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = SVC(**SQUARED, tol=1e-9, fit_intercept=fit_intercept, decision_function_shape="ovo")
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    heavier = clone(model).set_params(class_weight={0: 2.0}).fit(X, y)
    twice = np.append(np.arange(len(y)), np.flatnonzero(y == 0))
    # The width of the kernel follows the rows; it is kept here.
    gamma = {"gamma": heavier._kernel_parameters.gamma}
    again = clone(model).set_params(**gamma).fit(X[twice], y[twice])
    np.testing.assert_allclose(heavier.decision_function(X), again.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_report_is_that_of_the_machine(fit_intercept: bool) -> None:
    X, y = many_class_points(3, 50)
    C = 3.0
    model = SVC(**SQUARED, C=C, gamma=0.5, fit_intercept=fit_intercept, solver="smo").fit(X, y)
    K, values = gram_of(model, X), model.set_params(decision_function_shape="ovo").decision_function(X)
    dual_coef, owners = model.dual_coef_, np.repeat(np.arange(3), model.n_support_)
    for number, (entry, (first, second)) in enumerate(zip(model.fit_report_, [(0, 1), (0, 2), (1, 2)], strict=True)):
        alpha = np.zeros(len(y))
        for owner, row in ((first, second - 1), (second, first)):
            alpha[model.support_[owners == owner]] = dual_coef[row, owners == owner]
        rows = (y == first) | (y == second)
        sign = np.where(y[rows] == first, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - sign * values[rows, number])
        norm = 0.5 * alpha @ K @ alpha
        primal = norm + C * (slack**2).sum()
        dual = sign @ alpha[rows] - norm - (alpha**2).sum() / (4.0 * C)
        assert entry.objective == pytest.approx(dual, rel=1e-9)
        assert entry.duality_gap == pytest.approx(primal - dual, abs=1e-5)
        assert 0.0 <= entry.duality_gap <= 1e-2
        assert entry.kernel_operations == 0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
def test_any_number_of_threads_gives_the_same_bits(solver: str, fit_intercept: bool) -> None:
    X, y = many_class_points(4, 120)
    models = [
        SVC(**SQUARED, gamma=0.5, solver=solver, fit_intercept=fit_intercept, n_jobs=n).fit(X, y) for n in (1, 2, 3)
    ]
    for other in models[1:]:
        assert np.array_equal(other.dual_coef_, models[0].dual_coef_)
        assert np.array_equal(other.intercept_, models[0].intercept_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_warm_starts_are_only_a_matter_of_speed(fit_intercept: bool) -> None:
    X, y = many_class_points(3, 80)
    parameters = {**SQUARED, "gamma": 0.5, "solver": "smo", "fit_intercept": fit_intercept, "tol": 1e-5}
    warm = SVC(**parameters, warm_start=True).fit(X, y)
    for change in ({"C": 1.1}, {"loss": "hinge"}, {"loss": "squared_hinge"}, {"fit_intercept": not fit_intercept}):
        parameters.update(change)
        warm.set_params(**parameters).fit(X, y)
        cold = SVC(**parameters).fit(X, y)
        if "C" in change:
            assert warm.n_iter_.sum() < cold.n_iter_.sum()
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
    assert warm.fit(X, y).n_iter_.sum() == 0


def test_pickling_and_cloning() -> None:
    X, y = many_class_points(3, 40)
    model = SVC(**SQUARED, fit_intercept=False, solver=MDM(accelerated=False)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert clone(model).loss == "squared_hinge"


def test_a_hard_margin_is_the_same_for_both_losses() -> None:
    X, y = many_class_points(3, 30)
    one, other = (SVC(C=np.inf, gamma=5.0, loss=loss).fit(X, y) for loss in ("hinge", "squared_hinge"))
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    X[np.flatnonzero(y == 0)[0]] = X[np.flatnonzero(y == 1)[0]]
    with pytest.warns(ConvergenceWarning, match="hard margin.*classes 0 and 1"):
        SVC(C=np.inf, gamma=5.0, **SQUARED).fit(X, y)


def test_a_class_of_no_weight_and_a_hard_margin() -> None:
    X, y = many_class_points(3, 30)
    model = SVC(C=np.inf, gamma=5.0, class_weight={2: 0.0}).fit(X, y)
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge'; got 'log'"),
        ({"fit_intercept": "never"}, "fit_intercept must be True or False; got 'never'"),
        ({"solver": MDM(accelerated="often")}, "accelerated must be True or False; got 'often'."),
        ({"loss": "squared_hinge", "C": 1e-31}, "C times the weights reaches 1e-31 at most, too small"),
        ({"solver": "maxminover"}, "solver='maxminover' requires OneClassSVM with loss='squared_hinge'"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters: dict[str, Any], words: str) -> None:
    X, y = many_class_points(2, 20)
    with pytest.raises(ValueError, match=words) as caught:
        SVC(**parameters).fit(X, y)
    assert str(caught.value).count(". ") == 0


def test_a_row_of_next_to_no_weight_is_next_to_no_row() -> None:
    X, y = many_class_points(2, 30)
    weights = np.where(np.arange(60) == 7, 1e-300, 1.0)
    tiny = SVC(**SQUARED, gamma=0.5).fit(X, y, sample_weight=weights)
    without = SVC(**SQUARED, gamma=0.5).fit(np.delete(X, 7, axis=0), np.delete(y, 7))
    assert np.abs(tiny.dual_coef_).min() < 1e-20 or 7 not in tiny.support_
    np.testing.assert_allclose(tiny.decision_function(X), without.decision_function(X), atol=1e-6)

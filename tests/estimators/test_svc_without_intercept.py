"""SVC(fit_intercept=False), and the geometric solver that needs it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC
from widemargin.solvers import MDM
from widemargin.testing import many_class_points

BY_GEOMETRY: dict[str, Any] = {"loss": "squared_hinge", "fit_intercept": False}


# One of the checks takes any square matrix for a kernel matrix.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVC(fit_intercept=False),
        SVC(fit_intercept=False, loss="squared_hinge", kernel="poly", coef0=1.0),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        SVC(fit_intercept=False, solver="smo", tol=1e-10, warm_start=True),
        SVC(fit_intercept=False, loss="squared_hinge", solver=MDM(accelerated=False), tol=1e-10),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_it_is_the_machine_of_linear_svc(container: Any) -> None:
    X, y = many_class_points(2, 60)
    theirs = LinearSVC(loss="hinge", tol=1e-12, fit_intercept=False, max_iter=1_000_000, random_state=0).fit(X, y)
    ours = SVC(kernel="linear", fit_intercept=False, tol=1e-8).fit(container(X), y)
    weights = ours.coef_.toarray() if hasattr(ours.coef_, "toarray") else ours.coef_
    np.testing.assert_allclose(weights, theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
def test_the_intercept_is_zero_and_training_values_come_from_the_coefficients(
    loss: str, n_classes: int, solver: str
) -> None:
    X, y = many_class_points(n_classes, 40)
    model = SVC(fit_intercept=False, gamma=0.5, loss=loss, solver=solver, decision_function_shape="ovo").fit(X, y)
    assert not model.intercept_.any()
    assert not np.signbit(model.intercept_).any()
    assert model.fit_report_.converged
    # Mirrored inputs have mirrored values where nothing is added to them.
    linear = SVC(fit_intercept=False, kernel="linear", loss=loss, solver=solver).fit(X, y)
    values = linear.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(linear.decision_function(-X), -values, atol=1e-9)


def test_an_intercept_matters() -> None:
    X, y = many_class_points(2, 40)
    X[:, 0] += 20.0
    one, other = (SVC(kernel="linear", fit_intercept=fit).fit(X, y).score(X, y) for fit in (True, False))
    assert one > other + 0.2


def test_a_pair_without_one_of_its_classes_votes_for_the_other() -> None:
    X, y = many_class_points(3, 30)
    model = SVC(fit_intercept=False, gamma=0.5).fit(X, y, sample_weight=(y != 2).astype(float))
    assert set(model.predict(X)) == {0, 1}
    assert model.intercept_.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_the_geometric_solver_finds_the_same_machine(accelerated: bool, n_classes: int, container: Any) -> None:
    X, y = many_class_points(n_classes, 50)
    parameters: dict[str, Any] = {"gamma": 0.5, "C": 5.0, "tol": 1e-6, "decision_function_shape": "ovo"}
    weights = np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)
    geometric = SVC(**BY_GEOMETRY, **parameters, solver=MDM(accelerated=accelerated)).fit(
        container(X), y, sample_weight=weights
    )
    reference = SVC(**BY_GEOMETRY, **parameters, solver="smo").fit(container(X), y, sample_weight=weights)
    np.testing.assert_allclose(
        geometric.decision_function(container(X)), reference.decision_function(container(X)), atol=1e-4
    )
    for entry, other in zip(geometric.fit_report_, reference.fit_report_, strict=True):
        assert entry.reason == "converged"
        assert entry.kkt_violation <= 1e-6
        assert entry.objective == pytest.approx(other.objective, rel=1e-6)
        assert entry.kernel_operations > 0 == other.kernel_operations
    assert not geometric.intercept_.any()


def test_a_constant_in_the_kernel_compensates() -> None:
    X, y = many_class_points(2, 40)
    X += 5.0
    bare = SVC(**BY_GEOMETRY, solver="mdm", kernel="linear").fit(X, y)
    extended = SVC(**BY_GEOMETRY, solver="mdm", kernel="linear").fit(np.hstack((X, np.full((80, 1), 30.0))), y)
    assert extended.score(np.hstack((X, np.full((80, 1), 30.0))), y) > bare.score(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("accelerated", [True, False])
def test_hard_margins_by_geometry(loss: str, accelerated: bool) -> None:
    X, y = many_class_points(3, 30)
    parameters: dict[str, Any] = {"C": np.inf, "gamma": 5.0, "fit_intercept": False, "loss": loss, "tol": 1e-6}
    geometric = SVC(**parameters, solver=MDM(accelerated=accelerated)).fit(X, y)
    reference = SVC(**parameters).fit(X, y)
    np.testing.assert_allclose(geometric.decision_function(X), reference.decision_function(X), atol=1e-4)
    X[np.flatnonzero(y == 0)[0]] = X[np.flatnonzero(y == 1)[0]]
    with pytest.warns(ConvergenceWarning, match="hard margin.*classes 0 and 1"):
        SVC(**{**parameters, "tol": 1e-3, "max_iter": 200_000}, solver=MDM(accelerated=accelerated)).fit(X, y)


@pytest.mark.parametrize("accelerated", [True, False])
def test_threads_warm_starts_and_pickles_of_the_geometric_solver(accelerated: bool) -> None:
    X, y = many_class_points(4, 60)
    models = [SVC(**BY_GEOMETRY, solver=MDM(accelerated=accelerated), gamma=0.5, n_jobs=n).fit(X, y) for n in (1, 2, 3)]
    assert all(np.array_equal(one.dual_coef_, models[0].dual_coef_) for one in models)
    again = pickle.loads(pickle.dumps(models[0]))
    assert np.array_equal(again.decision_function(X), models[0].decision_function(X))
    assert clone(again).get_params() == models[0].get_params()
    warm = SVC(**BY_GEOMETRY, solver=MDM(accelerated=accelerated), gamma=0.5, warm_start=True).fit(X, y)
    warm.set_params(C=1.02).fit(X, y)
    cold = SVC(**BY_GEOMETRY, solver=MDM(accelerated=accelerated), gamma=0.5, C=1.02).fit(X, y)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"fit_intercept": True, "loss": "squared_hinge"}, "solver='mdm' requires fit_intercept=False."),
        ({"fit_intercept": False, "loss": "hinge"}, "solver='mdm' requires loss='squared_hinge' or C=inf."),
    ],
)
def test_what_the_geometric_solver_cannot_do(parameters: dict[str, Any], words: str) -> None:
    X, y = many_class_points(2, 20)
    with pytest.raises(ValueError, match=words):
        SVC(**parameters, solver="mdm").fit(X, y)


def test_budgets_of_the_geometric_solver() -> None:
    X, y = many_class_points(2, 60)
    with pytest.warns(ConvergenceWarning, match="iteration budget"):
        model = SVC(**BY_GEOMETRY, solver="mdm", max_iter=5).fit(X, y)
    assert model.n_iter_.tolist() == [5]
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()

"""SVC(multi_class="ovr"), and decisions by fuzzy memberships."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from oracles.multi_class import fuzzy_one_against_all, fuzzy_one_versus_one, predict_one_versus_one
from widemargin import SVC
from widemargin.estimators.multi_class import OneVersusRest, memberships_against_all
from widemargin.estimators.prediction import tallied
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.classifier import solve_pairs
from widemargin.machines.dual import SolverOptions, StopRule
from widemargin.machines.one_against_all import ABSENT, classes_against_all
from widemargin.persistence.model_file import ModelFileError, load_model, save_model
from widemargin.solvers import Block
from widemargin.testing import many_class_points

TIGHT = {"C": 5.0, "gamma": 0.5, "tol": 1e-7}

MACHINES = [
    {},
    {"loss": "squared_hinge"},
    {"fit_intercept": False},
    {"loss": "squared_hinge", "fit_intercept": False, "solver": "mdm"},
    {"kernel": "linear"},
    {"class_weight": {0: 3.0, 2: 0.5}},
    {"n_jobs": 2, "solver": "smo", "cache_size": 1.0},
    {"solver": Block(dtype="float64")},
]


def points(n_classes: int = 4, per_class: int = 25) -> tuple[Any, Any]:
    return many_class_points(n_classes, per_class)


def alone(parameters: Any, X: Any, y: Any, c: Any, weights: Any = None) -> SVC:
    """One of the machines: a class against all, with the prices that its rows have there."""
    own = dict(parameters)
    prices = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    factors = own.pop("class_weight", None) or {}
    prices = prices * np.array([factors.get(label, 1.0) for label in y])
    return SVC(**own).fit(X, y == c, sample_weight=prices)


@pytest.mark.parametrize("parameters", MACHINES)
def test_every_class_is_a_machine_against_all_others(parameters: Any) -> None:
    X, y = points()
    parameters = {**TIGHT, **parameters}
    model = SVC(**parameters, multi_class="ovr").fit(X, y)
    values = model.decision_function(X)
    assert values.shape == (100, 4)
    for c in range(4):
        np.testing.assert_allclose(values[:, c], alone(parameters, X, y, c).decision_function(X), atol=2e-5)
    np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))


def test_fitted_attributes() -> None:
    X, y = points()
    model = SVC(**TIGHT, kernel="linear", multi_class="ovr").fit(X, y)
    n = len(model.support_)
    assert model.dual_coef_.shape == (4, n)
    assert model.intercept_.shape == (4,)
    assert model.n_iter_.shape == (4,)
    assert model.coef_.shape == (4, 2)
    assert model.n_support_.tolist() == [int(np.sum(y[model.support_] == c)) for c in range(4)]
    assert (np.diff(y[model.support_]) >= 0).all()
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-10)
    assert [entry.classes for entry in model.fit_report_] == [(c, None) for c in range(4)]
    assert model.fit_report_.converged
    assert "3 / others" in str(model.fit_report_)
    assert sum(entry.n_support for entry in model.fit_report_) == np.count_nonzero(model.dual_coef_)


def test_two_classes_are_one_machine_in_either_scheme() -> None:
    X, y = points(2, 40)
    pairs, against_all = (SVC(**TIGHT, multi_class=scheme).fit(X, y) for scheme in ("ovo", "ovr"))
    assert against_all.dual_coef_.shape == pairs.dual_coef_.shape == (1, len(pairs.support_))
    np.testing.assert_array_equal(against_all.decision_function(X), pairs.decision_function(X))
    fuzzy = SVC(**TIGHT, multi_class="ovr", decision="fuzzy-minimum").fit(X, y)
    np.testing.assert_array_equal(fuzzy.decision_function(X), pairs.decision_function(X))
    np.testing.assert_array_equal(fuzzy.predict(X), pairs.predict(X))


def test_classes_share_kernel_values() -> None:
    X, y = points(6, 200)

    def computed(machines: Any) -> int:
        return sum(entry.kernel_evaluations for one in machines for entry in one.fit_report_)

    model = SVC(C=5.0, gamma=0.5, multi_class="ovr").fit(X, y)
    separate = [SVC(C=5.0, gamma=0.5).fit(X, y == c) for c in range(6)]
    assert computed([model]) < 0.8 * computed(separate)
    assert model.fit_report_[1].kernel_evaluations >= len(y) ** 2  # it pays for the matrix of all
    small = SVC(C=5.0, gamma=0.5, multi_class="ovr", cache_size=1.0).fit(X, y)
    assert small.fit_report_[1].kernel_evaluations < len(y) ** 2  # there is no room for it
    np.testing.assert_allclose(small.decision_function(X), model.decision_function(X), atol=0.02)


def test_a_kernel_that_is_called_is_called_once_for_all_classes() -> None:
    X, y = points(4, 30)
    counts = {"ovr": 0, "alone": 0}

    def counted(name: str) -> Any:
        def linear(A: Any, B: Any) -> Any:
            counts[name] += len(A) * len(B)
            return A @ B.T

        return linear

    SVC(kernel=counted("ovr"), multi_class="ovr", solver="smo").fit(X, y)
    for c in range(4):
        SVC(kernel=counted("alone"), solver="smo").fit(X, y == c)
    assert counts["ovr"] < 0.8 * counts["alone"]


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows(container: Any) -> None:
    X, y = points()
    dense, sparse = (SVC(**TIGHT, multi_class="ovr").fit(given, y) for given in (X, container(X)))
    assert sp.issparse(sparse.dual_coef_)
    assert sparse.dual_coef_.shape == dense.dual_coef_.shape
    np.testing.assert_allclose(sparse.decision_function(container(X)), dense.decision_function(X), atol=2e-5)


def test_precomputed_and_callable_kernels() -> None:
    X, y = points()
    expected = SVC(**TIGHT, multi_class="ovr").fit(X, y).decision_function(X)
    K = kernel_matrix(X, kernel="rbf", gamma=0.5, dtype="float64")
    given = SVC(C=5.0, tol=1e-7, kernel="precomputed", multi_class="ovr").fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), expected, atol=2e-5)

    def gaussian(A: Any, B: Any) -> Any:
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    called = SVC(C=5.0, tol=1e-7, kernel=gaussian, multi_class="ovr").fit(X, y)
    np.testing.assert_allclose(called.decision_function(X), expected, atol=2e-5)


def test_weights_count_rows() -> None:
    X, y = points()
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = SVC(**TIGHT, multi_class="ovr").fit(X, y, sample_weight=counts)
    repeated = SVC(**TIGHT, multi_class="ovr").fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_a_class_without_weight_never_wins() -> None:
    X, y = points()
    weights = np.where(y == 1, 0.0, 1.0)
    model = SVC(**TIGHT, multi_class="ovr").fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.intercept_[1] == -1.0
    assert not model.dual_coef_[1].any()
    assert set(model.predict(X)) == {0, 2, 3}
    removed = SVC(**TIGHT, multi_class="ovr").fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(model.predict(X), removed.predict(X))


def test_hard_margins_and_those_that_there_are_not() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(C=np.inf, gamma=5.0, tol=1e-6, multi_class="ovr").fit(X, y)
    margins = np.where(np.arange(3) == y[:, None], 1.0, -1.0) * model.decision_function(X)
    assert margins.min() >= 1.0 - 1e-5
    X, y = np.vstack([X, X[75]]), np.append(y, 2)  # the same row in two classes
    with pytest.warns(ConvergenceWarning, match="none was found for class 1 and all others"):
        SVC(C=np.inf, gamma=5.0, multi_class="ovr").fit(X, y)


def test_warm_starts_follow_the_bounds_and_know_their_scheme() -> None:
    X, y = points(3, 60)
    warm = SVC(C=5.0, gamma=0.5, warm_start=True, multi_class="ovr").fit(X, y)
    assert warm.fit(X, y).n_iter_.sum() == 0
    again = warm.set_params(C=5.5).fit(X, y).n_iter_.sum()
    cold = SVC(C=5.5, gamma=0.5, multi_class="ovr").fit(X, y)
    assert again < cold.n_iter_.sum()
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.02)
    pairs = warm.set_params(multi_class="ovo").fit(X, y)
    np.testing.assert_array_equal(pairs.dual_coef_, SVC(C=5.5, gamma=0.5).fit(X, y).dual_coef_)


def test_the_clock_ends_all_machines_together() -> None:
    X, y = points(6, 200)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        model = SVC(C=1e6, gamma=2.0, max_time=0.002, multi_class="ovr").fit(X, y)
    assert len(model.fit_report_) == 6
    assert model.fit_status_ == 1
    assert model.predict(X).shape == y.shape


def test_the_result_does_not_depend_on_threads() -> None:
    X, y = points(5, 60)
    one, two = (SVC(C=5.0, gamma=0.5, multi_class="ovr", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("decision", ["auto", "fuzzy-minimum"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_model_files_keep_the_scheme(tmp_path: Any, decision: str, container: Any) -> None:
    X, y = points()
    model = SVC(**TIGHT, multi_class="ovr", decision=decision).fit(
        container(X), y, sample_weight=np.where(y == 2, 0, 1)
    )
    save_model(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.fit_report_ == model.fit_report_
    with pytest.raises(ModelFileError, match="multi_class='ovo' was set after the fit, which was with 'ovr'"):
        save_model(model.set_params(multi_class="ovo", decision="auto"), tmp_path / "other.wm")


VALUES = st.floats(-5.0, 5.0)


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(3, 6)), elements=VALUES))
def test_memberships_against_all_single_out_the_largest_value(values: Any) -> None:
    memberships = memberships_against_all(values)
    np.testing.assert_array_equal(memberships, fuzzy_one_against_all(values))
    assert (memberships <= 1.0).all()
    # The classes with the largest value are among the best, and alone if there is but one.
    best, largest = (one == one.max(axis=1, keepdims=True) for one in (memberships, values))
    assert (best >= largest).all()
    single = largest.sum(axis=1) == 1
    np.testing.assert_array_equal(best[single], largest[single])


@given(st.integers(3, 5).flatmap(lambda k: arrays(np.float64, (4, k * (k - 1) // 2), elements=VALUES)))
def test_memberships_of_pairs(values: Any) -> None:
    k = {3: 3, 6: 4, 10: 5}[values.shape[1]]
    memberships = tallied(values, k, "fuzzy-minimum")
    np.testing.assert_array_equal(memberships, fuzzy_one_versus_one(values, k))
    clear = (memberships > 0).any(axis=1)  # a class wins all of its pairs
    np.testing.assert_array_equal(memberships.argmax(axis=1)[clear], predict_one_versus_one(values, k)[clear])


def test_fuzzy_decisions_of_both_schemes() -> None:
    X, y = points(5, 40)
    plane = np.random.default_rng(0).uniform(-5.0, 5.0, size=(400, 2))
    against_all = SVC(C=5.0, gamma=0.5, multi_class="ovr").fit(X, y)
    values, predicted = against_all.decision_function(plane), against_all.predict(plane)
    against_all.set_params(decision="fuzzy-minimum")
    np.testing.assert_array_equal(against_all.decision_function(plane), fuzzy_one_against_all(values))
    np.testing.assert_array_equal(against_all.predict(plane), predicted)
    pairs = SVC(C=5.0, gamma=0.5, decision="fuzzy-minimum").fit(X, y)
    memberships = fuzzy_one_versus_one(
        SVC(C=5.0, gamma=0.5, decision_function_shape="ovo").fit(X, y).decision_function(plane), 5
    )
    np.testing.assert_array_equal(pairs.decision_function(plane), memberships)
    np.testing.assert_array_equal(pairs.predict(plane), memberships.argmax(axis=1))
    votes = SVC(C=5.0, gamma=0.5).fit(X, y).predict(plane)
    assert (pairs.predict(plane) != votes).any()  # where no class wins all of its pairs
    assert (pairs.predict(plane) == votes)[memberships.max(axis=1) > 0].all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"multi_class": "ova"}, "multi_class must be one of 'ovo', 'ovr'; got 'ova'."),
        ({"decision": "fuzzy"}, "decision must be one of 'auto', 'votes', 'argmax', 'fuzzy-minimum'; got 'fuzzy'."),
        ({"multi_class": "ovr", "decision": "votes"}, "decision='votes' counts the votes of pairs of classes"),
        ({"decision": "argmax"}, "decision='argmax' compares the decision values of classes"),
        (
            {"multi_class": "ovr", "decision_function_shape": "ovo"},
            "decision_function_shape='ovo' asks for a value for",
        ),
        ({"multi_class": "ovr", "break_ties": False}, "break_ties=False is about votes"),
        ({"decision": "fuzzy-minimum", "break_ties": False}, "break_ties=False is about votes"),
    ],
)
def test_what_means_nothing_is_refused(parameters: Any, message: str) -> None:
    X, y = points()
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        SVC(**parameters).fit(X, y)


def test_parameters_that_are_set_after_the_fit() -> None:
    X, y = points()
    model = SVC(multi_class="ovr").fit(X, y)
    with pytest.raises(ValueError, match="decision='votes' counts"):
        model.set_params(decision="votes").predict(X)
    with pytest.raises(ValueError, match="multi_class was set to 'ovo' after the fit, which was with 'ovr'"):
        model.set_params(decision="auto", multi_class="ovo").predict(X)
    assert model.set_params(multi_class="ovr").predict(X).shape == y.shape


def test_a_class_without_samples_never_wins() -> None:
    X, y = many_class_points(2, 20)
    bounds, how = np.ones(40), {"stop": StopRule(), "options": SolverOptions()}
    problems = classes_against_all(y, 3, bounds)
    found = solve_pairs(row_source(X, gamma=0.5), y, 3, bounds, problems=problems, **how)
    expansion = OneVersusRest(3).expansion(found, y, bounds)
    assert expansion.intercept[2] == ABSENT
    assert not expansion.dual_coef[2].any()
    assert expansion.intercept[0] == found[0].solution.intercept
    np.testing.assert_array_equal(expansion.dual_coef[1], found[1].solution.alpha[expansion.support])

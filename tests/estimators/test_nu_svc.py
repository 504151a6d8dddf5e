"""NuSVC: scikit-learn's answers, weights, refusals, threads, warm starts."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from oracles.estimators import gram_of
from widemargin import SVC, NuSVC
from widemargin.testing import many_class_points
from widemargin.testing.oracles import as_matrix


def _standardised(loader: Callable[..., Any], rows: int | None = None) -> tuple[Any, Any]:
    X, y = loader(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return StandardScaler().fit_transform(X)[order], y[order]


def _words(classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, size=240)
    rates = np.full((classes, 300), 0.01)
    for k in range(classes):
        rates[k, 20 * k : 20 * k + 20] = 0.12
    return sparse.csr_array(rng.poisson(rates[y]).astype(np.float64)), y


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "iris": lambda: _standardised(datasets.load_iris),
    "wine": lambda: _standardised(datasets.load_wine),
    "breast-cancer": lambda: _standardised(datasets.load_breast_cancer, 300),
    "digits": lambda: _standardised(datasets.load_digits, 300),
    "moons": lambda: datasets.make_moons(200, noise=0.3, random_state=0),
    "words": lambda: _words(2),
    "words-of-three-classes": lambda: _words(3),
}
#: Where nu is too small for a kernel there is no margin, and scikit-learn's machine is made of rounding. Where nu n / 2
#: is a whole number there may be no variable inside its bounds, and the margin is not unique.
SETTINGS: dict[str, dict[str, Any]] = {
    "rbf": {"nu": 0.3},
    "narrow-rbf-of-small-nu": {"nu": 0.08, "gamma": 5.0},
    "linear": {"nu": 0.5, "kernel": "linear"},
    "poly": {"nu": 0.5, "kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.05},
    "sigmoid": {"nu": 0.613, "kernel": "sigmoid", "gamma": 0.001},
}


@cache
def load(name: str) -> tuple[Any, Any]:
    X, y = DATA[name]()
    # Of equal rows only the sum of their variables is unique.
    _, distinct = np.unique(as_matrix(X), axis=0, return_index=True)
    return X[np.sort(distinct)], y[np.sort(distinct)]


def fit_both(name: str, **parameters: Any) -> tuple[NuSVC, sklearn.svm.NuSVC, Any, Any]:
    X, y = load(name)
    weights = parameters.pop("sample_weight", None)
    ours = NuSVC(**parameters, tol=1e-7, decision_function_shape="ovo").fit(X, y, sample_weight=weights)
    theirs = sklearn.svm.NuSVC(**parameters, tol=1e-9, decision_function_shape="ovo").fit(X, y, sample_weight=weights)
    return ours, theirs, X, y


def coefficients(model: Any, n: int) -> list[np.ndarray]:
    """The signed variables of each pair over all rows."""
    dual_coef, owners = as_matrix(model.dual_coef_), np.repeat(np.arange(len(model.classes_)), model.n_support_)
    found = []
    for i, j in combinations(range(len(model.classes_)), 2):
        whole = np.zeros(n)
        for owner, row in ((i, j - 1), (j, i)):
            whole[model.support_[owners == owner]] = dual_coef[row, owners == owner]
        found.append(whole)
    return found


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", DATA)
def test_everything_agrees_with_scikit_learn(name: str, setting: str) -> None:
    ours, theirs, X, y = fit_both(name, **SETTINGS[setting])
    assert ours.fit_report_.converged
    K = gram_of(theirs, X)
    mine, reference = coefficients(ours, len(y)), coefficients(theirs, len(y))
    for one, other, entry, (i, j) in zip(
        mine, reference, ours.fit_report_, combinations(range(len(ours.classes_)), 2), strict=True
    ):
        size = np.isin(y, ours.classes_[[i, j]]).sum()
        # In the scale of the problem, in which the variables sum to nu n in absolute value.
        scales = [SETTINGS[setting]["nu"] * size / np.abs(a).sum() for a in (one, other)]
        values = [0.5 * (s * a) @ K @ (s * a) for s, a in zip(scales, (one, other), strict=True)]
        assert values[0] == pytest.approx(values[1], rel=1e-4)
        assert values[0] <= values[1] * (1.0 + 1e-7)
        np.testing.assert_allclose(scales[0] * one, scales[1] * other, atol=1e-3)
        sign = 1.0 if len(ours.classes_) == 2 else -1.0
        labels = np.where(y == ours.classes_[i], -sign, sign)
        dual = np.abs(one).sum() - 0.5 * one @ K @ one
        assert entry.objective == pytest.approx(dual, rel=1e-6)
        assert (labels * one >= 0.0).all()
        assert entry.kkt_violation <= 1e-7
        assert entry.duality_gap <= 1e-4 * dual
    scale = max(1.0, np.abs(theirs.decision_function(X)).max())
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3 * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3 * scale)
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.support_.dtype == theirs.support_.dtype
    assert type(ours.dual_coef_) is type(theirs.dual_coef_)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]


@pytest.mark.parametrize("name", ["iris", "breast-cancer", "words-of-three-classes"])
def test_sample_weights_agree_with_scikit_learn(name: str) -> None:
    _, y = load(name)
    weights = np.random.default_rng(8).uniform(0.5, 2.0, size=len(y))
    ours, theirs, X, _ = fit_both(name, nu=0.3, gamma=0.1, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_shapes_and_votes_agree_with_scikit_learn(shape: str) -> None:
    X, y = load("digits")
    ours, theirs = (
        Class(nu=0.1, gamma=0.02, decision_function_shape=shape, break_ties=False, tol=1e-6).fit(X, y)
        for Class in (NuSVC, sklearn.svm.NuSVC)
    )
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 1.0 - 1.0 / len(y)


def test_precomputed_and_callable_kernels_agree() -> None:
    X, y = load("iris")
    plain = NuSVC(nu=0.2, gamma=0.3, tol=1e-8).fit(X, y)
    K = gram_of(plain, X)
    given = NuSVC(nu=0.2, kernel="precomputed", tol=1e-8).fit(K, y)
    called = NuSVC(nu=0.2, kernel=lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)), tol=1e-8).fit(
        X, y
    )
    np.testing.assert_allclose(given.decision_function(K), plain.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(called.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_weight_two_is_a_repeated_row_and_weight_zero_none() -> None:
    X, y = many_class_points(3, 40)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = NuSVC(nu=0.3, tol=1e-9, decision_function_shape="ovo")
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    heavier = clone(model).set_params(class_weight={0: 2.0}, gamma=0.5).fit(X, y)
    twice = np.append(np.arange(len(y)), np.flatnonzero(y == 0))
    again = clone(model).set_params(gamma=0.5).fit(X[twice], y[twice])
    np.testing.assert_allclose(heavier.decision_function(X), again.decision_function(X), atol=1e-6)
    assert heavier.class_weight_.tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5])
def test_it_is_the_machine_of_the_price_it_amounts_to(nu: float) -> None:
    X, y = load("moons")
    model = NuSVC(nu=nu, gamma=2.0, tol=1e-8).fit(X, y)
    priced = SVC(C=np.abs(model.dual_coef_).max(), gamma=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), priced.decision_function(X), atol=1e-5)
    assert model.fit_report_[0].objective == pytest.approx(priced.fit_report_[0].objective, rel=1e-6)
    errors = np.mean(model.decision_function(X) * np.where(y == 1, 1.0, -1.0) < 1.0 - 1e-6)
    assert errors <= nu <= len(model.support_) / len(y)


def _never(A: Any, B: Any) -> Any:
    raise AssertionError("the kernel was computed")


def test_an_infeasible_nu_is_refused_before_the_kernel_is_computed() -> None:
    X = np.random.default_rng(0).normal(size=(13, 2))
    y = np.repeat(["many", "few", "some"], [6, 3, 4])
    words = r"nu is infeasible: nu=0\.7 exceeds 0\.666667, the largest value for classes 'few' and 'many'.* 3 and 6\.$"
    with pytest.raises(ValueError, match=words):
        NuSVC(nu=0.7, kernel=_never).fit(X, y)
    weights = np.where(y == "some", 0.1, 1.0)
    with pytest.raises(ValueError, match=r"exceeds 0\.125.* 'many' and 'some'.* 6 and 0\.4\.$"):
        NuSVC(nu=0.5, kernel=_never).fit(X, y, sample_weight=weights)
    NuSVC(nu=0.9, class_weight="balanced").fit(X, y)
    NuSVC(nu=2.0 * 3.0 / 9.0).fit(X, y)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.5, np.nan, np.inf, "half", None, True])
def test_a_nu_that_is_no_share_is_refused(nu: Any) -> None:
    X, y = many_class_points(2, 20)
    with pytest.raises(ValueError, match="nu must be a number above 0"):
        NuSVC(nu=nu).fit(X, y)


@pytest.mark.parametrize("solver", ["mdm", "maxminover", "newton"])
def test_solvers_that_cannot_are_refused_in_one_sentence(solver: str) -> None:
    X, y = many_class_points(2, 20)
    with pytest.raises(ValueError, match=f"solver.*{solver}") as caught:
        NuSVC(solver=solver).fit(X, y)
    assert str(caught.value).count(". ") == 0


def test_hulls_that_meet_get_a_warning() -> None:
    X, y = load("iris")
    with pytest.warns(ConvergenceWarning, match="nu=0.05 is too small for classes 1 and 2: they overlap"):
        model = NuSVC(nu=0.05, kernel="linear").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    X, y = many_class_points(4, 120)
    for solver in ("auto", "smo", "block"):
        models = [NuSVC(nu=0.3, gamma=0.5, solver=solver, n_jobs=n).fit(X, y) for n in (1, 2, 3)]
        for other in models[1:]:
            assert np.array_equal(other.dual_coef_, models[0].dual_coef_)
            assert np.array_equal(other.intercept_, models[0].intercept_)


def test_warm_starts_are_only_a_matter_of_speed() -> None:
    X, y = many_class_points(3, 100)
    warm = NuSVC(nu=0.3, gamma=0.5, solver="smo", warm_start=True).fit(X, y)
    warm.set_params(nu=0.31).fit(X, y)
    cold = NuSVC(nu=0.31, gamma=0.5, solver="smo").fit(X, y)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-2)
    weights = np.where(np.arange(300) % 4 == 0, 0.0, 1.0)
    warm.set_params(tol=1e-6).fit(X, (y + 1) % 3, sample_weight=weights)
    cold = NuSVC(nu=0.31, gamma=0.5, solver="smo", tol=1e-6).fit(X, (y + 1) % 3, sample_weight=weights)
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)


def test_pickling_and_cloning() -> None:
    X, y = many_class_points(3, 40)
    model = NuSVC(nu=0.2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_budgets_and_printed_reports(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = many_class_points(2, 200)
    with pytest.warns(ConvergenceWarning, match="iteration budget"):
        model = NuSVC(nu=0.3, gamma=5.0, max_iter=5, verbose=True, solver="smo").fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [5]
    assert "iteration budget" in capsys.readouterr().out
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("tol", [1e-323, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("scale", [1e-70, 1.0, 1e12])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_tolerance_is_a_tolerance(kernel: str, scale: float, tol: float) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NuSVC(kernel=kernel, tol=tol, max_iter=1000).fit(scale * X, y)
    assert np.isfinite(model.decision_function(scale * X)).all()

"""The same answers as scikit-learn's SVC: objective, decision values, support vectors and the layout of everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from oracles.estimators import gram_of, pair_solutions
from widemargin import SVC
from widemargin.testing import check_feasible
from widemargin.testing.oracles import as_matrix


def _standardised(loader: Callable[..., Any], rows: int | None = None) -> tuple[Any, Any]:
    X, y = loader(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return StandardScaler().fit_transform(X)[order], y[order]


def _words(classes: int) -> tuple[Any, Any]:
    """Rows like short texts: counts of a few out of many words, some words typical of a class."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, size=240)
    rates = np.full((classes, 300), 0.01)
    for k in range(classes):
        rates[k, 20 * k : 20 * k + 20] = 0.12
    return sparse.csr_array(rng.poisson(rates[y]).astype(np.float64)), y


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "iris": lambda: _standardised(datasets.load_iris),
    "wine": lambda: _standardised(datasets.load_wine),
    "breast-cancer": lambda: _standardised(datasets.load_breast_cancer, 400),
    "digits": lambda: _standardised(datasets.load_digits, 400),
    "moons": lambda: datasets.make_moons(200, noise=0.3, random_state=0),
    "circles": lambda: datasets.make_circles(150, noise=0.15, factor=0.5, random_state=1),
    "blobs": lambda: datasets.make_blobs(150, centers=5, cluster_std=2.0, random_state=2),
    "noisy": lambda: datasets.make_classification(250, 10, n_informative=4, flip_y=0.1, random_state=3),
    "imbalanced": lambda: datasets.make_classification(250, 6, weights=[0.9], flip_y=0.05, random_state=4),
    "four-classes": lambda: datasets.make_classification(240, 8, n_informative=6, n_classes=4, random_state=5),
    "quantiles": lambda: datasets.make_gaussian_quantiles(n_samples=200, n_features=3, n_classes=3, random_state=6),
    "words": lambda: _words(2),
    "words-of-three-classes": lambda: _words(3),
    "sparse-digits": lambda: (
        sparse.csr_matrix(datasets.load_digits().data[:300] / 16.0),
        datasets.load_digits().target[:300],
    ),
}
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "rbf-narrow": {"kernel": "rbf", "gamma": 0.5, "C": 10.0},
    "linear": {"kernel": "linear", "C": 0.1},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.05},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0},
}


@cache
def load(name: str) -> tuple[Any, Any]:
    return DATA[name]()


def fit_both(name: str, **parameters: Any) -> tuple[SVC, sklearn.svm.SVC, Any, Any]:
    X, y = load(name)
    weights = parameters.pop("sample_weight", None)
    ours, theirs = (Class(**parameters).fit(X, y, sample_weight=weights) for Class in (SVC, sklearn.svm.SVC))
    return ours, theirs, X, y


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DATA)
def test_objectives_agree_at_the_default_tolerance(name: str, kernel: str) -> None:
    ours, theirs, X, y = fit_both(name, **KERNELS[kernel], decision_function_shape="ovo")
    gram = gram_of(theirs, X)
    for mine, reference in zip(
        pair_solutions(ours, X, y, gram=gram), pair_solutions(theirs, X, y, gram=gram), strict=True
    ):
        check_feasible(mine.case, mine.alpha)
        assert mine.certificate.kkt_violation <= 1.001e-3, mine.case
        assert mine.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-4), mine.case
        assert mine.intercept == pytest.approx(mine.certificate.intercept, abs=1e-3), mine.case
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.05)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DATA)
def test_everything_agrees_at_a_tight_tolerance(name: str, kernel: str) -> None:
    ours, theirs, X, y = fit_both(name, **KERNELS[kernel], tol=1e-6, decision_function_shape="ovo")
    gram = gram_of(theirs, X)
    for mine, reference in zip(
        pair_solutions(ours, X, y, gram=gram), pair_solutions(theirs, X, y, gram=gram), strict=True
    ):
        check_feasible(mine.case, mine.alpha)
        assert mine.certificate.kkt_violation <= 1.01e-6, mine.case
        # scikit-learn keeps kernel values in float32, so that it may fall short of the optimum; it cannot exceed it.
        assert mine.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-6), mine.case
        assert mine.certificate.objective >= reference.certificate.objective * (1.0 - 1e-8), mine.case
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert np.array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize("kernel", ["rbf", "rbf-narrow"])
@pytest.mark.parametrize("name", DATA)
def test_support_vectors_and_coefficients_agree(name: str, kernel: str) -> None:
    # Gaussian kernels of distinct rows are strictly positive definite: the optimal variables are unique.
    X, y = load(name)
    _, distinct = np.unique(as_matrix(X), axis=0, return_index=True)
    X, y = X[np.sort(distinct)], y[np.sort(distinct)]
    ours, theirs = (Class(**KERNELS[kernel], tol=1e-7).fit(X, y) for Class in (SVC, sklearn.svm.SVC))
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.support_.dtype == theirs.support_.dtype
    mine, reference = (
        m.dual_coef_.toarray() if sparse.issparse(m.dual_coef_) else m.dual_coef_ for m in (ours, theirs)
    )
    assert mine.shape == reference.shape
    np.testing.assert_allclose(mine, reference, atol=2e-3 * ours.C)
    mine, reference = (
        m.support_vectors_.toarray() if sparse.issparse(m.support_vectors_) else m.support_vectors_
        for m in (ours, theirs)
    )
    assert np.array_equal(mine, reference)


@pytest.mark.parametrize("name", ["iris", "breast-cancer", "words", "words-of-three-classes", "blobs"])
def test_linear_coefficients_agree(name: str) -> None:
    ours, theirs, _, _ = fit_both(name, kernel="linear", C=0.1, tol=1e-7)
    mine, reference = (m.coef_.toarray() if sparse.issparse(m.coef_) else m.coef_ for m in (ours, theirs))
    assert mine.shape == reference.shape
    np.testing.assert_allclose(mine, reference, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("name", ["iris", "imbalanced", "four-classes", "words"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights_agree(name: str, class_weight: Any) -> None:
    ours, theirs, X, y = fit_both(name, gamma=0.2, class_weight=class_weight, tol=1e-6)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    for mine, reference in zip(pair_solutions(ours, X, y), pair_solutions(theirs, X, y), strict=True):
        assert mine.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("name", ["iris", "noisy", "four-classes", "words-of-three-classes"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sample_weights_agree(name: str, kernel: str) -> None:
    _, y = load(name)
    weights = np.random.default_rng(8).exponential(size=len(y))
    ours, theirs, X, _ = fit_both(name, kernel=kernel, gamma=0.2, C=0.5, sample_weight=weights, tol=1e-6)
    pairs = (pair_solutions(model, X, y, sample_weight=weights) for model in (ours, theirs))
    for mine, reference in zip(*pairs, strict=True):
        check_feasible(mine.case, mine.alpha)
        assert mine.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("name", ["moons", "iris", "digits"])
def test_precomputed_and_callable_kernels_agree(name: str) -> None:
    X, y = load(name)
    K = gram_of(sklearn.svm.SVC(gamma=0.3), X)
    theirs = sklearn.svm.SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    ours = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    called = SVC(kernel=lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)), tol=1e-6).fit(X, y)
    assert np.array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=2e-3)
    np.testing.assert_allclose(ours.decision_function(K), theirs.decision_function(K), atol=1e-3)
    np.testing.assert_allclose(called.decision_function(X), theirs.decision_function(K), atol=1e-3)
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("name", ["moons", "iris", "digits", "words-of-three-classes"])
def test_shapes_predictions_and_votes_agree(name: str, shape: str) -> None:
    ours, theirs, X, _ = fit_both(name, gamma=0.1, decision_function_shape=shape, break_ties=False, tol=1e-6)
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 1.0 - 1.0 / X.shape[0]


def test_labels_of_any_kind() -> None:
    X, y = load("iris")
    names = np.array(["setosa", "versicolor", "virginica"])
    expected = SVC().fit(X, y).predict(X)
    for labels in (names[y], y * 10 - 7, y.astype(np.float64), names[y].astype(object)):
        model = SVC().fit(X, labels)
        assert np.array_equal(model.classes_, np.unique(labels))
        assert np.array_equal(model.predict(X), np.unique(labels)[expected])


def test_fitted_attributes_have_scikit_learns_names_and_types() -> None:
    for name in ("moons", "iris"):
        ours, theirs, _, _ = fit_both(name)
        for attribute in (
            "class_weight_",
            "classes_",
            "dual_coef_",
            "fit_status_",
            "intercept_",
            "n_features_in_",
            "n_iter_",
            "n_support_",
            "shape_fit_",
            "support_",
            "support_vectors_",
        ):
            mine, reference = getattr(ours, attribute), getattr(theirs, attribute)
            assert type(mine) is type(reference), attribute
            if isinstance(reference, np.ndarray):
                assert mine.ndim == reference.ndim, attribute
                assert mine.dtype.kind == reference.dtype.kind, attribute
        assert not hasattr(ours, "coef_")
        assert ours.fit_status_ == 0
        assert ours.shape_fit_ == theirs.shape_fit_


@pytest.mark.parametrize("name", ["iris", "moons", "words-of-three-classes"])
def test_the_report_tells_the_truth(name: str) -> None:
    X, y = load(name)
    model = SVC(gamma=0.2).fit(X, y)
    pairs = pair_solutions(model, X, y)
    assert len(model.fit_report_) == len(pairs)
    for entry, pair, iterations in zip(model.fit_report_, pairs, model.n_iter_, strict=True):
        assert tuple(entry.classes) == tuple(model.classes_[list(pair.classes)])
        assert entry.reason == "converged"
        assert entry.kkt_violation == pytest.approx(pair.certificate.kkt_violation, abs=1e-8)
        assert entry.duality_gap == pytest.approx(pair.certificate.duality_gap, abs=1e-6)
        assert entry.objective == pytest.approx(pair.certificate.objective, rel=1e-9)
        assert entry.iterations == iterations > 0
        assert entry.seconds > 0.0
        assert entry.n_support == np.count_nonzero(pair.alpha)
    assert model.fit_report_[0].kernel_evaluations > 0  # the first pair pays for what all of them share


@pytest.mark.parametrize(
    ("name", "rows", "parameters"),
    [
        ("raetsch_banana", 800, {"C": 100.0, "gamma": 0.25}),
        ("heart", 270, {"C": 10.0, "gamma": 0.05}),
        ("a9a", 800, {"C": 4.0, "gamma": 0.03}),
        ("vowel", 528, {"C": 16.0, "gamma": 0.5}),
    ],
)
def test_public_data_sets_agree(data_folder: Path, name: str, rows: int, parameters: dict[str, float]) -> None:
    stored = np.load(data_folder / f"{name}.npz")
    y = stored["y"][:rows]
    if "indptr" in stored.files:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        X = sparse.csr_array(parts, shape=tuple(stored["shape"])).astype(np.float64)[:rows]
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    else:
        X = stored["X"][:rows].astype(np.float64)
    ours, theirs = (Class(**parameters, tol=1e-5).fit(X, y) for Class in (SVC, sklearn.svm.SVC))
    gram = gram_of(theirs, X)
    pairs = (pair_solutions(model, X, y, gram=gram) for model in (ours, theirs))
    for mine, reference in zip(*pairs, strict=True):
        assert mine.certificate.kkt_violation <= 1.001e-5, mine.case
        assert mine.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-5), mine.case

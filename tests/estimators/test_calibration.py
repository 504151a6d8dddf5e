"""SVC.predict_proba: calibrated, consistent with predict, deterministic, true to weights."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from widemargin import SVC
from widemargin.datasets import twonorm
from widemargin.estimators import calibration
from widemargin.estimators.out_of_fold import N_FOLDS, OutOfFold, content_folds, row_keys
from widemargin.kernels import DiagonalGaussian
from widemargin.kernels.rows import kernel_matrix
from widemargin.machines import held_out
from widemargin.machines.dual import StopRule
from widemargin.machines.sigmoid import fit_platt, fit_slope, slope_for_no_error
from widemargin.persistence.model_file import ModelFileError, load_model, save_model
from widemargin.testing import many_class_points

MACHINES: list[dict[str, Any]] = [
    {},
    {"loss": "squared_hinge"},
    {"fit_intercept": False, "kernel": "linear"},
    {"loss": "squared_hinge", "fit_intercept": False, "solver": "mdm"},
    {"C": np.inf, "gamma": 5.0},
    {"class_weight": "balanced", "solver": "block"},
    {"multi_class": "ovr"},
    {"multi_class": "ovr", "decision": "fuzzy-minimum"},
    {"decision": "fuzzy-minimum"},
    {"break_ties": False},
    {"decision_function_shape": "ovo"},
]


def noisy(n: int = 400, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.2, random_state=seed
    )


def check_probabilities(model: SVC, X: Any) -> None:
    p = model.predict_proba(X)
    assert p.shape == (p.shape[0], len(model.classes_))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    assert (p > 0).all()
    assert (p < 1).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(np.log(p), model.predict_log_proba(X))


@pytest.mark.parametrize("sigmoid", ["slope", "platt"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("parameters", MACHINES)
@pytest.mark.filterwarnings("ignore:C=inf asks for a hard margin")
def test_the_likeliest_class_is_predicted(parameters: Any, n_classes: int, sigmoid: str) -> None:
    X, y = many_class_points(n_classes, 60 // n_classes)
    model = SVC(calibration="folds", calibration_method=sigmoid, **parameters).fit(X, y)
    assert model.sigmoids_.shape == (len(model.intercept_), 2)
    assert (model.sigmoids_[:, 0] >= 0).all()
    plane = np.random.default_rng(0).uniform(-4.0, 4.0, size=(300, 2))
    check_probabilities(model, np.vstack([plane, X, 1e3 * plane[:10]]))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(6, 40),
    n_classes=st.integers(2, 5),
    parameters=st.fixed_dictionaries(
        {
            "calibration_method": st.sampled_from(["slope", "platt"]),
            "multi_class": st.sampled_from(["ovo", "ovr"]),
            "decision": st.sampled_from(["auto", "fuzzy-minimum"]),
            "C": st.sampled_from([0.01, 1.0, 100.0]),
            "gamma": st.sampled_from([0.01, 1.0, 50.0]),
        }
    ),
)
def test_the_likeliest_class_is_predicted_whatever_the_labels(
    seed: int, n: int, n_classes: int, parameters: Any
) -> None:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 2)).round(1)
    y = generator.integers(0, n_classes, n)
    y[:2] = 0, 1
    model = SVC(calibration="folds", **parameters).fit(X, y)
    check_probabilities(model, np.vstack([X, generator.normal(size=(30, 2)).round(1)]))


def test_two_classes_on_the_boundary_and_far_from_it() -> None:
    X, y = np.array([[-1.0], [1.0], [-2.0], [2.0], [-3.0], [3.0]]), np.array([0, 1, 0, 1, 0, 1])
    model = SVC(kernel="linear", calibration="folds").fit(X, y)
    assert model.decision_function([[0.0]]) == pytest.approx(0.0, abs=1e-12)
    model.intercept_[:] = 0.0
    np.testing.assert_array_equal(model.predict_proba([[0.0]]), [[0.5, 0.5]])
    assert model.predict([[0.0]]) == 0
    far = model.predict_proba([[1e6], [-1e6]])
    assert (far > 0).all()
    assert (far < 1).all()
    model.sigmoids_[:] = 1.0, 50.0  # an offset that contradicts most predictions
    check_probabilities(model, X)
    np.testing.assert_array_equal(model.predict_proba([[-1.0]]), [[0.5, 0.5]])
    model.sigmoids_[:] = 1.0, -50.0
    check_probabilities(model, X)
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[0.5, 0.5]], atol=1e-15)


def naive_out_of_fold(model: SVC, X: Any, y: Any, folds: Any, weights: Any) -> Any:
    values = np.empty(len(y))
    for fold in range(N_FOLDS):
        own = clone(model).set_params(calibration=None, calibration_method="slope")
        own.fit(X[folds != fold], y[folds != fold], sample_weight=weights[folds != fold])
        values[folds == fold] = own.decision_function(X[folds == fold])
    return values


@pytest.mark.parametrize("sigmoid", ["slope", "platt"])
def test_sigmoids_are_fitted_to_the_values_of_rows_held_out(sigmoid: str) -> None:
    X, y = noisy(200)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = SVC(gamma=0.2, tol=1e-7, calibration="folds", calibration_method=sigmoid).fit(X, y, sample_weight=weights)
    values = naive_out_of_fold(model, X, y, content_folds(X, y, weights), weights)
    signs = np.where(y == 1, 1.0, -1.0)
    if sigmoid == "slope":
        expected = fit_slope(values, signs, weights, largest=slope_for_no_error(values, weights))
    else:
        expected = fit_platt(values, signs, weights)
    np.testing.assert_allclose(model.sigmoids_, [[expected.slope, expected.offset]], rtol=1e-4, atol=1e-4)
    f = model.decision_function(X)
    p = expected.probabilities(f)
    on_their_side = np.where(f > 0, np.maximum(p, 0.5), np.minimum(p, 0.5))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], on_their_side, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_as_good_as_those_of_scikit_learns_wrapper(seed: int, n_classes: int) -> None:
    X, y = noisy(3400, n_classes, seed)
    X, X_test, y, y_test = X[:400], X[400:], y[:400], y[400:]
    machine = SVC(gamma=0.1)
    theirs = CalibratedClassifierCV(machine, ensemble=False, cv=5).fit(X, y)
    their_loss = log_loss(y_test, theirs.predict_proba(X_test))
    for parameters in ({}, {"calibration_method": "platt"}, {"multi_class": "ovr"}):
        ours = SVC(gamma=0.1, calibration="folds", **parameters).fit(X, y)
        p = ours.predict_proba(X_test)
        assert log_loss(y_test, p) <= their_loss + 0.03
        onehot = y_test[:, None] == ours.classes_
        brier = np.mean(np.sum((p - onehot) ** 2, axis=1))
        assert brier <= np.mean(np.sum((theirs.predict_proba(X_test) - onehot) ** 2, axis=1)) + 0.01


def test_what_is_said_to_be_likely_comes_true() -> None:
    X, y = twonorm(4000, random_state=0)
    X = X[:, :4]  # fewer features: classes overlap
    p = SVC(C=1.0, gamma=0.1, calibration="folds").fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
    for low in np.arange(0.0, 1.0, 0.2):
        some = (p >= low) & (p < low + 0.2)
        assert some.sum() > 100
        assert np.mean(y[1000:][some] == np.unique(y)[1]) == pytest.approx(p[some].mean(), abs=0.07)


def test_separable_rows_make_no_claims_beyond_their_number() -> None:
    generator = np.random.default_rng(0)
    X = np.vstack([generator.normal(-4.0, 0.5, size=(50, 2)), generator.normal(4.0, 0.5, size=(50, 2))])
    y = np.repeat([0, 1], 50)
    model = SVC(calibration="folds").fit(X, y)
    errors = model.predict_proba(X).min(axis=1)
    assert 0.003 < errors.mean() < 0.03  # 1 / 102 on the rows held out


def test_the_machine_is_the_same_with_and_without_probabilities() -> None:
    X, y = noisy(300, 3)
    plain, calibrated = SVC().fit(X, y), SVC(calibration="folds").fit(X, y)
    np.testing.assert_array_equal(plain.dual_coef_, calibrated.dual_coef_)
    np.testing.assert_array_equal(plain.intercept_, calibrated.intercept_)
    assert not hasattr(plain, "sigmoids_")


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"cache_size": 0.05}])
def test_the_result_is_the_same_again_and_for_every_number_of_threads(parameters: Any) -> None:
    X, y = noisy(300, 3)
    first, again, threads = (
        SVC(calibration="folds", n_jobs=n_jobs, **parameters).fit(X, y).sigmoids_ for n_jobs in (1, 1, 3)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, threads)


@pytest.mark.parametrize("sigmoid", ["slope", "platt"])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_weights_count_rows_and_their_order_does_not_matter(sigmoid: str, scheme: str) -> None:
    X, y = noisy(150, 3)
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    parameters = {
        "calibration": "folds",
        "calibration_method": sigmoid,
        "multi_class": scheme,
        "tol": 1e-8,
        "gamma": 0.2,
    }
    weighted = SVC(**parameters).fit(X, y, sample_weight=counts)
    order = np.random.default_rng(2).permutation(int(counts.sum()))
    repeated = SVC(**parameters).fit(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order])
    removed = SVC(**parameters).fit(X[counts > 0], y[counts > 0], sample_weight=counts[counts > 0])
    for other in (repeated, removed):
        np.testing.assert_allclose(weighted.sigmoids_, other.sigmoids_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(weighted.predict_proba(X), other.predict_proba(X), atol=1e-4)


def test_folds_are_stratified_and_keep_equal_rows_together() -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 6, size=(300, 2)).astype(float)
    y = generator.choice(3, 300, p=[0.7, 0.25, 0.05])
    folds = content_folds(X, y, np.ones(300))
    for c in range(3):
        rows = X[y == c]
        different, where = np.unique(rows, axis=0, return_inverse=True)
        of_rows = [set(folds[y == c][where.ravel() == k]) for k in range(len(different))]
        assert all(len(own) == 1 for own in of_rows)
        sizes = np.bincount([next(iter(own)) for own in of_rows], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1
    by_place = content_folds(None, y, np.where(np.arange(300) % 7 == 0, 0.0, 1.0))
    assert (by_place[::7] == -1).all()
    assert np.ptp(np.bincount(by_place[by_place >= 0])) <= 1


def test_keys_of_rows_do_not_depend_on_their_container() -> None:
    X = np.random.default_rng(0).integers(-2, 3, size=(1000, 400)).astype(np.float32)
    X[1] = X[0]
    keys = row_keys(X)
    assert len(np.unique(keys)) == 999
    for other in (X.astype(np.float64), sp.csr_matrix(X), sp.csr_array(X), np.where(X == 0, -0.0, X)):
        np.testing.assert_array_equal(row_keys(other), keys)
    assert row_keys(X[:1, ::-1])[0] != keys[0]


def test_keys_of_sparse_rows_do_not_depend_on_how_entries_are_stored() -> None:
    X = np.random.default_rng(0).integers(-2, 3, size=(300, 40))
    n, d = X.shape
    keys = row_keys(X)
    columns, begins = np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
    parts = np.concatenate((X - 3, np.full(X.shape, 3)), axis=1)
    ways = {
        "explicit zeros": sp.csr_array((X.ravel(), columns, begins), shape=X.shape),
        "negative zeros": sp.csr_array((np.where(X == 0, -0.0, X).ravel(), columns, begins), shape=X.shape),
        "unsorted": sp.csr_array((X[:, ::-1].ravel(), np.tile(np.arange(d)[::-1], n), begins), shape=X.shape),
        "twice": sp.csr_array((parts.ravel(), np.tile(np.arange(d), 2 * n), 2 * begins), shape=X.shape),
        "twice, in floats": sp.csr_array((parts.ravel() / 1.0, np.tile(np.arange(d), 2 * n), 2 * begins)),
        "columns": sp.csc_array(X),
        "float32": sp.csr_array(X.astype(np.float32)),
        "int8": sp.csr_array(X.astype(np.int8)),
    }
    for name, rows in ways.items():
        before = rows.copy()
        np.testing.assert_array_equal(row_keys(rows), keys, err_msg=name)
        assert np.array_equal(rows.data, before.data), f"{name}: the rows given were changed"


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows(container: Any) -> None:
    X, y = noisy(200)
    dense, sparse = (SVC(gamma=0.1, tol=1e-7, calibration="folds").fit(given, y) for given in (X, container(X)))
    np.testing.assert_allclose(dense.sigmoids_, sparse.sigmoids_, rtol=1e-4)


def test_kernels_that_are_given_called_or_objects() -> None:
    X, y = noisy(150)
    K = kernel_matrix(X, kernel="rbf", gamma=0.1, dtype="float64")
    given = SVC(kernel="precomputed", tol=1e-7, calibration="folds").fit(K, y)
    check_probabilities(given, K)

    def gaussian(A: Any, B: Any) -> Any:
        return np.exp(-0.1 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    called = SVC(kernel=gaussian, tol=1e-7, calibration="folds").fit(X, y)
    named = SVC(gamma=0.1, tol=1e-7, calibration="folds").fit(X, y)
    np.testing.assert_allclose(called.sigmoids_, named.sigmoids_, rtol=1e-3)
    own = SVC(kernel=DiagonalGaussian(gammas=[0.1] * 6), tol=1e-7, calibration="folds").fit(X, y)
    np.testing.assert_allclose(own.sigmoids_, named.sigmoids_, rtol=1e-3)

    def common(A: Any, B: Any) -> Any:
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    words, labels = ["abc", "abd", "xyz", "xyw", "acd", "yzw"] * 3, [0, 0, 1, 1, 0, 1] * 3
    objects = SVC(kernel=common, calibration="folds").fit(words, labels)
    assert objects.predict_proba(words).argmax(axis=1).tolist() == labels


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_indefinite_kernels_have_probabilities_or_are_refused_in_a_sentence(fit_intercept: bool) -> None:
    ends = set()
    for seed in range(12):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(40, 3)), random.integers(0, 2, size=40)
        K = np.tanh(X @ X.T - 1.0) if seed % 2 else np.diag(random.choice([-1.0, 1.0], size=40))
        model = SVC(kernel="precomputed", loss="squared_hinge", C=1e3, fit_intercept=fit_intercept, max_iter=2000)
        try:
            probabilities = model.set_params(calibration="folds").fit(K, y).predict_proba(K)
            assert np.isfinite(probabilities).all()
            ends.add("")
        except ValueError as problem:
            ends.add(str(problem))
    assert all("semidefinite" in end for end in ends if end)


def test_a_class_that_is_never_held_out_with_another_row_of_it() -> None:
    X, y = many_class_points(3, 20)
    y = np.where(np.arange(60) == 7, 3, y)  # a class of one row
    for parameters in ({}, {"multi_class": "ovr"}, {"calibration_method": "platt"}):
        check_probabilities(SVC(calibration="folds", **parameters).fit(X, y), X)
    two = SVC(calibration="folds").fit(X, np.arange(60) == 7)
    check_probabilities(two, X)


def test_a_class_without_weight_has_no_probability() -> None:
    X, y = many_class_points(3, 20)
    for parameters in ({}, {"multi_class": "ovr"}):
        model = SVC(calibration="folds", **parameters).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
        check_probabilities(model, X)
        assert model.predict_proba(X)[:, 1].max() < 1e-5


def test_without_calibration_there_are_no_probabilities() -> None:
    X, y = noisy(60)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(NotFittedError, match="calibration='folds' was set after the fit"):
        model.set_params(calibration="folds").predict_proba(X)
    with pytest.raises(NotFittedError):
        SVC(calibration="folds").predict_proba(X)
    calibrated = SVC(calibration="folds").fit(X, y)
    assert not hasattr(calibrated.set_params(calibration=None).fit(X, y), "sigmoids_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"calibration": True}, "calibration must be one of None, 'folds', 'from-search'; got True."),
        (
            {"calibration": "folds", "calibration_method": "none"},
            "calibration_method must be one of",
        ),
        (
            {"calibration_method": "platt"},
            "calibration_method='platt' requires probabilities; pass probability=True",
        ),
        ({"calibration": "from-search"}, "calibration='from-search' needs the held-out decision values of a search"),
    ],
)
def test_what_means_nothing_is_refused(parameters: Any, message: str) -> None:
    X, y = noisy(60)
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(X, y)


def test_sigmoids_that_were_altered_are_refused() -> None:
    X, y = noisy(60, 3)
    model = SVC(calibration="folds").fit(X, y)
    model.sigmoids_ = model.sigmoids_[:2]
    with pytest.raises(ValueError, match=r"sigmoids_ was altered since the fit: its shape is \(2, 2\) where \(3, 2\)"):
        model.predict_proba(X)


def test_the_clock_is_for_machine_and_folds_together() -> None:
    X, y = noisy(2000)
    model, began = SVC(C=1e4, gamma=1.0, max_time=0.02, calibration="folds"), time.perf_counter()
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert time.perf_counter() - began < 1.0
    assert any("calibrate the probabilities ended before the tolerance was met" in str(one.message) for one in caught)
    check_probabilities(model, X[:50])


def test_ctrl_c_reaches_the_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(3000)
    begun, pressed = threading.Event(), list[float]()
    plain, train = calibration.held_out_values, held_out.solve_to_the_hard_end

    def endless(*given: Any, **named: Any) -> Any:
        # However late the thread below comes to press: nothing ends before.
        return plain(*given, **(named | {"stop": StopRule(tolerance=1e-15)}))

    def trained(*given: Any) -> Any:
        begun.set()
        return train(*given)

    def press() -> None:
        begun.wait()
        time.sleep(0.02)
        pressed.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(calibration, "held_out_values", endless)
    monkeypatch.setattr(held_out, "solve_to_the_hard_end", trained)
    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        SVC(C=1e9, gamma=0.1, max_iter=30_000, calibration="folds", n_jobs=2).fit(X, y)
    assert time.perf_counter() - pressed[0] < 3.0


def test_models_can_be_kept_and_copied(tmp_path: Any) -> None:
    X, y = load_iris(return_X_y=True)
    for parameters in ({}, {"multi_class": "ovr", "calibration_method": "platt"}):
        model = SVC(calibration="folds", **parameters).fit(X, y)
        save_model(model, tmp_path / "model.wm")
        loaded, copied = load_model(tmp_path / "model.wm"), pickle.loads(pickle.dumps(model))
        for other in (loaded, copied):
            np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    model.sigmoids_[0, 0] = -1.0
    with pytest.raises(ModelFileError, match="array sigmoids of step 0 holds a slope below 0"):
        save_model(model, tmp_path / "model.wm")


def test_scorers_of_probabilities_work() -> None:
    X, y = noisy(150)
    scores = cross_val_score(SVC(calibration="folds"), X, y, scoring="neg_log_loss", cv=3)
    assert (scores > -0.7).all()


def test_values_of_several_splits_are_averaged() -> None:
    held_out = OutOfFold(3)
    held_out.add(("a",), np.array([0, 0, 2]), np.array([1.0, 3.0, 5.0]))
    np.testing.assert_array_equal(held_out.values(("a",)), [2.0, np.nan, 5.0])

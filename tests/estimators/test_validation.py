"""Bad input gets one clear sentence that names the parameter, the column or the row."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM, OnlineSVC
from widemargin.estimators import base, validation
from widemargin.kernels import Gaussian, Spectrum
from widemargin.testing import kernel_matrix, many_class_points

X, Y = many_class_points(2, 20)
X = np.hstack((X, X[:, :1] ** 2))


def words(*parts: str) -> str:
    """A pattern that asks for all the parts, in any order and any case."""
    return "(?is)" + "".join(f"(?=.*{part})" for part in parts)


def _with(value: Any, row: int = 4, column: int = 2) -> np.ndarray:
    changed = X.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (np.inf, "infin"), (-np.inf, "infin")])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_nan_and_infinity_are_named_with_their_column(value: float, word: str, container: Any) -> None:
    pattern = words(word, "column", r"\b2\b")
    with pytest.raises(ValueError, match=pattern):
        SVC().fit(container(_with(value)), Y)
    model = SVC().fit(container(X), Y)
    with pytest.raises(ValueError, match=pattern):
        model.predict(container(_with(value)))


def test_nan_in_a_named_column() -> None:
    frame = pd.DataFrame(_with(np.nan), columns=["length", "width", "height"])
    with pytest.raises(ValueError, match=words("nan", "height")):
        SVC().fit(frame, Y)


@pytest.mark.parametrize(
    "target", [np.where(np.arange(40) == 3, np.nan, Y), Y + 0.5 * np.random.default_rng(0).random(40)]
)
def test_targets_that_are_no_classes(target: np.ndarray) -> None:
    with pytest.raises(ValueError, match=words("(y|label)", "(nan|continuous)")):
        SVC().fit(X, target)


def test_empty_inputs() -> None:
    with pytest.raises(ValueError, match=words("0 sample")):
        SVC().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match=words("0 feature")):
        SVC().fit(X[:, :0], Y)


def test_one_class() -> None:
    with pytest.raises(ValueError, match=words("class", "(one|1)")):
        SVC().fit(X, np.ones(40))
    with pytest.raises(ValueError, match=words("class")):
        SVC().fit(X[:1], Y[:1])


def test_mismatched_lengths() -> None:
    with pytest.raises(ValueError, match=words("39", "40")):
        SVC().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=words("sample_weight", "39|shape")):
        SVC().fit(X, Y, sample_weight=np.ones(39))
    with pytest.raises(ValueError, match=words("2 features", "3 features")):
        SVC().fit(X, Y).predict(X[:, :2])


def test_wrong_dimensions() -> None:
    with pytest.raises(ValueError, match=words("2D array")):
        SVC().fit(X[:, 0], Y)
    with pytest.raises(ValueError, match=words("dim")):
        SVC().fit(X[None], Y)
    with pytest.raises(ValueError, match=words("y|shape")):
        SVC().fit(X, np.column_stack((Y, Y)))
    with pytest.raises(ValueError, match=words("sample.weight")):
        SVC().fit(X, Y, sample_weight=np.ones((40, 2)))


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        (np.zeros(40), ("zero",)),
        (np.where(np.arange(40) == 7, np.nan, 1.0), ("nan",)),
        (np.where(np.arange(40) == 7, np.inf, 1.0), ("inf",)),
        (np.where(Y == 0, 0.0, 1.0), ("class",)),
        (["heavy"] * 40, ()),
    ],
    ids=["all zero", "nan", "infinite", "one class left", "strings"],
)
def test_bad_weights(weights: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=words("weight" if len(parts) else "", *parts)):
        SVC().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("model", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, OnlineSVC])
def test_negative_weights_are_those_of_samples_left_out(model: Any) -> None:
    weights = np.where(np.arange(40) % 8 == 7, -0.5, 1.0)
    given = {"random_state": 0} if model is OnlineSVC else {"tol": 1e-8}
    with pytest.warns(UserWarning, match=r"sample_weight holds 5 negative weights, first -0.5 at row 7; these samples"):
        found = model(**given).fit(X, Y, sample_weight=weights)
    expected = model(**given).fit(X, Y, sample_weight=np.maximum(weights, 0.0))
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        model(**given).fit(X, Y, sample_weight=-np.ones(40))


def test_negative_weights_in_a_search_are_told_once() -> None:
    weights = np.where(np.arange(40) % 8 == 7, -0.5, 1.0)
    with pytest.warns(UserWarning, match="these samples are left out") as told:
        found = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y, sample_weight=weights)
    assert len(told) <= 2  # the search, and the refit
    expected = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y, sample_weight=np.maximum(weights, 0.0))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("kernel", [Gaussian, RBF, Spectrum])
@pytest.mark.parametrize("model", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, OnlineSVC])
def test_a_class_of_kernels_is_not_one_of_them(model: Any, kernel: Any) -> None:
    with pytest.raises(ValueError, match=rf"kernel={kernel.__name__} is a class of kernels.*did you forget \(\)\?"):
        model(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize("model", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD])
def test_precomputed_values_are_those_with_the_training_samples(model: Any) -> None:
    fitted = model(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match=r"kernel values with the 40 training samples, shape \(n_samples, 40\)"):
        fitted.predict(X)


def test_bad_class_weights() -> None:
    with pytest.raises(ValueError, match="class_weight"):
        SVC(class_weight="heavy").fit(X, Y)
    with pytest.raises(ValueError, match=words("class_weight", "-1")):
        SVC(class_weight={0: -1.0}).fit(X, Y)


def test_strings_and_objects() -> None:
    frame = pd.DataFrame({"size": X[:, 0], "colour": ["red", "blue"] * 20})
    with pytest.raises(ValueError, match=words("string|colour|red|float")):
        SVC().fit(frame, Y)
    with pytest.raises(ValueError, match=words("string|float")):
        SVC().fit(np.array([["a", "b"]] * 40), Y)
    with pytest.raises((TypeError, ValueError)):
        SVC().fit(np.array([[{}, []]] * 40, dtype=object), Y)
    with pytest.raises(ValueError, match=words("complex")):
        SVC().fit(X + 1j, Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("C", 0.0),
        ("C", -1.0),
        ("C", np.nan),
        ("C", "1"),
        ("C", None),
        ("kernel", "gauss"),
        ("kernel", None),
        ("degree", -1),
        ("degree", 2.5),
        ("degree", 2**31),
        ("degree", 10**400),
        ("C", 10**400),
        ("gamma", 10**400),
        ("max_iter", 10**400),
        ("cache_size", 1e300),
        ("cache_size", 10**400),
        ("n_jobs", 2**31),
        ("n_jobs", 10**400),
        ("gamma", -0.1),
        ("gamma", "wide"),
        ("gamma", np.nan),
        ("coef0", "zero"),
        ("coef0", np.inf),
        ("shrinking", "yes"),
        ("tol", 0.0),
        ("tol", -1e-3),
        ("tol", np.nan),
        ("cache_size", 0),
        ("cache_size", -10),
        ("cache_size", "big"),
        ("class_weight", [1.0, 2.0]),
        ("max_iter", -2),
        ("max_iter", 2.5),
        ("max_iter", "many"),
        ("max_time", 0.0),
        ("max_time", -1.0),
        ("max_time", "soon"),
        ("decision_function_shape", "ova"),
        ("break_ties", "often"),
        ("n_jobs", "all"),
        ("n_jobs", 0),
        ("warm_start", "perhaps"),
        ("solver", "newton"),
    ],
)
def test_bad_parameters_are_named(parameter: str, value: Any) -> None:
    model = SVC(**{parameter: value})
    with pytest.raises(ValueError, match=re.escape(parameter)):
        model.fit(X, Y)


def test_unknown_parameters() -> None:
    with pytest.raises(TypeError, match="probabilities"):
        SVC(probabilities=True)
    with pytest.raises(ValueError, match="Invalid parameter"):
        SVC().set_params(probabilities=True)


def test_the_signature_is_that_of_the_constructor() -> None:
    assert list(signature(SVC).parameters) == list(signature(SVC.__init__).parameters)[1:]


def test_more_iterations_than_can_be_counted_are_no_limit() -> None:
    assert SVC(max_iter=2**63).fit(X, Y).fit_report_.converged


@pytest.mark.parametrize("weights", [[10**400] * 40, 10**400])
def test_weights_beyond_float64(weights: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight contains a number that float64 cannot hold"):
        SVC().fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="class_weight holds a number that float64 cannot hold"):
        SVC(class_weight={0: 10**400, 1: 1.0}).fit(X, Y)


def test_texts_of_numpy_are_texts() -> None:
    chosen = {
        "kernel": "poly",
        "gamma": "auto",
        "loss": "squared_hinge",
        "class_weight": "balanced",
        "cache_size": "auto",
        "max_iter": "auto",
        "solver": "smo",
        "decision_function_shape": "ovo",
        "multi_class": "ovo",
        "decision": "votes",
        "calibration": "folds",
        "calibration_method": "platt",
    }
    plain = SVC(**chosen).fit(X, Y)
    drawn = SVC(**dict(zip(chosen, np.array([*chosen.values()]), strict=True))).fit(X, Y)
    assert np.array_equal(drawn.predict_proba(X), plain.predict_proba(X))
    labels = np.array(["a", "b"])[Y]
    by_label = SVC(class_weight=dict(zip(np.unique(labels), [1.0, 3.0], strict=True))).fit(X, labels)
    assert by_label.class_weight_.tolist() == [1.0, 3.0]
    OneClassSVM(loss=np.str_("squared_hinge"), solver=np.str_("maxminover")).fit(X)
    with pytest.raises(ValueError, match="kernel must be one of"):
        SVC(kernel=np.str_("gauss")).fit(X, Y)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_unfitted(method: str) -> None:
    with pytest.raises(NotFittedError, match="SVC"):
        getattr(SVC(), method)(X)


def _gram() -> np.ndarray:
    return kernel_matrix(X, gamma=0.5)


def test_gram_matrices_that_are_none() -> None:
    K = _gram()
    lopsided = K.copy()
    lopsided[3, 8] += 0.1
    with pytest.raises(ValueError, match=words("symmetric", r"\b3\b", r"\b8\b")):
        SVC(kernel="precomputed").fit(lopsided, Y)
    with pytest.raises(ValueError, match=words(r"square|X\.shape\[0\]", "40", "30")):
        SVC(kernel="precomputed").fit(K[:, :30], Y)
    with pytest.raises(ValueError, match=words("nan")):
        SVC(kernel="precomputed").fit(np.where(np.eye(40, dtype=bool), np.nan, K), Y)
    with pytest.raises((TypeError, ValueError), match=words("sparse", "precomputed")):
        SVC(kernel="precomputed").fit(sparse.csr_array(K), Y)
    model = SVC(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=words("40", "30")):
        model.predict(K[:, :30])


def test_an_indefinite_gram_matrix_gets_a_warning() -> None:
    K = _gram()
    sign = np.where(Y > 0, 1.0, -1.0)
    with pytest.warns(UserWarning, match=words("positive semidefinite", "eigenvalue")):
        SVC(kernel="precomputed").fit(K - 0.5 * np.eye(40), Y)
    # Singular, and singular in float32: no warning (which would be an error here).
    for singular in (np.outer(sign, sign), X @ X.T, np.ones((40, 40)), np.zeros((40, 40))):
        SVC(kernel="precomputed").fit(singular, Y)
        SVC(kernel="precomputed").fit(singular.astype(np.float32), Y)


def test_gram_matrices_off_by_rounding_are_accepted() -> None:
    K = _gram()
    K[3, 8] *= 1.0 + 1e-12
    assert SVC(kernel="precomputed").fit(K, Y).score(K, Y) > 0.8
    single = _gram().astype(np.float32)
    single[3, 8] *= np.float32(1.0 + 3e-7)
    assert SVC(kernel="precomputed").fit(single, Y).score(single, Y) > 0.8


@pytest.mark.parametrize(
    ("kernel", "parts"),
    [
        (lambda A, B: A, ("shape",)),
        (lambda A, B: np.ones(len(A)), ("shape",)),
        (lambda A, B: np.ones((len(A), len(B) + 1)), ("shape",)),
        (lambda A, B: 1.0, ("shape|array|matrix",)),
        (lambda A, B: None, ()),
        (lambda A, B: np.full((len(A), len(B)), np.nan), ("nan",)),
        (lambda A, B: np.full((len(A), len(B)), np.inf), ("inf",)),
        (lambda A, B: np.full((len(A), len(B)), "one"), ("real numbers",)),
        (lambda A, B: np.full((len(A), len(B)), 1j), ("real numbers",)),
        (lambda A, B: [["one"]] * len(A), ("real numbers",)),
        (lambda A, B: [[1.0], [1.0, 2.0]], ("real numbers",)),
        (lambda A, B: sparse.csr_array(np.ones((len(A), len(B) + 1))), ("shape",)),
    ],
    ids=[
        "the rows",
        "vector",
        "too wide",
        "number",
        "nothing",
        "nan",
        "infinite",
        "strings",
        "complex",
        "lists of strings",
        "ragged",
        "sparse and too wide",
    ],
)
def test_callables_that_return_nonsense_are_blamed_themselves(kernel: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=words("kernel", *parts)) as caught:
        SVC(kernel=kernel).fit(X, Y)
    assert "Input X" not in str(caught.value)


def test_callables_that_are_not_symmetric_are_refused() -> None:
    with pytest.raises(ValueError, match=words("kernel", "symmetric", "row")):
        SVC(kernel=lambda A, B: A[:, :1] - B[:, 0]).fit(X, Y)
    # Rounding is no reason.
    SVC(kernel=lambda A, B: (A @ B.T) * (1.0 + 1e-9 * (A[:, :1] > 0))).fit(X, Y)


def test_a_callable_that_fails_later_is_blamed_at_prediction() -> None:
    broken = False

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        K = kernel_matrix(A, B, gamma=0.5)
        return np.full_like(K, np.nan) if broken else K

    model = SVC(kernel=kernel).fit(X, Y)
    broken = True
    with pytest.raises(ValueError, match=words("kernel", "nan")):
        model.predict(X)


def test_an_exception_in_a_callable_comes_through() -> None:
    def kernel(A: Any, B: Any) -> Any:
        raise ZeroDivisionError("no kernel today")

    with pytest.raises(ZeroDivisionError, match="no kernel today"):
        SVC(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "scale"),
    [
        ({"kernel": "poly", "degree": 3, "gamma": 1.0}, 1e120),
        ({"kernel": "poly", "degree": 9, "gamma": 1.0}, 1e40),
        ({"kernel": "linear"}, 1e170),
        ({"kernel": "rbf", "gamma": "scale"}, 1e170),
        ({"kernel": "rbf", "gamma": "scale"}, 1e300),
        ({"kernel": "rbf", "gamma": 1.0}, 1e170),
        ({"kernel": "sigmoid", "gamma": "auto"}, 1e170),
    ],
    ids=["poly", "poly-of-high-degree", "linear", "rbf", "rbf-at-the-limit", "rbf-with-a-number", "sigmoid"],
)
def test_kernels_that_overflow_are_refused(parameters: dict[str, Any], scale: float) -> None:
    with pytest.raises(ValueError, match=words("overflow|too large|magnitude|not finite")):
        SVC(**parameters).fit(X * scale, Y)


@pytest.mark.parametrize(
    ("parameters", "scale"),
    [({"kernel": "poly", "degree": 3, "gamma": 1.0}, 1e9), ({"kernel": "linear"}, 1e25)],
    ids=["poly", "linear"],
)
def test_kernels_beyond_float32_are_refused_or_right(parameters: dict[str, Any], scale: float) -> None:
    # Too large for float32 but not for float64: a machine may be fitted, but then it has to be the right one.
    model = SVC(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X * scale, Y)
        except ValueError as refusal:
            assert re.search(words("overflow|too large|magnitude|float32|not finite"), str(refusal))  # noqa: PT017
            return
    assert np.isfinite(model.decision_function(X * scale)).all()
    assert model.score(X * scale, Y) > 0.7


def _separable() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 2)) * 0.4 + np.where(y[:, None] == 1, 2.0, -2.0), y


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_infinite_penalty_is_the_hard_margin(kernel: str) -> None:
    points, y = _separable()
    hard = SVC(C=np.inf, kernel=kernel, tol=1e-6).fit(points, y)
    large = SVC(C=1e8, kernel=kernel, tol=1e-6).fit(points, y)
    np.testing.assert_allclose(hard.decision_function(points), large.decision_function(points), atol=1e-4)
    assert (hard.decision_function(points) * np.where(y == 1, 1.0, -1.0)).min() >= 1.0 - 1e-4


@pytest.mark.parametrize("how", ["overlap", "contradiction"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_infinite_penalty_on_inseparable_data_ends_with_a_warning(how: str, kernel: str) -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(80, 2))
    y = np.arange(80) % 2
    if how == "contradiction":
        points[1] = points[0]
    elif kernel == "rbf":
        pytest.skip("a Gaussian kernel separates any distinct points")
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(C=np.inf, kernel=kernel).fit(points, y)
    assert time.perf_counter() - began < 20.0
    assert any(re.search(words("separa|infeasible", "C=inf|hard margin"), str(one.message)) for one in caught)
    assert any("classes 0 and 1" in str(one.message) for one in caught)
    assert all(issubclass(one.category, ConvergenceWarning) for one in caught)
    assert np.isfinite(model.decision_function(points)).all()


def test_only_defaults_that_mean_something_are_not_checked_again() -> None:
    @dataclass(kw_only=True, repr=False, eq=False)
    class Careless(SVC):
        C: float = -1.0

    with pytest.raises(ValueError, match=r"C must be a number above 0; got -1\.0"):
        Careless().fit(X, Y)
    Careless(C=1.0).fit(X, Y)
    assert "C" not in base.accepted_defaults(Careless)
    assert base.accepted_defaults(SVC).keys() == SVC._accepts.keys()


def _story(cls: Any, training: Any, targets: Any, new: Any) -> tuple[Any, ...]:
    """What a fit and a prediction say, warn of and leave behind."""
    model, told = cls(), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call, given in ((model.fit, (training, targets)), (model.predict, (new,))):
            try:
                call(*given)
                told.append("no error")
            except (ValueError, TypeError) as error:
                told.append(f"{type(error).__name__}: {error}")
                break
    found = getattr(model, "n_features_in_", None), getattr(model, "dual_coef_", np.zeros(1)).tobytes()
    return *told, [(one.category, str(one.message)) for one in caught], found


_REAL = np.linspace(0.0, 1.0, 40)


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    ("training", "targets", "new"),
    [
        (X, Y, X[:1]),
        (X.astype(np.float32), Y, X),
        (X, Y, X.astype(np.float32)),
        (X.astype(np.float16), Y, X.astype(int)),
        (np.asfortranarray(X), Y, X[::2]),
        (X.astype(">f8"), Y, X.astype(">f8")),
        (X, Y == 1, X),
        (X, Y.astype(float), X),
        (X, _REAL, X),
        (X, np.where(_REAL == 0, np.nan, _REAL), X),
        (X, np.where(_REAL == 0, np.inf, _REAL).astype(np.float32), X),
        (X, _REAL + 1j, X),
        (X, Y[:-1], X),
        (X, Y[:, np.newaxis], X),
        (X, np.arange(40), X),
        (X, np.zeros(40, dtype=int), X),
        (X, None, X),
        (X, Y.astype(object), X),
        (X, Y.astype(str), X),
        (_with(np.nan), Y, X),
        (_with(np.inf), Y[:-1], X),
        (_with(1e308), Y, X),
        (X[:0], Y[:0], X),
        (X[:, :0], Y, X),
        (X[0], Y, X),
        (X[np.newaxis], Y, X),
        (X, Y, _with(np.nan)),
        (X, Y, _with(-np.inf)[:, :2].copy()),
        (X, Y, _with(-np.inf)[:, 1:].copy()),
        (X, Y, X[:, :2].copy()),
        (X, Y, X[:0]),
        (X, Y, X[0]),
        (X, Y, X.astype(str)),
        (pd.DataFrame(X, columns=["a", "b", "c"]), Y, X),
    ],
)
def test_the_short_way_for_plain_arrays_is_as_strict_as_the_long_one(
    cls: Any, training: Any, targets: Any, new: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = _story(cls, training, targets, new)
    monkeypatch.setattr(base, "is_plain", lambda X, y=None, **how: False)
    assert _story(cls, training, targets, new) == short


def test_the_short_way_is_taken_by_plain_arrays_and_forgets_names(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SVC().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    monkeypatch.setattr(base, "validate_data", None)
    monkeypatch.setattr(base, "check_array", None)
    model.fit(X, Y).predict(X)
    assert not hasattr(model, "feature_names_in_")
    assert not any(validation.is_plain(given) for given in (X.astype(int), X.tolist(), np.ma.array(X), X.T, X[None]))

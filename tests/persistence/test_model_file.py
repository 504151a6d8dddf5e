"""Model files: the same model to the last bit after saving and loading, and a sentence for everything else."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import svm as their_svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from widemargin import SVC, SVDD, SVR, CompactSVC, NuSVC, NuSVR, OneClassSVM, OnlineSVC
from widemargin.persistence.model_file import ModelFileError, load_model, open_model, save_model
from widemargin.solvers import Auto

X, CLASSES = load_iris(return_X_y=True)


X = X[::3] + 0.01 * np.arange(50)[:, np.newaxis]


CLASSES = CLASSES[::3]


FRESH = np.random.default_rng(0).uniform(0.0, 8.0, size=(40, 4))


MODELS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: SVC(C=2.0),
    "SVC of pairs": lambda: SVC(decision_function_shape="ovo", break_ties=False, class_weight="balanced"),
    "SVC with squared loss": lambda: SVC(loss="squared_hinge", fit_intercept=False, solver="mdm", C=np.inf),
    "NuSVC": lambda: NuSVC(nu=0.2, kernel="poly", coef0=1.0, degree=2),
    "linear SVC": lambda: SVC(kernel="linear"),
    "sigmoid SVC": lambda: SVC(kernel="sigmoid", gamma=0.01, solver=Auto(dtype="float64")),
    "SVR": lambda: SVR(C=np.float64(3.0), epsilon=0.05),
    "NuSVR": lambda: NuSVR(gamma="auto"),
    "OnlineSVC": lambda: OnlineSVC(C=2.0, random_state=0),
    "OnlineSVC in mid-stream": lambda: OnlineSVC(finishing=False, random_state=0),
    "OneClassSVM": lambda: OneClassSVM(nu=0.3),
    "OneClassSVM that rejects": lambda: OneClassSVM(target_rejection=0.2),
    "OneClassSVM with squared slack": lambda: OneClassSVM(loss="squared_hinge", solver="maxminover"),
    "SVDD": lambda: SVDD(nu=0.2),
    "hard SVDD": lambda: SVDD(C=np.inf, kernel="linear"),
    "SVDD with a polynomial": lambda: SVDD(kernel="poly"),
}


PLACES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda model: model,
    "standardised": lambda model: make_pipeline(StandardScaler(), model),
    "scaled": lambda model: Pipeline([("to [-1, 1]", MinMaxScaler(feature_range=(-1, 1), clip=True)), ("m", model)]),
    "scaled twice": lambda model: make_pipeline(MinMaxScaler(), StandardScaler(with_std=False), model),
    "by spread": lambda model: make_pipeline(StandardScaler(with_mean=False), model),
}


def fitted(model: Any, rows: Any = X) -> Any:
    return model.fit(rows, CLASSES)


def saved(model: Any, path: Path, **about: Any) -> Any:
    save_model(model, path, **about)
    return load_model(path)


def machine_of(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def require_equal(one: Any, other: Any) -> None:
    """Require equal values, of equal types."""
    assert type(one) is type(other)
    if sp.issparse(one):
        assert one.shape == other.shape
        for part in ("data", "indices", "indptr"):
            require_equal(getattr(one, part), getattr(other, part))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, strict=True)
    else:
        assert one == other or (one != one and other != other)


def require_same_estimator(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    left_behind = {"_last", "_lock", "_stream"}  # streams are compared by test_streams.py
    assert vars(one).keys() - left_behind == vars(other).keys() - left_behind
    for name, value in vars(other).items():
        if name in left_behind:
            continue
        require_equal(np.asarray(getattr(one, name)).item() if name == "C" else getattr(one, name), value)


def require_same_predictions(one: Any, other: Any, rows: Any) -> None:
    for method in ("predict", "decision_function", "score_samples"):
        if hasattr(one, method):
            require_equal(getattr(one, method)(rows), getattr(other, method)(rows))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", MODELS)
def test_dense_round_trip(kind: str, place: str, tmp_path: Path) -> None:
    model = fitted(PLACES[place](MODELS[kind]()))
    loaded = saved(model, tmp_path / "model.wm")
    require_same_predictions(model, loaded, FRESH)
    require_same_estimator(machine_of(model), machine_of(loaded))
    if isinstance(model, Pipeline):
        assert [name for name, _ in model.steps] == [name for name, _ in loaded.steps]
        for (_, mine), (_, theirs) in zip(model.steps[:-1], loaded.steps[:-1], strict=True):
            require_same_estimator(mine, theirs)
    assert clone(loaded).fit(X, CLASSES).predict(FRESH).tolist() == model.predict(FRESH).tolist()


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("kind", MODELS)
def test_sparse_round_trip(kind: str, container: Any, tmp_path: Path) -> None:
    rows = container(np.where(X > 1.5, X, 0.0))
    model = fitted(make_pipeline(StandardScaler(with_mean=False), MODELS[kind]()), rows)
    loaded = saved(model, tmp_path / "model.wm")
    require_same_predictions(model, loaded, container(FRESH))
    require_same_estimator(model[-1], loaded[-1])


@pytest.mark.parametrize("kind", ["SVC", "SVR", "OneClassSVM", "SVDD"])
def test_precomputed_round_trip(kind: str, tmp_path: Path) -> None:
    gram = X @ X.T + 1.0
    model = MODELS[kind]().set_params(kernel="precomputed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(gram, CLASSES)
    loaded = saved(model, tmp_path / "model.wm")
    require_same_estimator(model, loaded)
    if kind == "SVDD":
        diagonal = np.square(FRESH).sum(axis=1) + 1.0
        require_equal(
            model.decision_function(FRESH @ X.T + 1.0, diagonal), loaded.decision_function(FRESH @ X.T + 1.0, diagonal)
        )
    else:
        require_same_predictions(model, loaded, FRESH @ X.T + 1.0)


def test_large_models_predict_in_float32_as_before(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 600)).astype(np.float32)
    model = SVC().fit(rows, rng.integers(0, 2, 400))
    assert not model._predict_in_double
    loaded = saved(model, tmp_path / "model.wm")
    assert loaded.support_vectors_.dtype == np.float32
    require_same_predictions(model, loaded, rng.normal(size=(20, 600)))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 7]),
        np.array([3, 1, 7], dtype=np.uint8),
        np.array([0.0, 1.0, 2.0]),
        np.array(["a", "b, c", "ä"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([False, True, True]),
    ],
)
def test_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    model = SVC().fit(X, labels[CLASSES])
    loaded = saved(model, tmp_path / "model.wm")
    require_equal(model.classes_, loaded.classes_)
    require_same_predictions(model, loaded, FRESH)
    assert loaded.fit_report_ == model.fit_report_


def test_one_support_vector_less_than_any(tmp_path: Path) -> None:
    constant = SVR(epsilon=10.0).fit(X, CLASSES)
    assert len(constant.support_) == 0
    require_same_predictions(constant, saved(constant, tmp_path / "model.wm"), FRESH)


@pytest.mark.parametrize("weights", [{0: 1.0, 1: 2.0, 2: 0.5}, {"$a": 2.0}, {"a": 1}, "balanced", None])
def test_parameters_come_back(weights: Any, tmp_path: Path) -> None:
    given = {"C": np.inf, "max_time": 5, "cache_size": 10.5, "random_state": np.int64(3), "class_weight": weights}
    names = np.array(["$a", "a", "b"]) if isinstance(weights, dict) and 0 not in weights else np.arange(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(**given, warm_start=True).fit(X, names[CLASSES])
    assert saved(model, tmp_path / "model.wm").get_params() == model.get_params()


def test_names_of_features(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    frame = pd.DataFrame(X, columns=["a", "b", "c", "ü"])
    model = make_pipeline(StandardScaler(), SVC()).fit(frame, CLASSES)
    loaded = saved(model, path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "ü"]
    require_equal(model.predict(frame), loaded.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a", "c", "ü"]])
    assert open_model(path).feature_names == ["a", "b", "c", "ü"]
    with pytest.raises(ModelFileError, match="feature_names differs from the names that the model was trained with"):
        save_model(model, path, feature_names=["a", "b", "c", "d"])

    plain = fitted(SVC())
    save_model(plain, path, feature_names=["p", "q", "r=x", "r=y"], target="kind", encoded={"r": ["x", "y"]})
    about = open_model(path)
    assert about.feature_names == ["p", "q", "r=x", "r=y"]
    assert about.encoded == {"r": ("x", "y")}
    assert about.target == "kind"
    assert about.n_features == 4
    assert about.model.feature_names_in_.tolist() == ["p", "q", "r"]
    assert not hasattr(about.behind_encoder[-1], "feature_names_in_")


@pytest.mark.parametrize("scaled", [True, False])
def test_names_given_with_a_model_are_known_to_the_loaded_one(scaled: bool, tmp_path: Path) -> None:
    names = ["a", "b", "c", "ü"]
    model = fitted(make_pipeline(StandardScaler(), SVC()) if scaled else SVC())
    save_model(model, tmp_path / "model.wm", feature_names=names)
    loaded = load_model(tmp_path / "model.wm")
    assert loaded.feature_names_in_.tolist() == names
    frame = pd.DataFrame(X, columns=names)
    require_equal(loaded.predict(frame), model.predict(X))  # without a warning
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        loaded.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        require_equal(loaded.predict(X), model.predict(X))
    save_model(loaded, tmp_path / "again.wm")
    assert open_model(tmp_path / "again.wm").feature_names == names


def test_numbers_of_columns_are_no_names(tmp_path: Path) -> None:
    model = fitted(SVC())
    save_model(model, tmp_path / "model.wm", feature_names=[f"column {number}" for number in (1, 2, 4, 5)])
    loaded = load_model(tmp_path / "model.wm")
    assert not hasattr(loaded, "feature_names_in_")
    require_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["pipeline", "alone", "compact", "trained on a frame", "a step called encoder"])
def test_models_of_encoded_columns_take_the_columns(kind: str, tmp_path: Path) -> None:
    raw = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 3, "red", "blue")})
    names, encoded = ["size", "colour=blue", "colour=red"], {"colour": ["blue", "red"]}
    features: Any = np.column_stack([X[:, 0], raw["colour"] == "blue", raw["colour"] == "red"]).astype(float)
    features = pd.DataFrame(features, columns=names) if kind == "trained on a frame" else features
    model: Any = SVC() if kind in ("alone", "trained on a frame") else make_pipeline(StandardScaler(), SVC())
    if kind == "compact":
        model = CompactSVC(select_features=False, random_state=0)
    if kind == "a step called encoder":
        model = Pipeline([("encoder", StandardScaler()), ("model", SVC())])
    model.fit(features, CLASSES)
    path = tmp_path / "model.wm"
    save_model(model, path, feature_names=names, encoded=encoded)
    for again in (False, True):
        loaded = load_model(path)
        assert loaded.feature_names_in_.tolist() == ["size", "colour"]
        for columns in (["size", "colour"], ["colour", "size"]):
            require_equal(loaded.predict(raw[columns]), model.predict(features))
        require_equal(loaded.predict(np.asarray(features)), model.predict(features))  # as read_table encodes them
        with pytest.raises(ValueError, match="X lacks column 'colour', which the model reads"):
            loaded.predict(raw[["size"]])
        about = open_model(path)
        assert (about.n_features, about.feature_names) == (3, names)
        if again:
            break
        with pytest.raises(ModelFileError, match="encoded differs from the values that the model encodes"):
            save_model(loaded, path, encoded={"colour": ["blue"]})
        with pytest.raises(ModelFileError, match="feature_names differs from the names"):
            save_model(loaded, path, feature_names=["a", "b", "c"])
        save_model(loaded, path)


def test_what_is_said_about_the_selection(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    selection = {"scores": [0.5, np.float64(np.nan)], "best": {"C": np.inf}, "rows": np.arange(2), "by": None, "$x": 1}
    save_model(fitted(SVC()), path, selection=selection)
    found = open_model(path).selection
    assert np.isnan(found["scores"][1])
    assert found["scores"][0] == 0.5
    assert found["best"] == {"C": np.inf}
    assert found["rows"] == (0, 1)
    assert found["$x"] == 1
    with pytest.raises(ModelFileError, match=r"selection holds <object object at .*, which a model file cannot store"):
        save_model(fitted(SVC()), path, selection={"by": object()})


class Heir(SVC):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: SVC(kernel=lambda a, b: a @ b.T),
            "kernel=<function .*> is a callable, which a model file cannot store",
        ),
        (
            their_svm.SVC,
            r"sklearn\.svm\._classes\.SVC cannot be stored in a model file; it stores SVC, NuSVC, SVR, .* Pipeline",
        ),
        (Heir, "Heir cannot be stored in a model file"),
        (lambda: GridSearchCV(SVC(), {"C": [1.0]}, cv=2), "GridSearchCV is a search; save its best_estimator_"),
        (
            lambda: make_pipeline(PolynomialFeatures(), SVC()),
            r"step 'polynomialfeatures' of the Pipeline is Polynomial",
        ),
        (
            lambda: Pipeline([("a", "passthrough"), ("b", SVC())]),
            "step 'a' of the Pipeline is 'passthrough'; accepted are",
        ),
        (lambda: make_pipeline(StandardScaler(), their_svm.SVC()), "the last step, 'svc', of the Pipeline is SVC"),
        (lambda: SVC(random_state=np.random.RandomState(0)), "parameter random_state holds RandomState"),
    ],
)
def test_models_that_cannot_be_saved(model: Callable[[], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message) as raised:
        save_model(fitted(model()), tmp_path / "model.wm")
    assert "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_models_that_were_altered_or_not_fitted(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    with pytest.raises(NotFittedError):
        save_model(SVC(), path)
    with pytest.raises(NotFittedError):
        save_model(make_pipeline(StandardScaler(), SVC()), path)
    with pytest.raises(ModelFileError, match="kernel='linear' was set after the fit, which was with 'rbf'"):
        save_model(fitted(SVC()).set_params(kernel="linear"), path)
    altered = fitted(SVC())
    altered.intercept_ = np.zeros(2)
    with pytest.raises(
        ModelFileError, match=r"The model cannot be kept: array 0/intercept is of shape \(2,\), expected"
    ):
        save_model(altered, path)
    altered.intercept_ = np.full(3, np.nan)
    with pytest.raises(ModelFileError, match="array 0/intercept holds numbers that are not finite"):
        save_model(altered, path)
    with pytest.raises(ModelFileError, match="feature_names holds 2 names for 4 features"):
        save_model(fitted(SVC()), path, feature_names=["a", "b"])
    with pytest.raises(ModelFileError, match="expected a list of different strings"):
        save_model(fitted(SVC()), path, feature_names=["a", "b", "b", "c"])
    with pytest.raises(ModelFileError, match=r"r of encoded of model\.json is .*, expected values that feature_names"):
        save_model(fitted(SVC()), path, encoded={"r": ["x"]})
    assert os.listdir(tmp_path) == []


def test_format_is_open(tmp_path: Path) -> None:
    path, model = tmp_path / "model.wm", fitted(SVC())
    save_model(model, path)
    first = path.read_bytes()
    save_model(model, path)
    assert path.read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
        assert document["format"] == "widemargin model"
        assert document["version"] == 1
        assert document["steps"][0]["class"] == "SVC"
        assert document["steps"][0]["parameters"]["C"] == 1.0
        np.testing.assert_array_equal(np.load(io.BytesIO(archive.read("0/vectors.npy"))), model.support_vectors_)

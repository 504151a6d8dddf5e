"""Files of compact models: the same predictions to the last bit, nothing beyond what they need, and forged ones."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import CompactSVC, ModelFileError, load_model, save_model
from widemargin.persistence.model_file import open_model
from widemargin.strategies import TabuSearch

from .damaged import archive_of, opened, outcome, require_sentence
from .test_steps import changed, places

SHORT = TabuSearch(patience=1, failures=0)


def samples(kind: str) -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    if "binary" in kind:
        X, y = X[y < 2], np.array(["no", "yes"])[y[y < 2]]
    if "sparse" in kind:
        return sp.csr_array(X * (np.median(X, axis=0) < X)), y
    if "named" in kind:
        return pd.DataFrame(X, columns=[f"f{number}" for number in range(X.shape[1])]), y
    return X, y


def same_answers(one: Any, other: Any, X: Any) -> None:
    for ask in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(one, ask)(X), getattr(other, ask)(X))


@pytest.mark.parametrize("costs", [pd.Series(np.arange(1, 14)), list(range(1, 14)), [np.float32(2.5)] * 13, None])
def test_costs_and_options_out_of_other_libraries(costs: Any, tmp_path: Path) -> None:
    X, y = samples("binary")
    strategy = TabuSearch(patience=np.int64(1), failures=0, large_share=np.float32(0.5))  # type: ignore[arg-type]
    how: Any = {"select_features": np.bool_(True), "n_jobs": np.int64(1), "random_state": 0}
    model = CompactSVC(strategy=strategy, feature_costs=costs, **how).fit(X, y)
    save_model(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    same_answers(loaded, model, X)
    assert loaded.strategy == strategy
    assert loaded.feature_costs == (None if costs is None else tuple(costs))


@pytest.mark.parametrize("decision", ["calibrated", "argmax", "fuzzy-minimum"])
@pytest.mark.parametrize(
    "kind", ["binary", "several classes", "binary, sparse", "several classes, sparse", "binary, named", "named"]
)
def test_back_from_a_file(kind: str, decision: str, tmp_path: Path) -> None:
    X, y = samples(kind)
    how: Any = {"select_features": True, "feature_penalty": 0.05, "feature_costs": np.arange(1.0, 14.0), "n_jobs": 2}
    model = CompactSVC(decision=decision, strategy=SHORT, random_state=0, **how).fit(X, y)
    save_model(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    same_answers(loaded, model, X)
    for name in ("classes_", "selected_features_", "n_support_", "quality_", "cost_", "recognition_rate_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    for mine, theirs in zip(model.models_, loaded.models_, strict=True):
        for name in ("label", "level", "C", "sigma", "quality", "validation_rate", "test_rate", "cost", "ended"):
            assert getattr(mine, name) == getattr(theirs, name)
        np.testing.assert_array_equal(mine.features, theirs.features)
        assert theirs.trace is None
    for mine, theirs in zip(model.support_vectors_, loaded.support_vectors_, strict=True):
        assert type(mine) is type(theirs)
        np.testing.assert_array_equal(*(one.toarray() if sp.issparse(one) else one for one in (mine, theirs)))
    assert (loaded.strategy, loaded.sv_penalty, loaded.n_jobs) == (SHORT, 0.01, 2)
    assert loaded.n_features_in_ == 13
    if "named" in kind:
        chosen = [f"f{number}" for number in model.selected_features_]
        assert len(chosen) < 13
        np.testing.assert_array_equal(loaded.predict(X[chosen[::-1]]), model.predict(X))
    # Saved once more it is the same file.
    save_model(loaded, tmp_path / "again.wm")
    assert (tmp_path / "again.wm").read_bytes() == (tmp_path / "model.wm").read_bytes()
    # A clone of it is fitted like the first one.
    again = clone(loaded).set_params(random_state=0).fit(X, y)
    same_answers(again, model, X)


def test_in_a_pipeline_and_without_a_test(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), CompactSVC(test_size=0, strategy=SHORT, random_state=0)).fit(X, y)
    save_model(model, tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    same_answers(loaded, model, X)
    assert np.isnan(loaded[-1].recognition_rate_)
    assert np.isnan(loaded[-1].models_[0].test_rate)


def test_a_file_holds_what_predictions_need(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 40))
    model = CompactSVC(strategy=SHORT, sv_penalty=0.1, select_features=True, random_state=0).fit(X, X[:, 0] > 0)
    save_model(model, tmp_path / "model.wm")
    numbers = sum(vectors.size for vectors in model.support_vectors_)
    assert (tmp_path / "model.wm").stat().st_size < 8000 + 8 * numbers + 24 * len(model.selected_features_)
    members = opened((tmp_path / "model.wm").read_bytes())
    sizes = {name: np.load(io.BytesIO(content)).size for name, content in members.items() if name.endswith(".npy")}
    assert max(sizes.values()) <= max(numbers, 40)


def test_pickles(tmp_path: Path) -> None:
    X, y = samples("several classes")
    model = CompactSVC(strategy=SHORT, random_state=0).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    same_answers(copied, model, X)
    np.testing.assert_array_equal(copied.front_, model.front_)


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"^CompactSVC is not fitted yet\.$"):
        save_model(CompactSVC(), tmp_path / "model.wm")

    class Other(CompactSVC):
        pass

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelFileError, match="Other cannot be stored in a model file"):
        save_model(Other(strategy=SHORT).fit(X, y), tmp_path / "model.wm")


@pytest.fixture(scope="module")
def compact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("models") / "model.wm"
    X, y = samples("several classes")
    model = CompactSVC(strategy=SHORT, select_features=True, feature_penalty=0.05, random_state=0).fit(X, y)
    save_model(model, path)
    return path.read_bytes()


STEP = ("steps", 0)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ((*STEP, "class"), "ModelSearch", "class of step 0 is 'ModelSearch', expected one of"),
        ((*STEP, "parameters", "colour"), "red", "parameter 'colour' is unknown to CompactSVC in this version"),
        ((*STEP, "parameters", "journal"), "x.jsonl", "parameter 'journal' is unknown to CompactSVC in this version"),
        ((*STEP, "parameters", "tol"), -1.0, "CompactSVC refuses its parameters (tol must be a number above 0; got -1"),
        ((*STEP, "parameters", "decision"), "votes", "CompactSVC refuses its parameters (decision must be one of"),
        ((*STEP, "parameters", "n_jobs"), 5000, "n_jobs is 5000, expected at most 1024."),
        ((*STEP, "strategy"), [], "strategy of step 0 is [], expected named entries."),
        ((*STEP, "strategy"), {"colour": 1}, "CompactSVC refuses its parameters ("),
        ((*STEP, "strategy", "patience"), -1, "CompactSVC refuses its parameters (patience=-1 of 'tabu' must"),
        ((*STEP, "strategy", "promising"), "x", "CompactSVC refuses its parameters ("),
        ((*STEP, "n_features"), 2, "n_selected of step 0 is "),
        ((*STEP, "n_features"), 10**15, "n_features of step 0 is 1000000000000000, expected a whole number"),
        ((*STEP, "n_selected"), 1, "array 0/selected is of shape ("),
        ((*STEP, "classes", "values"), [0, 1], "models of step 0 is"),
        ((*STEP, "classes", "values"), [0, 1, 2, 3], "expected the decision functions of 4 classes."),
        ((*STEP, "models"), [], "models of step 0 is [], expected the decision functions of 3 classes."),
        ((*STEP, "models", 0), 3, "model 0 of step 0"),
        ((*STEP, "models", 1, "sigmoid"), [-1.0, 0.0], "slope of sigmoid of model 1 of step 0 is -1.0, expected"),
        (
            (*STEP, "models", 1, "sigmoid"),
            [1.0],
            "sigmoid of model 1 of step 0 is [1.0], expected a slope and an offset",
        ),
        ((*STEP, "models", 1, "sigmoid"), [10**400, 0.0], "slope of sigmoid of model 1 of step 0 is 1000"),
        (
            (*STEP, "models", 1, "sigmoid"),
            ["1", 0.0],
            "slope of sigmoid of model 1 of step 0 is '1', expected a number",
        ),
        ((*STEP, "models", 2, "C"), {"$float": "nan"}, "C of model 2 of step 0 is"),
        ((*STEP, "models", 2, "level"), -1, "level of model 2 of step 0 is -1, expected a whole number of at least 0"),
        (
            (*STEP, "models", 0, "model", "class"),
            "SVR",
            "class of model of model 0 of step 0 is 'SVR', expected one of SVC",
        ),
        ((*STEP, "models", 0, "model", "n_features"), 13, "shape_fit of model of model 0 of step 0 is"),
        (
            (*STEP, "models", 0, "model", "classes"),
            {"type": "int64", "values": [1, 2]},
            "model of model 0 of step 0 is not one of two classes with a Gaussian kernel.",
        ),
        (
            (*STEP, "models", 0, "model", "parameters", "kernel"),
            "linear",
            "model of model 0 of step 0 is not one of two classes with a Gaussian kernel.",
        ),
    ],
)
def test_forged_documents(compact: bytes, where: Any, value: Any, message: str, tmp_path: Path) -> None:
    members = opened(compact)
    document = changed(json.loads(members["model.json"]), where, value)
    path = tmp_path / "model.wm"
    found = outcome(path, archive_of(members | {"model.json": json.dumps(document).encode()}))
    require_sentence(found, path)
    assert message in found


def array(values: Any, dtype: str) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.array(values, dtype=dtype), version=(1, 0))
    return content.getvalue()


def test_forged_arrays(compact: bytes, tmp_path: Path) -> None:
    members, path = opened(compact), tmp_path / "model.wm"
    path.write_bytes(compact)
    model = open_model(path).model
    chosen, own = model.selected_features_, model.models_[0].features
    assert 1 < len(chosen) < 13
    forged = {
        "0/selected": [
            (array([*chosen[:-1], 13], "<i8"), "array 0/selected must hold different columns in order, below 13."),
            (array([-1, *chosen[1:]], "<i8"), "array 0/selected must hold different columns in order, below 13."),
            (array(chosen[::-1], "<i8"), "array 0/selected must hold different columns in order, below 13."),
            (array(chosen, "<f8"), "array 0/selected is of type '<f8', expected <i8."),
        ],
        "0/means": [(array(np.full(len(chosen), np.nan), "<f8"), "array 0/means holds numbers that are not finite.")],
        "0/factors": [
            (array(np.zeros(len(chosen)), "<f8"), "array 0/factors holds a number that is not above 0."),
            (array(-np.ones(len(chosen)), "<f8"), "array 0/factors holds a number that is not above 0."),
            (array(np.ones(13), "<f8"), "array 0/factors is of shape (13,), expected"),
        ],
        "0/0/features": [
            (array(np.arange(len(own) + 1), "<i8"), "array 0/0/features is of shape"),
            (array(np.arange(len(own)) + 100, "<i8"), "array 0/0/features must hold different columns in order, below"),
        ],
    }
    for name, cases in forged.items():
        for content, message in cases:
            found = outcome(path, archive_of(members | {f"{name}.npy": content}))
            require_sentence(found, path)
            assert message in found
        lacking = {key: value for key, value in members.items() if key != f"{name}.npy"}
        found = outcome(path, archive_of(lacking))
        require_sentence(found, path)
        assert f"member {name}.npy is missing." in found


def test_columns_that_nobody_uses_or_selected(compact: bytes, tmp_path: Path) -> None:
    members, path = opened(compact), tmp_path / "model.wm"
    path.write_bytes(compact)
    model = open_model(path).model
    chosen = model.selected_features_
    free = np.setdiff1d(np.arange(13), chosen)[0]
    other = np.sort([free, *chosen[1:]])
    found = outcome(path, archive_of(members | {"0/selected.npy": array(other, "<i8")}))
    require_sentence(found, path)
    assert "holds a column that is not selected" in found
    document = json.loads(members["model.json"])
    document["steps"][0]["n_selected"] = len(chosen) + 1
    more = {
        "model.json": json.dumps(document).encode(),
        "0/selected.npy": array(np.sort([free, *chosen]), "<i8"),
        "0/means.npy": array(np.zeros(len(chosen) + 1), "<f8"),
        "0/factors.npy": array(np.ones(len(chosen) + 1), "<f8"),
    }
    found = outcome(path, archive_of(members | more))
    require_sentence(found, path)
    assert "array 0/selected holds a column that no decision function uses." in found


def test_any_entry_may_be_nonsense(compact: bytes, tmp_path: Path) -> None:
    """Whatever stands in the place of an entry, the file is refused in a sentence, or predicts something."""
    members, path = opened(compact), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    values: list[Any] = [None, True, -1, 10**400, 0.5, "x", [], {}, {"$float": "nan"}]
    for number, where in enumerate(places(document)):
        value = values[number % len(values)]
        content = archive_of(members | {"model.json": json.dumps(changed(document, where, value)).encode()})
        found = outcome(path, content)
        if isinstance(found, str):
            require_sentence(found, path)
        else:
            assert found is None or len(found) == 5

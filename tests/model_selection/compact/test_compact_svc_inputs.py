"""Samples of all kinds: scales, offsets, types, labels, what is constant, useless, tiny or contradicting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from small_problems import fitted, three_classes, two_classes

from widemargin import CompactSVC


@pytest.mark.parametrize("select", [False, True])
def test_a_class_of_three_samples(select: bool) -> None:
    generator = np.random.default_rng(0)
    X = np.vstack([generator.normal(size=(60, 3)), generator.normal(size=(3, 3)) + 8.0])
    y = np.repeat([0, 1], [60, 3])
    model = fitted(X, y, select_features=select)
    assert [np.count_nonzero(y[part] == 1) for part in model.split_] == [1, 1, 1]
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match=r"^y holds 2 samples of class 1; every class needs 3: one to train on"):
        fitted(X[:-1], y[:-1])
    assert fitted(X[:-1], y[:-1], test_size=0).score(X, y) == 1.0


def test_three_samples_of_each_class() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    y = np.repeat(["low", "high"], 3)
    model = fitted(X, y, strategy=None)
    assert model.predict(X).tolist() == y.tolist()
    assert model.n_support_.tolist() == [2]
    assert model.recognition_rate_ == 1.0


def test_more_features_than_samples() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 60))
    y = X[:, 7] > 0
    X[:, 7] += np.where(y, 5.0, -5.0)
    model = fitted(X, y, select_features=True, feature_penalty=0.05)
    assert 7 in model.selected_features_
    assert len(model.selected_features_) < 30
    assert fitted(X, y).predict(X).dtype == np.bool_


def test_many_classes() -> None:
    generator = np.random.default_rng(0)
    centres = np.array([[i, j] for i in range(4) for j in range(3)]) * 6.0
    y = np.repeat(np.arange(12), 20)
    X = centres[y] + generator.normal(size=(240, 2))
    model = fitted(X, y)
    assert len(model.models_) == 12
    assert model.decision_function(X).shape == (240, 12)
    assert model.score(X, y) > 0.9


def test_a_constant_feature_is_never_used() -> None:
    X, y = two_classes()
    X[:, 2] = 0.1
    model = fitted(X, y, select_features=True, feature_penalty=0.0)
    assert 2 not in model.selected_features_
    assert not model.scale_.varies[2]
    assert (model.models_[0].trace["feature 2"] == 0).all()
    # Nor is one that does not vary among the samples to train on.
    X, y = two_classes()
    X[:, 2] = 0.0
    X[model.split_.test[0], 2] = 1e6
    assert 2 not in fitted(X, y, select_features=True).selected_features_
    assert fitted(X, y).selected_features_.tolist() == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_rare_values_of_any_scale_make_the_same_model(make: Any, scale: float) -> None:
    X, y = two_classes()
    X[:, 2] = 0.0
    X[fitted(X, y).split_.test[:3], 2] = 1.0
    model, scaled = fitted(make(X), y), fitted(make(X * scale), y)
    assert scaled.n_support_.tolist() == model.n_support_.tolist()
    np.testing.assert_allclose(scaled.decision_function(make(X * scale)), model.decision_function(make(X)), rtol=1e-4)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("select", [False, True])
def test_nothing_but_constants(make: Any, select: bool) -> None:
    X, y = make(np.ones((30, 3))), np.repeat([0, 1], 15)
    with pytest.raises(ValueError, match=r"^X has no feature with more than one value among the samples to train on"):
        fitted(X, y, select_features=select)


def test_useless_features() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(600, 4)), np.repeat([0, 1], 300)
    model = fitted(X, y, select_features=True, feature_penalty=0.05, strategy=None)
    assert abs(model.recognition_rate_ - 0.5) < 0.15
    assert len(model.selected_features_) <= 2


def test_contradicting_duplicates() -> None:
    X = np.repeat(np.arange(10.0)[:, np.newaxis], 8, axis=0)
    y = np.tile([0, 1], 40)
    model = fitted(X, y)
    assert 0.2 < model.recognition_rate_ < 0.8
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("factor", [1e-300, 1e-165, 1e-20, 1e20, 1e155, 1e300])
def test_scales_do_not_matter(factor: float, make: Any) -> None:
    X, y = two_classes()
    usual, scaled = fitted(make(X), y, select_features=True), fitted(make(X * factor), y, select_features=True)
    assert scaled.quality_ == pytest.approx(usual.quality_)
    np.testing.assert_array_equal(scaled.selected_features_, usual.selected_features_)
    np.testing.assert_array_equal(scaled.predict(make(X * factor)), usual.predict(make(X)))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("select", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [1e4, 1e7, 1e8])
def test_offsets_do_not_matter(offset: float, make: Any, select: bool, standardize: bool) -> None:
    X, y = two_classes()
    usual, far = (
        fitted(samples, y, select_features=select, standardize=standardize) for samples in (X, make(X + offset))
    )
    assert far.quality_ == pytest.approx(usual.quality_)
    np.testing.assert_array_equal(far.selected_features_, usual.selected_features_)
    np.testing.assert_allclose(far.decision_function(make(X + offset)), usual.decision_function(X), atol=1e-4)


def test_samples_that_are_too_large_unless_they_are_scaled() -> None:
    X, y = two_classes()
    X[:, 3] *= 1e20
    words = (
        r"^Column 3 of X reaches .*e\+20 on the scale of the search, too far for distances in float32; scale "
        r"X, with standardize=True or yourself, or leave the samples out that are so far away\.$"
    )
    with pytest.raises(ValueError, match=words):
        fitted(X, y, standardize=False)
    assert fitted(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
def test_types_of_samples(dtype: Any) -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(2 if dtype is np.bool_ else 100, size=(120, 3))
    y = X[:, 0] + X[:, 1] > X.max()
    usual, other = fitted(X.astype(float), y), fitted(X.astype(dtype), y)
    assert other.quality_ == usual.quality_
    np.testing.assert_array_equal(other.predict(X.astype(dtype)), usual.predict(X.astype(float)))


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1, 1], [2.0, 7.0], np.array(["a", "b"], dtype=object)]
)
def test_labels_of_all_kinds(labels: Any) -> None:
    X, y = two_classes()
    names = np.asarray(labels)
    usual, model = fitted(X, y), fitted(X, names[y])
    np.testing.assert_array_equal(model.predict(X), names[usual.predict(X)])
    assert model.models_[0].label == names[1]
    assert model.predict(X).dtype == names.dtype


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_numbers_that_are_none(make: Any) -> None:
    X, y = two_classes()
    model = fitted(make(X), y, select_features=True, strategy=None, feature_penalty=0.05)
    chosen = model.selected_features_
    dropped = np.setdiff1d(np.arange(6), chosen)
    assert len(chosen)
    assert len(dropped)
    expected = model.predict(make(X))
    # Columns that are not selected are not read.
    bad = X.copy()
    bad[3, dropped[0]] = np.nan
    np.testing.assert_array_equal(model.predict(make(bad)), expected)
    bad[5, chosen[-1]] = np.inf
    for ask in (model.predict, model.decision_function, model.predict_proba):
        with pytest.raises(ValueError, match=f"contains infinity in column {chosen[-1]}, first at row 5"):
            ask(make(bad))
    with pytest.raises(ValueError, match=f"contains NaN in column {dropped[0]}, first at row 3"):
        fitted(make(bad), y)


def test_one_class() -> None:
    with pytest.raises(ValueError, match=r"^y must hold at least two classes; got 1 class in all 20 samples\.$"):
        fitted(np.arange(20.0)[:, np.newaxis], np.zeros(20))


FRAMES = {"pandas": pd.DataFrame, "polars": lambda columns: pl.DataFrame(columns)}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_data_frames(library: str, data: Any) -> None:
    X, y = data()
    names = [f"column {letter}" for letter in "abcdef"[: X.shape[1]]]

    def frame(columns: list[str]) -> Any:
        return FRAMES[library]({name: X[:, names.index(name)] for name in columns})

    model = fitted(frame(names), y, select_features=True, feature_penalty=0.05, strategy=None)
    plain = fitted(X, y, select_features=True, feature_penalty=0.05, strategy=None)
    assert model.feature_names_in_.tolist() == names
    expected = plain.decision_function(X)
    chosen = [names[number] for number in model.selected_features_]
    others = [name for name in names if name not in chosen]
    assert others
    np.testing.assert_array_equal(model.decision_function(frame(names)), expected)
    for columns in (chosen, chosen[::-1], [*others[1:], *chosen[::-1]]):
        np.testing.assert_array_equal(model.decision_function(frame(columns)), expected)
        np.testing.assert_array_equal(model.predict(frame(columns)), plain.predict(X))
    # In another order, or with a column that is new.
    np.testing.assert_array_equal(model.decision_function(frame(names[::-1])), expected)
    for columns in (chosen[::-1], names):
        new = FRAMES[library]({"new": X[:, 0], **{name: X[:, names.index(name)] for name in columns}})
        np.testing.assert_array_equal(model.decision_function(new), expected)
    words = (
        rf"^X lacks the column '{chosen[0]}' of the {len(chosen)} that the model reads; the other {len(others)} of its "
    )
    for columns in ([*chosen[1:], *others], [*chosen[1:], *others[1:]]):
        with pytest.raises(ValueError, match=words):
            model.predict(frame(columns))
    if len(chosen) > 1:
        with pytest.raises(ValueError, match=rf"^X lacks the column '{chosen[0]}' and {len(chosen) - 1} more of the"):
            model.predict(frame(others))
    with pytest.raises(ValueError, match=f"X has 2 features, but CompactSVC is expecting {X.shape[1]} features"):
        plain.predict(X[:, :2])
    bad = X.copy()
    bad[4, model.selected_features_[0]] = np.nan
    words = rf"contains NaN in column {model.selected_features_[0]} \('{chosen[0]}'\), first at row 4"
    with pytest.raises(ValueError, match=words):
        model.predict(FRAMES[library]({name: bad[:, names.index(name)] for name in chosen}))


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_a_data_frame_that_are_not_selected_may_hold_anything(library: str) -> None:
    X, y = two_classes()
    names = list("abcdef")
    columns = {name: X[:, place] for place, name in enumerate(names)}
    model = fitted(FRAMES[library](columns), y, select_features=True, feature_penalty=0.05, strategy=None)
    others = np.setdiff1d(np.arange(6), model.selected_features_)
    odd = columns | {names[others[0]]: ["?"] * len(X), names[others[-1]]: [None] * len(X)}
    np.testing.assert_array_equal(
        model.decision_function(FRAMES[library](odd)), model.decision_function(FRAMES[library](columns))
    )


@pytest.mark.parametrize("library", FRAMES)
def test_all_columns_are_needed_where_all_are_selected(library: str) -> None:
    X, y = two_classes()
    columns = {name: X[:, place] for place, name in enumerate("abcdef")}
    model = fitted(FRAMES[library](columns), y)
    other = FRAMES[library]({"z": X[:, 0], **dict(reversed(columns.items()))})
    np.testing.assert_array_equal(model.predict(other), model.predict(FRAMES[library](columns)))
    with pytest.raises(ValueError, match=r"^X lacks the column 'b' of the 6 that the model reads\.$"):
        model.predict(FRAMES[library]({name: column for name, column in columns.items() if name != "b"}))


def test_a_data_frame_that_repeats_a_column() -> None:
    X, y = two_classes()
    names = list("abcdef")
    model = fitted(pd.DataFrame(X, columns=names), y, select_features=True, feature_penalty=0.05, strategy=None)
    chosen = [names[number] for number in model.selected_features_]
    twice = pd.DataFrame(X[:, [*model.selected_features_, 0]], columns=[*chosen, chosen[0]])
    # Versions of scikit-learn differ in whether they refuse such frames themselves.
    with pytest.raises(
        ValueError, match=rf"unique column names|^X has 2 columns named '{chosen[0]}'; the model reads one"
    ):
        model.predict(twice)


def test_predicting_does_not_change_a_model() -> None:
    X, y = three_classes()
    model: CompactSVC = fitted(X, y)
    before = model.decision_function(X)
    model.n_jobs = 2
    np.testing.assert_array_equal(model.decision_function(X), before)

"""Columns of text in models: found by name, encoded as in training, refused in one sentence."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from widemargin.datasets.columns import ColumnEncoder

NAMES = ["size", "colour=blue", "colour=red", "new=FALSE", "new=TRUE"]
ENCODED = {"colour": ["blue", "red"], "new": ["FALSE", "TRUE"]}
FRAME = pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"], "new": [True, False]})
FEATURES = np.array([[1.0, 0, 1, 0, 1], [2, 1, 0, 1, 0]])


@pytest.fixture
def encoder() -> ColumnEncoder:
    return ColumnEncoder(NAMES, ENCODED).fit()


@pytest.mark.parametrize(
    "X",
    [
        FRAME,
        FRAME[["new", "colour", "size"]].assign(other="x"),
        FRAME.astype({"colour": "category", "size": "Int64"}),
        FRAME.assign(new=["TRUE", "FALSE"]).astype(str),
        pl.DataFrame({"new": ["TRUE", "FALSE"], "colour": [" red", "blue"], "size": [1.0, 2.0]}),
        FEATURES,
        FEATURES.tolist(),
    ],
    ids=["frame", "other order", "other types", "text", "polars", "features", "list of features"],
)
def test_columns_become_features(encoder: ColumnEncoder, X: Any) -> None:
    np.testing.assert_array_equal(encoder.transform(X), FEATURES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clone(encoder).fit())).transform(X), FEATURES)


def test_sparse_features_stay_sparse(encoder: ColumnEncoder) -> None:
    X = sp.csr_matrix(FEATURES)
    assert encoder.transform(X) is X


def test_rows_without_names_are_taken_in_order(encoder: ColumnEncoder) -> None:
    assert encoder.feature_names_in_.tolist() == ["size", "colour", "new"]
    assert encoder.get_feature_names_out().tolist() == NAMES
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(encoder.transform(FRAME.to_numpy()), FEATURES)
    # Where the training table had no header, there are no names to be missed.
    nameless = ColumnEncoder(["column 1", "column 2=a", "column 2=b"], {"column 2": ["a", "b"]}).fit()
    assert not hasattr(nameless, "feature_names_in_")
    frame = pd.DataFrame({"any": [1.0], "thing": ["b"]})
    for X in (frame, frame.to_numpy(), [[1.0, "b"]]):
        assert nameless.transform(X).tolist() == [[1.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (FRAME[["size"]], "X lacks columns 'colour', 'new', which the model reads; its columns are 'size'."),
        (FRAME.set_axis(["size", "colour", "colour"], axis=1).assign(new=True), "several columns named 'colour'"),
        (
            FRAME.assign(colour=["red", "green"]),
            "X holds 'green' in column 'colour', first at row 1; it must be",
        ),
        (FRAME.assign(colour=["red", None]), "X holds no value in column 'colour', first at row 1; it must be"),
        (FRAME.assign(new=[True, np.nan]), "X holds no value in column 'new', first at row 1"),
        (FRAME.assign(colour=[True, False]), "X holds True in column 'colour', first at row 0"),
        (FRAME.assign(size=[1.0, np.nan]), "X holds nan in column 'size', first at row 1; a finite number is needed."),
        (FRAME.assign(size=[1.0, np.inf]), "X holds inf in column 'size', first at row 1; a finite number is needed."),
        (FRAME.assign(size=["1", "large"]), "X holds 'large' in column 'size', first at row 1"),
        (FRAME.assign(size=pd.array([1, None], dtype="Int64")), "X holds <NA> in column 'size', first at row 1"),
        (
            FRAME.to_numpy()[:, :2],
            r"X is of shape \(2, 2\), but the model reads 3 columns: 'size', 'colour', 'new'",
        ),
        (FRAME["size"], r"X is of shape \(2,\), but the model reads 3 columns"),
    ],
)
def test_what_cannot_be_encoded_is_refused(encoder: ColumnEncoder, X: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        encoder.transform(X)

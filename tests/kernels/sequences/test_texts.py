"""Containers of strings, what is no string, and parts that share encodings."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from widemargin import SVC
from widemargin.kernels import Oligo
from widemargin.kernels.rows import take
from widemargin.kernels.sequences import Sequences
from widemargin.kernels.sequences.texts import KEPT, Texts

TEXTS = ["ACGT", "AACC", "GGTT"]


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: np.array(texts, dtype="S4"),
        lambda texts: pd.Series(texts, index=[5, 3, 9]),
        lambda texts: pd.Series(texts, dtype="category"),
        pl.Series,
    ],
)
def test_containers(container: Any) -> None:
    assert list(Sequences.of(container(TEXTS))) == TEXTS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ACGT", r"X is one string, 'ACGT'; a list, array, column or data frame of samples is needed"),
        (["ACGT", None], r"sequence 1 of X is None; it must be a string"),
        (["ACGT", b"AC"], r"sequence 1 of X is bytes, b'AC', not text; it must be a string"),
        (["ACGT", 3], r"sequence 1 of X is 3; it must be a string"),
        ([["A", "C"]], r"sequence 0 of X is a list; it must be a string"),
        (pd.Series(["AC", None, "GT"]), r"sequence 1 of X is (None|nan); it must be a string"),
        (np.eye(2), r"X is ndarray of shape \(2, 2\); a list"),
        (pd.DataFrame({"a": TEXTS}), r"X is DataFrame of shape \(3, 1\); a list.*for each sample, such as X\['a'\]"),
        (pl.DataFrame({"a": TEXTS}), r"X is DataFrame of shape \(3, 1\); a list.*for each sample, such as X\['a'\]"),
        (set(TEXTS), r"X is an object of type set; a list"),
        (dict(enumerate(TEXTS)), r"X is an object of type dict; a list"),
        (7, r"X is int; a list"),
        (np.array([b"AC", b"\xe9"]), r"sequence 1 of X is b'\\xe9', which is no ASCII"),
    ],
)
def test_what_is_no_sequence(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Sequences.of(given)


def test_estimators_say_so_too() -> None:
    with pytest.raises(TypeError, match="strings is needed"):
        SVC(kernel=Oligo()).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="sequence 1 of X is None"):
        SVC(kernel=Oligo()).fit(["ACGT", None, "ACGG", "GGCC"], [0, 1, 0, 1])
    model = SVC(kernel=Oligo()).fit(["ACGT", "AAAA", "ACGG", "AAAT"], [0, 1, 0, 1])
    with pytest.raises(TypeError, match="sequence 0 of X is 3"):
        model.predict([3])


def test_parts_share_what_was_made_of_the_whole() -> None:
    X = Sequences.of(TEXTS)
    part = take(X, np.array([2, 0]))
    assert list(part) == ["GGTT", "ACGT"]
    assert part.whole is X.whole
    assert list(part[1:]) == ["ACGT"]
    assert part[np.array([True, False])].ids.tolist() == [2]
    assert part.alone().ids.tolist() == [0, 1]
    assert X.alone() is X
    assert list(pickle.loads(pickle.dumps(part))) == list(part)


def test_only_the_last_encodings_are_kept() -> None:
    texts = Texts(TEXTS)
    made = [texts.made(number, lambda: object()) for number in range(KEPT)]
    assert texts.made(0, lambda: object()) is made[0]
    texts.made("another", lambda: object())
    assert texts.made(0, lambda: object()) is made[0]
    assert texts.made(1, lambda: object()) is not made[1]

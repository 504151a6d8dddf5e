"""What comes with a batch, and is none of what it should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin.estimators.online.checks import (
    class_numbers,
    classes_of,
    ids_of,
    require_finite_prices,
    require_no_gram,
    weights_of,
)

UNSEEN = r"The target label\(s\) {} in y do not exist in the initial classes"


@pytest.mark.parametrize(
    ("y", "classes", "unseen"),
    [
        ([0, 2, 1], [0, 1], r"\[2\]"),
        ([0.5, 0.0], [0, 1], r"\[0\.5\]"),
        ([np.nan, 0.0], [0, 1], r"\[nan\]"),
        (["0"], [0, 1], r"\['0'\]"),
        ([0], ["0", "1"], r"\[0\]"),
        (np.array(["b", "a", "z", "z"], dtype=object), ["a", "b"], r"\['z'\]"),
        (np.array(["a", None], dtype=object), ["a", "b"], r".*None.*"),
        (np.arange(20), [0, 1], r"\[2, 3, .*, 11, '\.\.\.'\]"),
    ],
)
def test_labels_that_are_not_among_the_classes_are_named(y: Any, classes: Any, unseen: str) -> None:
    with pytest.raises(ValueError, match=UNSEEN.format(unseen)):
        class_numbers(np.asarray(y), np.asarray(classes))


def test_labels_are_numbered() -> None:
    for y, classes, numbers in (
        ([3, -1, 3], [-1, 3], [1, 0, 1]),
        ([1.0, 0.0], [0, 1], [1, 0]),
        ([True, False], [False, True], [1, 0]),
        (np.array(["b", "a"], dtype=object), ["a", "b", "c"], [1, 0]),
        ([], [0, 1], []),
    ):
        assert class_numbers(np.asarray(y), np.asarray(classes)).tolist() == numbers
    assert classes_of([3, 1, 3]).tolist() == [1, 3]


def test_weights_may_all_be_0_but_must_be_weights() -> None:
    assert weights_of(np.zeros(3), 3).tolist() == [0.0, 0.0, 0.0]
    assert weights_of(2.0, 2).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match=r"expected \(2,\)"):
        weights_of([1.0], 2)
    with pytest.warns(UserWarning, match="1 negative weight, first -1 at row 1"):
        assert weights_of([0.0, -1.0], 2).tolist() == [0.0, 0.0]


def test_prices_must_be_numbers_of_float64() -> None:
    require_finite_prices(np.array([0.0, 1e300]), 2.0)
    with pytest.raises(ValueError, match=r"C times the weight of row 1, 1e\+10 times 1e\+300, is beyond float64"):
        require_finite_prices(np.array([1.0, 1e300]), 1e10)
    with pytest.raises(ValueError, match="is 0 in float64 for every row"):
        require_finite_prices(np.array([1e-300]), 1e-300)


def test_ids_stay_what_they_are() -> None:
    found = ids_of([1, "1"], 2)
    assert found is not None
    assert found.tolist() == [1, "1"]
    for plain in ([1, 2], ["a", "b"], [2**70, 1], [1.5, 2.5], [True, False], np.array(["a", 3], dtype=object)):
        found = ids_of(plain, 2)
        assert found is not None
        assert found.tolist() == list(plain)
    with pytest.raises(ValueError, match="ids has the shape"):
        ids_of([[1, 2]], 2)
    for bad, which in (([1.0, np.nan], "nan at row 1"), ([None, 3], "None at row 0"), ([{}, 3], r"\{\} at row 0")):
        with pytest.raises(ValueError, match=f"ids holds {which}; an id must be a number or a string"):
            ids_of(bad, 2)


def test_a_precomputed_kernel_is_refused_and_so_is_none() -> None:
    with pytest.raises(ValueError, match="has no values for samples that are yet to come"):
        require_no_gram("kernel", "precomputed")
    with pytest.raises(ValueError, match="kernel must be one of"):
        require_no_gram("kernel", "gaussian")

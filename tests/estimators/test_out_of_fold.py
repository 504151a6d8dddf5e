"""Values of rows held out, and folds that depend on what rows hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from widemargin.estimators import out_of_fold
from widemargin.estimators.out_of_fold import OutOfFold, content_folds, row_keys

RNG = np.random.default_rng(0)
X = np.where(RNG.random((60, 4)) < 0.4, 0.0, RNG.normal(size=(60, 4)))
LABELS = np.arange(60) % 3


def test_values_of_repeated_rows_are_averages_and_others_are_missing():
    found = OutOfFold(3)
    found.add(("a",), np.array([0, 0, 2]), np.array([1.0, 3.0, 5.0]))
    np.testing.assert_array_equal(found.values(("a",)), [2.0, np.nan, 5.0])
    assert np.isnan(found.values(("b",))).all()


@pytest.mark.parametrize("container", [csr_array, csc_array])
def test_keys_depend_on_numbers_alone(container, monkeypatch):
    keys = row_keys(X)
    assert len(np.unique(keys)) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(row_keys(container(X)), keys)
    monkeypatch.setattr(out_of_fold, "BLOCK_ENTRIES", 8)
    np.testing.assert_array_equal(row_keys(X), keys)


def test_columns_count():
    assert row_keys(np.array([[1.0, 2.0]]))[0] != row_keys(np.array([[2.0, 1.0]]))[0]


def test_the_order_of_rows_makes_no_difference_and_repeated_rows_stay_together():
    order = np.random.default_rng(1).permutation(120)
    twice, labels = np.vstack([X, X]), np.tile(LABELS, 2)
    folds = content_folds(twice, labels, np.ones(120))
    np.testing.assert_array_equal(folds[:60], folds[60:])
    np.testing.assert_array_equal(content_folds(twice[order], labels[order], np.ones(120)), folds[order])


def test_every_class_is_spread_evenly_over_the_folds():
    folds = content_folds(X, LABELS, np.ones(60), n_folds=4)
    for c in range(3):
        different = {tuple(row): fold for row, fold in zip(X[c == LABELS], folds[c == LABELS], strict=True)}
        counts = np.bincount(list(different.values()), minlength=4)
        assert counts.max() - counts.min() <= 1


def test_rows_without_weight_are_in_no_fold():
    weights = np.where(np.arange(60) < 10, 0.0, 1.0)
    folds = content_folds(None, LABELS, weights)
    assert (folds[:10] == -1).all()
    assert (folds[10:] >= 0).all()

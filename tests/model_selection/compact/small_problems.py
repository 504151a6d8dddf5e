"""What tests of compact models share: samples, a search that ends soon, and what makes two models the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from widemargin import CompactSVC
from widemargin.strategies import TabuSearch

#: Ends soon.
SHORT = TabuSearch(patience=1, failures=0)


def two_classes(n: int = 150, d: int = 6) -> tuple[Any, Any]:
    """Two classes, one in three of the second; half of the features say something."""
    return make_classification(n, d, n_informative=3, n_redundant=0, weights=[0.67], flip_y=0.05, random_state=2)


def three_classes(n: int = 180) -> tuple[Any, Any]:
    """Three classes of different sizes."""
    return make_classification(
        n,
        5,
        n_informative=3,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=1,
        weights=[0.5, 0.3],
        class_sep=1.5,
        random_state=1,
    )


def fitted(X: Any, y: Any, **how: Any) -> CompactSVC:
    """Fit a short search with a seed, unless something else is asked for."""
    return CompactSVC(**{"strategy": SHORT, "random_state": 0, **how}).fit(X, y)


def same_models(one: CompactSVC, other: CompactSVC) -> None:
    """Raise AssertionError unless two fits found the same, bit for bit; times aside."""
    assert one.seed_ == other.seed_
    for mine, theirs in zip(one.split_, other.split_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.selected_features_, other.selected_features_)
    np.testing.assert_array_equal(one.front_, other.front_)
    assert (one.quality_, one.cost_) == (other.quality_, other.cost_)
    np.testing.assert_array_equal(one.recognition_rate_, other.recognition_rate_)
    assert len(one.models_) == len(other.models_)
    for mine, theirs in zip(one.models_, other.models_, strict=True):
        assert mine.sigmoid == theirs.sigmoid
        assert mine.ended == theirs.ended
        np.testing.assert_array_equal(mine.model.dual_coef_, theirs.model.dual_coef_)
        np.testing.assert_array_equal(mine.model.support_vectors_, theirs.model.support_vectors_)
        columns, others = mine.trace.columns, theirs.trace.columns
        for name, column in columns.items():
            if name != "seconds":
                np.testing.assert_array_equal(column, others[name], err_msg=name)

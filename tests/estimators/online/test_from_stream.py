"""Attributes that are computed when somebody asks for them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.estimators.online.test_online_svc import learnt, two_classes

from widemargin import OnlineSVC
from widemargin.estimators.online.from_stream import FROM_STREAM


def test_all_are_there_after_learning_and_are_those_of_the_stream() -> None:
    X, y = two_classes(100)
    model = learnt(X, y, size=1)
    assert not set(FROM_STREAM) & set(vars(model))
    assert model.shape_fit_ == (100, 4)
    assert set(FROM_STREAM) <= set(vars(model))
    before = model.dual_coef_
    assert model.dual_coef_ is before
    model.partial_fit(X[:5], y[:5])
    assert model.shape_fit_ == (105, 4)
    assert model.dual_coef_ is not before
    alpha = model._stream.alpha[0]
    np.testing.assert_array_equal(np.sort(-alpha[alpha != 0]), np.sort(model.dual_coef_[0]))


def test_a_model_that_has_learnt_nothing_has_none() -> None:
    model = OnlineSVC()
    for name in FROM_STREAM:
        with pytest.raises(AttributeError, match=f"'OnlineSVC' object has no attribute '{name}'"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no gap_ before it has learnt"):
        _ = model.gap_
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        _ = model.coef_


def test_copies_and_pickles_hold_them() -> None:
    X, y = two_classes(100)
    model = learnt(X, y)
    pickled, copied = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    shallow = copy.copy(model)
    expected = model.decision_function(X)
    model.partial_fit(X + 1.0, y)
    for other in (pickled, copied, shallow):
        assert set(FROM_STREAM) <= set(vars(other))
        np.testing.assert_array_equal(other.decision_function(X), expected)

"""What pictures show, as data."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from widemargin import SVR, OneClassSVM
from widemargin.datasets import chess_board
from widemargin.inspection import DecisionValues, decision_surface


def test_decision_surface_holds_the_machine() -> None:
    X, y = chess_board(120, size=2, random_state=0)
    model = SVC(C=10.0, gamma=2.0).fit(X, y)
    info = decision_surface(model, X, y, lower=0, upper=2, title="board", resolution=20)
    assert info.values.shape == (20, 20)
    # Rows of the grid are the second feature, columns the first.
    corner = model.decision_function([[info.horizontal[3], info.vertical[15]]])[0]
    assert info.values[15, 3] == pytest.approx(corner)
    np.testing.assert_array_equal(np.flatnonzero(info.support), np.sort(model.support_))
    np.testing.assert_array_equal(info.positive, y == 1)
    assert info.class_names == ("-1", "1")


def test_wrong_side(values: DecisionValues) -> None:
    assert values.wrong.tolist() == [False, True, True, False]


def test_other_models_are_refused_in_a_sentence() -> None:
    X, y = chess_board(120, size=2, random_state=0)
    where = {"lower": 0, "upper": 2, "title": "board", "resolution": 20}
    three = SVC().fit(X, np.arange(120) % 3)
    for model, found in (
        (three, "SVC of 3 classes"),
        (make_pipeline(StandardScaler(), three), "SVC of 3 classes"),
        (OneClassSVM().fit(X), "OneClassSVM"),
        (SVR().fit(X, y), "SVR"),
        (SVC(), "SVC"),
    ):
        with pytest.raises(ValueError, match=rf"^model must be a fitted classifier of two classes, got {found}\.$"):
            decision_surface(model, X, y, **where)
    wide = np.column_stack([X, X])
    with pytest.raises(ValueError, match=r"^X must hold two features, .*, got an array of shape \(120, 4\)\.$"):
        decision_surface(SVC().fit(wide, y), wide, y, **where)

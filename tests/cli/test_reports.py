"""What the pictures show, apart from the command that asks for them."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from widemargin.datasets import chess_board
from widemargin.inspection import DecisionValues, aligned, decision_surface


@pytest.fixture(name="values")
def decision_values() -> DecisionValues:
    return DecisionValues(
        title="four rows",
        values=np.array([-2.0, 0.5, -0.5, 2.0]),
        spread=np.arange(4.0),
        spread_name="row",
        positive=np.array([False, False, True, True]),
        class_names=("no", "yes"),
    )


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


def test_aligned_columns() -> None:
    table = aligned([["", "a", "bb"], ["first", "1", "2"], ["x", "333", "4"]], gap=2)
    assert table.splitlines() == ["         a  bb", "-" * 14, "first    1   2", "x      333   4"]
    with pytest.raises(ValueError, match="zip"):
        aligned([["a", "b"], ["c"]])


def test_drawing(values: DecisionValues, tmp_path: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib (the extra plot) is not installed")
    from widemargin.inspection.pictures import draw, save_picture

    X, y = chess_board(120, size=2, random_state=0)
    surface = decision_surface(SVC(C=10.0).fit(X, y), X, y, lower=0, upper=2, title="board", resolution=20)
    left, right = figures.Figure().subplots(1, 2)
    draw(surface, left)
    draw(values, right)
    assert (left.get_title(), right.get_title()) == ("board", "four rows")
    assert left.get_xlim() == (0.0, 2.0)
    assert [text.get_text() for text in left.get_legend().get_texts()][:3] == ["class -1", "class 1", "support vector"]
    assert right.get_legend().get_texts()[-1].get_text() == "wrong side (2 of 4)"
    ringed = right.collections[-1].get_offsets()
    np.testing.assert_array_equal(ringed, [[0.5, 1.0], [-0.5, 2.0]])
    with pytest.raises(TypeError, match="info must be a DecisionSurface or DecisionValues, got str"):
        draw("board", left)
    save_picture(tmp_path / "both.svg", [surface, values])
    assert "<svg" in (tmp_path / "both.svg").read_text(encoding="utf-8")

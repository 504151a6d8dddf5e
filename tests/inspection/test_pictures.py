"""Pictures are drawn and written."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from widemargin.datasets import chess_board
from widemargin.inspection import DecisionValues, decision_surface


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

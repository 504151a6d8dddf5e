"""Pictures are drawn and written."""

from pathlib import Path

import numpy as np
import pytest

from widemargin import SVC
from widemargin.datasets import chess_board
from widemargin.inspection import DecisionValues, OligomerTable, decision_surface, oligomer_weights
from widemargin.kernels import CombinedOligo


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
    with pytest.raises(TypeError, match=r"info must be a DecisionSurface or DecisionValues or .*, got str"):
        draw("board", left)
    save_picture(tmp_path / "both.svg", [surface, values])
    assert "<svg" in (tmp_path / "both.svg").read_text(encoding="utf-8")


def test_weights_of_oligomers(tmp_path: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib (the extra plot) is not installed")
    from widemargin.inspection.pictures import MOST_ROWS, draw, save_picture

    texts = ["ACGTAGGA", "ACCTAGGN", "TCGTACCA", "GGGTACAA"]
    model = SVC(kernel=CombinedOligo(lengths=(1, 4), origin=4, alphabet="ACGT")).fit(texts, ["a", "a", "b", "b"])
    weights = oligomer_weights(model)
    top, middle, bottom, wide = figures.Figure().subplots(4, 1)
    draw(weights.tables[0], top)
    assert [label.get_text() for label in top.get_yticklabels()] == list("ACGT")
    assert top.get_title() == "weights of 1-mers: blue for class b, orange against it"
    best = weights.tables[0].heaviest(1)[0]
    assert f"{best.oligomer} {best.position:+d}".replace(" ", "") in top.texts[0].get_text().replace(" ", "")
    assert len(top.patches) == 10
    contributions, substitutions = weights.contributions("ACGTANGA"), weights.substitutions("ACGTANGA")
    draw(contributions, middle)
    assert [bar.get_height() for bar in middle.patches] == contributions.values.tolist()
    assert [label.get_text()[0] for label in middle.get_xticklabels()] == list("ACGTANGA")
    assert middle.get_xticklabels()[4].get_text() == "A\n0"
    draw(substitutions, bottom)
    np.testing.assert_array_equal(bottom.images[0].get_array(), substitutions.changes.T)
    assert len(bottom.collections[0].get_offsets()) == 7  # not the N
    many = OligomerTable(4, [f"{i}" for i in range(300)], np.arange(9), np.arange(2700.0).reshape(300, 9), "class b")
    draw(many, wide)
    assert [label.get_text() for label in wide.get_yticklabels()] == [f"{i}" for i in range(300 - MOST_ROWS, 300)]
    assert "64 of 300 shown" in wide.get_title()
    fewest = np.where(np.arange(300)[:, np.newaxis] < 290, -10.0, 1.0) * np.ones((300, 9))
    opposed = OligomerTable(4, [f"{i}" for i in range(300)], np.arange(9), fewest, "class b")
    other = figures.Figure().subplots()
    draw(opposed, other)  # the heaviest cells are positive, and all other rows have larger weights
    shown = [label.get_text() for label in other.get_yticklabels()]
    assert shown[-2:] == ["290", "291"]
    assert len(shown) == MOST_ROWS
    assert {patch.get_y() for patch in other.patches} == {MOST_ROWS - 2.5, MOST_ROWS - 1.5}
    save_picture(tmp_path / "one.svg", [contributions, substitutions], stacked=True)
    save_picture(tmp_path / "two.svg", weights.tables)
    assert "<svg" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert "<svg" in (tmp_path / "two.svg").read_text(encoding="utf-8")
    long = figures.Figure().subplots()
    draw(weights.contributions("ACGT" * 50), long)  # too long for letters
    assert "A" not in {label.get_text()[:1] for label in long.get_xticklabels()}


def test_models_without_weights_have_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib (the extra plot) is not installed")
    from widemargin.inspection.pictures import save_picture

    empty = OligomerTable(3, [], np.arange(1), np.empty((0, 1)), "class b")
    save_picture(tmp_path / "empty.svg", [empty])
    assert "no support vector holds any" in (tmp_path / "empty.svg").read_text(encoding="utf-8")

"""The table of one-class models that are chosen without labels."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.quality import one_class
from benchmarks.quality.__main__ import main
from benchmarks.quality.one_class import SCORES, Choice, judged, ring, split


def test_the_hole_of_the_ring_is_found_by_region_only() -> None:
    region, rejection = (judged(ring(), SCORES[way]) for way in ("region", "rejection"))
    assert region.area > rejection.area + 0.1
    assert abs(region.excess) < 0.1


def test_training_samples_are_normal_and_no_test_samples() -> None:
    X, y = np.arange(100.0)[:, np.newaxis], np.repeat([7, 3], [10, 90])
    problem = split(X, y)
    assert (len(problem.X), len(problem.X_test), problem.outlier.sum()) == (45, 55, 10)
    assert not set(problem.X.ravel()) & set(problem.X_test.ravel())


@pytest.mark.parametrize(("ahead", "passes"), [(0.06, True), (0.04, False)])
def test_the_verdict(
    ahead: float, passes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def chosen(problem: Any, score: Any) -> Choice:
        return Choice(0.5 + ahead * (score is SCORES["region"]), 0.5, 0.0)

    monkeypatch.setattr(one_class, "judged", chosen)
    if passes:
        main(["one_class", "--data", str(tmp_path)])
    else:
        with pytest.raises(SystemExit, match="1"):
            one_class.run(Namespace(data=tmp_path))
    printed = capsys.readouterr().out
    assert ("pass" if passes else "FAIL") in printed
    assert "wine: skipped" in printed

"""The example of a stream that drifts: it runs, and a window is worth what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "stream.py"


def test_a_window_follows_what_drifts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib (the extra plot) is not installed")
    picture = tmp_path / "picture.png"
    runpy.run_path(str(EXAMPLE))["main"](["--samples", "8000", "--picture", str(picture)])
    lines = capsys.readouterr().out.splitlines()
    errors = {line.partition(":")[0]: float(line.split("error ")[1].split(",")[0]) for line in lines[:3]}
    assert errors["window"] < errors["all samples"] - 0.02
    assert errors["window and budget"] < errors["all samples"] - 0.01
    assert int(lines[2].split(", ")[1].split()[0]) <= 40
    assert picture.stat().st_size > 10_000

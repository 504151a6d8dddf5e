"""The example of gene starts, on a small genome: it runs, and what it claims is true there."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "translation_starts.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    pytest.importorskip("matplotlib", reason="matplotlib (the extra plot) is not installed")
    return runpy.run_path(str(EXAMPLE))


def test_a_genome_made_up(example: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "picture.png"
    example["main"](["--made-up", "60", "--picture", str(picture)])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("60 starts of genes, ")
    error = next(float(line.split()[-4]) for line in printed if line.startswith("error"))
    assert error < 0.25
    cells = [line.split() for line in printed if line.startswith("    ")]
    assert len(cells) == 5
    assert all(oligomer in ("AGG", "GGA", "GAG") and -16 <= int(position) <= -6 for oligomer, _, position in cells)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_genome_of_the_user(example: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    genome, genes = tmp_path / "genome.gb", tmp_path / "genes.txt"
    genome.write_text(example["made_up_genome"](30, np.random.default_rng(1)))
    genes.write_text("\n".join(f"G{number:04d}" for number in range(20)) + "\n")
    picture = tmp_path / "picture.svg"
    example["main"]([str(genome), "--genes", str(genes), "--picture", str(picture)])
    assert capsys.readouterr().out.startswith("20 starts of genes, ")
    assert "<svg" in picture.read_text(encoding="utf-8")

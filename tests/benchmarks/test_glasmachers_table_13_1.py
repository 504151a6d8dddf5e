"""The comparison of chapter 13 on made-up sequences, and verdicts that can fail."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.glasmachers import glasmachers_table_13_1 as chapter_13
from benchmarks.papers.glasmachers.glasmachers_table_13_1 import (
    CHAPTER,
    HEAVIEST,
    JUDGED,
    KERNELS,
    REFERENCES,
    bars,
    mean_weights,
)

LETTERS = "ACGT"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sixty genes: a start behind AGGAGG and ATG, and two other windows each; forty are trained on."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 4, size=(180, 24))
    y = np.tile([1, -1, -1], 60)
    codes[np.ix_(y == 1, range(4, 10))] = [0, 2, 2, 0, 2, 2]
    codes[np.ix_(y == 1, range(14, 17))] = [0, 3, 2]
    sequences = ["".join(LETTERS[code] for code in row).encode() for row in codes]
    np.savez(
        tmp_path / "ecoli_tis_verified.npz",
        X=codes.astype(np.uint8),
        y=y,
        seq=np.array(sequences),
        group=np.repeat(np.arange(60), 3),
    )
    monkeypatch.setattr(chapter_13, "TRAINING_GENES", 40)
    return tmp_path


def test_the_table_in_miniature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, journal = folder / "figure.png", folder / "trials.jsonl"
    arguments = ["glasmachers_table_13_1", "--data", str(folder), "--trials", "2", "--evaluations", "16"]
    arguments += ["--n-jobs", "1", "--journal", str(journal)]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--picture", str(picture)])
    assert ended.value.code == 1  # sixteen evaluations do not find the triplets
    printed = capsys.readouterr().out
    for kernel in CHAPTER:
        assert f"\n{kernel}\n" in printed
    for name in (*chapter_13.EVALUATIONS, *REFERENCES, "weights near 0", "rank here", "Trials share genes"):
        assert name in printed
    assert printed.count("not judged") == 0
    assert picture.stat().st_size > 10_000
    lines = journal.read_text().splitlines()
    assert len(lines) == 1 + 2 * (2 * 4 + 4)

    # What a killed run left is not computed again, and another budget is another run.
    journal.write_text("\n".join(lines[:8]) + "\n")
    with pytest.raises(SystemExit):
        main(arguments)
    again = capsys.readouterr().out
    assert _without_seconds(again) == _without_seconds(printed)
    assert sorted(journal.read_text().splitlines()) == sorted(lines)
    with pytest.raises(RuntimeError, match="another 'evaluations'"):
        main([*arguments[:-1], str(journal), "--evaluations", "17"])


def _without_seconds(printed: str) -> str:
    return "\n".join(line for line in printed.splitlines() if " processes" not in line)


def test_parts_of_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "glasmachers_table_13_1",
        "--data",
        str(folder),
        "--trials",
        "1",
        "--evaluations",
        "5",
        "--n-jobs",
        "1",
    ]
    main([*arguments, "--kernels", "3-mer,3-spectrum", "--methods", "KTA"])
    printed = capsys.readouterr().out
    assert "not judged: triplet with a prior at most" in printed
    assert "3-spectrum" not in printed
    with pytest.raises(SystemExit, match="no method 'bootstrap'"):
        main([*arguments, "--methods", "bootstrap"])
    with pytest.raises(SystemExit, match="at least 1"):
        main([*arguments, "--trials", "0"])


def test_partitions_keep_genes_together(folder: Path) -> None:
    for trial in range(3):
        samples = [one.draw(trial, folder) for one in KERNELS.values()]
        sample = samples[0]
        assert len(np.unique(sample.groups)) == 40
        assert (len(sample.y), len(sample.y_test)) == (120, 60)
        train, test = set(sample.X), set(sample.X_test)
        assert not train & test
        assert all(isinstance(one, str) and len(one) == 24 for one in train)
        for other in samples:
            np.testing.assert_array_equal(other.y, sample.y)
        vectors = KERNELS["one-hot Gaussian"].draw(trial, folder).X
        assert vectors.shape == (120, 96)
        letters = vectors.reshape(120, 24, 4).argmax(axis=2)
        assert ["".join(LETTERS[code] for code in row) for row in letters] == list(sample.X)
    assert set(KERNELS["3-mer"].draw(0, folder).X) != set(KERNELS["3-mer"].draw(1, folder).X)


def _record(error: float, weights: dict[str, float] | None = None) -> dict[str, Any]:
    return {"error": error, "weights": weights or {}}


def test_weights_are_averaged_at_geometric_mean_1() -> None:
    found = mean_weights([_record(0.1, {"A": 1.0, "B": 4.0}), _record(0.1, {"A": 90.0, "B": 10.0})])
    assert list(found) == ["A", "B"]
    assert math.isclose(found["A"], math.sqrt(1.5))
    assert math.isclose(found["A"] * found["B"], 1.0)


def test_the_verdict() -> None:
    weights = dict.fromkeys([f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS], 1.0) | HEAVIEST
    good = {
        ("3-mer", "5-fold-CV"): [_record(0.069)],
        ("3-mer with sigma=0.1", "5-fold-CV"): [_record(0.079)],
        ("one-hot Gaussian", "5-fold-CV"): [_record(0.087)],
        ("3-mer", "likelihood"): [_record(0.069)],
        JUDGED: [_record(0.068, weights)],
    }
    assert [bar.met for bar in bars(good)] == [True] * 6
    assert [bar.met for bar in bars({})] == [None] * 6
    worse = {
        ("3-mer", "5-fold-CV"): [_record(0.0761)],
        JUDGED: [_record(0.0711, weights | {"AGG": 0.5})],
    }
    judged = bars(good | worse)
    assert [bar.met for bar in judged] == [False, False, True, False, False, False]
    assert "11 of the thesis's 12" in judged[-1].words
    assert "missing: AGG" in judged[-1].words
    close = {("one-hot Gaussian", "5-fold-CV"): [_record(0.078)]}
    assert [bar.met for bar in bars(good | close)][:3] == [True, True, False]

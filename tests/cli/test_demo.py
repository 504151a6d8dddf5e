"""The command line from end to end, and what it says when something is missing."""

import re
import sys
from pathlib import Path

import pytest

from widemargin.cli import demo, main

PNG = b"\x89PNG\r\n\x1a\n"


def blocks(printed: str) -> list[dict[str, str]]:
    """Return the facts of both problems by name."""
    return [{line[:10].strip(): line[10:] for line in block.splitlines()[1:]} for block in printed.split("\n\n")[:2]]


def test_demo_chooses_models_and_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "picture.png"
    assert main(["demo", "--output", str(picture), "--n-jobs", "1"]) == 0
    printed, complaints = capsys.readouterr()
    assert complaints == ""
    assert printed.startswith("Noisy chess board: 4 by 4 fields, 10% of the labels random\ndata")
    assert "\n\nBreast cancer: " in printed
    assert f"\n\nPicture written to {picture}\n" in printed
    assert "\033" not in printed

    board, cancer = blocks(printed)
    assert list(board)[:6] == ["data", "model", "score", "ties", "work", "kernel"]
    assert board["data"] == "1,000 samples, 2 features, 2 classes"
    assert cancer["data"] == "398 samples, 30 features, 2 classes"
    for one, least in ((board, 0.85), (cancer, 0.95)):
        assert one["model"].startswith("SVC, Gaussian kernel, standardised features: C = ")
        score = re.fullmatch(
            r"accuracy (.*), standard error 0\.\d+ over 5 folds; the most frequent class alone has 0\.\d+", one["score"]
        )
        assert score is not None
        assert float(score[1]) > least
        assert re.match(r"\d+ fits: \d+ trained", one["work"])
        computed, alone = (int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", one["kernel"]))
        assert 0 < computed < alone / 3  # with those that large C takes in float64
        assert one["training"].startswith("converged in ")
        violation, gap = map(float, re.findall(r"\d\.\de[-+]\d\d", one["training"]))
        assert violation <= 1e-3
        assert 0.0 <= gap < 1.0
    wrong = re.fullmatch(r"error (.*)% on 10,000 held-out samples; the best possible is 5\.0%", board["test"])
    assert wrong is not None
    assert 5.0 < float(wrong[1]) < 15.0
    wrong = re.fullmatch(r"error (.*)% on 171 held-out samples", cancer["test"])
    assert wrong is not None
    assert float(wrong[1]) < 8.0

    content = picture.read_bytes()
    assert content.startswith(PNG)
    assert len(content) > 50_000


def test_demo_without_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = tmp_path / "picture.png"
    assert main(["demo", "--output", str(picture)]) == 1
    printed, complaints = capsys.readouterr()
    assert all("test" in block for block in blocks(printed))
    assert complaints == "No picture was drawn: install matplotlib with pip install 'widemargin[plot]'.\n"
    assert not picture.exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent/picture.png", "--output must name a file in a folder that exists, got"),
        ("picture.doc", "--output: the ending of 'picture.doc' names no format of pictures; it may be "),
    ],
)
def test_picture_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    assert main(["demo", "--output", str(tmp_path / name)]) == 1
    printed, complaints = capsys.readouterr()
    assert printed == ""  # nothing was searched for a picture that there will be none of
    assert complaints.startswith(f"widemargin: {reason}")
    assert complaints.count("\n") == 1


def test_seed_changes_the_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # drawing takes longest and is not the point here
    monkeypatch.setattr(demo, "BOARD_SAMPLES", 200)
    found = []
    for seed in ("1", "1", "2"):
        main(["demo", "--seed", seed])
        # Two threads may need a kernel that has just been let go: how many values are computed is a matter of time.
        own = [{k: v for k, v in block.items() if k != "kernel"} for block in blocks(capsys.readouterr().out)]
        found.append([{**block, "work": block["work"].partition(";")[0]} for block in own])
    assert found[0] == found[1]
    first, _, other = found
    for problem in (0, 1):
        assert first[problem]["training"] != other[problem]["training"]

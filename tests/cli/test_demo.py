"""The command line from end to end, and what it says when something is missing."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from widemargin.cli import main

PNG = b"\x89PNG\r\n\x1a\n"


def parse(table: str) -> dict[str, tuple[str, str]]:
    """Return the two values of every row of the printed table."""
    lines = table.splitlines()
    rows = [re.split(r" {3,}", line.strip()) for line in lines[2 : lines.index("")]]
    return {key: (board, cancer) for key, board, cancer in rows}


def test_demo_prints_a_table_and_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "picture.png"
    assert main(["demo", "--output", str(picture), "--n-jobs", "1"]) == 0
    printed, complaints = capsys.readouterr()
    assert complaints == ""
    assert re.split(r" {3,}", printed.splitlines()[0].strip()) == ["noisy chess board", "breast cancer"]
    assert printed.endswith(f"Picture written to {picture}\n")
    assert max(map(len, printed.splitlines()[:-1])) <= 80

    values = parse(printed)
    assert values["rows to train on"] == ("2000", "398")
    assert values["rows to test on"] == ("10000", "171")
    assert values["features"] == ("2", "30")
    assert values["classes"] == ("2", "2")
    assert values["ended because"] == ("converged", "converged")
    assert values["Bayes error"] == ("5.0%", "unknown")
    board_error, cancer_error = (float(text.rstrip("%")) for text in values["test error"])
    assert 5.0 < board_error < 12.0
    assert cancer_error < 8.0
    for key in ("support vectors", "iterations"):
        assert all(int(text) > 0 for text in values[key])
    for violation, gap, objective in zip(
        values["KKT violation"], values["duality gap"], values["dual objective"], strict=True
    ):
        assert 0.0 <= float(violation) <= 1e-3
        assert 0.0 <= float(gap) < 1e-2 * float(objective)

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
    assert parse(printed)["Bayes error"] == ("5.0%", "unknown")
    assert complaints == "No picture: it needs matplotlib, which pip install 'widemargin[plot]' brings.\n"
    assert not picture.exists()


@pytest.mark.parametrize(
    ("name", "reason"), [("absent/picture.png", "No such file or directory"), ("picture.doc", "Format 'doc' is not")]
)
def test_picture_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    assert main(["demo", "--output", str(tmp_path / name)]) == 1
    printed, complaints = capsys.readouterr()
    assert "test error" in printed
    assert "written" not in printed
    assert complaints.startswith(f"No picture: {tmp_path / name} could not be written ({reason}")
    assert complaints.count("\n") == 1


def test_seed_changes_the_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # drawing takes longest and is not the point here
    tables = []
    for seed in ("1", "1", "2"):
        main(["demo", "--seed", seed])
        tables.append(parse(capsys.readouterr().out))
        del tables[-1]["seconds"]
    assert tables[0] == tables[1]
    first, _, other = tables
    for problem in (0, 1):
        assert first["dual objective"][problem] != other["dual objective"][problem]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"widemargin {version('widemargin')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: subcommand"),
        (["fit"], "invalid choice: 'fit'"),
        (["demo", "--seed", "-1"], "argument --seed: must be a whole number from 0 to 4294967295, got '-1'"),
        (["demo", "--seed", "x"], "argument --seed: must be a whole number from 0 to 4294967295, got 'x'"),
        (["demo", "--n-jobs", "0"], "argument --n-jobs: must be a whole number other than 0, got '0'"),
        (["demo", "--n-jobs", "all"], "argument --n-jobs: must be a whole number other than 0, got 'all'"),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err

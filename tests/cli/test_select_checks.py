"""What ``widemargin select`` refuses before a search begins: one line, and a status that tells misuse from bad data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from widemargin.cli import main
from widemargin.cli import select as subcommand

Refused = Callable[..., str]


def write(path: Path, labels: list[Any]) -> Path:
    rows = [f"{number % 7},{number % 5},{label}" for number, label in enumerate(labels)]
    path.write_text("\n".join(["a,b,kind", *rows]) + "\n")
    return path


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run the subcommand, which is to refuse something without having searched; return the line."""

    def search(*_: Any, **__: Any) -> NoReturn:
        pytest.fail("the search began")

    monkeypatch.setattr(subcommand, "select", search)

    def run(table: Path, *arguments: object, status: int = 1) -> str:
        try:
            ended: Any = main(["select", str(table), "--target", "kind", "--quiet", *map(str, arguments)])
        except SystemExit as leaving:  # the way in which argparse ends a process
            ended = leaving.code
        assert ended == status
        printed, said = capsys.readouterr()
        assert printed == ""
        (line,) = said.splitlines()
        return line

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "train.csv", ["red", "blue"] * 10)


@pytest.mark.parametrize("option", ["--model", "--journal"])
def test_files_that_could_not_be_written(option: str, table: Path, tmp_path: Path, refused: Refused) -> None:
    assert refused(table, option, tmp_path) == f"widemargin: {option} must name a file, got the folder {tmp_path}"
    (tmp_path / "link").symlink_to(tmp_path)
    assert f"{option} must name a file, got the folder" in refused(table, option, tmp_path / "link")
    for path in (tmp_path / "absent" / "file", table / "file"):
        assert f"{option} must name a file in a folder that exists, got {path}" in refused(table, option, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "train.csv"]


def test_a_file_has_one_purpose(table: Path, tmp_path: Path, refused: Refused) -> None:
    content = table.read_bytes()
    for option in ("--model", "--journal"):
        assert f"{option} must name a file of its own" in refused(table, option, table, status=2)
    for journal in (tmp_path / "." / "file.2", tmp_path / "file.kernel-2.3"):
        both = ["--model", journal, "--journal", tmp_path / "file"]
        assert "--model must name a file of its own" in refused(table, *both, status=2)
    (tmp_path / "train.2.csv").hardlink_to(table)
    assert "--journal must name a file of its own" in refused(table, "--journal", tmp_path / "train.csv", status=2)
    assert table.read_bytes() == content


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        *(("--max-time", value, "a number of seconds above 0") for value in ("0", "-1", "nan", "inf", "long")),
        *(("--cv", value, "a whole number of at least 2") for value in ("1", "0", "-3", "2.5", "many")),
        *(("--n-jobs", value, "a whole number other than 0") for value in ("0", "all")),
    ],
)
def test_values_that_make_no_sense(option: str, value: str, wanted: str, table: Path, refused: Refused) -> None:
    line = refused(table, option, value, status=2)
    assert line == (
        f"widemargin select: argument {option}: must be {wanted}, got {value!r} (see widemargin select --help)"
    )


def test_more_folds_than_samples(table: Path, refused: Refused) -> None:
    line = refused(table, "--cv", 11)
    assert line == "widemargin: --cv must be from 2 to 10, the number of samples of class 'blue'; got 11"
    write(table, [0.5, 1.5, 2.5])
    assert refused(table) == "widemargin: --cv must be from 2 to 3, the number of samples of the table; got 5"


def test_too_little_to_split(table: Path, refused: Refused) -> None:
    write(table, ["all"] * 30)
    assert refused(table) == "widemargin: the target has only one class; two are needed"
    write(table, ["often"] * 30 + ["once"])
    assert refused(table) == "widemargin: class 'once' has only one sample; cross-validation needs at least two"
    write(table, [0.5])
    assert refused(table) == "widemargin: the table has only one sample; cross-validation needs at least two"


def test_texts_are_no_numbers(table: Path, refused: Refused) -> None:
    write(table, [1.5, 2, "setosa", 4, "inf"])
    assert refused(table, "--task", "regression") == (
        "widemargin: --task regression takes numbers, but the target, column 'kind', is 'setosa' in row 3; 2 of 5 "
        "rows are like this"
    )


def test_fractions_are_no_classes(table: Path, refused: Refused) -> None:
    write(table, [1, 0.5, 1, 0.5])
    assert refused(table, "--task", "classification") == (
        "widemargin: --task classification takes text or whole numbers, but the target, column 'kind', is 0.5 in "
        "row 2; 2 of 4 rows are like this"
    )

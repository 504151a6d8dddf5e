"""The options by which ``widemargin select`` reads the table to train on."""

from pathlib import Path

import pytest

from widemargin.cli.messages import OneLineParser
from widemargin.cli.select import configure, training_table
from widemargin.datasets.tables import Table


def read(*arguments: str) -> Table:
    parser = OneLineParser(prog="widemargin select")
    configure(parser)
    return training_table(parser.parse_args(arguments))


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text("id,size,colour,kind\n1,5,red,a\n2,6,blue,b\n")
    return str(path)


def test_what_is_decided_is_said(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = read(path, "--ignore", "id", "--ignore", "colour")
    assert table.names == ["size"]
    assert capsys.readouterr() == ("", "The target is column 'kind', the last one.\n")


def test_what_is_told_is_not(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = read(path, "--target", "id", "--encode")
    assert table.names == ["size", "colour=blue", "colour=red", "kind=a", "kind=b"]
    assert table.y is not None
    assert table.y.tolist() == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_header_and_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table"
    path.write_text("1,2,0\n3,4,1\n")
    assert read(str(path), "--header").names == ["1", "2"]
    assert read(str(path), "--no-header").names == ["column 1", "column 2"]
    path.write_text("1|2\n3|4\n")
    assert read(str(path), "--delimiter", "|", "--no-header").X.tolist() == [[1.0], [3.0]]
    capsys.readouterr()
    path.write_text("1 0:5\n")
    assert read(str(path), "--format", "libsvm", "--zero-based").X.toarray().tolist() == [[5.0]]
    assert capsys.readouterr() == ("", "")


def test_a_delimiter_is_one_character(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(path, "--delimiter", "||")
    assert "argument --delimiter: must be one character, got '||'" in capsys.readouterr().err

"""The CSV reader: delimiters, headers, labels, and errors naming column and line."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from widemargin.datasets import read_csv

Table = Callable[..., Path]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    def write(text: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


@given(
    dense=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1e9, 1e9)),
    delimiter=st.sampled_from(",;\t"),
    header=st.booleans(),
    data=st.data(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(dense: np.ndarray, delimiter: str, header: bool, data: st.DataObject, tmp_path: Path) -> None:
    target = data.draw(st.integers(0, dense.shape[1]))
    labels = data.draw(st.lists(st.sampled_from(["a", "b, c", 'd"e']), min_size=len(dense), max_size=len(dense)))
    names = [f"feature {column}" for column in range(dense.shape[1])]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        if header:
            writer.writerow([*names[:target], "kind", *names[target:]])
        for row, label in zip(dense.tolist(), labels, strict=True):
            writer.writerow([*map(repr, row[:target]), label, *map(repr, row[target:])])
    X, y, feature_names = read_csv(path, target="kind" if header else target)
    np.testing.assert_array_equal(X, dense)
    assert y.tolist() == labels
    positions = [column + 1 for column in range(dense.shape[1] + 1) if column != target]
    assert feature_names == (names if header else [f"column {position}" for position in positions])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_found(table: Table, delimiter: str) -> None:
    path = table("\n".join(delimiter.join(row) for row in (["a", "b", "y"], ["1", "2", "0"], ["3", "4", "1"])))
    X, y, names = read_csv(path, target="y")
    assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert y.tolist() == [0, 1]
    assert names == ["a", "b"]
    assert X.dtype == np.float64
    assert y.dtype == np.int64


def test_other_delimiter_and_quotes(table: Table) -> None:
    X, y, names = read_csv(table('"a|b"|y\n1.5|"x|y"\n'), target="y", delimiter="|")
    assert X.tolist() == [[1.5]]
    assert y.tolist() == ["x|y"]
    assert names == ["a|b"]
    # Commas inside quoted names do not count.
    X, _, names = read_csv(table('"a, in, cm";y\n1.5;0\n'), target="y")
    assert X.tolist() == [[1.5]]
    assert names == ["a, in, cm"]


def test_byte_order_mark_blank_lines_and_carriage_returns(table: Table) -> None:
    X, y, names = read_csv(table("\ufeff\r\na,y\r\n\r\n1, 0.5\r\n2, 1\r\n"), target="y")
    assert X.tolist() == [[1.0], [2.0]]
    assert y.tolist() == [0.5, 1.0]
    assert names == ["a"]
    assert y.dtype == np.float64


def test_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n1,0\n"))
    assert read_csv(path, target="y")[0].tolist() == [[1.0]]


def test_header_is_recognised(table: Table) -> None:
    assert read_csv(table("a,b,y\n1,2,x\n"), target=-1)[2] == ["a", "b"]
    assert len(read_csv(table("1,2,x\n3,4,z\n"), target=-1)[1]) == 2
    # Numbers as names: only the caller can tell.
    assert read_csv(table("0,1,y\n1,2,x\n"), target="y")[2] == ["0", "1"]
    assert len(read_csv(table("0,1,y\n1,2,x\n"), target=2)[1]) == 2
    assert read_csv(table("0,1,y\n1,2,x\n"), target=2, header=True)[2] == ["0", "1"]
    # A first row with one bad value is a bad row, not a header.
    with pytest.raises(ValueError, match=r"line 1, column 'column 2': the value is missing \(found 'NA'\)"):
        read_csv(table("1,NA,x\n3,4,z\n"), target=-1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,height,y\n1,2,0\n3,tall,1\n", ", line 3, column 'height': found 'tall', expected a finite number"),
        ("age,height,y\n1,,0\n", ", line 2, column 'height': the value is missing, expected a finite number."),
        ("age,height,y\n1,2,\n", ", line 2, column 'y': the value is missing, expected a value."),
        ("age,height,y\n1,2,0\n1,2\n", ", line 3: 2 fields found, expected 3."),
        (",height,y\n1,2,0\n", ": column 1 has no name in the header (a row index, perhaps);"),
        ("age,height\n1,2\n", " has no column named 'y'; its columns are 'age', 'height'."),
        ("age,y\n", " holds a header but no rows."),
        ("\n\n", " is empty;"),
    ],
)
def test_errors_name_file_line_and_column(table: Table, text: str, message: str) -> None:
    path = table(text)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        read_csv(path, target="y")
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_csv_file_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "table.svm"
    path.write_text("a,y\n1,0\n", encoding="utf-8")
    assert read_csv(path, target="y")[0].tolist() == [[1.0]]


def test_refused_arguments(table: Table) -> None:
    path = table("a,y\n1,0\n")
    with pytest.raises(ValueError, match=r"target must be a name, or a position from -2 to 1, got 2"):
        read_csv(path, target=2)
    with pytest.raises(ValueError, match="target must be the name or the position of a column, got None"):
        read_csv(path, target=None)
    with pytest.raises(ValueError, match="delimiter must be one character or None, got ', '"):
        read_csv(path, target="y", delimiter=", ")
    with pytest.raises(ValueError, match="header must be True, False or None, got 'no'"):
        read_csv(path, target="y", header="no")
    with pytest.raises(FileNotFoundError, match="absent"):
        read_csv(path.with_name("absent"), target="y")

"""Delimited text: delimiters, headers, quotes, labels and the first value that cannot be used."""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from table_files import Write, refusal

from widemargin.datasets.tables import TableError, read_features, read_table


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        (["1", "2", "1"], "i", [1, 2, 1]),
        (["1.0", "-1", "+1"], "i", [1, -1, 1]),
        (["1.5", "2", "1e3"], "f", [1.5, 2.0, 1000.0]),
        (["1", "b", "2"], "U", ["1", "b", "2"]),
        (["1_0", "2", "3"], "U", ["1_0", "2", "3"]),
        (["True", "False", "True"], "U", ["True", "False", "True"]),
        ([" a ", "a", "b"], "U", ["a", "a", "b"]),
    ],
)
def test_types_of_labels(write: Write, labels: list[str], kind: str, expected: list[object]) -> None:
    y = read_table(write("a,y\n" + "".join(f"0,{label}\n" for label in labels))).y
    assert y is not None
    assert y.dtype.kind == kind
    assert y.tolist() == expected


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a,b,y\n1,2,3\n", ["a", "b"]),
        ("1,2,3\n4,5,6\n", ["column 1", "column 2"]),
        ("1,2,x\n4,5,y\n", ["column 1", "column 2"]),
        ("0,1,target\n5.1,3.5,0\n", ["0", "1"]),  # a data frame without names of its own
        ("a,b,y\n", None),
        ("0.5,abc,1\n1,2,3\n", None),  # a slip in the first row, no header
    ],
)
def test_header_is_recognised(write: Write, content: str, names: list[str] | None) -> None:
    path = write(content)
    if names is None:
        expected = "holds a header but no rows." if content.startswith("a") else "found 'abc', expected a finite number"
        assert expected in refusal(path)
    else:
        assert read_table(path).names == names


def test_header_can_be_told(write: Write) -> None:
    path = write("1,2,3\n4,5,6\n")
    assert read_table(path, header=True).names == ["1", "2"]
    named = write("a,b,y\nc,d,e\n", "other.csv")
    assert read_table(named, header=False, encode=True).X.shape == (2, 4)
    with pytest.raises(ValueError, match="header must be True, False or None"):
        read_table(path, header="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "names", "first"),
    [
        ("a|b|y\n1|2|left\n3|4|right\n", ["a", "b"], [1.0, 2.0]),
        ("1|2|3\n4|5|6\n", ["column 1", "column 2"], [1.0, 2.0]),
        ("a|b|y\n1|2|up, left\n3|4|down\n", ["a", "b"], [1.0, 2.0]),
        ("a,b,y\n1,2,gi|12|x\n3,4,gi|13|y\n", ["a", "b"], [1.0, 2.0]),
        ("0.5,gi|12|x\n0.6,gi|13|y\n", ["column 1"], [0.5]),
    ],
)
def test_pipes(write: Write, content: str, names: list[str], first: list[float]) -> None:
    table = read_table(write(content))
    assert table.names == names
    assert table.X[0].tolist() == first


def test_any_delimiter(write: Write) -> None:
    path = write("a|b c|y\n1|2|0\n3|4|1\n", "table.svm")
    table = read_table(path, delimiter="|")
    assert table.names == ["a", "b c"]
    assert table.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    rows = read_features(path, n_features=2, names=["b c", "a"], target="y", delimiter="|")
    assert rows.X.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    with pytest.raises(ValueError, match="delimiter must be one character or None, got ''"):
        read_table(path, delimiter="")
    assert "delimiter='|' is for the format 'csv', got format='libsvm'" in refusal(path, delimiter="|", format="libsvm")


def test_blank_lines_spaces_and_quotes(write: Write) -> None:
    table = read_table(write('\n a , "b, c",y\n\n 1 , 2 , x\n   \n"3","4","y\nz"\n\n'))
    assert table.names == ["a", "b, c"]
    assert table.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert table.y is not None
    assert table.y.tolist() == ["x", "y\nz"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty; expected rows of numbers, separated by commas, semicolons, tabs or |."),
        (
            b"\xef\xbb\xbf\r\n\r\n",
            "table.csv is empty; expected rows of numbers, separated by commas, semicolons, tabs or |.",
        ),
        (b"a,b,y\n", "table.csv holds a header but no rows."),
        (
            b"a b y\n1 2 3\n",
            "has no column left for a feature; fields must be separated by commas, semicolons, tabs or |, unless a "
            "delimiter is given.",
        ),
        (b"a,b,y\n1,2,3\n4,5\n", "table.csv, line 3: 2 fields found, expected 3."),
        (b"a,b,y\n1,2,3,4\n", "table.csv, line 2: 4 fields found, expected 3."),
        (b"a,a,y\n1,2,3\n", "table.csv: columns 1 and 2 are both named 'a'; every column needs a name of its own."),
        (
            b",a,y\n0,1,2\n",
            "table.csv: column 1 has no name in the header (a row index, perhaps); name it, or leave it",
        ),
        (
            b"a,b,y\n1,red,3\n",
            "table.csv, line 2, column 'b': found 'red', expected a finite number (the options ignore",
        ),
        (b"a,b,y\n1,2,3\n\n4,,6\n", "table.csv, line 4, column 'b': the value is missing, expected a finite number."),
        (b"a,b,y\n1,NA,3\n", "line 2, column 'b': the value is missing (found 'NA'), expected a finite number."),
        (b"a,b,y\n1,nan,3\n", "line 2, column 'b': the value is missing (found 'nan'), expected a finite number."),
        (b"a,b,y\n1,?,3\n", "line 2, column 'b': the value is missing (found '?'), expected a finite number."),
        (b"a,b,y\n1,inf,3\n", "table.csv, line 2, column 'b': found 'inf', expected a finite number."),
        (b"a,b,y\n1,1e999,3\n", "table.csv, line 2, column 'b': found 'inf', expected a finite number."),
        (b"a,b,y\n1,1_000,3\n", "table.csv, line 2, column 'b': found '1_000', expected a finite number"),
        (b"a;b;y\n1;1,5;3\n", "line 2, column 'b': found '1,5', expected a number with a decimal point."),
        (b"a,b,y\n1,2,\n", "table.csv, line 2, column 'y': the value is missing, expected a value."),
        (b"a,b,y\n1,2,NaN\n", "line 2, column 'y': the value is missing (found 'NaN'), expected a value."),
        (b'a,b,y\n1,2,3\n4,"5,6\n7,8,9\n', "the row that begins in line 3 cannot be split into fields"),
        (b"a,b,y\n1,2,3\n1,2,caf\xe9\n", "table.csv, line 3: byte 0xe9 found, expected UTF-8 text."),
        ("a,b,y\n1,2,3\n".encode("utf-16"), "table.csv is UTF-16 text; save it as UTF-8."),
        ("a,b,y\n1,2,3\n".encode("utf-16-le"), "table.csv is not a text file: it holds zero bytes"),
        (b"PK\x03\x04spreadsheet", "table.csv is a zip archive (a spreadsheet or a model, perhaps)"),
        (gzip.compress(b"a,y\n1,2\n", mtime=0), "table.csv is compressed by gzip; its name must end in .gz."),
    ],
)
def test_bad_tables(write: Write, content: bytes, message: str) -> None:
    assert message in refusal(write(content))


def test_first_bad_row_counts_lines_of_quoted_fields(write: Write) -> None:
    path = write('a,"b\nc",y\n1,2,"x\nx"\n3,oops,y\n')
    assert "table.csv, line 5, column 'b\\nc': found 'oops'" in refusal(path)


def test_a_large_table_takes_seconds(write: Write) -> None:
    rows = np.random.default_rng(0).normal(size=(10_000, 100)).round(6)
    path = write("\n".join(",".join(map(repr, row)) for row in rows.tolist()))
    began = time.process_time()
    table = read_table(path, labelled=False)
    assert time.process_time() - began < 3.0  # a tenth of the size that should take a few seconds, on any computer
    np.testing.assert_array_equal(table.X, rows)


@given(content=st.text(alphabet='ay1.5,;\t\n\r" #:x-', max_size=60))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text(content, newline="")
    problem = None
    try:
        table = read_table(path)
    except TableError as raised:
        problem = str(raised)
    if problem is not None:
        assert str(path) in problem
        assert "\n" not in problem
    else:
        assert table.y is not None
        assert table.X.shape[0] == len(table.y) > 0
        assert table.X.shape[1] > 0
        assert np.isfinite(table.X.data if issparse(table.X) else table.X).all()

"""Tables for training: layouts, targets, encoded text, and errors naming column and line."""

import csv
import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import issparse
from table_files import Write, refusal

from widemargin.datasets.tables import TableError, read_features, read_table


@given(
    dense=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1e300, 1e300)),
    delimiter=st.sampled_from(",;\t"),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.booleans(),
    header=st.booleans(),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    data=st.data(),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(
    dense: np.ndarray,
    delimiter: str,
    line_end: str,
    mark: bool,
    header: bool,
    quoting: int,
    data: st.DataObject,
    tmp_path: Path,
) -> None:
    target = data.draw(st.integers(0, dense.shape[1]))
    texts = st.sampled_from(["a", "b, c", 'd"e', "f;g", "h\ti", "é"])
    labels = data.draw(st.lists(texts, min_size=len(dense), max_size=len(dense)))
    names = [f"feature, {column}" for column in range(dense.shape[1])]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8-sig" if mark else "utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
        if header:
            writer.writerow([*names[:target], "kind", *names[target:]])
        for row, label in zip(dense.tolist(), labels, strict=True):
            writer.writerow([*map(repr, row[:target]), label, *map(repr, row[target:])])
    table = read_table(path, target="kind" if header else target)
    np.testing.assert_array_equal(table.X, dense)
    assert table.y is not None
    assert table.y.tolist() == labels
    counted = [f"column {column + 1}" for column in range(dense.shape[1] + 1)]
    assert table.target == ("kind" if header else counted.pop(target))
    assert table.names == (names if header else counted)
    assert table.notes == ()


@pytest.mark.parametrize(
    ("content", "target", "why"),
    [
        ("a,label,b\n1,x,2\n", "label", "by its name"),
        ("Class,a,b\n0,1,2\n", "Class", "by its name"),
        ("a,TARGET,b\n1,2,3\n", "TARGET", "by its name"),
        ("y,a\n1,2\n", "y", "by its name"),
        ("a,b,species\n1,2,x\n", "species", "the last one"),
        ("1,2,x\n3,4,y\n", "column 3", "the last one"),
    ],
)
def test_target_is_guessed_and_said(write: Write, content: str, target: str, why: str) -> None:
    table = read_table(write(content))
    assert table.target == target
    assert table.notes == (f"The target is column {target!r}, {why}.",)
    assert table.names is not None
    assert target not in table.names


def test_target_by_position_and_none_at_all(write: Write) -> None:
    path = write("a,b,c\n1,2,3\n4,5,6\n")
    assert read_table(path, target=0).target == "a"
    assert read_table(path, target=-2).target == "b"
    everything = read_table(path, labelled=False)
    assert everything.y is None
    assert everything.target is None
    assert everything.X.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert read_table(write("a\n1\n2\n", "one.csv"), labelled=False).X.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="target must be None if labelled=False"):
        read_table(path, labelled=False, target="a")
    assert refusal(path, target=3) == "target must be a name, or a position from -3 to 2, got 3."
    assert refusal(path, target="d") == "table.csv has no column named 'd'; its columns are 'a', 'b', 'c'."
    assert refusal(path, target="a", ignore=["a"]) == "target and ignore both name column 'a'."
    assert refusal(write("y,class,a\n1,2,3\n")) == (
        "table.csv has several columns that may be the target: 'y', 'class'; name one as target."
    )


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
        (b"", "table.csv is empty; expected rows of numbers, separated by commas, semicolons or tabs."),
        (
            b"\xef\xbb\xbf\r\n\r\n",
            "table.csv is empty; expected rows of numbers, separated by commas, semicolons or tabs.",
        ),
        (b"a,b,y\n", "table.csv holds a header but no rows."),
        (
            b"a b y\n1 2 3\n",
            "has no column left for a feature; fields must be separated by commas, semicolons or tabs, unless a "
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


def test_encoded_text(write: Write) -> None:
    path = write("size,colour,shape,y\n1,red,round,0\n2,blue,round,1\n3,red,flat,1\n")
    assert "column 'colour': found 'red'" in refusal(path)
    table = read_table(path, encode=True)
    assert table.names == ["size", "colour=blue", "colour=red", "shape=flat", "shape=round"]
    assert table.X.tolist() == [[1, 0, 1, 0, 1], [2, 1, 0, 0, 1], [3, 0, 1, 1, 0]]
    assert table.encoded == {"colour": ("blue", "red"), "shape": ("flat", "round")}
    assert read_table(path, ignore=["colour", "shape"]).names == ["size"]
    numbers = write("a,b,y\n1,2,0\n", "numbers.csv")
    assert read_table(numbers, encode=True).encoded == {}


def test_text_that_cannot_be_encoded(write: Write) -> None:
    many = write("a,name,y\n" + "".join(f"1,name {row},0\n" for row in range(21)))
    assert refusal(many, encode=True) == (
        "table.csv, column 'name': 21 different texts found, at most 20 can be encoded (the option ignore leaves a "
        "column out)."
    )
    gap = write("a,name,y\n1,x,0\n2,,1\n")
    assert refusal(gap, encode=True) == "table.csv, line 3, column 'name': the value is missing, expected a value."
    numeric_gap = write("a,name,y\n1,x,0\n,x,1\n")
    assert "line 3, column 'a': the value is missing, expected a finite number." in refusal(numeric_gap, encode=True)
    clash = write("c,c=x,y\nx,1,0\n")
    assert refusal(clash, encode=True) == (
        "table.csv: two columns would be named 'c=x'; rename the one that has this name."
    )


def test_a_large_table_takes_seconds(write: Write) -> None:
    rows = np.random.default_rng(0).normal(size=(10_000, 100)).round(6)
    path = write("\n".join(",".join(map(repr, row)) for row in rows.tolist()))
    began = time.process_time()
    table = read_table(path, labelled=False)
    assert time.process_time() - began < 3.0  # a tenth of the size that should take a few seconds, on any machine
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

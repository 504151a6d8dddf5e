"""Tables for training and prediction: formats, layouts, targets, encoded text, and errors naming column and line."""

import bz2
import csv
import gzip
import lzma
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import issparse

from widemargin.datasets.tables import Features, TableError, read_features, read_table

Write = Callable[..., Path]

LIBSVM = "# made up\n+1 1:0.5 3:2 # first\n\n-1 2:1\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


def refusal(path: Path, **options: object) -> str:
    """Return what is said about a table, without the path of its folder."""
    with pytest.raises(TableError) as raised:
        read_table(path, **options)
    message = str(raised.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


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
        (gzip.compress(b"a,y\n1,2\n"), "table.csv is compressed by gzip; its name must end in .gz."),
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


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("table.CSV", bytes),
        ("table", bytes),
        ("table.txt", bytes),
        ("table.csv.gz", gzip.compress),
        ("table.txt.bz2", bz2.compress),
        ("table.xz", lzma.compress),
    ],
)
def test_delimited_files_by_any_name(write: Write, name: str, compress: Callable[[bytes], bytes]) -> None:
    table = read_table(write(compress(b"a;b;y\n1;2;x\n"), name))
    assert table.names == ["a", "b"]
    assert table.X.tolist() == [[1.0, 2.0]]


def test_tsv_splits_at_tabs_only(write: Write) -> None:
    content = "a,b,c\ty,z\n1\tleft\n"
    assert read_table(write(content, "table.tsv")).names == ["a,b,c"]
    assert read_table(write(content, "table.csv"), format="tsv").names == ["a,b,c"]
    with pytest.raises(ValueError, match="format must be one of 'csv', 'tsv', 'libsvm' or None, got 'xls'"):
        read_table(write(content), format="xls")


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.svm", None), ("a.libsvm", None), ("a.svm.gz", None), ("a.txt", None), ("a9a", None), ("a.csv", "libsvm")],
)
def test_libsvm_format(write: Write, name: str, format: str | None) -> None:
    content = gzip.compress(LIBSVM.encode()) if name.endswith(".gz") else LIBSVM.encode()
    table = read_table(write(content, name), format=format)
    assert issparse(table.X)
    assert table.X.format == "csr"
    assert table.X.toarray().tolist() == [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
    assert table.y is not None
    assert table.y.tolist() == [1, -1]
    assert table.names is None
    assert table.target is None


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1 3:1 2:1\n", {}, "a.svm, line 1: feature index 2 follows 3, but indices must increase along a line."),
        ("1 2:1\n1 3:1 3:1\n", {}, "a.svm, line 2: feature index 3 follows 3"),
        ("1 0:1\n", {}, "a.svm, line 1: feature index 0 found, but zero_based=False accepts 1 and above."),
        ("1 1:x\n", {}, "a.svm, line 1: the value of feature 1 is 'x', which is not a number."),
        ("1\n-1\n", {}, "a.svm holds labels but no features"),
        ("", {}, "a.svm holds no rows"),
        ("1 1:1\n", {"target": "y"}, "a.svm is in LIBSVM format, which starts every line with the target and names no"),
        ("1 1:1\n", {"encode": True}, "encode is for other formats."),
        ("1 1:1\n", {"ignore": ["a"]}, "ignore is for other formats."),
    ],
)
def test_bad_libsvm_files(write: Write, content: str, options: dict[str, object], message: str) -> None:
    assert message in refusal(write(content, "a.svm"), **options)


def test_zero_based_libsvm_and_no_labels(write: Write) -> None:
    path = write("1 0:2 2:3\n", "a.svm")
    assert read_table(path, zero_based=True).X.toarray().tolist() == [[2.0, 0.0, 3.0]]
    assert read_table(path, zero_based=True, labelled=False).y is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(b"a,y\n1,2\n" * 9)[:-9]),
        ("a.svm.gz", gzip.compress(LIBSVM.encode())[:-4]),
        ("a.csv.gz", b"no gzip"),
        ("a.csv.bz2", b"no bzip2"),
        ("a.csv.xz", b"no xz"),
    ],
)
def test_damaged_compression(write: Write, name: str, content: bytes) -> None:
    assert f"{name} cannot be decompressed" in refusal(write(content, name))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path)


def through_pipe(tmp_path: Path, content: bytes) -> Path:
    """Return a pipe that the content will come through once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


def test_pipes(tmp_path: Path) -> None:
    assert read_table(through_pipe(tmp_path, b"a,y\n1,2\n")).X.tolist() == [[1.0]]
    (tmp_path / "other").mkdir()
    # It would have to be opened twice, and the second time lack what was read the first time.
    path = through_pipe(tmp_path / "other", LIBSVM.encode())
    assert refusal(path) == "pipe is not a regular file, which the LIBSVM format has to be read from."


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


def features(path: Path, names: list[str] | None = None, **options: object) -> Features:
    width = options.pop("n_features", len(names) if names is not None else 2)
    return read_features(path, n_features=width, names=names, **options)


def features_refusal(path: Path, names: list[str] | None = None, **options: object) -> str:
    with pytest.raises(TableError) as raised:
        features(path, names, **options)
    return str(raised.value).replace(f"{path.parent}/", "")


def test_features_by_name(write: Write) -> None:
    path = write("y,b,a,id\nx,2,1,first\nz,4,3,second\n")
    found = features(path, ["a", "b"], target="y")
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.notes == (
        "Column 'y', which the model predicts, is left aside.",
        "Column 'id', which the model does not know, is left aside.",
    )
    assert features(write("b,a\n2,1\n", "other.csv"), ["a", "b"], target="y").notes == ()
    assert features(path, ["b"]).notes == ("Columns 'y', 'a', 'id', which the model does not know, are left aside.",)
    assert features_refusal(path, ["a", "c", "d"]) == (
        "table.csv lacks columns 'c', 'd', which the model was trained on; its columns are 'y', 'b', 'a', 'id'."
    )
    assert features_refusal(path, ["c"]).startswith("table.csv lacks column 'c', which")
    assert features_refusal(path, ["id"]) == (
        "table.csv, line 2, column 'id': found 'first', expected a finite number."
    )
    assert features_refusal(write("1,2\n3,4\n"), ["a", "b"]) == (
        "table.csv has no header, but the model finds its columns by name: 'a', 'b'."
    )


def test_header_of_numbers_is_known_from_the_model(write: Write) -> None:
    assert features(write("1,0\n5,6\n"), ["0", "1"]).X.tolist() == [[6.0, 5.0]]


@pytest.mark.parametrize(
    ("content", "names", "options", "expected"),
    [
        ("1,2\n", None, {}, [[1.0, 2.0]]),
        ("b,a\n1,2\n", None, {}, [[1.0, 2.0]]),
        ("b,label,a\n1,x,2\n", None, {}, [[1.0, 2.0]]),
        ("b,kind,a\n1,x,2\n", None, {"target": "kind"}, [[1.0, 2.0]]),
        ("1,2\n", ["column 1", "column 2"], {"target": "column 3"}, [[1.0, 2.0]]),
        ("1,2,x\n", ["column 1", "column 2"], {"target": "column 3"}, [[1.0, 2.0]]),
        ("x,1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        ("1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        ("a,b\n1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        # Columns 1 and 4 were left out in training; which of three columns are the right two, nobody knows.
        ("1,2,3\n", ["column 2", "column 3"], {"target": "column 5"}, None),
        ("1,2,3,4\n", None, {}, None),
        ("1,2,3\n", None, {}, None),
        ("label,y,a\n1,2,3\n", None, {}, None),
    ],
)
def test_features_in_order(
    write: Write, content: str, names: list[str] | None, options: dict[str, str], expected: list[list[float]] | None
) -> None:
    path = write(content)
    if expected is not None:
        assert features(path, names, **options).X.tolist() == expected
    else:
        count = content.split("\n")[0].count(",") + 1
        assert features_refusal(path, names, **options) == (
            f"table.csv has {count} columns, but the model, which knows no names of columns, takes 2, in the order of "
            "its training."
        )


def test_features_from_encoded_text(write: Write) -> None:
    training = read_table(write("size,grade,y\n1,1,0\n2,B,1\n3,A,1\n"), encode=True)
    # Here every grade is a number; what the model was trained on decides, not what this table looks like.
    path = write("grade,size\n1,7\n1,8\n", "new.csv")
    found = features(path, training.names, encoded=training.encoded)
    assert found.X.tolist() == [[7.0, 1.0, 0.0, 0.0], [8.0, 1.0, 0.0, 0.0]]
    unknown = write("grade,size\n1,7\nC,8\n", "new.csv")
    assert features_refusal(unknown, training.names, encoded=training.encoded) == (
        "new.csv, line 3, column 'grade': found 'C', expected one of '1', 'A', 'B'."
    )
    assert features_refusal(write("size\n7\n"), training.names, encoded=training.encoded).startswith(
        "table.csv lacks column 'grade'"
    )


def test_features_in_libsvm_format(write: Write) -> None:
    path = write("0 1:5\n0 2:6\n", "new.svm")
    assert features(path, n_features=3).X.toarray().tolist() == [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0]]
    assert features_refusal(path, n_features=1) == (
        "new.svm, line 2: feature index 2 found, but n_features=1 accepts 1 to 1."
    )
    assert features_refusal(path, ["a", "b"]) == (
        "new.svm is in LIBSVM format, which names no columns, but the model was trained on columns named 'a', 'b'."
    )

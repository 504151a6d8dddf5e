"""Files of tables: names, compression, pipes, the LIBSVM format."""

import bz2
import gzip
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.sparse import issparse
from table_files import LIBSVM, Write, refusal

from widemargin.datasets.tables import read_table


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
    with pytest.raises(ValueError, match="format must be one of 'csv', 'tsv', 'libsvm', 'fasta' or None, got 'xls'"):
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


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a"])
@pytest.mark.parametrize("content", ['{"a": 1, "y": 2}\n', '[{"a": 1},\n', ' [\n  {\n "a": 1}]', '\ufeff{"a": 1}'])
def test_json_is_recognised(write: Write, name: str, content: str) -> None:
    assert f"{name} holds JSON; save the table as CSV, as pandas.read_json" in refusal(write(content, name))


def test_parquet_is_recognised(write: Write) -> None:
    assert "is a Parquet file; save the table as CSV, as pandas.read_parquet(" in refusal(write(b"PAR1\x15\x04", "a"))


def test_braces_in_tables(write: Write) -> None:
    assert read_table(write("{a},y\n1,2\n")).names == ["{a}"]
    assert read_table(write('{"a",y\n1,2\n'), delimiter=",").names == ['{"a"']


def test_zero_based_libsvm_and_no_labels(write: Write) -> None:
    path = write("1 0:2 2:3\n", "a.svm")
    assert read_table(path, zero_based=True).X.toarray().tolist() == [[2.0, 0.0, 3.0]]
    assert read_table(path, zero_based=True, labelled=False).y is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(b"a,y\n1,2\n" * 9, mtime=0)[:-9]),
        ("a.svm.gz", gzip.compress(LIBSVM.encode(), mtime=0)[:-4]),
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

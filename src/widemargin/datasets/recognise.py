"""What a file of unknown kind holds: delimited text, the LIBSVM or FASTA format, or nothing that can be read here."""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from os import fspath
from pathlib import Path
from typing import Any

import numpy.typing as npt
from scipy.sparse import csr_matrix

from widemargin.datasets.delimited import Grid, TableError, find_layout
from widemargin.datasets.libsvm_file import read_libsvm
from widemargin.datasets.text_file import FilePath, content_of, open_bytes, uncompressed

LIBSVM, FASTA = "libsvm", "fasta"
FORMATS = ("csv", "tsv", LIBSVM, FASTA)

#: Bytes of a file, and lines of these, by which its format is recognised.
HEAD_BYTES = 2**16
HEAD_LINES = 10

_FORMAT_OF = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), LIBSVM),
    **dict.fromkeys((".fasta", ".fa", ".fas", ".fna", ".ffn", ".faa"), FASTA),
}
_LIBSVM_LINE = re.compile(rb"[^\s:,;]+(\s+\d+:[^\s:]+)+\s*(#.*)?")
_JSON = re.compile(rb'[\[\s]*\{\s*("|$)')
_LETTERS = re.compile(rb"[A-Za-z*. \t-]+")
_FOREIGN = {
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"PK\x03\x04": "a zip archive (a spreadsheet or a model, perhaps); a table in CSV, TSV or LIBSVM format is needed",
    b"PAR1": "a Parquet file; save the table as CSV, as pandas.read_parquet(...).to_csv(...) does",
    b"\x1f\x8b": "compressed by gzip; its name must end in .gz",
    b"%PDF": "a PDF document; a table in CSV, TSV or LIBSVM format is needed",
}


def open_table(
    path: FilePath, format: str | None, header: bool | None, known: Sequence[str], delimiter: str | None = None
) -> Grid | str:
    """Find out what a file holds; return the layout of delimited text, else the name of the format.

    A format of None goes by the end of the file's name, else by its first lines; a delimiter that is given rules other
    formats out. The rest is as in :func:`widemargin.datasets.delimited.find_layout`.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))} or None, got {format!r}.")
    if header not in (None, True, False):
        raise ValueError(f"header must be True, False or None, got {header!r}.")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise ValueError(f"delimiter must be one character or None, got {delimiter!r}.")
    if delimiter is not None and format not in (None, "csv"):
        raise TableError(f"delimiter={delimiter!r} is for the format 'csv', got format={format!r}.")
    name = fspath(path)
    with open_bytes(path) as stream:
        head = stream.read(HEAD_BYTES)
        _require_text(name, head)
        if format is None and delimiter is None and _JSON.match(head.removeprefix(BOM_UTF8)):
            raise TableError(
                f"{name} holds JSON; save the table as CSV, as pandas.read_json(..., lines=True).to_csv(...) does with "
                "JSON lines."
            )
        recognised = (
            format or (delimiter and "csv") or _FORMAT_OF.get(uncompressed(name).suffix.lower()) or _format_of(head)
        )
        if recognised in (LIBSVM, FASTA):
            return recognised
        try:
            data = content_of(stream, name, head)
        except ValueError as problem:
            raise TableError(str(problem)) from None
    delimiter = "\t" if recognised == "tsv" else delimiter
    return find_layout(name, data, delimiter=delimiter, header=header, known=known)


def read_sparse(path: FilePath, n_features: int | None, zero_based: bool) -> tuple[csr_matrix, npt.NDArray[Any]]:
    """Read the LIBSVM format."""
    name = fspath(path)
    if not Path(path).is_file():
        raise TableError(f"{name} is not a regular file, which the LIBSVM format has to be read from.")
    try:
        X, y = read_libsvm(path, n_features=n_features, zero_based=zero_based)
    except TableError:
        raise
    except ValueError as problem:
        raise TableError(str(problem)) from None
    if X.shape[1] == 0:
        raise TableError(f"{name} holds labels but no features; expected lines such as '+1 1:0.5 3:2'.")
    return X, y


def _require_text(name: str, head: bytes) -> None:
    for mark, content in _FOREIGN.items():
        if head.startswith(mark):
            raise TableError(f"{name} is {content}.")
    if b"\0" in head:
        raise TableError(f"{name} is not a text file: it holds zero bytes; expected CSV, TSV or LIBSVM format.")


def _format_of(head: bytes) -> str:
    lines = [line.strip() for line in head.splitlines()]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    records = [line for line in lines if not line.removeprefix(BOM_UTF8).startswith(b";")]
    if records and records[0].removeprefix(BOM_UTF8).startswith(b">") and all(map(_LETTERS.fullmatch, records[1:2])):
        return FASTA
    return LIBSVM if any(map(_LIBSVM_LINE.fullmatch, lines[:HEAD_LINES])) else "csv"

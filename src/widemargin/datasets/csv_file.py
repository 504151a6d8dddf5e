"""Reader of delimited text tables with numeric features and one target column."""

import csv
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from math import isfinite
from os import fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.datasets.checks import FloatMatrix
from widemargin.datasets.text_file import FilePath, numeric_labels, open_bytes

# On a tie the first wins: commas are the likeliest to occur inside the fields of a table split by something else.
_DELIMITERS = "\t;,"


@dataclass(frozen=True)
class _Layout:
    """Where the target is and what the columns are called."""

    file: str
    names: list[str]
    target: int

    def complaint(self, line: int, column: int, field: str) -> ValueError:
        found = repr(field) if field else "an empty field"
        expected = "a label" if column == self.target else "a finite number"
        return ValueError(
            f"{self.file}, line {line}, column {self.names[column]!r}: found {found}, expected {expected}."
        )


def read_csv(
    path: FilePath, *, target: str | int, delimiter: str | None = None, header: bool | None = None
) -> tuple[FloatMatrix, npt.NDArray[Any], list[str]]:
    r"""Read a table of numbers with one column of labels or targets.

    The text is UTF-8; files whose name ends in .gz, .bz2 or .xz are decompressed on the way. Empty lines are skipped,
    fields may be quoted. All columns but the target must hold finite numbers with a decimal point.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str or int
        The column that becomes ``y``: its name in the header, or its position counted from 0 (negative from the end).
    delimiter : str or None, default=None
        The character between fields; None takes the most frequent of tab, semicolon and comma in the first line.
    header : bool or None, default=None
        Whether the first line holds column names. None decides: yes if ``target`` is a name, or if no field of the
        first line apart from the target is a number.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns - 1), float64
    y : ndarray of shape (n_rows,)
        int64 if every label is a whole number, float64 if every label is a number, strings otherwise.
    feature_names : list of str
        The names of the columns of ``X``; "column 1", "column 2", ... without a header, counted in the file.

    Raises
    ------
    ValueError
        Names the file, the line and the column of the first missing or non-numeric value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from widemargin.datasets import read_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.csv"
    ...     _ = path.write_text("length;width;species\n5.1;3.5;setosa\n6.2;2.9;versicolor\n")
    ...     X, y, feature_names = read_csv(path, target="species")
    >>> X.tolist(), y.tolist(), feature_names
    ([[5.1, 3.5], [6.2, 2.9]], ['setosa', 'versicolor'], ['length', 'width'])
    """
    if not isinstance(target, str | int) or isinstance(target, bool):
        raise ValueError(f"target must be the name or the position of a column, got {target!r}.")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise ValueError(f"delimiter must be one character or None, got {delimiter!r}.")
    if header not in (None, True, False):
        raise ValueError(f"header must be True, False or None, got {header!r}.")
    name = fspath(path)
    try:
        with open_bytes(path) as stream, TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            return _read_table(name, text, target, delimiter, header)
    except UnicodeDecodeError as problem:
        raise ValueError(f"{name} is not UTF-8 text: {problem.reason} {problem.object[problem.start]:#04x}.") from None


def _read_table(
    name: str, text: TextIOWrapper, target: str | int, delimiter: str | None, header: bool | None
) -> tuple[FloatMatrix, npt.NDArray[Any], list[str]]:
    rows = _rows(name, text, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{name} holds no rows.")
    position = _target_position(name, first[1], target, header)
    if header is None:
        header = isinstance(target, str) or not any(
            _are_finite([field]) for column, field in enumerate(first[1]) if column != position
        )
    names = first[1] if header else [f"column {column}" for column in range(1, len(first[1]) + 1)]
    if "" in names:
        raise ValueError(
            f"{name}, line {first[0]}: column {names.index('') + 1} has no name in the header (a row index, perhaps);"
            " name it or leave it out."
        )
    layout = _Layout(name, names, position)
    return _columns(layout, rows if header else chain([first], rows))


def _rows(name: str, text: TextIOWrapper, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the stripped fields of every row that is not empty."""
    start = next((line for line in text if line.strip()), "")
    text.seek(0)
    if delimiter is None:
        delimiter = max(_DELIMITERS, key=lambda candidate: len(next(csv.reader([start], delimiter=candidate), [])))
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as problem:
        raise ValueError(f"{name}, line {reader.line_num}: {problem}.") from None


def _target_position(name: str, first: list[str], target: str | int, header: bool | None) -> int:
    if len(first) < 2:
        raise ValueError(
            f"{name}: its first line has a single column, but a target and at least one feature are needed;"
            " check the delimiter."
        )
    if isinstance(target, str):
        if header is False:
            raise ValueError(f"target must be the position of a column when header=False, got {target!r}.")
        if first.count(target) != 1:
            count = "several columns" if target in first else "no column"
            raise ValueError(f"{name} has {count} named {target!r}; its columns are {', '.join(map(repr, first))}.")
        return first.index(target)
    if not -len(first) <= target < len(first):
        raise ValueError(f"target must be a position from {-len(first)} to {len(first) - 1} in {name}, got {target}.")
    return target % len(first)


def _columns(layout: _Layout, rows: Iterable[tuple[int, list[str]]]) -> tuple[FloatMatrix, npt.NDArray[Any], list[str]]:
    values = array("d")
    labels: list[str] = []
    for line, fields in rows:
        if len(fields) != len(layout.names):
            raise ValueError(f"{layout.file}, line {line}: {len(fields)} columns found, expected {len(layout.names)}.")
        label = fields[layout.target]
        if label == "" or label.lower() == "nan":
            raise layout.complaint(line, layout.target, label)
        labels.append(label)
        values.extend(_numbers(layout, line, fields))
    if not labels:
        raise ValueError(f"{layout.file} holds a header but no rows.")
    names = [name for column, name in enumerate(layout.names) if column != layout.target]
    X = np.array(values, dtype=np.float64).reshape(len(labels), len(names))
    return X, _label_array(labels), names


def _numbers(layout: _Layout, line: int, fields: list[str]) -> list[float]:
    chosen = fields[: layout.target] + fields[layout.target + 1 :]
    if _are_finite(chosen):
        return [float(field) for field in chosen]
    column = next(column for column, field in enumerate(fields) if column != layout.target and not _are_finite([field]))
    raise layout.complaint(line, column, fields[column])


def _are_finite(fields: Iterable[str]) -> bool:
    try:
        return all(isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def _label_array(labels: list[str]) -> npt.NDArray[Any]:
    if not _are_finite(labels):
        return np.array(labels)
    return numeric_labels(np.array([float(label) for label in labels]))

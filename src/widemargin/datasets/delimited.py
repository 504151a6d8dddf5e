"""Delimited text: where its columns are, what they are called, and what stands in them."""

import csv
import re
from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, TextIOWrapper
from itertools import islice
from math import isfinite

import numpy as np

from widemargin.datasets.checks import FloatMatrix

#: Lower-case spellings of a value that is not there.
MISSING = frozenset({"", "?", "n/a", "na", "nan", "null"})

#: Rows that the delimiter is judged by.
SAMPLE_ROWS = 10

#: On a tie the first wins: commas are the likeliest to occur inside the fields of a table split by something else.
_DELIMITERS = "\t;,|"

#: What they are, in words.
DELIMITERS = "commas, semicolons, tabs or |"

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


class TableError(ValueError):
    """A table that cannot be used; the message is one sentence that names the file, the line and the column."""


def is_missing(field: str) -> bool:
    """Whether a field stands for a value that is not there."""
    return field.strip().lower() in MISSING


def is_number(field: str) -> bool:
    """Whether a field is a finite number, in digits and a decimal point; underscores, which Python takes, are text."""
    try:
        return isfinite(float(field)) and "_" not in field
    except ValueError:
        return False


def listed(names: Sequence[str], limit: int = 10) -> str:
    """Names in quotes, with commas; of more than `limit` the first few and how many there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b', ... (3 in all)"
    """
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def counted_names(count: int) -> list[str]:
    """Return what columns without names are called.

    Examples
    --------
    >>> counted_names(2)
    ['column 1', 'column 2']
    """
    return [f"column {number}" for number in range(1, count + 1)]


@dataclass(frozen=True)
class Grid:
    """A delimited file whose layout has been found.

    Columns without a name, in a file without a header all of them, are called "column 1", "column 2", ...
    """

    file: str
    data: bytes
    delimiter: str
    names: list[str]
    has_header: bool
    nameless: frozenset[int]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the last line and the fields of every row below the header that is not blank."""
        for number, (line, fields) in enumerate(_records(self.file, self.data, self.delimiter)):
            if number == 0 and self.has_header:
                continue
            if len(fields) != len(self.names):
                raise TableError(f"{self.file}, line {line}: {len(fields)} fields found, expected {len(self.names)}.")
            yield line, fields

    @cached_property
    def positions(self) -> dict[str, int]:
        """Positions of the columns by name."""
        return {name: column for column, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Position of the column of this name."""
        if name not in self.positions:
            raise TableError(f"{self.file} has no column named {name!r}; its columns are {listed(self.names)}.")
        return self.positions[name]

    def complaint(self, line: int, column: int, found: str, expected: str) -> TableError:
        """Say what was found in a field and what would be accepted."""
        where = f"{self.file}, line {line}, column {self.names[column]!r}"
        if is_missing(found):
            as_what = f" (found {found.strip()!r})" if found.strip() else ""
            return TableError(f"{where}: the value is missing{as_what}, expected {expected}.")
        return TableError(f"{where}: found {found.strip()!r}, expected {expected}.")

    def not_a_number(self, line: int, column: int, found: str, advice: str = "") -> TableError:
        """Say why a field is no number."""
        if _DECIMAL_COMMA.fullmatch(found.strip()):
            return self.complaint(line, column, found, "a number with a decimal point")
        kind = not is_missing(found) and found.strip().lower().lstrip("+-") not in ("inf", "infinity")
        return self.complaint(line, column, found, f"a finite number{advice if kind else ''}")


def find_layout(
    file: str, data: bytes, *, delimiter: str | None, header: bool | None, known: Collection[str] = ()
) -> Grid:
    """Find the delimiter, the header and the column names of a file's content.

    With ``delimiter=None`` it is the one of tab, semicolon, comma and | that splits the first rows into equally many
    fields, most of them numbers; of several, the one that makes most fields, but | last: names of sequences hold it.
    With ``header=None`` the first row holds names if one of the `known` names is among them; if no field of it is a
    number; or if a string stands above a number, and the other fields are different whole numbers, as in
    ``0,1,2,label``.
    """
    if delimiter is None:
        delimiter = max(_DELIMITERS, key=lambda candidate: _split_quality(data, candidate))
    sample = [fields for _, fields in islice(_records(file, data, delimiter), 2)]
    if not sample:
        raise TableError(f"{file} is empty; expected rows of numbers, separated by {DELIMITERS}.")
    first = [field.strip() for field in sample[0]]
    if header is None:
        header = not set(known).isdisjoint(first) or _looks_like_names(first, sample[1] if len(sample) > 1 else [])
    counted = counted_names(len(first))
    if not header:
        return Grid(file, data, delimiter, counted, False, frozenset())
    nameless = frozenset(column for column, name in enumerate(first) if not name)
    names = [name or called for name, called in zip(first, counted, strict=True)]
    seen: dict[str, int] = {}
    for column, name in enumerate(names):
        if seen.setdefault(name, column) != column:
            raise TableError(
                f"{file}: columns {seen[name] + 1} and {column + 1} are both named {name!r}; every column needs a name "
                "of its own."
            )
    return Grid(file, data, delimiter, names, True, nameless)


def _looks_like_names(first: list[str], second: list[str]) -> bool:
    numbers = [field for field in first if is_number(field)]
    if not numbers:
        return True
    above_number = any(
        not is_number(name) and not is_missing(name) and is_number(below)
        for name, below in zip(first, second, strict=False)
    )
    return above_number and all(map(str.isdecimal, numbers)) and len(set(numbers)) == len(numbers)


def _split_quality(data: bytes, delimiter: str) -> tuple[bool, int, bool, int]:
    """Tell whether the first rows split into equally many fields, how many are numbers, and how many a row has.

    The last but one tells | from the others.

    Numbers come first: in ``0.5,left;right`` they say which of the two is the delimiter.
    """
    rows: list[list[str]] = []
    splits = False
    with suppress(TableError):
        rows.extend(fields for _, fields in islice(_records("", data, delimiter), SAMPLE_ROWS))
        splits = len({len(fields) for fields in rows}) == 1 and len(rows[0]) > 1
    numbers = sum(is_number(field) or bool(_DECIMAL_COMMA.fullmatch(field.strip())) for row in rows for field in row)
    return splits, numbers if splits else 0, delimiter != "|", max(map(len, rows), default=0)


def _records(file: str, data: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the fields of every row that is not blank."""
    text = TextIOWrapper(BytesIO(data), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    begin = 1
    try:
        for fields in reader:
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield reader.line_num, fields
            begin = reader.line_num + 1
    except csv.Error as problem:
        raise TableError(
            f"{file}: the row that begins in line {begin} cannot be split into fields ({problem}); check its quotes."
        ) from None
    except UnicodeDecodeError:
        raise _not_utf8(file, data) from None


def _not_utf8(file: str, data: bytes) -> TableError:
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return TableError(f"{file}, line {line}: byte {data[problem.start]:#04x} found, expected UTF-8 text.")
    raise AssertionError("text that could not be decoded in parts can be decoded as a whole")


def text_columns(grid: Grid, columns: Sequence[int]) -> list[int]:
    """Those of the columns in which some value is neither a number nor missing."""
    numeric, text = list(columns), []
    for _, fields in grid.rows():
        here = [column for column in numeric if not is_number(fields[column]) and not is_missing(fields[column])]
        if here:
            text += here
            numeric = [column for column in numeric if column not in here]
    return sorted(text)


def read_columns(
    grid: Grid, numeric: Sequence[int], text: Sequence[int], advice: str = ""
) -> tuple[FloatMatrix, list[list[str]], Sequence[int]]:
    """Read some columns as numbers and some as text, and the line of each row.

    `advice` is added to the error where a string stands in place of a number. Strings, one list per column, are
    stripped.
    """
    values, lines = array("d"), array("q")
    texts: list[list[str]] = [[] for _ in text]
    for line, fields in grid.rows():
        chosen = [fields[column] for column in numeric]
        try:
            values.extend(map(float, chosen))
            clean = "_" not in "".join(chosen)
        except ValueError:
            clean = False
        if not clean:
            column = next(column for column in numeric if not is_number(fields[column]))
            raise grid.not_a_number(line, column, fields[column], advice)
        for column, kept in zip(text, texts, strict=True):
            if is_missing(fields[column]):
                raise grid.complaint(line, column, fields[column], "a value")
            kept.append(fields[column].strip())
        lines.append(line)
    if not lines:
        raise TableError(f"{grid.file} holds a header but no rows.")
    numbers = np.array(values, dtype=np.float64).reshape(len(lines), len(numeric))
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise grid.not_a_number(lines[row], numeric[column], str(numbers[row, column]), advice)
    return numbers, texts, lines

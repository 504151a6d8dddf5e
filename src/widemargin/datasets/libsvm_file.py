"""Reader of the LIBSVM (svmlight) text format: one sample per line, ``label index:value index:value ...``."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from os import fspath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from widemargin.datasets.checks import whole_number
from widemargin.datasets.text_file import FilePath, lines_of, numeric_labels, open_bytes

LARGEST_INDEX = 2**62


@dataclass
class _Rows:
    """The samples read so far, in compressed row form, with the line each came from."""

    labels: array[float] = field(default_factory=lambda: array("d"))
    indices: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    lines: array[int] = field(default_factory=lambda: array("q"))

    def append(self, line: int, label: float, indices: list[int], values: list[float]) -> None:
        self.labels.append(label)
        self.indices.extend(indices)
        self.values.extend(values)
        self.starts.append(len(self.indices))
        self.lines.append(line)

    def line_of(self, entry: int) -> int:
        return self.lines[bisect_right(self.starts, entry) - 1]


def read_libsvm(
    path: FilePath, *, n_features: int | None = None, zero_based: bool | Literal["auto"] = "auto"
) -> tuple[csr_matrix, npt.NDArray[Any]]:
    r"""Read a file in LIBSVM (svmlight) format.

    Everything behind a ``#`` is a comment, and empty lines are skipped. Files whose name ends in .gz, .bz2 or .xz are
    decompressed on the way.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int or None, default=None
        Number of columns of the result; None takes the largest index in the file. Give it when a test file may lack
        the last features of its training file.
    zero_based : bool or "auto", default="auto"
        Whether the first feature has index 0 (LIBSVM's own files start at 1). "auto" takes a file as zero-based exactly
        when index 0 occurs in it.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features), float64
    y : ndarray of shape (n_samples,)
        int64 if every label is a whole number, else float64.

    Raises
    ------
    ValueError
        Names the file and the line of the first label, index or value that cannot be used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_libsvm
    >>> _ = Path("tiny.libsvm").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> X, y = read_libsvm("tiny.libsvm")
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    if n_features is not None:
        n_features = whole_number("n_features", n_features)
    if not (isinstance(zero_based, bool) or zero_based == "auto"):
        raise ValueError(f'zero_based must be True, False or "auto", got {zero_based!r}.')
    name = fspath(path)
    rows = _parse(path)
    indices = np.array(rows.indices, dtype=np.int64)
    first = _first_index(name, rows, indices, zero_based)
    width = int(indices.max(initial=first - 1)) - first + 1
    if n_features is not None and width > n_features:
        line = rows.line_of(int(indices.argmax()))
        raise ValueError(
            f"{name}, line {line}: feature index {indices.max()} found, but n_features={n_features} accepts"
            f" {first} to {n_features + first - 1}."
        )
    shape = (len(rows.labels), width if n_features is None else n_features)
    # Many solvers take 32-bit indices only, and csr_matrix does not narrow what it is given.
    index_type = np.int32 if max(indices.size, shape[1]) <= np.iinfo(np.int32).max else np.int64
    starts = np.array(rows.starts, dtype=index_type)
    X = csr_matrix((np.array(rows.values, dtype=np.float64), (indices - first).astype(index_type), starts), shape=shape)
    return X, numeric_labels(np.array(rows.labels, dtype=np.float64))


def _first_index(name: str, rows: _Rows, indices: npt.NDArray[np.int64], zero_based: bool | Literal["auto"]) -> int:
    lowest = int(indices.min(initial=1))
    if zero_based == "auto":
        return min(lowest, 1)
    if lowest == 0 and not zero_based:
        line = rows.line_of(int(indices.argmin()))
        raise ValueError(f"{name}, line {line}: feature index 0 found, but zero_based=False accepts 1 and above.")
    return 0 if zero_based else 1


def _parse(path: FilePath) -> _Rows:
    rows = _Rows()
    with open_bytes(path) as stream:
        for number, line in enumerate(lines_of(stream, fspath(path)), start=1):
            fields = line.partition(b"#")[0].split()
            if not fields:
                continue
            try:
                rows.append(number, *_parse_row(fields))
            except ValueError as problem:
                raise ValueError(f"{fspath(path)}, line {number}: {problem}") from None
    if not rows.labels:
        raise ValueError(f"{fspath(path)} holds no rows; expected lines such as '+1 1:0.5 3:2'.")
    return rows


def _parse_row(fields: list[bytes]) -> tuple[float, list[int], list[float]]:
    label = _finite(fields[0], "the label")
    try:
        pairs = [pair.split(b":") for pair in fields[1:]]
        indices = [int(index) for index, _ in pairs]
        values = [float(value) for _, value in pairs]
    except ValueError:
        for pair in fields[1:]:
            _check_pair(pair)
        raise
    if not all(map(isfinite, values)):
        for index, value in pairs:
            _finite(value, f"the value of feature {int(index)}")
    if indices and indices[0] < 0:
        raise ValueError(f"feature index {indices[0]} is negative.")
    for previous, index_here in pairwise(indices):
        if index_here <= previous:
            raise ValueError(f"feature index {index_here} follows {previous}, but indices must increase along a line.")
    if indices and indices[-1] > LARGEST_INDEX:
        raise ValueError(f"feature index {indices[-1]} is above {LARGEST_INDEX}, the largest accepted.")
    return label, indices, values


def _check_pair(pair: bytes) -> None:
    index, colon, value = pair.partition(b":")
    if not colon:
        raise ValueError(f"{_shown(pair)} found where index:value was expected.")
    try:
        int(index)
    except ValueError:
        raise ValueError(f"feature index {_shown(index)} is not a whole number.") from None
    _finite(value, f"the value of feature {int(index)}")


def _finite(text: bytes, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{what} is {_shown(text)}, which is not a number.") from None
    if not isfinite(number):
        raise ValueError(f"{what} is {_shown(text)}, but it must be finite.")
    return number


def _shown(text: bytes) -> str:
    return repr(text.decode(errors="replace"))

"""Delimited text tables as plain arrays."""

from typing import Any

import numpy.typing as npt

from widemargin.datasets.checks import FloatMatrix
from widemargin.datasets.tables import read_table
from widemargin.datasets.text_file import FilePath


def read_csv(
    path: FilePath, *, target: str | int, delimiter: str | None = None, header: bool | None = None
) -> tuple[FloatMatrix, npt.NDArray[Any], list[str]]:
    r"""Read a table of numbers with one column of labels or targets.

    This is :func:`read_table` for those who know which column they want and need nothing but the arrays.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str or int
        The column that becomes ``y``: its name in the header, or its position counted from 0 (negative from the end).
    delimiter, header
        As in :func:`read_table`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns - 1), float64
    y : ndarray of shape (n_samples,)
        int64 if every label is a whole number, float64 if every label is a number, strings otherwise.
    feature_names : list of str
        The names of the columns of ``X``; "column 1", "column 2", ... without a header, counted in the file.

    Raises
    ------
    TableError
        Names the file, the line and the column of the first missing or non-numeric value.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_csv
    >>> _ = Path("iris.csv").write_text("length;width;species\n5.1;3.5;setosa\n6.2;2.9;versicolor\n")
    >>> X, y, feature_names = read_csv("iris.csv", target="species")
    >>> X.tolist(), y.tolist(), feature_names
    ([[5.1, 3.5], [6.2, 2.9]], ['setosa', 'versicolor'], ['length', 'width'])
    """
    if target is None:
        raise ValueError("target must be the name or the position of a column, got None.")
    table = read_table(path, target=target, format="csv", delimiter=delimiter, header=header)
    assert table.y is not None
    assert table.names is not None
    return table.X, table.y, table.names

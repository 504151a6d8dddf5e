"""Columns of numbers and of text as features: what they are called, and the transformer that models begin with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from widemargin.datasets.checks import FloatMatrix
from widemargin.datasets.delimited import is_missing, is_number, listed

#: The values of each column of text.
Values: TypeAlias = Mapping[str, Sequence[str]]

#: What columns of tables without a header are called.
COUNTED = re.compile(r"column \d+")


def have_names(raw: Sequence[str]) -> bool:
    """Tell whether names of columns are more than their numbers, which tables without a header have.

    Examples
    --------
    >>> have_names(["column 1", "column 2"]), have_names(["length", "column 2"])
    (False, True)
    """
    return not all(map(COUNTED.fullmatch, raw))


def raw_columns(names: Sequence[str], encoded: Values) -> list[str]:
    """Name the columns of a table that features are made of.

    Examples
    --------
    >>> raw_columns(["size", "colour=blue", "colour=red"], {"colour": ["blue", "red"]})
    ['size', 'colour']
    """
    made_of = {f"{column}={value}": column for column, values in encoded.items() for value in values}
    return list(dict.fromkeys(made_of.get(name, name) for name in names))


def assembled(
    names: Sequence[str], numeric: Sequence[str], numbers: FloatMatrix, encoded: Values, texts: Sequence[list[str]]
) -> FloatMatrix:
    """Put numbers, and zeros and ones for strings, into the order of the features."""
    if not encoded:
        return numbers
    parts = dict(zip(numeric, numbers.T, strict=True))
    for (name, values), found in zip(encoded.items(), map(np.array, texts), strict=True):
        parts |= {f"{name}={value}": (found == value).astype(np.float64) for value in values}
    return np.column_stack([parts[name] for name in names])


class ColumnEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns the columns of a table into features: text into one column of zeros and ones a value.

    Models that ``widemargin select --encode`` has chosen begin with it. Data frames hand over their columns by name, in
    any order; others that they have are ignored. Arrays and lists of rows have to hold the columns in their order;
    those that hold the features, as :func:`read_table` and :func:`read_features` return them, are taken as they are. It
    learns nothing from data.

    Parameters
    ----------
    names : sequence of str
        Names of the features; those of a column of text are "column=value".
    encoded : mapping
        The values of each column of text.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Names of the columns, if they have names.
    n_features_in_ : int
        How many columns there are.

    Examples
    --------
    >>> import pandas as pd
    >>> encoder = ColumnEncoder(["size", "colour=blue", "colour=red"], {"colour": ["blue", "red"]}).fit()
    >>> encoder.transform(pd.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})).tolist()
    [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """

    def __init__(self, names: Sequence[str], encoded: Values) -> None:
        self.names = names
        self.encoded = encoded

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Take note of the columns; samples are not looked at."""
        columns = raw_columns(self.names, self.encoded)
        self.n_features_in_ = len(columns)
        if have_names(columns):
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of some samples.

        Parameters
        ----------
        X : data frame, or array or list of rows of shape (n_samples, n_columns) or (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features), float64, or the features that were given
        """
        columns = raw_columns(self.names, self.encoded)
        nameless = not hasattr(X, "columns")
        if nameless and len(columns) < len(self.names) and np.shape(X)[1:] == (len(self.names),):
            return X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        found = self._columns(X, columns)
        numeric = [name for name in columns if name not in self.encoded]
        parts = [_numbers(name, found[name]) for name in numeric]
        texts = [_texts(name, found[name], values) for name, values in self.encoded.items()]
        return assembled(self.names, numeric, np.array(parts).T, self.encoded, texts)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the features."""
        return np.array(self.names, dtype=object)

    def _columns(self, X: Any, columns: list[str]) -> dict[str, npt.NDArray[Any]]:
        """Return the columns that features are made of, by name if there are names on both sides."""
        labels = {} if not hasattr(X, "columns") else {str(label): label for label in X.columns}
        if labels and hasattr(self, "feature_names_in_"):
            missing = [name for name in columns if name not in labels]
            if missing:
                raise ValueError(
                    f"X lacks column{'s' if len(missing) > 1 else ''} {listed(missing)}, which the model reads; its "
                    f"columns are {listed(list(labels))}."
                )
            repeated = [name for name, times in Counter(map(str, X.columns)).items() if times > 1 and name in columns]
            if repeated:
                raise ValueError(f"X has several columns named {repeated[0]!r}; every column needs a name of its own.")
            return {name: np.asarray(X[labels[name]], dtype=object) for name in columns}
        rows = np.asarray(X, dtype=object)
        if rows.ndim != 2 or rows.shape[1] != len(columns):
            raise ValueError(
                f"X is of shape {np.shape(X)}, but the model reads {len(columns)} columns: {listed(columns)}; pass a "
                "data frame, or rows with these columns in this order."
            )
        validate_data(self, rows, reset=False, skip_check_array=True)  # warns that names are expected
        return dict(zip(columns, rows.T, strict=True))


def _numbers(name: str, column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a column as numbers, or say which row holds none."""
    with suppress(TypeError, ValueError):
        numbers = column.astype(np.float64)
        if np.isfinite(numbers).all():
            return numbers
    row = next(row for row, value in enumerate(column) if not is_number(str(value)))
    raise ValueError(f"X holds {column[row]!r} in column {name!r}, first at row {row}; a finite number is needed.")


def _texts(name: str, column: npt.NDArray[Any], values: Sequence[str]) -> list[str]:
    """Return a column as some of the values that a model knows, or say which row holds another one."""
    known = {value: value for value in values}
    # Libraries read true and TRUE as truth values.
    truths = {value.lower(): value for value in values if value.lower() in ("true", "false")}
    texts = []
    for row, value in enumerate(column):
        text = str(value).strip()
        found = truths.get(text.lower()) if isinstance(value, bool | np.bool_) else known.get(text)
        if found is None:
            missing = value is None or is_missing(text) or text in ("<NA>", "NaT")
            held = "no value" if missing else repr(value)
            raise ValueError(
                f"X holds {held} in column {name!r}, first at row {row}; it must be one of {listed(values)}."
            )
        texts.append(found)
    return texts

"""Tables as users have them: CSV, TSV, LIBSVM and FASTA files, recognised by name or content; to train, to predict."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from widemargin.datasets.checks import FloatMatrix
from widemargin.datasets.columns import COUNTED, Values, assembled, have_names, raw_columns
from widemargin.datasets.delimited import (
    DELIMITERS,
    Grid,
    TableError,
    counted_names,
    is_number,
    listed,
    read_columns,
    text_columns,
)
from widemargin.datasets.fasta_table import read_fasta_table
from widemargin.datasets.recognise import FASTA, FORMATS, open_table, read_sparse
from widemargin.datasets.text_file import FilePath, labels_of

__all__ = [
    "FORMATS",
    "Features",
    "Table",
    "TableError",
    "read_csv",
    "read_features",
    "read_sequences",
    "read_table",
]

#: Lower-case names that make a column the target where none is named.
TARGET_NAMES = ("label", "target", "class", "y")

#: Different values that a text column may have to be encoded.
MOST_VALUES = 20

_ADVICE = (
    " (the options ignore and encode leave a column of text out, or turn it into numbers; sequence takes one as the "
    "sample)"
)


@dataclass(frozen=True)
class Table:
    """Samples to train on.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features), float64, or list of str
        Sparse if read from the LIBSVM format; strings if the samples are sequences.
    y : ndarray of shape (n_samples,) or None
        int64 if every label is a whole number, float64 if every label is a number, strings otherwise; None if no target
        was asked for.
    names : list of str or None
        Names of the features; None for the LIBSVM format, which has none. For sequences, the name of their column.
    target : str or None
        The column that became `y`, if it has a name.
    encoded : dict
        The values of each text column that was turned into one column of zeros and ones a value.
    notes : tuple of str
        What the reader has decided by itself, in sentences.
    groups : ndarray of shape (n_samples,) or None
        Names of groups, if a column of them was named.
    """

    X: Any
    y: npt.NDArray[Any] | None
    names: list[str] | None
    target: str | None
    encoded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    groups: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Features:
    """Samples to predict, `X`, sentences about what was left out, `notes`, and the `ids` of records that have names."""

    X: Any
    notes: tuple[str, ...] = ()
    ids: list[str] | None = None


def read_table(
    path: FilePath,
    *,
    target: str | int | None = None,
    labelled: bool = True,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encode: bool = False,
    ignore: Sequence[str] = (),
    zero_based: bool = False,
    sequence: str | None = None,
    group: str | None = None,
) -> Table:
    r"""Read a table of numbers, or of sequences, with one column of labels or targets.

    Text is UTF-8, with or without a byte order mark; fields may be quoted. Files whose name ends in .gz, .bz2 or .xz
    are decompressed on the way.

    Parameters
    ----------
    path : str or path-like
        The file. Names ending in .csv, .tsv, .tab, .svm, .libsvm, .svmlight, .fasta, .fa, .fas, .fna, .ffn and .faa
        say what it holds; of other files the first lines are looked at.
    target : str, int or None, default=None
        The column that becomes `y`: its name, or its position counted from 0 (negative from the end). None takes the
        column named label, target, class or y, in upper or lower case, else the last one; ``notes`` says which. In the
        LIBSVM format the target comes first in a line, and None is the only choice. In the FASTA format it is a tag
        ``name=value`` or ``[name=value]`` of every header, and there is no last one.
    labelled : bool, default=True
        False reads all columns as features.
    format : {"csv", "tsv", "libsvm", "fasta"} or None, default=None
        What the file holds, whatever its name; None finds out.
    delimiter : str or None, default=None
        The character between fields; None finds out which of comma, semicolon, tab and | it is.
    header : bool or None, default=None
        Whether the first line holds column names; None decides by the first two lines.
    encode : bool, default=False
        Turn every text column of at most 20 different values into one column of zeros and ones a value, named
        "column=value". Without it text is accepted in the target only.
    ignore : sequence of str, default=()
        Columns to leave out.
    zero_based : bool, default=False
        Whether the features of the LIBSVM format are counted from 0.
    sequence : str or None, default=None
        A column of strings that are the samples, such as DNA; all other columns but those named here are left out.
        FASTA files hold sequences without being told.
    group : str or None, default=None
        A column (in FASTA, a tag of the header) of names of groups, which is no feature: genes, patients.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        In one sentence with the file, the line and the column of the first value that cannot be used.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_table
    >>> _ = Path("iris.csv").write_text("length,colour,species\n5.1,blue,setosa\n6.2,white,versicolor\n")
    >>> table = read_table("iris.csv", encode=True)
    >>> table.names, table.X.tolist(), table.y.tolist()
    (['length', 'colour=blue', 'colour=white'], [[5.1, 1.0, 0.0], [6.2, 0.0, 1.0]], ['setosa', 'versicolor'])
    >>> table.notes
    ("The target is column 'species', the last one.",)
    """
    if not labelled and target is not None:
        raise ValueError(f"target must be None if labelled=False, got {target!r}.")
    known = [name for name in (target, sequence, group) if isinstance(name, str)]
    source = open_table(path, format, header, [*known, *ignore], delimiter)
    if isinstance(source, Grid):
        if sequence is not None:
            return _train_on_sequences(source, sequence, target, labelled, encode, ignore, group)
        return _train_on(source, target, labelled, encode, ignore, group)
    options = {"ignore": ignore, "encode": encode, "sequence": sequence}
    if source == FASTA:
        _refuse_options(path, "FASTA format, which consists of sequences and their headers", options)
        return _train_on_fasta(path, target, labelled, group)
    options |= {"target": target, "group": group}
    _refuse_options(path, "LIBSVM format, which starts every line with the target and names no columns", options)
    X, y = read_sparse(path, None, zero_based)
    return Table(X, y if labelled else None, None, None)


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


def read_features(
    path: FilePath,
    *,
    n_features: int,
    names: Sequence[str] | None = None,
    encoded: Values | None = None,
    selected: Sequence[int] | None = None,
    target: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool = False,
) -> Features:
    r"""Read samples to predict, with the columns that a model was trained on.

    Columns are found by name, in whatever order; what the model does not know is left out and noted. If the model or
    the table has no names, the table needs as many columns as the model, in the same order.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int
        Features that the model takes.
    names : sequence of str or None, default=None
        Their names.
    encoded : mapping or None, default=None
        The values of each text column that `names` holds as "column=value".
    selected : sequence of int or None, default=None
        Features that the model reads, if not all: the columns of `X`. The others may hold anything, and need not be
        there where columns are found by name.
    target : str or None, default=None
        The column that the model was trained to predict, ignored if the table has it.
    format, delimiter, header, zero_based
        As in :func:`read_table`.

    Returns
    -------
    Features

    Raises
    ------
    TableError
        In one sentence with the columns that are missing; otherwise as :func:`read_table`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_features
    >>> _ = Path("new.csv").write_text("species,width,length\nsetosa,3.5,5.1\n")
    >>> new = read_features("new.csv", n_features=2, names=["length", "width"], target="species")
    >>> new.X.tolist(), new.notes
    ([[5.1, 3.5]], ("Column 'species', which the model predicts, is ignored.",))
    """
    encoded = encoded or {}
    raw = None if names is None else raw_columns(names, encoded)
    known = raw if raw is not None and have_names(raw) else []
    source = open_table(path, format, header, known, delimiter)
    if not isinstance(source, Grid):
        if known or source == FASTA:
            what = "FASTA format, which holds sequences" if source == FASTA else "LIBSVM format, which names no columns"
            trained_on = f"columns named {listed(known)}" if known else "columns of numbers"
            raise TableError(f"{fspath(path)} is in {what}, but the model was trained on {trained_on}.")
        X, _ = read_sparse(path, n_features, zero_based)
        return Features(X if selected is None else X[:, selected])
    read = range(n_features) if selected is None else selected
    if raw is None:
        in_order, notes = _columns_in_order(source, n_features, target)
        return Features(read_columns(source, [in_order[number] for number in read], [])[0], notes)
    assert names is not None
    own = [names[number] for number in read]
    used = {name: values for name, values in encoded.items() if any(f"{name}={value}" in own for value in values)}
    columns, notes = _matching_columns(source, raw, raw_columns(own, used), target)
    return Features(_predict_from(source, columns, own, used), notes)


def read_sequences(
    path: FilePath,
    *,
    column: str | None = None,
    target: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Features:
    r"""Read sequences to predict: a column of a table, or the records of a FASTA file.

    Parameters
    ----------
    path : str or path-like
        The file.
    column : str or None, default=None
        The column of strings. A table of one column has no need of its name.
    target : str or None, default=None
        The column that the model was trained to predict, ignored if the table has it.
    format, delimiter, header
        As in :func:`read_table`.

    Returns
    -------
    Features
        `X` is a list of str; `ids` are the names of the records of a FASTA file.

    Raises
    ------
    TableError
        In one sentence, as :func:`read_table`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_sequences
    >>> _ = Path("new.fasta").write_text(">first\nACGT\n>second\nGGTA\n")
    >>> new = read_sequences("new.fasta")
    >>> new.X, new.ids
    (['ACGT', 'GGTA'], ['first', 'second'])
    """
    known = [] if column is None or COUNTED.fullmatch(column) else [column]
    grid = open_table(path, format, header, known, delimiter)
    if grid == FASTA:
        records = read_fasta_table(path)
        return Features(records.sequences, ids=records.names)
    if not isinstance(grid, Grid):
        raise TableError(f"{fspath(path)} is in LIBSVM format, which holds numbers; a column of sequences is needed.")
    if len(grid.names) == 1 and column not in grid.positions:
        return Features(_sequences_in(grid, 0, [])[0])
    if column is None:
        raise TableError(f"{grid.file} has {len(grid.names)} columns; name the one of sequences.")
    place = grid.position(column)
    others = [name for name in grid.names if name != column]
    notes = [_left_aside([target], "which the model predicts")] if target in others else []
    unknown = [name for name in others if name != target]
    notes += [_left_aside(unknown, "which the model was not trained on")] if unknown else []
    return Features(_sequences_in(grid, place, [])[0], tuple(notes))


def _refuse_options(path: FilePath, what: str, options: Mapping[str, Any]) -> None:
    for option, value in options.items():
        if value not in (None, (), [], False):
            raise TableError(f"{fspath(path)} is in {what}; {option} is for other formats.")


def _train_on_fasta(path: FilePath, target: str | int | None, labelled: bool, group: str | None) -> Table:
    if isinstance(target, int):
        raise TableError(f"target must be a tag of the headers of {fspath(path)}, got {target!r}.")
    found = read_fasta_table(path)
    name: str | None = target
    notes: tuple[str, ...] = ()
    if labelled and name is None:
        name, notes = _guessed_tag(found.file, found.tags)
    y = labels_of(found.values(name)) if labelled and name is not None else None
    groups = None if group is None else np.array(found.values(group))
    return Table(found.sequences, y, ["sequence"], name, {}, notes, groups)


def _guessed_tag(file: str, tags: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    likely = [tag for tag in tags if tag.lower() in TARGET_NAMES]
    if len(likely) == 1:
        return likely[0], (f"The target is {likely[0]!r} in the headers, by its name.",)
    found = f"the tags found are {listed(tags)}" if tags else "no such tags were found"
    raise TableError(
        f"{file} has {'several tags' if likely else 'no tag'} in its headers that may be the target, such as "
        f"label=1; {found}; name one as target."
    )


def _train_on_sequences(
    grid: Grid,
    sequence: str,
    target: str | int | None,
    labelled: bool,
    encode: bool,
    ignore: Sequence[str],
    group: str | None,
) -> Table:
    if encode:
        raise TableError(f"encode is for columns that are features; the samples are those of column {sequence!r}.")
    roles = _roles(grid, target, labelled, ignore, {"sequence": sequence, "group": group})
    sequences, texts = _sequences_in(grid, grid.position(sequence), roles.labelling)
    others = [grid.names[column] for column in roles.others]
    notes = (_left_aside(others, "since the samples are sequences"),) if others else ()
    return roles.table(grid, sequences, [sequence], texts, notes=notes)


@dataclass(frozen=True)
class _Roles:
    """Columns by what they are for: the target and the groups, if there are any, and all that may be features."""

    target: int | None
    group: int | None
    others: list[int]
    notes: tuple[str, ...]

    @property
    def labelling(self) -> list[int]:
        """The target and the groups."""
        return [column for column in (self.target, self.group) if column is not None]

    def table(
        self,
        grid: Grid,
        X: FloatMatrix | list[str],
        names: list[str],
        texts: Sequence[list[str]],
        *,
        encoded: dict[str, tuple[str, ...]] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Table:
        """Put a table together; `texts` are those of :attr:`labelling`."""
        read = dict(zip(self.labelling, texts, strict=True))
        y = None if self.target is None else labels_of(read[self.target])
        groups = None if self.group is None else np.array(read[self.group])
        target = None if self.target is None else grid.names[self.target]
        return Table(X, y, names, target, encoded or {}, self.notes + notes, groups)


def _roles(
    grid: Grid, target: str | int | None, labelled: bool, ignore: Sequence[str], named: Mapping[str, str | None]
) -> _Roles:
    """Say what each column is for; `named` are those that options name."""
    reserved = _reserved(grid, named, ignore)
    kept = [column for column in range(len(grid.names)) if column not in reserved]
    wanted, notes = _target_of(grid, target, kept, reserved) if labelled else (None, ())
    group = named["group"]
    others = [column for column in kept if column != wanted]
    return _Roles(wanted, None if group is None else grid.position(group), others, notes)


def _reserved(grid: Grid, named: Mapping[str, str | None], ignore: Sequence[str]) -> dict[int, str]:
    """Return the columns that are neither feature nor target, and the options that say so; each is named once."""
    found = {grid.position(name): "ignore" for name in ignore}
    for option, name in named.items():
        if name is None:
            continue
        column = grid.position(name)
        if column in found:
            raise TableError(f"{option} and {found[column]} both name column {name!r}.")
        found[column] = option
    return found


def _sequences_in(grid: Grid, column: int, others: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Read a column of sequences, and others as text; refuse numbers, which are no sequences."""
    _, (sequences, *texts), lines = read_columns(grid, [], [column, *others])
    for line, text in zip(lines, sequences, strict=True):
        if is_number(text):
            raise grid.complaint(line, column, text, "a sequence of letters")
    return sequences, texts


def _train_on(
    grid: Grid, target: str | int | None, labelled: bool, encode: bool, ignore: Sequence[str], group: str | None
) -> Table:
    roles = _roles(grid, target, labelled, ignore, {"group": group})
    columns = roles.others
    if not columns:
        raise TableError(
            f"{grid.file} has no column left for a feature; fields must be separated by {DELIMITERS}, unless a "
            "delimiter is given."
        )
    nameless = sorted(grid.nameless.intersection([*columns, roles.target]))
    if nameless:
        raise TableError(
            f"{grid.file}: column {nameless[0] + 1} has no name in the header (a row index, perhaps); name it, or "
            f"leave it out (ignore it as {grid.names[nameless[0]]!r})."
        )
    text = text_columns(grid, columns) if encode else []
    numeric = [column for column in columns if column not in text]
    read = [*text, *roles.labelling]
    numbers, texts, _ = read_columns(grid, numeric, read, "" if encode else _ADVICE)
    texts, labelling = texts[: len(text)], texts[len(text) :]
    encoded = {grid.names[column]: _values(grid, column, found) for column, found in zip(text, texts, strict=True)}
    names = _feature_names(grid, columns, encoded)
    X = assembled(names, [grid.names[column] for column in numeric], numbers, encoded, texts)
    return roles.table(grid, X, names, labelling, encoded=encoded)


def _target_of(
    grid: Grid, target: str | int | None, kept: Sequence[int], reserved: Mapping[int, str]
) -> tuple[int, tuple[str, ...]]:
    if isinstance(target, str):
        column = grid.position(target)
    elif target is not None:
        width = len(grid.names)
        if isinstance(target, bool) or not isinstance(target, int) or not -width <= target < width:
            raise TableError(f"target must be a name, or a position from {-width} to {width - 1}, got {target!r}.")
        column = target % width
    else:
        return _guessed_target(grid, kept)
    if column in reserved:
        raise TableError(f"target and {reserved[column]} both name column {grid.names[column]!r}.")
    return column, ()


def _guessed_target(grid: Grid, kept: Sequence[int]) -> tuple[int, tuple[str, ...]]:
    if not kept:
        raise TableError(f"{grid.file} has no column left for the target.")
    likely = [column for column in kept if grid.names[column].lower() in TARGET_NAMES]
    if len(likely) > 1:
        names = listed([grid.names[column] for column in likely])
        raise TableError(f"{grid.file} has several columns that may be the target: {names}; name one as target.")
    column, why = (likely[0], "by its name") if likely else (kept[-1], "the last one")
    return column, (f"The target is column {grid.names[column]!r}, {why}.",)


def _values(grid: Grid, column: int, found: list[str]) -> tuple[str, ...]:
    values = sorted(set(found))
    if len(values) > MOST_VALUES:
        raise TableError(
            f"{grid.file}, column {grid.names[column]!r}: {len(values)} different values found, at most {MOST_VALUES} "
            "can be encoded (the option ignore leaves a column out)."
        )
    return tuple(values)


def _feature_names(grid: Grid, columns: Sequence[int], encoded: Values) -> list[str]:
    names: list[str] = []
    for name in (grid.names[column] for column in columns):
        names += [f"{name}={value}" for value in encoded[name]] if name in encoded else [name]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise TableError(f"{grid.file}: two columns would be named {repeated[0]!r}; rename the one that has this name.")
    return names


def _matching_columns(
    grid: Grid, raw: Sequence[str], read: Sequence[str], target: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Find those of the model's columns that are read, and say what becomes of columns that are not the model's."""
    if not have_names(raw):
        # Without a header the target was known by its number, which only counts if no column was left out in training.
        complete = {*raw, target} == set(counted_names(len(raw) + 1))
        in_order, notes = _columns_in_order(grid, len(raw), target if complete and not grid.has_header else None)
        found = dict(zip(raw, in_order, strict=True))
        return {name: found[name] for name in read}, notes
    if not grid.has_header:
        raise TableError(f"{grid.file} has no header, but the model finds its columns by name: {listed(read)}.")
    missing = [name for name in read if name not in grid.positions]
    if missing:
        raise TableError(
            f"{grid.file} lacks column{'s' if len(missing) > 1 else ''} {listed(missing)}, which the model reads; "
            f"its columns are {listed(grid.names)}."
        )
    expected = set(raw)
    extra = [name for name in grid.names if name not in expected]
    notes = ()
    if target in extra:
        extra.remove(target)
        notes += (_left_aside([target], "which the model predicts"),)
    if extra:
        notes += (_left_aside(extra, "which the model does not know"),)
    return {name: grid.position(name) for name in read}, notes


def _columns_in_order(grid: Grid, expected: int, target: str | None) -> tuple[list[int], tuple[str, ...]]:
    """Take all columns, but for one that is the target."""
    everything = list(range(len(grid.names)))
    if len(everything) == expected:
        return everything, ()
    likely = [name for name in grid.names if name == target or (target is None and name.lower() in TARGET_NAMES)]
    if len(everything) == expected + 1 and len(likely) == 1:
        everything.remove(grid.position(likely[0]))
        return everything, (_left_aside(likely, "which the model predicts"),)
    raise TableError(
        f"{grid.file} has {len(everything)} columns, but the model, which knows no names of columns, takes {expected}, "
        "in the order of its training."
    )


def _left_aside(names: Sequence[str], why: str) -> str:
    column, are = ("Column", "is") if len(names) == 1 else ("Columns", "are")
    return f"{column} {listed(names)}, {why}, {are} ignored."


def _predict_from(grid: Grid, columns: dict[str, int], names: Sequence[str], encoded: Values) -> FloatMatrix:
    numeric = [name for name in columns if name not in encoded]
    text = [columns[name] for name in encoded]
    numbers, texts, lines = read_columns(grid, [columns[name] for name in numeric], text)
    for (name, values), found in zip(encoded.items(), texts, strict=True):
        for line, value in zip(lines, found, strict=True):
            if value not in values:
                raise grid.complaint(line, columns[name], value, f"one of {listed(values)}")
    return assembled(names, numeric, numbers, encoded, texts)

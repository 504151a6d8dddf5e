"""Reading tables for the subcommands: one set of options, one way to say what was decided."""

import argparse
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from widemargin.cli.messages import note
from widemargin.cli.options import character
from widemargin.datasets import Table, read_features, read_table
from widemargin.datasets.tables import FORMATS, TARGET_NAMES
from widemargin.persistence.model_file import SavedModel


def add_table_options(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Declare the table and how to read it."""
    parser.add_argument(
        "table", type=Path, metavar="TABLE", help=f"{purpose}: a CSV, TSV or LIBSVM file, or one in .gz"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="what the table is (default: by the end of its name, else by its first lines)"
    )
    parser.add_argument(
        "--delimiter",
        type=character,
        metavar="CHARACTER",
        help="what stands between fields (default: the one of comma, semicolon and tab that splits the first lines)",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether its first line holds names (default: as its first two lines look)",
    )
    parser.add_argument("--zero-based", action="store_true", help="its features, in LIBSVM format, count from 0, not 1")


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a table to train on leaves open."""
    names = ", ".join(TARGET_NAMES[:-1])
    parser.add_argument(
        "--target",
        metavar="NAME",
        help=f"the column to predict (default: one named {names} or {TARGET_NAMES[-1]}, else the last)",
    )
    parser.add_argument(
        "--encode", action="store_true", help="turn columns of text into one column of zeros and ones a value"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="NAME", help="leave this column out; may be given repeatedly"
    )


def training_table(arguments: argparse.Namespace, *, labelled: bool = True) -> Table:
    """Read a table to train on, as the options of both functions above say."""
    table = read_table(
        arguments.table,
        target=arguments.target,
        labelled=labelled,
        format=arguments.format,
        delimiter=arguments.delimiter,
        header=arguments.header,
        encode=arguments.encode,
        ignore=arguments.ignore,
        zero_based=arguments.zero_based,
    )
    for sentence in table.notes:
        note(sentence)
    return table


def new_rows(arguments: argparse.Namespace, saved: SavedModel) -> Any:
    """Read the rows of a table that a model is to predict, with the model's columns in the model's order."""
    features = read_features(
        arguments.table,
        n_features=saved.n_features,
        names=saved.feature_names,
        encoded=saved.encoded,
        target=saved.target,
        format=arguments.format,
        delimiter=arguments.delimiter,
        header=arguments.header,
        zero_based=arguments.zero_based,
    )
    for sentence in features.notes:
        note(sentence)
    rows: Any = features.X
    steps = saved.model.steps if hasattr(saved.model, "steps") else [("", saved.model)]
    sparse_model = sp.issparse(steps[-1][1].support_vectors_)
    # A scaler that centres its columns takes no sparse rows, and a model of sparse rows was trained without one.
    return rows.toarray() if sp.issparse(rows) and not sparse_model else rows

"""Reading tables for the subcommands: the options, and notes about what was assumed."""

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
        "--format", choices=FORMATS, help="format of the table (default: by its name, else by its first lines)"
    )
    parser.add_argument(
        "--delimiter",
        type=character,
        metavar="CHARACTER",
        help="field delimiter (default: comma, semicolon or tab, whichever splits the first lines)",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line holds column names (default: guessed from the first two lines)",
    )
    parser.add_argument("--zero-based", action="store_true", help="LIBSVM features are numbered from 0 instead of 1")


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a table to train on."""
    names = ", ".join(TARGET_NAMES[:-1])
    parser.add_argument(
        "--target",
        metavar="NAME",
        help=f"the column to predict (default: one named {names} or {TARGET_NAMES[-1]}, else the last)",
    )
    parser.add_argument("--encode", action="store_true", help="one-hot encode text columns")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="NAME", help="leave this column out; may be given repeatedly"
    )


def _layout(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in ("format", "delimiter", "header", "zero_based")}


def training_table(arguments: argparse.Namespace, *, labelled: bool = True) -> Table:
    """Read a table to train on, as the options of both functions above say."""
    table = read_table(
        arguments.table,
        target=arguments.target,
        labelled=labelled,
        encode=arguments.encode,
        ignore=arguments.ignore,
        **_layout(arguments),
    )
    for sentence in table.notes:
        note(sentence)
    return table


def new_samples(arguments: argparse.Namespace, saved: SavedModel) -> Any:
    """Read the samples of a table that a model is to predict, with the columns in the model's order."""
    features = read_features(
        arguments.table,
        n_features=saved.n_features,
        names=saved.feature_names,
        encoded=saved.encoded,
        target=saved.target,
        **_layout(arguments),
    )
    for sentence in features.notes:
        note(sentence)
    X: Any = features.X
    steps = saved.model.steps if hasattr(saved.model, "steps") else [("", saved.model)]
    sparse_model = sp.issparse(steps[-1][1].support_vectors_)
    # A scaler that centres takes no sparse samples, and a model of sparse samples was trained without one.
    return X.toarray() if sp.issparse(X) and not sparse_model else X

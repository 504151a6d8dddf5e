"""Options of the subcommands: those of tables, and how values are read and refused."""

import argparse
from math import isfinite
from pathlib import Path
from typing import Any

from widemargin.datasets.tables import FORMATS

#: scikit-learn takes seeds of 32 bits.
LARGEST_SEED = 2**32 - 1


def n_jobs(text: str) -> int:
    """Read a number of threads."""
    if not text.removeprefix("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number other than 0, got {text!r}")
    return int(text)


def whole_number(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def fold_count(text: str) -> int:
    """Read a number of folds."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 2, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Read a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0.0):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return number


def penalty(text: str) -> float:
    """Read a penalty."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number >= 0.0):
        raise argparse.ArgumentTypeError(f"must be a number of at least 0, got {text!r}")
    return number


def origin(text: str) -> int | str:
    """Read the place that positions count from: a whole number, or a marker."""
    if not text:
        raise argparse.ArgumentTypeError("must be a whole number or a marker such as '|', got ''")
    return int(text) if text.removeprefix("-").isdecimal() else text


def character(text: str) -> str:
    """Read a single character."""
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}")
    return text


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    if not (text.isdecimal() and int(text) <= LARGEST_SEED):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {LARGEST_SEED}, got {text!r}")
    return int(text)


def add_table_options(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Declare the table and how to read it."""
    parser.add_argument(
        "table",
        type=Path,
        metavar="TABLE",
        help=f"{purpose}: a CSV, TSV, LIBSVM or FASTA file, or one in .gz",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="format of the table (default: by its name, else by its first lines)"
    )
    parser.add_argument(
        "--delimiter",
        type=character,
        metavar="CHARACTER",
        help="field delimiter (default: comma, semicolon, tab or |, whichever splits the first lines)",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line holds column names (default: guessed from the first two lines)",
    )
    parser.add_argument("--zero-based", action="store_true", help="LIBSVM features are numbered from 0 instead of 1")


def layout_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how to read the table, as readers of tables take it."""
    return {name: getattr(arguments, name) for name in ("format", "delimiter", "header", "zero_based")}

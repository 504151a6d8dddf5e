"""``widemargin select`` for sequences, and for samples that belong together: options, FASTA files of classes, facts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.messages import MISUSED, CommandError
from widemargin.cli.options import origin
from widemargin.datasets import Table, read_table
from widemargin.datasets.recognise import FASTA, open_table
from widemargin.datasets.text_file import uncompressed
from widemargin.model_selection.selection import is_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "others",
        type=Path,
        nargs="*",
        default=[],  # without one, argparse calls the argument required
        metavar="FASTA",
        help="further FASTA files: each holds the sequences of one class",
    )
    parser.add_argument(
        "--sequence", metavar="NAME", help="the samples are the strings of this column, such as DNA or proteins"
    )
    parser.add_argument(
        "--origin",
        type=origin,
        default=0,
        metavar="PLACE",
        help="with sequences: the place that positions count from: a number from 0 on, one below 0 from the end, or a "
        "marker in every sequence (default: 0)",
    )
    parser.add_argument(
        "--group",
        metavar="NAME",
        help="a column (in FASTA files, a tag NAME=... of the headers) of names of groups (genes, patients), of which "
        "none is on both sides of a split",
    )


def require_together(arguments: argparse.Namespace, table: Table) -> None:
    """Refuse options that do not go together."""
    if arguments.origin != 0 and not is_text(table.X):
        raise CommandError("--origin goes with sequences only", MISUSED)
    if arguments.compact and (is_text(table.X) or table.groups is not None):
        what = "sequences, which have no features to leave out" if is_text(table.X) else "--group"
        raise CommandError(f"--compact does not go with {what}", MISUSED)


def require_groups(groups: Any, folds: int) -> None:
    """Refuse more folds than there are groups."""
    number = folds if groups is None else len(np.unique(groups))
    if number < folds:
        raise CommandError(f"--cv must be from 2 to {number}, the number of groups; got {folds}")


def classes_of_files(arguments: argparse.Namespace) -> Table:
    """Read FASTA files that hold the sequences of one class each, which is called as its file."""
    for option in ("target", "sequence", "group", "ignore", "encode"):
        if getattr(arguments, option):
            raise CommandError(f"--{option} does not go with several files, each of which is a class", MISUSED)
    paths = [arguments.table, *arguments.others]
    names = [uncompressed(path).stem for path in paths]
    for name, path in zip(names, paths, strict=True):
        if names.count(name) > 1:
            raise CommandError(f"several files are called {name}, which is to be the name of a class; rename one")
        if open_table(path, arguments.format, None, []) != FASTA:
            raise CommandError(f"{path} is no FASTA file; of other tables there can be one only", MISUSED)
    found = [read_table(path, labelled=False, format=FASTA).X for path in paths]
    y = np.repeat(names, [len(texts) for texts in found])
    return Table([text for texts in found for text in texts], y, ["sequence"], "class")


def counted_samples(table: Table) -> str:
    """Say how many samples there are, of how many features or letters, in how many groups.

    Examples
    --------
    >>> counted_samples(Table(["ACGT", "AC"], None, ["sequence"], None, groups=np.array(["a", "a"])))
    '2 sequences of 2 to 4 letters in 1 group'
    """
    if is_text(table.X):
        lengths = [len(text) for text in table.X]
        least, most = min(lengths), max(lengths)
        found = f"{len(lengths):,} sequences of {least if least == most else f'{least} to {most}'} letters"
    else:
        found = f"{table.X.shape[0]:,} samples, {table.X.shape[1]:,} features"
    if table.groups is None:
        return found
    groups = len(np.unique(table.groups))
    return f"{found} in {groups:,} group{'' if groups == 1 else 's'}"

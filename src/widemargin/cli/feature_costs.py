"""What features cost to obtain, as ``widemargin select --compact`` is told: in options, or in a file."""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from widemargin.cli.messages import MISUSED, CommandError
from widemargin.datasets import Table
from widemargin.datasets.delimited import counted_names, is_missing, is_number, listed

#: The cost of features that nothing is said of.
USUAL = 1.0


def named_cost(text: str) -> tuple[str, float]:
    """Read ``NAME=COST``; names may hold ``=`` themselves.

    Examples
    --------
    >>> named_cost("colour=blue=2.5")
    ('colour=blue', 2.5)
    """
    name, found, cost = text.rpartition("=")
    number = _number(cost)
    if not (found and name.strip()) or number is None:
        raise argparse.ArgumentTypeError(f"must be NAME=COST with a number above 0, got {text!r}")
    return name.strip(), number


def feature_names(table: Table) -> list[str]:
    """Return the names of features, numbers where a table has none."""
    return counted_names(table.X.shape[1]) if table.names is None else list(table.names)


def feature_costs(given: list[tuple[str, float]], path: Path | None, table: Table) -> NDArray[np.float64] | None:
    """Return what each feature costs; None if nobody says.

    Parameters
    ----------
    given : list of pairs
        Names and costs, which override those of the file.
    path : Path or None
        A CSV file with a name and a cost in each line, after a heading perhaps.
    table : Table
        The name of an encoded column stands for each of its features that is not named itself: all have the whole
        cost, so that two of them cost twice as much.
    """
    if not given and path is None:
        return None
    repeated = [name for name, times in Counter(name for name, _ in given).items() if times > 1]
    if repeated:
        raise CommandError(f"--cost names {listed(repeated, 3)} more than once; give each feature one cost", MISUSED)
    names = feature_names(table)
    places = {name: [number] for number, name in enumerate(names)}
    columns = {column: [places[f"{column}={value}"][0] for value in values] for column, values in table.encoded.items()}
    costs = np.full(len(names), USUAL)
    for where, own in (("--costs", [] if path is None else _lines(path, {*places, *columns})), ("--cost", given)):
        unknown = [name for name, _ in own if name not in places and name not in columns]
        if unknown:
            encoded = f", the encoded columns {listed(list(columns))}" if columns else ""
            raise CommandError(f"{where} names {listed(unknown, 3)}; the features are {listed(names)}{encoded}")
        for known in (columns, places):
            for name, cost in own:
                costs[known.get(name, [])] = cost
    return costs


def _lines(path: Path, known: set[str]) -> list[tuple[str, float]]:
    """Read names and costs from a file; `known` names are no heading."""
    found: dict[str, float] = {}
    first = True
    for line, row in _rows(path):
        number = _number(row[1]) if len(row) == 2 else None
        if first and len(row) == 2 and row[0] not in known and not is_number(row[1]) and not is_missing(row[1]):
            first = False
            continue  # a heading
        first = False
        if number is None:
            raise CommandError(f"{path}, line {line}: expected a name and a number above 0, found {','.join(row)!r}")
        if row[0] in found:
            raise CommandError(f"{path}, line {line}: {row[0]!r} has a cost already")
        found[row[0]] = number
    return list(found.items())


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, with the numbers of their last lines."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise CommandError(f"{path} cannot be read as a CSV file ({problem})") from None
    return [(line, row) for line, row in rows if any(row)]


def _number(text: str) -> float | None:
    return float(text) if is_number(text) and float(text) > 0.0 else None

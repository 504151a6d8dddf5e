"""What features cost to obtain, as ``widemargin select --compact`` is told: in options, or in a file."""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from widemargin.cli.messages import CommandError
from widemargin.datasets import Table
from widemargin.datasets.delimited import listed

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
    if not (found and name) or number is None:
        raise argparse.ArgumentTypeError(f"must be NAME=COST with a number above 0, got {text!r}")
    return name, number


def feature_names(table: Table) -> list[str]:
    """Return the names of features, numbers where a table has none."""
    if table.names is None:
        return [f"column {number + 1}" for number in range(table.X.shape[1])]
    return list(table.names)


def feature_costs(given: list[tuple[str, float]], path: Path | None, table: Table) -> NDArray[np.float64] | None:
    """Return what each feature costs; None if nobody says.

    Parameters
    ----------
    given : list of pairs
        Names and costs, which rule those of the file out. An encoded column gives all its features their cost.
    path : Path or None
        A CSV file with a name and a cost in each line, after a heading perhaps.
    table : Table
    """
    if not given and path is None:
        return None
    places = {name: [number] for number, name in enumerate(feature_names(table))}
    for column, values in table.encoded.items():
        places.setdefault(column, [place for value in values for place in places[f"{column}={value}"]])
    costs = np.full(table.X.shape[1], USUAL)
    for where, own in (("--costs", [] if path is None else _lines(path)), ("--cost", given)):
        unknown = [name for name, _ in own if name not in places]
        if unknown:
            raise CommandError(f"{where} names {listed(unknown, 3)}; the features are {listed(list(places))}")
        for name, cost in own:
            costs[places[name]] = cost
    return costs


def _lines(path: Path) -> list[tuple[str, float]]:
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as problem:
        raise CommandError(f"{path} cannot be read as a CSV file ({problem})") from None
    found: dict[str, float] = {}
    for line, row in enumerate(rows, 1):
        if not row:
            continue
        number = _number(row[1]) if len(row) == 2 else None
        if number is None and line == 1 and len(row) == 2 and not _is_number(row[1]):
            continue  # a heading
        if number is None:
            raise CommandError(f"{path}, line {line}: expected a name and a number above 0, found {','.join(row)!r}")
        if row[0] in found:
            raise CommandError(f"{path}, line {line}: {row[0]!r} has a cost already")
        found[row[0]] = number
    return list(found.items())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float | None:
    number = float(text) if _is_number(text) else math.nan
    return number if 0.0 < number < math.inf else None

"""[Glasmachers2008, Table 8.1]: LASVM after one epoch, with both selections, and the batch model beside.

Judged: second order has fewer support vectors, and the larger dual objective, than the most violating pair, on each
data set. Shown: the rate on the test samples and the primal objective. After one epoch no intercept is that of an
optimum, and the primal objective of models with large C says little else. In print the numbers of support
vectors of banana and the chess board are swapped: the dual objective is at most C times their number. They are put
right here.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.lasvm.chapter_8 import (
    BATCH,
    EXPERIMENTS,
    MVP,
    SECOND_ORDER,
    SELECTIONS,
    TITLES,
    Experiment,
    Objectives,
    Partition,
    add_data_arguments,
    objectives,
    of_each,
)
from benchmarks.peers.table import render
from widemargin import SVC, OnlineSVC

SUMMARY = "Table 8.1: LASVM with two selections after one epoch, and the batch model"

#: By data set and algorithm, one for each partition.
Found = dict[str, dict[str, list[Objectives]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_arguments(parser)
    parser.add_argument("--partitions", type=int, help="of each data set (the thesis's: ten of banana and usps+n)")


def run(given: argparse.Namespace) -> None:
    """Print the table and the verdicts; the exit status is 1 if one of them fails."""
    print(SUMMARY)
    found = of_each(given, lambda one: measure(one, given.data, given.partitions or one.partitions))
    print(table(found))
    lines, held = verdicts(found)
    print("\n".join(lines))
    if not held:
        raise SystemExit(1)


def measure(experiment: Experiment, folder: Path | None, partitions: int) -> dict[str, list[Objectives]]:
    """Train on each partition with the two selections, for one epoch, and as a batch."""
    found: dict[str, list[Objectives]] = {SECOND_ORDER: [], MVP: [], BATCH: []}
    for number in range(partitions):
        part = experiment.build(folder, number)
        for algorithm, own in found.items():
            own.append(objectives(trained(experiment, algorithm, part), experiment.C, part))
    return found


def trained(experiment: Experiment, algorithm: str, part: Partition) -> SVC | OnlineSVC:
    """Train once; a single epoch presents the samples in the order of the partition."""
    if algorithm == BATCH:
        return SVC(C=experiment.C, gamma=experiment.gamma).fit(part.X, part.y)
    model = OnlineSVC(C=experiment.C, gamma=experiment.gamma, selection=algorithm)
    return model.partial_fit(part.X, part.y, classes=[-1, 1])


def mean(own: Sequence[Objectives]) -> Objectives:
    """Average over the partitions."""
    return Objectives(*np.mean(own, axis=0))


def table(found: Found) -> str:
    """Render the thesis's numbers beside ours."""
    header = ["data set", "partitions", "algorithm"]
    header += [cell for name in ("SVs", "rate", "primal", "dual") for cell in (name, "thesis")]
    rows = []
    for name, algorithms in found.items():
        for algorithm in (*SELECTIONS, BATCH):
            ours, printed = mean(algorithms[algorithm]), EXPERIMENTS[name].printed[algorithm]
            rows.append([name, str(len(algorithms[algorithm])), TITLES[algorithm]])
            for own, theirs, style in zip(ours, printed, (",.0f", ".2%", ",.0f", ",.0f"), strict=True):
                rows[-1] += [format(own, style), format(theirs, style)]
    return render(header, rows)


def verdicts(found: Found) -> tuple[list[str], bool]:
    """Say on which data sets second order is better in both respects, and whether it is on all."""
    lines, held = [], bool(found)
    for name, algorithms in found.items():
        better, worse = mean(algorithms[SECOND_ORDER]), mean(algorithms[MVP])
        for what, holds, numbers in (
            ("fewer support vectors", better.support < worse.support, (worse.support, better.support)),
            ("the larger dual objective", better.dual > worse.dual, (worse.dual, better.dual)),
        ):
            held = held and holds
            before, after = numbers
            lines.append(
                f"{'pass' if holds else 'FAIL'}: {name}: second order has {what}: {before:,.0f} to {after:,.0f}"
            )
    if not found:
        lines.append("FAIL: no data set was there to judge")
    return lines, held

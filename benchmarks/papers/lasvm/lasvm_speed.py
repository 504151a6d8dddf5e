"""Samples per second of LASVM against the number of samples that it keeps; the data sets of chapter 8, one thread.

The samples of one epoch arrive in batches, as many as `--batch` together; each batch is a point.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.lasvm.chapter_8 import Experiment, Partition, add_data_arguments, of_each
from benchmarks.peers.table import render
from widemargin import OnlineSVC

SUMMARY = "Samples per second of LASVM against the samples that it keeps"
BATCH = 250
COLOURS = ("#2a78d6", "#d97a1e", "#3c9a5f", "#8a8a84")


class Speed(NamedTuple):
    """A batch: samples kept after it, and samples a second."""

    kept: int
    rate: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_arguments(parser)
    parser.add_argument("--batch", type=int, default=BATCH, help="samples that arrive together (%(default)s)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw a picture into this file")


def run(given: argparse.Namespace) -> None:
    """Print the first, the middle and the last batch, and draw all."""
    print(f"{SUMMARY}; batches of {given.batch}")
    found = of_each(given, lambda one: measure(one, one.build(given.data, 0), given.batch))
    print(table(found))
    if given.picture is not None and found:
        draw(found, given.picture)
        print(f"picture: {given.picture}")


def measure(experiment: Experiment, part: Partition, batch: int) -> list[Speed]:
    """Learn from all samples once."""
    model, speeds = OnlineSVC(C=experiment.C, gamma=experiment.gamma), []
    for begin in range(0, len(part.y), batch):
        own = slice(begin, begin + batch)
        began = time.perf_counter()
        model.partial_fit(part.X[own], part.y[own], classes=[-1, 1])
        seconds = time.perf_counter() - began
        speeds.append(Speed(len(model.kept_ids_), len(part.y[own]) / seconds))
    return speeds


def table(found: Mapping[str, Sequence[Speed]]) -> str:
    """Render the speed near some numbers of kept samples: medians over the batches of each tenth of an epoch."""
    rows = []
    for name, speeds in found.items():
        for tenth in (0, 4, 9):
            some = np.array_split(np.arange(len(speeds)), 10)[tenth] if len(speeds) >= 10 else [len(speeds) - 1]
            kept, rate = np.median([speeds[number] for number in some], axis=0)
            rows.append([name, f"{tenth + 1} of 10", f"{kept:,.0f}", f"{rate:,.0f}"])
    return render(["data set", "part of the epoch", "kept", "samples / s"], rows)


def draw(found: Mapping[str, Sequence[Speed]], target: Path) -> None:
    """Draw a point for each batch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for colour, (name, speeds) in zip(COLOURS, found.items(), strict=False):
        kept, rate = np.array(speeds).T
        axes.plot(kept, rate, "o", markersize=3.5, color=colour, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("samples kept")
    axes.set_ylabel("samples a second")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(target, dpi=130)

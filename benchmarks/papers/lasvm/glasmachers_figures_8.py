"""[Glasmachers2008, Figures 8.1 and 8.2]: LASVM over many epochs, and how its time depends on the cache.

Figure 8.1: primal and dual objective after each epoch, with both selections; the optimum of the batch model is a line.
Figure 8.2: seconds of one epoch for caches of different sizes, of kernel values among kept samples, beside the batch
model's solver with the same cache; one thread.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.papers.lasvm.chapter_8 import (
    BATCH,
    MVP,
    SECOND_ORDER,
    SELECTIONS,
    TITLES,
    Experiment,
    Partition,
    add_data_arguments,
    dual_objective,
    of_each,
)
from benchmarks.peers.table import render
from widemargin import SVC, OnlineSVC, _core
from widemargin.kernels.rows import kernel_matrix, row_source, take

SUMMARY = "Figures 8.1 and 8.2: objectives along many epochs, and the time of one by the size of the cache"
COLOURS = {MVP: "#d97a1e", SECOND_ORDER: "#2a78d6", BATCH: "#8a8a84"}
EPOCHS = 10
MEGABYTES = (1, 4, 16, 64, 256)
AT_ONCE = 2_000


class Epoch(NamedTuple):
    """What a pass leaves."""

    support: int
    primal: float
    dual: float


class Courses(NamedTuple):
    """By selection, the epochs; and the optimal objective, that of the batch model."""

    epochs: Mapping[str, Sequence[Epoch]]
    optimum: float


#: By data set and algorithm, the seconds for each size of the cache.
Times = Mapping[str, Mapping[str, Sequence[float]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_arguments(parser)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="(%(default)s; the thesis: 50)")
    parser.add_argument(
        "--caches",
        type=lambda text: [float(one) for one in text.split(",")],
        default=MEGABYTES,
        help="megabytes, comma-separated (1, 4, 16, 64, 256)",
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="of each time, of which the median is taken (%(default)s)"
    )
    parser.add_argument("--epochs-picture", type=Path, metavar="FILE", help="draw Figure 8.1 into this file")
    parser.add_argument("--cache-picture", type=Path, metavar="FILE", help="draw Figure 8.2 into this file")


def run(given: argparse.Namespace) -> None:
    """Print and draw both figures; the one without a picture is left out if the other has one."""
    print(SUMMARY)
    both = given.epochs_picture is None and given.cache_picture is None
    if both or given.epochs_picture is not None:
        epochs = of_each(given, lambda one: along_epochs(one, one.build(given.data, 0), given.epochs))
        print(f"\n{table_of_epochs(epochs)}")
        if given.epochs_picture is not None and epochs:
            draw_epochs(epochs, given.epochs_picture)
            print(f"\nFigure 8.1: {given.epochs_picture}")
    if both or given.cache_picture is not None:
        times = of_each(given, lambda one: by_cache(one, one.build(given.data, 0), given.caches, given.repeats))
        print(f"\n{table_of_times(times, given.caches)}")
        if given.cache_picture is not None and times:
            draw_times(times, given.caches, given.cache_picture)
            print(f"\nFigure 8.2: {given.cache_picture}")


def along_epochs(experiment: Experiment, part: Partition, epochs: int) -> Courses:
    """Follow both selections, and compute the optimum."""
    batch = SVC(C=experiment.C, gamma=experiment.gamma).fit(part.X, part.y)
    return Courses({which: follow(experiment, which, part, epochs) for which in SELECTIONS}, dual_objective(batch))


def follow(experiment: Experiment, selection: str, part: Partition, epochs: int) -> list[Epoch]:
    """Present all samples to one machine, again and again in the same order, and measure after each time.

    An estimator takes samples that come again for others, in `partial_fit`, or measures only at the end, in `fit`; so
    this is the machine below it.
    """
    rows = row_source(part.X, gamma=experiment.gamma)
    machine = _core.OnlineMachine(2, False)
    rules = _core.OnlineRules(selection, 1e-3, 0, 2**30, 1)
    everyone = np.arange(len(part.y), dtype=np.int32)
    labels, bounds = np.where(part.y > 0, 0, 1).astype(np.int32), np.full(len(part.y), experiment.C)
    found = []
    for _ in range(epochs):
        machine.learn(rows, machine.samples(), everyone, labels, bounds, rules)
        found.append(measure(machine, experiment, part))
    return found


def measure(machine: _core.OnlineMachine, experiment: Experiment, part: Partition) -> Epoch:
    """Compute both objectives over all samples."""
    [a], [certificate] = machine.alpha(), machine.certificates()
    _, _, dual, intercept = certificate.tolist()
    used = np.flatnonzero(a)
    vectors, slack = take(part.X, machine.samples()[used]), 0.0
    for begin in range(0, len(part.y), AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        values = kernel_matrix(vectors, part.X[some], gamma=experiment.gamma).T @ a[used] + intercept
        slack += float(np.maximum(0.0, 1.0 - part.y[some] * values).sum())
    return Epoch(len(used), float(np.abs(a).sum()) - dual + experiment.C * slack, dual)


def by_cache(experiment: Experiment, part: Partition, caches: Sequence[float], repeats: int) -> dict[str, list[float]]:
    """Time one epoch with each selection, and the batch model, one after the other for each cache."""
    found: dict[str, list[float]] = {name: [] for name in (*SELECTIONS, BATCH)}
    for megabytes in caches:
        runs: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(repeats):
            for name, own in runs.items():
                began = time.perf_counter()
                same = {"C": experiment.C, "gamma": experiment.gamma, "cache_size": megabytes}
                if name == BATCH:
                    SVC(solver="smo", **same).fit(part.X, part.y)
                else:
                    OnlineSVC(selection=name, **same).partial_fit(part.X, part.y, classes=[-1, 1])
                own.append(time.perf_counter() - began)
        for name, own in runs.items():
            found[name].append(median(own))
    return found


def table_of_epochs(found: Mapping[str, Courses]) -> str:
    """Render the first epoch and the last of each course."""
    header = ["data set", "selection", "epoch", "SVs", "primal", "dual", "optimum"]
    rows = [
        [
            name,
            TITLES[which],
            str(number),
            f"{at.support:,}",
            f"{at.primal:,.0f}",
            f"{at.dual:,.0f}",
            f"{own.optimum:,.0f}",
        ]
        for name, own in found.items()
        for which, course in own.epochs.items()
        for number, at in ((1, course[0]), (len(course), course[-1]))
    ]
    return render(header, rows)


def table_of_times(times: Times, caches: Sequence[float]) -> str:
    """Render seconds by the size of the cache."""
    header = ["data set", "algorithm", *(f"{megabytes:g} MB" for megabytes in caches)]
    rows = [
        [name, TITLES[which], *(f"{seconds:.2f}" for seconds in line)]
        for name, own in times.items()
        for which, line in own.items()
    ]
    return render(header, rows)


def draw_epochs(found: Mapping[str, Courses], target: Path) -> None:
    """Draw Figure 8.1: a panel for each data set, both objectives in units of the optimum."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    figure = Figure(figsize=(3.4 * len(found) + 0.4, 3.6), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for panel, (name, own) in zip(panels, found.items(), strict=True):
        for which, course in own.epochs.items():
            at = range(1, len(course) + 1)
            for objective, style in (("primal", "--"), ("dual", "-")):
                line = [getattr(epoch, objective) / own.optimum for epoch in course]
                label = f"{TITLES[which]}, {objective}"
                panel.plot(at, line, style, color=COLOURS[which], marker="o", markersize=2.5, label=label)
        panel.axhline(1.0, color=COLOURS[BATCH], linewidth=0.8)
        panel.set_title(name)
        panel.set_xlabel("epochs")
        panel.set_yscale("log")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.yaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if max(panel.get_ylim()) > 2 else (1.0, 1.1, 1.2))
        )
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("objective / optimum")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(target, dpi=130)


def draw_times(times: Times, caches: Sequence[float], target: Path) -> None:
    """Draw Figure 8.2: a panel for each data set."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(3.4 * len(times) + 0.4, 3.4), layout="constrained")
    panels = figure.subplots(1, len(times), squeeze=False)[0]
    for panel, (name, own) in zip(panels, times.items(), strict=True):
        for which, line in own.items():
            title = "SVC with SMO" if which == BATCH else f"one epoch, {TITLES[which]}"
            panel.plot(caches, line, color=COLOURS[which], marker="o", markersize=3, label=title)
        panel.set_xscale("log")
        panel.set_xticks(caches, [f"{megabytes:g}" for megabytes in caches])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title(name)
        panel.set_xlabel("cache in megabytes")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, dpi=130)

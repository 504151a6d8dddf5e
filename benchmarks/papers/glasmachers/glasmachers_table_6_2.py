"""[Glasmachers2008, Table 6.2]: three working-set selections with a cache of 1 % of the kernel matrix.

The thesis gave everybody 40 MB: 47 % of the kernel of the spam data, 1.1 % of connect-4. Here the cache is 1 % of both.
Its maximum-gain stops on the step size; here every selection stops on the same KKT violation.
"""

import argparse

from benchmarks.papers.glasmachers.selections import (
    CLEARLY,
    CONNECT4,
    SELECTIONS,
    SPAM,
    Counts,
    Experiment,
    compare,
    evaluations_ratio,
    load,
)
from benchmarks.papers.glasmachers.selections import add_arguments as add_shared_arguments
from benchmarks.peers.table import render

SUMMARY = "Table 6.2: kernel evaluations of three selections with a small cache"
CACHE_FRACTION = 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_shared_arguments(parser, permutations=3)


def run(given: argparse.Namespace) -> None:
    """Print the table and the verdict."""
    print(f"{SUMMARY}; median over {given.permutations} permutations, cache {CACHE_FRACTION:.0%} of the kernel matrix")
    verdicts = []
    for experiment in (SPAM, CONNECT4):
        try:
            data = load(experiment, given)
        except FileNotFoundError as missing:
            print(f"{experiment.name}: skipped. {missing}")
            continue
        counts = compare(experiment, data, CACHE_FRACTION, given)
        n, features = data[0].shape
        print(f"\n{experiment.name}: {n:,} x {features}, C = {experiment.C:g}, gamma = {experiment.gamma:.4g}")
        print(table(experiment, counts))
        verdicts.append(verdict(experiment, counts))
    print("\n" + "\n".join(verdicts))


def table(experiment: Experiment, counts: dict[str, Counts]) -> str:
    """Render one data set."""
    rows = []
    for selection, iterations, seconds in zip(
        SELECTIONS, experiment.thesis_iterations, experiment.thesis_seconds, strict=True
    ):
        found = counts[selection]
        cells = [f"{found.kernel_rows:,.0f}", f"{found.iterations:,.0f}", f"{iterations:,}"]
        rows.append([selection, *cells, f"{found.seconds:.2f}", f"{seconds:g}", f"{found.objective:.3f}"])
    header = ["selection", "kernel rows", "iterations", "thesis", "seconds", "thesis", "dual objective"]
    return render(header, rows)


def verdict(experiment: Experiment, counts: dict[str, Counts]) -> str:
    """Say whether maximum-gain evaluates clearly fewer kernel values than second-order selection."""
    ratio = evaluations_ratio(counts)
    word = "yes" if ratio <= CLEARLY else "no"
    return (
        f"{experiment.name}: direction reproduced: {word} (maximum-gain evaluates {ratio:.2f} of the kernel values of"
        f" second-order; {CLEARLY:g} or less counts)"
    )

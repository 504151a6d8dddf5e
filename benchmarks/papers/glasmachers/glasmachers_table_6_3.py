"""[Glasmachers2008, Table 6.3]: the three selections on connect-4 while the cache grows.

The caches are the thesis's 20, 40, 100 and 200 MB as fractions of its kernel matrix, so that fewer rows see the same
regime. Its measure is time; kernel evaluations are what the cache saves, and do not depend on the computer.
"""

import argparse

from benchmarks.papers.glasmachers.selections import (
    CLEARLY,
    CONNECT4,
    SELECTIONS,
    Counts,
    compare,
    evaluations_ratio,
    load,
)
from benchmarks.papers.glasmachers.selections import add_arguments as add_shared_arguments
from benchmarks.peers.table import render

SUMMARY = "Table 6.3: kernel evaluations of three selections on connect-4 over the cache size"
CACHE_FRACTIONS = (0.0056, 0.0112, 0.028, 0.056)
THESIS_SECONDS = {
    0.0056: (958, 766, 656),
    0.0112: (916, 734, 633),
    0.028: (758, 649, 583),
    0.056: (603, 547, 555),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_shared_arguments(parser, permutations=1)


def run(given: argparse.Namespace) -> None:
    """Print the table and the verdict."""
    try:
        data = load(CONNECT4, given)
    except FileNotFoundError as missing:
        print(f"{CONNECT4.name}: skipped. {missing}")
        return
    n, features = data[0].shape
    print(f"{SUMMARY}; median over {given.permutations} permutations")
    print(f"\n{n:,} x {features}, C = {CONNECT4.C:g}, gamma = {CONNECT4.gamma:.4g}")
    counts = {fraction: compare(CONNECT4, data, fraction, given) for fraction in CACHE_FRACTIONS}
    print(table(counts))
    print("\n" + verdict(counts))


def table(counts: dict[float, dict[str, Counts]]) -> str:
    """Render kernel rows and seconds of every selection, and the thesis's seconds."""
    rows = []
    for fraction, found in counts.items():
        cells = [f"{found[selection].kernel_rows:,.0f}" for selection in SELECTIONS]
        cells += [f"{evaluations_ratio(found):.3f}"]
        cells += [f"{found[selection].seconds:.2f}" for selection in SELECTIONS]
        rows.append([f"{fraction:.2%}", *cells, *(f"{seconds} s" for seconds in THESIS_SECONDS[fraction])])
    header = ["cache", "MVP rows", "SO rows", "MG rows", "MG / SO", "MVP s", "SO s", "MG s", "thesis MVP", "SO", "MG"]
    return render(header, rows)


def verdict(counts: dict[float, dict[str, Counts]]) -> str:
    """Say whether maximum-gain wins with the smallest cache and second-order catches up with the largest."""
    ratios = [evaluations_ratio(found) for found in counts.values()]
    word = "yes" if ratios[0] <= CLEARLY and ratios[-1] > ratios[0] else "no"
    return (
        f"direction reproduced: {word} (kernel values of maximum-gain over second-order: {ratios[0]:.2f} with the"
        f" smallest cache, {ratios[-1]:.2f} with the largest)"
    )

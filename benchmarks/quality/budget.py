"""A budget of kept samples beside a window of as many: is choosing who stays at least as good as plain forgetting?

Streams come in batches of 50. Models of public sets are tested on held-out samples, at every tenth of the second half
of the stream; where a stream drifts, on each batch before it is learnt from. Numbers are mean accuracies over seeds.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.__main__ import names, positive
from benchmarks.peers.table import render
from benchmarks.quality.streams import SAMPLES, STREAMS, Stream
from widemargin import OnlineSVC

SUMMARY = "OnlineSVC(budget=B) beside OnlineSVC(window=B) on streams"
BUDGETS = (50, 100, 200, 400)
BEHIND = 0.01  # what a budget may lose against the window of its size, on any stream
BATCH = 50

#: Accuracies, one for each seed, by model: "majority", "all", or "window" or "budget" with its size.
Found = Mapping[tuple[str, int], Sequence[float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--streams", type=names("stream", STREAMS), default=tuple(STREAMS), help=", ".join(STREAMS))
    parser.add_argument("--budgets", type=sizes, default=BUDGETS, help="comma-separated numbers of samples")
    parser.add_argument("--seeds", type=positive(int), default=5, help="(%(default)s)")
    parser.add_argument("--samples", type=positive(int), default=SAMPLES, help="of each stream (%(default)s)")
    parser.add_argument("--C", type=positive(float), default=10.0, help="(%(default)s)")


def sizes(text: str) -> tuple[int, ...]:
    """Read comma-separated numbers of samples."""
    return tuple(positive(int)(word) for word in text.split(","))


def run(given: argparse.Namespace) -> None:
    """Print the accuracies and the verdicts; the exit status is 1 if one of them fails."""
    print(f"{SUMMARY}: mean accuracies of {given.seeds} seeds, C = {given.C:g}")
    found = {}
    for name in given.streams:
        try:
            drawn = [STREAMS[name](given.data, given.samples, seed) for seed in range(given.seeds)]
        except FileNotFoundError as missing:
            print(f"{name}: skipped. {missing}")
            continue
        found[name] = measure(drawn, given.budgets, given.C)
        print(f"{name}: done", flush=True)
    if not found:
        return
    print(table(found, given.budgets))
    lines, held = verdicts(found, given.budgets)
    print("\n".join(lines))
    if not held:
        raise SystemExit(1)


def measure(drawn: Sequence[Stream], budgets: Sequence[int], C: float) -> dict[tuple[str, int], list[float]]:
    """Follow the stream of each seed with all models."""
    found: dict[tuple[str, int], list[float]] = {}
    for stream in drawn:
        limits: dict[tuple[str, int], dict[str, int]] = {("all", 0): {}}
        limits |= {(way, size): {way: size} for size in budgets for way in ("window", "budget")}
        found.setdefault(("majority", 0), []).append(majority(stream))
        for entry, limit in limits.items():
            model = OnlineSVC(C=C, gamma=stream.gamma, n_jobs=1, **limit)
            found.setdefault(entry, []).append(follow(model, stream))
    return found


def majority(stream: Stream) -> float:
    """Return the share of the largest class."""
    return float(np.unique(stream.y, return_counts=True)[1].max() / len(stream.y))


def follow(model: OnlineSVC, stream: Stream) -> float:
    """Learn from all batches; return the mean accuracy along the way."""
    n, accuracies = len(stream.y), []
    tests = {BATCH * round(share * n / BATCH) for share in (0.5, 0.6, 0.7, 0.8, 0.9)}
    for begin in range(0, n, BATCH):
        X, y = stream.X[begin : begin + BATCH], stream.y[begin : begin + BATCH]
        if stream.X_test is None and begin >= n / 8:
            accuracies.append(model.score(X, y))
        elif begin in tests:
            accuracies.append(model.score(stream.X_test, stream.y_test))
        model.partial_fit(X, y, classes=stream.classes)
    if stream.X_test is not None:
        accuracies.append(model.score(stream.X_test, stream.y_test))
    return float(np.mean(accuracies))


def gain(found: Found, size: int) -> float:
    """Return by how much the budget is better than the window."""
    return float(np.mean(found["budget", size]) - np.mean(found["window", size]))


def table(found: Mapping[str, Found], budgets: Sequence[int]) -> str:
    """Render a row for each stream: window and budget of each size."""
    header = ["stream", "majority", "all", *(f"{way} {size}" for size in budgets for way in ("window", "budget"))]
    rows = []
    for name, own in found.items():
        entries = [("majority", 0), ("all", 0), *((way, size) for size in budgets for way in ("window", "budget"))]
        rows.append([name, *(f"{np.mean(own[entry]):.3f}" for entry in entries)])
    return render(header, rows)


def verdicts(found: Mapping[str, Found], budgets: Sequence[int]) -> tuple[list[str], bool]:
    """Say of each size whether the budget is at least as good on the whole, and nowhere behind by too much."""
    lines, held = [], True
    for size in budgets:
        gains = {name: gain(own, size) for name, own in found.items()}
        mean, worst = float(np.mean(list(gains.values()))), min(gains, key=lambda name: gains[name])
        holds = mean >= 0 and gains[worst] >= -BEHIND
        held = held and holds
        lines.append(
            f"{'pass' if holds else 'FAIL'}: {size} samples: better by {mean:.3f} in the mean (at least 0), by "
            f"{gains[worst]:.3f} on {worst} (at least {-BEHIND:g})"
        )
    return lines, held

"""Active learning with LASVM [Bordes2005, section 4; Glasmachers2008, section 8.1]: which samples are worth a label.

Banana, C = 10, gamma = 1: after five samples of each class, the model asks for one label at a time, of the sample
nearest to its decision boundary among 50 that are drawn at random. A pass over samples as they come is the
comparison. Judged is the model as the pass leaves it, at 200 and 400 labels; beside it, that after `finish()`.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.lasvm.chapter_8 import EXPERIMENTS
from benchmarks.peers.table import render
from widemargin import OnlineSVC

SUMMARY = "Active learning on banana: labels of samples near the boundary, or of any"
C, GAMMA = 10.0, 1.0
LABELS = (200, 400)
SEEDS = 20
BAR = 0.008


class Errors(NamedTuple):
    """Test errors of a pass, and of its model after `finish()`."""

    passed: float
    finished: float


#: By way of choosing and number of labels, one for each seed.
Found = Mapping[tuple[str, int], Sequence[Errors]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="(%(default)s)")


def run(given: argparse.Namespace) -> None:
    """Print the errors and the verdicts; the exit status is 1 if one of them fails."""
    print(f"{SUMMARY}; mean of {given.seeds} seeds, C = {C:g}, gamma = {GAMMA:g}")
    try:
        found = measure(given.data, given.seeds)
    except FileNotFoundError as missing:
        print(f"skipped. {missing}")
        return
    print(table(found))
    lines, held = verdicts(found)
    print("\n".join(lines))
    if not held:
        raise SystemExit(1)


def measure(folder: Path | None, seeds: int) -> dict[tuple[str, int], list[Errors]]:
    """Train on a part of each partition's samples, chosen in both ways."""
    found: dict[tuple[str, int], list[Errors]] = {(way, n): [] for n in LABELS for way in ("any", "near")}
    for seed in range(seeds):
        part = EXPERIMENTS["banana"].build(folder, seed)
        for (way, n), own in found.items():
            model = OnlineSVC(C=C, gamma=GAMMA)
            if way == "near":
                model.set_params(active=True, max_labels=n, finishing=False, random_state=seed).fit(part.X, part.y)
            else:
                model.partial_fit(part.X[:n], part.y[:n], classes=[-1, 1])
            passed = 1.0 - model.score(part.X_test, part.y_test)
            own.append(Errors(passed, 1.0 - model.finish().score(part.X_test, part.y_test)))
    return found


def means(found: Found, way: str, n: int) -> Errors:
    """Average over the seeds."""
    return Errors(*np.mean(found[way, n], axis=0))


def table(found: Found) -> str:
    """Render a row for each number of labels."""
    header = ["labels", "any: error", "finished", "near: error", "finished", "better by", "+-", "finished", "+-"]
    rows = []
    for n in LABELS:
        cells = [str(n)]
        cells += [f"{error:.4f}" for way in ("any", "near") for error in means(found, way, n)]
        gained = np.subtract(found["any", n], found["near", n])
        spread = gained.std(axis=0, ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.full(2, np.nan)
        for own, deviation in zip(gained.mean(axis=0), spread, strict=True):
            cells += [f"{own:.4f}", f"{deviation:.4f}"]
        rows.append(cells)
    return render(header, rows)


def verdicts(found: Found) -> tuple[list[str], bool]:
    """Say where samples near the boundary are worth more than any, by as much as is asked for."""
    lines, held = [], True
    for n in LABELS:
        gained = means(found, "any", n).passed - means(found, "near", n).passed
        holds = gained >= BAR
        held = held and holds
        lines.append(f"{'pass' if holds else 'FAIL'}: {n} labels: better by {gained:.4f}, asked for {BAR:g}")
    return lines, held

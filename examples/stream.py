"""A stream whose classes move: what a window of samples is worth, in one picture.

Run it from anywhere: ``python examples/stream.py --picture stream.png``.

Two crescents turn around each other, once in 4,000 samples. Three models see every sample once, in batches of 50, and
are tested on each batch before they learn from it. The first remembers everything that is still a support vector; the
second forgets what came more than 400 samples ago; the third is allowed the same window, and 40 samples of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons

from widemargin import OnlineSVC

SAMPLES, BATCH, TURN = 12_000, 50, 4_000
WINDOW, BUDGET = 400, 40
SMOOTHED = 10
COLOURS = {"all samples": "#b9b8b2", "window": "#2a78d6", "window and budget": "#d97a1e"}

Vector = npt.NDArray[np.float64]


def batches(samples: int, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield the stream: crescents that have turned a little further in every batch."""
    X, y = make_moons(samples, noise=0.2, random_state=seed)
    X = X - X.mean(axis=0)
    for begin in range(0, samples, BATCH):
        angle = 2 * np.pi * begin / TURN
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        yield X[begin : begin + BATCH] @ turn, y[begin : begin + BATCH]


def models() -> dict[str, OnlineSVC]:
    """Name the models that are compared."""
    return {
        "all samples": OnlineSVC(C=10.0, gamma=1.0),
        "window": OnlineSVC(C=10.0, gamma=1.0, window=WINDOW),
        "window and budget": OnlineSVC(C=10.0, gamma=1.0, window=WINDOW, budget=BUDGET),
    }


def follow(model: OnlineSVC, samples: int) -> tuple[Vector, npt.NDArray[np.intp]]:
    """Test on every batch, then learn from it; return errors, and how many samples are kept."""
    errors, kept = [], []
    for number, (X, y) in enumerate(batches(samples)):
        if number > 0:
            errors.append(1.0 - model.score(X, y))
        model.partial_fit(X, y, classes=[0, 1])
        kept.append(len(model.kept_ids_))
    return np.array(errors), np.array(kept)


def draw(found: dict[str, tuple[Vector, npt.NDArray[np.intp]]], target: Path) -> None:
    """Draw errors and kept samples along the stream."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, (errors, kept) in found.items():
        smooth = np.convolve(errors, np.ones(SMOOTHED) / SMOOTHED, mode="valid")
        at = BATCH * (np.arange(len(smooth)) + SMOOTHED)
        left.plot(at, smooth, color=COLOURS[name], linewidth=1.6, label=name)
        right.plot(BATCH * (1 + np.arange(len(kept))), kept, color=COLOURS[name], linewidth=1.6)
    left.set_ylabel(f"error on the last {BATCH * SMOOTHED} samples")
    right.set_ylabel("samples kept")
    for axes in (left, right):
        axes.set_xlabel("samples seen")
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylim(bottom=0.0)
    right.set_yscale("log")
    left.legend(frameon=False)
    figure.savefig(target, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    """Follow the stream with all models."""
    parser = argparse.ArgumentParser(description="a stream that drifts, with and without a window")
    parser.add_argument("--picture", type=Path, default=Path("stream.png"), help="(%(default)s)")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="(%(default)s)")
    given = parser.parse_args(arguments)
    found = {name: follow(model, given.samples) for name, model in models().items()}
    for name, (errors, kept) in found.items():
        print(f"{name + ':':20} error {errors.mean():.3f}, {kept[-1]:,} samples kept at the end")
    draw(found, given.picture)
    print(f"picture: {given.picture}")


if __name__ == "__main__":
    main()

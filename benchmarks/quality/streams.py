"""Streams of samples: public data sets in random order, with samples held out, and generated ones that drift."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.datasets import make_moons

from benchmarks.peers.problems import FloatMatrix, Labels, Split, standardised
from widemargin.datasets import load_npz

SAMPLES, HELD_OUT = 4_000, 2_000


@dataclass(frozen=True)
class Stream:
    """Samples in the order in which they come; those held out are of the same distribution, or none where it drifts."""

    X: FloatMatrix
    y: Labels
    gamma: float
    classes: Labels
    X_test: FloatMatrix | None = None
    y_test: Labels | None = None


Build = Callable[[Path | None, int, int], Stream]  # of the folder of data, the number of samples and the seed


def public(name: str, folder: Path | None, samples: int, seed: int, *, scaled: bool, positive: Any = None) -> Stream:
    """Return a stored set in random order; numbers are standardised, columns of 0 and 1 are left alone."""
    X, y, _ = load_npz(name, folder)
    order = np.random.default_rng(seed).permutation(len(y))
    held_out = min(HELD_OUT, len(y) // 3)
    test, train = order[:held_out], order[held_out:][:samples]
    y = y if positive is None else np.where(y == positive, 1, -1)
    parts = Split(dense(X[train]), y[train], dense(X[test]), y[test])
    parts = standardised(parts) if scaled else parts
    gamma = 1.0 / (parts.X.shape[1] * parts.X.var())
    return Stream(parts.X, parts.y, gamma, np.unique(y), parts.X_test, parts.y_test)


def dense(X: Any) -> FloatMatrix:
    """Return some rows as floats."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


def turning_crescents(folder: Path | None, samples: int, seed: int) -> Stream:
    """Draw two crescents that turn around each other, once in 4,000 samples."""
    X, y = make_moons(samples, noise=0.2, random_state=seed)
    X = X - X.mean(axis=0)
    angle = 2 * np.pi * np.arange(samples) / 4_000
    turned = [X[:, 0] * np.cos(angle) - X[:, 1] * np.sin(angle), X[:, 0] * np.sin(angle) + X[:, 1] * np.cos(angle)]
    return Stream(np.stack(turned, axis=1), y, 1.0, np.unique(y))


def turning_plane(folder: Path | None, samples: int, seed: int) -> Stream:
    """Draw normal samples of ten features on both sides of a plane that turns, once in 4,000; 5 % of labels lie."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(samples, 10))
    first, second = np.linalg.qr(random.normal(size=(10, 2)))[0].T
    angle = 2 * np.pi * np.arange(samples) / 4_000
    above = X @ first * np.cos(angle) + X @ second * np.sin(angle) > 0
    return Stream(X, np.where(above ^ (random.random(samples) < 0.05), 1, 0), 0.1, np.array([0, 1]))


def jumping_plane(folder: Path | None, samples: int, seed: int) -> Stream:
    """Draw the same beside a plane that is another one every 1,000 samples; 10 % of labels are wrong."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(samples, 10))
    planes = random.normal(size=(1 + samples // 1_000, 10))[np.arange(samples) // 1_000]
    above = (X * planes).sum(axis=1) > 0
    return Stream(X, np.where(above ^ (random.random(samples) < 0.1), 1, 0), 0.1, np.array([0, 1]))


NUMBERS = ("satimage", "letter", "spambase", "pendigits", "optdigits", "shuttle", "ijcnn1", "covtype")
ZEROS_AND_ONES = ("phishing", "w8a", "a9a", "connect4")

STREAMS: dict[str, Build] = {
    **{name: partial(public, name, scaled=name in NUMBERS) for name in (*NUMBERS, *ZEROS_AND_ONES)},
    "satimage_class_4": partial(public, "satimage", scaled=True, positive=4),
    "turning_crescents": turning_crescents,
    "turning_plane": turning_plane,
    "jumping_plane": jumping_plane,
}

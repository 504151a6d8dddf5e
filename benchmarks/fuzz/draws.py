"""What cases are made of: samples with duplicates, constant columns, few distinct rows, and scales up to 1e300."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FindingError(Exception):
    """Something that must not happen, in words."""

    words: str

    def __str__(self) -> str:
        return self.words


def number_of_samples(rng: np.random.Generator) -> int:
    """Mostly small, some beyond every size at which the solvers change their ways."""
    return int(rng.choice([2, 3, 5, 17, 40, 129, 520, 1100], p=[0.1, 0.1, 0.15, 0.2, 0.25, 0.12, 0.05, 0.03]))


def samples(rng: np.random.Generator, n: int) -> Matrix:
    """Draw samples, as hostile as real ones are."""
    d = int(rng.integers(1, 7))
    kind = rng.choice(["normal", "grid", "binary", "few", "far", "constant column", "one row"])
    X = rng.normal(size=(n, d))
    if kind == "grid":
        X = rng.integers(-2, 3, size=(n, d)).astype(np.float64)
    elif kind == "binary":
        X = rng.integers(0, 2, size=(n, d)).astype(np.float64)
    elif kind == "few":
        X = X[rng.integers(0, min(n, 3), size=n)]
    elif kind == "far":
        X += 1e6
    elif kind == "constant column":
        X[:, 0] = rng.choice([0.0, 1.0, 1e3])
    elif kind == "one row":
        X[:] = X[0]
    return X


def labels(rng: np.random.Generator, X: Matrix, classes: int = 2) -> NDArray[np.int64]:
    """Draw labels that follow the samples, or contradict them; every class has a sample."""
    n = len(X)
    order = np.argsort(
        np.argsort(X[:, 0] + rng.choice([0.0, 0.5, 1e3]) * rng.normal(size=n), kind="stable"), kind="stable"
    )
    found = order * classes // n
    found[rng.permutation(n)[:classes]] = np.arange(classes)[:n]
    return found.astype(np.int64)


def scale(rng: np.random.Generator, widest: float) -> float:
    """Draw a scale: 1, or some power of ten."""
    exponent = rng.choice([0.0, rng.uniform(-6.0, 6.0), rng.uniform(-widest, widest)], p=[0.4, 0.3, 0.3])
    return float(10.0**exponent)


def penalties(rng: np.random.Generator, n: int, unit: float) -> Vector:
    """Draw C for every sample: equal, or very different, some of them 0, in units of 1 / K_nn or not at all."""
    C = 10.0 ** rng.uniform(-3.0, 6.0) * (unit if rng.random() < 0.8 else scale(rng, 300.0))
    found = np.full(n, min(max(C, 1e-300), 1e300))
    if rng.random() < 0.3:
        with np.errstate(over="ignore"):
            found = np.minimum(found * 10.0 ** rng.uniform(-4.0, 4.0, size=n), 1e300)
        found[rng.random(n) < 0.1] = 0.0
    return found

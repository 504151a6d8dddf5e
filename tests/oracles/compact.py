"""The quality of a model on prototypes, as it is meant [Lebrun2006, Table 1]: quantise, train, predict, count."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from oracles.quantization import levels

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Ids = NDArray[np.intp]


class Judged(NamedTuple):
    """How a model did on the samples that judge: decision values, support vectors, recognition rate."""

    values: Vector
    n_support: int
    rate: float


def simplified(X: Matrix, signs: Vector, level: int) -> tuple[Matrix, Vector]:
    """Return 2^level prototypes of each class, and their signs; a class of no more samples as it is."""
    parts = []
    for sign in (-1.0, 1.0):
        own = X[signs == sign]
        if 2**level < len(own):
            own = next(islice(levels(own), level, None)).means
        parts.append((own, np.full(len(own), sign)))
    return np.vstack([own for own, _ in parts]), np.concatenate([own for _, own in parts])


def judged(
    X: Matrix, signs: Vector, split: tuple[Ids, Ids], features: NDArray[np.bool_], level: int, C: float, sigma: float
) -> Judged:
    """Train on prototypes of all features, over some of them; each class counts for half of the rate."""
    train, judges = split
    prototypes, own = simplified(X[train], signs[train], level)
    model = SVC(C=C, gamma=sigma**-2, tol=1e-10).fit(prototypes[:, features], own)
    values = model.decision_function(X[judges][:, features])
    right = (values > 0) == (signs[judges] > 0)
    rate = np.mean([right[signs[judges] == sign].mean() for sign in (-1.0, 1.0)])
    return Judged(values, len(model.support_), float(rate))

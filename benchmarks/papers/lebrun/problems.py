"""The problems of [Lebrun2006, Table 2], and the quality of every model of their grids.

Adult is a9a, web is w8a: the columns that vary, zeros and ones as they are. (The paper counts 45,222 rows, 103 columns
of adult; a9a keeps the rows with unknown values, 48,842, and has 123 columns.) Shuttle has seven classes here; the
paper's sixth is probably class 7, since class 6 has ten rows. Its columns are divided by their standard deviation: as
given they reach from -26,739 to 15,164, where the widths of the grid end at 1,024.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.peers.problems import stored
from widemargin import CompactSVC
from widemargin.kernels import MaskedGaussian
from widemargin.model_selection.compact.samples import FeatureScale, nested_split
from widemargin.model_selection.compact.selection import EXPONENTS
from widemargin.objectives import Task
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.prototype_quality import PrototypeQuality, Prototypes
from widemargin.runtime import Stop, single_threaded_blas

#: Names of the data sets here, by those of the paper.
SETS = {"adult": "a9a", "web": "w8a", "shuttle": "shuttle"}

#: The classes of shuttle that have a row in Table 3.
SHUTTLE_CLASSES = (1, 2, 3, 4, 5, 7)


@dataclass(frozen=True)
class Problem:
    """Samples of two classes."""

    name: str
    X: npt.NDArray[Any]
    y: npt.NDArray[Any]


def problems(names: Sequence[str], folder: Path | None) -> Iterator[Problem]:
    """Yield the problems of some data sets; shuttle is one for each class against all others."""
    for name in names:
        X, y, _ = stored(SETS[name], folder)
        spread = X.std(axis=0)
        X = np.ascontiguousarray(X[:, spread > 0], dtype=np.float32)
        if name != "shuttle":
            yield Problem(name, X, y)
            continue
        X /= spread[spread > 0].astype(np.float32)
        for label in SHUTTLE_CLASSES:
            yield Problem(f"shuttle {label}", X, np.where(y == label, 1, -1))


class Cell(NamedTuple):
    """A model of the grid: k, C', sigma' and what it came to."""

    level: int
    c_exponent: int
    width_exponent: int
    quality: float
    rate: float
    n_support: int


def bound_quality(
    problem: Problem,
    objective: DecisionQuality,
    seed: int,
    n_threads: int,
    *,
    select_features: bool = False,
    judges: Literal["validation", "test"] = "validation",
) -> PrototypeQuality:
    """Prepare the quality of a problem's models, on the split of a CompactSVC with this seed."""
    classes, labels = np.unique(problem.y, return_inverse=True)
    split = nested_split(labels, classes, 1 / 3, 1 / 3, seed)
    scale = FeatureScale.of(problem.X[split.train], False)
    scaled = scale.for_search(problem.X)
    signs = np.where(labels == 1, 1.0, -1.0)
    prototypes = Prototypes(scaled, signs, split.train, getattr(split, judges), n_threads, Stop())
    task = Task(scaled, labels, 2, np.ones(len(labels)), tolerance=1e-3)
    return PrototypeQuality(task, objective, prototypes, select_features=select_features)


def cell(
    bound: PrototypeQuality, features: npt.NDArray[np.bool_], level: int, c_exponent: int, width_exponent: int
) -> Cell:
    """Evaluate a model, from nothing."""
    kernel = MaskedGaussian(features, 2.0**-width_exponent)
    found = bound.evaluate(kernel, 2.0 ** (c_exponent / 2), level=level)
    rate, n_support = found.measures["recognition_rate"], int(found.measures["support_vectors"])
    return Cell(level, c_exponent, width_exponent, found.value, rate, n_support)


def grid_cells(
    bound: PrototypeQuality,
    levels: Sequence[int],
    exponents: Sequence[int],
    n_threads: int,
    features: npt.NDArray[np.bool_] | None = None,
) -> Iterator[Cell]:
    """Evaluate all models of some levels, over some features or all, each from nothing."""
    if features is None:
        features = np.ones(bound.task.X.shape[1], dtype=np.bool_)

    def line(place: tuple[int, int]) -> list[Cell]:
        level, width = place
        return [cell(bound, features, level, exponent, width) for exponent in exponents]

    places = [(level, width) for level in levels for width in exponents]
    with single_threaded_blas(), ThreadPoolExecutor(n_threads) as threads:
        for cells in threads.map(line, places):
            yield from cells


def all_exponents(step: int = 1) -> list[int]:
    """Return C' or sigma' of the grid, or every so-many-th of them from 0."""
    low, high = EXPONENTS
    return [number for number in range(low, high + 1) if number % step == 0]


def compact(problem: Problem, penalty: float, *, features: bool, seed: int, **options: Any) -> tuple[CompactSVC, float]:
    """Choose a compact model; return it with the seconds that took."""
    model = CompactSVC(
        sv_penalty=penalty,
        feature_penalty=penalty,
        select_features=features,
        standardize=False,
        random_state=seed,
        **options,
    )
    began = time.perf_counter()
    model.fit(problem.X, problem.y)
    return model, time.perf_counter() - began

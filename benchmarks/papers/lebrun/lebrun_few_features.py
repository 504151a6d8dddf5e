"""[Lebrun2006, Table 3]: every model of few features for classes of shuttle, beside what the quality asks for.

At a penalty of 0.01 twice as many support vectors have to be worth 1 % of the rate. All subsets of one to three of the
nine features, levels 0 to 7 and every second C' and sigma' are trained; `--apart 1` trains all of them. The table has
the model of the best quality, which is what a search looks for, and the one that recognises the most validation samples
with at most so many support vectors; test rates are those of these two models.
"""

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.papers.lebrun.problems import Cell, Problem, all_exponents, bound_quality, cell, grid_cells, problems
from benchmarks.peers.table import render
from widemargin.objectives.decision_quality import DecisionQuality

SUMMARY = "shuttle: the model of the best quality among all of few features, and the one of the best rate"
HIGHEST_LEVEL = 7

Mask = npt.NDArray[np.bool_]


class Seen(NamedTuple):
    """A model, its features, and its rate on test samples."""

    split: int
    chosen_by: str
    features: list[int]
    model: Cell
    test_rate: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--class", dest="label", type=int, default=4, help="class of shuttle (%(default)s)")
    parser.add_argument("--penalty", type=float, default=0.01, help="c1 and c2 (%(default)s)")
    parser.add_argument("--features", type=int, default=3, help="features of a model at most (%(default)s)")
    parser.add_argument("--support-vectors", type=int, default=16, help="of the best rate, at most (%(default)s)")
    parser.add_argument(
        "--apart", type=int, default=2, help="C' and sigma' that are trained: every so many (%(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=3, help="splits (%(default)s)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (%(default)s)")


def run(given: argparse.Namespace) -> None:
    """Print the table."""
    print(f"{SUMMARY}; class {given.label}, c1 = c2 = {given.penalty:g}")
    try:
        found = [problem for problem in problems(["shuttle"], given.data) if problem.name == f"shuttle {given.label}"]
    except FileNotFoundError as missing:
        print(f"skipped. {missing}")
        return
    if not found:
        raise SystemExit(f"class {given.label} has no row in Table 3")
    print(table([one for split in range(given.seeds) for one in best_models(found[0], split, given)]))


def best_models(problem: Problem, split: int, given: argparse.Namespace) -> Iterator[Seen]:
    """Train all models, and judge the best two by the test samples, too."""
    objective = DecisionQuality(given.penalty, given.penalty)
    bound = bound_quality(problem, objective, split, given.n_jobs, select_features=True)
    tested = bound_quality(problem, objective, split, given.n_jobs, select_features=True, judges="test")
    levels = range(min(HIGHEST_LEVEL, bound.prototypes.highest_level) + 1)
    exponents = all_exponents(given.apart)
    models = [
        (mask, model)
        for mask in subsets(problem.X.shape[1], given.features)
        for model in grid_cells(bound, levels, exponents, given.n_jobs, mask)
    ]
    few = [one for one in models if one[1].n_support <= given.support_vectors]
    for chosen_by, (mask, best) in (
        ("quality", max(models, key=lambda one: one[1].quality)),
        (f"rate, at most {given.support_vectors}", max(few, key=lambda one: one[1].rate)),
    ):
        again = cell(tested, mask, best.level, best.c_exponent, best.width_exponent)
        yield Seen(split, chosen_by, np.flatnonzero(mask).tolist(), best, again.rate)


def subsets(n: int, most: int) -> Iterator[Mask]:
    """Yield all subsets of one to so many of n features."""
    for size in range(1, most + 1):
        for chosen in combinations(range(n), size):
            mask = np.zeros(n, dtype=np.bool_)
            mask[list(chosen)] = True
            yield mask


def table(found: list[Seen]) -> str:
    """Render the models."""
    header = ["split", "best", "k", "C'", "sigma'", "SVs", "features", "quality", "validation rate", "test rate"]
    rows = []
    for one in found:
        model = one.model
        rows.append([f"{one.split}", one.chosen_by, *map(str, (model.level, model.c_exponent, model.width_exponent))])
        rows[-1] += [f"{model.n_support}", " ".join(map(str, one.features)), f"{model.quality:.4f}"]
        rows[-1] += [f"{model.rate:.4f}", f"{one.test_rate:.4f}"]
    return render(header, rows)

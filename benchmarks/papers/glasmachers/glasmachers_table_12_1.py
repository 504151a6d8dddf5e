"""[Glasmachers2008, Table 12.1]: five ways to choose a model on distributions that are known.

Training sets of 200 samples, test sets of 100,000. Sparse coordinates with a Gaussian kernel of one width a feature,
chess boards with one of a single width. `chapter_12` beside this has the methods.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.papers.glasmachers.chapter_12 import (
    METHODS,
    TRAINING_ROWS,
    Experiment,
    Printed,
    Sample,
    chosen,
    errors_of,
    table,
    verdict,
)
from benchmarks.papers.glasmachers.chapter_12 import add_arguments as add_shared_arguments
from widemargin.datasets import chess_board, noisy_chess_board, sparse_coordinates
from widemargin.kernels import DiagonalGaussian, Gaussian

SUMMARY = "Table 12.1: cross-validation, alignment, span bound, likelihood and posterior on known distributions"
TEST_ROWS = 100_000
LIMITS = {("sparse-3", "posterior"): 0.145, ("chess", "likelihood"): 0.105}


class Distribution(Experiment):
    """A problem that is drawn from its distribution."""

    def draw(self, trial: int, folder: Path | None) -> Sample:
        """Draw training and test samples."""
        options = {"sparse-3": {"k": 3}, "sparse-5": {"k": 5}}.get(self.name, {})
        generate = {"chess": chess_board, "noisy-chess": noisy_chess_board}.get(self.name, sparse_coordinates)
        X, y = generate(TRAINING_ROWS, random_state=np.random.default_rng([12, trial, 0]), **options)
        X_test, y_test = generate(TEST_ROWS, random_state=np.random.default_rng([12, trial, 1]), **options)
        return Sample(X.astype(float), y, X_test.astype(float), y_test)


def printed(*numbers: tuple[float, float]) -> dict[str, Printed]:
    """Name the numbers of a table in the order of the methods."""
    return {method: Printed(*pair) for method, pair in zip(METHODS, numbers, strict=True)}


EXPERIMENTS = {
    one.name: one
    for one in (
        Distribution(
            "sparse-3",
            DiagonalGaussian(),
            printed((0.159, 0.0143), (0.149, 0.0056), (0.157, 0.0603), (0.143, 0.0046), (0.141, 0.0017)),
        ),
        Distribution(
            "sparse-5",
            DiagonalGaussian(),
            printed((0.281, 0.0215), (0.264, 0.0364), (0.275, 0.0608), (0.272, 0.0513), (0.246, 0.0170)),
        ),
        Distribution(
            "chess",
            Gaussian(),
            printed((0.107, 0.0212), (0.125, 0.0158), (0.374, 0.0823), (0.099, 0.0174), (0.111, 0.0707)),
        ),
        Distribution(
            "noisy-chess",
            Gaussian(),
            printed((0.240, 0.0419), (0.249, 0.0238), (0.430, 0.0369), (0.230, 0.0217), (0.290, 0.1093)),
        ),
    )
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_shared_arguments(parser, EXPERIMENTS, with_data=False)


def run(given: argparse.Namespace) -> None:
    """Run the trials and print the table."""
    experiments = [EXPERIMENTS[name] for name in chosen(given.problems, EXPERIMENTS, "problem")]
    methods = chosen(given.methods, METHODS, "method")
    errors = errors_of(experiments, methods, given)
    print("\n\n".join(table(one, methods, errors) for one in experiments))
    print()
    for (problem, method), limit in LIMITS.items():
        if (problem, method) in errors:
            mean = float(np.mean(errors[problem, method]))
            print(f"{'pass' if mean <= limit else 'FAIL'}: {method} on {problem} {mean:.4f}, at most {limit} allowed")
    print(verdict(experiments, methods, errors))

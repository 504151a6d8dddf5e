"""[Glasmachers2008, Tables 12.3 to 12.6]: five ways to choose a model on ten sets of data.

Each trial trains on 200 rows, drawn at random, and tests on the others: Gaussian kernels of a single width (Tables 12.3
and 12.4) and of one width a feature (Tables 12.5 and 12.6). `chapter_12` beside this has the methods.
Features are as they are stored, of mean 0 and variance 1.
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
from benchmarks.peers.problems import stored
from widemargin.kernels import DiagonalGaussian, Gaussian

SUMMARY = "Tables 12.3 to 12.6: the same five methods on ten sets of data, with two kinds of Gaussian kernels"

#: Mean and deviation of the five methods, as printed.
RADIAL = {
    "banana": ((0.116, 0.0088), (0.122, 0.0114), (0.127, 0.0121), (0.114, 0.0083), (0.114, 0.0076)),
    "diabetis": ((0.252, 0.0263), (0.272, 0.0202), (0.268, 0.0463), (0.247, 0.0214), (0.244, 0.0173)),
    "flare-solar": ((0.352, 0.0215), (0.369, 0.0430), (0.351, 0.0137), (0.347, 0.0179), (0.349, 0.0238)),
    "german": ((0.277, 0.0216), (0.271, 0.0180), (0.300, 0.0079), (0.266, 0.0184), (0.262, 0.0158)),
    "image": ((0.098, 0.0161), (0.094, 0.0160), (0.103, 0.0192), (0.094, 0.0128), (0.091, 0.0125)),
    "ringnorm": ((0.019, 0.0036), (0.017, 0.0016), (0.090, 0.1573), (0.044, 0.0838), (0.029, 0.0229)),
    "splice": ((0.215, 0.1063), (0.190, 0.0453), (0.480, 0.0494), (0.172, 0.0328), (0.170, 0.0116)),
    "titanic": ((0.226, 0.0081), (0.227, 0.0093), (0.226, 0.0097), (0.226, 0.0086), (0.227, 0.0088)),
    "twonorm": ((0.029, 0.0058), (0.028, 0.0030), (0.416, 0.1790), (0.032, 0.0473), (0.027, 0.0034)),
    "waveform": ((0.119, 0.0243), (0.115, 0.0090), (0.261, 0.0935), (0.113, 0.0088), (0.111, 0.0080)),
}
DIAGONAL = {
    "banana": ((0.118, 0.0099), (0.124, 0.0126), (0.127, 0.0122), (0.115, 0.0082), (0.115, 0.0084)),
    "diabetis": ((0.277, 0.0334), (0.267, 0.0199), (0.281, 0.0690), (0.277, 0.0221), (0.263, 0.0207)),
    "flare-solar": ((0.355, 0.0261), (0.358, 0.0325), (0.352, 0.0173), (0.350, 0.0189), (0.349, 0.0197)),
    "german": ((0.311, 0.0171), (0.300, 0.0456), (0.300, 0.0079), (0.385, 0.1486), (0.302, 0.0222)),
    "image": ((0.066, 0.0145), (0.055, 0.0380), (0.122, 0.1363), (0.090, 0.1092), (0.070, 0.0143)),
    "ringnorm": ((0.053, 0.0460), (0.030, 0.0068), (0.115, 0.1727), (0.087, 0.1318), (0.045, 0.0090)),
    "splice": ((0.478, 0.0217), (0.181, 0.1213), (0.485, 0.0289), (0.363, 0.1929), (0.137, 0.0196)),
    "titanic": ((0.226, 0.0107), (0.232, 0.0468), (0.226, 0.0094), (0.226, 0.0106), (0.226, 0.0083)),
    "twonorm": ((0.100, 0.1170), (0.052, 0.0090), (0.437, 0.1571), (0.069, 0.0885), (0.049, 0.0467)),
    "waveform": ((0.254, 0.0880), (0.132, 0.0136), (0.305, 0.0800), (0.196, 0.1518), (0.143, 0.0142)),
}


class Rows(Experiment):
    """A set of data; a trial draws its training rows, and tests on the others."""

    @property
    def stored_name(self) -> str:
        """Name of the set without that of the kernel."""
        return self.name.removesuffix(", radial").removesuffix(", diagonal")

    def draw(self, trial: int, folder: Path | None) -> Sample:
        """Draw the rows of a trial: the same for both kernels and all methods."""
        X, y, _ = stored(f"raetsch_{self.stored_name}", folder)
        order = np.random.default_rng([12, trial]).permutation(len(y))
        train, test = order[:TRAINING_ROWS], order[TRAINING_ROWS:]
        return Sample(X[train], y[train], X[test], y[test])


def _experiments(kernel: str, numbers: dict[str, tuple[tuple[float, float], ...]]) -> list[Rows]:
    return [
        Rows(
            f"{name}, {kernel}",
            DiagonalGaussian() if kernel == "diagonal" else Gaussian(),
            {method: Printed(*pair) for method, pair in zip(METHODS, pairs, strict=True)},
        )
        for name, pairs in numbers.items()
    ]


EXPERIMENTS = {"radial": _experiments("radial", RADIAL), "diagonal": _experiments("diagonal", DIAGONAL)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_shared_arguments(parser, RADIAL, with_data=True)
    parser.add_argument("--kernels", help="radial (Tables 12.3, 12.4), diagonal (12.5, 12.6), or both, comma-separated")


def run(given: argparse.Namespace) -> None:
    """Run the trials and print the tables."""
    names = chosen(given.problems, RADIAL, "problem")
    methods = chosen(given.methods, METHODS, "method")
    kernels = chosen(given.kernels, EXPERIMENTS, "kernel")
    experiments = [one for kernel in kernels for one in EXPERIMENTS[kernel] if one.stored_name in names]
    errors = errors_of(experiments, methods, given)
    print("\n\n".join(table(one, methods, errors) for one in experiments))
    print(f"\n{verdict(experiments, methods, errors)}")

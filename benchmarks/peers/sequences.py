"""Oligo kernels of windows of DNA, beside NumPy's product of the indicators of 3-mers at positions.

One thread each, in turns in one process. The product R @ R.T of the dense one-hot rows is what a position-exact 3-mer
kernel costs without a kernel of sequences; it is computed in float32, of which BLAS computes half and mirrors it. Our
values are in float64, of sequences that were encoded before, as the indicators were.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks.peers.problems import stored
from benchmarks.peers.session import Options, Verdict, announce, save, summary
from benchmarks.peers.table import indent, render
from widemargin import SVC
from widemargin.kernels import CombinedOligo, Oligo, TripletOligo

SIGMA, LETTERS = 1.2, "ACGT"
DATA, TRAINING, WINDOWS = "ecoli_tis_verified", "ecoli_tis", 2_000

#: Largest part of the time of the product, by what is computed.
BARS = {f"{k}-mers": 0.5 for k in range(1, 7)} | {"weights": 2.5}

PROBLEMS: dict[str, float | None] = {**BARS, "fit": None}


@dataclass(frozen=True)
class Result:
    """Median seconds of what we compute and of the product beside it; seconds of fits by their kernels."""

    problem: str
    seconds: float
    product: float

    def verdicts(self) -> dict[str, Verdict]:
        """Compare with the product."""
        if self.problem not in BARS:
            return {}
        part, allowed = self.seconds / self.product, BARS[self.problem]
        return {self.problem: Verdict(part <= allowed, f"{part:.2f} of the product, allowed {allowed:g}")}


def texts_of(name: str) -> tuple[list[str], npt.NDArray[Any]]:
    """Return the windows of a data set and their classes."""
    codes, y, _ = stored(name, None)
    return ["".join(LETTERS[int(code)] for code in row) for row in codes], y


def indicators(texts: list[str], k: int = 3) -> npt.NDArray[np.float32]:
    """Return a row for each window: 1 for every k-mer at its position."""
    letters = np.array([[LETTERS.index(letter) for letter in text] for text in texts])
    width = letters.shape[1] - k + 1
    codes = sum(letters[:, j : j + width] * 4 ** (k - 1 - j) for j in range(k))
    rows = np.zeros((len(texts), width, 4**k), dtype=np.float32)
    np.put_along_axis(rows, np.asarray(codes)[:, :, np.newaxis], 1.0, axis=2)
    return rows.reshape(len(texts), -1)


def sequences_command(options: Options) -> list[Result]:
    """Compute in turns."""
    announce()
    texts, _ = texts_of(DATA)
    texts = texts[:WINDOWS]
    R, results = indicators(texts), []
    print(
        f"\n{len(texts):,} x {len(texts):,} windows of {len(texts[0])} letters, one thread, float64; beside R @ R.T in "
        f"float32, {R.shape[0]:,} x {R.shape[1]:,}; median of {options.repeats} alternating runs"
    )
    with threadpool_limits(1):
        for name in options.problems:
            if name != "fit":
                results.append(in_turns(name, work(name, texts), R, options.repeats))
        if "fit" in options.problems:
            results += fits()
    rows = [[one.problem, f"{1e3 * one.seconds:.1f}", f"{1e3 * one.product:.1f}"] for one in results]
    print(indent(render(["", "ours (ms)", "R @ R.T (ms)"], rows)))
    save(options.record, "sequences", options, results)
    print("\n" + summary({name: verdict for one in results for name, verdict in one.verdicts().items()}))
    return results


def work(name: str, texts: list[str]) -> Callable[[], Any]:
    """Return what is timed: values, or values and the sums of the derivatives by all weights."""
    if name == "weights":
        triplets = TripletOligo(SIGMA).fitted(texts)
        X = triplets.samples(texts)
        W = np.random.default_rng(0).normal(size=(len(texts), len(texts)))
        return lambda: triplets.pull_back(W, X, X, triplets.values(X, X))
    kernel = Oligo(int(name[0]), SIGMA).fitted(texts)
    X = kernel.samples(texts)
    return lambda: kernel.values(X, X)


def in_turns(name: str, ours: Callable[[], Any], R: npt.NDArray[np.float32], repeats: int) -> Result:
    """Return the medians of ours and of the product."""
    ours(), R @ R.T
    times = [(seconds_of(ours), seconds_of(lambda: R @ R.T)) for _ in range(repeats)]
    return Result(name, median(own for own, _ in times), median(other for _, other in times))


def fits() -> list[Result]:
    """Train on all windows of the genome; for information."""
    texts, y = texts_of(TRAINING)
    kernels = (Oligo(3, SIGMA), TripletOligo(SIGMA), CombinedOligo(SIGMA))
    return [
        Result(f"fit {type(k).__name__}", seconds_of(lambda k=k: SVC(kernel=k, C=10.0, n_jobs=1).fit(texts, y)), np.nan)
        for k in kernels
    ]


def seconds_of(what: Callable[[], Any]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began

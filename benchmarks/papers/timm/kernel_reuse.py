"""What [Timm2009, eq. 6] saves: stored rows of a Gaussian kernel taken from one width to the next.

k(gamma_2) = k(gamma_1)^(gamma_2 / gamma_1) costs a logarithm and an exponential a value, whatever the number d of
features; computing the value anew costs d products and an exponential. The step is one of the paper's grid (20 widths
from 0.1 to 5, samples scaled to unit mean norm), to both sides. A wider kernel (a power below 1) has to look for
values that had vanished, and computes their rows anew.

Rows are computed anew one at a time, as a solver asks for them; beside it the whole matrix at once, which is cheaper
where products count. Both take fresh memory, which the transformation does not. One thread.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.papers.data import Loader, as_stored
from benchmarks.peers.problems import FloatMatrix
from benchmarks.peers.table import render
from widemargin import _core
from widemargin.datasets import twonorm
from widemargin.kernels.rows import row_source

SUMMARY = "Equation 6: stored kernel values taken to another width, against computing them anew"
N_ROWS = 2_000
REPEATS = 7
SIGMA = 0.5
GRID_STEP = (5 / 0.1) ** (1 / 19)


def generated_twonorm(folder: Path | None) -> tuple[FloatMatrix, np.ndarray]:
    """Draw as many rows as are used."""
    return twonorm(N_ROWS, random_state=0)


LOADERS: dict[str, Loader] = {
    "banana": as_stored("raetsch_banana"),
    "twonorm": generated_twonorm,
    "splice": as_stored("raetsch_splice"),
}


def run(folder: Path | None, n_rows: int = N_ROWS) -> None:
    """Print a row of times per data set and direction, and where it pays."""
    print(f"{SUMMARY}; {n_rows:,} samples, float32, median of {REPEATS} alternating runs, milliseconds")
    rows, verdicts = [], []
    for name, load in LOADERS.items():
        try:
            X, _ = load(folder)
        except FileNotFoundError as missing:
            print(f"{name}: skipped. {missing}")
            continue
        X = np.ascontiguousarray(X[np.random.default_rng(0).permutation(len(X))[:n_rows]])
        X /= np.linalg.norm(X, axis=1).mean()
        found = {direction: measure(X, sigma) for direction, sigma in directions().items()}
        for direction, (reused, by_row, at_once) in found.items():
            times = [f"{1e3 * seconds:.2f}" for seconds in (reused, by_row, at_once)]
            rows.append([name, str(X.shape[1]), direction, *times, f"{by_row / reused:.2f}", f"{at_once / reused:.2f}"])
        verdicts.append(verdict(name, X.shape[1], list(found.values())))
    header = ["data set", "d", "new width", "transform", "anew, by row", "anew, at once", "by row / t.", "at once / t."]
    print("\n".join([render(header, rows), *verdicts]))


def directions() -> dict[str, float]:
    """Return the neighbouring widths."""
    return {"narrower": SIGMA / GRID_STEP, "wider": SIGMA * GRID_STEP}


def measure(X: FloatMatrix, new_sigma: float) -> tuple[float, float, float]:
    """Return the median seconds to transform all rows, to compute them anew one by one, and all at once."""
    old, new = (row_source(X, kernel="rbf", gamma=1 / (2 * sigma**2)) for sigma in (SIGMA, new_sigma))
    power = (SIGMA / new_sigma) ** 2
    runs = []
    for _ in range(REPEATS):
        store = _core.KernelStore(old, bytes=4 * len(X) ** 2)
        read(store)
        reused = seconds(partial(store.transform, new, power, n_threads=1))
        anew = _core.KernelStore(new, bytes=4 * len(X) ** 2)
        # A row is handed out as a copy; asking for rows that are held takes the time of the copies alone.
        by_row = seconds(partial(read, anew)) - seconds(partial(read, anew))
        at_once = seconds(partial(_core.kernel_matrix_float32, new, None, n_threads=1))
        runs.append((reused, by_row, at_once))
    return median(run[0] for run in runs), median(run[1] for run in runs), median(run[2] for run in runs)


def read(store: _core.KernelStore) -> None:
    """Ask for every row."""
    for row in range(store.size):
        store.row(row)


def seconds(work: Callable[[], object]) -> float:
    """Time some work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def verdict(name: str, n_features: int, found: list[tuple[float, float, float]]) -> str:
    """Say where the transformation pays: in both directions, or not."""
    against = {way: all(times[column] > times[0] for times in found) for column, way in ((1, "by row"), (2, "at once"))}
    words = [f"{'pays' if pays else 'does not pay'} against rows computed {way}" for way, pays in against.items()]
    return f"{name}, d = {n_features}: {', '.join(words)}"

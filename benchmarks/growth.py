"""How time grows with samples and features, beside scikit-learn: ``python -m benchmarks.growth``.

Fits and grid searches of generated two-class problems: n = 1,000 ... 64,000 samples of 20 features, and d = 2 ... 1,000
features of 2,000 samples. The libraries take turns; a line ends where a run has taken longer than ``--limit`` seconds.
The slope on a log-log scale is the power of n, or d, that the time grows with, fitted to the upper half of the sizes.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.model_selection
import sklearn.svm

import widemargin
from benchmarks.peers.table import number, render

Floats = npt.NDArray[np.float64]
Job = Callable[[Floats, npt.NDArray[np.intp]], Any]

SAMPLES = tuple(1000 * 2**k for k in range(7))
FEATURES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
GRID = {"C": [0.5, 2.0, 8.0, 32.0], "gamma": [0.25, 1.0, 4.0]}
FOLDS = 3


def two_classes(n: int, d: int) -> tuple[Floats, npt.NDArray[np.intp]]:
    """A ball within a shell, with noise: about as hard for any number of features."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, d)) / np.sqrt(d)
    score = (X**2).sum(axis=1) - 1.0 + generator.normal(scale=0.3 * np.sqrt(2.0 / d), size=n)
    return X, (score > 0).astype(np.intp)


def jobs(n_jobs: int) -> dict[str, Job]:
    """Name what is timed."""

    def search(library: Any, model: Any) -> Job:
        return lambda X, y: library.GridSearchCV(model, GRID, cv=FOLDS, n_jobs=n_jobs).fit(X, y)

    return {
        "fit, widemargin": lambda X, y: widemargin.SVC(gamma=1.0, n_jobs=n_jobs).fit(X, y),
        "fit, scikit-learn": lambda X, y: sklearn.svm.SVC(gamma=1.0).fit(X, y),
        "search, widemargin": search(widemargin, widemargin.SVC()),
        "search, scikit-learn": search(sklearn.model_selection, sklearn.svm.SVC()),
    }


def measure(
    sizes: Sequence[int], draw: Callable[[int], Any], work: dict[str, Job], repeats: int, limit: float
) -> dict[str, list[float | None]]:
    """Return the median seconds of each job at each size; None once it has taken too long."""
    seconds: dict[str, list[float | None]] = {name: [] for name in work}
    for size in sizes:
        X, y = draw(size)
        running = {name: job for name, job in work.items() if not over(seconds[name], limit)}
        runs: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(repeats):
            for name, job in running.items():
                if runs[name] and runs[name][-1] > limit / repeats:
                    continue
                began = time.perf_counter()
                job(X, y)
                runs[name].append(time.perf_counter() - began)
        for name in work:
            seconds[name].append(median(runs[name]) if name in runs else None)
    return seconds


def over(seconds: list[float | None], limit: float) -> bool:
    """Say whether a line has ended."""
    return bool(seconds) and (seconds[-1] is None or seconds[-1] > limit)


def slope(sizes: Sequence[int], seconds: Sequence[float | None]) -> float | None:
    """Return the power of the size that the time grows with, over the upper half of those measured."""
    known = [(size, value) for size, value in zip(sizes, seconds, strict=True) if value is not None]
    upper = known[len(known) // 2 :]
    if len(upper) < 2:
        return None
    x, t = np.log(np.array(upper)).T
    return float(np.polyfit(x, t, 1)[0])


def table(label: str, sizes: Sequence[int], seconds: dict[str, list[float | None]]) -> str:
    """Render seconds by size, and the slopes below."""
    rows = [[f"{size:,}", *(number(line[at], ".3g") for line in seconds.values())] for at, size in enumerate(sizes)]
    rows.append(["slope", *(number(slope(sizes, line), ".2f") for line in seconds.values())])
    return render([label, *seconds], rows)


def draw_picture(path: Path, found: dict[str, tuple[Sequence[int], dict[str, list[float | None]]]]) -> None:
    """Draw seconds over sizes on logarithmic scales, a panel for samples and one for features."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        1, len(found), figsize=(5.2 * len(found), 3.8), layout="constrained", squeeze=False
    )
    for panel, (label, (sizes, seconds)) in zip(panels[0], found.items(), strict=True):
        for name, line in seconds.items():
            kind, library = name.split(", ")
            known = [(size, value) for size, value in zip(sizes, line, strict=True) if value is not None]
            power = slope(sizes, line)
            panel.loglog(
                *zip(*known, strict=True),
                marker="o" if kind == "fit" else "s",
                markersize=4,
                linestyle="-" if library == "widemargin" else "--",
                color="tab:blue" if library == "widemargin" else "tab:gray",
                label=name if power is None else f"{name} (slope {power:.1f})",
            )
        panel.set_xlabel(label)
        panel.set_ylabel("seconds")
        panel.grid(True, which="major", alpha=0.3)
        panel.legend(fontsize=8)
    figure.savefig(path, dpi=130)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print, draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="time by samples and features")
    parser.add_argument("--samples", type=int, nargs="+", default=SAMPLES, help="numbers of samples, of 20 features")
    parser.add_argument("--features", type=int, nargs="+", default=FEATURES, help="numbers of features, 2,000 samples")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds after which a line ends (%(default)s)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads or processes (%(default)s)")
    parser.add_argument("--picture", type=Path, help="file for a picture")
    given = parser.parse_args(arguments)
    work = jobs(given.n_jobs)
    draws: dict[str, tuple[Sequence[int], Callable[[int], Any]]] = {
        "samples": (given.samples, lambda n: two_classes(n, 20)),
        "features": (given.features, lambda d: two_classes(2000, d)),
    }
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for job in work.values():
            job(*two_classes(200, 2))  # modules, threads and processes that only the first run has to wait for
        for label, (sizes, draw) in draws.items():
            found[label] = sizes, measure(sizes, draw, work, given.repeats, given.limit)
            print(table(label, *found[label]), flush=True)
    if given.picture is not None:
        draw_picture(given.picture, found)


if __name__ == "__main__":
    main()

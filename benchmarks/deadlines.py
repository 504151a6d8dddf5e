"""Whether ``max_time`` holds: ``python -m benchmarks.deadlines``.

Every case trains on more than its time suffices for; what it takes beyond ``max_time`` may be 0.2 s and a fifth of it.
On a busy machine a process waits for its turn: after the deadline, the time that counts is the wall clock's or that of
the processor, whichever is less.
The exit status is 1 if a case takes longer, says nothing, or leaves a model whose predictions are not finite.
"""

import argparse
import gc
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.peers.table import render
from widemargin import (
    SVC,
    SVDD,
    SVR,
    GridSearchCV,
    ModelSearch,
    NuSVC,
    NuSVR,
    OneClassSVM,
    select,
)
from widemargin.solvers import Auto

#: What a case may take beyond its `max_time`: some seconds, and a share of it.
SECONDS, SHARE = 0.2, 0.2

#: Rows and columns of the large problems, unless the command line says otherwise.
SAMPLES, COLUMNS = 100_000, 50

#: Rows for kernels that cost a call each, and for kernel matrices.
FEWER = 4_000

#: Rows predicted to see that the model is usable.
PREDICTED = 20


#: Samples and targets, or None, of so many rows at most.
Data = Callable[[int], tuple[Any, Any]]


@dataclass(frozen=True)
class Case:
    """A model to train in `seconds` on data that this does not suffice for."""

    seconds: float
    model: Any
    data: Data

    def fit(self, X: Any, y: Any, seconds: float) -> Any:
        """Train the model."""
        return self.model.set_params(max_time=seconds).fit(X, y)


@dataclass(frozen=True)
class Measured:
    """What a case took beyond its time, by the wall and the processor's clock, and what is wrong with what it left."""

    wall: float
    processor: float
    wrong: str

    @property
    def late(self) -> float:
        """The time that counts."""
        return min(self.wall, self.processor)


class Overrun:
    """Measures what is taken beyond some seconds, by both clocks."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._began, self._used = seconds, time.perf_counter(), float("inf")
        self._timer = threading.Timer(seconds, self._look)
        self._timer.start()

    def _look(self) -> None:
        self._used = time.process_time()

    def end(self) -> tuple[float, float]:
        """Return both; the processor's is 0 if there was time left."""
        wall, used = time.perf_counter() - self._began - self._seconds, time.process_time()
        self._timer.cancel()
        return wall, max(0.0, used - self._used)


@cache
def noise(rows: int, columns: int = COLUMNS) -> Any:
    """Return normal numbers without any structure: as many support vectors as there can be."""
    return np.random.default_rng(0).normal(size=(rows, columns))


@cache
def signs(rows: int) -> Any:
    """Return labels that nothing explains."""
    return np.random.default_rng(1).integers(0, 2, rows)


@cache
def sparse(rows: int) -> Any:
    """Return one-hot rows."""
    random = np.random.default_rng(2)
    columns = random.integers(0, 1000, (rows, 20))
    return sp.csr_matrix((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 20)), (rows, 1000))


@cache
def gram(rows: int) -> Any:
    """Return a kernel matrix."""
    return rbf_kernel(noise(rows), gamma=1.0 / COLUMNS)


def slow_kernel(A: Any, B: Any) -> Any:
    """Return kernel values from a function of somebody else's."""
    return rbf_kernel(A, B, gamma=1.0 / COLUMNS)


def signed_noise(rows: int) -> tuple[Any, Any]:
    """Return noise in two classes."""
    return noise(rows), signs(rows)


def only_noise(rows: int) -> tuple[Any, Any]:
    """Return noise for models that need no targets."""
    return noise(rows), None


def noisy_wave(rows: int) -> tuple[Any, Any]:
    """Return noise with targets that are numbers."""
    return noise(rows), wave(rows)


def some(examples: Callable[[int], Any], most: int = SAMPLES) -> Data:
    """Return other samples in two classes, so many rows at most."""
    return lambda rows: (examples(min(rows, most)), signs(min(rows, most)))


def classes(number: int, most: int = 2_000) -> Data:
    """Return noise in so many classes, so many rows at most."""

    def data(rows: int) -> tuple[Any, Any]:
        n = min(rows, most)
        return noise(n), np.arange(n) % min(number, n // 4)

    return data


class Selecting:
    """Chooses a model by `select`, whose last fit, on all samples, comes on top."""

    def set_params(self, max_time: float) -> "Selecting":
        """Take the time that it has."""
        self.max_time = max_time
        return self

    def fit(self, X: Any, y: Any) -> Any:
        """Return the model chosen."""
        return select(X, y, max_time=self.max_time).model


def wave(rows: int) -> Any:
    """Return targets with noise."""
    return np.sin(noise(rows)[:, 0]) + np.random.default_rng(3).normal(size=rows)


def unlimited(name: str, **others: Any) -> dict[str, Any]:
    """Return parameters of a classifier that takes long."""
    return {"C": 100.0, "solver": name, **others}


CASES: Mapping[str, Case] = {
    "SVC": Case(1.0, SVC(), signed_noise),
    "SVC, two threads": Case(1.0, SVC(n_jobs=2), signed_noise),
    "SVC, smo": Case(1.0, SVC(**unlimited("smo")), signed_noise),
    "SVC, block": Case(1.0, SVC(**unlimited("block")), signed_noise),
    "SVC, float64": Case(1.0, SVC(solver=Auto(dtype="float64")), signed_noise),
    "SVC, small cache": Case(1.0, SVC(cache_size=20), signed_noise),
    "SVC, squared hinge": Case(1.0, SVC(loss="squared_hinge"), signed_noise),
    "SVC, mdm": Case(1.0, SVC(loss="squared_hinge", fit_intercept=False, solver="mdm"), signed_noise),
    "SVC, hard margin": Case(1.0, SVC(C=np.inf), signed_noise),
    "SVC, linear": Case(1.0, SVC(kernel="linear"), signed_noise),
    "SVC, poly": Case(1.0, SVC(kernel="poly"), signed_noise),
    "SVC, 10 classes": Case(1.0, SVC(), classes(10, SAMPLES)),
    "SVC, 10 classes against all": Case(1.0, SVC(multi_class="ovr"), classes(10, SAMPLES)),
    "SVC, fuzzy": Case(1.0, SVC(decision="fuzzy-minimum"), classes(10, SAMPLES)),
    "SVC, 1,000 classes": Case(0.2, SVC(), classes(1000)),
    "SVC, 1,000 classes, two threads": Case(0.2, SVC(n_jobs=2), classes(1000)),
    "SVC, 500 classes against all": Case(0.2, SVC(multi_class="ovr"), classes(500)),
    "SVC, 500 classes, hard margin": Case(0.5, SVC(C=np.inf), classes(500)),
    "SVC, 500 classes, mdm": Case(0.5, SVC(loss="squared_hinge", fit_intercept=False, solver="mdm"), classes(500)),
    "SVC, 100 classes, folds": Case(0.5, SVC(calibration="folds"), classes(100)),
    "SVC, 100 classes against all, folds": Case(0.2, SVC(calibration="folds", multi_class="ovr"), classes(100)),
    "SVC, folds": Case(1.0, SVC(calibration="folds"), signed_noise),
    "SVC, folds, platt": Case(1.0, SVC(calibration="folds", calibration_method="platt"), some(noise, 20_000)),
    "SVC, sparse": Case(1.0, SVC(), some(sparse)),
    "SVC, callable": Case(1.0, SVC(kernel=slow_kernel), some(noise, 20_000)),
    "SVC, precomputed": Case(0.3, SVC(kernel="precomputed", **unlimited("auto", tol=1e-9)), some(gram, FEWER)),
    "NuSVC": Case(1.0, NuSVC(nu=0.5), signed_noise),
    "NuSVC, 10 classes": Case(1.0, NuSVC(nu=0.5), classes(10, SAMPLES)),
    "NuSVC, 300 classes": Case(0.5, NuSVC(nu=0.5), classes(300)),
    "SVR": Case(1.0, SVR(), noisy_wave),
    "SVR, squared": Case(1.0, SVR(loss="squared_epsilon_insensitive"), noisy_wave),
    "NuSVR": Case(1.0, NuSVR(), noisy_wave),
    "OneClassSVM": Case(1.0, OneClassSVM(), only_noise),
    "OneClassSVM, two threads": Case(1.0, OneClassSVM(n_jobs=2), only_noise),
    "OneClassSVM, callable": Case(1.0, OneClassSVM(kernel=slow_kernel), some(noise, 20_000)),
    "OneClassSVM, squared": Case(0.3, OneClassSVM(loss="squared_hinge"), only_noise),
    "OneClassSVM, maxminover": Case(0.5, OneClassSVM(loss="squared_hinge", solver="maxminover"), only_noise),
    "OneClassSVM, mdm": Case(0.3, OneClassSVM(loss="squared_hinge", solver="mdm"), only_noise),
    "OneClassSVM, rejection": Case(1.0, OneClassSVM(target_rejection=0.1), only_noise),
    "SVDD": Case(1.0, SVDD(), only_noise),
    "SVDD, linear": Case(1.0, SVDD(kernel="linear"), only_noise),
    "SVDD, rejection": Case(1.0, SVDD(target_rejection=0.1), only_noise),
    "GridSearchCV": Case(2.0, GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, refit=False), some(noise, 20_000)),
    "GridSearchCV, two jobs": Case(
        2.0, GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, n_jobs=2, refit=False), some(noise, 20_000)
    ),
    "GridSearchCV, nu": Case(
        2.0, GridSearchCV(NuSVC(), {"nu": [0.1, 0.3, 0.5]}, cv=3, refit=False), some(noise, 20_000)
    ),
    "GridSearchCV, 100 classes": Case(
        1.0, GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, refit=False), classes(100)
    ),
    "ModelSearch": Case(2.0, ModelSearch(SVC(), cv=3, refit=False), some(noise, 20_000)),
    "select": Case(2.0, Selecting(), some(noise, 20_000)),
}


def measure(case: Case, rows: int) -> Measured:
    """Train a case; a search that ends before it has a result may say so by an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.fit(*case.data(min(rows, 40)), 30.0)  # imports, and whatever else is done once
    X, y = case.data(rows)
    gc.collect()
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        overrun = Overrun(case.seconds)
        try:
            model = case.fit(X, y, case.seconds)
        except TimeoutError:
            model = None
        finally:
            wall, processor = overrun.end()
    if model is None or not hasattr(model, "predict"):  # a search without its last fit
        return Measured(wall, processor, "")
    told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    report = getattr(model, "fit_report_", None)
    if report is not None and report.converged:
        return Measured(wall, processor, "finished: too easy for a measurement")
    few = X[:PREDICTED]
    values = model.decision_function(few) if hasattr(model, "decision_function") else model.predict(few)
    wrong = "" if told or report is None else "no warning"
    return Measured(wall, processor, wrong if np.isfinite(values).all() else "predictions are not finite")


def report(names: Sequence[str], rows: int) -> bool:
    """Print a line for each case; return whether all of them kept their time."""
    lines, kept = [], True
    for name in names:
        case = CASES[name]
        try:
            found = measure(case, rows)
        except Exception as failure:  # the others are still to be measured
            found = Measured(np.nan, np.nan, f"{type(failure).__name__}: {failure}")
        allowed = case.seconds * SHARE + SECONDS
        wrong = found.wrong or ("" if found.late <= allowed else "late")
        kept = kept and not wrong
        line = [name, *(f"{t:.2f}" for t in (case.seconds, allowed, found.wall, found.processor)), wrong]
        print(*line, sep="\t", flush=True, file=sys.stderr)
        lines.append(line)
    print(render(["", "max_time", "beyond: allowed", "wall", "processor", "wrong"], lines))
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deadlines", description="whether max_time holds")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="parts of names of cases; all of them otherwise")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="samples of the large problems (%(default)s)")
    given = parser.parse_args(arguments)
    names = [name for name in CASES if not given.cases or any(part in name for part in given.cases)]
    if not names:
        parser.error(f"no case has {' or '.join(map(repr, given.cases))} in its name; there are {', '.join(CASES)}")
    return 0 if report(names, given.samples) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Whether ``max_time`` holds: ``python -m benchmarks.deadlines``.

Every case trains on more than its time suffices for; what it takes beyond ``max_time`` may be 0.2 s and a fifth of it.
On a busy machine a process waits: the time that counts is the wall clock's or that of the processor, whichever is less.
The exit status is 1 if a case takes longer, says nothing, or leaves a model whose predictions are not finite.
"""

import argparse
import gc
import sys
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

#: What a case may take beyond its `max_time`: some seconds, and a share of it.
SECONDS, SHARE = 0.2, 0.2

#: Rows and columns of the large problems, unless the command line says otherwise.
ROWS, COLUMNS = 100_000, 50

#: Rows for kernels that cost a call each, and for kernel matrices.
FEWER = 4_000

#: Rows predicted to see that the model is usable.
PREDICTED = 20


@dataclass(frozen=True)
class Case:
    """Something to train in `seconds`: `fit` gets the number of rows and returns the model and rows to predict."""

    seconds: float
    fit: Callable[[int, float], tuple[Any, Any]]


@dataclass(frozen=True)
class Measured:
    """What a case took, by the wall and the processor's clock, and what is wrong with what it left."""

    wall: float
    processor: float
    wrong: str

    @property
    def taken(self) -> float:
        """The time that counts."""
        return min(self.wall, self.processor)


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


def on_noise(model: Any, targets: Callable[[int], Any] | None = signs) -> Callable[[int, float], tuple[Any, Any]]:
    """Return a fit of a model on noise; `targets` may be classes, numbers or nothing."""

    def fit(rows: int, seconds: float) -> tuple[Any, Any]:
        X = noise(rows)
        model.set_params(max_time=seconds)
        return (model.fit(X) if targets is None else model.fit(X, targets(rows))), X[:PREDICTED]

    return fit


def on(model: Any, examples: Callable[[int], Any], rows: int | None = None) -> Callable[[int, float], tuple[Any, Any]]:
    """Return a fit of a model on other examples, on so many rows of them at most."""

    def fit(all_rows: int, seconds: float) -> tuple[Any, Any]:
        n = all_rows if rows is None else min(all_rows, rows)
        X = examples(n)
        return model.set_params(max_time=seconds).fit(X, signs(n)), X[:PREDICTED]

    return fit


def many_classes(model: Any, classes: int, rows: int) -> Callable[[int, float], tuple[Any, Any]]:
    """Return a fit of a model on many classes."""

    def fit(all_rows: int, seconds: float) -> tuple[Any, Any]:
        n = min(all_rows, rows)
        X, y = noise(n), np.arange(n) % min(classes, n // 4)
        return model.set_params(max_time=seconds).fit(X, y), X[:PREDICTED]

    return fit


def selected(rows: int, seconds: float) -> tuple[Any, Any]:
    """Choose a model by `select`, whose last fit, on all rows, comes on top."""
    X = noise(rows)
    return select(X, signs(rows), max_time=seconds).model, X[:PREDICTED]


def wave(rows: int) -> Any:
    """Return targets with noise."""
    return np.sin(noise(rows)[:, 0]) + np.random.default_rng(3).normal(size=rows)


def unlimited(name: str, **others: Any) -> dict[str, Any]:
    """Return parameters of a classifier that takes long."""
    return {"C": 100.0, "solver": name, **others}


CASES: Mapping[str, Case] = {
    "SVC": Case(1.0, on_noise(SVC())),
    "SVC, two threads": Case(1.0, on_noise(SVC(n_jobs=2))),
    "SVC, smo": Case(1.0, on_noise(SVC(**unlimited("smo")))),
    "SVC, block": Case(1.0, on_noise(SVC(**unlimited("block")))),
    "SVC, float64": Case(1.0, on_noise(SVC(dtype="float64"))),
    "SVC, small cache": Case(1.0, on_noise(SVC(cache_size=20))),
    "SVC, squared hinge": Case(1.0, on_noise(SVC(loss="squared_hinge"))),
    "SVC, mdm": Case(1.0, on_noise(SVC(loss="squared_hinge", fit_intercept=False, solver="mdm"))),
    "SVC, hard margin": Case(1.0, on_noise(SVC(C=np.inf))),
    "SVC, linear": Case(1.0, on_noise(SVC(kernel="linear"))),
    "SVC, poly": Case(1.0, on_noise(SVC(kernel="poly"))),
    "SVC, 10 classes": Case(1.0, many_classes(SVC(), 10, ROWS)),
    "SVC, 10 classes against all": Case(1.0, many_classes(SVC(multi_class="ova"), 10, ROWS)),
    "SVC, fuzzy": Case(1.0, many_classes(SVC(decision="fuzzy-minimum"), 10, ROWS)),
    "SVC, 500 classes": Case(0.5, many_classes(SVC(), 500, 2_000)),
    "SVC, 500 classes, two threads": Case(0.5, many_classes(SVC(n_jobs=2), 500, 2_000)),
    "SVC, 500 classes against all": Case(0.5, many_classes(SVC(multi_class="ova"), 500, 2_000)),
    "SVC, 500 classes, hard margin": Case(0.5, many_classes(SVC(C=np.inf), 500, 2_000)),
    "SVC, 500 classes, mdm": Case(
        0.5, many_classes(SVC(loss="squared_hinge", fit_intercept=False, solver="mdm"), 500, 2_000)
    ),
    "SVC, 100 classes, folds": Case(0.5, many_classes(SVC(calibration="folds"), 100, 2_000)),
    "SVC, 100 classes against all, folds": Case(
        0.2, many_classes(SVC(calibration="folds", multi_class="ova"), 100, 2_000)
    ),
    "SVC, folds": Case(1.0, on_noise(SVC(calibration="folds"))),
    "SVC, folds, platt": Case(1.0, on(SVC(calibration="folds", sigmoid="platt"), noise, 20_000)),
    "SVC, sparse": Case(1.0, on(SVC(), sparse)),
    "SVC, callable": Case(1.0, on(SVC(kernel=slow_kernel), noise, 20_000)),
    "SVC, precomputed": Case(0.5, on(SVC(kernel="precomputed", **unlimited("auto", tol=1e-9)), gram, FEWER)),
    "NuSVC": Case(1.0, on_noise(NuSVC(nu=0.5))),
    "NuSVC, 10 classes": Case(1.0, many_classes(NuSVC(nu=0.5), 10, ROWS)),
    "NuSVC, 300 classes": Case(0.5, many_classes(NuSVC(nu=0.5), 300, 2_000)),
    "SVR": Case(1.0, on_noise(SVR(), wave)),
    "SVR, squared": Case(1.0, on_noise(SVR(loss="squared_epsilon_insensitive"), wave)),
    "NuSVR": Case(1.0, on_noise(NuSVR(), wave)),
    "OneClassSVM": Case(1.0, on_noise(OneClassSVM(), None)),
    "OneClassSVM, two threads": Case(1.0, on_noise(OneClassSVM(n_jobs=2), None)),
    "OneClassSVM, callable": Case(1.0, on(OneClassSVM(kernel=slow_kernel), noise, 20_000)),
    "OneClassSVM, squared": Case(0.3, on_noise(OneClassSVM(slack="squared"), None)),
    "OneClassSVM, maxminover": Case(1.0, on_noise(OneClassSVM(slack="squared", solver="maxminover"), None)),
    "OneClassSVM, mdm": Case(0.3, on_noise(OneClassSVM(slack="squared", solver="mdm"), None)),
    "OneClassSVM, rejection": Case(1.0, on_noise(OneClassSVM(target_rejection=0.1), None)),
    "SVDD": Case(1.0, on_noise(SVDD(), None)),
    "SVDD, linear": Case(1.0, on_noise(SVDD(kernel="linear"), None)),
    "SVDD, rejection": Case(1.0, on_noise(SVDD(target_rejection=0.1), None)),
    "GridSearchCV": Case(2.0, on(GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, refit=False), noise, 20_000)),
    "GridSearchCV, two jobs": Case(
        2.0, on(GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, n_jobs=2, refit=False), noise, 20_000)
    ),
    "GridSearchCV, nu": Case(2.0, on(GridSearchCV(NuSVC(), {"nu": [0.1, 0.3, 0.5]}, cv=3, refit=False), noise, 20_000)),
    "GridSearchCV, 100 classes": Case(
        1.0, many_classes(GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, refit=False), 100, 2_000)
    ),
    "ModelSearch": Case(2.0, on(ModelSearch(SVC(), cv=3, refit=False), noise, 20_000)),
    "select": Case(2.0, lambda rows, seconds: selected(min(rows, 20_000), seconds)),
}


def measure(case: Case, rows: int) -> Measured:
    """Train a case; a search that ends before it has a result may say so by an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.fit(min(rows, 40), 30.0)  # imports, and whatever else is done once
    gc.collect()
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began, used = time.perf_counter(), time.process_time()
        try:
            model, X = case.fit(rows, case.seconds)
        except TimeoutError:
            model = None
        wall, processor = time.perf_counter() - began, time.process_time() - used
    if model is None:
        return Measured(wall, processor, "")
    told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    report = getattr(model, "fit_report_", None)
    if report is not None and report.converged:
        return Measured(wall, processor, "finished: too easy for a measurement")
    values = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
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
        allowed = case.seconds * (1 + SHARE) + SECONDS
        wrong = found.wrong or ("" if found.taken <= allowed else "late")
        kept = kept and not wrong
        line = [name, *(f"{t:.2f}" for t in (case.seconds, allowed, found.wall, found.processor)), wrong]
        print(*line, sep="\t", flush=True, file=sys.stderr)
        lines.append(line)
    print(render(["", "max_time", "allowed", "wall", "processor", "wrong"], lines))
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deadlines", description="whether max_time holds")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="parts of names of cases; all of them otherwise")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the large problems (%(default)s)")
    given = parser.parse_args(arguments)
    names = [name for name in CASES if not given.cases or any(part in name for part in given.cases)]
    if not names:
        parser.error(f"no case has {' or '.join(map(repr, given.cases))} in its name; there are {', '.join(CASES)}")
    return 0 if report(names, given.rows) else 1


if __name__ == "__main__":
    sys.exit(main())

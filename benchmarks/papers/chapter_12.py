"""The comparison of [Glasmachers2008, chapter 12]: five ways to choose a model, trial by trial.

A trial draws 200 training samples, chooses C and the Gaussian kernel by one of

- 5-fold-CV: the error of cross-validation, by CMA-ES, 100 sqrt(n) generations;
- KTA: kernel target alignment, by iRprop+, 100 sqrt(n) iterations, then C by 5-fold cross-validation;
- span-bound: the continuous bound of the leave-one-out error, by iRprop+, 100 sqrt(n) iterations;
- likelihood: the likelihood of random hold-out sets, by NoisyRprop, 10,000 sqrt(n) iterations;
- posterior: the same with a prior,

trains on all 200, and counts errors on the test part. Searches begin at Jaakkola's heuristic and, since the thesis does
not say at which C, at 1.
"""

import argparse
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import mannwhitneyu

from benchmarks.peers.problems import FloatMatrix, Labels
from benchmarks.peers.table import render
from widemargin import SVC, ModelSearch
from widemargin.kernels import DiagonalGaussian, Gaussian, Kernel
from widemargin.objectives import CrossValidation, Likelihood, Objective, Posterior, SpanBound, TargetAlignment
from widemargin.study import Journal

START_C = 1.0
TRAINING_ROWS = 200
TRIALS = 100
QUICK_TRIALS = 10
LEVELS = (0.001, 0.01, 0.05)


class Printed(NamedTuple):
    """Mean and standard deviation of the test error in the thesis."""

    mean: float
    deviation: float


class Sample(NamedTuple):
    """Training and test part of a trial."""

    X: FloatMatrix
    y: Labels
    X_test: FloatMatrix
    y_test: Labels


METHODS: dict[str, tuple[Objective, str]] = {
    "5-fold-CV": (CrossValidation(5), "cma-es"),
    "KTA": (TargetAlignment(), "rprop"),
    "span-bound": (SpanBound("retrained"), "rprop"),
    "likelihood": (Likelihood(), "noisy-rprop"),
    "posterior": (Posterior(), "noisy-rprop"),
}


@dataclass(frozen=True)
class Experiment(ABC):
    """A problem, its kernel, and the thesis's errors by method."""

    name: str
    diagonal: bool
    printed: Mapping[str, Printed]

    @property
    def kernel(self) -> Kernel:
        """The kernel that is searched."""
        return DiagonalGaussian() if self.diagonal else Gaussian()

    @abstractmethod
    def draw(self, trial: int, folder: Path | None) -> Sample:
        """Draw the samples of a trial."""


def test_error(experiment: Experiment, method: str, trial: int, folder: Path | None, evaluations: int | None) -> float:
    """Return the share of errors of the model that a method chooses."""
    sample = experiment.draw(trial, folder)
    objective, strategy = METHODS[method]
    machine = SVC(kernel=experiment.kernel, C=START_C)
    search = ModelSearch(
        machine, objective=objective, strategy=strategy, random_state=trial, max_evaluations=evaluations
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(sample.X, sample.y)
        return float(1.0 - search.score(sample.X_test, sample.y_test))


def add_arguments(parser: argparse.ArgumentParser, names: Iterable[str], *, with_data: bool) -> None:
    """Declare the options that all tables of the chapter share."""
    if with_data:
        parser.add_argument("--data", type=Path, help="folder of the data sets; WIDEMARGIN_DATA otherwise")
    parser.add_argument("--problems", help=f"names, comma-separated (all of {', '.join(names)})")
    parser.add_argument("--methods", help=f"names, comma-separated (all of {', '.join(METHODS)})")
    parser.add_argument("--trials", type=int, help=f"trials of each ({TRIALS}; {QUICK_TRIALS} with --quick)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TRIALS} trials")
    parser.add_argument("--evaluations", type=int, help="most evaluations of an objective (the thesis's if not given)")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--journal", type=Path, help="file that keeps finished trials, and from which to go on")


def chosen(given: str | None, known: Iterable[str], what: str) -> list[str]:
    """Read a list of names."""
    names = list(known) if given is None else given.split(",")
    for name in names:
        if name not in known:
            raise SystemExit(f"There is no {what} {name!r}; choose among {', '.join(known)}.")
    return names


def errors_of(
    experiments: Sequence[Experiment], methods: Sequence[str], given: argparse.Namespace
) -> dict[tuple[str, str], list[float]]:
    """Run all trials, those that the journal does not hold; return test errors by problem and method."""
    trials = given.trials or (QUICK_TRIALS if given.quick else TRIALS)
    folder = getattr(given, "data", None)
    identity = {"chapter": 12, "start": START_C, "evaluations": given.evaluations}
    journal = None if given.journal is None else Journal(given.journal, identity)
    known: dict[tuple[str, str, int], float] = {}
    if journal is not None:
        known = {(one["problem"], one["method"], one["trial"]): one["error"] for one in journal.records}
    wanted = [(e, m, t) for e in experiments for m in methods for t in range(trials)]
    missing = [(e, m, t) for e, m, t in wanted if (e.name, m, t) not in known]
    jobs = (delayed(test_error)(e, m, t, folder, given.evaluations) for e, m, t in missing)
    results: Any = Parallel(n_jobs=given.n_jobs, return_as="generator", pre_dispatch="2*n_jobs")(jobs)
    for (e, m, t), error in zip(missing, results, strict=True):
        known[e.name, m, t] = error
        if journal is not None:
            journal.append({"problem": e.name, "method": m, "trial": t, "error": error})
    if journal is not None:
        journal.close()
    return {(e.name, m): [known[e.name, m, t] for t in range(trials)] for e in experiments for m in methods}


def symbol(mine: Sequence[float], other: Sequence[float]) -> str:
    """Compare two methods as the thesis does: < for significantly better, > for worse, else the level.

    A one-sided Mann-Whitney U-test; two or three symbols for levels of 0.01 and 0.001.
    """
    better, worse = (float(mannwhitneyu(mine, other, alternative=side).pvalue) for side in ("less", "greater"))
    for count, level in zip((3, 2, 1), LEVELS, strict=True):
        if min(better, worse) < level:
            return count * ("<" if better < worse else ">")
    return f"{better:.2f}"


def margin(printed: Printed, errors: Sequence[float]) -> float:
    """Return twice the standard error of the difference of two means: the thesis's of 100 trials, and ours."""
    own = float(np.var(errors, ddof=1)) / len(errors) if len(errors) > 1 else 0.0
    return 2.0 * float(np.sqrt(printed.deviation**2 / TRIALS + own))


def table(experiment: Experiment, methods: Sequence[str], errors: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """Return the table of a problem: errors beside the thesis's, and how methods compare."""
    rows = []
    for number, method in enumerate(methods, start=1):
        own, printed = errors[experiment.name, method], experiment.printed[method]
        agrees = "pass" if np.mean(own) <= printed.mean + margin(printed, own) else "FAIL"
        comparison = ["" if other == method else symbol(own, errors[experiment.name, other]) for other in methods]
        rows.append(
            [
                f"{method} ({number})",
                f"{np.mean(own):.3f} +- {np.std(own):.4f}",
                f"{printed.mean:.3f} +- {printed.deviation:.4f}",
                agrees,
                *comparison,
            ]
        )
    header = ["method", "error", "thesis", "", *(f"({number})" for number in range(1, len(methods) + 1))]
    return f"{experiment.name}\n{render(header, rows)}"


def verdict(
    experiments: Sequence[Experiment], methods: Sequence[str], errors: Mapping[tuple[str, str], Sequence[float]]
) -> str:
    """Say on how many of the rows errors are within two standard errors of the thesis's, or below."""
    passed = [
        float(np.mean(errors[e.name, m])) <= e.printed[m].mean + margin(e.printed[m], errors[e.name, m])
        for e in experiments
        for m in methods
    ]
    word = "pass" if all(passed) else "FAIL"
    return f"{word}: {sum(passed)} of {len(passed)} errors within two standard errors of the thesis's, or below"

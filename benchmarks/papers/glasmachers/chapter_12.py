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

from benchmarks.peers.problems import Labels
from benchmarks.peers.table import render
from widemargin import SVC, ModelSearch
from widemargin.kernels import Kernel
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
    """Training and test part of a trial; and what belongs together among the training samples, if anything does."""

    X: Any
    y: Labels
    X_test: Any
    y_test: Labels
    groups: Any = None


#: What is kept of a trial, as JSON values by name: the share of errors, "error", and what an experiment adds.
Record = dict[str, Any]

METHODS: dict[str, tuple[Objective, str]] = {
    "5-fold-CV": (CrossValidation(5), "cma-es"),
    "KTA": (TargetAlignment(), "rprop"),
    "span-bound": (SpanBound("retrained"), "rprop"),
    "likelihood": (Likelihood(), "noisy-rprop"),
    "posterior": (Posterior(), "noisy-rprop"),
}


@dataclass(frozen=True)
class Experiment(ABC):
    """A problem, the kernel that is searched, where the search begins, and the thesis's errors by method."""

    name: str
    kernel: Kernel
    printed: Mapping[str, Printed]

    @abstractmethod
    def draw(self, trial: int, folder: Path | None) -> Sample:
        """Draw the samples of a trial."""

    def findings(self, search: ModelSearch, sample: Sample) -> Record:
        """Say what to keep of a trial, beside the share of errors; as JSON values."""
        return {}


class Row(NamedTuple):
    """An experiment with a method, and how often the objective may be evaluated; None is as often as in the thesis."""

    experiment: Experiment
    method: str
    evaluations: int | None


def run_trial(row: Row, trial: int, folder: Path | None) -> Record:
    """Let a method choose a model, and return what is kept of it."""
    sample = row.experiment.draw(trial, folder)
    objective, strategy = METHODS[row.method]
    search = ModelSearch(
        SVC(kernel=row.experiment.kernel, C=START_C),
        objective=objective,
        strategy=strategy,
        random_state=trial,
        max_evaluations=row.evaluations,
    )
    # Single samples are left out there, whatever belongs together.
    groups = sample.groups if objective.holds_groups_out or not objective.chooses_c else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(sample.X, sample.y, groups=groups)
        error = float(1.0 - search.score(sample.X_test, sample.y_test))
        return {"error": error} | row.experiment.findings(search, sample)


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


def run_trials(
    rows: Sequence[Row],
    n_trials: int,
    folder: Path | None,
    *,
    n_jobs: int,
    journal: Path | None,
    identity: Mapping[str, Any],
) -> dict[tuple[str, str], list[Record]]:
    """Run the trials that the journal does not hold, in the order of the rows; return all, by problem and method.

    Each trial is a line of the journal, which is written when the trial has ended.
    """
    known: dict[tuple[str, str, int], Record] = {}
    keep = None if journal is None else Journal(journal, identity)
    try:
        for one in [] if keep is None else keep.records:
            known[one["problem"], one["method"], one["trial"]] = one
        wanted = [(row, trial) for row in rows for trial in range(n_trials)]
        jobs = (
            delayed(_named)(row, trial, folder)
            for row, trial in wanted
            if (row.experiment.name, row.method, trial) not in known
        )
        found: Any = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(jobs)
        for one in found:
            known[one["problem"], one["method"], one["trial"]] = one
            if keep is not None:
                keep.append(one)
    finally:
        if keep is not None:
            keep.close()
    names = [(row.experiment.name, row.method) for row in rows]
    return {name: [known[*name, trial] for trial in range(n_trials)] for name in names}


def _named(row: Row, trial: int, folder: Path | None) -> Record:
    return {"problem": row.experiment.name, "method": row.method, "trial": trial} | run_trial(row, trial, folder)


def errors_of(
    experiments: Sequence[Experiment], methods: Sequence[str], given: argparse.Namespace
) -> dict[tuple[str, str], list[float]]:
    """Run the trials of chapter 12 that are asked for; return test errors by problem and method."""
    found = run_trials(
        [Row(experiment, method, given.evaluations) for experiment in experiments for method in methods],
        given.trials or (QUICK_TRIALS if given.quick else TRIALS),
        getattr(given, "data", None),
        n_jobs=given.n_jobs,
        journal=given.journal,
        identity={"chapter": 12, "start": START_C, "evaluations": given.evaluations},
    )
    return {name: [float(one["error"]) for one in own] for name, own in found.items()}


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


def table(
    experiment: Experiment,
    methods: Sequence[str],
    errors: Mapping[tuple[str, str], Sequence[float]],
    *,
    judged: bool = True,
) -> str:
    """Return the table of a problem: errors beside the thesis's, and how methods compare."""
    rows = []
    for number, method in enumerate(methods, start=1):
        own, printed = errors[experiment.name, method], experiment.printed[method]
        agrees = ["pass" if np.mean(own) <= printed.mean + margin(printed, own) else "FAIL"] if judged else []
        comparison = ["" if other == method else symbol(own, errors[experiment.name, other]) for other in methods]
        thesis = f"{printed.mean:.3f} +- {printed.deviation:.4f}"
        rows.append([f"{method} ({number})", f"{np.mean(own):.3f} +- {np.std(own):.4f}", thesis, *agrees, *comparison])
    marks = [f"({number})" for number in range(1, len(methods) + 1)]
    header = ["method", "error", "thesis", *([""] if judged else []), *marks]
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

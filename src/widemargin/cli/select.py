"""``widemargin select``: choose a model for a table and save it."""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.checks import REGRESSION, TASKS, require_folds, require_place, require_target
from widemargin.cli.data import add_table_options, add_training_options, training_table
from widemargin.cli.facts import Facts, print_facts
from widemargin.cli.messages import CommandError, progress_bar
from widemargin.cli.options import fold_count, n_jobs, seconds
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.model_selection.selection import Selection, select
from widemargin.persistence.model_file import save_model
from widemargin.study import JournalError
from widemargin.study.progress import duration
from widemargin.study.report import SearchReport

#: Whole numbers of up to so many different values are classes.
MOST_CLASSES = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_table_options(parser, "the samples to train on")
    add_training_options(parser)
    parser.add_argument("--model", type=Path, metavar="FILE", help="write the chosen model to this file")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="save progress here and resume from it")
    parser.add_argument(
        "--max-time", type=seconds, metavar="SECONDS", help="stop after this long, with the best model so far"
    )
    parser.add_argument(
        "--task",
        choices=TASKS,
        help=f"default: classification if the target is text, or whole numbers with up to {MOST_CLASSES} values",
    )
    parser.add_argument(
        "--cv", type=fold_count, default=5, metavar="K", help="folds of the cross-validation (default: %(default)s)"
    )
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 uses all cores (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose a model, print what was chosen, and save it."""
    require_place("--model", arguments.model, arguments.table, arguments.journal)
    # A grid that is extended writes further journal files to the same folder.
    require_place("--journal", arguments.journal, arguments.table)
    table = training_table(arguments)
    assert table.y is not None
    require_target(table, arguments.task)
    regression = arguments.task == REGRESSION if arguments.task else not _are_classes(table.y)
    require_folds(table.y, arguments.cv, regression)
    warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the report counts what was not finished
    try:
        chosen = select(
            table.X,
            table.y,
            regression=regression,
            cv=arguments.cv,
            max_time=arguments.max_time,
            journal=arguments.journal,
            n_jobs=arguments.n_jobs,
            progress=progress_bar(arguments.quiet),
        )
    except TimeoutError:
        given = f"{arguments.max_time:g}"
        raise CommandError(f"--max-time {given} is too short: no candidate was finished; allow more") from None
    except (JournalError, ValueError) as problem:
        raise CommandError(str(problem)) from None
    print_facts(described(chosen, table.X.shape, table.y, regression=regression, folds=arguments.cv))
    if arguments.model is not None:
        save_model(
            chosen.model,
            arguments.model,
            feature_names=table.names,
            target=table.target,
            encoded=table.encoded,
            selection={"score": chosen.score, "standard_error": chosen.standard_error, **chosen.parameters},
        )
        print_facts([("saved", str(arguments.model))])
    return 0


def described(chosen: Selection, shape: tuple[int, int], y: Any, *, regression: bool, folds: int) -> Facts:
    """Say in a few lines what was chosen, how sure that is, and what it took."""
    kind = "numeric target" if regression else f"{len(np.unique(y))} classes"
    values = ", ".join(f"{name} = {value:.4g}" for name, value in chosen.parameters.items())
    work = chosen.work
    facts = [
        ("data", f"{shape[0]:,} samples, {shape[1]:,} features, {kind}"),
        ("model", f"{'SVR' if regression else 'SVC'}, Gaussian kernel, standardised features: {values}"),
        (
            "score",
            f"{'R^2' if regression else 'accuracy'} {chosen.score:.4f}, standard error {chosen.standard_error:.4f} "
            f"over {folds} folds",
        ),
        ("ties", _tied(chosen)),
        ("work", _work(work)),
        (
            "kernel",
            f"{work.kernel_evaluations:,} values computed; {work.cold_kernel_evaluations:,} if fits shared none",
        ),
    ]
    if chosen.edges:
        ends = ", ".join(f"{name} is the {edge} that was tried" for name, edge in chosen.edges.items())
        facts.append(("edge", f"{ends}; a better model may lie beyond"))
    return facts


def _work(work: SearchReport) -> str:
    parts = [f"{work.trained:,} trained"]
    if work.skipped:
        parts.append(f"{work.skipped:,} skipped as provably identical")
    if work.unfinished:
        parts.append(f"{work.unfinished:,} not finished")
    seconds = f"{work.seconds:.2f} s" if work.seconds < 10 else duration(work.seconds)
    return f"{work.fits:,} fits: {', '.join(parts)}; {seconds}"


def _tied(chosen: Selection) -> str:
    if len(chosen.ties) < 2:
        return f"none among {chosen.candidates} candidates"
    ranges = []
    for name in ("C", "gamma"):
        values = [one[name] for one in chosen.ties]
        ranges.append(f"{name} {min(values):.4g} to {max(values):.4g}")
    tied = f"{len(chosen.ties)} of {chosen.candidates} candidates score the same"
    return f"{tied} ({', '.join(ranges)}); the smoothest is kept"


def _are_classes(y: Any) -> bool:
    values = np.unique(y)
    if values.dtype.kind not in "iuf":
        return True
    return len(values) <= MOST_CLASSES and bool(np.all(values == np.round(values)))

"""``widemargin select``: choose a machine for a table, and keep it."""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.checks import require_place, require_splits, require_target
from widemargin.cli.data import add_table_options, add_training_options, training_table
from widemargin.cli.facts import Facts, print_facts
from widemargin.cli.messages import CommandError, progress_bar
from widemargin.cli.options import n_jobs, seconds, split_count
from widemargin.model_selection.grid.report import WorkReport
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.model_selection.selection import Selection, select
from widemargin.persistence.model_file import save_model
from widemargin.study import JournalError
from widemargin.study.progress import duration

#: Whole numbers of up to so many different values are classes.
MOST_CLASSES = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_table_options(parser, "the rows to learn from")
    add_training_options(parser)
    parser.add_argument("--model", type=Path, metavar="FILE", help="write the chosen model to this file")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="keep what is finished, and go on from there")
    parser.add_argument("--max-time", type=seconds, metavar="SECONDS", help="end with the best found until then")
    parser.add_argument(
        "--task",
        choices=("classes", "numbers"),
        help=f"what the target is (default: classes if text or up to {MOST_CLASSES} different whole numbers)",
    )
    parser.add_argument(
        "--splits", type=split_count, default=5, metavar="K", help="of the cross-validation (default: %(default)s)"
    )
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 takes all cores (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose, print what was chosen, and write the model."""
    require_place("--model", arguments.model, arguments.table, arguments.journal)
    # Where the grid grows, a journal gets further files in its folder.
    require_place("--journal", arguments.journal, arguments.table)
    table = training_table(arguments)
    assert table.y is not None
    require_target(table, arguments.task)
    regression = arguments.task == "numbers" if arguments.task else not _are_classes(table.y)
    require_splits(table.y, arguments.splits, regression)
    warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the work that was left is told
    try:
        chosen = select(
            table.X,
            table.y,
            regression=regression,
            n_splits=arguments.splits,
            max_time=arguments.max_time,
            journal=arguments.journal,
            n_jobs=arguments.n_jobs,
            progress=progress_bar(arguments.quiet),
        )
    except TimeoutError:
        given = f"{arguments.max_time:g}"
        raise CommandError(f"--max-time {given} ended before any candidate was finished; allow more") from None
    except (JournalError, ValueError) as problem:
        raise CommandError(str(problem)) from None
    print_facts(described(chosen, table.X.shape, table.y, regression=regression, splits=arguments.splits))
    if arguments.model is not None:
        save_model(
            chosen.model,
            arguments.model,
            feature_names=table.names,
            target=table.target,
            encoded=table.encoded,
            selection={"score": chosen.score, "standard_error": chosen.standard_error, **chosen.parameters},
        )
        print_facts([("model", str(arguments.model))])
    return 0


def described(chosen: Selection, shape: tuple[int, int], y: Any, *, regression: bool, splits: int) -> Facts:
    """Say in a few lines what was chosen, how sure that is, and what it took."""
    kind = "numbers" if regression else f"{len(np.unique(y))} classes"
    values = ", ".join(f"{name} = {value:.4g}" for name, value in chosen.parameters.items())
    work = chosen.work
    facts = [
        ("data", f"{shape[0]:,} rows, {shape[1]:,} features, {kind}"),
        ("machine", f"{'SVR' if regression else 'SVC'}, Gaussian kernel, standardised features: {values}"),
        (
            "score",
            f"{'R^2' if regression else 'accuracy'} {chosen.score:.4f}, standard error {chosen.standard_error:.4f} "
            f"over {splits} splits",
        ),
        ("ties", _tied(chosen)),
        ("work", _work(work)),
        (
            "kernel",
            f"{work.kernel_evaluations:,} values computed; {work.cold_kernel_evaluations:,} if machines shared nothing",
        ),
    ]
    if chosen.edges:
        ends = ", ".join(f"{name} is the {edge} that was tried" for name, edge in chosen.edges.items())
        facts.append(("edge", f"{ends}; a better one may lie beyond"))
    return facts


def _work(work: WorkReport) -> str:
    parts = [f"{work.machines:,} machines asked for", f"{work.solved:,} trained"]
    if work.repeated:
        parts.append(f"{work.repeated:,} equal to one that was")
    if work.unfinished:
        parts.append(f"{work.unfinished:,} left undone")
    seconds = f"{work.seconds:.2f} s" if work.seconds < 10 else duration(work.seconds)
    return f"{', '.join(parts)}; {seconds}"


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

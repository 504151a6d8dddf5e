"""``widemargin select``: choose a model for a table and save it."""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli import compact, sequences
from widemargin.cli.messages import CommandError, Facts, note, print_facts, progress_bar
from widemargin.cli.options import add_table_options, fold_count, layout_of, n_jobs, seconds
from widemargin.cli.places import add_force, require_other_output, require_place
from widemargin.datasets import Table, read_table
from widemargin.datasets.delimited import is_number
from widemargin.datasets.tables import TARGET_NAMES
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.model_selection.selection import Selection, journal_files, select
from widemargin.persistence.model_file import is_model_file, save_model
from widemargin.study import JournalError
from widemargin.study.progress import duration
from widemargin.study.report import SearchReport

#: Values of --task.
TASKS = CLASSIFICATION, REGRESSION = "classification", "regression"

#: Folds of the cross-validation.
FOLDS = 5

#: Whole numbers of up to so many different values are classes.
MOST_CLASSES = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_table_options(parser, "the samples to train on")
    names = ", ".join(TARGET_NAMES[:-1])
    parser.add_argument(
        "--target",
        metavar="NAME",
        help=f"the column to predict (default: one named {names} or {TARGET_NAMES[-1]}, else the last)",
    )
    parser.add_argument("--encode", action="store_true", help="one-hot encode text columns")
    sequences.configure(parser)
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="NAME", help="leave this column out; may be given repeatedly"
    )
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
    parser.add_argument("--cv", type=fold_count, metavar="K", help=f"folds of the cross-validation (default: {FOLDS})")
    compact.configure(parser)
    parser.add_argument(
        "--n-jobs", type=n_jobs, default=-1, metavar="N", help="threads; -1 uses all cores (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_force(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose a model, print what was chosen, and save it."""
    require_places(arguments)
    table = training_table(arguments)
    assert table.y is not None
    require_target(table, arguments.task)
    regression = arguments.task == REGRESSION if arguments.task else not _are_classes(table.y)
    compact.require_together(arguments, regression, table)
    sequences.require_together(arguments, table)
    if arguments.compact:
        small, facts = compact.chosen(arguments, table)
        print_facts(facts)
        if not compact.beats_chance(small, table):
            note(no_better("a single class", guessed=False))
        rates = {"recognition_rate": small.recognition_rate_, "quality": small.quality_}
        save(small, arguments.model, table, rates)
        return 0
    folds = FOLDS if arguments.cv is None else arguments.cv
    require_folds(table.y, folds, regression)
    sequences.require_groups(table.groups, folds)
    warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the report counts what was not finished
    # Whole numbers may be either; two of them are classes to everybody.
    guessed = arguments.task is None and table.y.dtype.kind in "iu" and len(np.unique(table.y)) > 2
    if guessed:
        note(guessed_task(table, regression))
    try:
        chosen = select(
            table.X,
            table.y,
            regression=regression,
            cv=folds,
            groups=table.groups,
            origin=arguments.origin,
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
    print_facts(described(chosen, table, regression=regression, folds=folds))
    if not chosen.beats_baseline:
        note(no_better("the mean" if regression else "the most frequent class", guessed=guessed))
    selection = {"score": chosen.score, "standard_error": chosen.standard_error, "baseline": chosen.baseline}
    selection |= chosen.parameters
    save(chosen.model, arguments.model, table, selection)
    return 0


def require_places(arguments: argparse.Namespace) -> None:
    """Refuse files that must not be written; a model replaces a model, and a journal goes on."""
    tables = [arguments.table, *arguments.others, arguments.costs]
    journals = [] if arguments.journal is None else journal_files(arguments.journal)
    require_other_output(*tables)
    require_place("--model", arguments.model, *tables, *journals, force=arguments.force, ours=is_model_file)
    for journal in journals:  # never replaced: a journal refuses what is none
        require_place("--journal", journal, *tables, force=True)


def save(model: Any, path: Path | None, table: Table, selection: dict[str, float]) -> None:
    """Write the model, if that was asked for, with what the table says of its columns."""
    if path is None:
        return
    save_model(model, path, feature_names=table.names, target=table.target, encoded=table.encoded, selection=selection)
    print_facts([("saved", str(path))])


def training_table(arguments: argparse.Namespace) -> Table:
    """Read the table, and say what was assumed about it."""
    if arguments.others:
        return sequences.classes_of_files(arguments)
    table = read_table(
        arguments.table,
        target=arguments.target,
        encode=arguments.encode,
        ignore=arguments.ignore,
        sequence=arguments.sequence,
        group=arguments.group,
        **layout_of(arguments),
    )
    for sentence in table.notes:
        note(sentence)
    return table


def require_target(table: Table, task: str | None) -> None:
    """Refuse text as the target of a regression, and fractions as class labels."""
    y: Any = table.y
    if task == REGRESSION and y.dtype.kind not in "iuf":
        wrong, wanted = [not is_number(value) for value in y.tolist()], "numbers"
    elif task == CLASSIFICATION and y.dtype.kind == "f":
        wrong, wanted = y != np.round(y), "text or whole numbers"
    else:
        return
    if not np.any(wrong):
        return
    row = int(np.argmax(wrong))
    named = "the target" if table.target is None else f"the target, column {table.target!r},"
    raise CommandError(
        f"--task {task} takes {wanted}, but {named} is {y[row].item()!r} in row {row + 1}; "
        f"{np.count_nonzero(wrong):,} of {len(y):,} rows are like this"
    )


def require_folds(y: Any, folds: int, regression: bool) -> None:
    """Refuse more folds than the smallest class has samples."""
    if regression:
        least, whole = len(y), "the table"
    else:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            raise CommandError("the target has only one class; two are needed")
        least, whole = int(counts.min()), f"class {classes[counts.argmin()].item()!r}"
    if least < 2:
        raise CommandError(f"{whole} has only one sample; cross-validation needs at least two")
    if folds > least:
        raise CommandError(f"--cv must be from 2 to {least}, the number of samples of {whole}; got {folds}")


def guessed_task(table: Table, regression: bool) -> str:
    """Say what whole numbers were taken for, which may be either, and how to change it."""
    named = "The target" if table.target is None else f"The target, column {table.target!r},"
    different = len(np.unique(np.asarray(table.y)))
    taken, other = ("a number to predict", CLASSIFICATION) if regression else ("classes", REGRESSION)
    return f"{named} holds {different:,} different whole numbers, taken as {taken}; add --task {other} to change that."


def no_better(alone: str, *, guessed: bool) -> str:
    """Warn of a model that might as well not be there."""
    other = ", or the task is another one (--task)" if guessed else ""
    return (
        f"Warning: the model is not better than {alone} alone by two standard errors; the features may say nothing "
        f"about the target{other}."
    )


def described(chosen: Selection, table: Table, *, regression: bool, folds: int) -> Facts:
    """Say in a few lines what was chosen, how sure that is, and what it took."""
    kind = "numeric target" if regression else f"{len(np.unique(np.asarray(table.y)))} classes"
    values = ", ".join(f"{name} = {value:.4g}" for name, value in chosen.parameters.items())
    work = chosen.work
    whole = "" if table.groups is None else ", no group on both sides of any"
    facts = [
        ("data", f"{sequences.counted_samples(table)}, {kind}"),
        ("model", f"{'SVR' if regression else 'SVC'}, {chosen.kernel}: {values}"),
        (
            "score",
            f"{'R^2' if regression else 'accuracy'} {chosen.score:.4f}, standard error {chosen.standard_error:.4f} "
            f"over {folds} folds{whole}; {'the mean' if regression else 'the most frequent class'} alone has "
            f"{chosen.baseline:.4f}",
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
    for name in chosen.ties[0]:
        values = [one[name] for one in chosen.ties]
        ranges.append(f"{name} {min(values):.4g} to {max(values):.4g}")
    tied = f"{len(chosen.ties)} of {chosen.candidates} candidates score the same"
    return f"{tied} ({', '.join(ranges)}); the smoothest is kept"


def _are_classes(y: Any) -> bool:
    values = np.unique(y)
    if values.dtype.kind not in "iuf":
        return True
    return len(values) <= MOST_CLASSES and bool(np.all(values == np.round(values)))

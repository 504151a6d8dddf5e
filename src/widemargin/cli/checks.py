"""Checks before a search begins: that files can be written and the target can be learnt."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.messages import MISUSED, CommandError
from widemargin.datasets import Table
from widemargin.datasets.delimited import is_number


def require_place(option: str, path: Path | None, *others: Path | None) -> None:
    """Refuse a file that cannot be written, or that is already used for something else.

    Parameters
    ----------
    option : str
        The option that names the file, for the message.
    path : Path or None
    *others : Path or None
        Files that it must not be.
    """
    if path is None:
        return
    target = _real(path)
    if target.is_dir():
        raise CommandError(f"{option} must name a file, got the folder {path}")
    if not target.parent.is_dir():
        raise CommandError(f"{option} must name a file in a folder that exists, got {path}")
    if any(other is not None and _real(other) == target for other in others):
        raise CommandError(f"{option} must name a file of its own, got {path}, which is named twice", MISUSED)
    if target.exists() and not _may_write(target):
        raise CommandError(f"{option} must name a file that may be written to, got {path}")
    # Devices are written to as they are; other files by way of a new one beside them.
    if (target.is_file() or not target.exists()) and not _may_write(target.parent):
        raise CommandError(f"{option} must name a file in a folder that may be written to, got {path}")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _may_write(path: Path) -> bool:
    mode = os.W_OK | os.X_OK if path.is_dir() else os.W_OK
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


#: Values of --task.
TASKS = CLASSIFICATION, REGRESSION = "classification", "regression"


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

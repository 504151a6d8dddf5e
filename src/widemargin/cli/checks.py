"""What is found wrong before a search begins: files that could not be written, targets that cannot be learnt."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.cli.messages import MISUSED, CommandError
from widemargin.datasets import Table
from widemargin.datasets.delimited import is_number


def require_place(option: str, path: Path | None, *others: Path | None) -> None:
    """Refuse a file that could not be written in the end, or would take the place of another one that is in use.

    Parameters
    ----------
    option : str
        What names the file, for the message.
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


def require_target(table: Table, task: str | None) -> None:
    """Refuse texts where numbers are asked for, and fractions where classes are."""
    y: Any = table.y
    if task == "numbers" and y.dtype.kind not in "iuf":
        wrong, wanted = [not is_number(value) for value in y.tolist()], "numbers"
    elif task == "classes" and y.dtype.kind == "f":
        wrong, wanted = y != np.round(y), "text or whole numbers"
    else:
        return
    if not np.any(wrong):
        return
    row = int(np.argmax(wrong))
    named = "the target" if table.target is None else f"the target, column {table.target!r},"
    raise CommandError(
        f"--task {task} takes {wanted}, but {named} holds {y[row].item()!r} in row {row + 1}, the first of "
        f"{np.count_nonzero(wrong):,} such"
    )


def require_splits(y: Any, splits: int, regression: bool) -> None:
    """Refuse targets that cannot be split, or not so often."""
    if regression:
        least, whole = len(y), "the table"
    else:
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2:
            raise CommandError("the target holds one class only; two are needed")
        least, whole = int(counts.min()), f"class {classes[counts.argmin()].item()!r}"
    if least < 2:
        raise CommandError(f"{whole} has one row only; cross-validation needs two at least")
    if splits > least:
        raise CommandError(f"--splits must be from 2 to {least}, the number of rows of {whole}; got {splits}")

"""Where the command may write: never over a file that it reads, and over no other file without being told to."""

import argparse
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from widemargin.cli.messages import MISUSED, CommandError


def add_force(parser: argparse.ArgumentParser) -> None:
    """Declare the option that lets existing files be replaced."""
    parser.add_argument(
        "--force", action="store_true", help="replace a file that exists; one that is read is never replaced"
    )


def require_place(
    option: str,
    path: Path | None,
    *others: Path | None,
    force: bool = False,
    ours: Callable[[Path], bool] | None = None,
) -> None:
    """Refuse a file that cannot be written, that is used for something else, or that somebody may want to keep.

    Parameters
    ----------
    option : str
        The option that names the file, for the message.
    path : Path or None
    *others : Path or None
        Files that it must not be, whatever links lead to them.
    force : bool, default=False
        Whether a file that exists may be replaced.
    ours : callable (Path) -> bool, optional
        Tells whether a file that exists is of the kind that is written, and may be replaced in any case.
    """
    if path is None:
        return
    target = Path(os.path.realpath(path))
    exists, is_regular = path.exists(), path.is_file()
    if path.is_dir():
        raise CommandError(f"{option} must name a file, got the folder {path}")
    if not exists and not target.parent.is_dir():
        raise CommandError(f"{option} must name a file in a folder that exists, got {path}")
    for other in others:
        if other is not None and _is_same(path, other):
            same = "has another use" if path == other else f"is the same file as {other}"
            raise CommandError(f"{option} must name a file of its own, got {path}, which {same}", MISUSED)
    if exists and not _may_write(path):
        raise CommandError(f"{option} must name a file that may be written to, got {path}")
    # Devices and pipes are written to as they are; other files by way of a new one beside them.
    if (is_regular or not exists) and not _may_write(target.parent):
        raise CommandError(f"{option} must name a file in a folder that may be written to, got {path}")
    if is_regular and not force and not (ours is not None and ours(path)):
        raise CommandError(f"{option} names {path}, which exists; add --force to replace it, or name another file")


def require_other_output(*read: Path | None) -> None:
    """Refuse to print into a file that is read: a shell lets that happen, with ``>`` and ``>>``."""
    with suppress(OSError, ValueError, AttributeError):  # nobody prints, or not into a file
        printed = os.fstat(sys.stdout.fileno())
        for path in read:
            if path is not None and stat.S_ISREG(printed.st_mode) and os.path.samestat(os.stat(path), printed):
                raise CommandError(f"standard output goes to {path}, which is read; print to another file", MISUSED)


def _is_same(path: Path, other: Path) -> bool:
    """Tell whether two names lead to one file; a terminal may be read and written."""
    try:
        mode = path.stat().st_mode
        return not stat.S_ISCHR(mode) and os.path.samefile(path, other)
    except OSError:  # one of them is not there
        return os.path.realpath(path) == os.path.realpath(other)


def _may_write(path: Path) -> bool:
    mode = os.W_OK | os.X_OK if path.is_dir() else os.W_OK
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)

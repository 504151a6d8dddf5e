"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO


@contextmanager
def replaced_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that takes its place, and that of an older one, only when all of it is on the disk.

    The content goes to a temporary file in the same folder, which is renamed at the end and removed if something fails.
    What is no regular file, such as a pipe or a device, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # Made by open, not by tempfile, so that it has the permissions that a new file gets here.
        with _named_after(path, temporary), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _named_after(path, temporary):
            os.replace(temporary, target)
            _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def _named_after(path: str | PathLike[str], temporary: Path) -> Iterator[None]:
    """Let errors of the system name the file that was asked for, not the temporary one."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or problem.filename not in (None, temporary, os.fspath(temporary)):
            raise
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None


def _sync_folder(folder: Path) -> None:
    # A rename is on the disk only once its folder is; systems that cannot open folders do without.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

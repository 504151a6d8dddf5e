"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO


@contextmanager
def replaced_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that takes its place, and that of an older one, only when all of it is on the disk.

    The content goes to a temporary file in the same folder, which is renamed at the end and removed if something fails.
    It keeps the permissions of the older file. What is no regular file, such as a pipe or a device, is written to
    directly.
    """
    given, target = Path(path), Path(os.path.realpath(path))
    if given.exists() and not given.is_file():  # of a pipe, /dev/stdout say, the real path is none
        with given.open("wb") as file:
            yield file
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    # Short, whatever the file is called: names may be as long as the file system allows.
    temporary = target.with_name(f".widemargin-{secrets.token_hex(6)}.tmp")
    try:
        # Made by open, not by tempfile, so that it has the permissions that a new file gets here.
        with _named_after(path, temporary), temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
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

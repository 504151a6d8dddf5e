"""The journal of a search: what has been evaluated, kept in a file that survives every kind of end.

A journal is a text file with one JSON object a line. The first line is a header,
``{"schema": 2, "study": "widemargin", "identity": {...}, "crc": "..."}``, where the identity says which search the rest
belongs to; every further line is a record. Lines are only ever added, each by one write that reaches the disk before it
counts, and each ends with a checksum of what stands before it. How floats are written that JSON has no word for, and
how lines are sealed: :mod:`widemargin.study.lines`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from widemargin.study.identity import fingerprint
from widemargin.study.lines import Record, as_line, encode, from_line, sealed, unsealed

#: Version of the file's format, not of what a search writes into it (that belongs into the identity).
SCHEMA = 2

_HEADER_START = f'{{"schema": {SCHEMA}, "study": "widemargin", "identity": '.encode()
_DIFFERENCES = {
    "schema": "another version of its records",
    "data": "other data",
    "target": "other targets",
    "weights": "other sample weights",
    "splits": "other folds",
    "candidates": "another grid",
    "estimator": "another estimator",
    "scoring": "another scoring",
    "plan": "another plan",
    "objective": "another objective",
    "strategy": "another strategy",
    "space": "other parameters to search, or other bounds of them",
    "random_state": "another random_state",
}


#: What an identity says of the samples.
_SAMPLES = ("data", "target")

#: Times that the header of a journal is looked for which another search has just created, 10 milliseconds apart.
_LOOKS = 100


class JournalError(RuntimeError):
    """A journal cannot be read, belongs to another search, or cannot be written."""


class Journal:
    """An append-only file of records that belong to one search.

    Opening an existing journal reads it back. What a killed process or a power failure left of a line at its end is
    dropped. While a journal is open it is locked, so that no two searches write to it; the lock ends with the process,
    however that ends.

    Parameters
    ----------
    path : str or path-like
        The file; it is created if there is none. Its folder must exist.
    identity : mapping
        What tells this search from others, as JSON values: versions, and a :func:`~widemargin.study.fingerprint` of
        the data, the grid, the folds. It must be the one that the file was created with. The keys `schema`, `data`,
        `target`, `weights`, `splits`, `candidates`, `estimator`, `scoring`, `plan`, `objective`, `strategy`, `space`
        and `random_state` are put into words where it is not; others are named.

    Attributes
    ----------
    path : pathlib.Path
    identity : dict
    records : list of dict
        All records in order, those that were read and those that were appended to be kept, as they are read back:
        tuples are lists, NumPy's numbers are Python's.

    Raises
    ------
    JournalError
        If the file cannot be opened or created, is in use, belongs to another search or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "study.jsonl"
    >>> with Journal(path, {"data": "5f0c", "splits": "91aa"}) as journal:
    ...     journal.append({"candidate": 0, "split": 0, "score": 0.1 + 0.2})
    ...     journal.append({"candidate": 1, "split": 0, "score": float("nan")})
    >>> print(path.read_text(), end="")
    {"schema": 2, "study": "widemargin", "identity": {"data": "5f0c", "splits": "91aa"}, "crc": "989dde2f"}
    {"candidate": 0, "split": 0, "score": 0.30000000000000004, "crc": "094ea604"}
    {"candidate": 1, "split": 0, "score": "=nan", "crc": "4bb374c7"}
    >>> with Journal(path, {"data": "5f0c", "splits": "91aa"}) as journal:
    ...     journal.records[1]["score"]
    nan
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path must be the name of a file (str or path-like); got {path!r}.")
        self.path = Path(path).expanduser()
        header = as_line({"schema": SCHEMA, "study": "widemargin", "identity": dict(identity)})
        self.identity: Record = from_line(header)["identity"]
        self.records: list[Record] = []
        self._writing = threading.RLock()
        self._end = 0
        self._descriptor: int | None = self._open()
        try:
            self._read()
            if self._end == 0:
                self._write(sealed(header))
                self._sync_folder()
        except BaseException:
            self.close()
            raise
        _OPEN.add(self)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on the disk when this returns.

        Parameters
        ----------
        record : mapping
            JSON values by name: None, bools, numbers, strings, and lists and mappings of these. NumPy's numbers count
            as Python's.

        Raises
        ------
        JournalError
            If the record cannot be written (no space left, journal closed, file deleted). The file then holds what it
            held before.
        TypeError
            If the record holds something else.
        """
        self.extend([record])

    def extend(self, records: Iterable[Mapping[str, Any]], *, keep: bool = True) -> None:
        """Add several records with one write; all of them are on the disk when this returns.

        Waiting for the disk takes longer than many models do, so those that end together are best added together.

        Parameters
        ----------
        records : iterable of mappings
            As for :meth:`append`. If the process is killed meanwhile, the first few of them may be there.
        keep : bool, default=True
            Whether they are added to `records` too; the file holds them in any case.
        """
        lines = [as_line(record) for record in records]
        with self._writing:
            if lines:
                self._write(b"".join(map(sealed, lines)))
                if keep:
                    self.records.extend(from_line(line) for line in lines)

    def refuse(self, number: int, wrong: str) -> NoReturn:
        """Raise the error that a record cannot be used.

        Parameters
        ----------
        number : int
            Where it is in `records`.
        wrong : str
            What is wrong, as it goes on after "is damaged in line 3 of 7, ".
        """
        self._refuse_line(number + 2, len(self.records) + 1, wrong)  # lines count from 1, and the first is the header

    def close(self) -> None:
        """Let go of the file and of its lock, once a write that is under way is done; closing again does nothing."""
        with self._writing:
            self._let_go()

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._descriptor is None else "open"
        return f"Journal({str(self.path)!r}, {len(self.records)} records, {state})"

    def _fail(self, sentence: str, cause: BaseException | None = None) -> NoReturn:
        raise JournalError(f"The journal {str(self.path)!r} {sentence}.") from cause

    def _refuse_line(self, line: int, of: int, wrong: str, cause: BaseException | None = None) -> NoReturn:
        advice = "remove that line, give another file name, or delete the file to start over"
        self._fail(f"is damaged in line {line} of {of}, {wrong}; {advice}", cause)

    def _open(self) -> int:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        except (OSError, ValueError) as error:
            self._fail(_why_not_opened(self.path, error), error)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                self._fail("is not a regular file; give another file name")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                self._fail("is in use by another search; wait until that has ended, or give another file name", error)
            if isinstance(error, OSError):
                self._fail(f"cannot be locked ({error.strerror}); give a file name on another file system", error)
            raise
        return descriptor

    def _read(self) -> None:
        """Read the lines, refuse those of another search, and cut off what is left of one that was being written."""
        descriptor = self._ready()
        try:
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read()
        except OSError as error:
            self._fail(f"cannot be read ({error.strerror}); give another file name", error)
        *lines, torn = content.split(b"\n")
        # Zero bytes are no part of any line: some file systems leave them after a power failure, where a write had not
        # reached the disk.
        if lines and not torn and b"\0" in lines[-1]:
            torn = lines.pop()
        if lines:
            self._check_header(lines[0], len(lines))
        elif not (torn.startswith(_HEADER_START) or _HEADER_START.startswith(torn)):
            self._fail("is not a journal of widemargin (its first line is no header); give another file name")
        for number, line in enumerate(lines[1:], start=2):
            try:
                self.records.append(from_line(unsealed(line)))
            except (ValueError, RecursionError) as error:
                self._refuse_line(number, len(lines), "which is not what was written there", error)
        self._end = sum(len(line) + 1 for line in lines)
        if self._end < len(content):
            self._cut_back(descriptor)

    def _check_header(self, line: bytes, of: int) -> None:
        try:
            header = from_line(unsealed(line))
        except (ValueError, RecursionError) as error:
            if line.startswith(_HEADER_START) or b'"crc": "' in line:
                self._refuse_line(1, of, "which is not what was written there", error)
            header = _without_checksum(line)
        if header.get("study") != "widemargin" or "schema" not in header:
            self._fail("is not a journal of widemargin (its first line is no header); give another file name")
        if header["schema"] != SCHEMA or not isinstance(header.get("identity"), dict):
            self._fail(
                f"was written by another release of widemargin, in version {header['schema']!r} of the format where"
                f" this one reads version {SCHEMA}; give another file name, or delete it to start over"
            )
        differences = _differences(header["identity"], self.identity)
        if differences:
            self._fail(f"belongs to a search with {differences}; give another file name, or delete it to start over")

    def _ready(self) -> int:
        if self._descriptor is None:
            self._fail("is closed; open it again to add records")
        return self._descriptor

    def _write(self, lines: bytes) -> None:
        descriptor = self._ready()
        if os.fstat(descriptor).st_nlink == 0:
            self._fail("was deleted while it was in use; run the search again to start over")
        try:
            _write_all(descriptor, lines, self._end)
            os.fsync(descriptor)
        except BaseException as error:
            self._cut_back(descriptor)
            if isinstance(error, OSError):
                self._fail(_why_not_written(error), error)
            raise
        self._end += len(lines)

    def _cut_back(self, descriptor: int) -> None:
        """Make the file end after its last whole line."""
        try:
            os.ftruncate(descriptor, self._end)
            os.fsync(descriptor)
        except OSError as error:
            self.close()
            self._fail(f"could not be brought back to its last whole line ({error.strerror}); open it again", error)

    def _sync_folder(self) -> None:
        """Make the file's name as durable as its content."""
        try:
            folder = os.open(self.path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system that has nothing to bring to the disk
                self._fail(f"was created, but its folder cannot be brought to the disk ({error.strerror})", error)


def journal_of(path: str | os.PathLike[str], identity: Mapping[str, Any]) -> Journal:
    """Open the journal of a study: the file itself or, if that is about other data, one beside it.

    Searches inside of a cross-validation are given the same path for the data of each fold, and maybe at the same time.

    Parameters
    ----------
    path, identity
        As for :class:`Journal`. A file beside it gets a number that belongs to the data.

    Raises
    ------
    JournalError
        As by :class:`Journal`; of the same data another search is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for data in ("5f0c", "77aa", "5f0c"):
    ...         with journal_of(Path(folder) / "study.jsonl", {"data": data}) as journal:
    ...             print(journal.path.name)
    study.jsonl
    study.f5d4496ef641.jsonl
    study.jsonl
    """
    if not isinstance(path, (str, os.PathLike)):
        return Journal(path, identity)  # which refuses it
    first = Path(path).expanduser()
    own = fingerprint([identity.get(name) for name in _SAMPLES])[:12]
    beside = first.with_name(f"{first.stem}.{own}{first.suffix}")
    if beside.exists():
        return Journal(beside, identity)
    try:
        return Journal(first, identity)
    except JournalError:
        there = _identity_in(first)
        if there is None or all(there.get(name) == identity.get(name) for name in _SAMPLES):
            raise
        return Journal(beside, identity)


def _identity_in(path: Path) -> Record | None:
    """Read what a journal belongs to, whoever writes to it; None if it is no journal that can be read."""
    line = b""
    for look in range(_LOOKS):
        try:
            with open(path, "rb") as file:
                line = file.readline()
        except OSError:
            return None
        if line.endswith(b"\n"):
            break
        if look < _LOOKS - 1:
            time.sleep(0.01)
    try:
        header = from_line(unsealed(line.rstrip(b"\n")))
    except (ValueError, RecursionError):
        return None
    found = header.get("identity")
    return found if header.get("schema") == SCHEMA and isinstance(found, dict) else None


#: Journals that are open in this process.
_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _close_inherited() -> None:
    """Let a forked process not hold the locks of its parent, which it could outlive."""
    for journal in list(_OPEN):
        journal._let_go()  # whoever was writing is not here


os.register_at_fork(after_in_child=_close_inherited)


def _without_checksum(line: bytes) -> Record:
    """Return a header as the first version of the format had it, or nothing."""
    try:
        return from_line(line)
    except (ValueError, RecursionError):
        return {}


def _why_not_opened(path: Path, error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return f"cannot be opened ({error}); give another file name"
    if error.errno == errno.EISDIR:
        return "is a folder; give the name of a file"
    if error.errno == errno.ENOENT:
        return f"cannot be created, since there is no folder {str(path.parent)!r}; create it or give another file name"
    verb = "opened for writing" if os.path.exists(path) else "created"
    return f"cannot be {verb} in the folder {str(path.parent)!r} ({error.strerror}); give another file name"


def _why_not_written(error: OSError) -> str:
    kept = "what it held before is kept, so free some space and run the search again to go on"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"cannot grow, since the disk is full or a limit is reached ({error.strerror}); {kept}"
    return f"cannot be written ({error.strerror}); what it held before is kept"


def _write_all(descriptor: int, lines: bytes, offset: int) -> None:
    """Write at an offset; in one call, unless the system takes less than all."""
    view = memoryview(lines)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _differences(found: Record, wanted: Record) -> str:
    """Put into words how two identities differ; the empty string if they do not."""
    parts = []
    for key in [*wanted, *(key for key in found if key not in wanted)]:
        there, here = (json.dumps(encode(one[key]), sort_keys=True) if key in one else None for one in (found, wanted))
        if there == here:
            continue
        words = _DIFFERENCES.get(key, f"another {key!r}")
        # Fingerprints tell a reader nothing; versions and small settings do.
        if len(there or "") <= 24 and len(here or "") <= 24:
            words += f" ({there or 'none'} there, {here or 'none'} here)"
        if words not in parts:
            parts.append(words)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

"""A journal that many threads write to: those who wait for the disk at the same time share one write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from widemargin.study.journal_part import Records


class JournalWriter:
    """Adds records to a journal, from any thread.

    Whoever finds the disk idle writes what has come in so far, his own record among it; the others wait for the write
    under way, and one of them takes along what all of them brought.

    Parameters
    ----------
    journal : Journal or JournalPart
    written : callable
        Gets the records of a write as soon as they are on the disk; calls never overlap.
    failed : callable
        Gets the error if records cannot be written, or `written` fails. What the journal held before is kept; nothing
        is added after that.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal, JournalWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> on_disk = []
    >>> with Journal(Path(folder.name) / "study.jsonl", {"data": "5f0c"}) as journal:
    ...     writer = JournalWriter(journal, written=on_disk.extend, failed=print)
    ...     writer.put({"score": 0.5})
    ...     journal.records == on_disk == [{"score": 0.5}]
    True
    >>> folder.cleanup()
    """

    def __init__(
        self,
        journal: Records,
        written: Callable[[Sequence[Mapping[str, Any]]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._journal = journal
        self._written, self._failed = written, failed
        self._changed = threading.Condition()
        self._waiting: list[Mapping[str, Any]] = []
        self._busy = self._broken = False
        self._brought = self._settled = 0

    def put(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on the disk when this returns, unless it cannot get there."""
        with self._changed:
            self._waiting.append(record)
            self._brought += 1
            number = self._brought
            self._changed.wait_for(lambda: not self._busy or self._settled >= number)
            if self._settled >= number:
                return
            records, self._waiting = self._waiting, []
            self._busy = True
        try:
            if not self._broken:
                self._journal.extend(records)
                self._written(records)
        except BaseException as error:
            self._broken = True
            self._failed(error)
        finally:
            with self._changed:
                self._busy = False
                self._settled += len(records)
                self._changed.notify_all()

"""A journal that is written beside the search: nobody who works waits for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from widemargin.study.journal import Journal


class JournalWriter:
    """Adds records to a journal from a thread of its own, in their order.

    Waiting for the disk takes longer than many machines do. Records that come in meanwhile are added together, by one
    write, as soon as the disk is there again; a record so reaches the disk within the time of two writes.

    Parameters
    ----------
    journal : Journal
    failed : callable
        Gets the error, in the thread of the writer, if records cannot be written. What the journal held before is kept;
        nothing is added after that.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal, JournalWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "study.jsonl", {"data": "5f0c"}) as journal:
    ...     writer = JournalWriter(journal, failed=print)
    ...     writer.put({"score": 0.5})
    ...     writer.put({"score": 0.75})
    ...     writer.close()
    ...     journal.records
    [{'score': 0.5}, {'score': 0.75}]
    >>> folder.cleanup()
    """

    def __init__(self, journal: Journal, failed: Callable[[BaseException], None]) -> None:
        self._journal = journal
        self._failed = failed
        self._records: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, record: Mapping[str, Any]) -> None:
        """Add a record soon, without waiting for that."""
        with self._starting:
            if self._thread is None:  # not before there is something to write: processes may be forked until then
                self._thread = threading.Thread(target=self._write, name="widemargin-journal", daemon=True)
                self._thread.start()
        self._records.put(record)

    def close(self) -> None:
        """Wait until all records are on the disk, or cannot get there."""
        with self._starting:
            if self._thread is not None:
                self._records.put(None)
                self._thread.join()
                self._thread = None

    def _write(self) -> None:
        while True:
            records = [self._records.get()]
            try:
                while True:
                    records.append(self._records.get_nowait())
            except Empty:
                pass
            try:
                self._journal.extend(record for record in records if record is not None)
            except BaseException as error:
                self._failed(error)
                return
            if records[-1] is None:
                return

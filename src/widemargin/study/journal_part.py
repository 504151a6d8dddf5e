"""Parts of a journal: what belongs to one stage of a search that goes through several, all of them in one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol

from widemargin.study.journal import Journal
from widemargin.study.lines import Record


class Records(Protocol):
    """What searches ask of a journal, or of a part of one."""

    @property
    def records(self) -> list[Record]:
        """All records, in order."""

    def extend(self, records: Iterable[Mapping[str, Any]], *, keep: bool = True) -> None:
        """Add some; they are on the disk when this returns."""

    def refuse(self, number: int, wrong: str) -> NoReturn:
        """Raise the error that a record cannot be used."""


class JournalPart:
    """The records of a journal that carry a label, without it.

    Parameters
    ----------
    journal : Journal
    label : mapping
        Names and values that the records of this part have in common, and that are added to those that come.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(Path(folder.name) / "study.jsonl", {}) as journal:
    ...     JournalPart(journal, {"stage": "kernel"}).extend([{"value": 0.5}])
    ...     JournalPart(journal, {"stage": "C"}).extend([{"score": 0.9}])
    ...     journal.records, JournalPart(journal, {"stage": "C"}).records
    ([{'stage': 'kernel', 'value': 0.5}, {'stage': 'C', 'score': 0.9}], [{'score': 0.9}])
    >>> folder.cleanup()
    """

    def __init__(self, journal: Journal, label: Mapping[str, Any]) -> None:
        self._journal, self._label = journal, dict(label)

    @property
    def records(self) -> list[Record]:
        """The records of this part, in order, as they were given."""
        return [
            {name: value for name, value in record.items() if name not in self._label}
            for record in self._journal.records
            if self._belongs(record)
        ]

    def extend(self, records: Iterable[Mapping[str, Any]], *, keep: bool = True) -> None:
        """Add records with one write, as :meth:`Journal.extend` does."""
        self._journal.extend([{**self._label, **record} for record in records], keep=keep)

    def refuse(self, number: int, wrong: str) -> NoReturn:
        """Raise the error that a record cannot be used; `number` is where it is in `records`."""
        places = [place for place, record in enumerate(self._journal.records) if self._belongs(record)]
        self._journal.refuse(places[number], wrong)

    def _belongs(self, record: Record) -> bool:
        return all(record.get(name) == value for name, value in self._label.items())


def part_of(journal: Journal | None, label: Mapping[str, Any]) -> JournalPart | None:
    """Return a part of a journal, if there is one."""
    return None if journal is None else JournalPart(journal, label)

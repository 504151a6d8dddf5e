"""Findings of a search in its journal: read back and checked, written in groups."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from widemargin.objectives import Effort
from widemargin.study.journal_part import JournalPart
from widemargin.study.point_evaluation import Finding, Vector
from widemargin.study.records import COUNT, NUMBER, TRUTH, Kind, is_number, is_whole, what_is_wrong

#: Version of these records; it changes when their fields do, or their meaning.
FINDING_SCHEMA = 1

#: Seconds between two writes. What is lost with less than that is computed again, to the same bits.
PAUSE = 0.2


class FindingLog:
    """The findings of a search that a journal holds, and those that are added to it.

    Waiting for the disk takes longer than many evaluations do, so that those of a fifth of a second are written
    together. Nothing waits for that: a search that goes on from the journal computes what is missing.

    Parameters
    ----------
    part : JournalPart or None
        None holds nothing and keeps nothing.
    n_dims : int
        Coordinates of a point.

    Attributes
    ----------
    known : dict
        Findings by number.

    Raises
    ------
    JournalError
        If a record is none that this search could have written, with its line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from widemargin.study import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "study.jsonl"
    >>> finding = Finding(0, np.array([0.1]), None, 0.5, None, (), Effort(machines=1), (), 0.02)
    >>> with Journal(path, {}) as journal, FindingLog(JournalPart(journal, {"stage": "kernel"}), 1) as log:
    ...     log.add(finding)
    >>> with Journal(path, {}) as journal, FindingLog(JournalPart(journal, {"stage": "kernel"}), 1) as log:
    ...     log.known[0] == finding
    True
    >>> folder.cleanup()
    """

    def __init__(self, part: JournalPart | None, n_dims: int) -> None:
        self._part = part
        self._waiting: list[dict[str, Any]] = []
        self._written = time.monotonic()
        self._places: dict[int, int] = {}
        self.known: dict[int, Finding] = {}
        self._chosen: list[Finding] = []
        if part is not None:
            self._read(part, _kinds(n_dims))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.write()

    def add(self, finding: Finding, *, chosen: bool = False) -> None:
        """Take a finding; it is written at once if the last ones were a while ago.

        `chosen` marks the value of the point that the search has chosen without having asked for it.
        """
        if self._part is None:
            return
        self._waiting.append(_as_record(finding, chosen))
        if time.monotonic() - self._written >= PAUSE:
            self.write()

    def write(self) -> None:
        """Bring to the disk what is not there yet."""
        if self._part is not None and self._waiting:
            records, self._waiting = self._waiting, []
            self._part.extend(records, keep=False)
            self._written = time.monotonic()

    def value_of(self, number: int, point: Vector) -> Finding | None:
        """Return the finding of a point that was chosen after so many evaluations, if it is known."""
        for finding in self._chosen:
            if finding.number == number and np.array_equal(finding.point, point):
                return finding
        return None

    def refuse(self, number: int, wrong: str) -> NoReturn:
        """Raise the error that the finding of a number cannot be used."""
        assert self._part is not None
        self._part.refuse(self._places[number], wrong)

    def _read(self, part: JournalPart, kinds: dict[str, Kind]) -> None:
        for place, record in enumerate(part.records):
            wrong = what_is_wrong(record, kinds, "evaluations")
            if wrong is None and not record["chosen"] and record["evaluation"] in self.known:
                wrong = f"which holds evaluation {record['evaluation']} again"
            if wrong is not None:
                part.refuse(place, wrong)
            finding = _from_record(record)
            if record["chosen"]:
                self._chosen.append(finding)
            else:
                self.known[finding.number], self._places[finding.number] = finding, place


def _as_record(finding: Finding, chosen: bool) -> dict[str, Any]:
    effort = finding.effort
    return {
        "evaluation": finding.number,
        "point": finding.point.tolist(),
        "part": finding.part,
        "value": finding.value,
        "gradient": None if finding.gradient is None else finding.gradient.tolist(),
        "higher": list(finding.higher),
        "effort": [effort.machines, effort.iterations, effort.kernel_evaluations, effort.factorisations],
        "notes": list(finding.notes),
        "seconds": finding.seconds,
        "chosen": chosen,
    }


def _from_record(record: dict[str, Any]) -> Finding:
    return Finding(
        number=record["evaluation"],
        point=np.array(record["point"], dtype=np.float64),
        part=record["part"],
        value=float(record["value"]),
        gradient=None if record["gradient"] is None else np.array(record["gradient"], dtype=np.float64),
        higher=tuple(map(float, record["higher"])),
        effort=Effort(*record["effort"]),
        notes=tuple(record["notes"]),
        seconds=float(record["seconds"]),
    )


def _kinds(n_dims: int) -> dict[str, Kind]:
    """Say what belongs into each field."""

    def numbers(value: Any, count: int | None = n_dims) -> bool:
        return isinstance(value, list) and all(map(is_number, value)) and count in (None, len(value))

    return {
        "evaluation": COUNT,
        "point": (f"a list of {n_dims} numbers", numbers),
        "part": ("a whole number or null", lambda value: value is None or is_whole(value)),
        "value": NUMBER,
        "gradient": (f"a list of {n_dims} numbers or null", lambda value: value is None or numbers(value)),
        "higher": ("a list of numbers", lambda value: numbers(value, None)),
        "effort": (
            "a list of 4 whole numbers",
            lambda value: isinstance(value, list) and len(value) == 4 and all(map(is_whole, value)),
        ),
        "notes": (
            "a list of texts",
            lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
        ),
        "seconds": NUMBER,
        "chosen": TRUTH,
    }

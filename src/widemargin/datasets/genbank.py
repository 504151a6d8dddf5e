"""Reader of the GenBank flat file format: records of annotated sequences.

A record starts with LOCUS and ends with ``//``. Its FEATURES have a key in column 6 and a location from column 22 on,
followed by qualifiers ``/name="value"``; its letters follow ORIGIN. A location is a part ``10..20``, or
``complement(...)``, ``join(...)`` and ``order(...)`` of locations; ``<`` and ``>`` mark an end that lies outside. What
else there may be (parts of other records, sites between letters, a choice of positions) is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import fspath

from widemargin.datasets.delimited import TableError
from widemargin.datasets.text_file import FilePath, text_lines

_LOCUS = re.compile(r"LOCUS\s+(\S+)\s+(\d+) (?:bp|aa)\b(.*)")
_PART = re.compile(r"(<?)(\d+)(?:\.\.(>?)(\d+))?")
_TOKEN = re.compile(r"(complement|join|order)\(|[,)]|[^,()]+\(?")
#: Parts of other records, sites between letters, choices of positions, gaps, and ends that lie on the other side.
_NO_STRETCH = re.compile(
    r"[A-Za-z][\w.]*:[<>\d.^]*\(?|\d+\^\d+|\d+\.\d+|<?\d+\.\.\(|(?:<?\d+\.\.)?one-of\(|gap\(|[<>]?\d+(?:\.\.[<>]?\d+)?"
)
_COMPLEMENT = str.maketrans("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN")

#: The feature table: where keys and locations start.
_KEY, _LOCATION = 5, 21


@dataclass(frozen=True)
class Part:
    """A stretch of one strand: positions `start` to `stop` - 1, counted from 0, read backwards if `strand` is -1.

    `open_start` and `open_stop` say that a feature goes on outside, in the direction of its strand.
    """

    start: int
    stop: int
    strand: int
    open_start: bool = False
    open_stop: bool = False

    def reversed(self) -> Part:
        """Return the same stretch of the other strand."""
        return Part(self.start, self.stop, -self.strand, self.open_stop, self.open_start)


@dataclass(frozen=True)
class Feature:
    """A feature: its key, its parts in the order they are read, and the values of its qualifiers.

    A qualifier without a value has the value "".
    """

    key: str
    parts: tuple[Part, ...]
    qualifiers: dict[str, list[str]]

    def first(self, qualifier: str, default: str = "") -> str:
        """Return the first value of a qualifier, or `default` if there is none."""
        return self.qualifiers.get(qualifier, [default])[0]


@dataclass(frozen=True)
class SkippedFeature:
    """A feature whose location is not on the sequence of its record, but on another one, say, or between letters.

    `location` is as in the file; `qualifiers` are those of a :class:`Feature`.
    """

    key: str
    location: str
    qualifiers: dict[str, list[str]]


class _NoStretchError(Exception):
    """A part of a location that is no stretch of the sequence of the record."""


@dataclass(frozen=True)
class GenBankRecord:
    """A sequence with its features.

    Attributes
    ----------
    name : str
        The name of the locus.
    sequence : str
        The letters of the given strand, in upper case.
    circular : bool
        Whether the last letter is followed by the first.
    features : list of Feature
        Features of the keys that were asked for, in the order of the file.
    skipped : list of SkippedFeature
        Those of them whose location is not on this sequence.
    """

    name: str
    sequence: str
    circular: bool
    features: list[Feature]
    skipped: list[SkippedFeature] = field(default_factory=list)


@dataclass
class _Draft:
    """A record as it is read: texts of features with their lines, and letters."""

    name: str
    length: int
    circular: bool
    line: int
    section: str = "LOCUS"
    features: list[tuple[int, str, list[str]]] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)


def read_genbank(path: FilePath, *, keys: Iterable[str] = ("CDS",)) -> list[GenBankRecord]:
    """Read a GenBank file (.gb, .gbk, .gbff), of one record or many.

    Files whose name ends in .gz, .bz2 or .xz are decompressed on the way.

    Parameters
    ----------
    path : str or path-like
        The file.
    keys : iterable of str, default=("CDS",)
        The kinds of features to read; others are skipped.

    Returns
    -------
    list of GenBankRecord

    Raises
    ------
    TableError
        In one sentence with the file, the line and the record, if a location is none, not complete or outside the
        sequence, or if a record has no sequence, another length than its first line says, or no end.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_genbank
    >>> _ = Path("tiny.gb").write_text('''LOCUS       TINY  12 bp DNA circular BCT 01-JAN-2000
    ... FEATURES             Location/Qualifiers
    ...      CDS             complement(2..7)
    ...                      /gene="abc"
    ... ORIGIN
    ...         1 attacatggg cc
    ... //
    ... ''')
    >>> record, = read_genbank("tiny.gb")
    >>> record.name, record.circular, record.sequence, record.features[0].first("gene")
    ('TINY', True, 'ATTACATGGGCC', 'abc')
    """
    name, wanted, records = fspath(path), frozenset(keys), list[GenBankRecord]()
    draft: _Draft | None = None
    number = 0
    for number, text in enumerate(text_lines(path), start=1):
        line = text.rstrip()
        if draft is None:
            if line.startswith("LOCUS"):
                draft = _locus(name, number, line)
            elif line and not records:
                raise TableError(f"{name}, line {number}: {line[:20]!r} found, expected a GenBank record, LOCUS ...")
        elif line == "//":
            records.append(_finished(name, number, draft, wanted))
            draft = None
        else:
            _take(name, number, draft, line)
    if draft is not None:
        raise TableError(
            f"{name}, line {number}: the file ends within record {draft.name!r}, expected '//' at its end: "
            "it was cut off; copy it again."
        )
    if not records:
        raise TableError(f"{name} holds no records; expected a GenBank file, which starts with LOCUS.")
    return records


def reverse_complement(sequence: str) -> str:
    """Return the other strand of DNA, read in its own direction; of ambiguity codes those of the complements.

    Examples
    --------
    >>> from widemargin.datasets.genbank import reverse_complement
    >>> reverse_complement("ATGCNR")
    'YNGCAT'
    """
    return sequence.translate(_COMPLEMENT)[::-1]


def _locus(name: str, number: int, line: str) -> _Draft:
    found = _LOCUS.match(line)
    if not found:
        raise TableError(
            f"{name}, line {number}: {line[:60]!r} found, expected such as 'LOCUS NAME 4641652 bp DNA circular'."
        )
    return _Draft(found[1], int(found[2]), "circular" in found[3].split(), number)


def _take(name: str, number: int, draft: _Draft, line: str) -> None:
    """Put a line where its section says."""
    if line[:1].strip():
        draft.section = line.split()[0]
        if draft.section == "LOCUS":
            raise TableError(f"{name}, line {number}: LOCUS found within record {draft.name!r}, expected '//' before.")
    elif draft.section == "FEATURES":
        if line[_KEY : _KEY + 1].strip():
            draft.features.append((number, line[_KEY:_LOCATION].strip(), [line[_LOCATION:].strip()]))
        elif line and draft.features:
            draft.features[-1][2].append(line[_LOCATION:].strip())
    elif draft.section == "ORIGIN" and line:
        letters = "".join(line.split()[1:]).upper()
        if not letters.isalpha():
            raise TableError(
                f"{name}, line {number}: {line.strip()[:20]!r} found in record {draft.name!r}, expected a number and "
                "letters of its sequence."
            )
        draft.letters.append(letters)


def _finished(name: str, number: int, draft: _Draft, keys: frozenset[str]) -> GenBankRecord:
    sequence = "".join(draft.letters)
    if not sequence:
        raise TableError(
            f"{name}, line {number}: record {draft.name!r} has no sequence, expected letters after ORIGIN (download "
            "the full GenBank file)."
        )
    if len(sequence) != draft.length:
        raise TableError(
            f"{name}, line {number}: record {draft.name!r} has {len(sequence)} letters, but line {draft.line} says "
            f"{draft.length}."
        )
    record = GenBankRecord(draft.name, sequence, draft.circular, [])
    for line, key, texts in draft.features:
        if key in keys:
            first = next((i for i, text in enumerate(texts) if text.startswith("/")), len(texts))
            location, qualifiers = "".join(texts[:first]), _qualifiers(texts[first:])
            try:
                parts = _location(f"{name}, line {line}: location {location[:60]!r}", location, len(sequence))
            except _NoStretchError:
                record.skipped.append(SkippedFeature(key, location, qualifiers))
            else:
                record.features.append(Feature(key, parts, qualifiers))
    return record


def _qualifiers(texts: list[str]) -> dict[str, list[str]]:
    """Read qualifiers; a quoted value goes on until its quotation mark is closed, "" within it is one of its own."""
    joined: list[str] = []
    closed = True
    for text in texts:
        if closed:
            joined.append(text)
        else:
            joined[-1] += f" {text}"
        closed = joined[-1].count('"') % 2 == 0
    found: dict[str, list[str]] = {}
    for text in joined:
        name, _, value = text.removeprefix("/").partition("=")
        if value.startswith('"'):
            value = value[1:-1].replace('""', '"')
        found.setdefault(name, []).append(value)
    return found


def _location(where: str, text: str, length: int) -> tuple[Part, ...]:
    """Read a location by its tokens; a stack holds the operators that are open, and what they have got so far."""
    stack: list[tuple[str, list[Part]]] = [("", [])]
    for token in _TOKEN.finditer(text):
        if token[1]:
            stack.append((token[1], []))
        elif token[0] == ")":
            operator, parts = stack.pop()
            if not stack:
                raise TableError(f"{where} has a parenthesis too many.")
            stack[-1][1].extend([part.reversed() for part in reversed(parts)] if operator == "complement" else parts)
        elif token[0] != ",":
            stack[-1][1].append(_part(where, token[0].strip(), length))
    if len(stack) > 1 or not stack[0][1]:
        raise TableError(f"{where} is not complete, expected such as 'complement(join(10..50,60..90))'.")
    return tuple(stack[0][1])


def _part(where: str, text: str, length: int) -> Part:
    found = _PART.fullmatch(text)
    if not found:
        if _NO_STRETCH.fullmatch(text):
            raise _NoStretchError
        raise TableError(f"{where} holds {text[:20]!r}, expected positions such as '10..50'.")
    start, stop = int(found[2]), int(found[4] or found[2])
    if not (1 <= start <= length and 1 <= stop <= length):
        raise TableError(f"{where} does not fit: positions of the record are 1 to {length}.")
    if start > stop:
        raise TableError(
            f"{where} holds {text!r}, which ends before it starts; a part across the origin of a circle is written as "
            f"'join({start}..{length},1..{stop})'."
        )
    return Part(start - 1, stop, 1, bool(found[1]), bool(found[3]))

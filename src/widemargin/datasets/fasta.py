"""Reader of the FASTA format: records of a line ``>name description`` and lines of letters."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import fspath

from widemargin.datasets.delimited import TableError
from widemargin.datasets.text_file import FilePath, text_lines

#: Letters of nucleotides and amino acids with their ambiguity codes, gaps and a stop.
_NO_LETTER = re.compile(r"[^A-Za-z*.-]")

#: Lines that begin so may hold any text, in any encoding.
_HEADER, _COMMENT = ">", ";"


@dataclass(frozen=True)
class Sequences:
    """Sequences of a file, in its order.

    Attributes
    ----------
    names : list of str
        The first word of each header.
    descriptions : list of str
        What follows it.
    sequences : list of str
        The letters, in upper case.
    """

    names: list[str]
    descriptions: list[str]
    sequences: list[str]


@dataclass
class _Record:
    """A record as it is read: its name, the line of its header, and the letters so far."""

    name: str
    description: str
    line: int
    letters: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.letters))


def read_fasta(path: FilePath, *, alphabet: str | None = None) -> Sequences:
    r"""Read a FASTA file.

    Letters are turned into upper case (lower case usually marks repeats). Empty lines, comments (lines that begin with
    ``;``) and blanks within lines are skipped. Lines may end as on any system, and headers that are no UTF-8 are read
    as Latin-1. Files whose name ends in .gz, .bz2 or .xz are decompressed on the way.

    Parameters
    ----------
    path : str or path-like
        The file.
    alphabet : str or None, default=None
        The letters that are accepted, such as "ACGTN"; None accepts every letter, ``-``, ``.`` and
        ``*``.

    Returns
    -------
    Sequences

    Raises
    ------
    TableError
        In one sentence with the file, the line and the record, if a record has no letters, if a character is no letter
        of the alphabet, or if a compressed file was cut off.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If the last record is shorter than all others, which are of one length, and ends with a full line where theirs
        go on over several, so that lines may be missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import read_fasta
    >>> _ = Path("sites.fasta").write_text(">thrA first of its operon\nATGCGAGTG\nTTGAAG\n>thrC\natgaaactc\n")
    >>> found = read_fasta("sites.fasta")
    >>> found.names, found.descriptions, found.sequences
    (['thrA', 'thrC'], ['first of its operon', ''], ['ATGCGAGTGTTGAAG', 'ATGAAACTC'])
    """
    name = fspath(path)
    if alphabet is not None and (not isinstance(alphabet, str) or not alphabet):
        raise ValueError(f"alphabet must be a string of letters such as 'ACGTN', or None, got {alphabet!r}.")
    wrong = _NO_LETTER if alphabet is None else re.compile(f"[^{re.escape(alphabet.upper())}]")
    records: list[_Record] = []
    number = 0
    for number, line in enumerate(_lines(path), start=1):
        if line.startswith(_HEADER):
            _require_letters(name, records)
            records.append(_header(name, number, line))
        elif line and not line.startswith(_COMMENT):
            if not records:
                raise TableError(
                    f"{name}, line {number}: {line[:20]!r} found, expected a header such as '>name' first."
                )
            letters = "".join(line.split()).upper()
            if found := wrong.search(letters):
                raise TableError(
                    f"{name}, line {number}: {found[0]!r} found in record {records[-1].name!r}, expected "
                    f"{'letters' if alphabet is None else f'letters out of {alphabet!r}'} only."
                )
            records[-1].letters.append(letters)
    if not records:
        raise TableError(f"{name} holds no sequences; expected lines such as '>name', each followed by letters.")
    _require_letters(name, records)
    sequences = ["".join(record.letters) for record in records]
    _warn_of_end(name, number, records)
    return Sequences([record.name for record in records], [record.description for record in records], sequences)


def _lines(path: FilePath) -> Iterator[str]:
    """Yield lines without their ends, which may be those of any system."""
    for text in text_lines(path, latin=(_HEADER, _COMMENT)):
        for line in text.rstrip("\r\n").split("\r"):
            yield line.strip()


def _header(name: str, number: int, line: str) -> _Record:
    words = line[1:].split(maxsplit=1)
    if not words:
        raise TableError(f"{name}, line {number}: a header without a name found, expected one such as '>name'.")
    return _Record(words[0], words[1] if len(words) > 1 else "", number)


def _require_letters(name: str, records: list[_Record]) -> None:
    if records and not records[-1].letters:
        raise TableError(
            f"{name}, line {records[-1].line}: record {records[-1].name!r} has no letters, expected at least one."
        )


def _warn_of_end(name: str, number: int, records: list[_Record]) -> None:
    """Warn of a file that may have been cut off in its last record.

    What speaks for it is a last record shorter than the others, where these are of one length, that ends with a full
    line where they go on. It may be meant to be: so may the last piece of a genome that was cut into pieces.
    """
    *others, final = records
    lengths, given = {len(record) for record in others}, len(final)
    if len(others) < 2 or len(lengths) > 1 or given >= min(lengths):
        return
    (full,) = lengths
    widths = {len(line) for record in others for line in record.letters[:-1]}
    if len(widths) == 1 and {len(line) for line in final.letters} == widths:
        warnings.warn(
            f"{name}, line {number}: the last record, {final.name!r}, has {given} letters where all others have "
            f"{full}, and ends with a full line; if the file was cut off there, letters are missing (write each "
            "sequence on one line if not).",
            stacklevel=3,
        )

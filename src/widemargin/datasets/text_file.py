"""What the readers of text formats share: opening files, and the type of labels."""

import bz2
import gzip
import lzma
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import PurePath
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from widemargin.datasets.delimited import TableError, is_number

FilePath: TypeAlias = str | PathLike[str]

#: Bytes of a line from which on there is no point in looking for its end.
LARGEST_LINE = 2**26


#: Modules that read compressed files, by the endings of their names.
_READERS: dict[str, Any] = {".gz": gzip, ".bz2": bz2, ".xz": lzma}


@contextmanager
def open_bytes(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressing it if its name ends in .gz, .bz2 or .xz; say so where it is broken.

    That may only turn out while it is read.
    """
    name = fspath(path)
    reader = _READERS.get(PurePath(name).suffix.lower())
    try:
        with open(path, "rb") if reader is None else reader.open(path, "rb") as stream:
            yield stream
    except EOFError:
        raise TableError(f"{name} cannot be decompressed: it was cut off before its end; copy it again.") from None
    except OSError as problem:
        if problem.errno is not None:
            raise
        raise TableError(f"{name} cannot be decompressed ({problem}).") from None
    except (zlib.error, lzma.LZMAError) as problem:
        raise TableError(f"{name} cannot be decompressed ({problem}).") from None


def uncompressed(path: FilePath) -> PurePath:
    """Return the name of a file without the ending that says how it is compressed.

    Examples
    --------
    >>> uncompressed("sites.fasta.gz").name, uncompressed("sites.fasta").name
    ('sites.fasta', 'sites.fasta')
    """
    plain = PurePath(path)
    return plain.with_suffix("") if plain.suffix.lower() in _READERS else plain


def lines_of(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of a file; refuse one that never ends before it fills the memory."""
    number = 0
    while line := stream.readline(LARGEST_LINE):
        number += 1
        _require_end(name, number, len(line) - line.endswith(b"\n"))
        yield line


def text_lines(path: FilePath, *, latin: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of a text file with their ends; refuse bytes that are no text, and files that were cut off.

    Lines that begin in one of these ways are read as `latin` text where they are no UTF-8.
    """
    free = tuple(beginning.encode() for beginning in latin)
    name, number = fspath(path), 0
    with open_bytes(path) as stream:
        try:
            for number, line in enumerate(lines_of(stream, name), start=1):
                if b"\0" in line:
                    raise TableError(f"{name}, line {number}: a zero byte found, expected a text file.")
                yield _decoded(line, free)
        except UnicodeDecodeError:
            raise TableError(f"{name}, line {number}: bytes found that are no UTF-8, expected a text file.") from None


def _decoded(line: bytes, free: tuple[bytes, ...]) -> str:
    try:
        return line.decode().removeprefix("\N{BYTE ORDER MARK}")
    except UnicodeDecodeError:
        if not line.removeprefix(BOM_UTF8).startswith(free):
            raise
        return line.removeprefix(BOM_UTF8).decode("latin-1")


def content_of(stream: IO[bytes], name: str, head: bytes = b"") -> bytes:
    """Return all of a file whose `head` was read before; refuse lines as :func:`lines_of` does."""
    parts, number, length = [head], 1, 0
    while True:
        part = parts[-1]
        first = part.find(b"\n")
        _require_end(name, number, length + (len(part) if first < 0 else first))
        if first >= 0:
            number, length = number + part.count(b"\n"), 0
        length += len(part) - part.rfind(b"\n") - 1
        following = stream.read(LARGEST_LINE - length)
        if not following:
            return head if len(parts) == 1 else b"".join(parts)
        parts.append(following)


def _require_end(name: str, number: int, length: int) -> None:
    if length >= LARGEST_LINE:
        raise ValueError(
            f"{name}, line {number}: no end of the line within {LARGEST_LINE >> 20} MB, expected a line for every row."
        )


def numeric_labels(numbers: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return labels as int64 if all of them are whole numbers that float64 counts exactly, else as they are."""
    whole = np.array_equal(numbers, np.rint(numbers)) and np.all(np.abs(numbers) <= 2**53)
    return numbers.astype(np.int64) if whole else numbers


def labels_of(texts: list[str]) -> npt.NDArray[Any]:
    """Return labels as numbers if all of them are, else as strings.

    Examples
    --------
    >>> labels_of(["1", "-1"]).tolist(), labels_of(["1", "no"]).tolist()
    ([1, -1], ['1', 'no'])
    """
    if not all(map(is_number, texts)):
        return np.array(texts)
    return numeric_labels(np.array([float(text) for text in texts]))

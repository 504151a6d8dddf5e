"""Lines without an end: refused after as many bytes as a line may have, however many there are."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from widemargin.datasets import TableError, read_libsvm, read_table, text_file
from widemargin.datasets.text_file import LARGEST_LINE, content_of, lines_of


class Endless(io.RawIOBase):
    """A file of one byte repeated for ever, which counts what is read of it."""

    def __init__(self, byte: bytes = b"1") -> None:
        self.byte, self.given = byte, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.given += len(buffer)
        buffer[:] = self.byte * len(buffer)
        return len(buffer)


@pytest.mark.parametrize("name", ["bomb.svm.gz", "bomb.csv.gz", "bomb.gz"])
def test_a_line_of_300_megabytes_is_refused_after_64(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources: list[Endless] = []

    def opened(*_: Any) -> io.BufferedReader:
        sources.append(Endless())
        return io.BufferedReader(sources[-1])

    monkeypatch.setattr(gzip, "open", opened)
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(
        TableError, match=rf"{name}, line 1: no end of the line within 64 MB, expected a line for every"
    ):
        read_table(path)
    assert sum(source.given for source in sources) <= LARGEST_LINE + 2 * 2**16  # with a look at the beginning


def test_a_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "LARGEST_LINE", 2**20)
    path = tmp_path / "bomb.svm.gz"
    path.write_bytes(gzip.compress(b"+1 1:1\n-1 " + b" " * 2**22 + b"1:1\n"))
    with pytest.raises(ValueError, match=r"bomb.svm.gz, line 2: no end of the line within 1 MB"):
        read_libsvm(path)
    path.write_bytes(gzip.compress(b"+1 1:1\n-1 " + b" " * 2**19 + b"1:2\n"))
    assert read_libsvm(path)[0].toarray().tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("length", [1, 2, 7, 63])
@pytest.mark.parametrize("head", [0, 5, 50])
def test_what_is_read_in_parts_is_the_file(length: int, head: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "LARGEST_LINE", 64)
    content = b"".join(b"x" * (n % (length + 1)) + b"\n" for n in range(100)) + b"the end"
    stream = io.BytesIO(content)
    assert content_of(stream, "it", stream.read(head)) == content
    assert list(lines_of(io.BytesIO(content), "it")) == content.splitlines(keepends=True)
    for number in (1, 40, 101):
        lines = content.splitlines(keepends=True)
        lines[number - 1] = b"y" * 64 + b"\n"
        stream = io.BytesIO(b"".join(lines))
        with pytest.raises(ValueError, match=rf"^it, line {number}: no end of the line within"):
            content_of(stream, "it", stream.read(head))
        with pytest.raises(ValueError, match=rf"^it, line {number}: no end of the line within"):
            list(lines_of(io.BytesIO(b"".join(lines)), "it"))

"""The FASTA reader: letters, names, compression, and one sentence for everything that is no FASTA file."""

import gzip

import pytest
from table_files import Write

from widemargin.datasets import TableError, read_fasta


def test_records_over_lines_in_any_case(write: Write) -> None:
    found = read_fasta(write("\ufeff>a first one\r\nACg\r\n\r\nTT\r\n>b\nnnA", "x.fasta"))
    assert found.names == ["a", "b"]
    assert found.descriptions == ["first one", ""]
    assert found.sequences == ["ACGTT", "NNA"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no sequences; expected lines such as '>name'"),
        ("ACGT\n", "line 1: 'ACGT' found, expected a header"),
        (">a\n>b\nACGT\n", "line 1: record 'a' has no letters"),
        (">a\nACGT\n>b\n", "line 3: record 'b' has no letters"),
        (">\nACGT\n", "line 1: a header without a name"),
        (">a\nAC1T\n", "line 2: '1' found in record 'a', expected letters only"),
        (b">a\nAC\0T\n", "line 2: a zero byte found"),
        (b">a\nAC\xffT\n", "line 2: bytes found that are no UTF-8"),
        (
            ">a\nACGT\n>b\nACGT\n>c\nAC",
            "record 'c' has 2 letters where all others",
        ),
    ],
)
def test_bad_files(content: str | bytes, message: str, write: Write) -> None:
    with pytest.raises(TableError, match=r"x\.fasta") as caught:
        read_fasta(write(content, "x.fasta"))
    assert message in str(caught.value)


def test_alphabet(write: Write) -> None:
    path = write(">a\nacgn\n", "x.fasta")
    assert read_fasta(path, alphabet="ACGTN").sequences == ["ACGN"]
    with pytest.raises(TableError, match="line 2: 'N' found in record 'a', expected letters out of 'ACGT' only"):
        read_fasta(path, alphabet="ACGT")
    with pytest.raises(ValueError, match="alphabet must be a string"):
        read_fasta(path, alphabet="")


def test_a_compressed_file_cut_in_half(write: Write) -> None:
    packed = gzip.compress(b"".join(b">s%d\n%s\n" % (i, b"ACGT" * (i % 7 + 1)) for i in range(500)))
    assert len(read_fasta(write(packed, "x.fasta.gz")).names) == 500
    with pytest.raises(TableError, match="it was cut off"):
        read_fasta(write(packed[: len(packed) // 2], "x.fasta.gz"))

"""The FASTA reader: letters, names, compression, and one sentence for everything that is no FASTA file."""

import gzip

import pytest
from table_files import Write

from widemargin.datasets import TableError, read_fasta, read_table


def test_records_over_lines_in_any_case(write: Write) -> None:
    found = read_fasta(write("\ufeff>a first one\r\nACg\r\n\r\nTT\r\n>b\nnnA\n", "x.fasta"))
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
        (b">a\n>b\xff\nAC\n", "line 1: record 'a' has no letters"),
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


@pytest.mark.parametrize(
    "content",
    [
        ">a\nACGT\n>b\nACGT\n>c\nAC\n",  # a line that was ended
        ">a\nACG\nT\n>b\nACG\nT\n>c\nAC\n",  # one that is not full
        ">a\nACG\nT\n>b\nACG\n>c\nACG\n",  # several lengths
        ">a\nACGT\n>b\nACGT\n>c\nACGT",  # as long as the others
        ">c\nACGT",  # nothing to compare with
        ">b\nACGT\n>c\nACG",
        ">a\nACGT\n>b\nACGT\n>c\nAC",  # a last line without an end
        ">a\nACG\nT\n>b\nACG\nT\n>c\nAC",
        ">a\nACGT\n>b\nACGTT\n>c\nACG",
    ],
)
def test_files_that_were_not_cut_off(content: str, write: Write) -> None:
    found = read_fasta(write(content, "x.fasta"))  # warnings are errors here
    assert found.names == ["a", "b", "c"][-content.count(">") :]


@pytest.mark.parametrize(
    "content",
    [
        ">a\nAC\nGT\n>b\nAC\nGT\n>c\nAC\n",
        ">a\nAC\nGT\nA\n>b\nAC\nGT\nA\n>c\nAC\nGT\n",
        ">a\nAC\nGT\n>b\nAC\nGT\n>c\nAC",
    ],
)
def test_a_shorter_last_record_of_full_lines_is_warned_of(content: str, write: Write) -> None:
    with pytest.warns(UserWarning, match=r"x.fasta, line \d+: the last record, 'c', has .* missing") as caught:
        found = read_fasta(write(content, "x.fasta"))
    assert caught[0].filename == __file__
    assert found.names == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["x.fasta.gz", "x.fasta.bz2", "x.fasta.xz"])
def test_what_is_not_compressed_as_its_name_says(name: str, write: Write) -> None:
    with pytest.raises(TableError, match=f"{name} cannot be decompressed"):
        read_fasta(write(">a\nACGT\n", name))


def test_damaged_in_the_middle(write: Write) -> None:
    packed = bytearray(gzip.compress(b"".join(b">s%d\n%s\n" % (i, b"ACGT" * (i % 7 + 1)) for i in range(500))))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(TableError, match=r"x.fasta.gz cannot be decompressed"):
        read_fasta(write(bytes(packed), "x.fasta.gz"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system(end: str, write: Write) -> None:
    lines = [";written by hand", ">a first one", "; of two", "ACG TAC", "", "gt\tA", ">b", "A.C-G*"]
    for last in ("", end):
        path = write((end.join(lines) + last).encode(), "x.fasta")
        found = read_fasta(path)
        assert found.names == ["a", "b"]
        assert found.descriptions == ["first one", ""]
        assert found.sequences == ["ACGTACGTA", "A.C-G*"]
        assert found.sequences == read_table(write(path.read_bytes(), "x.txt"), labelled=False).X
    with pytest.raises(TableError, match="line 3: '1' found in record 'b'"):
        read_fasta(write(end.join([">b", "AC", "A1"]).encode(), "x.fasta"))


def test_headers_and_comments_in_latin_1(write: Write) -> None:
    content = ";aus G\u00f6ttingen\n>s1 M\u00fcller=ja\nACGT\n>s2\nGG\n"
    for encoding in ("latin-1", "utf-8", "utf-8-sig"):
        found = read_fasta(write(content.encode(encoding), "x.fasta"))
        assert found.names == ["s1", "s2"]
        assert found.descriptions[0] == "M\u00fcller=ja"

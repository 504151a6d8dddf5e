"""FASTA files as tables: the tags of their headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from table_files import Write, refusal

from widemargin.datasets import TableError, read_table
from widemargin.datasets.fasta_table import tags_of

SITES = ">s1 a start label=1 gene=thrA\nACGT\nAC\n>s2 label=-1 [gene=thr B]\nGGTA\n>s3 label=1 gene=thrA\naccc\n"


def test_tags_are_columns(write: Write) -> None:
    table = read_table(write(SITES, "sites.fasta"), target="label", group="gene")
    assert table.X == ["ACGTAC", "GGTA", "ACCC"]
    assert table.y is not None
    assert table.y.tolist() == [1, -1, 1]
    assert table.groups is not None
    assert table.groups.tolist() == ["thrA", "thr B", "thrA"]
    assert (table.names, table.target, table.notes) == (["sequence"], "label", ())


@pytest.mark.parametrize("name", ["sites.fa", "sites.fna", "sites.txt", "sites"])
def test_they_are_known_by_name_or_first_lines(write: Write, name: str) -> None:
    table = read_table(write(SITES, name))
    assert table.X[1] == "GGTA"
    assert table.notes == ("The target is 'label' in the headers, by its name.",)
    assert read_table(write(SITES, name), labelled=False).y is None


def test_a_table_that_begins_with_a_sign_is_none(write: Write) -> None:
    assert read_table(write(">50K,y\n1,0\n2,1\n", "table")).names == [">50K"]


def test_tags_of_headers() -> None:
    assert tags_of("no words == at all =1 a= [x=]") == {"x": ""}
    assert tags_of("a=1 [b=two words]c=3 d=4=5") == {"a": "1", "b": "two words", "d": "4=5"}


def test_labels_may_be_text(write: Write) -> None:
    y = read_table(write(">a class=coil\nAC\n>b class=helix\nCA\n", "two.faa")).y
    assert y is not None
    assert y.tolist() == ["coil", "helix"]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (
            SITES,
            {"target": "kind"},
            "sites.fasta: the header of record 's1' has no tag kind=...; every record needs one (the tags found in "
            "headers are 'label', 'gene').",
        ),
        (
            ">a label=1\nAC\n>b\nAC\n",
            {},
            "sites.fasta: the header of record 'b' has no tag label=...; every record needs one (the tags found in "
            "headers are 'label').",
        ),
        (
            ">a\nAC\n",
            {"target": "label"},
            "sites.fasta: the header of record 'a' has no tag label=...; every record needs one (no header has any).",
        ),
        (
            ">a\nAC\n",
            {},
            "sites.fasta has no tag in its headers that may be the target, such as label=1; no such tags were found; "
            "name one as target.",
        ),
        (
            ">a label=1 y=2\nAC\n",
            {},
            "sites.fasta has several tags in its headers that may be the target, such as label=1; the tags found are "
            "'label', 'y'; name one as target.",
        ),
        (
            SITES,
            {"encode": True},
            "sites.fasta is in FASTA format, which consists of sequences and their headers; encode is for other "
            "formats.",
        ),
        (
            SITES,
            {"sequence": "sequence"},
            "sites.fasta is in FASTA format, which consists of sequences and their headers; sequence is for other "
            "formats.",
        ),
        (SITES, {"target": 0}, "target must be a tag of the headers of sites.fasta, got 0."),
    ],
)
def test_one_sentence_about_bad_ones(write: Write, content: str, options: dict[str, object], expected: str) -> None:
    assert refusal(write(content, "sites.fasta"), **options) == expected


def test_a_file_cut_in_half(write: Write) -> None:
    whole = "".join(f">s{i} label={i % 2}\n{'ACGTAC' * 3}\n" for i in range(6))
    assert "record 's5' has no letters" in refusal(write(whole[: whole.rindex("\n", 0, -1) + 1], "half.fasta"))


def test_a_last_sequence_may_be_short_and_without_an_end(write: Write) -> None:
    table = read_table(write(">s1 label=1\nACGTAC\n>s2 label=0\nACGTTT\n>s3 label=1\nAC", "sites.fasta"))
    assert table.X == ["ACGTAC", "ACGTTT", "AC"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    import os
    import threading

    pipe = tmp_path / "pipe.fasta"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(SITES))
    writer.start()
    with pytest.raises(TableError, match="is not a regular file, which the FASTA format has to be read from"):
        read_table(pipe)
    writer.join()

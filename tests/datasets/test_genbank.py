"""The GenBank reader: locations, qualifiers, several records, and sentences about files that cannot be used."""

import pytest
from table_files import Write

from widemargin.datasets import TableError, read_genbank
from widemargin.datasets.genbank import Part, reverse_complement

HEAD = "LOCUS       ONE         20 bp    DNA     circular BCT 01-JAN-2000\nFEATURES             Location/Qualifiers\n"
TAIL = "ORIGIN\n        1 acgtacgtac\n       11 ttttttgggg\n//\n"


def cds(location: str) -> str:
    return f'     CDS             {location}\n                     /gene="a"\n'


@pytest.mark.parametrize(
    ("location", "parts"),
    [
        ("3..8", (Part(2, 8, 1),)),
        ("5", (Part(4, 5, 1),)),
        ("<3..>8", (Part(2, 8, 1, True, True),)),
        ("complement(<3..8)", (Part(2, 8, -1, False, True),)),
        ("complement(join(3..8,10..12))", (Part(9, 12, -1), Part(2, 8, -1))),
        ("join(complement(10..12),complement(3..8))", (Part(9, 12, -1), Part(2, 8, -1))),
        ("join(18..20,1..4)", (Part(17, 20, 1), Part(0, 4, 1))),
        ("join(18..20, 1..4)", (Part(17, 20, 1), Part(0, 4, 1))),
    ],
)
def test_locations(location: str, parts: tuple[Part, ...], write: Write) -> None:
    (record,) = read_genbank(write(HEAD + cds(location) + TAIL, "x.gb"))
    assert record.features[0].parts == parts


def test_qualifiers_and_records(write: Write) -> None:
    features = (
        "     gene            1..9\n"
        "     CDS             complement(join(1..3,\n                     7..9))\n"
        '                     /note="says ""hello"", and\n                     /goes on"\n'
        "                     /pseudo\n                     /codon_start=1\n"
    )
    first, second = read_genbank(
        write(HEAD + features + TAIL + "\n" + HEAD.replace("circular", "linear") + TAIL, "x.gb")
    )
    assert (first.circular, second.circular, first.name) == (True, False, "ONE")
    assert first.sequence == "ACGTACGTACTTTTTTGGGG"
    (feature,) = first.features
    assert feature.qualifiers == {"note": ['says "hello", and /goes on'], "pseudo": [""], "codon_start": ["1"]}
    assert feature.parts == (Part(6, 9, -1), Part(0, 3, -1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no records"),
        (">a\nACGT\n", "line 1: '>a' found, expected a GenBank record"),
        ("LOCUS nothing\n", "line 1: 'LOCUS nothing' found, expected such as"),
        ((HEAD + TAIL)[:-10], "ends within record 'ONE'"),
        (HEAD + "//\n", "record 'ONE' has no sequence"),
        (HEAD + TAIL.replace("gggg", "ggg"), "record 'ONE' has 19 letters, but line 1 says 20"),
        (HEAD + TAIL.replace("gggg", "gg1g"), "'11 ttttttgg1g' found in record 'ONE'"),
        (HEAD + HEAD, "line 3: LOCUS found within record 'ONE'"),
        (HEAD + cds("3..21") + TAIL, "positions of the record are 1 to 20"),
        (HEAD + cds("join(3..8") + TAIL, "is not complete"),
        (HEAD + cds("3..8)") + TAIL, "a parenthesis too many"),
        (HEAD + cds("0..8") + TAIL, "positions of the record are 1 to 20"),
        (HEAD + cds("hello") + TAIL, "location 'hello' holds 'hello', expected positions such as '10..50'"),
        (HEAD + cds("hello(3..8)") + TAIL, "holds 'hello(', expected positions"),
        (HEAD + cds("join(3..8,9-12)") + TAIL, "holds '9-12', expected positions"),
        (HEAD + cds("3..") + TAIL, "holds '3..', expected positions"),
        (HEAD + cds("complement(18..4)") + TAIL, "'18..4', which ends before it starts; a part across the origin"),
    ],
)
def test_bad_files(content: str, message: str, write: Write) -> None:
    with pytest.raises(TableError, match=r"x\.gb") as caught:
        read_genbank(write(content, "x.gb"))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "location",
    [
        "J00194.1:3..8",
        "join(J00194.1:3..8,1..3)",
        "complement(NC_000913.3:<30..>80)",
        "J00194.1:(3.5)..8",
        "3^4",
        "(3.5)..8",
        "3..(8.10)",
        "one-of(3,5)..8",
        "3..one-of(5,8)",
        "gap(10)",
        ">3..8",
    ],
)
def test_locations_that_are_not_on_the_sequence_are_skipped(location: str, write: Write) -> None:
    (record,) = read_genbank(write(HEAD + cds(location) + cds("3..8") + TAIL, "x.gb"))
    assert [feature.parts for feature in record.features] == [(Part(2, 8, 1),)]
    assert [(one.key, one.location, one.qualifiers) for one in record.skipped] == [("CDS", location, {"gene": ["a"]})]


def test_reverse_complement_is_its_own_inverse() -> None:
    assert reverse_complement("AACGN") == "NCGTT"
    assert reverse_complement(reverse_complement("ACGTRYSWKMBDHVN")) == "ACGTRYSWKMBDHVN"

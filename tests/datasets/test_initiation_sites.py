"""Translation initiation sites: strands, circles, stops, copies, and agreement with the set made of E. coli."""

import os
from collections.abc import Sequence

import numpy as np
import pytest
from table_files import Write

from widemargin.datasets import TableError, translation_initiation_sites
from widemargin.datasets.genbank import reverse_complement


def record(letters: str, features: Sequence[tuple[str, str]], *, circular: bool = False, name: str = "ONE") -> str:
    lines = [
        f"LOCUS       {name}   {len(letters)} bp    DNA     {'circular' if circular else 'linear'} BCT 01-JAN-2000"
    ]
    lines.append("FEATURES             Location/Qualifiers")
    for location, qualifiers in features:
        lines += [f"     CDS             {location}", *(" " * 21 + text for text in qualifiers.split())]
    lines.append("ORIGIN")
    lines += [f"{i + 1:9d} {letters[i : i + 60].lower()}" for i in range(0, len(letters), 60)]
    return "\n".join([*lines, "//", ""])


# Upstream: TTG at -9, a stop at -15 that hides the GTG at -18. Downstream: ATG at 6, GTG at 81, out of reach.
GENE = "C" * 30 + "GTGTAACCCTTGCCCCCC" + "ATG" + "CCC" + "ATG" + "CCC" * 24 + "GTG" + "CCCTAA" + "C" * 30
TAG = '/locus_tag="T1" /gene="abc"'
EXPECTED = [(-9, -1), (0, 1), (6, -1)]


def test_both_strands_and_across_the_origin(write: Write) -> None:
    n, last = len(GENE), 48 + 90
    linear = write(record(GENE, [(f"49..{last}", TAG)]), "a.gb")
    other = write(record(reverse_complement(GENE), [(f"complement({n - last + 1}..{n - 48})", TAG)]), "b.gb")
    turned = GENE[60:] + GENE[:60]
    circle = write(record(turned, [(f"join({n - 11}..{n},1..{last - 60})", TAG)], circular=True), "c.gb")
    back = reverse_complement(turned)
    parts = f"complement(join({n - (last - 60) + 1}..{n},1..12))"
    circle_back = write(record(back, [(parts, TAG)], circular=True), "d.gb")
    for path in (linear, other, circle, circle_back):
        sites = translation_initiation_sites(path, genes=["abc"])
        assert list(zip(sites.offsets.tolist(), sites.y.tolist(), strict=True)) == EXPECTED
        assert sites.sequences == [GENE[16 + offset : 66 + offset] for offset, _ in EXPECTED]
        assert {sequence[sites.origin : sites.origin + 3] for sequence in sites.sequences} == {"ATG", "TTG"}
        assert (sites.genes, sites.groups.tolist()) == (["T1"], [0, 0, 0])


def test_windows_that_a_linear_record_lacks_are_left_out(write: Write) -> None:
    path = write(record(GENE[16:], [("33..122", TAG)]), "a.gb")
    sites = translation_initiation_sites(path, genes=None)
    assert sites.offsets.tolist() == [0, 6]
    assert sites.notes == ("1 of 3 windows were left out: they go beyond their records.",)
    again = [("33..122", TAG), ("39..122", '/locus_tag="T2"')]  # ATG, too
    sites = translation_initiation_sites(write(record(GENE[16:], again), "b.gb"), genes=None, upstream=38)
    assert (sites.genes, sites.offsets.tolist()) == (["T2"], [0, 75])
    assert sites.notes[0] == "'T1' was left out: its window goes beyond the record."


def test_other_starts_first_parts_and_genetic_codes(write: Write) -> None:
    def offsets(*features: tuple[str, str]) -> list[int]:
        return translation_initiation_sites(write(record(GENE, features), "a.gb"), genes=["T1"]).offsets.tolist()

    whole = ("49..138", TAG)
    assert offsets(whole, ("55..138", '/locus_tag="T2"')) == [-9, 0]
    assert offsets(("join(49..54,58..138)", TAG)) == [-9, 0]
    letters = GENE.replace("GTGTAACCC", "GTGTGACCC")
    four = write(record(letters, [("49..138", TAG + " /transl_table=4")]), "b.gb")
    assert translation_initiation_sites(four, genes=["T1"], upstream=30).offsets.tolist() == [-18, -9, 0, 6]


def test_copies_and_what_is_left_out(write: Write) -> None:
    features = [
        ("49..138", TAG),
        ("49..138", '/locus_tag="T3" /pseudo'),
        ("<49..138", '/locus_tag="T4"'),
        ("52..138", '/locus_tag="T5"'),
        ("49..138", '/locus_tag="T6" /transl_table=2'),
    ]
    path = write(record(GENE, features) + record(GENE, [("49..138", '/locus_tag="T2"')], name="TWO"), "a.gb")
    sites = translation_initiation_sites(path, genes=None)
    assert sites.y.tolist() == [-1, 1, -1]
    assert sites.notes == (
        "'T3' was left out: a pseudogene.",
        "'T4' was left out: its start is outside the record.",
        "'T5' was left out: it starts with CCC.",
        "'T6' was left out: genetic code 2 is none of 1, 11, 4, 25.",
        "3 of 6 windows were left out: they are copies.",
    )


def test_a_location_that_is_not_on_the_sequence_is_left_out(write: Write) -> None:
    path = write(record(GENE, [("49..138", TAG), ("join(X1.1:3..9,1..5)", '/locus_tag="T2"')]), "a.gb")
    for genes in (None, ["T1", "T2"]):
        sites = translation_initiation_sites(path, genes=genes)
        assert sites.y.tolist() == [-1, 1, -1]
        assert sites.notes == ("'T2' was left out: its location is not on this sequence (join(X1.1:3..9,1..5)).",)


def test_nameless_genes_are_told_apart_by_their_records_and_strands(write: Write) -> None:
    other = GENE.replace("ATG", "TTG")
    both = GENE + reverse_complement(GENE.replace("CCC", "CAC"))
    n = len(GENE)
    path = write(record(GENE, [("49..138", "")]) + record(other, [("49..138", "")], name="TWO"), "a.gb")
    sites = translation_initiation_sites(path, genes=None)
    assert sites.genes == ["CDS at 49..138 of ONE", "CDS at 49..138 of TWO"]
    assert sites.groups.tolist() == [0, 0, 0, 1, 1, 1]
    strands = [("49..138", ""), (f"complement({2 * n - 137}..{2 * n - 48})", "")]
    sites = translation_initiation_sites(write(record(both, strands), "b.gb"), genes=None)
    assert sites.genes == ["CDS at 49..138 of ONE", f"CDS at complement({2 * n - 137}..{2 * n - 48}) of ONE"]


def test_nothing_to_use_is_an_error_with_the_reasons(write: Write) -> None:
    features = [("49..138", '/pseudo /locus_tag="T1"'), ("52..138", ""), ("49..138", "/pseudo")]
    with pytest.raises(TableError, match=r"a.gb has no CDS whose start can be used; 3 were left out") as caught:
        translation_initiation_sites(write(record(GENE, features), "a.gb"), genes=None)
    assert str(caught.value).endswith(": a pseudogene (2), it starts with CCC (1).")
    elsewhere = [(f"X1.1:{i}..20", f'/locus_tag="T{i}"') for i in range(1, 10)]
    codons = [(f"{i}..138", "") for i in (32, 33, 34, 35, 36)]
    end = len(GENE)
    with pytest.raises(TableError) as caught:
        translation_initiation_sites(
            write(record(GENE, [*elsewhere, *codons, (f"{end - 1}..{end}", "")]), "a.gb"), genes=None
        )
    assert "; 15 were left out: its location is not on this sequence (9), it starts with " in str(caught.value)
    assert str(caught.value).endswith(", other reasons (2).")
    with pytest.raises(TableError, match=r"left out: its first codon goes beyond the record \(1\)"):
        translation_initiation_sites(write(record(GENE, [(f"{end - 1}..{end}", "")]), "a.gb"), genes=None)
    with pytest.raises(TableError, match=r"a.gb has no CDS whose start can be used; it has none."):
        translation_initiation_sites(write(record(GENE, []), "a.gb"), genes=None)


def test_bad_genes(write: Write) -> None:
    twice = write(record(GENE, [("49..138", TAG), ("52..138", '/gene="abc"')]), "a.gb")
    with pytest.raises(TableError, match=r"a.gb has no CDS of the locus tag or name 'xyz'"):
        translation_initiation_sites(twice, genes=["T1", "xyz"])
    with pytest.raises(TableError, match="has several CDS named 'abc'; give their locus tags"):
        translation_initiation_sites(twice, genes=["abc"])
    with pytest.raises(ValueError, match="genes must be a list of locus tags or names, or None, got 'T1'"):
        translation_initiation_sites(twice, genes="T1")
    with pytest.raises(ValueError, match="genes must hold strings"):
        translation_initiation_sites(twice, genes=[b"T1"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="genes is empty"):
        translation_initiation_sites(twice, genes=[])
    with pytest.raises(ValueError, match="downstream must be a whole number of at least 3"):
        translation_initiation_sites(twice, genes=None, downstream=2)


@pytest.mark.skipif("WIDEMARGIN_DATA" not in os.environ, reason="needs WIDEMARGIN_DATA")
def test_agrees_with_the_set_made_of_e_coli(write: Write) -> None:
    """Overlapping windows of a gene, put together to a piece of the genome, have to come out of it again."""
    with np.load(f"{os.environ['WIDEMARGIN_DATA']}/ecoli_tis_verified.npz") as stored:
        rows = list(zip(stored["group"].tolist(), stored["offset"].tolist(), stored["seq"].astype(str), strict=True))
    texts, expected = [], []
    for gene in sorted({group for group, _, _ in rows}):
        windows = {offset: window for group, offset, window in rows if group == gene}
        letters, first = windows[0], 0
        reached = [0]
        for offset in sorted(windows):
            if offset > 0 and offset < max(reached) + 50:
                letters += windows[offset][50 - (offset - max(reached)) :]
                reached.append(offset)
        for offset in sorted(windows, reverse=True):
            if offset < 0 and first < offset + 50:
                letters = windows[offset][: first - offset] + letters
                first = offset
                reached.append(offset)
        texts.append(record(letters, [(f"{33 - first}..>{len(letters)}", f'/locus_tag="G{gene}"')], name=f"R{gene}"))
        expected += [(f"G{gene}", offset, windows[offset]) for offset in sorted(reached)]
    sites = translation_initiation_sites(write("".join(texts), "pieces.gb"), genes=None)
    found = zip((sites.genes[group] for group in sites.groups), sites.offsets.tolist(), sites.sequences, strict=True)
    assert list(found) == expected
    assert np.count_nonzero(sites.y == 1) == 769

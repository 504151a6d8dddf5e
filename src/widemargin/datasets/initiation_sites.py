"""Translation initiation sites of a genome, and codons beside them that look alike [Glasmachers2008, section 13.1]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import fspath

import numpy as np
import numpy.typing as npt

from widemargin.datasets.checks import whole_number
from widemargin.datasets.delimited import TableError, listed
from widemargin.datasets.genbank import (
    Feature,
    GenBankRecord,
    SkippedFeature,
    read_genbank,
    reverse_complement,
)
from widemargin.datasets.text_file import FilePath

START_CODONS = ("ATG", "GTG", "TTG")

#: Stop codons of the genetic codes that prokaryotes use, by their number (/transl_table).
STOP_CODONS = {
    **dict.fromkeys(("1", "11"), frozenset({"TAA", "TAG", "TGA"})),
    **dict.fromkeys(("4", "25"), frozenset({"TAA", "TAG"})),
}

#: Reasons that a message lists.
SHOWN = 5


@dataclass(frozen=True)
class InitiationSites:
    """Windows around start codons (y = 1) and around codons that could be mistaken for them (y = -1).

    Attributes
    ----------
    sequences : list of str
        The windows, read in the direction of their gene; the codon is at the same place in all.
    y : ndarray of shape (n_samples,), int64
        1 for a start of a gene, -1 for another codon.
    groups : ndarray of shape (n_samples,), int64
        The number of the gene in `genes`. Windows of one gene overlap: split by group, not by sample.
    offsets : ndarray of shape (n_samples,), int64
        The distance of the codon from the start of its gene, in nucleotides; negative upstream.
    genes : list of str
        Locus tags of the genes, or their names where there is no tag, or else their places in their records.
    origin : int
        The position of the codon's first letter in a window, counted from 0.
    notes : tuple of str
        What was left out, and why, in sentences.
    """

    sequences: list[str]
    y: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    genes: list[str]
    origin: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _LeftOut:
    """A CDS that is not used, why, and what to add to that of this one alone."""

    name: str
    why: str
    detail: str = ""


@dataclass(frozen=True)
class _Strand:
    """A strand of a record, read in its own direction."""

    letters: str
    circular: bool

    def window(self, start: int, stop: int) -> str | None:
        """Return the letters from `start` to `stop`, across the origin of a circle; None if they are not all there."""
        n = len(self.letters)
        if start >= 0 and stop <= n:
            return self.letters[start:stop]
        if not self.circular or stop - start > n:
            return None
        return "".join(self.letters[position % n] for position in range(start, stop))


@dataclass(frozen=True)
class _Gene:
    """A gene: where it starts on its strand, and how far its reading frame reaches."""

    name: str
    strand: _Strand
    place: tuple[int, int, int]
    start: int
    length: int
    stops: frozenset[str]


def translation_initiation_sites(
    path: FilePath, *, genes: Iterable[str] | None, upstream: int = 32, downstream: int = 18, distance: int = 80
) -> InitiationSites:
    r"""Cut windows around the starts of genes, and around codons near them that do not start a gene, out of a genome.

    A positive is a window around the start codon (ATG, GTG, TTG) of a CDS. Its negatives are the windows around the
    other codons ATG, GTG and TTG in its reading frame that are less than `distance` nucleotides away, upstream or
    downstream, without a stop codon in between [Glasmachers2008, section 13.1]. So the task consists of the cases that
    are difficult to decide.

    - Genes of the complementary strand are read there; windows go across the origin of a circular sequence.
    - Pseudogenes are left out, and CDS whose start lies outside the record, has another codon, or has a
      /codon_start other than 1, or whose location is not on the sequence of the record.
    - Windows that a linear record does not contain are left out; where that of a start is one of these, the gene is,
      with its negatives.
    - Downstream codons lie within the CDS; if it consists of several parts, within the first one.
    - A codon at which another CDS starts is no negative, verified or not.
    - Of identical windows one is kept, a positive if there is one: genomes hold copies of genes.

    Reading costs time and memory in proportion to the file.

    Parameters
    ----------
    path : str or path-like
        A GenBank file (.gb, .gbk, .gbff, also compressed) with the sequence, of one record or many.
    genes : iterable of str or None
        Locus tags (/locus_tag) or names (/gene) of the genes whose starts are verified. GenBank does not say which ones
        are: most starts are predictions. None takes every CDS, as annotated.
    upstream, downstream : int, default=32 and 18
        Length of a window before the codon, and from its first letter on.
    distance : int, default=80
        Negatives are nearer than this.

    Returns
    -------
    InitiationSites

    Raises
    ------
    TableError
        In one sentence, if the file cannot be used, if it does not know a gene or knows several of its name, or if no
        start is left, with the reasons.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from widemargin.datasets import translation_initiation_sites
    >>> letters = "cattaaagga ggtaacacat gcgagttgaa gatgctttaa"
    >>> _ = Path("tiny.gb").write_text(f'''LOCUS       TINY  40 bp DNA linear BCT 01-JAN-2000
    ... FEATURES             Location/Qualifiers
    ...      CDS             19..>40
    ...                      /locus_tag="T1"
    ... ORIGIN
    ...         1 {letters}
    ... //
    ... ''')
    >>> sites = translation_initiation_sites("tiny.gb", genes=["T1"], upstream=12, downstream=6)
    >>> for label, offset, window in zip(sites.y.tolist(), sites.offsets.tolist(), sites.sequences):
    ...     print(label, offset, window)
    1 0 AGGAGGTAACACATGCGA
    """
    upstream = whole_number("upstream", upstream, least=0)
    downstream = whole_number("downstream", downstream, least=3)
    distance = whole_number("distance", distance)
    file, records = fspath(path), read_genbank(path)
    wanted = _wanted(file, records, genes)
    left_out: list[_LeftOut] = []
    found: list[_Gene] = []
    starts: set[tuple[int, int, int]] = set()
    for number, record in enumerate(records):
        strands = {
            1: _Strand(record.sequence, record.circular),
            -1: _Strand(reverse_complement(record.sequence), record.circular),
        }
        for feature in record.features:
            gene = _gene(feature, record, number, strands)
            starts.add(gene.place)
            if _is_wanted(feature, wanted):
                why = _unusable(feature, gene, upstream, downstream)
                if why:
                    left_out.append(_LeftOut(gene.name, why))
                else:
                    found.append(gene)
        left_out += [
            _LeftOut(
                _name(skipped, skipped.location, record),
                "its location is not on this sequence",
                f" ({skipped.location})",
            )
            for skipped in record.skipped
            if _is_wanted(skipped, wanted)
        ]
    if not found:
        raise TableError(f"{file} has no CDS whose start can be used; {_reasons(left_out)}.")
    windows = [
        (gene.name, offset, gene.strand.window(gene.start + offset - upstream, gene.start + offset + downstream))
        for gene in found
        for offset in _offsets(gene, distance, starts)
    ]
    notes = [f"{one.name!r} was left out: {one.why}{one.detail}." for one in left_out]
    return _without_copies(windows, upstream, notes)


def _reasons(left_out: list[_LeftOut]) -> str:
    """Say how many CDS were left out why, beginning with the most common reasons.

    Examples
    --------
    >>> _reasons([_LeftOut("T1", "a pseudogene"), _LeftOut("T2", "it starts with CCC"), _LeftOut("T3", "a pseudogene")])
    '3 were left out: a pseudogene (2), it starts with CCC (1)'
    """
    if not left_out:
        return "it has none"
    times = Counter(one.why for one in left_out).most_common()
    shown = [f"{why} ({n})" for why, n in times[:SHOWN]]
    if len(times) > SHOWN:
        shown.append(f"other reasons ({sum(n for _, n in times[SHOWN:])})")
    return f"{len(left_out)} were left out: {', '.join(shown)}"


def _names(feature: Feature | SkippedFeature) -> list[str]:
    return [*feature.qualifiers.get("locus_tag", []), *feature.qualifiers.get("gene", [])]


def _name(feature: Feature | SkippedFeature, location: str, record: GenBankRecord) -> str:
    """Return the tag of a gene, or its name, or say where it is."""
    return next(iter(_names(feature)), f"CDS at {location} of {record.name}")


def _is_wanted(feature: Feature | SkippedFeature, wanted: set[str] | None) -> bool:
    return wanted is None or bool(wanted.intersection(_names(feature)))


def _wanted(file: str, records: Sequence[GenBankRecord], genes: Iterable[str] | None) -> set[str] | None:
    """Check that every name belongs to exactly one CDS."""
    if genes is None:
        return None
    if isinstance(genes, str | bytes):
        raise ValueError(f"genes must be a list of locus tags or names, or None, got {genes!r}.")
    wanted = list(genes)
    for gene in wanted:
        if not isinstance(gene, str):
            raise ValueError(f"genes must hold strings, locus tags or names, got {gene!r}.")
    if not wanted:
        raise ValueError("genes is empty; expected locus tags or names, or None for every CDS.")
    times = Counter[str]()
    for record in records:
        for features in (record.features, record.skipped):
            times.update(name for feature in features for name in set(_names(feature)))
    unknown = [gene for gene in wanted if not times[gene]]
    if unknown:
        raise TableError(f"{file} has no CDS of the locus tag or name {listed(unknown)}, which genes holds.")
    several = [gene for gene in wanted if times[gene] > 1]
    if several:
        raise TableError(f"{file} has several CDS named {listed(several)}; give their locus tags in genes.")
    return set(wanted)


def _gene(feature: Feature, record: GenBankRecord, number: int, strands: dict[int, _Strand]) -> _Gene:
    first = feature.parts[0]
    strand = strands[first.strand]
    n = len(strand.letters)
    start = first.start if first.strand == 1 else n - first.stop
    length = first.stop - first.start
    if strand.circular:
        # A gene across the origin is written as a join of two parts, though nothing lies between them.
        for before, part in zip(feature.parts, feature.parts[1:], strict=False):
            forward = part.strand == before.strand == 1 and before.stop == n and part.start == 0
            backward = part.strand == before.strand == -1 and before.start == 0 and part.stop == n
            if not (forward or backward):
                break
            length += part.stop - part.start
    location = f"{first.start + 1}..{first.stop}"
    name = _name(feature, location if first.strand == 1 else f"complement({location})", record)
    stops = STOP_CODONS.get(feature.first("transl_table", "11"), frozenset())
    return _Gene(name, strand, (number, first.strand, start), start, length, stops)


def _unusable(feature: Feature, gene: _Gene, upstream: int, downstream: int) -> str:
    """Say why a CDS has no start to learn from; "" if it has one."""
    if "pseudo" in feature.qualifiers or "pseudogene" in feature.qualifiers:
        return "a pseudogene"
    if feature.parts[0].open_start or feature.first("codon_start", "1") != "1":
        return "its start is outside the record"
    if not gene.stops:
        return f"genetic code {feature.first('transl_table')} is none of {', '.join(STOP_CODONS)}"
    codon = gene.strand.window(gene.start, gene.start + 3)
    if codon is None:
        return "its first codon goes beyond the record"
    if codon not in START_CODONS:
        return f"it starts with {codon}"
    inside = gene.strand.window(gene.start - upstream, gene.start + downstream) is not None
    return "" if inside else "its window goes beyond the record"


def _offsets(gene: _Gene, distance: int, starts: set[tuple[int, int, int]]) -> Iterator[int]:
    """Yield the start, then codons upstream and downstream up to a stop codon, none of them another gene's start."""
    yield 0
    record, direction, start = gene.place
    for step in (-3, 3):
        for offset in range(step, step // 3 * distance, step):
            codon = gene.strand.window(gene.start + offset, gene.start + offset + 3)
            if codon is None or codon in gene.stops or offset + 3 > gene.length:
                break
            place = (record, direction, (start + offset) % len(gene.strand.letters))
            if codon in START_CODONS and place not in starts:
                yield offset


def _without_copies(windows: list[tuple[str, int, str | None]], origin: int, notes: list[str]) -> InitiationSites:
    """Keep one of identical windows, positives first, and put all into the order of the genes and of their offsets."""
    kept: dict[str, tuple[int, int]] = {}
    genes = list(dict.fromkeys(name for name, _, _ in windows))
    number = {name: group for group, name in enumerate(genes)}
    whole = [(name, offset, window) for name, offset, window in windows if window is not None]
    for name, offset, window in sorted(whole, key=lambda row: row[1] != 0):
        kept.setdefault(window, (number[name], offset))
    rows = sorted((group, offset, window) for window, (group, offset) in kept.items())
    for times, why in ((len(windows) - len(whole), "go beyond their records"), (len(whole) - len(rows), "are copies")):
        if times:
            notes.append(f"{times} of {len(windows)} windows were left out: they {why}.")
    offsets = np.array([offset for _, offset, _ in rows], dtype=np.int64)
    return InitiationSites(
        sequences=[window for _, _, window in rows],
        y=np.where(offsets == 0, 1, -1).astype(np.int64),
        groups=np.array([group for group, _, _ in rows], dtype=np.int64),
        offsets=offsets,
        genes=genes,
        origin=origin,
        notes=tuple(notes),
    )

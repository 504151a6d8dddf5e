"""FASTA files as tables: the tags ``name=value`` of the headers are columns beside the sequences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import fspath
from pathlib import Path

from widemargin.datasets.delimited import TableError, listed
from widemargin.datasets.fasta import read_fasta
from widemargin.datasets.text_file import FilePath

#: ``[name=a value]``, as in headers of GenBank, where values may hold blanks, or ``name=value``, which ends at a blank.
_TAG = re.compile(r"\[([^\s=\[\]]+)=([^\[\]]*)\]|(?<!\S)([^\s=\[\]]+)=(\S+)")


def tags_of(description: str) -> dict[str, str]:
    """Return the tags ``name=value`` and ``[name=value]`` of the header of a record.

    Examples
    --------
    >>> tags_of("first of its operon label=1 [gene=thrA] [protein=aspartate kinase]")
    {'label': '1', 'gene': 'thrA', 'protein': 'aspartate kinase'}
    """
    return {one[1] or one[3]: (one[2] or one[4] or "").strip() for one in _TAG.finditer(description)}


@dataclass(frozen=True)
class FastaTable:
    """Records of a FASTA file: names, sequences, and the tags of each header."""

    file: str
    names: list[str]
    sequences: list[str]
    headers: list[dict[str, str]]

    @property
    def tags(self) -> list[str]:
        """Names of the tags that any header has."""
        return list(dict.fromkeys(tag for header in self.headers for tag in header))

    def values(self, tag: str) -> list[str]:
        """Return the value of a tag of every header, which all of them must have."""
        for name, header in zip(self.names, self.headers, strict=True):
            if not header.get(tag):
                known = f"the tags found in headers are {listed(self.tags)}" if self.tags else "no header has any"
                raise TableError(
                    f"{self.file}: the header of record {name!r} has no tag {tag}=...; every record needs one "
                    f"({known})."
                )
        return [header[tag] for header in self.headers]


def read_fasta_table(path: FilePath) -> FastaTable:
    """Read a FASTA file and the tags of its headers."""
    if not Path(path).is_file():
        raise TableError(f"{fspath(path)} is not a regular file, which the FASTA format has to be read from.")
    found = read_fasta(path)
    return FastaTable(fspath(path), found.names, found.sequences, [tags_of(one) for one in found.descriptions])

"""What does a model of gene starts look for? The place where ribosomes bind, which nobody told it about.

A codon ATG may start a gene or lie in the midst of one. This program cuts windows around both kinds out of a genome,
trains a support vector machine to tell them apart, and draws what the machine has learnt: the weight of every triplet
at every position before and after the codon. In most bacteria the heaviest ones spell pieces of AGGAGG some ten letters
before the start, the Shine-Dalgarno sequence [Shine1974], to which the ribosome binds.

    python examples/translation_starts.py                              # a genome made up, in which the truth is known
    python examples/translation_starts.py genome.gbff                  # all genes of a GenBank file, as annotated
    python examples/translation_starts.py genome.gbff --genes list.txt # those whose starts were verified, a name a line

Windows of one gene overlap, so a gene is never both in the training set and in the test set.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from widemargin import select
from widemargin.datasets import InitiationSites, translation_initiation_sites
from widemargin.inspection import oligomer_weights
from widemargin.inspection.pictures import save_picture

STARTS, STOPS = ("ATG", "GTG", "TTG"), ("TAA", "TAG", "TGA")
PAIRS = str.maketrans("ACGT", "TGCA")


def made_up_genome(n_genes: int, generator: np.random.Generator) -> str:
    """Return a genome in GenBank format; four to six letters of AGGAGG lie five to nine letters before each gene."""
    letters, features, length = [], [], 0
    codons = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
    sense = [codon for codon in codons if codon not in STOPS]
    for number in range(n_genes):
        size = int(generator.integers(4, 7))
        at = int(generator.integers(0, 7 - size))
        bound = "AGGAGG"[at : at + size] if generator.random() < 0.9 else ""
        spacer = "".join(generator.choice(list("AACGTT"), int(generator.integers(5, 10))))
        upstream = "".join(generator.choice(list("AACGTT"), 90)) + bound + spacer
        start = generator.choice(STARTS, p=[0.83, 0.14, 0.03])
        gene = start + "".join(generator.choice(sense, 60)) + generator.choice(STOPS)
        whole = upstream + gene + "".join(generator.choice(list("ACGT"), 40))
        first, last = len(upstream) + 1, len(upstream) + len(gene)
        place = f"{length + first}..{length + last}"
        if generator.random() < 0.5:  # on the other strand
            whole = whole[::-1].translate(PAIRS)
            place = f"complement({length + len(whole) - last + 1}..{length + len(whole) - first + 1})"
        features += [f"     CDS             {place}", f'                     /locus_tag="G{number:04d}"']
        letters.append(whole)
        length += len(whole)
    text = "".join(letters).lower()
    rows = [f"{i + 1:>9} {text[i : i + 60]}" for i in range(0, length, 60)]
    head = [
        f"LOCUS       MADE_UP  {length} bp  DNA  linear  BCT 01-JAN-2000",
        "FEATURES             Location/Qualifiers",
    ]
    return "\n".join([*head, *features, "ORIGIN", *rows, "//", ""])


def sites_of(arguments: argparse.Namespace) -> InitiationSites:
    """Cut the windows out of the genome that was given, or out of one made up."""
    genes = None if arguments.genes is None else arguments.genes.read_text(encoding="utf-8").split()
    if arguments.genome is not None:
        return translation_initiation_sites(arguments.genome, genes=genes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made_up.gb")
        generator = np.random.default_rng(arguments.seed)
        path.write_text(made_up_genome(arguments.made_up, generator), encoding="utf-8")
        return translation_initiation_sites(path, genes=genes)


def main(given: Sequence[str] | None = None) -> None:
    """Cut windows, choose a model, say how often it errs and what it looks for, and draw that."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genome", type=Path, nargs="?", metavar="GENOME", help="a GenBank file with the sequence")
    parser.add_argument("--genes", type=Path, metavar="FILE", help="names of the genes whose starts are verified")
    parser.add_argument(
        "--made-up", type=int, default=400, metavar="N", help="genes of a genome made up (default: 400)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random numbers that it is made of (default: 0)")
    parser.add_argument("--picture", type=Path, default=Path("translation_starts.png"), metavar="FILE")
    arguments = parser.parse_args(given)

    sites = sites_of(arguments)
    for note in sites.notes:
        print(note)
    n_starts = int((sites.y == 1).sum())
    print(f"{n_starts:,} starts of genes, {len(sites.y) - n_starts:,} other codons near them")

    chosen = select(sites.sequences, sites.y, groups=sites.groups, origin=sites.origin, n_jobs=-1)
    values = ", ".join(f"{name} = {value:g}" for name, value in chosen.parameters.items())
    print(f"model: {chosen.kernel}, {values}")
    error, doubt = 1 - chosen.score, chosen.standard_error
    print(f"error on genes that it was not trained on: {error:.3f} (standard error {doubt:.3f})")

    weights = oligomer_weights(chosen.model)
    triplets = next(table for table in weights.tables if table.k == 3)
    print("the triplets that speak most for a start, and where they begin:")
    for cell in triplets.heaviest(5):
        print(f"    {cell.oligomer} at {cell.position:+d}")

    positives = np.flatnonzero(sites.y == 1)
    margins = chosen.model.decision_function([sites.sequences[i] for i in positives])
    clear = sites.sequences[positives[np.argmax(margins)]]  # the clearest start of all
    save_picture(
        arguments.picture, [triplets, weights.contributions(clear), weights.substitutions(clear)], stacked=True
    )
    print(f"drawn: {arguments.picture}")


if __name__ == "__main__":
    main()

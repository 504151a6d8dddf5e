"""The terms of decision functions over oligo kernels, against sums over all pairs of oligomers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from widemargin.inspection.oligomer_terms import Part, TermWeights, parts_of
from widemargin.kernels import CombinedOligo, Gapped, Gaussian, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.sequences import Sequences

TEXTS = ["ACGTTACG", "NNACGT", "TTTTTTTTT", "CGTACGTAN"]
COEFFICIENTS = np.array([0.5, -1.0, 0.25, 0.25])


def weight(oligomer: str, position: int, kernel: Oligo, triplets: dict[str, float] | None = None) -> float:
    """Return the sum over support vectors and occurrences, as the formula is written."""
    total = 0.0
    for text, coefficient in zip(TEXTS, COEFFICIENTS, strict=True):
        norm = math.sqrt(kernel.diagonal([text])[0]) if not kernel.normalize else 1.0
        plain = Oligo(kernel.k, kernel.sigma, normalize=False, alphabet="ACGT")
        norm = math.sqrt(plain.diagonal([text])[0]) if kernel.normalize else 1.0
        for p in range(len(text) - kernel.k + 1):
            if text[p : p + kernel.k] == oligomer:
                apart = p - kernel.origin - position
                total += coefficient / norm * math.exp(-(apart**2) / (4.0 * kernel.sigma**2))
    return total


@pytest.mark.parametrize("kernel", [Oligo(2, 1.2, alphabet="ACGT"), Oligo(3, 0.7, False, "ACGT", origin=3)], ids=repr)
def test_weights_are_the_sums(kernel: Oligo) -> None:
    term = TermWeights(parts_of(kernel)[0], Sequences(TEXTS), COEFFICIENTS)
    assert term.oligomers == sorted({t[i : i + kernel.k] for t in TEXTS for i in range(9)} & set(term.oligomers))
    for low, high in ((term.low, term.high), (-9, 12), (0, 1)):
        found = term.between(low, high)
        for row, oligomer in enumerate(term.oligomers):
            expected = [weight(oligomer, q, kernel) for q in range(low, high + 1)]
            np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-15)


def test_terms_of_sums() -> None:
    both = parts_of(2.0 * Oligo(3, 1.0, alphabet="ACGT") + Spectrum(2, normalize=False, alphabet="ACGT"))
    assert [(one.term.factor, one.term.sigma, one.normalized) for one in both] == [
        (2.0, 1.0, True),
        (1.0, np.inf, False),
    ]
    assert len(parts_of(CombinedOligo(alphabet="ACGT"))) == 6
    assert [
        one.term.factor for one in parts_of(WeightedOligo(weights=[1.0, 0.0, 2.0], lengths=(1, 2, 3), alphabet="ACGT"))
    ]
    assert parts_of(TripletOligo(alphabet="ACGT"))[0].term.weights is not None


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),
        Oligo(alphabet="ACGT") * Oligo(alphabet="ACGT"),
        Oligo(alphabet="ACGT") ** 2,
        Spectrum(3, mismatches=1, alphabet="ACGT"),
        Gapped(alphabet="ACGT"),
        Oligo(alphabet="ACGT") + 1.0,
    ],
    ids=repr,
)
def test_other_kernels_are_refused(kernel: Any) -> None:
    with pytest.raises(ValueError, match="has no weights of oligomers at positions; those of Oligo, CombinedOligo"):
        parts_of(kernel)


def test_no_support_vectors() -> None:
    part: Part = parts_of(Oligo(2, alphabet="ACGT"))[0]
    term = TermWeights(part, Sequences([]), np.empty(0))
    assert term.oligomers == []
    assert term.contributions(Sequences(["ACGT"])).tolist() == [0.0, 0.0, 0.0]
    assert not term.changes(Sequences(["ACGT"]), "ACGT", "ACGT").any()

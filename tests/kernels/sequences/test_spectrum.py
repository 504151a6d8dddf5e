"""Kernels that count oligomers, beside counting them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.sequences import naive_counts, random_texts, two_kinds

from widemargin import SVC
from widemargin.kernels import Gapped, Oligo, Spectrum
from widemargin.kernels.rows import FixedKernel, row_source
from widemargin.testing import kernel_object_contract

TEXTS, OTHERS = random_texts(7, "ACGT", 7, 25), random_texts(5, "ACGTN", 12, 30, seed=1)


def expected(X: list[str], Y: list[str], **how: Any) -> Any:
    left, right = ([naive_counts(one, **how) for one in some] for some in (X, Y))
    return np.array([[sum(n * z.get(word, 0) for word, n in x.items()) for z in right] for x in left], dtype=float)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_spectrum(k: int) -> None:
    kernel = Spectrum(k, normalize=False, alphabet="ACGT")
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected(TEXTS, OTHERS, k=k))
    far = Oligo(k, 1e20, alphabet="ACGT")
    assert Spectrum(k, alphabet="ACGT")(TEXTS, OTHERS) == pytest.approx(far(TEXTS, OTHERS), rel=1e-12)


@pytest.mark.parametrize(("k", "mismatches"), [(2, 1), (3, 1), (4, 2)])
def test_mismatches(k: int, mismatches: int) -> None:
    kernel = Spectrum(k, mismatches, normalize=False, alphabet="ACGT")
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected(TEXTS, OTHERS, k=k, mismatches=mismatches))


@pytest.mark.parametrize(("k", "gaps"), [(2, 1), (3, 1), (2, 3)])
def test_gaps(k: int, gaps: int) -> None:
    kernel = Gapped(k, gaps, normalize=False, alphabet="ACGT")
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected(TEXTS, OTHERS, k=k, gaps=gaps))


def test_complements() -> None:
    kernel = Spectrum(3, normalize=False, alphabet="ACGT", reverse_complement=True)
    assert kernel(["ATGATG"], ["CAT"])[0, 0] == 2.0
    assert Spectrum(3, 1, alphabet="ACGT", reverse_complement=True)(["ATG"], ["CAT"])[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", [Spectrum(3), Spectrum(12), Spectrum(3, 1, normalize=False), Gapped(2, 2)])
def test_contract_and_rows(kernel: Any) -> None:
    texts = random_texts(12, "ACGT", 20, 30)
    kernel_object_contract(kernel, texts, random_texts(7, "ACGT", 20, 30, seed=1))
    fitted = kernel.fitted(texts)
    K = fitted(texts)
    rows = row_source(texts, kernel=FixedKernel(fitted))
    assert rows.diagonal() == pytest.approx(np.diagonal(K))


def test_in_a_model() -> None:
    X, y = two_kinds(60)
    kernel = Spectrum(2).fitted(X)
    model, plain = SVC(kernel=kernel).fit(X, y), SVC(kernel="precomputed").fit(kernel(X), y)
    assert model.decision_function(X) == pytest.approx(plain.decision_function(kernel(X)), abs=1e-2)


def test_products_of_many_sequences_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Spectrum(2, alphabet="ACGT")
    whole = kernel(TEXTS), kernel(TEXTS, OTHERS)
    monkeypatch.setattr("widemargin.kernels.sequences.spectrum.MULTIPLICATIONS_AT_ONCE", 300)
    assert np.array_equal(kernel(TEXTS), whole[0])
    assert np.array_equal(kernel(TEXTS, OTHERS), whole[1])
    assert kernel(TEXTS, []).shape == (len(TEXTS), 0)

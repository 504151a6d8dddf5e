"""Kernels that count oligomers, beside counting them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.sequences import naive_counts, random_texts, two_kinds

from widemargin import SVC
from widemargin.kernels import Gapped, Oligo, Spectrum
from widemargin.kernels.rows import FixedKernel, row_source
from widemargin.runtime import Allowance
from widemargin.runtime.memory import NotEnoughMemoryError
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


@pytest.mark.parametrize("reverse_complement", [False, True])
@pytest.mark.parametrize(("k", "mismatches"), [(1, 0), (2, 1), (4, 1), (4, 2), (5, 3), (3, 2)])
def test_mismatches_without_lists(
    k: int, mismatches: int, reverse_complement: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Spectrum(k, mismatches, normalize=False, alphabet="ACGT", reverse_complement=reverse_complement)
    X, Y = [*TEXTS, "", "ACNNN"], [*OTHERS, "ACGTACGTNNACGT"]
    listed = kernel(X, Y), kernel(X), kernel.diag(X)
    monkeypatch.setattr("widemargin.kernels.sequences.spectrum.LARGEST_LIST", -1)
    assert np.array_equal(kernel(X, Y), listed[0])
    assert np.array_equal(kernel(Y, X), listed[0].T)
    assert np.array_equal(kernel(X), listed[1])
    assert np.array_equal(kernel.diag(X), listed[2])
    if not reverse_complement:
        assert np.array_equal(listed[0], expected(X, Y, k=k, mismatches=mismatches))
    scaled = Spectrum(k, mismatches, alphabet="ACGT", reverse_complement=reverse_complement)
    kernel_object_contract(scaled, TEXTS, OTHERS)


def test_mismatches_in_other_alphabets_without_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    X = random_texts(6, "ABCDEFG", 5, 40)
    kernel = Spectrum(3, 2, normalize=False, alphabet="ABCDEFG")
    monkeypatch.setattr("widemargin.kernels.sequences.spectrum.LARGEST_LIST", -1)
    assert np.array_equal(kernel(X), expected(X, X, k=3, mismatches=2, alphabet="ABCDEFG"))


def test_both_ways_are_taken() -> None:
    """Long lists are avoided, short ones are not."""
    few, many = Spectrum(3, 1, alphabet="ACGT"), Spectrum(8, 2, alphabet="ACGT")
    texts = few.samples(random_texts(400, "ACGT", 100, 120)).whole
    assert few._is_listed(texts)
    assert not many._is_listed(texts)


def test_more_oligomers_than_there_are_places_for() -> None:
    X, Y = random_texts(9, "ACGT", 30, 60), random_texts(4, "ACGT", 30, 60, seed=1)
    Y += [X[2][5:40], X[3]]
    how = {"normalize": False, "alphabet": "ACGT"}
    exact = Spectrum(14, **how)(X, Y)
    assert exact.max() > 10
    assert np.array_equal(exact, Oligo(14, 1e20, **how)(X, Y))
    assert np.array_equal(Spectrum(14, **how)(Y, X), exact.T)
    one = [text[:20] for text in X[:4]], [X[0][1:18] + "T", X[1][:9] + "A" + X[1][10:20]]
    near = Spectrum(12, 1, **how)(*one)
    counts = [[_near(x, z, 12, 1) for z in one[1]] for x in one[0]]
    assert np.array_equal(near, counts)


def _near(x: str, z: str, k: int, m: int) -> int:
    """Sum over pairs of windows how many oligomers differ from both in at most m letters, for m = 1."""
    assert m == 1
    total = 0
    for p in range(len(x) - k + 1):
        for q in range(len(z) - k + 1):
            apart = sum(a != b for a, b in zip(x[p : p + k], z[q : q + k], strict=True))
            total += {0: 1 + 3 * k, 1: 4, 2: 2}.get(apart, 0)
    return total


@pytest.mark.parametrize(("letters", "k", "gaps"), [("AB", 3, 4), ("ACGT", 4, 3), ("AAAC", 3, 3), ("ABCDEFG", 2, 4)])
def test_windows_hold_an_oligomer_once(letters: str, k: int, gaps: int) -> None:
    alphabet = "".join(sorted(set(letters)))
    X = random_texts(6, letters, 3, 30)
    kernel = Gapped(k, gaps, normalize=False, alphabet=alphabet)
    assert np.array_equal(kernel(X), expected(X, X, k=k, gaps=gaps, alphabet=alphabet))


def test_gapped_oligomers_and_their_complements() -> None:
    """Of an oligomer and its complement in one window, both count."""
    kernel = Gapped(2, 2, normalize=False, alphabet="ACGT", reverse_complement=True)
    # AGCT: AG and CT, which is AG; AC and GT, which is AC; AT; GC. ACTN has no window, ACTA: AC, AT, AA, CT, CA, TA.
    assert kernel(["AGCT"], ["AGCT", "ACTN", "ACTA"]).tolist() == [[10.0, 0.0, 5.0]]


@pytest.mark.parametrize("kernel", [Gapped(6, 4), Spectrum(8, 2), Spectrum(2), Spectrum(6)], ids=repr)
def test_rows_in_the_core_are_the_values(kernel: Any) -> None:
    texts = random_texts(40, "ACGT", 40, 80)
    own = kernel.fitted(texts)
    K, y = own(texts), np.arange(40) % 2
    model = SVC(kernel=kernel, C=3.0, tol=1e-8).fit(texts, y)
    plain = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(K, y)
    assert model.decision_function(texts) == pytest.approx(plain.decision_function(K), abs=1e-6)


def test_values_do_not_depend_on_threads() -> None:
    texts = random_texts(60, "ACGT", 100, 200)
    for kernel in (Gapped(5, 3), Spectrum(7, 2), Spectrum(6), Spectrum(12)):
        own = kernel.fitted(texts)
        one, two = (Allowance(threads).run(own, list(texts)) for threads in (1, 3))
        assert np.array_equal(one, two)


def test_lists_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widemargin.runtime.memory.free_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemoryError, match=r"Gapped\(k=8.*counts up to .* oligomers in every .*a smaller k"):
        Gapped(8, 6, alphabet="ACGT")(random_texts(3, "ACGT", 20, 30))


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

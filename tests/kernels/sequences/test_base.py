"""Parameters of kernels of sequences, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from widemargin import SVC, SVR, NuSVC, OneClassSVM, OnlineSVC
from widemargin.kernels import CombinedOligo, Gapped, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.sequences.alphabet import PROTEIN

X = ["ACGTACGT", "GGATCCAA", "TTTTGACA", "ACGTTTAA"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Oligo(k=0), r"k of Oligo is 0; it must be a whole number from 1 on"),
        (Oligo(k=2.5), r"k of Oligo is 2.5; it must be a whole number"),
        (Oligo(k=32), r"k of Oligo is 32, with 4 letters; there must be at most 2\*\*62"),
        (Oligo(sigma=0.0), r"sigma of Oligo is 0.0; it must be positive and finite"),
        (Oligo(normalize=1), r"normalize of Oligo is 1; it must be True or False"),
        (Oligo(alphabet="AAC"), r"alphabet of Oligo is 'AAC'; it must be a string of different letters"),
        (Oligo(alphabet=""), r"alphabet of Oligo is ''; it must be"),
        (Oligo(origin=1.5), r"origin of Oligo is 1.5; it must be a whole number"),
        (Oligo(origin="A"), r"origin of Oligo is 'A'; a marker must be text without letters of the alphabet"),
        (Oligo(origin=2**40), r"origin of Oligo is 1099511627776; it must be a whole number"),
        (Oligo(origin=2**31 - 1), r"origin of Oligo is 2147483647; it must be a whole number"),
        (Oligo(reverse_complement="yes"), r"reverse_complement of Oligo is 'yes'; it must be True or False"),
        (Oligo(alphabet="AB", reverse_complement=True), r"only 'ACGT' and 'ACGU' have complements"),
        (CombinedOligo(lengths=()), r"lengths of CombinedOligo is \(\); it must hold whole numbers"),
        (CombinedOligo(lengths=(1, 0)), r"lengths of CombinedOligo is 0"),
        (
            CombinedOligo(sigmas=[1.0, 2.0]),
            r"sigmas of CombinedOligo is \[1.0, 2.0\]; it must be a number, or a list of 6 numbers",
        ),
        (CombinedOligo(sigmas=[1, 1, 1, 1, 1, -1]), r"sigmas of CombinedOligo is .* must be positive"),
        (
            WeightedOligo(weights=[1.0] * 5),
            r"weights of WeightedOligo is .*; it must be a number, or a list of 6 numbers",
        ),
        (WeightedOligo(weights=0.0), r"weights of WeightedOligo must be finite and at least 0, and not all 0; got 0.0"),
        (WeightedOligo(weights=-1.0), r"weights of WeightedOligo must be .*; got -1.0"),
        (WeightedOligo(weights=float("nan")), r"weights of WeightedOligo must be .*; got nan"),
        (WeightedOligo(weights=1e308), r"weights of WeightedOligo is 1e\+308; their sum, k\(x, x\), must be finite"),
        (WeightedOligo(weights=[1.0, [1.0]]), r"weights of WeightedOligo is .*; it must be a number, or a list of 6"),
        (Oligo(sigma=[1.0]), r"sigma of Oligo is \[1.0\]; it must be one number"),
        (TripletOligo(sigma=[1.0]), r"sigma of TripletOligo is \[1.0\]; it must be one number"),
        (CombinedOligo([1, [1, 2]], (1, 2)), r"sigmas of CombinedOligo is \[1, \[1, 2\]\]; it must be a number, or a"),
        (CombinedOligo([[1.0]], (1,)), r"sigmas of CombinedOligo is \[\[1.0\]\]; it must be a number, or a list of 1"),
        (
            TripletOligo(weights={"ATG": 1e155, "ATC": 1e-155}),
            r"weights of TripletOligo go from 1e-155 to 1e\+155; the",
        ),
        (TripletOligo(weights={"ATG": 2, "aUg": 1}), r"names 'ATG' and 'aUg', which are the same oligomer"),
        (TripletOligo(weights={"AT": 1.0}), r"weights of TripletOligo names 'AT', which is no oligomer of 3 letters"),
        (TripletOligo(weights={1: 1.0}), r"weights of TripletOligo names 1, which is no oligomer of 3 letters"),
        (TripletOligo(weights={"ATX": 1.0}), r"weights of TripletOligo names 'ATX', which is no oligomer of 3 letters"),
        (
            TripletOligo(weights=[1.0, 2.0]),
            r"weights of TripletOligo has the shape \(2,\); it must be .* a list of 64 numbers",
        ),
        (TripletOligo(weights="ATG"), r"weights of TripletOligo must be a dict of numbers .*; got 'ATG'"),
        (TripletOligo(weights={"ATG": "x"}), r"weights of TripletOligo must be a dict of numbers .*; got {'ATG': 'x'}"),
        (TripletOligo(weights={"ATG": -1.0}), r"weights of TripletOligo must be finite and at least 0"),
        (TripletOligo(k=9), r"k of TripletOligo is 9, which makes 262144 oligomers; at most 65536"),
        (Spectrum(k=3, mismatches=3), r"mismatches of Spectrum is 3; it must be less than k=3"),
        (Spectrum(k=3, mismatches=-1), r"mismatches of Spectrum is -1; it must be a whole number from 0 on"),
        (Gapped(k=3, gaps=-1), r"gaps of Gapped is -1; it must be a whole number from 0 on"),
        (Gapped(k=3, gaps=60), r"k \+ gaps of Gapped is 63"),
    ],
)
def test_parameters_that_are_refused(kernel: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernel.fitted(X)
    with pytest.raises(ValueError, match=message):
        SVC(kernel=kernel).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("kernel", [WeightedOligo(weights=1e200), 1e200 * Oligo(2)], ids=repr)
def test_values_beyond_the_arithmetic_are_blamed_on_the_kernel(kernel: Any) -> None:
    with pytest.raises(ValueError, match=r"at row 0 of X, too large .*; multiply it, or its weights, by a smaller"):
        SVC(kernel=kernel).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kernel", "text", "sentence"),
    [
        (Oligo(3), "AC", "no oligomer of 3 letters of .* leave it out, or take a smaller k or normalize=False"),
        (CombinedOligo(lengths=(1, 3, 2)), "A", "no oligomer of 3 letters of .* leave it out, or take smaller lengths"),
        (CombinedOligo(lengths=(1, 2, 5)), "A", "no oligomer of 2 letters of .* leave it out, or take smaller lengths"),
        (WeightedOligo(), "ACG", "no oligomer of 4 letters of .* leave it out, or take smaller lengths"),
        (
            TripletOligo(),
            "AC",
            "no oligomer of 3 letters .*, or take a smaller k, or weights above 0 for the oligomers",
        ),
        (
            TripletOligo(weights={"AAC": 0.0}),
            "AAC",
            "no oligomer of 3 letters .*, or weights above 0 for the oligomers",
        ),
    ],
    ids=repr,
)
def test_what_to_do_about_sequences_without_oligomers(kernel: Any, text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"sequence 4 of X, {text!r}, has k\(x, x\) = 0: it holds {sentence}"):
        kernel.fitted([*X, text])


@pytest.mark.parametrize(
    "kernel", [Oligo(3), CombinedOligo(lengths=(1, 3)), WeightedOligo(), TripletOligo(), Spectrum(3), Gapped(2, 1)]
)
@pytest.mark.parametrize("text", ["", "AC", "NNNNNNNNNN"])
def test_sequences_without_oligomers_are_named(kernel: Any, text: str) -> None:
    with pytest.raises(ValueError, match=rf"sequence 4 of X, {text!r}, has k\(x, x\) = 0"):
        SVC(kernel=kernel).fit([*X, text], [0, 1, 0, 1, 0])
    model = SVC(kernel=kernel).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=rf"sequence 1 of X, {text!r}, has k\(x, x\) = 0"):
        model.predict([X[0], text])


def test_without_normalisation_they_have_nothing_in_common() -> None:
    kernel = Oligo(3, normalize=False).fitted(X)
    assert kernel([*X, "", "NNNN"])[4:].tolist() == [[0.0] * 6] * 2
    assert SVC(kernel=Oligo(3, normalize=False)).fit([*X, ""], [0, 1, 0, 1, 0]).predict(["", "A"]).shape == (2,)


def test_an_alphabet_is_fixed_at_fit() -> None:
    with pytest.raises(ValueError, match=r"has no alphabet yet; pass one, such as alphabet='ACGT'"):
        Oligo()(X)
    kernel = Oligo().fitted(X)
    assert kernel.alphabet == "ACGT"
    assert kernel.typical(["ABACGB"], gamma=None).alphabet == "ACGT"
    assert Oligo().leaves_to_data
    assert not kernel.leaves_to_data
    assert Oligo(origin="|").fitted(["A|CGTT", "AC|GGC"]).alphabet == "ACGT"
    with pytest.raises(ValueError, match="X holds no letters"):
        Oligo().fitted(["", ""])


EVERY = [Oligo(2), CombinedOligo(lengths=(1, 2)), WeightedOligo(lengths=(1, 2)), TripletOligo(), Spectrum(2), Gapped(2)]
PROTEINS = ["".join(row) for row in np.random.default_rng(0).choice(list(PROTEIN), (8, 60))]
MASKED = [text[:20] + text[20:40].lower() + text[40:] for text in PROTEINS]


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
@pytest.mark.parametrize(
    ("written", "plain"),
    [(MASKED, PROTEINS), (["Hello World", "held"], ["HELLO WORLD", "HELD"])],
    ids=["proteins", "words"],
)
def test_case_is_folded(kernel: Any, written: list[str], plain: list[str]) -> None:
    fitted = kernel.fitted(written)
    assert fitted.alphabet == kernel.fitted(plain).alphabet
    assert np.diagonal(fitted(written, plain)) == pytest.approx(fitted.diag(plain), rel=1e-12)
    assert np.array_equal(fitted(written), kernel.fitted(plain)(plain))
    small = kernel.fitted([text.lower() for text in written])
    assert np.array_equal(small(written), fitted(written))
    given = type(kernel)(**{**kernel.get_params(), "alphabet": fitted.alphabet.lower()})
    assert np.array_equal(given.fitted(plain)(plain) > 0.0, fitted(plain) > 0.0)


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_case_can_be_kept(kernel: Any) -> None:
    kept = type(kernel)(**{**kernel.get_params(), "fold_case": False})
    assert kept.fitted(["abBA", "ABba"]).alphabet == "ABab"
    assert kept.fitted(["acGT", "ACGT"]).alphabet == "ACGTacgt"
    assert kept.fitted(["ACGTNNNN", "ACGT"]).alphabet == "ACGT"
    masked = type(kernel)(**{**kernel.get_params(), "fold_case": False, "alphabet": "ACGT"})
    assert masked(["ACGGTacgt"], ["ACGGT", "TGCCA"])[0, 0] == pytest.approx(masked.diag(["ACGGT"])[0], rel=1e-12)
    with pytest.raises(ValueError, match=r"fold_case of .* is 1; it must be True or False"):
        type(kernel)(**{**kernel.get_params(), "fold_case": 1}).fitted(X)


def test_an_alphabet_of_both_cases_keeps_them() -> None:
    assert Spectrum(1, alphabet="aA", normalize=False)(["aaA"], ["aA", "AA"]).tolist() == [[3.0, 2.0]]


def test_words_are_no_proteins() -> None:
    words = ["the quick brown fox jumps over a lazy dog", "but you would not do so"]
    assert set("BOU") < set(Oligo(1).fitted(words).alphabet)
    assert Oligo(1).fitted([text.replace(" ", "") for text in words]).alphabet.count("O") == 1


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_a_protein_among_dna_is_told(kernel: Any) -> None:
    with pytest.warns(UserWarning, match=r"sequence 4 of X, 'MKVLEFPQIS', holds letters that are no nucleotides, unl"):
        found = kernel.fitted([*X, "MKVLEFPQIS"])
    assert set("MKVL") < set(found.alphabet)
    with pytest.warns(UserWarning, match=r"sequence 0 of X, 'MKVLEF', .* and so do 1 more, unlike the other 4: the al"):
        kernel.fitted(["MKVLEF", *X, "EEEEFFLLPPQQ"])
    kernel.fitted(["MKVLEF", "EEEEFFLLPPQQ", "ACGTAC"])  # not the few
    own = type(kernel)(**{**kernel.get_params(), "alphabet": "ACGT"})
    own.fitted([*X, "MKVLEFPQISACG"])


@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM(), NuSVC(nu=0.2), OnlineSVC()], ids=repr)
def test_letters_that_training_did_not_see_are_told(estimator: Any) -> None:
    texts, y = ["ABBA", "BABA", "AABB", "BBAA"], [0, 1, 0, 1]
    model = clone(estimator).set_params(kernel=Oligo(1)).fit(texts, y)
    model.predict(["abba"])
    with pytest.warns(UserWarning, match=r"letters that are not in the alphabet of the kernel.*: 'C', 'D'; oligomers"):
        model.predict(["ABBA", "ABCD"])
    given = clone(estimator).set_params(kernel=2.0 * Oligo(1, alphabet="AB")).fit(texts, y)
    given.predict(["ABBA", "ABCD"])  # which was meant


def test_codes_for_several_nucleotides_are_no_such_letters() -> None:
    model = SVC(kernel=Oligo(1)).fit(X, [0, 1, 0, 1])
    model.predict(["ACGNNR-"])
    with pytest.warns(UserWarning, match="'E'"):
        model.decision_function(["ACGE"])

"""Parameters of kernels of sequences, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from widemargin import SVC
from widemargin.kernels import CombinedOligo, Gapped, Oligo, Spectrum, TripletOligo, WeightedOligo

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

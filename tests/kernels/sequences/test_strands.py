"""Kernels that compare both strands of both sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.sequences import random_texts

from widemargin import SVC, load_model, save_model
from widemargin.kernels import BothStrands, Gaussian, Normalized, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.sequences.alphabet import turned
from widemargin.testing import kernel_object_contract

TEXTS, OTHERS = random_texts(7, "ACGT", 9, 25), random_texts(5, "ACGT", 12, 30, seed=1)

KERNELS = [
    Oligo(2, 1.5),
    Oligo(2, 1.5, normalize=False, origin=4),
    Oligo(3, 0.7, origin=-2) + 2.0 * Spectrum(2),
    WeightedOligo([1.0, 2.0], [0.5, 2.0], (1, 3)),
    TripletOligo(2.0, {"ATG": 3.0}),
    Spectrum(3, 1),
]


@pytest.mark.parametrize("inner", KERNELS, ids=repr)
def test_values_are_those_of_all_four_pairs(inner: Any) -> None:
    own = inner.fitted(TEXTS)
    expected = sum(own(X, Y) for X in (TEXTS, _all(TEXTS)) for Y in (OTHERS, _all(OTHERS))) / 4.0
    kernel = BothStrands(inner).fitted(TEXTS)
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected, rel=1e-13)
    assert kernel(_all(TEXTS), OTHERS) == pytest.approx(expected, rel=1e-13)
    assert kernel(TEXTS, _all(TEXTS)) == pytest.approx(kernel(TEXTS), rel=1e-13)
    assert np.diagonal(kernel(TEXTS, _all(TEXTS))) == pytest.approx(kernel.diag(TEXTS), rel=1e-13)
    K = kernel(TEXTS)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


@pytest.mark.parametrize("inner", KERNELS, ids=repr)
def test_contract(inner: Any) -> None:
    kernel_object_contract(BothStrands(inner), TEXTS, OTHERS)
    kernel_object_contract(Normalized(BothStrands(inner)), TEXTS, OTHERS)


def test_one_read_backwards_is_the_same_to_a_model() -> None:
    X, y = random_texts(40, "ACGT", 20, 30), np.arange(40) % 2
    X = [text[:8] + "TATAAT" + text[8:] if label else text for text, label in zip(X, y, strict=True)]
    model = SVC(kernel=BothStrands(Oligo(3, 4.0)), C=10.0).fit(X, y)
    assert model.decision_function(_all(X)) == pytest.approx(model.decision_function(X), abs=1e-9)
    plain = SVC(kernel=Oligo(3, 4.0), C=10.0).fit(X, y)
    assert np.abs(plain.decision_function(_all(X)) - plain.decision_function(X)).max() > 0.1


def test_markers_stay_before_the_same_pair_of_letters() -> None:
    X = ["ACG|GTTAC", "TTA|CGGATA"]
    other = ["GTAA|CCGT", "TATCC|GTAA"]
    own = Oligo(2, 1.0, alphabet="ACGT", origin="|")
    expected = (own(X) + own(X, other) + own(other, X) + own(other)) / 4.0
    assert BothStrands(own)(X) == pytest.approx(expected, rel=1e-13)
    with pytest.raises(ValueError, match=r"sequence 1 of X ends with origin='\|'; on the other strand there is no"):
        BothStrands(own)(["A|CGT", "ACGT|"])
    both = Oligo(1, alphabet="ACGT", origin="|") + Oligo(1, alphabet="ACGT", origin="/")
    with pytest.raises(ValueError, match="have different markers as origin; BothStrands needs the same one, or none"):
        BothStrands(both)(["A|C/GT"])


@pytest.mark.parametrize(("text", "other"), [("AACGn", "nCGTT"), ("aacgU", "Acguu"), ("", ""), ("ACR", "RGT")])
def test_turned(text: str, other: str) -> None:
    assert turned(text) == other


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="both strands are compared in BothStrands, but alphabet is 'AB'; only 'ACGT'"):
        BothStrands(Oligo(1)).fitted(["ABBA", "BABA"])
    with pytest.raises(ValueError, match=r"kernel of BothStrands is Gaussian\(\); it must be a kernel of sequences"):
        BothStrands(Gaussian()).fitted(["ACGT"])
    with pytest.raises(ValueError, match=r"sequence 1 of X, 'N', has k\(x, x\) = 0"):
        BothStrands(Oligo(1)).fitted(["ACGT", "N"])


def test_saved(tmp_path: Any) -> None:
    y = np.arange(len(TEXTS)) % 2
    model = SVC(kernel=BothStrands(Oligo(2, 3.0))).fit(TEXTS, y)
    save_model(model, tmp_path / "both.wm")
    loaded = load_model(tmp_path / "both.wm")
    assert np.array_equal(loaded.decision_function(OTHERS), model.decision_function(OTHERS))


def _all(X: list[str]) -> list[str]:
    return [turned(text) for text in X]

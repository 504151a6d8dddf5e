"""The oligo kernel: hand-computed values, the naive formula, alphabets, origins, and its contract."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.oracles.sequences import naive_oligo_matrix, random_texts, two_kinds

from widemargin import SVC, SVR, GridSearchCV, OneClassSVM
from widemargin.kernels import Oligo
from widemargin.testing import kernel_object_contract

TEXTS = random_texts(9, "ACGT", 6, 30)
OTHERS = random_texts(5, "ACGT", 6, 40, seed=1)
PROTEINS = random_texts(8, "ACDEFGHIKLMNPQRSTVWY", 10, 40, seed=2)


def test_by_hand() -> None:
    k = Oligo(k=3, sigma=2.0, normalize=False, alphabet="ACGT")
    assert k(["ATGATG"], ["ATG"])[0, 0] == pytest.approx(1.0 + np.exp(-9 / 16))
    # ATG at 0 and 3 on both sides: four pairs; TGA at 1, GAT at 2: one each.
    assert k(["ATGATG"])[0, 0] == pytest.approx(2.0 + 2.0 * np.exp(-9 / 16) + 2.0)


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("sigma", [1e-20, 0.7, 5.0, 1e20])
@pytest.mark.parametrize("normalize", [True, False])
def test_values_are_those_of_the_formula(k: int, sigma: float, normalize: bool) -> None:
    kernel = Oligo(k, sigma, normalize, alphabet="ACGT")
    assert kernel(TEXTS, OTHERS) == pytest.approx(
        naive_oligo_matrix(TEXTS, OTHERS, k, sigma, normalize), rel=1e-12, abs=1e-14
    )
    assert kernel(TEXTS) == pytest.approx(naive_oligo_matrix(TEXTS, TEXTS, k, sigma, normalize), rel=1e-12, abs=1e-14)
    assert kernel.diag(TEXTS) == pytest.approx(np.diagonal(kernel(TEXTS)), rel=1e-12)


@pytest.mark.parametrize("kernel", [Oligo(1, 0.5), Oligo(3, 1.2), Oligo(3, 1.2, normalize=False), Oligo(6, 4.0)])
def test_contract(kernel: Oligo) -> None:
    kernel_object_contract(kernel)


@pytest.mark.parametrize("k", [2, 5])
def test_contract_on_proteins(k: int) -> None:
    kernel_object_contract(Oligo(k, 1.5), PROTEINS, random_texts(4, "ACDEFGHIKLMNPQRSTVWYX", 10, 40, seed=3))


def test_ambiguous_letters_are_skipped() -> None:
    """Those of splice junctions: D, N, S and R stand for several nucleotides."""
    texts, others = random_texts(6, "ACGTDNSR", 20, 40, seed=4), random_texts(5, "ACGT", 20, 40, seed=5)
    kernel = Oligo(2, 1.2, normalize=False).fitted([*texts, *random_texts(40, "ACGT", 60, 60)])
    assert kernel.alphabet == "ACGT"
    assert kernel(texts, others) == pytest.approx(naive_oligo_matrix(texts, others, 2, 1.2, False), rel=1e-12)


@pytest.mark.skipif("WIDEMARGIN_DATA" not in os.environ, reason="needs the folder of data sets")
def test_splice_junctions() -> None:
    texts = np.load(Path(os.environ["WIDEMARGIN_DATA"]) / "splice_strings.npz", allow_pickle=False)["seq"]
    some = np.flatnonzero([any(letter in b"DNSR" for letter in text) for text in texts])[:8]
    assert len(some)
    kernel = Oligo(3, 1.2).fitted(texts)
    assert kernel.alphabet == "ACGT"
    decoded = [text.decode() for text in texts[some].tolist()]
    assert kernel(texts[some]) == pytest.approx(naive_oligo_matrix(decoded, decoded, 3, 1.2), rel=1e-12)


def test_soft_masked_letters_count() -> None:
    kernel = Oligo(3, 1.2).fitted(TEXTS)
    assert np.array_equal(kernel([one.lower() for one in TEXTS], OTHERS), kernel(TEXTS, OTHERS))
    assert np.array_equal(kernel([one.replace("T", "U") for one in TEXTS], OTHERS), kernel(TEXTS, OTHERS))


def test_three_samples_and_duplicates() -> None:
    model = SVC(kernel=Oligo(3, 1.2), C=1.0).fit(["ACGTA", "ACGTA", "GGGGG"], [0, 1, 1])
    assert model.predict(["ACGTA", "GGGGG"]).shape == (2,)
    assert Oligo(3, 1.2).fitted(TEXTS)([TEXTS[0]] * 3) == pytest.approx(np.ones((3, 3)))


@pytest.mark.parametrize("sigma", [1e-20, 1e20])
def test_slopes_vanish_at_the_ends(sigma: float) -> None:
    kernel = Oligo(3, sigma).fitted(TEXTS)
    X = kernel.samples(TEXTS)
    assert kernel.pull_back(np.ones((len(X), len(X))), X, X, kernel(X)) == pytest.approx([0.0], abs=1e-30)


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM()])
def test_other_models_and_grids(model: Any) -> None:
    X, y = two_kinds(40)
    one = clone(model).set_params(kernel=Oligo(2, 1.0)).fit(X, y)
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.predict(X), one.predict(X))
    K = one.kernel_(X)
    plain = clone(model).set_params(kernel="precomputed").fit(K, y)
    assert one.predict(X) == pytest.approx(plain.predict(K), abs=1e-2)
    if not isinstance(model, OneClassSVM):
        search = GridSearchCV(one, {"kernel__sigma": [0.5, 2.0], "kernel__k": [1, 3]}, cv=2).fit(X, y)
        assert set(search.best_params_) == {"kernel__k", "kernel__sigma"}


def test_sums_of_kernels_read_sequences() -> None:
    kernel_object_contract(0.5 * Oligo(2, 1.2, alphabet="ACGT") + Oligo(3, 0.7, alphabet="ACGT"), TEXTS, OTHERS)

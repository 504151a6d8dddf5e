"""The oligo kernel: hand-computed values, the naive formula, alphabets, origins, and its contract."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.sequences import naive_oligo_matrix, random_texts

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

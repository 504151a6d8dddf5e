"""Sums of normalised oligo kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.sequences import naive_oligo_matrix, random_texts

from widemargin.kernels import CombinedOligo, WeightedOligo
from widemargin.testing import kernel_object_contract

TEXTS, OTHERS = random_texts(7, "ACGT", 7, 25), random_texts(5, "ACGTN", 12, 30, seed=1)
SIGMAS = [0.3, 0.5, 1.0, 2.0, 4.0, 8.0]


def test_values_are_sums_of_normalised_ones() -> None:
    expected = sum(naive_oligo_matrix(TEXTS, OTHERS, k, sigma) for k, sigma in enumerate(SIGMAS, 1) if k <= 3)
    kernel = CombinedOligo(SIGMAS[:3], (1, 2, 3), alphabet="ACGT")
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected, rel=1e-12)
    assert kernel.diag(TEXTS).tolist() == [3.0] * len(TEXTS)


def test_weighted_values() -> None:
    weights = [0.5, 0.0, 2.0, 0.0, 0.0, 0.25]
    kernel = WeightedOligo(SIGMAS, weights, alphabet="ACGT")
    expected = sum(w * naive_oligo_matrix(TEXTS, TEXTS, k, SIGMAS[k - 1]) for k, w in enumerate(weights, 1) if w)
    assert kernel(TEXTS) == pytest.approx(expected, rel=1e-12)
    assert kernel.n_dims == 6
    moved = kernel.clone_with_theta(kernel.theta + 1.0)
    assert np.asarray(moved.weights)[[1, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert np.asarray(moved.sigmas)[1] == SIGMAS[1]


@pytest.mark.parametrize(
    "kernel",
    [
        CombinedOligo(),
        CombinedOligo([0.5, 2.0], (2, 4)),
        CombinedOligo(2.0, (3,), sigmas_bounds="fixed"),
        WeightedOligo([0.5, 2.0], [0.3, 3.0], (2, 4)),
        WeightedOligo(1.0, [1.0, 0.0, 2.0], (1, 2, 3)),
        WeightedOligo(1.0, [1.0, 2.0], (1, 2), sigmas_bounds="fixed"),
    ],
)
def test_contract(kernel: CombinedOligo) -> None:
    kernel_object_contract(kernel)


def test_one_number_stands_for_all() -> None:
    fitted = WeightedOligo(sigmas=2.0, weights=0.5).fitted(TEXTS)
    assert np.asarray(fitted.sigmas).tolist() == [2.0] * 6
    assert np.asarray(fitted.weights).tolist() == [0.5] * 6
    assert fitted.n_dims == 12

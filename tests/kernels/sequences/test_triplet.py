"""Weights of oligomers: only their ratios matter, and they are found at geometric mean 1."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from tests.oracles.sequences import naive_oligo_matrix, random_texts, two_kinds

from widemargin import SVC, ModelSearch
from widemargin.datasets.genbank import reverse_complement
from widemargin.kernels import Oligo, TripletOligo
from widemargin.testing import kernel_object_contract

TEXTS, OTHERS = random_texts(7, "ACGT", 7, 25), random_texts(5, "ACGTN", 12, 30, seed=1)


def weight_of(oligomer: str) -> float:
    return 1.0 + len(set(oligomer)) + oligomer.count("G")


def test_values_are_those_of_the_formula() -> None:
    names = list(TripletOligo().fitted(TEXTS).weights)
    kernel = TripletOligo(1.5, {name: weight_of(name) for name in names}).fitted(TEXTS)
    expected = naive_oligo_matrix(TEXTS, OTHERS, 3, 1.5, weights=weight_of)
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected, rel=1e-12)


def test_without_weights_it_is_the_oligo_kernel() -> None:
    assert TripletOligo(1.2, alphabet="ACGT")(TEXTS) == pytest.approx(Oligo(3, 1.2, alphabet="ACGT")(TEXTS), rel=1e-13)


def test_only_ratios_matter() -> None:
    kernel = TripletOligo(1.2, {"ATG": 3.0, "GGA": 0.5}).fitted(TEXTS)
    theta = kernel.theta
    theta[1:] += 3.0
    shifted = kernel.clone_with_theta(theta)
    assert shifted(TEXTS) == pytest.approx(kernel(TEXTS), rel=1e-12)
    assert shifted.fitted(TEXTS).weights == pytest.approx(kernel.weights)
    assert np.log(list(kernel.weights.values())).mean() == pytest.approx(0.0, abs=1e-14)
    assert kernel.fitted(TEXTS) == kernel
    W = np.random.default_rng(0).normal(size=(len(TEXTS), len(TEXTS)))
    X = kernel.samples(TEXTS)
    assert kernel.pull_back(W, X, X, kernel(X))[1:].sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scale", [1e308, 1e-308, 5e-324])
def test_weights_of_any_size_are_brought_to_geometric_mean_1(scale: float) -> None:
    plain = TripletOligo(1.2).fitted(TEXTS)
    kernel = TripletOligo(1.2, dict.fromkeys(plain.weights, scale), alphabet="ACGT")
    assert kernel(TEXTS) == pytest.approx(plain(TEXTS), rel=1e-12)
    assert kernel.fitted(TEXTS).weights == pytest.approx(plain.weights)


@pytest.mark.parametrize("far", [1e300, 1e-300])
def test_one_weight_may_be_far_from_the_others(far: float) -> None:
    kernel = TripletOligo(1.2, {"AAC": far}, alphabet="ACGT")
    fitted = kernel.fitted(TEXTS)
    assert fitted(TEXTS) == pytest.approx(kernel(TEXTS), rel=1e-9)
    assert np.isfinite(list(fitted.weights.values())).all()
    W = np.random.default_rng(0).normal(size=(len(TEXTS), len(TEXTS)))
    X = fitted.samples(TEXTS)
    assert np.isfinite(fitted.pull_back(W, X, X, fitted(X))).all()


@pytest.mark.parametrize("alphabet", ["ACGT", "ACGU"])
def test_oligomers_are_named_as_sequences_are_read(alphabet: str) -> None:
    kernel = TripletOligo(1.2, {"aug": 4.0, "CcT": 0.0}, alphabet=alphabet)
    named = kernel.fitted(TEXTS).weights
    assert list(named) == list(TripletOligo(alphabet=alphabet).fitted(TEXTS).weights)
    last = alphabet[-1]
    assert named[f"A{last}G"] == pytest.approx(4.0 * named["AAA"])
    assert named[f"CC{last}"] == 0.0
    assert kernel(TEXTS) == pytest.approx(kernel.fitted(TEXTS)(TEXTS), rel=1e-12)


def test_a_weight_of_0_leaves_its_oligomer_out() -> None:
    kernel = TripletOligo(1.2, {"ATG": 0.0}).fitted(TEXTS)
    assert kernel.weights["ATG"] == 0.0
    assert kernel.n_dims == 64
    assert kernel.clone_with_theta(kernel.theta + 1.0).weights["ATG"] == 0.0
    with pytest.raises(ValueError, match=r"sequence 1 of X, 'ATG', has k\(x, x\) = 0"):
        kernel(["ACGT", "ATG"])


@pytest.mark.parametrize(
    "kernel",
    [
        TripletOligo(1.2, {"ATG": 4.0}, alphabet="ACGT"),
        TripletOligo(1.2, {"AT": 4.0, "CC": 0.0}, k=2, reverse_complement=True),
        TripletOligo(1.2, k=1, sigma_bounds="fixed"),
        TripletOligo(0.8, k=2, weights_bounds="fixed"),
    ],
)
def test_contract(kernel: TripletOligo) -> None:
    kernel_object_contract(kernel)


def test_complements_share_a_weight() -> None:
    kernel = TripletOligo(1.2, {"ATG": 4.0}, reverse_complement=True).fitted(TEXTS)
    assert len(kernel.weights) == 32

    def same(oligomer: str) -> str:
        return min(oligomer, reverse_complement(oligomer))

    expected = naive_oligo_matrix(
        TEXTS, OTHERS, 3, 1.2, same=same, weights=lambda oligomer: 4.0 if oligomer == "ATG" else 1.0
    )
    assert kernel(TEXTS, OTHERS) == pytest.approx(expected, rel=1e-12)


def test_a_search_names_its_weights() -> None:
    X, y = two_kinds(30)
    search = ModelSearch(
        SVC(kernel=TripletOligo(k=1, sigma=1.2)), objective="likelihood", max_evaluations=8, random_state=0
    )
    search.fit(X, y)
    weights = search.best_estimator_.kernel_.weights
    assert list(weights) == list("ACGT")
    assert np.prod(list(weights.values())) == pytest.approx(1.0)
    assert len(set(weights.values())) > 1
    assert clone(search.best_estimator_.kernel_) == search.best_estimator_.kernel_

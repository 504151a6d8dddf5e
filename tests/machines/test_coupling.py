"""Probabilities of many classes: pairwise coupling against a general optimiser, and agreement with predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.probabilities import couple_slowly, favour_slowly
from widemargin.machines import coupling
from widemargin.machines.coupling import coupled, favoured, shared


def pair_probabilities(seed, n, k):
    return np.random.default_rng(seed).uniform(0.001, 0.999, size=(n, k * (k - 1) // 2))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 6))
def test_coupling_finds_the_minimum(seed, k):
    pairs = pair_probabilities(seed, 3, k)
    found = coupled(pairs, k)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert (found >= 0.0).all()
    for row, own in zip(pairs, found, strict=True):
        np.testing.assert_allclose(own, couple_slowly(row, k), atol=2e-5)


@pytest.mark.parametrize("k", [3, 5, 10])
def test_consistent_pairs_give_back_the_probabilities_they_come_from(k):
    p = np.random.default_rng(k).dirichlet(np.ones(k), size=20)
    first, second = np.triu_indices(k, 1)
    np.testing.assert_allclose(coupled(p[:, first] / (p[:, first] + p[:, second]), k), p, atol=1e-9)


def test_certain_pairs_are_no_trouble():
    found = coupled(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.5]]), 3)
    assert np.isfinite(found).all()
    assert found[0].argmax() == 0
    np.testing.assert_allclose(found[1], 1 / 3, atol=1e-6)  # each class beats another
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    pairs = pair_probabilities(0, 50, 4)
    whole = coupled(pairs, 4)
    monkeypatch.setattr(coupling, "BLOCK_ENTRIES", 16 * 7)
    np.testing.assert_array_equal(coupled(pairs, 4), whole)


def test_classes_against_all_share_what_there_is():
    found = shared(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(found, [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6), digits=st.sampled_from([1, 2, 12]))
def test_the_winner_is_favoured_with_the_smallest_change(seed, k, digits):
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(k), size=6).round(digits)
    winners = generator.integers(0, k, 6)
    found = favoured(p, winners)
    np.testing.assert_array_equal(found.argmax(axis=1), winners)
    np.testing.assert_allclose(found.sum(axis=1), p.sum(axis=1), rtol=1e-14)
    right = p.argmax(axis=1) == winners
    np.testing.assert_array_equal(found[right], p[right])
    for row, winner, own in zip(p, winners, found, strict=True):
        if row.sum() == pytest.approx(1.0, abs=1e-12):
            np.testing.assert_allclose(own, favour_slowly(row, winner), atol=2e-5)

"""Distances over subsets of features: toggling is computing anew but for rounding, whatever the samples are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widemargin import _core
from widemargin.kernels import MaskedGaussian
from widemargin.kernels.feature_distances import FeatureDistances, column, columns, selected

#: Half a unit in the last place of a float32 just above 1.
ROUNDING = 2.0**-24


def samples(n: int, d: int = 7, *, seed: int = 0, scale: float = 1.0, offset: float = 0.0) -> Any:
    return scale * (np.random.default_rng(seed).normal(size=(n, d)) + offset)


def thin(n: int, d: int = 7, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return sp.csr_array(np.where(rng.random((n, d)) < 0.6, 0.0, rng.normal(size=(n, d))))


def exactly(X: Any, Z: Any, features: Any) -> Any:
    """Return the squared distances pair by pair, in float64."""
    left, right = (np.asarray(one.toarray() if sp.issparse(one) else one, dtype=np.float64) for one in (X, Z))
    return np.square(left[:, np.newaxis, features] - right[np.newaxis, :, features]).sum(axis=2)


def mask(d: int, *left_out: int) -> Any:
    return ~np.isin(np.arange(d), left_out)


KINDS = {
    "dense": (samples(40), samples(23, seed=1)),
    "tiny": (samples(40, scale=1e-18), samples(23, seed=1, scale=1e-18)),
    "huge": (samples(40, scale=1e17), samples(23, seed=1, scale=1e17)),
    "far from 0": (samples(40, offset=1e6), samples(23, seed=1, offset=1e6)),
    "whole numbers": (np.arange(40 * 7).reshape(40, 7) % 11, np.arange(23 * 7).reshape(23, 7) % 5),
    "sparse": (thin(40), thin(23, seed=1)),
    "float32": (samples(40).astype(np.float32), samples(23, seed=1).astype(np.float32)),
    "columns in memory": (np.asfortranarray(samples(40)), np.asfortranarray(samples(23, seed=1))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("feature", [0, 3, 6])
def test_toggling_is_computing_anew_but_for_rounding(kind: str, same: bool, feature: int) -> None:
    X, Z = KINDS[kind]
    Z = X if same else Z
    all_of_them, without = mask(7), mask(7, feature)
    whole, part = exactly(X, Z, all_of_them), exactly(X, Z, without)
    # Sums of seven squares, of differences that were rounded.
    allowed = 16 * ROUNDING * whole.max()
    base = FeatureDistances.between(X, Z, all_of_them)
    np.testing.assert_allclose(base.values, whole, rtol=0.0, atol=allowed)
    less = base.toggled(feature, X, Z)
    assert less.features.tolist() == without.tolist()
    assert (less.values >= 0.0).all()
    np.testing.assert_allclose(less.values, part, rtol=0.0, atol=allowed)
    more = FeatureDistances.between(X, Z, without).toggled(feature, X, Z)
    assert more.features.tolist() == all_of_them.tolist()
    np.testing.assert_allclose(more.values, whole, rtol=0.0, atol=allowed)
    # What it was computed from is left alone.
    assert base.features.tolist() == all_of_them.tolist()
    np.testing.assert_array_equal(base.values, FeatureDistances.between(X, Z, all_of_them).values)


def test_whole_numbers_are_exact() -> None:
    X = np.arange(40 * 7).reshape(40, 7) % 11
    distances = FeatureDistances.between(X, X, mask(7))
    for feature in (2, 5, 2, 0, 5):
        distances = distances.toggled(feature, X, X)
        np.testing.assert_array_equal(distances.values, exactly(X, X, distances.features))


@pytest.mark.parametrize(
    "X", [samples(60, offset=30.0), samples(60, d=900), thin(60, d=300)], ids=["", "wide", "sparse"]
)
def test_a_sample_is_at_no_distance_from_itself(X: Any) -> None:
    base = FeatureDistances.between(X, X, mask(X.shape[1], 1))
    for found in (base, base.toggled(1, X, X), base.toggled(4, X, X)):
        np.testing.assert_array_equal(np.diag(found.values), 0.0)
        np.testing.assert_array_equal(found.values, found.values.T)


def test_a_change_in_place() -> None:
    X, Z = KINDS["dense"]
    base = FeatureDistances.between(X, Z, mask(7))
    meant = base.toggled(2, X, Z)
    found = base.toggled(2, X, Z, out=base.values)
    assert found.values is base.values
    np.testing.assert_array_equal(found.values, meant.values)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 1), (1, 70), (300, 517)])
def test_more_threads_change_nothing(n: int, m: int) -> None:
    X, Z = samples(n), samples(m, seed=1)
    base, many = (FeatureDistances.between(X, Z, mask(7, 0), n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(base.values, many.values)
    one, three = (base.toggled(0, X, Z, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.values, three.values)


def test_rounding_adds_up_over_toggles() -> None:
    """The rule that distances are toggled once: after a hundred toggles they are worse than after one, if not bad."""
    X = samples(150, d=20)
    base = FeatureDistances.between(X, X, mask(20))
    largest = exactly(X, X, mask(20)).max()

    def error(found: FeatureDistances) -> float:
        return float(np.abs(found.values - exactly(X, X, found.features)).max()) / (ROUNDING * largest)

    one, chain, rng = base.toggled(0, X, X), base, np.random.default_rng(0)
    for _ in range(100):
        chain = chain.toggled(int(rng.integers(10)), X, X)
    assert error(one) <= error(base) + 2.0
    assert error(one) < error(chain) <= error(base) + 100.0


def test_a_feature_that_outweighs_all_others_takes_their_digits_with_it() -> None:
    """What documentation warns of: the error is one of the distances before, however small those after are."""
    X = samples(50)
    X[:, 0] *= 1e4
    after = FeatureDistances.between(X, X, mask(7)).toggled(0, X, X)
    before, meant = exactly(X, X, mask(7)).max(), exactly(X, X, mask(7, 0))
    error = np.abs(after.values - meant).max()
    assert error <= 4 * ROUNDING * before
    assert error > ROUNDING * meant.max()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_samples_that_are_too_far_apart_are_refused(kind: Any) -> None:
    X = np.zeros((3, 4))
    X[1, 2] = 1e20
    for left, right in ((X, X), (X[:1], X), (X, X[:1])):
        with pytest.raises(ValueError, match=r"feature 2 ranges over 1e\+20; squared distances must be at most 1e\+38"):
            FeatureDistances.between(kind(left), kind(right), mask(4, 2))
    # Far from 0 is not far from each other, for dense samples.
    assert FeatureDistances.between(X[1:2], X[1:2], mask(4)).values.tolist() == [[0.0]]


@given(
    coordinates=st.lists(st.floats(-1e3, 1e3, width=32), min_size=4, max_size=24),
    features=st.integers(1, 15),
    feature=st.integers(0, 3),
)
def test_any_samples_and_features(coordinates: list[float], features: int, feature: int) -> None:
    X = np.array(coordinates[: len(coordinates) // 4 * 4]).reshape(-1, 4)
    chosen = np.array([bool(features >> k & 1) for k in range(4)])
    found = FeatureDistances.between(X, X, chosen).toggled(feature, X, X)
    meant = exactly(X, X, found.features)
    largest = max(float(exactly(X, X, chosen).max()), float(meant.max()))
    np.testing.assert_allclose(found.values, meant, rtol=0.0, atol=16 * ROUNDING * largest + 1e-37)


def test_columns() -> None:
    X = samples(5)
    for form in (X, sp.csr_array(X), sp.csc_array(X)):
        np.testing.assert_array_equal(column(form, 3), X[:, 3].astype(np.float32))
        own, others = columns(form, form, 3)
        assert own is others
        np.testing.assert_allclose(own, X[:, 3] - np.median(X[:, 3]), rtol=1e-6, atol=1e-7)
    assert selected(X, mask(7)) is X
    assert selected(X, mask(7, 2)).flags.c_contiguous
    np.testing.assert_array_equal(selected(sp.csr_array(X), mask(7, 2)).toarray(), np.delete(X, 2, axis=1))


def decisions(squared: Any, rows: Any, coefficients: Any, gamma: float, *toggle: Any, n_threads: int = 1) -> Any:
    values = np.full(squared.shape[1], 0.25)
    own = toggle or (None, None, False)
    _core.add_gaussian_rows(squared, rows, coefficients, gamma, *own, values, n_threads)
    return values


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 5), (1, 1), (31, 511), (32, 512), (33, 513), (70, 1100)])
@pytest.mark.parametrize("toggled", [None, 2, 5])
def test_sums_of_gaussian_rows(n_rows: int, n_columns: int, toggled: int | None) -> None:
    """Decision values: sums over some rows, in any order and number, with a feature toggled or not."""
    X, Z, features = samples(80), samples(n_columns, seed=1), mask(7, 5)
    base = FeatureDistances.between(X, Z, features)
    rng = np.random.default_rng(2)
    rows = rng.permutation(80)[:n_rows].astype(np.int32)
    coefficients = rng.normal(size=n_rows)
    toggle: tuple[Any, ...] = ()
    if toggled is not None:
        toggle = (*columns(X, Z, toggled), toggled == 5)
        features = features ^ (np.arange(7) == toggled)
    found = decisions(base.values, rows, coefficients, 0.3, *toggle)
    K = MaskedGaussian(features, gamma=0.3)(X[rows], Z) if n_rows else np.zeros((0, n_columns))
    np.testing.assert_allclose(found, 0.25 + coefficients @ K, rtol=0.0, atol=4e-6 * (1.0 + np.abs(coefficients).sum()))
    again = decisions(base.values, rows, coefficients, 0.3, *toggle, n_threads=3)
    np.testing.assert_array_equal(again, found)


def test_what_does_not_fit_is_refused() -> None:
    squared, float32 = np.zeros((3, 4), dtype=np.float32), np.float32
    rows, coefficients = np.array([0, 2], dtype=np.int32), np.ones(2)
    three, four = np.zeros(3, dtype=float32), np.zeros(4, dtype=float32)
    with pytest.raises(ValueError, match="differ in their numbers of samples"):
        _core.toggle_feature(squared, four, four, True, squared, 1)
    with pytest.raises(ValueError, match="out and the distances differ in shape"):
        _core.toggle_feature(squared, three, four, True, np.zeros((4, 3), dtype=float32), 1)
    for wrong in ([0, 3], [-1, 0]):
        with pytest.raises(ValueError, match="a row lies outside of the distances"):
            decisions(squared, np.array(wrong, dtype=np.int32), coefficients, 1.0)
    with pytest.raises(ValueError, match="do not fit together"):
        decisions(squared, rows, np.ones(3), 1.0)
    with pytest.raises(ValueError, match="needs its values of rows and of columns"):
        decisions(squared, rows, coefficients, 1.0, three, None, True)
    with pytest.raises(ValueError, match="differ in their numbers of samples"):
        decisions(squared, rows, coefficients, 1.0, four, four, True)

"""Splits of samples, and features on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widemargin.model_selection.compact.samples import FARTHEST, FeatureScale, nested_split


@given(
    sizes=st.lists(st.integers(3, 40), min_size=2, max_size=5),
    validation_size=st.floats(0.01, 0.99),
    test_size=st.floats(0.01, 0.99) | st.just(0.0),
    seed=st.integers(0, 100),
)
def test_every_class_is_in_every_part(sizes: list[int], validation_size: float, test_size: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    classes = np.arange(len(sizes))
    split = nested_split(labels, classes, validation_size, test_size, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(len(labels)))
    for part in split[: 3 if test_size else 2]:
        assert set(labels[part]) == set(classes)
        assert (np.diff(part) > 0).all()
    assert bool(len(split.test)) == (test_size > 0)
    for label, size in enumerate(sizes):
        train, validation, test = (np.count_nonzero(labels[part] == label) for part in split)
        if test_size:
            assert abs(test - test_size * size) <= 2.0
        assert abs(validation - validation_size * (size - test)) <= 1.0
        assert train >= 1
    again = nested_split(labels, classes, validation_size, test_size, seed)
    for part, other in zip(split, again, strict=True):
        np.testing.assert_array_equal(part, other)


def test_other_seeds_are_other_splits() -> None:
    labels = np.repeat([0, 1], 20)
    assert len({nested_split(labels, np.arange(2), 1 / 3, 1 / 3, seed).test.tobytes() for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("test_size", "counts", "words"),
    [
        (
            1 / 3,
            [5, 2],
            "y holds 2 samples of class 'b'; every class needs 3: one to train on, one to choose the model by and one "
            "to test it.",
        ),
        (
            0.0,
            [1, 5],
            "y holds 1 sample of class 'a'; every class needs 2: one to train on and one to choose the model by.",
        ),
    ],
)
def test_classes_that_are_too_small(test_size: float, counts: list[int], words: str) -> None:
    with pytest.raises(ValueError, match="every class needs") as problem:
        nested_split(np.repeat([0, 1], counts), np.array(["a", "b"]), 1 / 3, test_size, 0)
    assert str(problem.value) == words


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e-300, 1e-165, 1e-20, 1.0, 1e18, 1e155, 1e300])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_standardised_features_have_a_variance_of_one_over_their_number(dtype: Any, factor: float, make: Any) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(50, 4)) * (generator.random((50, 4)) < 0.7) * np.array([1.0, 1e-3, 1e3, 0.0]) * factor
    X = X.astype(dtype if 1e-30 < factor < 1e30 else np.float64)
    scale = FeatureScale.of(make(X), True)
    np.testing.assert_array_equal(scale.varies, [True, True, True, False])
    found = scale.scaled(make(X))
    assert found.dtype == np.float64
    assert sp.issparse(found) == sp.issparse(make(X))
    dense = found.toarray() if sp.issparse(found) else found
    np.testing.assert_allclose(dense.var(axis=0), [0.25, 0.25, 0.25, 0.0], rtol=1e-5)
    # Zeros of sparse samples stay zeros.
    assert scale.means.any() == (not sp.issparse(found))
    np.testing.assert_allclose(dense - dense.mean(axis=0), (X - X.mean(axis=0, dtype=float)) * scale.factors, atol=1e-6)


def test_without_standardising_only_the_mean_is_taken_off() -> None:
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    scale = FeatureScale.of(X, False)
    np.testing.assert_array_equal(scale.scaled(X), [[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(scale.varies, [True, False])


def test_a_constant_that_float64_rounds_does_not_vary() -> None:
    assert not FeatureScale.of(np.full((7, 1), 0.1), True).varies.any()
    assert not FeatureScale.of(sp.csr_array(np.full((7, 1), 0.1)), True).varies.any()


def test_some_features_and_back() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 5)) * 3.0 + 1e7
    scale, features = FeatureScale.of(X, True), np.array([0, 3])
    some = scale.scaled(X[:, features], features)
    np.testing.assert_array_equal(some, scale.scaled(X)[:, features])
    np.testing.assert_allclose(scale.original(some, features), X[:, features], rtol=1e-15)
    rows = sp.csr_array(X)
    sparse = FeatureScale.of(rows, True)
    np.testing.assert_allclose(
        sparse.original(sparse.scaled(rows[:, features], features), features).toarray(), X[:, features], rtol=1e-15
    )
    # Sparse samples for a model of dense ones.
    np.testing.assert_array_equal(scale.scaled(rows[:, features], features), some)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_distances_that_float32_does_not_hold(make: Any) -> None:
    X = np.zeros((4, 3))
    X[1, 2], X[2, 0] = 1e20, 1.0
    with pytest.raises(ValueError, match="too far") as problem:
        FeatureScale.of(make(X), False).for_search(make(X))
    away = 1e20 if make is sp.csr_array else 7.5e19
    assert str(problem.value) == (
        f"Column 2 of X reaches {away:.3g} on the scale of the search, too far for distances in float32; scale X, "
        "with standardize=True or yourself, or leave the samples out that are so far away."
    )
    found = FeatureScale.of(make(X), True).for_search(make(X))
    assert found.dtype == np.float32
    # The largest that is taken.
    X = np.zeros((2, 9))
    X[0], X[1] = 0.999 * FARTHEST / 6.0, -0.999 * FARTHEST / 6.0
    own = FeatureScale.of(make(X), False).for_search(make(X))
    rows = own.toarray() if sp.issparse(own) else own
    assert np.isfinite(np.square(rows[0] - rows[1]).sum(dtype=np.float32))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_columns_that_float64_cannot_scale(make: Any) -> None:
    X = np.ones((4, 2))
    X[:, 1] = [1e-310, 3e-310, 1e-310, 3e-310]
    with pytest.raises(
        ValueError, match=r"^Column 1 of X has a standard deviation of 1e-310, too small for float64 to"
    ):
        FeatureScale.of(make(X), True)
    assert FeatureScale.of(make(X), False).varies.tolist() == [False, True]
    X[:, 1] = [1e308, 0.0, 0.0, 0.0]
    for standardize in (False, True):
        with pytest.raises(ValueError, match=r"^Column 1 of X reaches 1e\+308, and float64 may not hold its differenc"):
            FeatureScale.of(make(X), standardize)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8, 1e10])
def test_samples_for_a_search_keep_what_they_differ_by(offset: float, standardize: bool) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3)) + offset
    apart = np.square((X[:, np.newaxis] - X) * FeatureScale.of(X, standardize).factors).sum(axis=2)
    for make in (np.asarray, sp.csr_array):
        found = FeatureScale.of(make(X), standardize).for_search(make(X))
        assert found.dtype == (np.float64 if sp.issparse(found) and offset > 1.0 else np.float32)
        rows = (found.toarray() if sp.issparse(found) else found).astype(np.float64)
        np.testing.assert_allclose(np.square(rows[:, np.newaxis] - rows).sum(axis=2), apart, rtol=1e-4, atol=1e-5)

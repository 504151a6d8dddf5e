"""Codebooks: what every level promises, and the naive version beside it."""

from __future__ import annotations

import _thread
import threading
import time
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.quantization import levels as naive_levels
from widemargin.quantization import WHOLE, Codebooks, Level, quantized
from widemargin.runtime import Stop, StoppedError

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 4))


def dense(X: Any) -> Any:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def assert_right(X: Any, weights: Any = None, tolerance: float = 1e-12, **options: Any) -> list[Level]:
    """Check what is promised of all levels: prototypes are means of cells, distortions are theirs and never rise."""
    books, Z = Codebooks(X, weights, **options), dense(X)
    w = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=np.float64)
    Z, w = Z[w > 0], w[w > 0]
    extent = np.abs(Z - Z.mean(axis=0)).max() + 1e-15 * np.abs(Z).max()
    different, found = len(np.unique(Z, axis=0)), []
    for k in range(books.whole_level):
        level = books.level(k)
        P = dense(level.prototypes)
        assert len(P) == min(2**k, different)
        assert level.counts.min() > 0
        assert level.counts.tolist() == np.bincount(level.labels, minlength=len(P)).tolist()
        np.testing.assert_allclose(level.weights, np.bincount(level.labels, w), rtol=1e-12)
        for j in range(len(P)):
            own = level.labels == j
            centre = Z[own][0] + np.average(Z[own] - Z[own][0], axis=0, weights=w[own])
            np.testing.assert_allclose(P[j], centre, atol=tolerance * extent, rtol=1e-15)
        squared = (((Z - P[level.labels]) / (extent or 1.0)) ** 2).sum(axis=1)
        expected = np.average(squared, weights=w) * extent**2
        np.testing.assert_allclose(level.distortion, expected, rtol=1e-9, atol=tolerance**2 * extent**2)
        assert not found or level.distortion <= found[-1].distortion
        assert level.reason == "converged"
        assert level.evaluations == level.rounds * len(P) * len(Z)
        found.append(level)
    whole = books.level(books.whole_level)
    assert whole.reason == WHOLE
    assert (dense(whole.prototypes) == Z).all()
    return found


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 3]))
def test_every_level_keeps_its_promises(shape: tuple[int, int], seed: int, digits: int) -> None:
    # Few digits make ties and duplicates.
    assert_right(np.random.default_rng(seed).normal(size=shape).round(digits))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_so_does_every_level_of_weighted_sparse_samples(n: int, seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    X = sp.random(n, 25, density=0.06, random_state=seed % 2**31, format="csr", dtype=dtype)
    weights = rng.uniform(0.1, 3.0, size=n) * (rng.uniform(size=n) < 0.8)
    weights[0] = 1.0
    assert_right(X, weights)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_naive_version_finds_the_same_levels(kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(90, 4)) * (1 if kind == "dense" else 0)
    if kind == "sparse":
        X = sp.random(90, 30, density=0.05, random_state=0).toarray()
    books = Codebooks(X)
    for k, expected in enumerate(islice(naive_levels(X), books.whole_level)):
        found = books.level(k)
        np.testing.assert_allclose(found.prototypes, expected.means, atol=1e-12)
        assert found.labels.tolist() == expected.labels.tolist()
        np.testing.assert_allclose(found.distortion, expected.errors.sum() / len(X), rtol=1e-9, atol=1e-20)


def test_the_naive_version_finds_the_same_levels_of_weighted_samples() -> None:
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(60, 3)), rng.uniform(0.1, 5.0, size=60)
    books = Codebooks(X, w)
    for k, expected in enumerate(islice(naive_levels(X, w), books.whole_level)):
        np.testing.assert_allclose(books.level(k).prototypes, expected.means, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-20, 0.0), (1e20, 0.0), (1.0, 1e7), (1e-30, -1e-24)])
def test_scale_and_offset_make_no_difference(dtype: Any, scale: float, offset: float) -> None:
    X = np.random.default_rng(2).integers(-40, 40, size=(120, 3)).astype(np.float64)
    plain = assert_right(X)
    moved = (X * scale + offset).astype(dtype)
    assert len(np.unique(moved, axis=0)) == len(np.unique(X, axis=0))
    for expected, found in zip(plain, assert_right(moved), strict=True):
        np.testing.assert_allclose(found.distortion, expected.distortion * scale**2, rtol=2e-2)


def test_a_small_cluster_far_from_the_others_is_resolved_in_float32() -> None:
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(200, 2)) * 1e-4, [[100.0, 0.0], [0.0, 100.0]]]).astype(np.float32)
    found = assert_right(X)
    assert found[5].distortion < 0.2 * 2e-8


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_make_no_difference_to_any_bit(n_threads: int, dtype: Any) -> None:
    X = np.random.default_rng(4).normal(size=(5000, 6)).astype(dtype)
    one, more = Codebooks(X), Codebooks(X, n_threads=n_threads)
    for k in range(8):
        assert one.level(k).prototypes.tobytes() == more.level(k).prototypes.tobytes()
        assert one.level(k).labels.tobytes() == more.level(k).labels.tobytes()
        assert one.level(k).distortion == more.level(k).distortion


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("density", [0.04, 0.5])
def test_sparse_samples_have_the_same_levels(container: Any, density: float) -> None:
    X = sp.random(300, 50, density=density, random_state=0, format="csr")
    found, expected = assert_right(container(X)), assert_right(X.toarray())
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one.prototypes, container)
        assert (one.prototypes.toarray() == other.prototypes).all()
        assert one.distortion == other.distortion


def test_sparse_samples_far_from_zero() -> None:
    X = sp.random(200, 40, density=0.05, random_state=1, format="csr")
    X.data += 1e7
    assert_right(X)


def test_float32_finds_what_float64_finds() -> None:
    X = np.random.default_rng(5).normal(size=(2000, 8)).astype(np.float32)
    single, double = Codebooks(X), Codebooks(X.astype(np.float64))
    for k in range(7):
        np.testing.assert_allclose(single.level(k).distortion, double.level(k).distortion, rtol=1e-2)
    assert single.level(3).prototypes.dtype == np.float64


def test_duplicates_are_one_prototype_each() -> None:
    X = np.repeat(np.array([[0.1, 0.2], [0.3, 0.1], [5.0, 5.0]]), 7, axis=0)
    found = assert_right(X)
    assert [len(level.prototypes) for level in found] == [1, 2, 3, 3, 3]
    assert [level.distortion for level in found[2:]] == [0.0, 0.0, 0.0]
    assert sorted(map(tuple, found[2].prototypes)) == sorted(map(tuple, X[::7]))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_samples(n: int) -> None:
    X = np.arange(2.0 * n).reshape(n, 2)
    found = assert_right(X)
    assert len(found) == (n - 1).bit_length() == Codebooks(X).whole_level


def test_constant_samples_and_columns() -> None:
    assert [len(level.prototypes) for level in assert_right(np.full((9, 3), 0.1))] == [1, 1, 1, 1]
    X = np.random.default_rng(6).normal(size=(50, 3))
    X[:, 1] = 0.1
    for level in assert_right(X):
        assert (level.prototypes[:, 1] == 0.1).all()


def test_a_sample_of_weight_zero_is_left_out_and_one_of_weight_two_is_repeated() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3))
    w = rng.integers(0, 4, size=80).astype(np.float64)
    found = assert_right(X, w)
    repeated = Codebooks(np.repeat(X, w.astype(int), axis=0))
    for k, level in enumerate(found):
        np.testing.assert_allclose(np.sort(level.prototypes, axis=0), np.sort(repeated.level(k).prototypes, axis=0))
        np.testing.assert_allclose(level.distortion, repeated.level(k).distortion)
        assert level.weights.tolist() == repeated.level(k).counts.tolist()


def test_weights_of_any_scale() -> None:
    X = np.random.default_rng(8).normal(size=(40, 2))
    w = np.geomspace(1e-280, 1e10, 40)
    assert_right(X, np.full(40, 1e-200))
    books = Codebooks(X, w)
    assert [books.level(k).distortion for k in range(5)] == sorted(books.level(k).distortion for k in range(5))[::-1]


def test_without_tolerance_no_sample_is_nearer_to_another_prototype() -> None:
    X = np.random.default_rng(9).normal(size=(400, 2))
    level = Codebooks(X, tol=0.0, max_rounds=1000).level(4)
    assert level.labels.tolist() == ((X[:, np.newaxis] - level.prototypes) ** 2).sum(axis=2).argmin(axis=1).tolist()


def test_rounds_are_counted_and_limited() -> None:
    X = np.random.default_rng(10).normal(size=(400, 2))
    level = Codebooks(X, tol=0.0, max_rounds=2).level(3)
    assert (level.rounds, level.reason) == (2, "iteration budget")


def test_levels_are_kept_and_may_be_asked_for_in_any_order() -> None:
    X = np.random.default_rng(11).normal(size=(100, 2))
    books, again = Codebooks(X), Codebooks(X)
    high = books.level(4)
    assert books.level(4) is high
    low = again.level(1)
    assert low.prototypes.tobytes() == books.level(1).prototypes.tobytes()
    assert again.level(4).prototypes.tobytes() == high.prototypes.tobytes()


def test_threads_may_ask_for_levels_at_the_same_time() -> None:
    books = Codebooks(np.random.default_rng(12).normal(size=(3000, 5)))
    found: list[Level] = []
    askers = [threading.Thread(target=lambda: found.append(books.level(6))) for _ in range(4)]
    for one in askers:
        one.start()
    for one in askers:
        one.join()
    assert len(found) == 4
    assert all(level is found[0] for level in found)


@pytest.mark.parametrize("number", [-1, 63])
def test_levels_that_there_are_none_of(number: int) -> None:
    with pytest.raises(ValueError, match="level must be a whole number of 0 to 62"):
        Codebooks(np.eye(3)).level(number)


def many() -> Any:
    return np.random.default_rng(13).normal(size=(60_000, 20))


def test_time_that_is_up_ends_a_level() -> None:
    books = Codebooks(many(), tol=0.0, stop=Stop().within(0.3))
    began = time.perf_counter()
    with pytest.raises((StoppedError, TimeoutError)):
        books.level(12)
    assert time.perf_counter() - began < 5.0


def test_a_request_ends_a_level() -> None:
    stop = Stop()
    books = Codebooks(many(), tol=0.0, stop=stop)
    threading.Timer(0.2, stop.request).start()
    with pytest.raises((StoppedError, TimeoutError)):
        books.level(12)


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.002, 0.3])
def test_ctrl_c_ends_a_level_and_leaves_what_there_was(delay: float) -> None:
    X = many()
    books = Codebooks(X, tol=0.0)

    def interrupted() -> None:
        threading.Timer(delay, _thread.interrupt_main).start()
        books.level(12)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert books.level(2).prototypes.tobytes() == Codebooks(X, tol=0.0).level(2).prototypes.tobytes()


def test_samples_that_float64_cannot_average_are_refused() -> None:
    with pytest.raises(ValueError, match="too large to be averaged"):
        Codebooks(np.array([[1.7e308], [-1.7e308], [1.7e308]])).level(0)


@pytest.mark.parametrize("sparse", [False, True])
def test_classes_are_simplified_one_by_one_and_small_ones_are_kept(sparse: bool) -> None:
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(60, 3)), np.array(["few"] * 3 + ["many"] * 57)
    given = sp.csr_matrix(X) if sparse else X
    for level, expected in [(0, [1, 1]), (1, [2, 2]), (2, [3, 4]), (5, [3, 32]), (6, [3, 57])]:
        P, labels = quantized(given, y, level)
        assert [int((labels == one).sum()) for one in ("few", "many")] == expected
        assert sp.issparse(P) == sparse
    assert (dense(P) == X).all()
    P, labels = quantized(given, y, 2)
    assert (dense(P)[labels == "few"] == X[y == "few"]).all()
    assert (dense(P)[labels == "many"] == Codebooks(X[y == "many"]).level(2).prototypes).all()

"""The core's quantiser through its bindings: all vector instructions, what is refused, what a cell depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import _core
from widemargin.kernels.rows import core_samples


@pytest.fixture(params=["baseline", "avx2", "avx512", "avx512-popcount"])
def simd(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _core.simd_name()
    if not _core.use_simd(request.param):
        pytest.skip(f"this processor has no {request.param}")
    yield
    _core.use_simd(before)


def lbg(X: Any, double: bool = True) -> _core.Lbg:
    return _core.Lbg(core_samples(X), np.ones(X.shape[0]), 1e-3, 100, double)


@pytest.mark.usefixtures("simd")
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("n", "d"), [(300, 1), (300, 7), (1000, 33)])
def test_every_sample_is_in_the_cell_of_the_nearest_prototype(n: int, d: int, double: bool) -> None:
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float64 if double else np.float32)
    books = _core.Lbg(core_samples(X), np.ones(n), 0.0, 10_000, double)
    for k in range(7):
        level = books.level(k, 2)
        squared = ((X[:, np.newaxis].astype(np.float64) - level.prototypes) ** 2).sum(axis=2)
        own = squared[np.arange(n), level.labels]
        assert len(level.prototypes) == 2**k
        np.testing.assert_allclose(own, squared.min(axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("simd")
def test_the_nearest_prototype_does_not_depend_on_the_samples_beside() -> None:
    rng = np.random.default_rng(1)
    X, P = rng.normal(size=(400, 9)), rng.normal(size=(77, 9))
    labels, squared = _core.nearest_prototypes(core_samples(X), P, 2)
    expected = ((X[:, np.newaxis] - P) ** 2).sum(axis=2)
    assert labels.tolist() == expected.argmin(axis=1).tolist()
    np.testing.assert_allclose(squared, expected.min(axis=1))
    for some in (slice(3, 4), slice(0, None, 3), slice(None, None, -1)):
        alone = _core.nearest_prototypes(core_samples(np.ascontiguousarray(X[some])), P, 1)
        assert alone[0].tolist() == labels[some].tolist()
        assert alone[1].tolist() == squared[some].tolist()
    sparse = _core.nearest_prototypes(core_samples(sp.csr_matrix(X)), P, 1)
    assert sparse[1].tolist() == squared.tolist()


@pytest.mark.usefixtures("simd")
def test_of_equal_distances_the_first_wins() -> None:
    P = np.repeat(np.arange(5.0), 30)[:, np.newaxis]
    labels, _ = _core.nearest_prototypes(core_samples(np.array([[0.5], [4.0], [2.5]])), P, 1)
    assert labels.tolist() == [0, 120, 60]


def test_what_is_refused() -> None:
    X = np.eye(3)
    with pytest.raises(ValueError, match="samples and weights differ in their number"):
        _core.Lbg(core_samples(X), np.ones(2), 1e-3, 100, True)
    with pytest.raises(ValueError, match="every weight must be a positive number"):
        _core.Lbg(core_samples(X), np.array([1.0, 0.0, 1.0]), 1e-3, 100, True)
    with pytest.raises(ValueError, match="there are no samples to quantise"):
        _core.Lbg(core_samples(X[:0]), np.ones(0), 1e-3, 100, True)
    with pytest.raises(ValueError, match="differ in their number of features"):
        _core.nearest_prototypes(core_samples(X), np.eye(2), 1)


@pytest.mark.parametrize("double", [False, True])
def test_a_level_that_is_stopped_can_be_asked_for_again(double: bool) -> None:
    X = np.random.default_rng(2).normal(size=(20_000, 10)).astype(np.float64 if double else np.float32)
    books, other = lbg(X, double), lbg(X, double)
    for k in range(5):
        with pytest.raises(_core.StoppedError):
            books.level(k, 1, max_seconds=-1.0)
        assert books.level(k, 1).prototypes.tobytes() == other.level(k, 2).prototypes.tobytes()


def test_a_level_is_the_same_however_often_it_was_stopped_on_its_way() -> None:
    # Without a tolerance iterations go on until the digits of float32 are used up, and then in float64.
    X = np.random.default_rng(3).normal(size=(5_000, 8)).astype(np.float32)
    books, other = (_core.Lbg(core_samples(X), np.ones(5_000), 0.0, 10_000, False) for _ in range(2))
    for k in range(7):
        limit = 1e-4
        while True:
            try:
                found = books.level(k, 2, max_seconds=limit)
                break
            except _core.StoppedError:
                limit *= 1.5
        assert found.prototypes.tobytes() == other.level(k, 2).prototypes.tobytes()


def test_the_last_level_can_be_asked_for_again() -> None:
    books = lbg(np.random.default_rng(2).normal(size=(500, 3)))
    for k in range(3):
        first, again = books.level(k, 1), books.level(k, 1, max_seconds=-1.0)
        assert first.prototypes.tobytes() == again.prototypes.tobytes()
        assert (first.rounds, first.evaluations, first.reason) == (again.rounds, again.evaluations, again.reason)
    for number in (0, 4):
        with pytest.raises(ValueError, match="one after the other"):
            books.level(number, 1)

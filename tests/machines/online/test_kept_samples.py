"""Stores of a stream's samples: kernel rows are right whatever came and went, and set-ups are kept."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import _core
from widemargin.kernels import Mahalanobis, Oligo, Spectrum
from widemargin.kernels.rows import KernelParameters, kernel_matrix
from widemargin.machines.online.kept_samples import (
    Kept,
    KeptAnew,
    KeptObjects,
    KeptVectors,
    Part,
    SparseMemory,
    kept_samples,
)
from widemargin.machines.online.stream import Batch, OnlineRules, Stream

RANDOM = np.random.default_rng(0)
N = 400
DENSE = RANDOM.normal(size=(N, 30))
TEXTS = ["".join(RANDOM.choice(list("ACGT"), 20)) for _ in range(N)]
SPARSE = sp.random_array((N, 3000), density=0.01, format="csr", rng=RANDOM)
BINARY = (RANDOM.random((N, 200)) < 0.5).astype(np.float64)

RBF = KernelParameters("rbf", 0.05)

CASES = {
    "dense": (RBF, DENSE),
    "float32": (RBF, DENSE.astype(np.float32)),
    "few features": (RBF, DENSE[:, :3]),
    "far from the origin": (RBF, DENSE + 1000.0),
    "bits": (RBF, BINARY),
    "polynomial": (KernelParameters("poly", 0.1, 1.0, 3), DENSE),
    "mapped": (Mahalanobis(delta=5.0).fitted(DENSE[:50]).resolved(), DENSE),
    "sparse columns": (RBF, SPARSE),
    "sparse rows": (RBF, sp.csr_matrix(DENSE * (RANDOM.random(DENSE.shape) < 0.2))),
    "sequences": (Spectrum(2, alphabet="ACGT").resolved(), TEXTS),
    "other sequences": ((2.0 * Oligo(2, alphabet="ACGT") + Spectrum(3, alphabet="ACGT")).resolved(), TEXTS),
    "callable": (KernelParameters(lambda A, B: np.tanh(A @ B.T / 30)), DENSE),
}


def values_of(kernel: KernelParameters, X: Any) -> np.ndarray:
    if callable(kernel.kernel):
        return np.asarray(kernel.kernel(X, X))
    numbers = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}
    return np.asarray(kernel_matrix(kernel.mapped(X), kernel=kernel.kernel, dtype="float64", **numbers))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("at_once", [1, 7, 150])
def test_a_machine_that_samples_come_to_and_leave_has_the_right_values(name: str, at_once: int) -> None:
    kernel, X = CASES[name]
    K = values_of(kernel, X)
    labels = RANDOM.integers(0, 2, N).astype(np.int32)
    n = 150 if at_once == 1 and name in ("sequences", "other sequences") else N
    for room in (None, 20_000):  # the second time, rows are given up and computed again
        rules = OnlineRules(window=90, options=type(OnlineRules().options)(cache_bytes=room))
        stream = Stream(2, kernel, True, 1.0)
        for begin in range(0, n, at_once):
            own = np.arange(begin, min(n, begin + at_once))
            samples = [X[i] for i in own] if isinstance(X, list) else X[own]
            rows = np.arange(len(own), dtype=np.int32)
            stream.learn(Batch(samples, labels[own], np.ones(len(own)), own, own), [rows], 1.0, rules)
            if begin % 3 == 0:
                others = [X[i] for i in (3, 5)] if isinstance(X, list) else X[np.array([3, 5])]
                ids, b = stream.ids, stream.core.certificates()[:, 3]
                expected = K[[3, 5]][:, ids] @ stream.alpha.T + b
                np.testing.assert_allclose(stream.decide(others, rules).T, expected, rtol=1e-5, atol=1e-5)
        ids, alpha = stream.ids, stream.alpha
        y = np.where(stream.labels == 0, 1.0, -1.0)
        np.testing.assert_allclose(stream.core.gradient()[0], y - K[np.ix_(ids, ids)] @ alpha[0], rtol=1e-5, atol=1e-5)
        kept = [X[i] for i in ids] if isinstance(X, list) else X[ids]
        found = stream.samples
        assert type(found) is type(kept)
        if isinstance(X, list):
            assert found == kept
        else:
            np.testing.assert_array_equal(*(m.toarray() if sp.issparse(m) else m for m in (found, kept)))


def grown(kernel: KernelParameters, X: Any, n: int) -> tuple[Kept, list[Kept]]:
    store = kept_samples(kernel, X[:50])
    stores = [store]
    for i in range(50, n):
        store = store.with_more(X[i : i + 1], i)
        if store is not stores[-1]:
            stores.append(store)
    return store, stores


@pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_vectors_are_set_up_anew_only_when_memory_doubles(X: Any) -> None:
    store, stores = grown(RBF, X, N)
    assert all(isinstance(one, KeptVectors) for one in stores)
    assert len(stores) <= 5
    found, expected = store.at(np.arange(N)), X
    np.testing.assert_array_equal(*(m.toarray() if sp.issparse(m) else m for m in (found, expected)))


def test_sequences_that_came_long_ago_are_not_read_again() -> None:
    kernel = Spectrum(2, alphabet="ACGT").resolved()
    store, stores = grown(kernel, TEXTS, N)
    assert isinstance(store, KeptObjects)
    assert len(store.parts) <= 4
    parts = {part for one in stores for part in one.parts}  # type: ignore[attr-defined]
    assert sum(part.end - part.begin for part in parts) < 20 * N  # some log8(N) levels, 8 of each, in all
    assert store.at(np.array([5, 300, 7])) == [TEXTS[i] for i in (5, 300, 7)]


def test_most_of_what_has_gone_is_let_go() -> None:
    for kernel, X in (CASES["dense"], CASES["sequences"], CASES["sparse columns"], CASES["callable"]):
        store = kept_samples(kernel, X)
        few = np.array([3, 100, 399], dtype=np.int32)
        smaller, numbers = store.among(few)
        assert numbers.tolist() == [0, 1, 2]
        assert smaller.rows.size < 200
        found, expected = smaller.at(numbers), store.at(few)
        if sp.issparse(found):
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)
        many = np.setdiff1d(np.arange(N), few)
        same, numbers = store.among(many.astype(np.int32))
        assert (same is store) == (not isinstance(store, KeptAnew))


def test_values_that_a_form_does_not_suit_are_held_in_another() -> None:
    store = kept_samples(RBF, BINARY)
    assert store.with_more(BINARY[:1], N) is store
    other = store.with_more(0.5 * BINARY[:1], N)
    assert other is not store
    single = kept_samples(RBF, DENSE.astype(np.float32))
    precise = single.with_more(DENSE[:1] + 1e-12, N)
    assert precise.at(np.array([N]))[0, 0] == DENSE[0, 0] + 1e-12
    dense = kept_samples(RBF, DENSE).with_more(sp.csr_array(DENSE[:2]), N)
    np.testing.assert_array_equal(dense.at(np.arange(N, N + 2)), DENSE[:2])
    sparse = kept_samples(RBF, sp.csr_array(DENSE)).with_more(DENSE[:2], N)
    np.testing.assert_array_equal(sparse.at(np.arange(N, N + 2)).toarray(), DENSE[:2])


def test_entries_out_of_order_are_put_in_order() -> None:
    memory = SparseMemory(9, sp.csr_array(np.eye(3)))
    memory.write(sp.csr_array(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3)), 3)
    np.testing.assert_array_equal(memory.first(4).toarray()[3], [2.0, 0.0, 5.0])


def test_sources_do_not_outlive_their_stores() -> None:
    store = kept_samples(Spectrum(2, alphabet="ACGT").resolved(), TEXTS[:20])
    assert isinstance(store, KeptObjects)
    assert store.rows.size == 20
    part = weakref.ref(store.parts[0])
    gc.disable()
    try:
        del store
        assert part() is None
    finally:
        gc.enable()


def test_the_core_refuses_memory_of_other_columns() -> None:
    with pytest.raises(ValueError, match="differ in their dimension"):
        _core.lasting_source(_core.dense_samples(np.eye(3)), _core.dense_samples(np.ones((2, 2))), "rbf", 1.0, 0.0, 3)


def test_parts_know_where_they_stand() -> None:
    kernel: Any = Spectrum(1, alphabet="ACGT").resolved().kernel
    part = Part(kernel, TEXTS[:5], 3)
    assert (part.begin, part.end, part.diagonal.tolist()) == (3, 8, [1.0] * 5)

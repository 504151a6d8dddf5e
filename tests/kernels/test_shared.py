"""Kernel matrices that share their distances: the same values as those computed one by one, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widemargin import _core, testing
from widemargin.kernels.rows import KernelParameters, kernel_matrix
from widemargin.kernels.shared import SharedKernel
from widemargin.runtime import Stop, StopRequest

FAMILIES = {
    "linear": KernelParameters("linear"),
    "rbf": KernelParameters("rbf", 0.3),
    "rbf-narrow": KernelParameters("rbf", 30.0),
    "rbf-flat": KernelParameters("rbf", 0.0),
    "poly": KernelParameters("poly", 0.2, 1.0, 3),
    "poly-0": KernelParameters("poly", 0.2, 1.0, 0),
    "poly-1": KernelParameters("poly", 2.0, -0.5, 1),
    "sigmoid": KernelParameters("sigmoid", 0.1, -0.2),
}


def data(kind: str, n: int = 70, d: int = 6) -> Any:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "two-valued":
        return (X > 0.4).astype(np.float64)
    if kind == "integers":
        return rng.integers(-3, 4, size=(n, d))
    if kind == "wide":
        return rng.normal(size=(n, 900)) / 30.0
    if kind == "one-column":
        return X[:, :1]
    if kind == "duplicates":
        return X[np.arange(n) % 7]
    if kind == "columns-in-memory":
        return np.asfortranarray(X)
    if kind.startswith("sparse"):
        S = sp.csr_array(sp.random(n, 40, density=0.1, random_state=3, format="csr"))
        if kind == "sparse-two-valued":
            S.data[:] = 1.0
        if kind == "sparse-float32":
            S = S.astype(np.float32)
        return S.tocsc() if kind == "sparse-columns" else S
    return X


KINDS = (
    "dense",
    "float32",
    "two-valued",
    "integers",
    "wide",
    "one-column",
    "duplicates",
    "columns-in-memory",
    "sparse",
    "sparse-two-valued",
    "sparse-float32",
    "sparse-columns",
)


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def exactly(X: Any, p: KernelParameters) -> np.ndarray:
    return testing.kernel_matrix(dense(X), kernel=p.kernel, gamma=p.gamma, coef0=p.coef0, degree=p.degree)


def alone(X: Any, p: KernelParameters) -> np.ndarray:
    return kernel_matrix(X, kernel=str(p.kernel), gamma=p.gamma, coef0=p.coef0, degree=p.degree)


def error_bound(X: Any, p: KernelParameters) -> np.ndarray:
    """Let a product of x and z err by a few roundings of ||x|| ||z||, and a kernel by what its slope makes of it.

    Roundings of a sum add up like the root of its length.
    """
    squares = np.square(dense(X)).sum(axis=1)
    product = (4e-7 + 2e-8 * np.sqrt(X.shape[1])) * np.maximum(1e-30, np.sqrt(np.outer(squares, squares)))
    value = np.abs(exactly(X, p))
    if p.kernel == "linear":
        return product
    if p.kernel == "rbf":
        distance = 1.2e-6 * (squares[:, None] + squares[None])
        return p.gamma * distance * (value + np.exp(-1.0)) + 4e-7
    if p.kernel == "sigmoid":
        return p.gamma * product + 4e-7
    inner = np.abs(testing.kernel_matrix(dense(X), kernel="poly", gamma=p.gamma, coef0=p.coef0, degree=1))
    slope = p.degree * np.maximum(inner, p.gamma * product) ** max(0, p.degree - 1)
    return slope * (p.gamma * product + 4e-7 * (inner + abs(p.coef0))) + 1e-6 * (value + 1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_kernel(kind: str, family: str) -> None:
    X, p = data(kind), FAMILIES[family]
    K = SharedKernel(X, p.kernel).matrix(p)
    n = X.shape[0]
    assert K.shape == (n, n)
    assert K.dtype == np.float32
    assert K.flags.c_contiguous
    np.testing.assert_array_equal(K, K.T)
    assert (np.abs(K - exactly(X, p)) <= error_bound(X, p)).all()
    assert (np.abs(K - alone(X, p)) <= 2.0 * error_bound(X, p)).all()


@pytest.mark.parametrize("kind", ["two-valued", "integers", "sparse-two-valued"])
def test_whole_numbers_have_exact_distances_and_products(kind: str) -> None:
    X = data(kind)
    product = dense(X) @ dense(X).T
    np.testing.assert_array_equal(SharedKernel(X, "linear").base, product)
    squares = np.diag(product)
    np.testing.assert_array_equal(SharedKernel(X).base, squares[:, None] + squares[None] - 2.0 * product)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "duplicates"])
def test_a_gaussian_of_a_point_and_itself_is_one(kind: str) -> None:
    K = SharedKernel(data(kind)).matrix(KernelParameters("rbf", 1e6))
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert ((K >= 0.0) & (K <= 1.0)).all()


def test_duplicates_are_as_near_as_a_point_to_itself() -> None:
    X = data("duplicates")
    K = SharedKernel(X).matrix(KernelParameters("rbf", 10.0))
    same = np.arange(70)[:, None] % 7 == np.arange(70)[None] % 7
    np.testing.assert_allclose(K[same], 1.0, atol=1e-5)


def test_an_offset_does_not_drown_the_distances() -> None:
    X = data("dense") + 3000.0
    p = KernelParameters("rbf", 0.3)
    np.testing.assert_allclose(SharedKernel(X).matrix(p), exactly(X, p), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_row(family: str) -> None:
    X, p = data("dense", n=1), FAMILIES[family]
    np.testing.assert_allclose(SharedKernel(X, p.kernel).matrix(p), exactly(X, p), rtol=2e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_precomputed_kernel_is_taken_as_it_is(dtype: type) -> None:
    X = dense(data("integers"))
    gram = np.asfortranarray((X @ X.T).astype(dtype))
    K = SharedKernel(gram, "precomputed").matrix(KernelParameters("precomputed"))
    assert K.dtype == np.float32
    assert K.flags.c_contiguous
    np.testing.assert_array_equal(K, gram)


def shared_letters(left: list[str], right: list[str]) -> np.ndarray:
    return np.array([[len(set(a) & set(b)) for b in right] for a in left])


def test_a_callable_kernel_of_anything() -> None:
    words = ["wide", "margin", "machine", "wide", ""]
    K = SharedKernel(words, shared_letters).matrix(KernelParameters(shared_letters))
    assert K.dtype == np.float32
    np.testing.assert_array_equal(K, shared_letters(words, words))


def test_a_callable_kernel_is_called_once() -> None:
    calls: list[int] = []

    def kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        calls.append(len(left))
        return left @ right.T

    X = data("dense")
    shared = SharedKernel(X, kernel)
    for gamma in (0.1, 1.0, 10.0):
        np.testing.assert_allclose(shared.matrix(KernelParameters(kernel, gamma)), X @ X.T, rtol=1e-5, atol=1e-6)
    assert calls == [70]


def test_a_callable_kernel_is_held_to_its_word() -> None:
    with pytest.raises(ValueError, match="finite"):
        SharedKernel(data("dense"), lambda left, right: np.full((len(left), len(right)), np.nan))
    with pytest.raises(ValueError, match="shape"):
        SharedKernel(data("dense"), lambda left, right: np.ones(len(left)))


def test_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match="rbf"):
        SharedKernel(data("dense"), "rbf").matrix(KernelParameters("poly"))


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="oligo"):
        SharedKernel(data("dense"), "oligo").matrix(KernelParameters("oligo"))


def test_matrices_that_were_given_away_stay_what_they_are() -> None:
    X = data("dense")
    shared = SharedKernel(X)
    gammas = np.logspace(-2, 2, 9)
    matrices = [shared.matrix(KernelParameters("rbf", gamma)) for gamma in gammas]
    for gamma, K in zip(gammas, matrices, strict=True):
        np.testing.assert_allclose(K, exactly(X, KernelParameters("rbf", gamma)), atol=1e-5)


def test_the_last_ones_are_kept() -> None:
    shared = SharedKernel(data("dense"))
    first = shared.matrix(KernelParameters("rbf", 1.0))
    second = shared.matrix(KernelParameters("rbf", 2.0))
    assert shared.matrix(KernelParameters("rbf", 1.0)) is first
    assert shared.matrix(KernelParameters("rbf", 2.0)) is second


@pytest.mark.parametrize("family", ["linear", "rbf", "poly", "sigmoid"])
def test_threads_that_ask_at_once_get_the_same_matrices(family: str) -> None:
    X = data("dense", n=150)
    shared = SharedKernel(X, family)
    asked = [KernelParameters(family, gamma) for gamma in (0.1, 0.2, 0.3, 0.4)] * 12
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda p: shared.matrix(p).copy(), asked))
    for p, K in zip(asked, found, strict=True):
        np.testing.assert_array_equal(K, SharedKernel(X, family).matrix(p))


def test_threads_that_ask_for_one_matrix_share_it() -> None:
    shared = SharedKernel(data("dense", n=150))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: id(shared.matrix(KernelParameters("rbf", 0.5))), range(32)))
    assert len(set(found)) == 1


def counted(shared: SharedKernel, parameters: KernelParameters) -> int:
    """Ask for a matrix; return how many values were computed that nobody has counted."""
    shared.matrix(parameters)
    return shared.claimed(parameters)


@pytest.mark.parametrize("family", ["rbf", "poly"])
def test_values_are_counted_when_they_are_computed(family: str) -> None:
    n = 70
    shared = SharedKernel(data("dense", n), family)
    wide, narrow, narrower = (KernelParameters(family, gamma) for gamma in (0.1, 1.0, 2.0))
    counts = [counted(shared, p) for p in (wide, wide, narrow, wide, narrower, wide, narrow)]
    # The last one had to make room.
    assert counts == [n * n, 0, n * n, 0, n * n, 0, n * n]


@pytest.mark.parametrize("kernel", ["linear", "precomputed", lambda left, right: np.ones((len(left), len(right)))])
def test_values_of_a_kernel_without_parameters_are_counted_once(kernel: Any) -> None:
    n = 70
    X = np.eye(n) if kernel == "precomputed" else data("dense", n)
    shared = SharedKernel(X, kernel)
    counts = [counted(shared, KernelParameters(kernel)) for _ in range(3)]
    assert counts == [0 if kernel == "precomputed" else n * n, 0, 0]


def test_threads_count_a_matrix_once() -> None:
    shared = SharedKernel(data("dense", n=150))
    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: counted(shared, KernelParameters("rbf", 0.5)), range(32)))
    assert sorted(counts) == [0] * 31 + [150 * 150]


@pytest.mark.parametrize("family", ["rbf", "linear"])
def test_more_threads_change_nothing(family: str) -> None:
    X = data("dense", n=300)
    np.testing.assert_array_equal(SharedKernel(X, family).base, SharedKernel(X, family, n_threads=3).base)
    base, p = SharedKernel(X, family).base, KernelParameters(family, 0.7)
    results = [np.empty_like(base) for _ in range(2)]
    for n_threads, out in zip((1, 3), results, strict=True):
        _core.apply_kernel(base, family, p.gamma, p.coef0, p.degree, out, n_threads)
    np.testing.assert_array_equal(*results)


@given(
    gamma=st.floats(1e-4, 1e3),
    coef0=st.floats(-2.0, 2.0),
    degree=st.integers(0, 5),
    family=st.sampled_from(["rbf", "poly", "sigmoid"]),
    seed=st.integers(0, 1000),
)
def test_any_parameters(gamma: float, coef0: float, degree: int, family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(1, 20)), int(rng.integers(1, 5))))
    p = KernelParameters(family, gamma if family == "rbf" else min(gamma, 2.0), coef0, degree)
    assert (np.abs(SharedKernel(X, family).matrix(p) - exactly(X, p)) <= error_bound(X, p)).all()


def test_bytes_needed_cover_what_is_held() -> None:
    X = data("dense", n=100)
    shared = SharedKernel(X)
    for gamma in (0.1, 0.2, 0.3):
        shared.matrix(KernelParameters("rbf", gamma))
    held = shared.base.nbytes + sum(K.nbytes for K in shared._kept.values())
    assert held <= SharedKernel.bytes_needed(X, "rbf")
    assert SharedKernel.bytes_needed(X, "linear") == SharedKernel(X, "linear").base.nbytes


def test_a_kernel_whose_time_is_up():
    over = Stop().within(-1.0)
    with pytest.raises(TimeoutError, match="stopped"):
        SharedKernel(data("dense"), stop=over)
    soon = SharedKernel(data("dense"), stop=Stop().within(60.0))
    with pytest.raises(TimeoutError, match="stopped"):
        soon.matrix(KernelParameters("rbf", 1.0), over)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_kernel_that_nobody_wants_any_more(n_threads):
    signal = StopRequest()
    stop = Stop(signal=signal)
    shared = SharedKernel(data("dense"), n_threads=n_threads, stop=stop)
    kept = shared.matrix(KernelParameters("rbf", 1.0), stop)
    signal.request()
    with pytest.raises(_core.StoppedError):
        shared.matrix(KernelParameters("rbf", 2.0), stop)
    np.testing.assert_array_equal(shared.matrix(KernelParameters("rbf", 1.0), stop), kept)
    with pytest.raises(_core.StoppedError):
        SharedKernel(data("dense"), n_threads=n_threads, stop=Stop(signal=signal))

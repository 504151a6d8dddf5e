"""Every container, type and memory layout of the same numbers gives the same machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

from widemargin import SVC, SVR, OneClassSVM
from widemargin.testing import many_class_points

COLUMNS = ["length", "width", "height", "depth"]


def _numbers() -> tuple[np.ndarray, np.ndarray]:
    """Small integers, a third of them zero: every type, float32 included, holds them exactly."""
    points, y = many_class_points(3, 40)
    extra = np.random.default_rng(0).normal(size=(len(y), 2))
    X = np.round(np.hstack((points, extra)) * 3.0)
    return np.where(np.abs(X) <= 1.0, 0.0, X), y


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _reversed(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def _indexed(container: Callable[..., Any], index_type: type) -> Callable[[np.ndarray], Any]:
    def convert(X: np.ndarray) -> Any:
        result = container(X)
        result.indices, result.indptr = result.indices.astype(index_type), result.indptr.astype(index_type)
        return result

    return convert


DENSE: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "big-endian": lambda X: X.astype(">f8"),
    "fortran": np.asfortranarray,
    "fortran-float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "strided": _strided,
    "negative-strides": _reversed,
    "read-only": _read_only,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "pandas-mixed": lambda X: pd.DataFrame(X, columns=COLUMNS).astype({"length": np.int32, "width": np.float32}),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "polars-mixed": lambda X: pl.DataFrame(X, schema=COLUMNS).with_columns(pl.col("length").cast(pl.Int32)),
}
SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    f"{kind.__name__}": kind
    for kind in (
        sparse.csr_matrix,
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
        sparse.coo_array,
        sparse.lil_array,
        sparse.dok_array,
    )
}
for _container in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
    for _type in (np.int32, np.int64):
        SPARSE[f"{_container.__name__}-{_type.__name__}"] = _indexed(_container, _type)
SPARSE["csr-float32"] = lambda X: sparse.csr_array(X.astype(np.float32))
SPARSE["csr-int"] = lambda X: sparse.csr_array(X.astype(np.int64))


def _stored_zeros(X: np.ndarray) -> sparse.csr_array:
    n, d = X.shape
    return sparse.csr_array((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=X.shape)


def _repeated_entries(X: np.ndarray) -> sparse.coo_array:
    rows, columns = (index.ravel() for index in np.indices(X.shape))
    twice = np.concatenate
    return sparse.coo_array(
        (twice((X.ravel() - 1.0, np.ones(X.size))), (twice((rows, rows)), twice((columns, columns))))
    )


def _unsorted(X: np.ndarray) -> sparse.csr_array:
    n, d = X.shape
    return sparse.csr_array((X[:, ::-1].ravel(), np.tile(np.arange(d)[::-1], n), np.arange(0, n * d + 1, d)))


def _repeated_in_rows(X: np.ndarray) -> sparse.csr_array:
    """Every entry in two parts, which other formats would sum on the way to rows; those of zeros cancel."""
    n, d = X.shape
    parts = np.concatenate((X - 1.0, np.ones(X.shape)), axis=1)
    return sparse.csr_array((parts.ravel(), np.tile(np.arange(d), 2 * n), np.arange(0, 2 * n * d + 1, 2 * d)))


SPARSE |= {
    "stored-zeros": _stored_zeros,
    "repeated-entries": _repeated_entries,
    "repeated-in-rows": _repeated_in_rows,
    "unsorted": _unsorted,
}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("kind", [*DENSE, *SPARSE])
def test_the_container_does_not_matter(kind: str, kernel: str) -> None:
    X, y = _numbers()
    convert = {**DENSE, **SPARSE}[kind]
    parameters = {"kernel": kernel, "coef0": 1.0, "degree": 2, "C": 0.5, "tol": 1e-6}
    parameters |= {} if kernel == "linear" else {"gamma": 0.05}
    expected = SVC(**parameters).fit(X, y)
    given = convert(X)
    model = SVC(**parameters).fit(given, y)
    atol = 0.0 if kind in ("fortran", "strided", "negative-strides", "read-only", "list") else 1e-4
    np.testing.assert_allclose(model.decision_function(given), expected.decision_function(X), atol=atol, rtol=0.0)
    assert np.array_equal(model.predict(given), expected.predict(X))
    assert model.n_features_in_ == 4
    assert sparse.issparse(model.support_vectors_) == sparse.issparse(given)
    vectors = model.support_vectors_.toarray() if sparse.issparse(given) else model.support_vectors_
    assert np.array_equal(vectors, X[model.support_])


@pytest.mark.parametrize("kind", SPARSE)
def test_the_width_by_default_does_not_depend_on_how_entries_are_stored(kind: str) -> None:
    X, y = _numbers()
    given = SPARSE[kind](X)
    model = SVC().fit(given, y)
    assert model.kernel_.gamma == pytest.approx(SVC().fit(X, y).kernel_.gamma, rel=1e-6)
    assert sparse.issparse(model.support_vectors_)
    assert model.support_vectors_.has_canonical_format


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_attributes_of_a_sparse_machine_are_sparse(container: Callable[[np.ndarray], Any]) -> None:
    X, y = _numbers()
    model, expected = SVC(kernel="linear").fit(container(X), y), SVC(kernel="linear").fit(X, y)
    for attribute in ("support_vectors_", "dual_coef_", "coef_"):
        found = getattr(model, attribute)
        assert sparse.issparse(found), attribute
        np.testing.assert_allclose(found.toarray(), getattr(expected, attribute), atol=1e-6)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_column_names_are_kept_and_checked(frame: str) -> None:
    X, y = _numbers()
    given = DENSE[frame](X)
    model = SVC().fit(given, y)
    assert model.feature_names_in_.tolist() == COLUMNS
    if frame == "pandas":
        with pytest.raises(ValueError, match="feature names"):
            model.predict(given[COLUMNS[::-1]])


def test_targets_of_any_container() -> None:
    X, y = _numbers()
    expected = SVC().fit(X, y).predict(X)
    targets = [
        y.tolist(),
        pd.Series(y),
        pl.Series(y),
        y.astype(np.int8),
        y.astype(np.float32),
        pd.Series(y, dtype="category"),
    ]
    for target in targets:
        assert np.array_equal(SVC().fit(X, target).predict(X), expected)
    letters = np.array(["a", "b", "c"])
    for target in (pd.Series(letters[y]), pl.Series(letters[y]), letters[y].tolist()):
        assert np.array_equal(SVC().fit(X, target).predict(X), letters[expected])


def test_weights_of_any_container() -> None:
    X, y = _numbers()
    weights = np.random.default_rng(1).integers(1, 4, size=len(y))
    expected = SVC().fit(X, y, sample_weight=weights.astype(np.float64)).dual_coef_
    for given in (weights, weights.tolist(), pd.Series(weights), pl.Series(weights), weights.astype(np.float32)):
        np.testing.assert_array_equal(SVC().fit(X, y, sample_weight=given).dual_coef_, expected)


def test_inputs_are_left_alone() -> None:
    X, y = _numbers()
    dense, thin, weights = X.copy(), sparse.csr_array(X), np.ones(len(y))
    before = thin.copy()
    SVC().fit(dense, y, sample_weight=weights).predict(dense)
    SVC().fit(thin, y).predict(thin)
    assert np.array_equal(dense, X)
    assert np.array_equal(weights, np.ones(len(y)))
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(thin, part), getattr(before, part))


def test_a_sparse_machine_predicts_dense_rows() -> None:
    X, y = _numbers()
    model = SVC(tol=1e-6).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.decision_function(X), model.decision_function(sparse.csr_array(X)), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_pickles_and_clones_keep_the_machine(kernel: str) -> None:
    import pickle

    from sklearn.base import clone

    X, y = _numbers()
    model = SVC(kernel=kernel, gamma=0.05).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


WORDS = ["aab", "aa", "bb", "abb", "aaa", "b", "abab", "bbba"]


def _shared_letters(A: Any, B: Any) -> np.ndarray:
    return np.array([[sum(a.count(c) * b.count(c) for c in "ab") for b in B] for a in A], dtype=np.float64)


class _Bag:
    """An example that is nothing but an object."""

    def __init__(self, word: str) -> None:
        self.count = word.count


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        np.array,
        lambda words: np.array(words, dtype=object),
        pd.Series,
        lambda words: [_Bag(word) for word in words],
        lambda words: [list(word) for word in words],
    ],
    ids=["list", "tuple", "array of strings", "array of objects", "series", "objects", "ragged lists"],
)
def test_callable_kernels_see_rows_of_any_kind(container: Callable[[list[str]], Any]) -> None:
    data, y = container(WORDS), np.array([1, 1, 0, 0, 1, 0, 1, 0])
    counts = np.array([[word.count("a"), word.count("b")] for word in WORDS])
    model = SVC(kernel=_shared_letters, tol=1e-6).fit(data, y)
    expected = SVC(kernel="linear", tol=1e-6).fit(counts, y)
    np.testing.assert_allclose(model.decision_function(data), expected.decision_function(counts), atol=1e-4)
    np.testing.assert_allclose(model.decision_function(data[:1]), expected.decision_function(counts[:1]), atol=1e-4)
    assert not hasattr(model, "n_features_in_")
    assert len(model.support_vectors_) == len(model.support_)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(data, y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(data[:0])


def test_a_callable_sees_numbers_checked_like_any_others() -> None:
    X, y = _numbers()
    model = SVC(kernel=lambda A, B: A @ B.T, C=0.5).fit(pd.DataFrame(X, columns=COLUMNS), y)
    assert model.feature_names_in_.tolist() == COLUMNS
    with pytest.raises(ValueError, match="depth"):
        model.predict(pd.DataFrame(X[:, :3], columns=COLUMNS[:3]))
    # Objects after numbers: nothing of the numbers is left.
    model.set_params(kernel=_shared_letters).fit(WORDS, np.arange(8) % 2)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")


def test_large_predictions_of_a_callable_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from widemargin.estimators import prediction

    X, y = _numbers()
    sizes: list[int] = []

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        sizes.append(len(A))
        return np.asarray(A @ B.T)

    model = SVC(kernel=kernel, C=0.5).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(prediction, "BLOCK_ENTRIES", 7 * len(model.support_))
    sizes.clear()
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    assert max(sizes) == 7
    assert sum(sizes) == len(X)


@pytest.mark.parametrize("n", [40, 1500])
@pytest.mark.parametrize("model", [SVC, SVR, OneClassSVM])
def test_values_of_callable_kernels_are_computed_in_a_few_blocks(model: Any, n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = (X[:, 0] > 0).astype(int)
    blocks: list[int] = []

    def kernel(A: Any, B: Any) -> Any:
        blocks.append(len(A) * len(B))
        return np.exp(-pairwise_distances(A, B, metric="manhattan"))

    found = model(kernel=kernel).fit(X, y)
    assert len(blocks) == 1 if n == 40 else len(blocks) <= 5
    assert sum(blocks) <= n * n + 64**2
    assert sum(entry.kernel_evaluations for entry in found.fit_report_) > 0
    expected = model(kernel="precomputed").fit(kernel(X, X), y)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)


def test_blocks_of_callable_kernels_keep_to_the_cache() -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    largest = 0

    def kernel(A: Any, B: Any) -> Any:
        nonlocal largest
        largest = max(largest, len(A) * len(B))
        return A @ B.T

    few = SVC(kernel=kernel, cache_size=1.0).fit(X, X[:, 0] > 0)  # all values and the copies of a solver take 5.5 MB
    assert 8 * largest < 2**20
    many = SVC(kernel=kernel, cache_size=8.0).fit(X, X[:, 0] > 0)
    assert largest == 600**2
    np.testing.assert_allclose(few.decision_function(X), many.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("n", [40, 1500])
def test_callable_kernels_that_depend_on_the_order_are_refused(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    with pytest.raises(ValueError, match="The kernel callable must be symmetric; for rows"):
        SVC(kernel=lambda A, B: A @ B[:, ::-1].T + A[:, :1]).fit(X, X[:, 0] > 0)


def test_callable_kernels_may_return_sparse_blocks() -> None:
    X, y = _numbers()
    thin = sparse.csr_array(X)
    model = SVC(kernel=lambda A, B: A @ B.T, C=0.5).fit(thin, y)
    expected = SVC(kernel="linear", C=0.5).fit(thin, y)
    assert np.mean(model.predict(thin) == expected.predict(thin)) >= 0.99


def test_a_dense_machine_refuses_sparse_rows() -> None:
    X, y = _numbers()
    for kernel in ("rbf", "linear"):
        model = SVC(kernel=kernel).fit(X, y)
        with pytest.raises(ValueError, match=r"cannot use sparse input in 'SVC' trained on dense data; pass X.toarray"):
            model.predict(sparse.csr_array(X))
    by_function = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)  # which may take what it likes
    np.testing.assert_allclose(by_function.predict(sparse.csr_array(X)), by_function.predict(X))


def test_empty_prediction_is_refused_and_single_rows_work() -> None:
    X, y = _numbers()
    model = SVC().fit(X, y)
    assert model.predict(X[:1]).shape == (1,)
    assert model.decision_function(X[:1]).shape == (1, 3)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])

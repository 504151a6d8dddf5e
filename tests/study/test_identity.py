"""Fingerprints: what counts, what does not, and that they stay the same."""

from __future__ import annotations

import datetime
import functools
import operator
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.study import fingerprint
from widemargin.study import identity as module

ARRAYS = arrays.arrays(
    arrays.array_dtypes(
        arrays.scalar_dtypes() | arrays.unicode_string_dtypes(min_len=1) | arrays.byte_string_dtypes(min_len=1),
        max_size=3,
    )
    | arrays.scalar_dtypes(),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(ARRAYS)
def test_memory_layout_does_not_count(array: np.ndarray[Any, Any]) -> None:
    expected = fingerprint(array)
    assert len(expected) == 64
    roomy = np.zeros([2 * side + 1 for side in array.shape], dtype=array.dtype)
    strided = roomy[(*(slice(1, None, 2) for _ in array.shape), ...)]
    strided[...] = array
    others = [array.copy(order="F"), strided, array.astype(array.dtype.newbyteorder(">")), np.array(array, copy=True)]
    if array.ndim:
        others.append(np.ascontiguousarray(array[::-1])[::-1])
    for other in others:
        assert fingerprint(other) == expected


@pytest.mark.parametrize("dtype", ["f8", "i4", "U5", "M8[s]"])
def test_large_arrays_are_read_in_parts(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    array = np.arange(6000).reshape(100, 20, 3).astype(dtype)
    expected = fingerprint(array)
    monkeypatch.setattr(module, "CHUNK", 100)
    assert fingerprint(array) == fingerprint(np.asfortranarray(array)) == fingerprint(array.T.copy().T) == expected


@given(ARRAYS.filter(lambda array: array.size > 0 and array.dtype.names is None and array.dtype.char not in "gG"))
def test_every_value_counts(array: np.ndarray[Any, Any]) -> None:
    raw = np.frombuffer(array.tobytes(), dtype=np.uint8).copy()
    for place in {0, raw.size - 1}:
        other = raw.copy()
        other[place] ^= 1
        changed = np.frombuffer(other.tobytes(), dtype=array.dtype).reshape(array.shape)
        assert fingerprint(changed) != fingerprint(array)


X = np.arange(6.0).reshape(2, 3)

DIFFERENT: list[Any] = [
    X,
    X.ravel(),
    X.reshape(3, 2),
    X.T,
    X.astype("float32"),
    X.astype("int64"),
    X + 1e-15,
    -X,
    X.astype(object),
    X.tolist(),
    np.ma.masked_array(X, X > 3),
    np.ma.masked_array(X, X > 4),
    sparse.csr_matrix(X),
    sparse.csr_matrix(X.T),
    sparse.csr_matrix(X.astype("float32")),
    pandas.DataFrame(X),
    pandas.DataFrame(X, columns=["a", "b", "c"]),
    pandas.DataFrame(X.astype(int), columns=["a", "b", "c"]),
    pandas.DataFrame(X[:, :2], columns=["a", "b"]),
    pandas.Series(X[0], name="a"),
    pandas.Series(["a", "b"]),
    pandas.Series(["a", "b"], dtype="category"),
    pandas.Series(["a", None]),
    pandas.Series([1, None], dtype="Int64"),
    pandas.Series(pandas.to_datetime(["2020-01-01"])),
    pandas.Series(pandas.to_datetime(["2020-01-01"])).dt.tz_localize("UTC"),
    polars.DataFrame(X, schema=["a", "b", "c"]),
    polars.DataFrame(X, schema=["a", "b", "d"]),
    polars.Series("a", X[0]),
    polars.Series("a", ["x", None]),
    np.array([1, 2], dtype="M8[s]"),
    np.array([1, 2], dtype="M8[ms]"),
    np.array([1, 2], dtype="m8[s]"),
    np.zeros(2, dtype=[("a", "i1"), ("b", "f8")]),
    np.zeros(2, dtype=[("a", "i1"), ("c", "f8")]),
    np.array([1], dtype=np.longdouble),
    np.array([1], dtype=np.longdouble) + np.finfo(np.longdouble).eps,
    np.zeros((0, 3)),
    np.zeros((0, 4)),
    np.float64(2).reshape(()),
    np.timedelta64(2, "s"),
    np.timedelta64(2, "m"),
    1,
    2,
    1.0,
    0.0,
    -0.0,
    float("nan"),
    float("inf"),
    1j,
    True,
    "1",
    "",
    b"1",
    None,
    ...,
    [],
    [[]],
    [1, 2],
    [2, 1],
    [1, [2]],
    ["ab", "c"],
    ["a", "bc"],
    {},
    {"a": 1},
    {"a": 2},
    {"b": 1},
    {"a": {"b": 1}},
    {"a", "b"},
    {"a"},
    slice(1, 2),
    range(1, 2),
    SVC(),
    SVC(C=2.0),
    SVC(class_weight={0: 2}),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(StandardScaler(with_mean=False), SVC()),
    SVC,
    np.random.RandomState(0),
    np.random.RandomState(1),
    np.random.default_rng(0),
    Fraction(1, 3),
    datetime.date(2020, 1, 1),
    datetime.date(2020, 1, 2),
    make_scorer(f1_score),
    make_scorer(f1_score, average="macro"),
    f1_score,
    functools.partial(f1_score, average="macro"),
    operator.add,
    operator.mul,
    np.exp,
    np.tanh,
    lambda a, b: a @ b.T,
    lambda a, b: a @ b.T + 1,
    lambda a, b=1: a @ b.T,
    lambda a, b: [x for x in a if x in {1, 2}],
    lambda a, b: [x for x in a if x in {1, 3}],
]


def test_different_things_differ() -> None:
    seen: dict[str, Any] = {}
    for thing in DIFFERENT:
        own = fingerprint(thing)
        assert own == fingerprint(thing)
        assert own not in seen, (thing, seen[own])
        seen[own] = thing
    assert len({fingerprint(), fingerprint(1), fingerprint(1, 2), fingerprint([1, 2]), fingerprint([1], 2)}) == 5


def offset(by: float) -> Any:
    return lambda a: a + by


def test_what_a_function_closes_over_counts() -> None:
    assert fingerprint(offset(1.0)) == fingerprint(offset(1.0))
    assert fingerprint(offset(1.0)) != fingerprint(offset(2.0))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2, 3]}, {"b": (2, 3), "a": np.int16(1)}),
        ([1.0, 0.5], (np.float64(1), np.float32(0.5))),
        ({"x", "y", "z"}, frozenset(["z", "y", "x"])),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (X.view(np.matrix), X),
        (SVC(C=2.0), SVC().set_params(C=2.0)),
        (pandas.DataFrame(X), pandas.DataFrame(np.asfortranarray(X), index=["p", "q"])),
        (pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
        (polars.DataFrame({"a": [1], "b": ["x"]}), polars.DataFrame({"a": [1], "b": ["x"]})),
        (make_scorer(f1_score, beta=1), make_scorer(f1_score, beta=1)),
        (np.random.RandomState(3), np.random.RandomState(3)),
        (np.array(["a", None, 2.0], dtype=object), np.array(["a", None, 2.0], dtype=object)),
    ],
)
def test_equal_things_agree(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)


def test_a_fitted_machine_counts_as_one_that_is_not() -> None:
    assert fingerprint(SVC().fit(X, [0, 1])) == fingerprint(SVC())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("wrap", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_formats_do_not_count(kind: str, wrap: Any) -> None:
    dense = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, np.nan]])
    assert fingerprint(wrap(dense).asformat(kind)) == fingerprint(sparse.csr_matrix(dense))


def test_sparse_matrices_are_not_changed() -> None:
    data, indices, indptr = np.array([1.0, 2.0, 0.0, 4.0]), np.array([2, 0, 1, 0]), np.array([0, 3, 4])
    loose = sparse.csr_matrix((data, indices, indptr), shape=(2, 3))
    tidy = sparse.csr_matrix(np.array([[2.0, 0.0, 1.0], [4.0, 0.0, 0.0]]))
    assert fingerprint(loose) == fingerprint(tidy)
    assert loose.indices.tolist() == [2, 0, 1, 0]
    assert loose.nnz == 4


def test_fingerprints_stay_the_same() -> None:
    """A journal of last year is still one of the same search: these texts may never change."""
    assert fingerprints_of_stable() == STABLE_FINGERPRINTS
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_identity as t; print(*t.fingerprints_of_stable())"
    run = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == STABLE_FINGERPRINTS


STABLE: list[Any] = [
    X,
    X.astype(np.int8),
    np.array(["a", "bc"]),
    sparse.csr_matrix(X),
    {"C": [0.1, 1.0, float("inf")], "kernel": ["rbf", None], "shrinking": True, "degree": 3},
    {"x", "y", "z"},
    [1, -2.5, "a", b"b", None, (1j,)],
]
STABLE_FINGERPRINTS = [
    "b75d238395c4",
    "fd7a757ea0a6",
    "83892a27255d",
    "2b303ebd06cf",
    "fa07e3e190d4",
    "1f22a79a2965",
    "cd7d84fb55fc",
]


def fingerprints_of_stable() -> list[str]:
    return [fingerprint(thing)[:12] for thing in STABLE]


def test_what_has_no_content_is_refused(tmp_path: Path) -> None:
    with (
        (tmp_path / "x").open("w") as file,
        pytest.raises(TypeError, match=r"An object of type _io\.TextIOWrapper has no fingerprint"),
    ):
        fingerprint(file)
    with pytest.raises(TypeError, match=r"An object of type builtins\.module has no fingerprint"):
        fingerprint(sys)
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(TypeError, match=r"contains itself has no fingerprint; got one of type builtins\.list"):
        fingerprint(loop)
    shared = [1]
    assert fingerprint([shared, shared]) == fingerprint([[1], [1]])


@given(st.lists(st.integers() | st.floats() | st.text()))
def test_lists_count_by_value(values: list[Any]) -> None:
    assert fingerprint(values) == fingerprint(tuple(values))
    assert fingerprint(values) != fingerprint([*values, 0])

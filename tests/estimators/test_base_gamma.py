"""gamma="scale" is exact for every kind of numbers, and numbers that do not suit the kernel get a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.testing import many_class_points
from widemargin.testing.oracles import resolve_gamma


def _gamma(X: Any, weights: Any = None) -> float:
    weights = np.ones(X.shape[0]) if weights is None else weights
    return SVC(kernel="poly")._checked_kernel(X, weights, tell=False).gamma


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_width_is_that_of_the_slow_way(container: Any, dtype: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((90, 5)) < 0.4, rng.normal(size=(90, 5)), 0.0).astype(dtype)
    weights = rng.integers(0, 4, size=90).astype(np.float64) if weighted else None
    assert _gamma(container(X), weights) == pytest.approx(resolve_gamma("scale", X, weights), rel=1e-12)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [0.0, 0.1, 3.0, 1e9 + 0.3, -1e-7])
def test_constant_numbers_have_no_variance(container: Any, value: float) -> None:
    X = container(np.full((1001, 3), value))
    weights = np.random.default_rng(0).exponential(size=1001)
    assert _gamma(X) == 1.0
    assert _gamma(X, weights) == 1.0


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_a_large_offset_does_not_cancel(container: Any) -> None:
    X = np.random.default_rng(1).integers(0, 2, size=(400, 2)) + 1e9
    assert _gamma(container(X)) == pytest.approx(1.0 / (2.0 * np.var(X - 1e9)), rel=1e-8)


def test_numbers_too_small_for_a_width_are_refused() -> None:
    X, y = many_class_points(2, 20)
    with pytest.raises(ValueError, match=r"too small.*scale X"):
        SVC().fit(X * 1e-156, y)


def test_one_column_that_drowns_the_others_gets_a_warning() -> None:
    X, y = many_class_points(2, 40)
    frame = pd.DataFrame(X * [1.0, 1e3], columns=["length", "salary"])
    for parameters in ({}, {"gamma": 0.5}, {"kernel": "poly"}):
        with pytest.warns(UserWarning, match=r"Column 1 \('salary'\)"):
            SVC(**parameters).fit(frame, y)
    with pytest.warns(UserWarning, match="Column 1 of X"):
        SVC().fit(frame.to_numpy(), y)


@pytest.mark.parametrize("loader", ["iris", "wine", "breast_cancer", "digits"])
def test_standardised_and_common_data_get_none(loader: str) -> None:
    X, y = getattr(datasets, f"load_{loader}")(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(StandardScaler().fit_transform(X), y)
        SVC().fit(X, y)


def test_constant_columns_linear_kernels_and_sparse_rows_get_none() -> None:
    X, y = many_class_points(2, 40)
    SVC().fit(X[:, :1], y)
    SVC().fit(np.column_stack((X[:, 0], np.full(80, 7.0))), y)
    SVC(kernel="linear", C=1e-6).fit(X * [1.0, 1e3], y)
    SVC().fit(csr_array(X * [1.0, 1e3]), y)

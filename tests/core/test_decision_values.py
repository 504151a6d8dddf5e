"""Decision values of rows in any number, against sums written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from widemargin import _core
from widemargin.testing import kernel_matrix

# Rows come in blocks of 2,048, and in parts of 512 of these; support vectors in blocks of 64.
ROWS = (1, 511, 512, 513, 1100, 2048, 2049, 2700)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_support", [(65, 1), (64, 64), (3, 129)])
def test_no_row_and_no_support_vector_is_left_out(n_support: tuple[int, ...], dtype: str, n_threads: int) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(sum(n_support), 5)).astype(dtype)
    X = rng.normal(size=(max(ROWS), 5)).astype(dtype)
    coefficients = rng.uniform(1.0, 2.0, size=(1, len(vectors)))  # of one sign: none that is lost is made up for
    expected = coefficients[0] @ kernel_matrix(vectors, X, gamma=0.1)
    source = _core.kernel_source(_core.dense_samples(vectors), "rbf", 0.1, 0.0, 3)
    for n in ROWS:
        rows = _core.dense_samples(np.ascontiguousarray(X[-n:]))
        found = _core.decision_values(source, rows, coefficients, list(n_support), dtype == "float64", n_threads)
        assert found.shape == (1, n)
        np.testing.assert_allclose(found[0], expected[-n:], rtol=1e-10 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_pair_of_classes_has_all_rows(n_threads: int) -> None:
    rng = np.random.default_rng(1)
    n_support, n = [70, 2, 66], 1025
    vectors, X = rng.normal(size=(sum(n_support), 3)), rng.normal(size=(n, 3))
    coefficients = rng.normal(size=(2, len(vectors)))
    K = kernel_matrix(vectors, X, gamma=0.3)
    ends = np.cumsum([0, *n_support])
    parts = [slice(first, last) for first, last in pairwise(ends)]
    source = _core.kernel_source(_core.dense_samples(vectors), "rbf", 0.3, 0.0, 3)
    found = _core.decision_values(source, _core.dense_samples(X), coefficients, n_support, True, n_threads)
    for number, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        expected = coefficients[b - 1, parts[a]] @ K[parts[a]] + coefficients[a, parts[b]] @ K[parts[b]]
        np.testing.assert_allclose(found[number], expected, atol=1e-10)

"""Means, variances and covariances of weighted examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.spread import (
    column_moments,
    column_variances,
    covariance,
    moderate,
    scale_gamma,
    sparse_variance,
)


def test_moments_of_many_rows_agree_with_numpys() -> None:
    X = np.random.default_rng(2).normal(3.0, 2.0, size=(70_000, 7)).astype(np.float32)
    means, variances = column_moments(X, np.ones(len(X)))
    np.testing.assert_allclose(means, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(variances, X.var(axis=0, dtype=np.float64), rtol=1e-12)
    assert sparse_variance(csr_array(X), np.ones(len(X))) == pytest.approx(X.var(dtype=np.float64), rel=1e-12)


RANDOM = np.random.default_rng(0)


X = RANDOM.normal(size=(40, 3))


Y = (X[:, 0] + 0.3 * RANDOM.normal(size=40) > 0).astype(int)


WEIGHTS = RANDOM.uniform(0.5, 2.0, size=40)


SCALES = [2.0**-1000, 2.0**-300, 2.0**300, 2.0**1000, 2.0**1022]


@pytest.mark.parametrize("scale", SCALES)
def test_spreads_of_the_rows(scale: float) -> None:
    heavy = scale * WEIGHTS
    assert scale_gamma(X, heavy) == scale_gamma(X, WEIGHTS)
    np.testing.assert_array_equal(column_variances(X, heavy), column_variances(X, WEIGHTS))
    np.testing.assert_allclose(covariance(X, heavy), covariance(X, WEIGHTS), rtol=1e-14)
    assert jaakkola_gamma(X, Y, heavy) == jaakkola_gamma(X, Y, WEIGHTS)


def test_weights_of_moderate_size_are_left_alone() -> None:
    for scale in (2.0**-200, 1.0, 2.0**199):
        assert np.array_equal(moderate(scale * WEIGHTS), scale * WEIGHTS)
    both = moderate(np.array([1e-300, 1e300, 0.0]))
    assert both[0] > 0.0
    assert both[2] == 0.0

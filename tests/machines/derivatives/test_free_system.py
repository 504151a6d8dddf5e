"""The bordered system of the free variables against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels import Gaussian, Polynomial
from widemargin.machines.derivatives import FreeSystem


def test_dependent_variables_are_held():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(12, 2))
    K = Polynomial(degree=1, gamma=1.0, coef0=1e-9)(X)
    system = FreeSystem.factorised(K)
    assert len(system.kept) == 3  # two features, and the intercept
    right = K @ generator.normal(size=12)
    x, last = system.solve(right - right.mean(), 0.0)
    assert np.count_nonzero(x) <= 3
    np.testing.assert_allclose(K @ x + last, right - right.mean(), atol=1e-8)


@pytest.mark.parametrize("bordered", [True, False])
def test_the_inverse_is_that_of_the_bordered_matrix(bordered):
    generator = np.random.default_rng(1)
    K = Gaussian(0.5)(generator.normal(size=(9, 3)))
    ridge = generator.uniform(0.1, 1.0, size=9)
    system = FreeSystem.factorised(K, ridge, bordered=bordered)
    H = K + np.diag(ridge)
    if bordered:
        H = np.block([[np.zeros((1, 1)), np.ones((1, 9))], [np.ones((9, 1)), H]])
    np.testing.assert_allclose(system.whole_inverse(), np.linalg.inv(H), atol=1e-9)
    right = generator.normal(size=(9, 4))
    totals = generator.normal(size=4)
    x, last = system.solve(right, totals)
    stacked = np.vstack([totals, right]) if bordered else right
    meant = np.linalg.solve(H, stacked)
    np.testing.assert_allclose(x, meant[1:] if bordered else meant, atol=1e-8)
    if bordered:
        np.testing.assert_allclose(last, meant[0], atol=1e-8)

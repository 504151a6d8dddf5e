"""Linear and polynomial kernels: diagonals, free parameters and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from widemargin.kernels import Linear, Polynomial
from widemargin.kernels.polynomial import squared_norms

X = np.array([[1.0, 2.0], [0.0, -3.0], [0.0, 0.0]])


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_squared_norms_of_dense_and_sparse_examples(container):
    np.testing.assert_array_equal(squared_norms(container(X)), [5.0, 9.0, 0.0])


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3, gamma=0.5, coef0=2.0)])
def test_the_diagonal_is_that_of_the_matrix(kernel):
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X)), rtol=1e-12)


def test_a_constant_of_zero_is_not_searched():
    free = Polynomial(degree=2, gamma=0.5, coef0=2.0)
    np.testing.assert_allclose(free.theta, np.log([0.5, 2.0]))
    assert Polynomial(degree=2, gamma=0.5, coef0=0.0).n_dims == 1
    assert Linear().n_dims == 0


@pytest.mark.parametrize("degree", [0, -1, 1.5, 2**31])
def test_degrees_that_are_none_are_refused(degree):
    with pytest.raises(ValueError, match="degree"):
        Polynomial(degree=degree, gamma=1.0)(X)

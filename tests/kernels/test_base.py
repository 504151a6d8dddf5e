"""Every kernel object of the package keeps the contract, clause by clause, and computes its formula."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

from oracles.kernels import naive_values
from widemargin.kernels import (
    Constant,
    DiagonalGaussian,
    Gaussian,
    GeneralGaussian,
    Linear,
    Mahalanobis,
    MaskedGaussian,
    Normalized,
    Polynomial,
    normalized,
)
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.testing.kernels import KERNEL_OBJECT_CLAUSES, takes_sparse_samples

KERNELS = [
    Gaussian(),
    Gaussian(gamma=0.4, gamma_bounds=(1e-2, 1e2)),
    Gaussian(gamma=0.4, gamma_bounds="fixed"),
    DiagonalGaussian(),
    DiagonalGaussian(gammas=[0.2, 1.5, 0.01]),
    DiagonalGaussian(gammas=[0.2, 1.5, 0.01], gammas_bounds="fixed"),
    MaskedGaussian(),
    MaskedGaussian([True, False, True]),
    MaskedGaussian([0, 1, 0], gamma=0.4, gamma_bounds=(1e-2, 1e2)),
    MaskedGaussian([True, False, True], gamma=0.4, gamma_bounds="fixed"),
    GeneralGaussian(),
    GeneralGaussian(matrix=[[1.0, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.5]]),
    GeneralGaussian(matrix=[[1.0, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.5]], fixed="size"),
    GeneralGaussian(matrix=[[1.0, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.5]], fixed="shape"),
    GeneralGaussian(fixed="orientation"),
    GeneralGaussian(fixed=("size", "orientation")),
    GeneralGaussian(fixed=("shape", "orientation")),
    GeneralGaussian(fixed=("size", "shape", "orientation")),
    Mahalanobis(),
    Mahalanobis(delta=0.3, covariance="full"),
    Mahalanobis(delta_bounds="fixed"),
    Linear(),
    Polynomial(degree=2),
    Polynomial(gamma=0.3, coef0=0.0),
    Polynomial(degree=1, gamma=0.3, coef0=2.0, gamma_bounds="fixed"),
    Constant(0.5) * Gaussian(gamma=1.0),
    0.5 * Gaussian(gamma=1.0) + Polynomial(degree=2),
    Gaussian() * (Linear() + 1.0),
    (Gaussian(gamma=0.3) + Gaussian(gamma=3.0)) ** 2,
    2.0 * (DiagonalGaussian() * Mahalanobis()),
    MaskedGaussian([True, False, False]) + MaskedGaussian([False, True, True]),
    normalized(Polynomial(degree=3)),
    Normalized(Linear() + 0.5 * Gaussian()),
    theirs.RBF(1.7),
    theirs.RBF([0.5, 1.0, 2.0]),
    theirs.Matern(nu=2.5) + 0.1 * Gaussian(),
    theirs.RationalQuadratic(length_scale=1.3, alpha=0.7),
    theirs.DotProduct(sigma_0=0.5),
    (theirs.ConstantKernel(2.0) * theirs.RBF(0.8)) ** 2,
    Gaussian(gamma=2.0) * theirs.DotProduct(),
]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.normal(size=(12, 3)), generator.normal(size=(7, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("clause", [*KERNEL_OBJECT_CLAUSES, takes_sparse_samples], ids=lambda one: one.__name__)
def test_contract(clause, kernel, rows):
    X, Z = rows
    clause(as_kernel(kernel).fitted(X), X, Z)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_formula(kernel, rows):
    X, Z = rows
    fitted = as_kernel(kernel).fitted(X)
    assert fitted(X, Z) == pytest.approx(naive_values(fitted, X, Z), rel=1e-10, abs=1e-12)
    assert fitted(X) == pytest.approx(naive_values(fitted, X, X), rel=1e-10, abs=1e-12)


def test_numbers_are_set_quickly():
    """Searches of many cheap evaluations set them each time: a fifth of a millisecond would be felt."""
    kernel = DiagonalGaussian(gammas=np.ones(20))
    theta, best = kernel.theta, np.inf
    for _ in range(20):
        began = time.perf_counter()
        for _ in range(100):
            kernel.clone_with_theta(theta)
        best = min(best, (time.perf_counter() - began) / 100)
    assert best < 200e-6

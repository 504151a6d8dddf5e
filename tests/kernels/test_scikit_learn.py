"""Kernels of scikit-learn among ours, kernels by name, and kernels of anything but vectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels import DiagonalGaussian, Gaussian, Linear, Polynomial, Power, Product, Sum
from widemargin.kernels.scikit_learn import as_kernel

X = np.random.default_rng(0).normal(size=(10, 2))


G, H, P = Gaussian(gamma=1.0), Gaussian(gamma=2.0), Polynomial(degree=2)


def test_both_orders_with_kernels_of_scikit_learn():
    for kernel in (Gaussian(gamma=0.3) + theirs.RBF(2.0), theirs.RBF(2.0) + Gaussian(gamma=0.3)):
        assert as_kernel(kernel)(X) == pytest.approx(Gaussian(gamma=0.3)(X) + theirs.RBF(2.0)(X))
    for kernel in (Gaussian(gamma=0.3) * theirs.RBF(2.0), theirs.RBF(2.0) * Gaussian(gamma=0.3)):
        assert as_kernel(kernel)(X) == pytest.approx(Gaussian(gamma=0.3)(X) * theirs.RBF(2.0)(X))
    assert isinstance(as_kernel(theirs.RBF() + Gaussian()).fitted(X), Sum)
    assert as_kernel((theirs.RBF() * Gaussian()) ** 2).fitted(X).kernel.k2.gamma > 0.0


def test_gaussian_processes_take_them():
    kernel = 1.0 * DiagonalGaussian(gammas=[1.0, 1.0]) + Linear()
    fitted = GaussianProcessRegressor(kernel, alpha=1e-2).fit(X, X @ [1.0, 0.0]).kernel_
    assert isinstance(fitted, Sum)
    assert fitted.theta.shape == (3,)


def test_a_wrapped_kernel_computes_what_scikit_learn_computes():
    kernel = theirs.Matern([0.5, 2.0], nu=1.5)
    K, tensor = as_kernel(kernel)(X, eval_gradient=True)
    expected, gradient = kernel(X, eval_gradient=True)
    assert pytest.approx(expected) == K
    assert tensor == pytest.approx(gradient)
    assert as_kernel(kernel).core_kernel is None


def test_rbf_runs_in_the_core():
    kernel = as_kernel(theirs.RBF([0.5, 2.0]))
    assert kernel.core_kernel.kernel == "rbf"
    mapped = kernel.mapped(X)
    assert Gaussian(kernel.core_kernel.gamma)(mapped) == pytest.approx(theirs.RBF([0.5, 2.0])(X))


def test_kernels_by_name():
    assert as_kernel("rbf") == Gaussian()
    assert as_kernel("rbf", gamma=0.5) == Gaussian(gamma=0.5)
    assert as_kernel("linear") == Linear()
    assert as_kernel("poly", gamma=0.5, coef0=2.0, degree=4) == Polynomial(degree=4, gamma=0.5, coef0=2.0)
    kernel = 2.0 * G
    assert as_kernel(kernel) is kernel


def test_objects_go_through_kernels_that_take_them():
    class SameLength(theirs.GenericKernelMixin, theirs.Kernel):
        def __init__(self) -> None:
            pass

        def __call__(self, X, Y=None, eval_gradient=False):
            other = X if Y is None else Y
            K = np.array([[float(len(a) == len(b)) for b in other] for a in X])
            return (K, np.empty((*K.shape, 0))) if eval_gradient else K

        def diag(self, X):
            return np.ones(len(X))

        def is_stationary(self):
            return False

    kernel = 2.0 * as_kernel(SameLength()) + 1.0
    assert not kernel.requires_vector_input
    assert kernel(["a", "bb"], ["c"]).tolist() == [[3.0], [1.0]]
    assert isinstance(kernel, Sum)
    assert isinstance(kernel**2, Power)
    assert isinstance(kernel * kernel, Product)

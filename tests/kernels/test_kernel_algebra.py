"""Sums, products, multiples, powers: how they print, nest, mix with scikit-learn's kernels, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels import (
    Constant,
    DiagonalGaussian,
    Gaussian,
    Linear,
    Normalized,
    Polynomial,
    Power,
    Product,
    Scaled,
    ScikitLearnKernel,
    Sum,
    as_kernel,
    normalized,
)

X = np.random.default_rng(0).normal(size=(10, 2))
G, H, P = Gaussian(gamma=1.0), Gaussian(gamma=2.0), Polynomial(degree=2)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (0.5 * G + P, "0.5 * Gaussian(gamma=1.0) + Polynomial(degree=2)"),
        (G + H + P, "Gaussian(gamma=1.0) + Gaussian(gamma=2.0) + Polynomial(degree=2)"),
        (G + (H + P), "Gaussian(gamma=1.0) + (Gaussian(gamma=2.0) + Polynomial(degree=2))"),
        ((G + H) * P, "(Gaussian(gamma=1.0) + Gaussian(gamma=2.0)) * Polynomial(degree=2)"),
        (G * H * P, "Gaussian(gamma=1.0) * Gaussian(gamma=2.0) * Polynomial(degree=2)"),
        (G * (H * P), "Gaussian(gamma=1.0) * (Gaussian(gamma=2.0) * Polynomial(degree=2))"),
        (2.0 * (3.0 * G), "2.0 * (3.0 * Gaussian(gamma=1.0))"),
        (2.0 * G * H, "2.0 * Gaussian(gamma=1.0) * Gaussian(gamma=2.0)"),
        (2.0 * (G + H), "2.0 * (Gaussian(gamma=1.0) + Gaussian(gamma=2.0))"),
        (G * 2, "2.0 * Gaussian(gamma=1.0)"),
        (np.float64(0.1) * G, "0.1 * Gaussian(gamma=1.0)"),
        (G + 1, "Gaussian(gamma=1.0) + 1.0"),
        (1.0 + G, "1.0 + Gaussian(gamma=1.0)"),
        (Sum(Constant(1.0), Constant(2.0)), "Constant() + Constant(value=2.0)"),
        (G**2, "Gaussian(gamma=1.0) ** 2"),
        ((G + 1.0) ** 2 * H, "(Gaussian(gamma=1.0) + 1.0) ** 2 * Gaussian(gamma=2.0)"),
        ((G**2) ** 3, "(Gaussian(gamma=1.0) ** 2) ** 3"),
        (normalized(G + P), "Normalized(kernel=Gaussian(gamma=1.0) + Polynomial(degree=2))"),
        (Scaled(0.5, G, scale_bounds="fixed"), "Scaled(scale=0.5, kernel=Gaussian(gamma=1.0), scale_bounds='fixed')"),
        (G + theirs.RBF(1 / 3), "Gaussian(gamma=1.0) + RBF(length_scale=0.3333333333333333)"),
        (G * (theirs.RBF() + theirs.DotProduct()), "Gaussian(gamma=1.0) * (RBF() + DotProduct())"),
        (as_kernel(theirs.RBF(2.0) + G), "RBF(length_scale=2.0) + Gaussian(gamma=1.0)"),
        (DiagonalGaussian([0.5, 2.0]), "DiagonalGaussian(gammas=[0.5, 2.0])"),
    ],
    ids=str,
)
def test_they_print_as_they_were_written(kernel, text):
    assert repr(kernel) == text
    known = {one.__name__: one for one in (Gaussian, DiagonalGaussian, Polynomial, Constant, Scaled, Normalized)}
    known |= {"RBF": theirs.RBF, "DotProduct": theirs.DotProduct}
    assert as_kernel(eval(text, known)) == kernel


def test_parameters_nest_as_those_of_scikit_learn_do():
    kernel = 0.5 * Gaussian(gamma=1.0) + Polynomial(degree=2)
    assert kernel.get_params()["k1__kernel__gamma"] == 1.0
    assert kernel.get_params()["k2__degree"] == 2
    other = clone(kernel).set_params(k1__kernel__gamma=3.0, k1__scale=0.25, k2__gamma=0.1)
    assert repr(other) == "0.25 * Gaussian(gamma=3.0) + Polynomial(degree=2, gamma=0.1)"
    assert kernel.get_params()["k1__kernel__gamma"] == 1.0
    assert [one.name for one in other.hyperparameters] == ["k1__scale", "k1__kernel__gamma", "k2__gamma", "k2__coef0"]
    assert other.theta == pytest.approx(np.log([0.25, 3.0, 0.1, 1.0]))
    with pytest.raises(ValueError, match="Invalid parameter"):
        other.set_params(k1__gamma=1.0)


def test_what_is_left_to_the_data_is_found_inside():
    kernel = (0.5 * Gaussian() + theirs.RBF()) * normalized(DiagonalGaussian())
    with pytest.raises(ValueError, match=r"Gaussian\(\) has no gamma yet; pass a number, or call fitted"):
        kernel(X)
    found = kernel.fitted(X, gamma=0.7)
    assert found.k1.k1.kernel.gamma == 0.7
    assert found.k2.kernel.gammas.tolist() == [0.7, 0.7]
    assert kernel.k1.k1.kernel.gamma is None
    assert Gaussian().fitted(X).gamma == pytest.approx(1.0 / (2 * X.var()))


def test_clones_with_other_numbers_leave_the_kernel_alone():
    kernel = 0.5 * Gaussian(gamma=1.0) + theirs.RBF(2.0)
    other = kernel.clone_with_theta(kernel.theta + 1.0)
    assert repr(kernel) == "0.5 * Gaussian(gamma=1.0) + RBF(length_scale=2.0)"
    assert other.theta == pytest.approx(kernel.theta + 1.0)
    kernel.theta = kernel.theta + 2.0
    assert other.theta == pytest.approx(kernel.theta - 1.0)


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


def test_derivatives_of_large_blocks_come_in_parts(monkeypatch):
    monkeypatch.setitem(ScikitLearnKernel._tensors.__globals__, "TENSOR_ENTRIES", 50)
    kernel = as_kernel(theirs.Matern([0.5, 2.0], nu=1.5))
    K = kernel.values(X, X)
    W = np.random.default_rng(1).normal(size=K.shape)
    gradient = theirs.Matern([0.5, 2.0], nu=1.5)(X, eval_gradient=True)[1]
    assert kernel.pull_back(W, X, X, K) == pytest.approx(np.einsum("ij,ijk->k", W, gradient))
    assert np.stack(list(kernel.derivatives(X, X, K)), axis=2) == pytest.approx(gradient)


def test_kernels_by_name():
    assert as_kernel("rbf") == Gaussian()
    assert as_kernel("rbf", gamma=0.5) == Gaussian(gamma=0.5)
    assert as_kernel("linear") == Linear()
    assert as_kernel("poly", gamma=0.5, coef0=2.0, degree=4) == Polynomial(degree=4, gamma=0.5, coef0=2.0)
    kernel = 2.0 * G
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: as_kernel("sigmoid"), ValueError, "kernel='sigmoid' has no kernel object"),
        (lambda: as_kernel(3.0), TypeError, "3.0 is no kernel"),
        (lambda: as_kernel(theirs.WhiteKernel()), ValueError, "no similarity of two examples"),
        (lambda: G + theirs.WhiteKernel(), ValueError, "no similarity of two examples"),
        (lambda: as_kernel(theirs.RBF() + theirs.WhiteKernel()), ValueError, "no similarity of two examples"),
        (lambda: G + "rbf", TypeError, r"'rbf' is no operand of \+ for a kernel"),
        (lambda: [1.0] * G, TypeError, r"\[1.0\] is no operand of \* for a kernel"),
        (lambda: -1.0 * G, ValueError, "the factor of the multiple of a kernel is -1.0; it must be positive"),
        (lambda: G + 0.0, ValueError, "the constant of the sum is 0.0; it must be positive"),
        (lambda: (G**1.5)(X), ValueError, "exponent of Power is 1.5; it must be a whole number of at least 1"),
        (lambda: Gaussian(gamma=-1.0)(X), ValueError, "gamma of Gaussian is -1.0; it must be positive and finite"),
        (lambda: Gaussian(gamma="scale")(X), ValueError, "gamma of Gaussian is 'scale'"),
        (lambda: DiagonalGaussian([1.0, 0.0])(X), ValueError, "gammas of DiagonalGaussian"),
        (lambda: DiagonalGaussian([1.0] * 3).fitted(X), ValueError, "gammas holds 3 numbers where X has 2 columns"),
        (lambda: Polynomial(gamma=1.0, coef0=-1.0)(X), ValueError, "coef0 of Polynomial is -1.0"),
        (lambda: Polynomial(degree=0, gamma=1.0)(X), ValueError, "degree of Polynomial is 0"),
        (lambda: Gaussian(1.0, gamma_bounds="free")(X), ValueError, "gamma_bounds is 'free'"),
        (lambda: Gaussian(1.0, gamma_bounds=(2.0, 1.0)).bounds, ValueError, "gamma_bounds is .* in order"),
        (lambda: G.clone_with_theta(np.zeros(2)), ValueError, "theta holds 2 numbers where .* takes 1"),
    ],
)
def test_what_means_nothing_is_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_bounds_may_differ_from_number_to_number():
    kernel = DiagonalGaussian([1.0, 2.0], gammas_bounds=[(0.1, 10.0), (1.0, 3.0)])
    assert kernel.bounds == pytest.approx(np.log([[0.1, 10.0], [1.0, 3.0]]))


def test_an_example_without_length_has_no_angle():
    points = np.array([[0.0, 0.0], [1.0, 2.0]])
    kernel = Normalized(Linear())
    assert kernel(points).tolist() == [[0.0, 0.0], [0.0, pytest.approx(1.0)]]
    assert kernel.diagonal(points).tolist() == [0.0, 1.0]
    scaled = Normalized(2.0 * Polynomial(gamma=1.0, coef0=0.0))
    assert np.isfinite(scaled.pull_back(np.ones((2, 2)), points, points, scaled(points))).all()


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

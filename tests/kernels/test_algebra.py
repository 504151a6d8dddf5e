"""Sums, products, multiples, powers: how they print, nest, mix with scikit-learn's kernels, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels import Constant, DiagonalGaussian, Gaussian, Normalized, Polynomial, Scaled, Sum, normalized
from widemargin.kernels.scikit_learn import as_kernel

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

"""What kernel objects accept as parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels import DiagonalGaussian, Gaussian, Polynomial
from widemargin.kernels.scikit_learn import as_kernel

X = np.random.default_rng(0).normal(size=(10, 2))


G, H, P = Gaussian(gamma=1.0), Gaussian(gamma=2.0), Polynomial(degree=2)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: as_kernel("sigmoid"), ValueError, "kernel='sigmoid' has no kernel object"),
        (lambda: as_kernel(3.0), TypeError, "3.0 is not a kernel"),
        (lambda: as_kernel(theirs.WhiteKernel()), ValueError, "is not a function of two samples"),
        (lambda: G + theirs.WhiteKernel(), ValueError, "is not a function of two samples"),
        (lambda: as_kernel(theirs.RBF() + theirs.WhiteKernel()), ValueError, "is not a function of two samples"),
        (lambda: G + "rbf", TypeError, r"\+ combines a kernel with kernels and positive numbers, not with 'rbf'"),
        (lambda: [1.0] * G, TypeError, r"\* combines a kernel with .*, not with \[1.0\]"),
        (lambda: -1.0 * G, ValueError, "the factor of the multiple of a kernel is -1.0; it must be positive"),
        (lambda: G + 0.0, ValueError, "the constant of the sum is 0.0; it must be positive"),
        (lambda: (G**1.5)(X), ValueError, "exponent of Power is 1.5; it must be a whole number of at least 1"),
        (lambda: Gaussian(gamma=-1.0)(X), ValueError, "gamma of Gaussian is -1.0; it must be positive and finite"),
        (lambda: Gaussian(gamma="scale")(X), ValueError, "gamma of Gaussian is 'scale'"),
        (lambda: DiagonalGaussian([1.0, 0.0])(X), ValueError, "gammas of DiagonalGaussian"),
        (lambda: DiagonalGaussian([1.0] * 3).fitted(X), ValueError, "gammas holds 3 numbers, but X has 2 features"),
        (lambda: Polynomial(gamma=1.0, coef0=-1.0)(X), ValueError, "coef0 of Polynomial is -1.0"),
        (lambda: Polynomial(degree=0, gamma=1.0)(X), ValueError, "degree of Polynomial is 0"),
        (lambda: Gaussian(1.0, gamma_bounds="free")(X), ValueError, "gamma_bounds is 'free'"),
        (lambda: Gaussian(1.0, gamma_bounds=(2.0, 1.0)).bounds, ValueError, "gamma_bounds is .* in order"),
        (lambda: G.clone_with_theta(np.zeros(2)), ValueError, "theta holds 2 numbers, but .* takes 1"),
    ],
)
def test_what_means_nothing_is_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_bounds_may_differ_from_number_to_number():
    kernel = DiagonalGaussian([1.0, 2.0], gammas_bounds=[(0.1, 10.0), (1.0, 3.0)])
    assert kernel.bounds == pytest.approx(np.log([[0.1, 10.0], [1.0, 3.0]]))

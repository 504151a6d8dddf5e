"""The contract of kernel objects notices what is wrong."""

from __future__ import annotations

import pytest

from widemargin.kernels import DiagonalGaussian, Gaussian
from widemargin.testing import kernel_object_contract


class Wrong(Gaussian):
    """A Gaussian whose derivative is off by a thousandth."""

    def derivatives(self, X, Y, K):
        for slope in super().derivatives(X, Y, K):
            yield 1.001 * slope


class Negative(Gaussian):
    """A Gaussian less a number: symmetric, but no kernel."""

    def values(self, X, Y):
        return super().values(X, Y) - 0.5

    def diagonal(self, X):
        return super().diagonal(X) - 0.5


class Forgetful(Gaussian):
    """A Gaussian that does not write its parameter."""

    def __repr__(self):
        return "Forgetful()"


class Undeclared(DiagonalGaussian):
    """A Gaussian that does not say what its map consists of."""

    _map_parameters = ()


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (Undeclared(), "kernels of one kind must have one map"),
        (Wrong(0.5), "a derivative of Wrong"),
        (Negative(0.5), "the smallest eigenvalue must be at least 0"),
        (Forgetful(0.5), "what repr writes"),
    ],
)
def test_the_contract_notices(kernel, sentence):
    with pytest.raises(AssertionError, match=sentence):
        kernel_object_contract(kernel)

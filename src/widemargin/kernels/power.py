"""Powers of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.algebra import Product, Scaled, Sum
from widemargin.kernels.composite import Composite, operand_written
from widemargin.kernels.written import value_written

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Power(Composite):
    r"""A power of a kernel, :math:`k(x, z) = k_1(x, z)^p`; ``k1 ** p`` makes it.

    Values cost those of the kernel and n m powers for a block of n x m; derivatives as much again, and what those of
    the kernel cost.

    Parameters
    ----------
    kernel : kernel
        One of this package or of ``sklearn.gaussian_process.kernels``.
    exponent : int
        p, at least 1; other powers of kernels need not be kernels.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> (Linear() ** 2)([[2.0]], [[3.0]]).tolist()
    [[36.0]]
    """

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    def __init__(self, kernel: Any, exponent: int) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def values(self, X: Any, Y: Any) -> Matrix:
        """Raise the values."""
        (kernel,) = self._kernels()
        return np.asarray(kernel.values(X, Y) ** self.exponent)

    def diagonal(self, X: Any) -> Vector:
        """Raise k(x, x)."""
        (kernel,) = self._kernels()
        return np.asarray(kernel.diagonal(X) ** self.exponent)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give p K1^(p - 1) dK1."""
        (kernel,) = self._kernels()
        K1 = kernel.values(X, Y)
        for slope in kernel.derivatives(X, Y, K1):
            yield self._outer_slope(K1) * slope

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give those of k(x, x) likewise."""
        (kernel,) = self._kernels()
        for slope in kernel.diagonal_derivatives(X):
            yield self._outer_slope(kernel.diagonal(X)) * slope

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W * p K1^(p - 1), dK1>."""
        (kernel,) = self._kernels()
        K1 = kernel.values(X, Y)
        return kernel.pull_back(W * self._outer_slope(K1), X, Y, K1)

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Pull back along k(x, x) likewise."""
        (kernel,) = self._kernels()
        return kernel.pull_back_diagonal(w * self._outer_slope(kernel.diagonal(X)), X)

    def _outer_slope(self, K1: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.exponent * K1 ** (self.exponent - 1))

    def _require_numbers(self) -> None:
        super()._require_numbers()
        if not isinstance(self.exponent, Integral) or isinstance(self.exponent, bool) or self.exponent < 1:
            raise ValueError(f"exponent of Power is {self.exponent!r}; it must be a whole number of at least 1.")

    def __repr__(self) -> str:
        """Write it with two stars."""
        return f"{operand_written(self.kernel, (Sum, Product, Scaled, Power))} ** {value_written(self.exponent)}"

"""Kernels made of kernels: sums, products and multiples.

Sums and products of kernels are kernels again, and their derivatives follow from the product rule:
<W, d(K1 + K2)> = <W, dK1> + <W, dK2>, and <W, d(K1 * K2)> = <W * K2, dK1> + <W * K1, dK2>.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from widemargin.kernels.base import Kernel
from widemargin.kernels.checks import WIDE, Bounds, require_positive
from widemargin.kernels.composite import Composite, bare, operand_written
from widemargin.kernels.rows import count
from widemargin.kernels.written import same, value_written

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def add(left: Any, right: Any) -> Kernel:
    """Add two kernels, or a kernel and a positive number, which stands for the kernel with this value everywhere.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> Gaussian(gamma=1.0) + 0.5
    Gaussian(gamma=1.0) + 0.5
    """
    return Sum(_operand(left, "+"), _operand(right, "+"))


def multiply(left: Any, right: Any) -> Kernel:
    """Multiply two kernels, or a kernel by a positive number.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> Gaussian(gamma=1.0) * 2.0
    2.0 * Gaussian(gamma=1.0)
    """
    for number, kernel in ((left, right), (right, left)):
        if isinstance(number, Real):
            require_positive("the multiple of a kernel", "the factor", number)
            return Scaled(float(number), _operand(kernel, "*"))
    return Product(_operand(left, "*"), _operand(right, "*"))


def _operand(given: Any, operator: str) -> Any:
    if isinstance(given, Real):
        require_positive("the sum", "the constant", given)
        return Constant(float(given))
    if not isinstance(given, GaussianProcessKernel):
        raise TypeError(f"{given!r} is no operand of {operator} for a kernel; kernels and positive numbers are.")
    return bare(given)


class Constant(Kernel):
    r"""The kernel that has the same value everywhere, :math:`k(x, z) = c`.

    Added to another kernel it lets a machine without intercept have one. c is searched by its logarithm.

    Parameters
    ----------
    value : float, default=1.0
        c.
    value_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> (Linear() + 2.0)([[1.0]], [[3.0]]).tolist()
    [[5.0]]
    """

    _positive: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: float = 1.0, value_bounds: Bounds = WIDE) -> None:
        self.value = value
        self.value_bounds = value_bounds

    @property
    def requires_vector_input(self) -> bool:
        """Any examples will do."""
        return False

    def values(self, X: Any, Y: Any) -> Matrix:
        """Return c for every pair."""
        return np.full((count(X), count(Y)), float(self.value))

    def diagonal(self, X: Any) -> Vector:
        """Return c for every row."""
        return np.full(count(X), float(self.value))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give K: the derivative of c by log c is c."""
        return iter([K] if self.n_dims else [])

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give c for every row, likewise."""
        return iter([self.diagonal(X)] if self.n_dims else [])

    def is_stationary(self) -> bool:
        """Values depend on nothing."""
        return True


class Sum(Composite):
    r"""The sum of two kernels, :math:`k(x, z) = k_1(x, z) + k_2(x, z)`; ``k1 + k2`` makes it.

    `theta` holds the parameters of the first, then those of the second. Values cost what those of the two cost;
    derivatives as much again, and what theirs cost.

    Parameters
    ----------
    k1, k2 : kernels
        Those of this package or of ``sklearn.gaussian_process.kernels``.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian, Polynomial
    >>> k = 0.5 * Gaussian(gamma=1.0) + Polynomial(degree=2, gamma=1.0)
    >>> k
    0.5 * Gaussian(gamma=1.0) + Polynomial(degree=2, gamma=1.0)
    >>> k.set_params(k1__kernel__gamma=2.0)([[0.0]]).tolist()
    [[1.5]]
    """

    _inner: ClassVar[tuple[str, ...]] = ("k1", "k2")

    def __init__(self, k1: Any, k2: Any) -> None:
        self.k1 = k1
        self.k2 = k2

    def values(self, X: Any, Y: Any) -> Matrix:
        """Add the values of the two."""
        one, other = self._kernels()
        return np.asarray(one.values(X, Y) + other.values(X, Y))

    def diagonal(self, X: Any) -> Vector:
        """Add k(x, x) of the two."""
        one, other = self._kernels()
        return np.asarray(one.diagonal(X) + other.diagonal(X))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give the derivatives of the first, then those of the second."""
        for kernel in self._kernels():
            yield from kernel.derivatives(X, Y, kernel.values(X, Y))

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give those of k(x, x) likewise."""
        for kernel in self._kernels():
            yield from kernel.diagonal_derivatives(X)

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK1>, then <W, dK2>."""
        return np.concatenate([kernel.pull_back(W, X, Y, kernel.values(X, Y)) for kernel in self._kernels()])

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Pull back along k(x, x) of the first, then of the second."""
        return np.concatenate([kernel.pull_back_diagonal(w, X) for kernel in self._kernels()])

    def __repr__(self) -> str:
        """Write it with a plus sign."""
        numbers = [_as_number(self.k1), _as_number(self.k2)]
        if all(numbers):  # a sum of two numbers would be a number
            numbers = [None, None]
        left = numbers[0] or operand_written(self.k1, ())
        return f"{left} + {numbers[1] or operand_written(self.k2, (Sum,))}"


def _as_number(kernel: Any) -> str | None:
    """Write a constant with nothing else to say about it as a number."""
    plain = isinstance(kernel, Constant) and same(kernel.value_bounds, WIDE)
    return value_written(kernel.value) if plain else None


class Product(Composite):
    r"""The product of two kernels, :math:`k(x, z) = k_1(x, z) \, k_2(x, z)`; ``k1 * k2`` makes it.

    `theta` holds the parameters of the first, then those of the second. Values cost what those of the two cost;
    derivatives as much again, and what theirs cost.

    Parameters
    ----------
    k1, k2 : kernels
        Those of this package or of ``sklearn.gaussian_process.kernels``.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian, Linear
    >>> (Gaussian(gamma=1.0) * Linear())([[2.0]], [[3.0]]).round(4).tolist()
    [[2.2073]]
    """

    _inner: ClassVar[tuple[str, ...]] = ("k1", "k2")

    def __init__(self, k1: Any, k2: Any) -> None:
        self.k1 = k1
        self.k2 = k2

    def values(self, X: Any, Y: Any) -> Matrix:
        """Multiply the values of the two."""
        one, other = self._kernels()
        return np.asarray(one.values(X, Y) * other.values(X, Y))

    def diagonal(self, X: Any) -> Vector:
        """Multiply k(x, x) of the two."""
        one, other = self._kernels()
        return np.asarray(one.diagonal(X) * other.diagonal(X))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give dK1 * K2, then K1 * dK2."""
        one, other = self._kernels()
        K1, K2 = one.values(X, Y), other.values(X, Y)
        for slope in one.derivatives(X, Y, K1):
            yield slope * K2
        for slope in other.derivatives(X, Y, K2):
            yield slope * K1

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give those of k(x, x) likewise."""
        one, other = self._kernels()
        for slope in one.diagonal_derivatives(X):
            yield slope * other.diagonal(X)
        for slope in other.diagonal_derivatives(X):
            yield slope * one.diagonal(X)

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W * K2, dK1>, then <W * K1, dK2>."""
        one, other = self._kernels()
        K1, K2 = one.values(X, Y), other.values(X, Y)
        return np.concatenate([one.pull_back(W * K2, X, Y, K1), other.pull_back(W * K1, X, Y, K2)])

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Pull back along k(x, x) of the first, then of the second."""
        one, other = self._kernels()
        mine, theirs = one.diagonal(X), other.diagonal(X)
        return np.concatenate([one.pull_back_diagonal(w * theirs, X), other.pull_back_diagonal(w * mine, X)])

    def __repr__(self) -> str:
        """Write it with a multiplication sign."""
        return f"{operand_written(self.k1, (Sum,))} * {operand_written(self.k2, (Sum, Product, Scaled))}"


class Scaled(Composite):
    r"""A multiple of a kernel, :math:`k(x, z) = s \, k_1(x, z)`; ``s * k1`` makes it.

    The factor s is searched by its logarithm, which comes first in `theta`. Neither values nor derivatives cost more
    than those of the kernel itself.

    Parameters
    ----------
    scale : float
        s, positive.
    kernel : kernel
        One of this package or of ``sklearn.gaussian_process.kernels``.
    scale_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range of s to search in.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> k = 2.0 * Gaussian(gamma=1.0)
    >>> k([[0.0]]).tolist(), k.theta.round(4).tolist()
    ([[2.0]], [0.6931, 0.0])
    """

    _positive: ClassVar[tuple[str, ...]] = ("scale",)
    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    def __init__(self, scale: float, kernel: Any, scale_bounds: Bounds = WIDE) -> None:
        self.scale = scale
        self.kernel = kernel
        self.scale_bounds = scale_bounds

    def values(self, X: Any, Y: Any) -> Matrix:
        """Multiply the values."""
        (kernel,) = self._kernels()
        K = kernel.values(X, Y)
        K *= self.scale
        return K

    def diagonal(self, X: Any) -> Vector:
        """Multiply k(x, x)."""
        (kernel,) = self._kernels()
        return np.asarray(self.scale * kernel.diagonal(X))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give K, then s dK1."""
        (kernel,) = self._kernels()
        if self._free():
            yield K
        for slope in kernel.derivatives(X, Y, K / self.scale):
            yield self.scale * slope

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give those of k(x, x) likewise."""
        (kernel,) = self._kernels()
        if self._free():
            yield self.diagonal(X)
        for slope in kernel.diagonal_derivatives(X):
            yield self.scale * slope

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, K>, then s <W, dK1>."""
        (kernel,) = self._kernels()
        own = [float(np.vdot(W, K))] if self._free() else []
        return np.concatenate([own, self.scale * kernel.pull_back(W, X, Y, K / self.scale)])

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Pull back along k(x, x) likewise."""
        (kernel,) = self._kernels()
        own = [float(np.vdot(w, self.diagonal(X)))] if self._free() else []
        return np.concatenate([own, self.scale * kernel.pull_back_diagonal(w, X)])

    def __repr__(self) -> str:
        """Write it with a multiplication sign."""
        if not same(self.scale_bounds, WIDE):
            return super().__repr__()
        return f"{value_written(self.scale)} * {operand_written(self.kernel, (Sum, Product, Scaled))}"

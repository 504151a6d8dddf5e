"""Kernels made of kernels: sums, products, multiples and powers.

Sums and products of kernels are kernels again, and their derivatives follow from the product rule:
<W, d(K1 + K2)> = <W, dK1> + <W, dK2>, and <W, d(K1 * K2)> = <W * K2, dK1> + <W * K1, dK2>.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from widemargin.kernels.base import WIDE, Bounds, Kernel, Matrix, Vector, require_positive, same, value_written
from widemargin.kernels.rows import count
from widemargin.runtime.checks import is_whole

Array = NDArray[np.float64]


class Composite(Kernel):
    """A kernel that holds others; `theta` holds its own parameters first, then theirs."""

    #: Parameters that are kernels.
    _inner: ClassVar[tuple[str, ...]]

    def _kernels(self) -> list[Kernel]:
        """Return the kernels inside, those of scikit-learn wrapped."""
        return [_as_kernel(getattr(self, name)) for name in self._inner]

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            setattr(self, name, bare(kernel.fitted(X, gamma=gamma, weights=weights)))

    @property
    def n_dims(self) -> int:
        """How many numbers `theta` holds."""
        return super().n_dims + sum(kernel.n_dims for kernel in self._kernels())

    @property
    def theta(self) -> Vector:
        """Free parameters on an unconstrained scale."""
        return np.concatenate([super().theta, *(kernel.theta for kernel in self._kernels())])

    @theta.setter
    def theta(self, theta: Vector) -> None:
        given = self._checked_theta(theta)
        begin = super().n_dims
        self._take_logarithms(given[:begin])
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            end = begin + kernel.n_dims
            # Kernels that share a part of another, as clones with other numbers do, must not change it.
            setattr(self, name, bare(kernel.clone_with_theta(given[begin:end])))
            begin = end

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        return np.vstack([super().bounds, *(kernel.bounds for kernel in self._kernels())])

    @property
    def hyperparameters(self) -> list[Any]:
        """Searchable parameters as scikit-learn describes them, in the order of `theta`."""
        found = super().hyperparameters
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            found += [Hyperparameter(f"{name}__{one.name}", *one[1:]) for one in kernel.hyperparameters]
        return found

    @property
    def requires_vector_input(self) -> bool:
        """Whether some kernel inside takes vectors only."""
        return any(kernel.requires_vector_input for kernel in self._kernels())

    def samples(self, X: Any) -> Any:
        """Return samples as the other methods take them; those that are no vectors as the kernels inside take them."""
        if not self.requires_vector_input:
            for kernel in self._kernels():
                X = kernel.samples(X)
            return X
        return super().samples(X)

    def measurable(self, X: Any) -> NDArray[np.bool_]:
        """Tell which samples have values of all kernels inside."""
        return np.asarray(np.logical_and.reduce([kernel.measurable(X) for kernel in self._kernels()]))

    def is_stationary(self) -> bool:
        """Whether all kernels inside depend on differences of samples only."""
        return all(kernel.is_stationary() for kernel in self._kernels())

    @property
    def leaves_to_data(self) -> bool:
        """Whether some kernel inside has parameters to estimate."""
        return any(kernel.leaves_to_data for kernel in self._kernels())

    def _require_given(self) -> None:
        for kernel in self._kernels():
            kernel._require_given()

    def _require_numbers(self) -> None:
        super()._require_numbers()
        for kernel in self._kernels():
            kernel._require_numbers()


def operand_written(kernel: Any, weaker: tuple[type, ...]) -> str:
    """Write a kernel inside another one, in parentheses if its operator binds more weakly."""
    ours = _as_kernel(kernel)
    return f"({ours!r})" if isinstance(ours, weaker) else repr(ours)


def bare(kernel: Any) -> Any:
    """Return a kernel as the user wrote it: one of scikit-learn's without our wrapper."""
    from widemargin.kernels.scikit_learn import ScikitLearnKernel

    ours = _as_kernel(kernel)
    return ours.kernel if isinstance(ours, ScikitLearnKernel) else ours


def _as_kernel(kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    # Sums of scikit-learn's kernels become sums of ours, so that the two modules need each other.
    from widemargin.kernels.scikit_learn import as_kernel

    return as_kernel(kernel)


def add(left: Any, right: Any) -> Kernel:
    """Add two kernels, or a kernel and a positive number, which stands for the kernel with this value everywhere."""
    return Sum(_operand(left, "+"), _operand(right, "+"))


def multiply(left: Any, right: Any) -> Kernel:
    """Multiply two kernels, or a kernel by a positive number."""
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
        raise TypeError(f"{operator} combines a kernel with kernels and positive numbers, not with {given!r}.")
    return bare(given)


class Constant(Kernel):
    r"""The kernel that has the same value everywhere, :math:`k(x, z) = c`.

    Added to another kernel it gives an intercept to a model without one. c is searched by its logarithm.

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
        """Samples can be anything."""
        return False

    def values(self, X: Any, Y: Any) -> Matrix:
        """Return c for every pair."""
        return np.full((count(X), count(Y)), float(self.value))

    def diagonal(self, X: Any) -> Vector:
        """Return c for every sample."""
        return np.full(count(X), float(self.value))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield K: the derivative of c by log c is c."""
        return iter([K] if self.n_dims else [])

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield c for every sample, likewise."""
        return iter([self.diagonal(X)] if self.n_dims else [])

    def is_stationary(self) -> bool:
        """Whether values depend on differences of samples only: they are constant."""
        return True


class Elementwise(Composite):
    """A kernel that combines the values of others, entry by entry: of blocks and of diagonals alike."""

    @abstractmethod
    def _combined(self, *parts: Array) -> Array:
        """Return the values of this kernel, given those of the kernels inside."""

    @abstractmethod
    def _factors(self, *parts: Array) -> tuple[Any, ...]:
        """Return the derivatives of :meth:`_combined` by the values of each kernel inside."""

    def values(self, X: Any, Y: Any) -> Matrix:
        """Combine the values of the kernels inside."""
        return np.asarray(self._combined(*(kernel.values(X, Y) for kernel in self._kernels())))

    def diagonal(self, X: Any) -> Vector:
        """Combine k(x, x) of the kernels inside."""
        return np.asarray(self._combined(*(kernel.diagonal(X) for kernel in self._kernels())))

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield those of each kernel inside, by the chain rule."""
        for kernel, part, factor in self._parts([kernel.values(X, Y) for kernel in self._kernels()]):
            for slope in kernel.derivatives(X, Y, part):
                yield factor * slope

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield those of k(x, x) likewise."""
        for kernel, _, factor in self._parts([kernel.diagonal(X) for kernel in self._kernels()]):
            for slope in kernel.diagonal_derivatives(X):
                yield factor * slope

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W * dF/dK1, dK1>, and so on for each kernel inside."""
        parts = self._parts([kernel.values(X, Y) for kernel in self._kernels()])
        return np.concatenate([kernel.pull_back(W * factor, X, Y, part) for kernel, part, factor in parts])

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Pull back along k(x, x) likewise."""
        parts = self._parts([kernel.diagonal(X) for kernel in self._kernels()])
        return np.concatenate([kernel.pull_back_diagonal(w * factor, X) for kernel, _, factor in parts])

    def _parts(self, values: list[Array]) -> list[tuple[Kernel, Array, Any]]:
        return list(zip(self._kernels(), values, self._factors(*values), strict=True))


class _OfTwo(Elementwise):
    """A kernel made of two."""

    _inner: ClassVar[tuple[str, ...]] = ("k1", "k2")

    def __init__(self, k1: Any, k2: Any) -> None:
        self.k1 = k1
        self.k2 = k2


class Sum(_OfTwo):
    r"""The sum of two kernels, :math:`k(x, z) = k_1(x, z) + k_2(x, z)`; write ``k1 + k2``.

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

    def _combined(self, *parts: Array) -> Array:
        return parts[0] + parts[1]

    def _factors(self, *parts: Array) -> tuple[Any, ...]:
        return 1.0, 1.0

    def __repr__(self) -> str:
        """Write it with a plus sign."""
        numbers = [_as_number(self.k1), _as_number(self.k2)]
        if all(numbers):  # a sum of two numbers would be a number
            numbers = [None, None]
        left = numbers[0] or operand_written(self.k1, ())
        return f"{left} + {numbers[1] or operand_written(self.k2, (Sum,))}"


def _as_number(kernel: Any) -> str | None:
    """Write a constant with default bounds as a number."""
    plain = isinstance(kernel, Constant) and same(kernel.value_bounds, WIDE)
    return value_written(kernel.value) if plain else None


class Product(_OfTwo):
    r"""The product of two kernels, :math:`k(x, z) = k_1(x, z) \, k_2(x, z)`; write ``k1 * k2``.

    Parameters, their order in `theta` and costs are those of :class:`Sum`.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian, Linear
    >>> (Gaussian(gamma=1.0) * Linear())([[2.0]], [[3.0]]).round(4).tolist()
    [[2.2073]]
    """

    def _combined(self, *parts: Array) -> Array:
        return parts[0] * parts[1]

    def _factors(self, *parts: Array) -> tuple[Any, ...]:
        return parts[1], parts[0]

    def __repr__(self) -> str:
        """Write it with a multiplication sign."""
        return f"{operand_written(self.k1, (Sum,))} * {operand_written(self.k2, (Sum, Product, Scaled))}"


class Scaled(Elementwise):
    r"""A multiple of a kernel, :math:`k(x, z) = s \, k_1(x, z)`; write ``s * k1``.

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

    def _combined(self, *parts: Array) -> Array:
        return self.scale * parts[0]

    def _factors(self, *parts: Array) -> tuple[Any, ...]:
        return (self.scale,)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield K, then s dK1."""
        (kernel,) = self._kernels()
        if self._free():
            yield K
        for slope in kernel.derivatives(X, Y, K / self.scale):
            yield self.scale * slope

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield those of k(x, x) likewise."""
        if self._free():
            yield self.diagonal(X)
        yield from super().diagonal_derivatives(X)

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


class Power(Elementwise):
    r"""A power of a kernel, :math:`k(x, z) = k_1(x, z)^p`; write ``k1 ** p``.

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

    def _combined(self, *parts: Array) -> Array:
        return parts[0] ** self.exponent

    def _factors(self, *parts: Array) -> tuple[Any, ...]:
        return (self.exponent * parts[0] ** (self.exponent - 1),)

    def _require_numbers(self) -> None:
        super()._require_numbers()
        if not is_whole(self.exponent, 1):
            raise ValueError(f"exponent of Power is {self.exponent!r}; it must be a whole number of at least 1.")

    def __repr__(self) -> str:
        """Write it with two stars."""
        return f"{operand_written(self.kernel, (Sum, Product, Scaled, Power))} ** {value_written(self.exponent)}"

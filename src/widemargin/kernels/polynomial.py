"""Kernels of dot products: linear and polynomial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from widemargin.kernels.base import WIDE, Bounds, CoreKernel, Matrix, Vector, require_positive
from widemargin.kernels.rows import LARGEST_DEGREE, KernelParameters, kernel_matrix
from widemargin.kernels.spread import scale_gamma
from widemargin.runtime.checks import is_whole


def squared_norms(X: Any) -> Vector:
    """<x, x> for the samples `X`."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


class Linear(CoreKernel):
    r"""The linear kernel, :math:`k(x, z) = \langle x, z \rangle`; it has no parameters.

    A block of n x m values costs n m d multiplications.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    core_name: ClassVar[str | None] = "linear"

    def __init__(self) -> None:
        pass

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes."""
        return KernelParameters("linear")

    def diagonal(self, X: Any) -> Vector:
        """<x, x> for the samples `X`."""
        return squared_norms(X)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield nothing: there are no parameters."""
        return iter(())


class Polynomial(CoreKernel):
    r"""The polynomial kernel, :math:`k(x, z) = (\gamma \langle x, z \rangle + c_0)^p`.

    :math:`\gamma` and :math:`c_0` are searched by their logarithms, in this order; the degree p is fixed, unless a
    search is told its range, and so is :math:`c_0 = 0`, which has no logarithm. k(x, x) is not 1; use ``normalized(k)``
    for objectives that need that.

    A block of n x m values costs n m d multiplications and n m powers; its derivatives as much again.

    Parameters
    ----------
    degree : int, default=3
        p, at least 1.
    gamma : float, default=None
        Factor of the dot product. None takes it from the data, 1 / (n_features * X.var()).
    coef0 : float, default=1.0
        :math:`c_0`, at least 0.
    gamma_bounds, coef0_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Ranges to search in.

    Examples
    --------
    >>> from widemargin.kernels import Polynomial
    >>> k = Polynomial(degree=2, gamma=1.0)
    >>> k([[1.0, 2.0]], [[3.0, 4.0]]).tolist(), k.theta.tolist()
    ([[144.0]], [0.0, 0.0])
    """

    _from_data: ClassVar[tuple[str, ...]] = ("gamma",)
    core_name: ClassVar[str | None] = "poly"
    whole: ClassVar[tuple[str, ...]] = ("degree",)

    def __init__(
        self,
        degree: int = 3,
        gamma: float | None = None,
        coef0: float = 1.0,
        gamma_bounds: Bounds = WIDE,
        coef0_bounds: Bounds = WIDE,
    ) -> None:
        self.degree = degree
        self.gamma: Any = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds
        self.coef0_bounds = coef0_bounds

    @property
    def _positive(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("gamma", "coef0") if self.coef0 != 0 else ("gamma",)

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes."""
        self._require_given()
        return KernelParameters("poly", float(self.gamma), float(self.coef0), int(self.degree))

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.gamma is None:  # `gamma` is for kernels of distances
            self.gamma = scale_gamma(X, weights)

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the samples `X`."""
        return np.asarray((self.gamma * squared_norms(X) + self.coef0) ** self.degree)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield p (gamma <x, z> + c0)^(p - 1) times gamma <x, z>, then times c0."""
        if not self.n_dims:
            return iter(())
        products = kernel_matrix(X, None if X is Y else Y, kernel="linear", dtype="float64")
        return self._slopes(self.gamma * products)

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield the derivatives of k(x, x) in the same way."""
        return self._slopes(self.gamma * squared_norms(X))

    def _slopes(self, scaled: Matrix) -> Iterator[Matrix]:
        """Yield derivatives, from gamma times dot products."""
        slope = self.degree * (scaled + self.coef0) ** (self.degree - 1)
        for name in self._free():
            yield slope * (scaled if name == "gamma" else self.coef0)

    def _require_numbers(self) -> None:
        super()._require_numbers()
        if self.coef0 != 0:
            require_positive("Polynomial", "coef0", self.coef0)
        if not is_whole(self.degree, 1) or self.degree > LARGEST_DEGREE:
            raise ValueError(
                f"degree of Polynomial is {self.degree!r}; it must be a whole number from 1 to {LARGEST_DEGREE}."
            )

"""Kernels scaled to k(x, x) = 1.

With s_x = sqrt(k(x, x)) and k~ = k / (s_x s_z),
dk~ = dk / (s_x s_z) - k~ / 2 (dk(x, x) / k(x, x) + dk(z, z) / k(z, z)).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.algebra import Composite
from widemargin.kernels.base import Matrix, Vector


def normalized(kernel: Any) -> Normalized:
    """Return :class:`Normalized` of a kernel.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> from widemargin.kernels.normalized import normalized
    >>> normalized(Linear())([[1.0, 0.0]], [[2.0, 2.0]]).round(4).tolist()
    [[0.7071]]
    """
    return Normalized(kernel)


class Normalized(Composite):
    r"""A kernel scaled to k(x, x) = 1, :math:`\tilde k(x, z) = k(x, z) / \sqrt{k(x, x) k(z, z)}`.

    It is the cosine of the angle between two samples in the feature space of k. A sample with k(x, x) = 0 has no
    angle: all its values are 0.

    Values cost those of the kernel, and n m multiplications for a block of n x m; derivatives those of the kernel and
    its diagonal.

    Parameters
    ----------
    kernel : kernel
        One of this package or of ``sklearn.gaussian_process.kernels``.

    Examples
    --------
    >>> from widemargin.kernels import Normalized, Polynomial
    >>> Normalized(Polynomial(degree=2, gamma=1.0))([[0.0], [1.0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    _inner: ClassVar[tuple[str, ...]] = ("kernel",)

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def values(self, X: Any, Y: Any) -> Matrix:
        """Divide the values by the roots of k(x, x) and k(z, z)."""
        (kernel,) = self._kernels()
        left = _inverse(np.sqrt(kernel.diagonal(X)))
        right = left if X is Y else _inverse(np.sqrt(kernel.diagonal(Y)))
        K = kernel.values(X, Y)
        K *= left[:, np.newaxis]
        K *= right
        return K

    def diagonal(self, X: Any) -> Vector:
        """Return 1 for every sample, 0 where k(x, x) is 0."""
        (kernel,) = self._kernels()
        return (kernel.diagonal(X) > 0.0).astype(np.float64)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivatives, by the formula above."""
        (kernel,) = self._kernels()
        left, right = kernel.diagonal(X), kernel.diagonal(Y)
        roots = np.sqrt(left)[:, np.newaxis] * np.sqrt(right)
        slopes = kernel.derivatives(X, Y, K * roots)
        ends = zip(kernel.diagonal_derivatives(X), kernel.diagonal_derivatives(Y), strict=True)
        for slope, (begin, end) in zip(slopes, ends, strict=True):
            relative = (begin * _inverse(left))[:, np.newaxis] + end * _inverse(right)
            yield slope * _inverse(roots) - 0.5 * K * relative

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W / (s_x s_z), dK> less half of what the two diagonals take back from W * K~."""
        (kernel,) = self._kernels()
        left, right = kernel.diagonal(X), kernel.diagonal(Y)
        roots = np.sqrt(left)[:, np.newaxis] * np.sqrt(right)
        V = W * K
        straight = kernel.pull_back(W * _inverse(roots), X, Y, K * roots)
        rows = kernel.pull_back_diagonal(V.sum(axis=1) * _inverse(left), X)
        columns = kernel.pull_back_diagonal(V.sum(axis=0) * _inverse(right), Y)
        return straight - 0.5 * (rows + columns)

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield 0, since k(x, x) is constant."""
        return iter(np.zeros((self.n_dims, len(self.diagonal(X)))))


def _inverse(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / numbers, 0 where they are 0."""
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0.0)

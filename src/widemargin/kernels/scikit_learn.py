"""Kernels from elsewhere: those of scikit-learn's Gaussian processes, and kernels by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels.algebra import Power, Product, Sum, bare
from widemargin.kernels.base import Kernel, Matrix, Vector, require_instance, written
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.polynomial import Linear, Polynomial
from widemargin.kernels.rows import KernelParameters, count, take

#: Numbers in a tensor of derivatives that is made at once.
TENSOR_ENTRIES = 2**20


def as_kernel(kernel: Any, *, gamma: float | None = None, coef0: float = 0.0, degree: int = 3) -> Kernel:
    """Return a kernel object for a kernel of any form.

    Kernels of this package are returned untouched. Sums, products and powers of scikit-learn's kernels become those of
    this package, its other kernels one that holds them.

    Parameters
    ----------
    kernel : kernel or {"linear", "poly", "rbf"}
        One of this package, one of ``sklearn.gaussian_process.kernels``, or a name.
    gamma, coef0, degree
        Numbers for a kernel by name; a `gamma` of None is left to the data. A `coef0` of 0 stays 0.

    Raises
    ------
    TypeError
        If it is not a kernel.
    ValueError
        If it is one without the properties that models need, or has an unknown name.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from widemargin.kernels.scikit_learn import as_kernel
    >>> as_kernel("poly", gamma=0.5, degree=2)
    Polynomial(degree=2, gamma=0.5, coef0=0.0)
    >>> as_kernel(RBF(2.0))([[0.0]], [[2.0]]).round(4).tolist()
    [[0.6065]]
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel == "rbf":
            return Gaussian(gamma)
        if kernel == "linear":
            return Linear()
        if kernel == "poly":
            return Polynomial(degree, gamma, coef0)
        raise ValueError(f"kernel={kernel!r} has no kernel object, unlike 'linear', 'poly' and 'rbf'.")
    require_instance("kernel", kernel)
    if not isinstance(kernel, theirs.Kernel):
        raise TypeError(
            f"{kernel!r} is not a kernel; pass one of widemargin.kernels or sklearn.gaussian_process.kernels, or "
            "'linear', 'poly' or 'rbf'."
        )
    if type(kernel) is theirs.Sum:
        return Sum(bare(kernel.k1), bare(kernel.k2))
    if type(kernel) is theirs.Product:
        return Product(bare(kernel.k1), bare(kernel.k2))
    if type(kernel) is theirs.Exponentiation:
        return Power(bare(kernel.kernel), kernel.exponent)
    if isinstance(kernel, theirs.WhiteKernel | theirs.CompoundKernel):
        raise ValueError(f"{kernel!r} is not a function of two samples, as a model needs.")
    return ScikitLearnKernel(kernel)


class ScikitLearnKernel(Kernel):
    """A kernel of scikit-learn's Gaussian processes, with what models and objectives here ask of one.

    `theta` and `bounds` are its own. Its gradient exists for one set of samples only, as a tensor: derivatives between
    two sets are the part of it between them, computed for both stacked, in blocks of bounded size. That is at least
    four times the work of a kernel of this package, and as many times that as there are parameters. Sparse samples
    become dense. It prints as the kernel that it holds.

    Parameters
    ----------
    kernel : Kernel
        Of ``sklearn.gaussian_process.kernels``, or a subclass of ``Kernel`` from there.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from widemargin.kernels.scikit_learn import as_kernel
    >>> k = as_kernel(Matern(nu=1.5))
    >>> X = np.array([[0.0], [1.0]])
    >>> k.pull_back(np.ones((2, 2)), X, X, k.values(X, X)).round(4).tolist()
    [1.0615]
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the samples `X` and `Y`."""
        return np.asarray(self.kernel(_dense(X), None if X is Y else _dense(Y)), dtype=np.float64)

    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the samples `X`."""
        return np.asarray(self.kernel.diag(_dense(X)), dtype=np.float64)

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivatives, gathered from tensors of blocks."""
        gathered = np.empty((self.n_dims, *K.shape))
        for rows, columns, tensor in self._tensors(X, Y):
            gathered[:, rows, columns] = np.moveaxis(tensor, 2, 0)
        return iter(gathered)

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield the derivatives of k(x, x), one by one unless all samples have the same."""
        found = np.empty((self.n_dims, count(X)))
        for row in range(1 if self.kernel.is_stationary() else count(X)):
            found[:, row:] = self.kernel(_dense(take(X, np.array([row]))), eval_gradient=True)[1][0, 0][:, np.newaxis]
        return iter(found)

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block, tensor by tensor."""
        total = np.zeros(self.n_dims)
        for rows, columns, tensor in self._tensors(X, Y):
            total += np.tensordot(W[rows, columns], tensor, axes=2)
        return total

    def _tensors(self, X: Any, Y: Any) -> Iterator[tuple[slice, slice, Matrix]]:
        """Yield derivatives between some samples of `X` and some of `Y`, shape (rows, columns, n_dims)."""
        n_dims, n, m = self.n_dims, count(X), count(Y)
        if not n_dims:
            return
        edge = max(1, int(np.sqrt(TENSOR_ENTRIES / n_dims)) // 2)
        for top in range(0, n, edge):
            rows = slice(top, min(top + edge, n))
            above = _dense(take(X, np.arange(n)[rows]))
            for begin in range(0, m, edge):
                columns = slice(begin, min(begin + edge, m))
                beside = _dense(take(Y, np.arange(m)[columns]))
                both = [*above, *beside] if not self.requires_vector_input else np.vstack([above, beside])
                tensor = self.kernel(both, eval_gradient=True)[1]
                yield rows, columns, tensor[: count(above), count(above) :]

    _map_parameters: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def core_name(self) -> str | None:  # type: ignore[override]
        """The core computes ``RBF`` itself."""
        return "rbf" if type(self.kernel) is theirs.RBF else None

    @property
    def core_kernel(self) -> KernelParameters | None:
        """A Gaussian on scaled samples, for ``RBF`` itself; other kernels are computed by scikit-learn."""
        return None if self.core_name is None else KernelParameters(self.core_name, 0.5)

    @property
    def linear_map(self) -> Matrix | None:
        """One over the length scales, for ``RBF``."""
        if self.core_name is None:
            return None
        return 1.0 / np.asarray(self.kernel.length_scale, dtype=np.float64)

    def is_stationary(self) -> bool:
        """Whether values depend on differences of samples only."""
        return bool(self.kernel.is_stationary())

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples have to be vectors."""
        return bool(self.kernel.requires_vector_input)

    @property
    def hyperparameters(self) -> list[Any]:
        """Searchable parameters as scikit-learn describes them."""
        return list(self.kernel.hyperparameters)

    @property
    def n_dims(self) -> int:
        """How many numbers `theta` holds."""
        return int(self.kernel.n_dims)

    @property
    def theta(self) -> Vector:
        """Free parameters on an unconstrained scale."""
        return np.asarray(self.kernel.theta, dtype=np.float64)

    @theta.setter
    def theta(self, theta: Vector) -> None:
        self.kernel = self.kernel.clone_with_theta(self._checked_theta(theta))

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        return np.asarray(self.kernel.bounds, dtype=np.float64).reshape(-1, 2)

    def __repr__(self) -> str:
        """Write the kernel of scikit-learn."""
        return written(self.kernel)


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X

"""What kernel objects have in common: parameters on an unconstrained scale, values, and derivatives in blocks.

A kernel object follows the habits of scikit-learn's Gaussian-process kernels, and is one: `theta` holds its free
parameters on a scale without bounds (mostly their logarithms), `bounds` the range to search in, ``k1 + k2`` and ``k1 *
k2`` combine, and ``clone_with_theta`` makes the same kernel with other numbers. What it adds is the pull-back: an
objective says how much every kernel value matters, W, and the kernel answers with <W, dK/dtheta>, without storing dK.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from inspect import signature
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from widemargin.kernels.matrix import kernel_matrix
from widemargin.kernels.rows import KernelParameters

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Range of a positive parameter, unless told otherwise.
WIDE = (1e-8, 1e8)


class Kernel(GaussianProcessKernel):  # type: ignore[misc]
    """A kernel with parameters, their derivatives, and an algebra.

    A subclass stores its parameters in ``__init__``, declares the free ones as scikit-learn's kernels do (properties
    ``hyperparameter_...``), and writes :meth:`values`, :meth:`diagonal` and :meth:`derivatives`; :meth:`pull_back` if
    it knows a faster way. A parameter that is None is left to the data: :meth:`fitted` gives it a number.
    """

    #: Parameters that may be None.
    _from_data: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the rows of `X` and those of `Y`, in float64."""

    @abstractmethod
    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the rows of `X`."""

    @abstractmethod
    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Give the derivatives of a block `K` of kernel values, one after the other, in the order of `theta`."""

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Give the derivatives of :meth:`diagonal`; 0 for kernels with k(x, x) = 1, which need not write this."""
        return iter(np.zeros((self.n_dims, X.shape[0])))

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block: the sum of the derivatives, weighted by `W`, for each free parameter.

        Parameters
        ----------
        W : ndarray of shape (n, m)
            How much each kernel value matters.
        X, Y : n and m examples
        K : ndarray of shape (n, m)
            Their kernel values, as :meth:`values` gives them.
        """
        return np.array([np.vdot(W, one) for one in self.derivatives(X, Y, K)], dtype=np.float64)

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Sum of the derivatives of k(x, x), weighted by `w`."""
        return np.array([np.vdot(w, one) for one in self.diagonal_derivatives(X)], dtype=np.float64)

    def fitted(self, X: Any, *, gamma: float | None = None, weights: Vector | None = None) -> Self:
        """Return this kernel with numbers for the parameters that were left to the data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The examples.
        gamma : float, optional
            Coefficient of squared distances to take for kernels of distances; 1 / (d times variance of X) otherwise.
        weights : ndarray of shape (n,), optional
            How often each example counts.
        """
        return cast(Self, clone(self))

    #: How far `theta` moves where the logarithm of a coefficient of squared distances moves by 1.
    theta_per_log_gamma: ClassVar[float] = 1.0

    def typical(self, X: Any, *, gamma: float, weights: Vector | None = None) -> Self:
        """Return this kernel with what the data suggest in place of its numbers, as :meth:`fitted` does for None."""
        return self._emptied().fitted(X, gamma=gamma, weights=weights)

    def _emptied(self) -> Self:
        """Return this kernel as if all that can be left to the data were."""
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if isinstance(value, Kernel):
                parameters[name] = value._emptied()
            elif name in self._from_data:
                parameters[name] = None
        return type(self)(**parameters)

    @property
    def core_kernel(self) -> KernelParameters | None:
        """The kernel that the core computes on :meth:`mapped` examples, or None if it has no such form."""
        return None

    def mapped(self, X: Any) -> Any:
        """Examples as the core's kernel takes them."""
        return X

    def is_stationary(self) -> bool:
        """Whether values depend on differences of examples only."""
        return False

    def diag(self, X: Any) -> Vector:
        """Return k(x, x) for the rows of `X`, as scikit-learn's kernels do."""
        return self.diagonal(as_examples(X))

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values between `X` and `Y` (itself if None), and their derivatives if asked for.

        Parameters
        ----------
        X, Y : array or sparse matrix of shape (n, d) and (m, d)
        eval_gradient : bool, default=False
            Also return the derivatives, shape (n, n, n_dims); only without `Y`.

        Returns
        -------
        ndarray of shape (n, m), or a pair of these
        """
        self._require_numbers()
        left = as_examples(X)
        right = left if Y is None else as_examples(Y)
        K = self.values(left, right)
        if not eval_gradient:
            return K
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        stacked = [np.array(one) for one in self.derivatives(left, right, K)]
        return K, np.stack(stacked, axis=2) if stacked else np.empty((*K.shape, 0))

    @property
    def theta(self) -> Vector:
        """Free parameters on an unconstrained scale."""
        self._require_numbers()
        return np.asarray(GaussianProcessKernel.theta.fget(self), dtype=np.float64)

    @theta.setter
    def theta(self, theta: Vector) -> None:
        GaussianProcessKernel.theta.fset(self, np.asarray(theta, dtype=np.float64))

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        self._require_numbers()
        return np.asarray(GaussianProcessKernel.bounds.fget(self), dtype=np.float64).reshape(-1, 2)

    def _missing(self) -> list[str]:
        """Parameters that have no number yet."""
        return [name for name in self._from_data if getattr(self, name) is None]

    def _require_numbers(self) -> None:
        missing = self._missing()
        if missing:
            raise ValueError(
                f"{self!r} has no {missing[0]} yet; pass a number, or call fitted(X) to take it from the data."
            )

    def __repr__(self) -> str:
        """Write the kernel as it would be written in a program."""
        defaults = signature(type(self).__init__).parameters
        given = [
            f"{name}={_written(value)}"
            for name, value in self.get_params(deep=False).items()
            if not _same(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class CoreKernel(Kernel):
    """A kernel whose values the core computes, on examples that pass through a linear map first."""

    @property
    @abstractmethod
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes."""

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the rows of `X` and those of `Y`, in float64."""
        core = self.core_kernel
        same = X is Y
        left = self.mapped(X)
        return kernel_matrix(
            left,
            None if same else self.mapped(Y),
            kernel=cast(str, core.kernel),
            gamma=core.gamma,
            coef0=core.coef0,
            degree=core.degree,
            dtype="float64",
        )


def as_examples(X: Any) -> Any:
    """Return numbers as the core takes them: float64, C-ordered, or CSR."""
    if sp.issparse(X):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(np.atleast_2d(X), dtype=np.float64)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(np.asarray(one, dtype=object), np.asarray(other, dtype=object)))
    return bool(one is other or (type(one) is type(other) and one == other))


def _written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value.item() if isinstance(value, np.generic) else value)

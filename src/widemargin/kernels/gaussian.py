"""Gaussian kernels with one width, and with one width per feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from widemargin.kernels.base import WIDE, Bounds, CoreKernel, Matrix, Vector
from widemargin.kernels.rows import KernelParameters
from widemargin.kernels.spread import scale_gamma


def k_log_k(K: Matrix) -> Matrix:
    """Return K log K, the derivative of exp(-exp(theta) distance), 0 where K has vanished.

    Examples
    --------
    >>> k_log_k(np.array([1.0, 0.5, 0.0])).round(4).tolist()
    [0.0, -0.3466, -0.0]
    """
    found = np.maximum(K, np.finfo(np.float64).tiny)
    np.log(found, out=found)
    found *= K
    return found


class DistanceKernel(CoreKernel):
    """A kernel of the form exp(-distance)."""

    core_name: ClassVar[str | None] = "rbf"

    def diagonal(self, X: Any) -> Vector:
        """Return 1 for every sample."""
        return np.ones(X.shape[0])

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivative by the logarithm of a factor of the distance: k log k."""
        if self.n_dims:
            yield k_log_k(K)

    def is_stationary(self) -> bool:
        """Values depend on differences only."""
        return True


class Gaussian(DistanceKernel):
    r"""The Gaussian kernel of one width, :math:`k(x, z) = \exp(-\gamma \|x - z\|^2)` [Glasmachers2008, eq. 2.1].

    Its parameter is searched as :math:`\theta = \log\gamma`. A block of n x m values costs n m d multiplications and
    n m exponentials; its derivative n m logarithms.

    Parameters
    ----------
    gamma : float, default=None
        Coefficient of the squared distance. None takes it from the data: a search begins with Jaakkola's heuristic, a
        model without a search takes 1 / (n_features * X.var()).
    gamma_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> k = Gaussian(gamma=0.5)
    >>> k, k.theta.round(4).tolist()
    (Gaussian(gamma=0.5), [-0.6931])
    >>> k([[0.0], [2.0]]).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """

    _from_data: ClassVar[tuple[str, ...]] = ("gamma",)
    _positive: ClassVar[tuple[str, ...]] = ("gamma",)

    def __init__(self, gamma: float | None = None, gamma_bounds: Bounds = WIDE) -> None:
        self.gamma: Any = gamma
        self.gamma_bounds = gamma_bounds

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes."""
        self._require_given()
        return KernelParameters("rbf", float(self.gamma))

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block."""
        return np.array([np.vdot(W, k_log_k(K))]) if self._free() else np.empty(0)

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.gamma is None:
            self.gamma = scale_gamma(X, weights) if gamma is None else float(gamma)


class DiagonalGaussian(DistanceKernel):
    r"""The Gaussian kernel with one width per feature, :math:`k(x, z) = \exp(-\sum_k \gamma_k (x_k - z_k)^2)`.

    It scales every feature separately, and so ranks them: a small :math:`\gamma_k` ignores feature k
    [Glasmachers2008, section 2.1.3]. Parameters are searched as :math:`\theta_k = \log\gamma_k`. A block of n x m
    values costs n m d multiplications and n m exponentials; all d derivatives together as many multiplications again.

    Parameters
    ----------
    gammas : sequence of floats or float, default=None
        Coefficient of each squared difference; one number stands for all of them. None takes it from the data, the
        same for all features: a search begins with Jaakkola's heuristic, a model without a search takes
        1 / (n_features * X.var()).
    gammas_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import DiagonalGaussian
    >>> k = DiagonalGaussian(gammas=[1.0, 0.25])
    >>> k([[0.0, 0.0]], [[1.0, 2.0]]).round(4).tolist()
    [[0.1353]]
    >>> DiagonalGaussian()
    DiagonalGaussian()
    """

    _from_data: ClassVar[tuple[str, ...]] = ("gammas",)
    _positive: ClassVar[tuple[str, ...]] = ("gammas",)
    _map_parameters: ClassVar[tuple[str, ...]] = ("gammas",)

    def __init__(self, gammas: Any = None, gammas_bounds: Bounds = WIDE) -> None:
        self.gammas = gammas
        self.gammas_bounds = gammas_bounds

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes on scaled features."""
        return KernelParameters("rbf", 1.0)

    @property
    def linear_map(self) -> Matrix:
        """The root of every coefficient."""
        self._require_given()
        return np.sqrt(np.asarray(self.gammas, dtype=np.float64))

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        given = self.gammas
        if given is None:
            given = scale_gamma(X, weights) if gamma is None else gamma
        if np.size(given) not in (1, X.shape[1]):
            raise ValueError(
                f"gammas holds {np.size(given)} numbers, but X has {X.shape[1]} features; one per feature is needed."
            )
        self.gammas = np.broadcast_to(np.asarray(given, dtype=np.float64), (X.shape[1],)).copy()

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """-gamma_k (x_k - z_k)^2 k(x, z), one feature after the other; their sum if all share one coefficient."""
        if not self._free():
            return
        if np.size(self.gammas) == 1:
            yield from super().derivatives(X, Y, K)
            return
        left, right = (part.toarray() if sp.issparse(part) else part for part in (X, Y))
        for k, gamma in enumerate(np.asarray(self.gammas, dtype=np.float64)):
            yield -gamma * np.square(left[:, k, np.newaxis] - right[np.newaxis, :, k]) * K

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block, all features by one product of W * K with the samples."""
        if not self._free():
            return np.empty(0)
        each = -np.asarray(self.gammas, dtype=np.float64) * diagonal_moments(W * K, X, Y)
        return np.array([each.sum()]) if np.size(self.gammas) == 1 else each


class MaskedGaussian(DistanceKernel):
    r"""The Gaussian kernel of a subset of the features, :math:`k(x, z) = \exp(-\gamma \sum_k \beta_k (x_k - z_k)^2)`.

    The mask :math:`\beta` of zeros and ones selects the features [Lebrun2006, section 3, where :math:`\gamma` is
    :math:`1 / \sigma^2`]; it is not searched by gradients. Other parameters, and costs, are those of
    :class:`Gaussian`.

    Parameters
    ----------
    features : sequence of bool, default=None
        The mask, with at least one feature. None takes all of them.
    gamma : float, default=None
        Coefficient of the squared distance. None takes it from the data: a search begins with Jaakkola's heuristic, a
        model without a search takes 1 / (n_features * X.var()) of the features that are selected.
    gamma_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import MaskedGaussian
    >>> MaskedGaussian([True, False], gamma=0.5)([[0.0, 5.0]], [[2.0, 7.0]]).round(4).tolist()
    [[0.1353]]
    """

    _from_data: ClassVar[tuple[str, ...]] = ("features", "gamma")
    _positive: ClassVar[tuple[str, ...]] = ("gamma",)
    _map_parameters: ClassVar[tuple[str, ...]] = ("features",)

    def __init__(self, features: Any = None, gamma: float | None = None, gamma_bounds: Bounds = WIDE) -> None:
        self.features = features
        self.gamma: Any = gamma
        self.gamma_bounds = gamma_bounds

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes on masked features."""
        self._require_given()
        return KernelParameters("rbf", float(self.gamma))

    @property
    def linear_map(self) -> Matrix:
        """The mask, as factors of the features."""
        self._require_given()
        return self._mask()

    def _mask(self) -> Vector:
        try:
            mask = np.asarray(self.features, dtype=np.float64)
        except (TypeError, ValueError):
            mask = np.empty(0)
        if mask.ndim != 1 or not np.isin(mask, (0.0, 1.0)).all() or not mask.any():
            raise ValueError(
                f"features of MaskedGaussian is {self.features!r}; it must hold True or False for each feature, and "
                "True for one at least."
            )
        return mask

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block."""
        return np.array([np.vdot(W, k_log_k(K))]) if self._free() else np.empty(0)

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.features is None:
            self.features = np.ones(X.shape[1], dtype=np.bool_)
        mask = self._mask()
        if len(mask) != X.shape[1]:
            raise ValueError(
                f"features of MaskedGaussian holds {len(mask)} entries, but X has {X.shape[1]} features; one per "
                "feature is needed."
            )
        if self.gamma is None:
            self.gamma = scale_gamma(X[:, np.flatnonzero(mask)], weights) if gamma is None else float(gamma)


# Derivatives of Gaussian kernels are weighted squared differences between two sets of samples,
# sum_ij V_ij (x_i - z_j)(x_i - z_j)' = X' diag(V 1) X + Z' diag(V' 1) Z - X' V Z - Z' V' X:
# one product with V serves all parameters of a metric.


def diagonal_moments(V: Matrix, X: Any, Z: Any) -> Vector:
    """Sum of V_ij (x_ik - z_jk)^2 over i and j, for every feature k; n m d multiplications."""
    X, Z = _centred(X, Z)
    rows, columns = V.sum(axis=1), V.sum(axis=0)
    if sp.issparse(X):
        squares = X.multiply(X).T @ rows + Z.multiply(Z).T @ columns
        mixed = np.asarray(X.multiply(sp.csr_array(V @ Z)).sum(axis=0)).ravel()
        return np.asarray(squares - 2.0 * mixed)
    squares = rows @ np.square(X) + columns @ np.square(Z)
    return np.asarray(squares - 2.0 * np.einsum("ik,ik->k", X, V @ Z))


def full_moments(V: Matrix, X: Any, Z: Any) -> Matrix:
    """Sum of V_ij (x_i - z_j)(x_i - z_j)' over i and j, shape (d, d); n m d multiplications and n d^2 more."""
    X, Z = (part.toarray() if sp.issparse(part) else part for part in _centred(X, Z))
    mixed = X.T @ (V @ Z)
    return np.asarray((X.T * V.sum(axis=1)) @ X + (Z.T * V.sum(axis=0)) @ Z - mixed - mixed.T)


def _centred(X: Any, Z: Any) -> tuple[Any, Any]:
    """Centre both sets, so that squares of large means need not cancel; sparse ones are left alone."""
    if sp.issparse(X) or sp.issparse(Z):
        return sp.csr_array(X), sp.csr_array(Z)
    middle = Z.mean(axis=0)
    moved = Z - middle
    return moved if X is Z else X - middle, moved

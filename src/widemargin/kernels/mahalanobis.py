"""The Mahalanobis kernel: distances in units of the covariance of the training data [Abe2007, eq. 5 and 6]."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from widemargin.kernels.base import WIDE, Bounds, Matrix, Vector
from widemargin.kernels.gaussian import DistanceKernel
from widemargin.kernels.rows import KernelParameters
from widemargin.kernels.spread import column_variances, covariance

#: Directions whose variance, after every feature is scaled to variance 1, is below this share of the largest count as
#: directions without any.
NO_VARIANCE = 1e-12


class Mahalanobis(DistanceKernel):
    r"""The kernel of Mahalanobis distances, :math:`k(x, z) = \exp(-\frac{\delta}{m} (x - z)' Q^{-1} (x - z))`.

    Q is the covariance of the training data, or its diagonal, and m the number of features [Abe2007, eq. 5 and 6]: it
    says what is far in each direction, and one number, :math:`\delta`, how fast similarity decays. It is searched as
    :math:`\theta = \log\delta`; values around 1 are usual.

    The covariance has the divisor n. Samples count by their weights. A constant feature has no scale: it is
    ignored, also in new samples, as if its entry in :math:`Q^{-1}` were 0. With a full covariance, the same holds for
    directions in which the data do not vary (more features than samples, features that are sums of others). m counts
    all features.

    A block of n x m values costs n m d multiplications and n m exponentials, and with a full covariance (n + m) d^2
    for the map; its derivative n m logarithms. The covariance costs n d operations, n d^2 and d^3 if it is full.

    Parameters
    ----------
    delta : float, default=1.0
        Scale of the distances.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether features are scaled one by one, or all directions of the data.
    matrix : array of shape (d,) or (d, d), default=None
        Q: the variances of the features as a vector, or the full covariance. None takes it from the data.
    delta_bounds : pair of floats or "fixed", default=(1e-8, 1e8)
        Range to search in.

    Examples
    --------
    >>> from widemargin.kernels import Mahalanobis
    >>> X = np.array([[0.0, 0.0], [2.0, 200.0], [4.0, 100.0]])
    >>> k = Mahalanobis(delta=0.5).fitted(X)
    >>> k.matrix.round(4).tolist()
    [2.6667, 6666.6667]
    >>> k(X).round(4)[0].tolist()
    [1.0, 0.1534, 0.1534]
    """

    _from_data: ClassVar[tuple[str, ...]] = ("matrix",)
    _positive: ClassVar[tuple[str, ...]] = ("delta",)
    _map_parameters: ClassVar[tuple[str, ...]] = ("covariance", "matrix")

    def __init__(
        self,
        delta: float = 1.0,
        covariance: str = "diagonal",
        matrix: Any = None,
        delta_bounds: Bounds = WIDE,
    ) -> None:
        self.delta = delta
        self.covariance = covariance
        self.matrix = matrix
        self.delta_bounds = delta_bounds

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes on scaled samples; delta is part of it, so all deltas share the samples."""
        self._require_given()
        return KernelParameters("rbf", float(self.delta) / len(self.matrix))

    @property
    def linear_map(self) -> Matrix:
        """Root of the inverse of Q: a factor for each feature, or a matrix R with R R' = Q^-1."""
        self._require_given()
        Q = np.asarray(self.matrix, dtype=np.float64)
        known: tuple[Matrix, Matrix] | None = self.__dict__.get("_known_root")
        if known is None or not np.array_equal(known[0], Q):
            known = self._known_root = Q.copy(), _inverse_root(Q)
        return known[1]

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.matrix is None:
            self._require_kind()
            self.matrix = (column_variances if self.covariance == "diagonal" else covariance)(X, weights)
        elif len(self.matrix) != X.shape[1]:
            raise ValueError(f"matrix is for {len(self.matrix)} features, but X has {X.shape[1]}.")

    def _require_kind(self) -> None:
        if self.covariance not in ("diagonal", "full"):
            raise ValueError(f"covariance is {self.covariance!r}; it must be 'diagonal' or 'full'.")

    def _require_numbers(self) -> None:
        super()._require_numbers()
        self._require_kind()
        Q = np.asarray(self.matrix, dtype=np.float64)
        wanted = (len(Q),) if self.covariance == "diagonal" else (len(Q), len(Q))
        variances = Q if Q.ndim == 1 else np.diagonal(Q) if Q.ndim == 2 else np.empty(0)
        if Q.shape != wanted or not np.isfinite(Q).all() or (variances < 0.0).any():
            raise ValueError(
                f"matrix of shape {Q.shape} is not a valid covariance for covariance={self.covariance!r}; it "
                f"must be finite, of shape {wanted}, with variances of at least 0."
            )


def _inverse_root(Q: Matrix) -> Matrix:
    scales = np.sqrt(Q if Q.ndim == 1 else np.diagonal(Q))
    factors = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0.0)
    if Q.ndim == 1:
        return factors
    variances, directions = np.linalg.eigh(Q * factors * factors[:, np.newaxis])
    present = variances > NO_VARIANCE * max(variances[-1], 0.0)
    if not present.any():
        return np.zeros((len(Q), 1))
    return np.asarray(factors[:, np.newaxis] * directions[:, present] / np.sqrt(variances[present]))

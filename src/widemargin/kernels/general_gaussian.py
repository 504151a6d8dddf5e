"""The Gaussian kernel of any symmetric metric, in one chart of all of them [Glasmachers2008, section 10.1].

With B = exp(A) and Q = B^2 = exp(2 A), k(x, z) = exp(-(x - z)' Q (x - z) / 2), so that
dk = -k (x - z)' dQ (x - z) / 2 and <W, dK> = -<dQ, M> / 2 with M the moments of W * K. In the eigenvectors U of A,
dQ = U (F * (U' dA U)) U', where F holds the divided differences of exp(2 a) at pairs of eigenvalues (Daleckii and
Krein). F is symmetric, and so the same formula takes M back: <W, dK> = <dA, G> with G = -U (F * (U' M U)) U' / 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import helmert
from sklearn.gaussian_process.kernels import Hyperparameter

from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.gaussian import DistanceKernel, full_moments
from widemargin.kernels.rows import KernelParameters
from widemargin.kernels.spread import scale_gamma

#: Parts of a metric, in the order of `theta`.
PARTS = ("size", "shape", "orientation")

#: What an entry above the diagonal counts, which stands for that below as well.
ROOT = math.sqrt(2.0)

#: How far a matrix may be from a symmetric one, relative to its largest entry.
ASYMMETRY = 1e-8


class _Spectrum(NamedTuple):
    """A matrix B, and the eigenvalues and eigenvectors of A = log B."""

    matrix: Matrix
    exponents: Vector
    vectors: Matrix

    @classmethod
    def of(cls, matrix: Matrix) -> _Spectrum:
        """Decompose B, or refuse what is not symmetric and positive definite."""
        finite = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0 and np.isfinite(matrix).all()
        if not finite or np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
            raise ValueError("matrix must be a square, symmetric array of finite numbers.")
        scales, vectors = np.linalg.eigh(matrix)
        if scales[0] <= 0.0:
            raise ValueError(f"matrix has the eigenvalue {scales[0]:.3g}; all of them must be positive.")
        return cls(matrix.copy(), np.log(scales), vectors)

    @classmethod
    def of_logarithm(cls, A: Matrix) -> _Spectrum:
        """Decompose A."""
        exponents, vectors = np.linalg.eigh(A)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = (vectors * np.exp(exponents)) @ vectors.T
        if not np.isfinite(matrix).all():
            raise ValueError(f"theta gives the eigenvalue exp({exponents[-1]:.3g}), too large to compute with.")
        return cls(0.5 * (matrix + matrix.T), exponents, vectors)

    def logarithm(self) -> Matrix:
        """Return A."""
        return np.asarray((self.vectors * self.exponents) @ self.vectors.T)

    def differential(self, E: Matrix) -> Matrix:
        """Return the derivative of exp(2 A) in the direction `E`; its own adjoint.

        The divided difference of exp(2 a) at a and b is 2 exp(a + b) sinh(a - b) / (a - b), in which nothing cancels
        where the two are close.
        """
        gaps = self.exponents[:, np.newaxis] - self.exponents
        quotients = np.divide(np.sinh(gaps), gaps, out=np.ones_like(gaps), where=gaps != 0.0)
        differences = 2.0 * np.exp(self.exponents[:, np.newaxis] + self.exponents) * quotients
        U = self.vectors
        return np.asarray(U @ (differences * (U.T @ E @ U)) @ U.T)


@cache
def _above_diagonal(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows, columns = np.triu_indices(d, 1)
    return rows, columns


@cache
def _basis_of_shapes(d: int) -> Matrix:
    """Orthonormal rows that are orthogonal to (1, ..., 1)."""
    return np.asarray(helmert(d)) if d > 1 else np.empty((0, 1))


class GeneralGaussian(DistanceKernel):
    r"""The Gaussian kernel of a symmetric positive definite matrix, :math:`k(x, z) = \exp(-\|B (x - z)\|^2 / 2)`.

    It scales, stretches and rotates the samples [Glasmachers2008, section 10.1]. The matrix is searched through the
    exponential map, :math:`B = \exp(A)` with A symmetric: every A gives a positive definite B, so that no constraint
    is left. `theta` holds d (d + 1) / 2 coordinates of A in three parts:

    - size: trace(A) / d, one number, the logarithm of the mean scale; det B depends on it alone;
    - shape: d - 1 coordinates of the diagonal of A less its mean, in an orthonormal (Helmert) basis;
    - orientation: :math:`\sqrt 2` times the d (d - 1) / 2 entries above the diagonal of A, row by row.

    Shape and orientation together are orthonormal coordinates of A less its mean scale, in the sense of the Frobenius
    norm, in which each of these entries counts twice. Distances between two `theta` are thus those between the two A,
    and turning the axes of the data together with B does not change them: a normal prior on `theta` knows no axes.

    The five cases of section 10.2 are ``fixed=("shape", "orientation")`` (A), ``fixed=("size", "orientation")`` (B),
    ``fixed="orientation"`` (C), ``fixed="size"`` (D) and ``fixed=()`` (E), from an isotropic start.

    The thesis moves its chart along with the search: at every B it differentiates :math:`\exp(A) B \exp(A)` at A = 0.
    Here A itself is the coordinate, because a point of a search has to mean the same kernel whenever it is visited: a
    journal can be resumed, and strategies that remember (L-BFGS, CMA-ES, the step sizes of Rprop) compare like with
    like. At an isotropic B, where searches start, :math:`\log(\exp(A) B \exp(A)) = \log B + 2 A`: there the two charts
    have the same directions, and gradients that differ by a factor of 2.

    A block of n x m values costs n m d multiplications, (n + m) d^2 for the map and n m exponentials; all derivatives
    of a block together n m d, (n + m) d^2 and 4 d^3 multiplications. The eigenvectors of A, about 10 d^3 operations,
    are found once for every `theta`.

    Parameters
    ----------
    matrix : array of shape (d, d), default=None
        B. None takes :math:`\sqrt{2 \gamma}` times the unit matrix, with :math:`\gamma` from the data: a search begins
        with Jaakkola's heuristic, a model without a search takes 1 / (n_features * X.var()).
    fixed : {"size", "shape", "orientation"} or tuple of these, default=()
        Parts of A that keep their numbers, and are not in `theta`.
    matrix_bounds : pair of floats, default=(1e-4, 1e4)
        Range of the size, as the mean scale exp(trace(A) / d). The coordinates of the shape, and the entries of A above
        the diagonal, lie within a quarter of the logarithm of the quotient of the two, on either side of 0.

    Examples
    --------
    >>> from widemargin.kernels import GeneralGaussian
    >>> k = GeneralGaussian(matrix=[[2.0, 0.0], [0.0, 0.5]])
    >>> k.theta.round(4).tolist()
    [0.0, 0.9803, 0.0]
    >>> k([[0.0, 0.0]], [[1.0, 2.0]]).round(4).tolist()
    [[0.0821]]
    >>> GeneralGaussian(matrix=[[2.0, 0.0], [0.0, 0.5]], fixed="size").n_dims
    2
    """

    _from_data: ClassVar[tuple[str, ...]] = ("matrix",)
    _map_parameters: ClassVar[tuple[str, ...]] = ("matrix",)
    theta_per_log_gamma: ClassVar[float] = 0.5  # gamma is b^2 / 2 for B = b 1, and theta is made of log b

    def __init__(
        self,
        matrix: Any = None,
        fixed: str | tuple[str, ...] | None = (),
        matrix_bounds: tuple[float, float] = (1e-4, 1e4),
    ) -> None:
        self.matrix = matrix
        self.fixed = fixed
        self.matrix_bounds = matrix_bounds

    @property
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes on samples multiplied by B."""
        return KernelParameters("rbf", 0.5)

    @property
    def linear_map(self) -> Matrix:
        """B; sparse samples become dense."""
        self._require_given()
        return np.asarray(self.matrix, dtype=np.float64)

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.matrix is None:
            coefficient = scale_gamma(X, weights) if gamma is None else float(gamma)
            self.matrix = np.sqrt(2.0 * coefficient) * np.eye(X.shape[1])
        elif np.shape(self.matrix) != (X.shape[1], X.shape[1]):
            d = X.shape[1]
            raise ValueError(f"matrix has shape {np.shape(self.matrix)}, but X has {d} features; ({d}, {d}) is needed.")

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """-(x - z)' dQ (x - z) k(x, z) / 2, one coordinate after the other."""
        left, right = (part.toarray() if sp.issparse(part) else part for part in (X, Y))
        middle = right.mean(axis=0)
        left, right = left - middle, right - middle
        for direction in self._directions():
            dQ = self._spectrum().differential(direction)
            turned = left @ dQ
            squares = (turned * left).sum(axis=1)[:, np.newaxis] + ((right @ dQ) * right).sum(axis=1)
            yield -0.5 * (squares - 2.0 * turned @ right.T) * K

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block, by one product of W * K with the samples."""
        if not self.n_dims:
            return np.empty(0)
        G = -0.5 * self._spectrum().differential(full_moments(W * K, X, Y))
        # A change of the size changes every entry on the diagonal, one of an orientation two entries by 1 / sqrt(2).
        return self._gathered(G, {"size": 1.0, "shape": 1.0, "orientation": ROOT})

    @property
    def n_dims(self) -> int:
        """How many numbers `theta` holds."""
        return sum(self._lengths().values())

    @property
    def theta(self) -> Vector:
        """The free coordinates of A = log B: size, shape, orientation."""
        self._require_given()
        A = self._spectrum().logarithm()
        return self._gathered(A, {"size": 1.0 / len(A), "shape": 1.0, "orientation": ROOT})

    @theta.setter
    def theta(self, theta: Vector) -> None:
        self._require_given()
        given = self._checked_theta(theta)
        A = self._spectrum().logarithm()
        begin = 0
        for part, length in self._lengths().items():
            _place(A, part, given[begin : begin + length])
            begin += length
        self._known = _Spectrum.of_logarithm(A)
        self.matrix = self._known.matrix.copy()

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        self._require_given()
        low, high = np.log(np.asarray(self.matrix_bounds, dtype=np.float64))
        reach = 0.25 * (high - low)
        ranges = {"size": (low, high), "shape": (-reach, reach), "orientation": (-ROOT * reach, ROOT * reach)}
        rows = [np.tile(ranges[part], (length, 1)) for part, length in self._lengths().items()]
        return np.vstack([np.empty((0, 2)), *rows])

    @property
    def hyperparameters(self) -> list[Any]:
        """The free parts of A as scikit-learn describes parameters."""
        ranges, begin, found = np.exp(self.bounds), 0, []
        for part, length in self._lengths().items():
            found += [Hyperparameter(part, "numeric", ranges[begin : begin + length], length)] if length else []
            begin += length
        return found

    def _free(self) -> list[str]:
        """Parts of A that `theta` holds."""
        return [part for part in PARTS if part not in self._fixed()]

    def _fixed(self) -> tuple[str, ...]:
        fixed = (self.fixed,) if isinstance(self.fixed, str) else tuple(self.fixed or ())
        unknown = [part for part in fixed if part not in PARTS]
        if unknown:
            raise ValueError(f"fixed is {self.fixed!r}; it must be 'size', 'shape', 'orientation' or some of these.")
        return fixed

    def _lengths(self) -> dict[str, int]:
        """Coordinates in each free part."""
        d = len(self._spectrum().exponents)
        every = {"size": 1, "shape": d - 1, "orientation": d * (d - 1) // 2}
        return {part: every[part] for part in self._free()}

    def _directions(self) -> Iterator[Matrix]:
        """Yield the derivatives of A, one coordinate after the other."""
        d = len(self._spectrum().exponents)
        for part, length in self._lengths().items():
            for unit in np.eye(length):
                direction = np.zeros((d, d))
                _place(direction, part, unit)
                yield direction

    def _gathered(self, S: Matrix, factors: dict[str, float]) -> Vector:
        """Trace, shape and off-diagonal entries of a symmetric matrix, the free ones of these, times their factors."""
        found = [np.empty(0)]
        for part in self._free():
            if part == "size":
                found.append(factors[part] * np.array([np.trace(S)]))
            elif part == "shape":
                found.append(factors[part] * (_basis_of_shapes(len(S)) @ np.diagonal(S)))
            else:
                found.append(factors[part] * S[_above_diagonal(len(S))])
        return np.concatenate(found)

    def _spectrum(self) -> _Spectrum:
        """Decompose the matrix, unless it is the one that was decomposed last."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        known: _Spectrum | None = self.__dict__.get("_known")
        if known is None or not np.array_equal(known.matrix, matrix):
            known = self._known = _Spectrum.of(matrix)
        return known

    def _require_numbers(self) -> None:
        super()._require_numbers()
        self._spectrum()
        self._fixed()
        limits = np.asarray(self.matrix_bounds, dtype=np.float64)
        if limits.shape != (2,) or not 0.0 < limits[0] <= limits[1] < np.inf:
            raise ValueError(f"matrix_bounds is {self.matrix_bounds!r}; it must be two positive numbers in order.")


def _place(A: Matrix, part: str, numbers: Vector) -> None:
    """Give a part of A other coordinates."""
    d = len(A)
    mean = np.trace(A) / d
    if part == "size":
        A[np.diag_indices(d)] += numbers[0] - mean
    elif part == "shape":
        A[np.diag_indices(d)] = mean + _basis_of_shapes(d).T @ numbers
    else:
        A[_above_diagonal(d)] = numbers / ROOT
        A.T[_above_diagonal(d)] = numbers / ROOT

"""Reduced sets: functions that are sums over many vectors, approximated by sums over few of them.

Given are F_f(x_i), the values of functions f on n samples, and k(z_j, x_i) for candidates z_j. Wanted are few
candidates, shared by all functions, with coefficients c and constants b so that g_f(x) = sum_j c_fj k(z_j, x) + b_f is
close to F_f on the samples [Schoelkopf1999].

* Selection is matching pursuit with pre-fitting [Vincent2002]: with phi_j the values of candidate j on the samples,
  made orthogonal to the constant and to all candidates chosen before, and r_f what is left of F_f, the candidate that
  lowers sum_f |r_f|^2 most, once everything is fitted again, has the largest sum_f <phi_j, r_f>^2 / |phi_j|^2. Both
  sides of the quotient are brought up to date after each choice by one product of all columns with the new direction.
  A step on n' samples and p candidates costs n' p multiplications.
* Coefficients are least squares over all n samples, from an orthonormal basis of the columns chosen, which gives the
  largest error after each of them without a solve: 4 n m multiplications for the m-th.
* Lawson's algorithm [Lawson1961] turns least squares into the least largest error: weights are multiplied by the errors
  that they led to. A round costs n m^2 multiplications.
* Vectors of Gaussian kernels may leave the candidates: :func:`moved` lowers the squared error along its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from widemargin.kernels.rows import kernel_matrix
from widemargin.runtime import Stop, StoppedError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Why a reduction ended, beside the reasons of :class:`~widemargin.runtime.Stop`.
MET, LIMIT, EXHAUSTED = "change small enough", "number of vectors reached", "no independent vector left"

#: A candidate is no further vector where less than this share of its square is not explained by those chosen before.
INDEPENDENT = 1e-22

#: Squares that fell to this share by subtraction have few digits left, and are computed anew.
DIGITS = 1e-12

#: Columns that vary less than this, relative to their size, are constants but for rounding.
VARIES = 1e-13

#: Candidates that are chosen before the fit on all samples goes on.
BLOCK = 16

#: Rows of columns that one thread multiplies at a time; always the same, so that results are.
PART = 512

#: Rounds of reweighting, and how far above its goal an error may be for them to be worth a try: they seldom halve it.
ROUNDS, REACH = 10, 2.0

#: Vectors that are added before reweighting is tried again, as a share of those that there are.
PATIENCE = 0.2

#: Ridge of the least squares problems under moving vectors, relative to the mean square of the columns.
RIDGE = 1e-10


@dataclass(frozen=True)
class ReducedSet:
    """Vectors chosen, in the order of their choice, and the functions over them.

    `coefficients` has a row for each function and a column for each vector chosen, `constants` a number a function.
    """

    chosen: Indices
    coefficients: Matrix
    constants: Vector
    reason: str


def _scaled(columns: Matrix) -> tuple[Matrix, Vector]:
    """Divide rows by their largest entry, so that no square leaves the range of numbers; those of zeros stay."""
    sizes = np.maximum(columns.max(axis=1), -columns.min(axis=1))  # without a copy of absolute values
    sizes[sizes == 0.0] = 1.0
    return columns / sizes[:, np.newaxis], sizes


class Matching:
    """Matching pursuit with pre-fitting over the candidates.

    Parameters
    ----------
    columns : ndarray of shape (p, n)
        A row for each candidate: its kernel values with the samples.
    targets : ndarray of shape (n, functions)
    constant : bool
        Whether functions have constants, which are fitted too.
    n_threads : int
        Choices do not depend on it.

    Examples
    --------
    >>> Matching(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[2.0], [1.0]]), constant=False).choose()
    1
    """

    def __init__(self, columns: Matrix, targets: Matrix, *, constant: bool, n_threads: int = 1) -> None:
        self._columns = _scaled(columns)[0]
        constants = np.zeros(len(columns))
        left = targets / max(float(np.abs(targets).max(initial=0.0)), np.finfo(np.float64).tiny)
        if constant:
            constants = self._columns.mean(axis=1)
            self._columns -= constants[:, np.newaxis]
            left = left - left.mean(axis=0)
        self._squares = np.einsum("ij,ij->i", self._columns, self._columns)
        self._free = self._squares > VARIES**2 * (self._squares + len(targets) * np.square(constants))
        self._left = np.ascontiguousarray(left.T)
        self._remaining, self._computed = self._squares.copy(), self._squares.copy()
        self._basis = np.empty((0, self._columns.shape[1]))
        self._size = self._size_anew = 0
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._products = self._times(self._left.T)

    def choose(self) -> int | None:
        """Return the candidate that lowers the squared error most; None if none does."""
        while True:
            usable = self._free & (self._remaining > DIGITS * self._computed)
            gains = np.zeros(len(usable))
            np.divide(np.square(self._products).sum(axis=1), self._remaining, out=gains, where=usable)
            best = int(gains.argmax())
            if gains[best] <= 0.0:
                if not self._computed_anew():
                    return None
                continue
            self._free[best] = False
            direction, size = self._orthogonal(self._columns[best])
            if size**2 > INDEPENDENT * self._squares[best]:  # else rounding had hidden that it is not independent
                break
        direction = direction / size
        if self._size == len(self._basis):
            self._basis = np.concatenate([self._basis, np.empty((max(BLOCK, self._size), len(direction)))])
        self._basis[self._size] = direction
        self._size += 1
        shares, steps = self._times(direction), self._left @ direction
        self._left -= steps[:, np.newaxis] * direction
        self._products -= shares[:, np.newaxis] * steps
        self._remaining -= np.square(shares)
        return best

    def _computed_anew(self) -> bool:
        """Make all columns orthogonal to those chosen, which brings back digits; False if none is independent."""
        basis = self._basis[: self._size]
        self._free &= self._computed > INDEPENDENT * self._squares
        if not self._free.any() or self._size == self._size_anew:
            return False
        for _ in range(2):
            self._columns -= self._times(basis.T) @ basis
        self._computed = np.einsum("ij,ij->i", self._columns, self._columns)
        self._free &= self._computed > INDEPENDENT * self._squares
        self._remaining, self._size_anew = self._computed.copy(), self._size
        self._products = self._times(self._left.T)
        return bool(self._free.any())

    def _orthogonal(self, column: Vector) -> tuple[Vector, float]:
        """Return what is left of a column beside those chosen, and its length; twice, since once leaves rounding."""
        basis, left = self._basis[: self._size], column.copy()
        for _ in range(2):
            left -= (basis @ left) @ basis
        return left, float(np.linalg.norm(left))

    def _times(self, right: Matrix) -> Matrix:
        """Multiply all columns by something, in parts that threads share."""
        parts = [self._columns[begin : begin + PART] for begin in range(0, len(self._columns), PART)]
        multiply = map if self._pool is None or len(parts) == 1 else self._pool.map
        return np.concatenate(list(multiply(lambda part: part @ right, parts)))


class LeastSquares:
    """Least squares fits of all targets by more and more columns.

    Parameters
    ----------
    targets : ndarray of shape (n, functions)
    constant : bool

    Examples
    --------
    >>> fit = LeastSquares(np.array([[1.0], [3.0], [8.0]]), constant=True)
    >>> round(fit.largest, 6)
    4.0
    >>> fit.add(np.array([[0.0, 1.0, 2.0]]))
    >>> fit.take()
    >>> round(fit.largest, 6), fit.read()[0].round(6).tolist()
    (1.0, [[3.5]])
    """

    def __init__(self, targets: Matrix, *, constant: bool) -> None:
        n = len(targets)
        self._targets, self._constant = np.ascontiguousarray(targets.T), int(constant)
        self._basis = np.full((self._constant, n), 1.0 / np.sqrt(n))
        self._triangle = np.full((self._constant, self._constant), np.sqrt(n))
        self._sizes = np.ones(self._constant)
        self._taken = 0
        self._left = self._targets.copy()
        for row in self._basis:
            self._leave(row)

    @property
    def largest(self) -> float:
        """Largest error of any function on any sample, with the columns taken so far."""
        return float(np.abs(self._left).max(initial=0.0))

    def add(self, columns: Matrix) -> None:
        """Make columns ready, a row each; those added before must have been taken."""
        scaled, sizes = _scaled(columns)
        new, old = scaled.T, len(self._basis)
        shares, triangle = np.zeros((old, len(columns))), np.eye(len(columns))
        for _ in range(2):  # once leaves what rounding makes of small remainders
            part = self._basis @ new
            new, factor = np.linalg.qr(new - self._basis.T @ part)
            shares += part @ triangle
            triangle = factor @ triangle
        self._triangle = np.block([[self._triangle, shares], [np.zeros((len(columns), old)), triangle]])
        self._basis = np.concatenate([self._basis, new.T])
        self._sizes = np.concatenate([self._sizes, sizes])

    def take(self) -> None:
        """Let the next column that was added take part in the fit."""
        self._taken += 1
        self._leave(self._basis[self._constant + self._taken - 1])

    def read(self, projections: Matrix | None = None) -> tuple[Matrix, Vector]:
        """Return coefficients, a row for each function, and constants; of a least squares fit unless told otherwise."""
        size = self._constant + self._taken
        if size == 0:
            return np.zeros((len(self._targets), 0)), np.zeros(len(self._targets))
        if projections is None:
            projections = self._basis[:size] @ self._targets.T
        found = solve_triangular(self._triangle[:size, :size], projections) / self._sizes[:size, np.newaxis]
        constants = found[0] if self._constant else np.zeros(len(self._targets))
        return np.ascontiguousarray(found[self._constant :].T), constants

    def minimax(self, goal: float) -> tuple[Matrix, Vector] | None:
        """Return coefficients and constants whose largest error is at most `goal`, if reweighting finds them."""
        if self.largest <= goal:
            return self.read()
        basis = self._basis[: self._constant + self._taken]
        weights, errors = np.ones(basis.shape[1]), np.abs(self._left).max(axis=0)
        for _ in range(ROUNDS):
            weights = weights * errors
            weights /= weights.mean()
            weighted = basis * weights
            try:
                projections = cho_solve(cho_factor(weighted @ basis.T), weighted @ self._targets.T)
            except np.linalg.LinAlgError:  # too few samples carry all the weight
                return None
            errors = np.abs(self._targets - projections.T @ basis).max(axis=0)
            if errors.max() <= goal:
                return self.read(projections)
        return None

    def _leave(self, direction: Vector) -> None:
        self._left -= (self._left @ direction)[:, np.newaxis] * direction


def reductions(
    matching: Matching,
    columns_of: Callable[[Indices], Matrix],
    targets: Matrix,
    *,
    constant: bool,
    n_vectors: int,
    largest_change: float,
    reweight: bool,
    stop: Stop,
) -> Iterator[ReducedSet]:
    """Yield reduced sets that seem close enough, each larger than the one before, and then the last one.

    Parameters
    ----------
    matching : Matching
        Chooses; it may know some of the samples only.
    columns_of : callable
        Kernel values of some candidates with all samples, a row each.
    targets : ndarray of shape (n, functions)
        Values on all samples.
    constant : bool
    n_vectors : int
        Most vectors.
    largest_change : float
        Largest error that is close enough.
    reweight : bool
        Whether to lower the largest error at the expense of the squared one.
    stop : Stop
        One vector is chosen in any case.

    Yields
    ------
    ReducedSet
        With the reason :data:`MET`, or with that of the end.
    """
    fit, chosen, ended, again = LeastSquares(targets, constant=constant), list[int](), "", 0

    def found(reason: str, numbers: tuple[Matrix, Vector] | None = None) -> ReducedSet:
        coefficients, constants = fit.read() if numbers is None else numbers
        return ReducedSet(np.array(chosen, dtype=np.intp), coefficients, constants, reason)

    while not ended:
        block: list[int] = []
        while not ended and len(block) < BLOCK:
            best = matching.choose()
            if best is None:
                ended = EXHAUSTED
                break
            block.append(best)
            ended = LIMIT if len(chosen) + len(block) == n_vectors else stop.reason or ""
        if block:
            fit.add(columns_of(np.array(block, dtype=np.intp)))
        for one in block:
            chosen.append(one)
            fit.take()
            if fit.largest <= largest_change:
                yield found(MET)
        if reweight and (ended or len(chosen) >= again) and fit.largest <= REACH * largest_change:
            again = int((1.0 + PATIENCE) * len(chosen)) + 1
            better = fit.minimax(largest_change)
            if better is not None:
                yield found(MET, better)
    yield found(ended)


@dataclass(frozen=True)
class Moved:
    """Vectors after they were moved, and how many kernel values that took."""

    vectors: Matrix
    kernel_evaluations: int


def moved(
    vectors: Matrix,
    samples: Matrix,
    targets: Matrix,
    *,
    gamma: float,
    constant: bool,
    factors: Matrix | None = None,
    n_threads: int = 1,
    max_iterations: int = 100,
    stop: Stop | None = None,
) -> Moved:
    r"""Move the vectors of a Gaussian kernel to where the squared error is least nearby.

    Coefficients are those of least squares wherever the vectors are, so that the error E is a function of the vectors
    alone, whose gradient is that for fixed coefficients: with k_ij = exp(-gamma |x_i - z_j|^2) and the errors e_if,

        dE/dz_j = 4 gamma sum_i v_ij (x_i - z_j), \quad v_ij = k_ij sum_f e_if c_fj.

    An iteration takes n m (d + m) multiplications.

    Parameters
    ----------
    vectors, samples : ndarray of shapes (m, d), (n, d)
    targets : ndarray of shape (n, functions)
    gamma : float
    constant : bool
    factors : ndarray of shape (d,) or (d, r), optional
        What vectors and samples are multiplied by before the kernel sees them.
    n_threads, max_iterations : int
    stop : Stop, optional

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 21)[:, np.newaxis]
    >>> bump = np.exp(-np.square(x - 0.25))
    >>> moved(np.zeros((1, 1)), x, bump, gamma=1.0, constant=False).vectors.round(4).tolist()
    [[0.25]]
    """
    factors = np.ones(vectors.shape[1]) if factors is None else factors
    onto = factors[np.newaxis] if factors.ndim == 1 else factors

    def mapped(Z: Matrix) -> Matrix:
        return np.ascontiguousarray(Z * onto if factors.ndim == 1 else Z @ onto, dtype=np.float64)

    X, unit = mapped(samples), 1.0 / np.sqrt(gamma)
    scale = max(float(np.abs(targets).max(initial=0.0)), np.finfo(np.float64).tiny)
    F = targets / scale
    F = F - F.mean(axis=0) if constant else F
    evaluations, best = 0, (np.inf, vectors)

    def error(flat: Vector) -> tuple[float, Vector]:
        nonlocal evaluations, best
        if evaluations and stop is not None:
            stop.check()
        Z = mapped(flat.reshape(vectors.shape))
        K = kernel_matrix(Z, X, gamma=gamma, dtype="float64", n_jobs=n_threads)
        evaluations += K.size
        A = K - K.mean(axis=1, keepdims=True) if constant else K
        H = A @ A.T
        H[np.diag_indices_from(H)] += RIDGE * max(float(np.trace(H)) / len(H), np.finfo(np.float64).tiny)
        c = cho_solve(cho_factor(H), A @ F)
        e = c.T @ A - F.T
        V = K * (c @ e)
        pull = 4.0 * gamma * (V @ X - V.sum(axis=1, keepdims=True) * Z)
        gradient = pull * onto if factors.ndim == 1 else pull @ onto.T
        squares = float(np.square(e).sum())
        if squares < best[0]:
            best = squares, flat.reshape(vectors.shape).copy()
        return squares, gradient.ravel()

    def in_units(u: Vector) -> tuple[float, Vector]:
        value, gradient = error(u * unit)
        return value, gradient * unit

    start = np.ascontiguousarray(vectors, dtype=np.float64).ravel() / unit
    with suppress(StoppedError):
        minimize(in_units, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iterations})
    return Moved(best[1], evaluations)

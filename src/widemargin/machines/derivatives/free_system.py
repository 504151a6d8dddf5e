"""The bordered system of the free variables [Glasmachers2008, section 9.3.1], factorised once.

H = [[K_uu + D_u, 1], [1', 0]], where u are the variables strictly inside of their boxes and D is what the square loss
adds to the diagonal. Adding c 1 1' to K_uu changes the last unknown only (by -c times the given sum), and makes a
matrix A that is positive definite wherever H is regular: A = L L', and with z = A^-1 1 everything follows from L.

Free variables whose samples depend on the others (in the affine sense: duplicates, or more of them than features for
a linear kernel) make H singular. The function of the machine does not depend on how they share their weight, so that
they are held where they are: a pivoted factorisation finds out which of them suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotri, dpotrs, dpstrf

from widemargin.kernels.base import Matrix, Vector

#: Reciprocal condition numbers below this call for a factorisation that looks for dependent variables.
WELL_CONDITIONED = 1e-13

#: Pivots below this share of the largest diagonal entry count as dependent.
DEPENDENT = 1e-12


@dataclass(frozen=True)
class FreeSystem:
    """A factorised system.

    Attributes
    ----------
    kept : ndarray of int
        Positions, among the free variables, of those that are solved for; the others depend on them.
    n_free : int
        How many free variables there are.
    """

    kept: NDArray[np.intp]
    n_free: int
    _lower: Matrix
    _ones: Vector | None
    _shift: float

    @classmethod
    def factorised(cls, K: Matrix, ridge: Vector | None = None, *, bordered: bool = True) -> FreeSystem:
        """Factorise the system of free variables with kernel values `K`; `bordered` says whether there is an intercept.

        Examples
        --------
        >>> system = FreeSystem.factorised(np.array([[2.0, 1.0], [1.0, 3.0]]))
        >>> unknowns, last = system.solve(np.array([1.0, -1.0]), 0.0)
        >>> (np.array([[2.0, 1.0], [1.0, 3.0]]) @ unknowns + last).round(12).tolist(), float(unknowns.sum().round(12))
        ([1.0, -1.0], 0.0)
        """
        n = len(K)
        if n == 0:
            return cls(np.empty(0, dtype=np.intp), 0, np.empty((0, 0)), np.empty(0) if bordered else None, 0.0)
        shift = float(np.mean(np.diagonal(K))) if bordered else 0.0
        A = np.asfortranarray(K + shift) if bordered else np.array(K, order="F")
        if ridge is not None:
            A[np.diag_indices(n)] += ridge
        norm = float(np.abs(A).sum(axis=0).max())
        lower, failed = dpotrf(A, lower=1, clean=0)
        kept = np.arange(n)
        if failed or dpocon(lower, norm, uplo="L")[0] < WELL_CONDITIONED:
            lower, pivots, rank, _ = dpstrf(A, tol=DEPENDENT * float(np.diagonal(A).max()), lower=1)
            kept = np.asarray(pivots[:rank] - 1, dtype=np.intp)
            lower = np.asfortranarray(lower[:rank, :rank])
        ones = dpotrs(lower, np.ones(len(kept)), lower=1)[0] if bordered else None
        return cls(kept, n, lower, ones, shift)

    @property
    def dependent(self) -> int:
        """How many free variables are held because they depend on others."""
        return self.n_free - len(self.kept)

    def solve(self, right: Matrix, total: Vector | float) -> tuple[Matrix, Vector]:
        """Solve H [x; t] = [right; total] for one right-hand side or, as columns, several; x is 0 where not kept."""
        single = right.ndim == 1
        sides = right[self.kept][:, np.newaxis] if single else right[self.kept]
        found = np.zeros((self.n_free, sides.shape[1]))
        last = np.zeros(sides.shape[1])
        if len(self.kept):
            x = dpotrs(self._lower, sides, lower=1)[0]
            if self._ones is not None:
                last = (x.sum(axis=0) - total) / self._ones.sum()
                x = x - np.outer(self._ones, last)
                last = last + self._shift * np.asarray(total)  # A x = K x + c total, since 1'x = total
            found[self.kept] = x
        return (found[:, 0], last[0]) if single else (found, last)

    def inverse(self) -> Matrix:
        """Upper left block of the inverse of H, for the kept variables: A^-1 - z z' / 1'z."""
        if not len(self.kept):
            return np.empty((0, 0))
        half = dpotri(self._lower, lower=1)[0]
        whole: Matrix = np.tril(half) + np.tril(half, -1).T
        return whole if self._ones is None else whole - np.outer(self._ones, self._ones) / self._ones.sum()

    def whole_inverse(self) -> Matrix:
        """Inverse of H for the kept variables, the border first if there is one."""
        if self._ones is None:
            return self.inverse()
        if not len(self.kept):
            return np.zeros((1, 1))  # the border alone has no inverse
        weight = self._ones.sum()
        border = self._ones / weight
        return np.block(
            [[np.array([[self._shift - 1.0 / weight]]), border[np.newaxis]], [border[:, np.newaxis], self.inverse()]]
        )

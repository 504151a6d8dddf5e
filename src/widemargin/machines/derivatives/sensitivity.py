"""How a trained machine changes with its kernel and with C [Glasmachers2008, section 9.3.1].

A machine is f(x) = sum_n a_n k(x_n, x) + b. Its variables are free (u), at a bound (g: y_n a_n = C_n) or 0. While no
variable changes sides, free ones follow from H [a_u; b] = [y_u - K_ug a_g; -1'a_g], and

d[a_u; b]/dtheta = -H^-1 [(dK/dtheta a)_u; 0],    d[a_u; b]/dC = -H^-1 [K_ug; 1'] da_g/dC.

The square loss has no bounds and D = 1 / (2 C_n) on the diagonal: d[a_u; b]/dC = H^-1 [D a_u / C; 0].

An objective L of the machine's values and coefficients, dL = v'df + w'da, needs none of these derivatives by itself.
With one solve, H [q; r] = [K_u. v + w_u; 1'v], it is

dL/dtheta = (v - q)' dK/dtheta a,

which a kernel contracts with W = (v - q) a' at the cost of a kernel matrix, however many parameters it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.base import Matrix, Vector
from widemargin.kernels.rows import RowSource
from widemargin.machines.chain import Chain, Link, solve_clearly
from widemargin.machines.classifier import box, ridge_of
from widemargin.machines.derivatives.free_system import DEPENDENT, WELL_CONDITIONED, FreeSystem
from widemargin.machines.derivatives.kernel_part import Evaluate, Ids, KernelPart
from widemargin.machines.dual import Outcome, StopRule, taking_part, values_of
from widemargin.runtime import single_threaded_blas

Single = NDArray[np.float32]
#: Values that move by more than this, in units of the margin, show the sets to be those of other kernel values.
MISFIT = 0.1

#: How often variables that left their boxes may be put back to them.
MOST_CORRECTIONS = 4

#: Coefficients this much smaller than the largest are 0, those this close to their bounds are there.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PairProblem:
    """Two classes, and the machine that is to separate them.

    Parameters
    ----------
    signs : ndarray of shape (n,)
        +1 and -1.
    bounds : ndarray of shape (n,)
        C of each sample; 0 holds it out: it does not influence training, but its value is known.
    squared : bool
        Whether slack counts by its square.
    fit_intercept : bool
    """

    signs: Vector
    bounds: Vector
    squared: bool = False
    fit_intercept: bool = True

    @property
    def ridge(self) -> Vector | None:
        """What the square loss adds to the diagonal of the kernel; None without it."""
        return ridge_of(self.bounds) if self.squared else None

    def held_out(self, rows: Ids) -> PairProblem:
        """Return the same problem with some samples held out."""
        bounds = self.bounds.copy()
        bounds[rows] = 0.0
        return replace(self, bounds=bounds)


@dataclass(frozen=True)
class Machine:
    """A trained machine: coefficients, intercept, values at all samples, and how training ended."""

    problem: PairProblem
    alpha: Vector
    intercept: float
    values: Vector
    outcome: Outcome

    @cached_property
    def support(self) -> Ids:
        """Samples with a nonzero coefficient."""
        return np.flatnonzero(self.alpha)

    @cached_property
    def free(self) -> Ids:
        """Samples strictly between their bounds."""
        size = np.abs(self.alpha)
        return np.flatnonzero((size > 0) & (self.problem.squared | (size < self.problem.bounds)))

    @cached_property
    def bounded(self) -> Ids:
        """Samples whose coefficient is at its bound C."""
        size = np.abs(self.alpha)
        return np.flatnonzero((size > 0) & ~self.problem.squared & (size >= self.problem.bounds))


def train(
    K: Single,
    problem: PairProblem,
    *,
    stop: StopRule | None = None,
    start: Vector | None = None,
    exact: Callable[[], RowSource] | None = None,
) -> Machine:
    """Train on a kernel matrix of all samples, those that are held out included, to a tolerance of 1e-6 by default.

    `start` holds signed coefficients to begin with; any, they are brought into the box. `exact` gives the kernel in
    float64, for where float32 leaves nothing of what tells samples apart.

    Examples
    --------
    >>> problem = PairProblem(np.array([1.0, -1.0, 1.0]), np.array([9.0, 9.0, 0.0]))
    >>> machine = train(np.array([[2, 0, 1], [0, 2, 0], [1, 0, 2]], dtype=np.float32), problem)
    >>> machine.alpha.round(6).tolist(), machine.values.round(6).tolist()
    ([0.5, -0.5, 0.0], [1.0, -1.0, 0.5])
    """
    ridge = problem.ridge
    limits = np.where(problem.bounds > 0, np.inf, 0.0) if problem.squared else problem.bounds
    labels = taking_part(problem.signs, problem.bounds)
    link = Link(box(labels, limits), ridge)
    chain = Chain((link,), start=start, any_sum=not problem.fit_intercept)
    with single_threaded_blas():
        found = solve_clearly(K, chain, exact, stop=stop or StopRule(1e-6))
    values = values_of(found, labels, ridge)
    return Machine(problem, _settled(found.alpha, limits), found.intercept, values, found.outcome)


def _settled(alpha: Vector, limits: Vector) -> Vector:
    """Move coefficients that differ from 0, or from their bounds, by rounding only."""
    size, little = np.abs(alpha), ROUNDING * float(np.abs(alpha).max(initial=0.0))
    at_bound = np.isfinite(limits) & (size >= limits - little)
    return np.where(size <= little, 0.0, np.where(at_bound, np.sign(alpha) * np.where(at_bound, limits, 0.0), alpha))


class Sensitivity:
    """A machine with the factorised system of its free variables.

    Its coefficients are solved for once more, in float64, on the sets of free and bounded variables that training
    found: :attr:`machine` is exact for these sets.

    Where K is nearly singular and C large, rounding of kernel values to float32, which training works with, changes
    the sets: those that were found belong to the rounded values only, and a machine solved for with the others is far
    from optimal. Such a machine is solved for, and differentiated, with the values that it was trained with.

    `K` holds all kernel values in float64, or is a function that gives those between some samples and others;
    `trained_on` holds those in float32 that the machine was trained with. Values are computed for `rows` (all if
    None) and free samples; others keep those of training. With `exact` the machine is taken to be so already.
    Afterwards :attr:`kernel` holds the values that :attr:`machine` is exact for, and :attr:`rounded` says whether these
    are the float32 ones.
    """

    def __init__(
        self,
        K: Matrix | Evaluate,
        machine: Machine,
        trained_on: Single,
        *,
        rows: Ids | None = None,
        exact: bool = False,
    ) -> None:
        self._rows, self.kernel = _part(K, machine, rows)
        self.rounded = False
        self._solve(machine, 0 if exact else MOST_CORRECTIONS)
        if not exact and not (self._solved.found and self._solved.moved <= MISFIT):
            _, self.kernel = _part(lambda r, c: trained_on[np.ix_(r, c)].astype(np.float64), machine, self._rows)
            self.rounded = True
            self._solve(machine, MOST_CORRECTIONS)

    def _solve(self, trained: Machine, corrections: int) -> None:
        kernel, problem = self.kernel, trained.problem
        with single_threaded_blas():
            found = _core.ExactMachine(
                kernel.values,
                kernel.row_of,
                kernel.column_of,
                problem.signs,
                problem.bounds,
                problem.ridge,
                problem.fit_intercept,
                self._rows,
                trained.alpha,
                trained.values,
                trained.intercept,
                WELL_CONDITIONED,
                DEPENDENT,
                corrections,
            )
        self._solved = found
        self.machine = Machine(problem, found.alpha, found.intercept, found.values, trained.outcome)

    @cached_property
    def free(self) -> Ids:
        """The free support vectors."""
        return self._solved.free

    @cached_property
    def bounded(self) -> Ids:
        """The support vectors at their bound C."""
        return self._solved.bounded

    @property
    def dependent(self) -> int:
        """How many free variables were held because they depend on others."""
        return self._solved.dependent

    @cached_property
    def system(self) -> FreeSystem:
        """The factorised system of the free variables."""
        problem = self.machine.problem
        ridge = None if problem.ridge is None else problem.ridge[self.free]
        return FreeSystem.factorised(self.kernel.block(self.free, self.free), ridge, bordered=problem.fit_intercept)

    @property
    def kept(self) -> Ids:
        """The free support vectors that :attr:`system` solves for."""
        return self.free[self.system.kept]

    def adjoint(self, of_values: Vector, of_coefficients: Vector | None = None) -> Adjoint:
        """Return what dL = of_values' df + of_coefficients' da means for the kernel and for C."""
        with single_threaded_blas():
            left, slope = self._solved.adjoint(of_values, of_coefficients)
        return Adjoint(left, self.machine.alpha, slope)


@dataclass(frozen=True)
class Adjoint:
    """dL/dtheta = left' dK/dtheta right, and dL/dlog C."""

    left: Vector
    right: Vector
    c_slope: float

    @property
    def weights(self) -> tuple[Matrix, Ids, Ids]:
        """The weight matrix W of <W, dK/dtheta> where it is not 0, with its rows and columns."""
        rows, columns = np.flatnonzero(self.left), np.flatnonzero(self.right)
        return np.outer(self.left[rows], self.right[columns]), rows, columns


def _part(K: Matrix | Evaluate, machine: Machine, rows: Ids | None) -> tuple[Ids, KernelPart]:
    """Return the samples whose values will be known, and their kernel values with the support vectors."""
    n = len(machine.alpha)
    known = np.arange(n)
    if rows is not None:
        wanted = np.zeros(n, dtype=bool)
        wanted[rows] = True
        wanted[machine.free] = True
        if machine.problem.fit_intercept and not len(machine.free):
            wanted[_limiting(machine)] = True
        known = np.flatnonzero(wanted)
    if isinstance(K, np.ndarray):
        return known, KernelPart.whole(K)
    return known, KernelPart(K(known, machine.support), known, machine.support, n)


def _limiting(machine: Machine) -> Ids:
    """Return the two samples between which the intercept of a machine without free variables lies."""
    problem = machine.problem
    slope = problem.signs - (machine.values - machine.intercept)  # what the intercept would have to be
    taking_part = problem.bounds > 0
    at_top = np.zeros(len(slope), dtype=bool)
    at_top[machine.bounded] = True
    # Positive samples at 0 and negative ones at their bound ask for a larger intercept, the others for a smaller one.
    from_below = taking_part & ((problem.signs > 0) != at_top)
    from_above = taking_part & ((problem.signs > 0) == at_top)
    lowest = np.flatnonzero(from_below)[np.argsort(-slope[from_below])[:1]]
    highest = np.flatnonzero(from_above)[np.argsort(slope[from_above])[:1]]
    return np.concatenate([lowest, highest])

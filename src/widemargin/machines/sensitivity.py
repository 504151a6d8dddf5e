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

from widemargin.machines.chain import Chain, Link, solve_chain
from widemargin.machines.classifier import box, ridge_of
from widemargin.machines.dual import Outcome, StopRule
from widemargin.machines.free_system import FreeSystem

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Ids = NDArray[np.intp]


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
        C of each example; 0 holds it out: it has no say in training, and its value is known all the same.
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

    def held_out(self, rows: NDArray[np.intp]) -> PairProblem:
        """Return the same problem with some examples held out."""
        bounds = self.bounds.copy()
        bounds[rows] = 0.0
        return replace(self, bounds=bounds)


@dataclass(frozen=True)
class Machine:
    """A trained machine: coefficients, intercept, values at all examples, and how training ended."""

    problem: PairProblem
    alpha: Vector
    intercept: float
    values: Vector
    outcome: Outcome

    @cached_property
    def support(self) -> NDArray[np.intp]:
        """Examples with a coefficient other than 0."""
        return np.flatnonzero(self.alpha)

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Examples strictly between their bounds."""
        size = np.abs(self.alpha)
        return np.flatnonzero((size > 0) & (self.problem.squared | (size < self.problem.bounds)))

    @cached_property
    def bounded(self) -> NDArray[np.intp]:
        """Examples whose coefficient is all that C allows."""
        size = np.abs(self.alpha)
        return np.flatnonzero((size > 0) & ~self.problem.squared & (size >= self.problem.bounds))


def train(
    K: Single,
    problem: PairProblem,
    *,
    tolerance: float = 1e-6,
    start: Vector | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
) -> Machine:
    """Train on a kernel matrix of all examples, those that are held out included.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        float32.
    problem : PairProblem
    tolerance : float
        Largest violation of the optimality conditions.
    start : ndarray of shape (n,), optional
        Signed coefficients to begin with; any, they are brought into the box.
    max_iterations : int, optional
    max_seconds : float, optional

    Examples
    --------
    >>> problem = PairProblem(np.array([1.0, -1.0, 1.0]), np.array([9.0, 9.0, 0.0]))
    >>> machine = train(np.array([[2, 0, 1], [0, 2, 0], [1, 0, 2]], dtype=np.float32), problem)
    >>> machine.alpha.round(6).tolist(), machine.values.round(6).tolist()
    ([0.5, -0.5, 0.0], [1.0, -1.0, 0.5])
    """
    ridge = problem.ridge
    taking_part = problem.bounds > 0
    limits = np.where(taking_part, np.inf, 0.0) if problem.squared else problem.bounds
    # Labels of held-out examples stay out of the problem: their values come from the gradient, and where kernel values
    # are large, rounding would leave nothing but the label of them.
    labels = np.where(taking_part, problem.signs, 0.0)
    link = Link(box(labels, limits), ridge)
    chain = Chain((link,), start=start, any_sum=not problem.fit_intercept)
    stop = StopRule(tolerance, max_iterations, max_seconds)
    found = solve_chain(K, chain, stop=stop)[0].solution
    values = labels - found.gradient + found.intercept
    if ridge is not None:
        values = values - np.where(taking_part, ridge * found.alpha, 0.0)
    return Machine(problem, _settled(found.alpha, limits), found.intercept, values, found.outcome)


def _settled(alpha: Vector, limits: Vector) -> Vector:
    """Move coefficients that differ from 0, or from their bounds, by rounding only."""
    size, little = np.abs(alpha), ROUNDING * float(np.abs(alpha).max(initial=0.0))
    at_bound = np.isfinite(limits) & (size >= limits - little)
    return np.where(size <= little, 0.0, np.where(at_bound, np.sign(alpha) * np.where(at_bound, limits, 0.0), alpha))


#: Gives kernel values in float64 between some examples and others, by their numbers.
Evaluate = Callable[[Ids, Ids], Matrix]


class KernelPart:
    """Kernel values between some examples and some others, to be found by the examples' numbers.

    Examples
    --------
    >>> part = KernelPart(np.array([[7.0, 8.0]]), np.array([3]), np.array([0, 5]), 6)
    >>> part.block(np.array([3]), np.array([5])).tolist()
    [[8.0]]
    """

    def __init__(self, values: Matrix, rows: Ids, columns: Ids, n: int) -> None:
        self._values, self._columns = values, columns
        self._row_of, self._column_of = np.full((2, n), -1)
        self._row_of[rows], self._column_of[columns] = np.arange(len(rows)), np.arange(len(columns))

    def block(self, rows: Ids, columns: Ids) -> Matrix:
        """Values between given examples; not to be written to."""
        at_rows, at_columns = self._row_of[rows], self._column_of[columns]
        whole_rows, whole_columns = _counts_up(at_rows, len(self._values)), _counts_up(at_columns, len(self._columns))
        if whole_rows and whole_columns:
            return self._values
        if whole_columns:
            return np.asarray(self._values[at_rows])
        return np.asarray(self._values[:, at_columns] if whole_rows else self._values[np.ix_(at_rows, at_columns)])

    def apply(self, rows: Ids, coefficients: Vector) -> Vector:
        """Sum of coefficients (one an example, 0 but for those whose values are here) times values, for each row."""
        at_rows, own = self._row_of[rows], coefficients[self._columns]
        values = self._values if _counts_up(at_rows, len(self._values)) else self._values[at_rows]
        return np.asarray(values @ own)


def _counts_up(places: Ids, n: int) -> bool:
    return len(places) == n and bool((places == np.arange(n)).all())


class Sensitivity:
    """A machine with the factorised system of its free variables.

    Its coefficients are solved for once more, in float64, on the sets of free and bounded variables that training
    found: :attr:`machine` is exact for these sets.

    Where K is nearly singular and C large, rounding of kernel values to float32, which training works with, changes
    the sets: those that were found belong to the rounded values only, and a machine solved for with the others is far
    from optimal. Such a machine is solved for, and differentiated, with the values that it was trained with.

    Parameters
    ----------
    K : ndarray of shape (n, n) or callable
        Kernel values in float64, all of them, or a function that gives those between some examples and others.
    machine : Machine
    trained_on : ndarray of shape (n, n)
        Kernel values in float32 that it was trained with.
    rows : ndarray of int, optional
        Examples whose values matter; all of them if not given. Values of others stay those of training.
    exact : bool, default=False
        Whether the machine already is.

    Attributes
    ----------
    machine : Machine
    free, bounded : ndarray of int
        Its free and its bounded support vectors.
    kept : ndarray of int
        The free ones that were solved for.
    system : FreeSystem
    kernel : KernelPart
        Kernel values of `rows` and free examples with support vectors, those that :attr:`machine` is exact for.
    rounded : bool
        Whether these are the float32 ones.
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
        if exact:
            self._factorise(machine)
            self.machine = machine
            return
        self._solve(machine)
        moved = np.abs(self.machine.values[self._rows] - machine.values[self._rows]).max(initial=0.0)
        if self.machine is machine or moved > MISFIT:
            _, self.kernel = _part(lambda r, c: trained_on[np.ix_(r, c)].astype(np.float64), machine, self._rows)
            self.rounded = True
            self._solve(machine)

    def _solve(self, trained: Machine) -> None:
        machine = trained
        for _ in range(MOST_CORRECTIONS):
            self._factorise(machine)
            exact = self._exact(machine)
            outside = self._outside(exact)
            if not len(outside):
                break
            machine = _put_back(machine, exact, outside)
        self.machine = trained if len(outside) else exact

    def _factorise(self, machine: Machine) -> None:
        problem = machine.problem
        self.free, self.bounded = machine.free, machine.bounded
        self._ridge = None if problem.ridge is None else problem.ridge[self.free]
        among = self.kernel.block(self.free, self.free)
        self.system = FreeSystem.factorised(among, self._ridge, bordered=problem.fit_intercept)
        self.kept = self.free[self.system.kept]
        self._limits = _limiting(machine) if problem.fit_intercept and not len(self.free) else None

    def _exact(self, machine: Machine) -> Machine:
        """Solve for the free variables on the sets that were found [section 9.3.1]."""
        problem, alpha, b = machine.problem, machine.alpha.copy(), machine.intercept
        if len(self.kept):
            held = alpha.copy()
            held[self.kept] = 0.0
            right = problem.signs[self.free] - self.kernel.apply(self.free, held)
            found, last = self.system.solve(right, -float(held.sum()))
            alpha[self.kept] = found[self.system.kept]
            b = float(last) if problem.fit_intercept else 0.0
        values = machine.values.copy()
        values[self._rows] = self.kernel.apply(self._rows, alpha)
        if self._limits is not None:
            b = float(np.mean(problem.signs[self._limits] - values[self._limits]))
        values[self._rows] += b
        return Machine(problem, alpha, b, values, machine.outcome)

    def _outside(self, exact: Machine) -> NDArray[np.intp]:
        """Return the free variables that left their boxes: training had not told them from those at a bound."""
        size = exact.problem.signs[self.kept] * exact.alpha[self.kept]
        limit = np.inf if exact.problem.squared else exact.problem.bounds[self.kept]
        return self.kept[(size < 0) | (size > limit)]

    def adjoint(self, of_values: Vector, of_coefficients: Vector | None = None) -> Adjoint:
        """Return what dL = of_values' df + of_coefficients' da means for the kernel and for C.

        Parameters
        ----------
        of_values : ndarray of shape (n,)
            Derivative of L with respect to the machine's value at each example.
        of_coefficients : ndarray of shape (n,), optional
            Derivative of L with respect to each coefficient.
        """
        machine, problem = self.machine, self.machine.problem
        rows = np.flatnonzero(of_values)
        right = of_values[rows] @ self.kernel.block(rows, self.free)
        if of_coefficients is not None:
            right = right + of_coefficients[self.free]
        q, r = self.system.solve(right, float(of_values.sum()))
        left = of_values.copy()
        left[self.free] -= q
        if self._limits is not None:
            # Without a free variable the intercept lies halfway between two examples that limit it.
            left[self._limits] -= float(of_values.sum()) / len(self._limits)
        if problem.squared:
            assert self._ridge is not None
            return Adjoint(left, machine.alpha, float(np.sum(q * self._ridge * machine.alpha[self.free])))
        growing = np.zeros(len(left))  # C da/dC, while free variables stay
        growing[self.bounded] = machine.alpha[self.bounded]
        slope = float(left[self._rows] @ self.kernel.apply(self._rows, growing))
        if problem.fit_intercept and self._limits is None:
            slope -= float(r) * float(growing.sum())
        if of_coefficients is not None:
            slope += float(of_coefficients @ growing)
        return Adjoint(left, machine.alpha, slope)


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
    """Return the examples whose values will be known, and their kernel values with the support vectors."""
    n, everything = len(machine.alpha), np.arange(len(machine.alpha))
    if isinstance(K, np.ndarray):
        return everything, KernelPart(K, everything, everything, n)
    wanted = np.zeros(n, dtype=bool)
    wanted[everything if rows is None else rows] = True
    wanted[machine.free] = True
    if machine.problem.fit_intercept:
        wanted[_limiting(machine)] = True  # in case that no free variable is left
    known = np.flatnonzero(wanted)
    return known, KernelPart(K(known, machine.support), known, machine.support, n)


def _put_back(machine: Machine, exact: Machine, outside: NDArray[np.intp]) -> Machine:
    """Put variables to the bounds that they have left."""
    alpha, problem = machine.alpha.copy(), machine.problem
    negative = problem.signs[outside] * exact.alpha[outside] < 0
    alpha[outside] = np.where(negative, 0.0, problem.signs[outside] * problem.bounds[outside])
    return replace(machine, alpha=alpha)


def _limiting(machine: Machine) -> NDArray[np.intp]:
    """Return the two examples between which the intercept of a machine without free variables lies."""
    problem = machine.problem
    slope = problem.signs - (machine.values - machine.intercept)  # what the intercept would have to be
    taking_part = problem.bounds > 0
    at_top = np.zeros(len(slope), dtype=bool)
    at_top[machine.bounded] = True
    # Positive examples at 0 and negative ones at their bound ask for a larger intercept, the others for a smaller one.
    from_below = taking_part & ((problem.signs > 0) != at_top)
    from_above = taking_part & ((problem.signs > 0) == at_top)
    lowest = np.flatnonzero(from_below)[np.argsort(-slope[from_below])[:1]]
    highest = np.flatnonzero(from_above)[np.argsort(slope[from_above])[:1]]
    return np.concatenate([lowest, highest])

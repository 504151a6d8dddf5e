"""The dual problem that every machine builds and every solver solves.

maximise f(a) = y'a - a'Ka/2 subject to sum(a) = const, L <= a <= U   [Glasmachers2008, eq. 4.1]

The variables are signed and K carries no labels; the gradient is G = y - Ka. Regression takes a kink off the objective,

maximise f(a) = y'a - kink'|a| - a'Ka/2,

where every box contains 0: the slope of f falls by 2 kink_n where a_n passes 0. G stays the gradient of the smooth
part, y - Ka.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource
from widemargin.runtime import Stop, Work, free_memory, single_threaded_blas
from widemargin.runtime.checks import is_whole
from widemargin.runtime.stopping import NO_SECONDS

Vector = NDArray[np.float64]

SOLVERS = ("smo", "block")
#: Solvers of minimum norm problems only: linear term 0, lower bounds 0, one constant sum, upper bounds not below it.
GEOMETRIC_SOLVERS = ("mdm",)
#: Solves no dual problem but counts, see :mod:`widemargin.machines.max_min_over`.
COUNTING_SOLVERS = ("maxminover",)
SELECTIONS = ("maximal-violating-pair", "second-order", "maximum-gain")
PLANS = (0, 1, 3)

#: Texts that :class:`SolverOptions` accepts.
CHOICES: dict[str, tuple[str, ...]] = {
    "solver": ("auto", *SOLVERS, *GEOMETRIC_SOLVERS, *COUNTING_SOLVERS),
    "selection": ("auto", *SELECTIONS),
    "dtype": ("float32", "float64"),
}

#: Every combination of solver parts, as keyword arguments of :class:`SolverOptions`. All of them are valid.
COMBINATIONS: tuple[dict[str, Any], ...] = tuple(
    {"solver": solver, "selection": selection, "planning_ahead": plan, "shrinking": shrinking, "dtype": dtype}
    for solver, selection, plan, shrinking, dtype in itertools.product(
        SOLVERS, SELECTIONS, PLANS, (True, False), ("float32", "float64")
    )
)


@dataclass(frozen=True, slots=True)
class DualProblem:
    """Linear term, box and constant sum of eq. 4.1; the kernel comes separately, as a row source.

    With `group` (0 or 1 for each variable) the variables of each group have a constant sum of their own, `total[0]` and
    `total[1]`; without it all of them together sum to `total[0]`. With `kink` (at least 0 for each variable) the
    objective loses kink'|a|; every box then contains 0, and there are no groups.
    """

    linear: Vector
    lower: Vector
    upper: Vector
    total: tuple[float, float] = (0.0, 0.0)
    group: NDArray[np.uint8] | None = None
    kink: Vector | None = None


#: A kernel cache of so many bytes is taken without asking how much memory there is.
LITTLE_MEMORY = 2**22

#: After the time for a solve is up, the gradient of the point reached is computed if that takes no longer than this:
#: some seconds, and a share of the time there was.
GRACE_SECONDS, GRACE_SHARE = 0.05, 0.1


@dataclass(frozen=True)
class StopRule(Stop):
    """When a solve may end: KKT violation within `tolerance`, or a budget spent.

    `grace_seconds` after the deadline, what was reached must have been said; None stands for `GRACE_SECONDS` and
    `GRACE_SHARE` of the time that is left when a solve begins.
    """

    tolerance: float = 1e-3
    grace_seconds: float | None = field(default=None, kw_only=True)


def grace_of(max_seconds: float) -> float:
    """Return how long a solve of so many seconds may still compute what it has reached.

    Examples
    --------
    >>> round(grace_of(2.0), 6), grace_of(-1.0)
    (0.25, 0.05)
    """
    return GRACE_SECONDS + GRACE_SHARE * max(0.0, max_seconds)


@dataclass(frozen=True)
class SolverOptions:
    """How a problem is solved. None of it changes the solution beyond the tolerance.

    `solver`: "smo" (two variables a step), "block" (hundreds of rows at a time) or "auto", and those for some problems
    only; `selection`: the working-set rule; `planning_ahead`: 0 for Newton steps, N to plan with the N most recent
    working sets; `accelerated`: whether "mdm" takes a cycle of steps as one; `dtype`: storage of kernel values;
    `cache_bytes`: None for what the problem needs, at most a quarter of the free memory.
    """

    solver: str = "auto"
    selection: str = "auto"
    planning_ahead: int = 3
    shrinking: bool = True
    accelerated: bool = True
    dtype: str = "float32"
    cache_bytes: int | None = None
    n_threads: int = 1

    @property
    def is_geometric(self) -> bool:
        """Whether the solver looks for nearest points."""
        return self.solver in GEOMETRIC_SOLVERS

    def __post_init__(self) -> None:
        for name, accepted in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in accepted:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}; got {value!r}.")
        for name, least in (("planning_ahead", 0), ("n_threads", 1), ("cache_bytes", 0)):
            value = getattr(self, name)
            if value is not None and not is_whole(value, least):
                raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
        if not isinstance(self.accelerated, (bool, np.bool_)) and self.accelerated not in (0, 1):
            raise ValueError(f"accelerated must be True or False; got {self.accelerated!r}.")


def cache_bytes(cache_size: float | str, rows: int, dtype: str) -> int:
    """Bytes of kernel cache: megabytes if a number, else what the problem needs, at most a quarter of what is free."""
    if cache_size != "auto":
        return int(float(cache_size) * 2**20)
    whole = rows * (rows + 16) * np.dtype(dtype).itemsize
    return whole if whole <= LITTLE_MEMORY else min(whole, free_memory() // 4)


@dataclass(frozen=True)
class Outcome(Work):
    """How a solve ended, and the work that it took.

    The violation is recomputed in float64; gap and objective are float64 sums over kernel values of type `precision`,
    right to about 1e-7 of the objective where that is float32. Where time did not suffice for that,
    nothing is known of them: violation and gap are infinite, the objective is NaN. `precision` is the type of the
    kernel values that the tolerance needed: "float32" or "float64".
    """

    reason: str
    kkt_violation: float
    duality_gap: float
    objective: float
    precision: str

    @property
    def known(self) -> bool:
        """Whether time sufficed for violation, gap and objective."""
        return not math.isinf(self.kkt_violation)

    def certified(self, kkt_violation: float, duality_gap: float, objective: float) -> Outcome:
        """Say it in the units of another problem, as far as it is known."""
        if not self.known:
            return self
        return replace(self, kkt_violation=kkt_violation, duality_gap=duality_gap, objective=objective)


#: Columns of a table of outcomes, and the reason there of a solve whose numbers a float64 does not hold.
COLUMNS = {name: at for at, name in enumerate(_core.OUTCOME_COLUMNS)}
OVERFLOW = _core.REASONS.index("overflow")


def outcome_of(row: Vector) -> Outcome:
    """Read a row of a table of outcomes."""
    numbers = dict(zip(COLUMNS, row.tolist(), strict=True))
    counts = {name: int(numbers[name]) for name in ("iterations", "kernel_evaluations", "kernel_operations")}
    return Outcome(
        reason=_core.REASONS[int(numbers["reason"])],
        kkt_violation=numbers["kkt_violation"],
        duality_gap=numbers["duality_gap"],
        objective=numbers["objective"],
        seconds=numbers["seconds"],
        precision="float64" if numbers["precision"] else "float32",
        **counts,
    )


def row_of(outcome: Any, intercept: float = 0.0) -> list[float]:
    """Write an outcome, or what has its attributes, as a row of a table.

    Examples
    --------
    >>> end = Outcome("stalled", 0.5, 0.25, 2.0, "float64", iterations=7, seconds=0.125)
    >>> outcome_of(np.array(row_of(end))) == end
    True
    """
    numbers = {
        **vars(outcome),
        "reason": _core.REASONS.index(outcome.reason),
        "precision": outcome.precision == "float64",
        "intercept": intercept,
    }
    return [float(numbers[name]) for name in COLUMNS]


def joint_outcome(table: NDArray[np.float64]) -> Outcome:
    """Read a table of outcomes as that of all problems together; the reason is the first that is no convergence."""
    reasons = table[:, COLUMNS["reason"]]
    others = np.flatnonzero(reasons != _core.REASONS.index("converged"))
    row = table.sum(axis=0)
    row[COLUMNS["reason"]] = reasons[others[0]] if len(others) else _core.REASONS.index("converged")
    row[COLUMNS["kkt_violation"]] = table[:, COLUMNS["kkt_violation"]].max()
    return outcome_of(row)


@dataclass(frozen=True, slots=True)
class Solution:
    """A point, its gradient y - Ka (recomputed; in float64 where it decides the violation), intercept, and outcome.

    Where time did not suffice for that gradient, it and the intercept are estimates, and the violation is infinite.

    `intercept` is the price of the constant sum: the slope of the objective along variables inside their boxes (and not
    at a kink). The second group of variables, if there is one, has `second_intercept`.
    """

    alpha: Vector
    gradient: Vector
    intercept: float
    outcome: Outcome
    second_intercept: float = 0.0


def taking_part(targets: Vector, bounds: Vector) -> Vector:
    """Return the targets of the samples that take part, and 0 for those held out, whose bounds are 0.

    Targets of held-out samples stay out of the linear term: their values are read off the gradient, and where kernel
    values are large, rounding would leave nothing but the target of them.

    Examples
    --------
    >>> taking_part(np.array([1.0, -1.0]), np.array([5.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    return np.where(bounds > 0, targets, 0.0)


def values_of(solution: Solution, linear: Vector | float, ridge: Vector | None = None, at: Any = slice(None)) -> Vector:
    """Read decision values off a solution, of samples held out too: f(x_n) = y_n - G_n + b.

    The one place that does. `linear` is the linear term of the problem at the samples asked for, see
    :func:`taking_part`; `ridge`, likewise, what the square loss added to the diagonal of the kernel: the slack is no
    part of the function.

    Examples
    --------
    >>> outcome = Outcome("converged", 0.0, 0.0, 0.0, "float64")
    >>> solution = Solution(np.array([0.5, 0.0]), np.array([0.25, -0.75]), 0.5, outcome)
    >>> values_of(solution, np.array([1.0, 0.0])).tolist(), values_of(solution, 0.0, at=np.array([1])).tolist()
    ([1.25, 1.25], [1.25])
    """
    values = linear - solution.gradient[at] + solution.intercept
    return np.asarray(values if ridge is None else values - ridge * solution.alpha[at])


def values_of_each(
    solutions: Sequence[Solution], linear: Vector | float, ridges: Sequence[Vector] | None, at: Any
) -> NDArray[np.float64]:
    """Read the decision values of several solutions, a row for each, as :func:`values_of` does."""
    gradients = np.array([one.gradient[at] for one in solutions])
    values = np.asarray(linear - gradients + np.array([[one.intercept] for one in solutions]))
    return values if ridges is None else values - np.array(ridges) * np.array([one.alpha[at] for one in solutions])


@dataclass(frozen=True)
class Subproblem:
    """A problem over some samples of a row source, with an optional starting point."""

    ids: NDArray[np.int32]
    problem: DualProblem
    start: Vector | None = None
    start_gradient: Vector | None = None


def solve_all(
    subproblems: Sequence[Subproblem], rows: RowSource, *, stop: StopRule, options: SolverOptions
) -> list[Solution]:
    """Solve several problems over one row source; many are spread over the threads, few use all threads each."""
    largest, tasks = 0, []
    for sub in subproblems:
        if options.solver in GEOMETRIC_SOLVERS:
            _require_minimum_norm(sub.problem, options.solver)
        largest = max(largest, len(sub.ids))
        tasks.append(as_task(sub.problem, sub.ids, sub.start, sub.start_gradient))
    with single_threaded_blas():
        solutions = as_solutions(_core.solve_all(rows, tasks, **settings_of(options, largest), **limits_of(stop)))
    for one in solutions:
        finite(one)
    return solutions


def two_class_problems(
    ids: NDArray[np.int32],
    sizes: NDArray[np.intp],
    labels: Vector,
    bounds: NDArray[np.float64],
    ridges: NDArray[np.float64] | None = None,
    spare: int | None = None,
) -> tuple[_core.LaneProblems, NDArray[np.int64], NDArray[np.int32]]:
    """Hand two-class problems to the core, the variables of all of them one after the other.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        The samples behind the variables, of which the first ``sizes[0]`` belong to the first problem.
    sizes : ndarray of int
    labels : ndarray of shape (n,)
        1 and -1.
    bounds, ridges : ndarray of shape (links, n)
        For each link of a chain, the largest coefficients and what the square loss adds to the diagonal of the kernel.
    spare : int, optional
        Without an intercept, every problem has one variable more, its last one, which has no bounds and takes up the
        sum: the number of its sample.

    Returns
    -------
    problems, begins, ids
        For the core; where each problem begins, and where the last one ends; the samples with the spare ones.
    """
    ends = labels * bounds
    lower, upper = np.minimum(0.0, ends), np.maximum(0.0, ends)
    if spare is not None:
        last = np.cumsum(sizes)
        ids, labels = np.insert(ids, last, spare), np.insert(labels, last, 0.0)
        lower, upper = np.insert(lower, last, -np.inf, axis=1), np.insert(upper, last, np.inf, axis=1)
        ridges = None if ridges is None else np.insert(ridges, last, 0.0, axis=1)
        sizes = sizes + 1
    begins = np.append(0, np.cumsum(sizes))
    return _core.LaneProblems(ids, begins, labels, lower, upper, ridges), begins, ids


def settings_of(options: SolverOptions, variables: int) -> dict[str, Any]:
    """Say how problems of up to so many variables are solved, in the words of the core."""
    cache = cache_bytes("auto", variables, options.dtype) if options.cache_bytes is None else options.cache_bytes
    return {
        "solver": "accelerated-mdm" if options.solver == "mdm" and options.accelerated else options.solver,
        "selection": options.selection,
        "planning_ahead": int(options.planning_ahead),
        "shrinking": options.shrinking,
        "double_precision": options.dtype == "float64",
        "cache_bytes": cache,
        "n_threads": options.n_threads,
    }


def limits_of(stop: StopRule) -> dict[str, Any]:
    """Say when a solve may end, in the words of the core."""
    seconds, grace = NO_SECONDS, stop.grace_seconds
    if stop.deadline is not None:
        seconds = stop.deadline - time.perf_counter()
        grace = grace_of(seconds) if grace is None else grace
    return {
        "tolerance": stop.tolerance,
        "max_iterations": 2**62 if stop.max_iterations is None else stop.max_iterations,
        "max_seconds": seconds,
        "grace_seconds": NO_SECONDS if grace is None else grace,
    }


def as_task(
    problem: DualProblem,
    ids: NDArray[np.int32] | None = None,
    start: Vector | None = None,
    start_gradient: Vector | None = None,
    *,
    ridge: Vector | None = None,
) -> _core.Task:
    """Hand a problem to the core, which converts arrays; `ridge` only in chains, elsewhere the row source has it."""
    return _core.Task(
        np.empty(0, dtype=np.int32) if ids is None else ids,
        problem.linear,
        problem.lower,
        problem.upper,
        start,
        start_gradient,
        problem.total,
        problem.group,
        problem.kink,
        ridge,
    )


def _require_minimum_norm(problem: DualProblem, solver: str) -> None:
    """Refuse problems that the geometric solvers do not solve."""
    reason = None
    if problem.group is not None:
        reason = "this problem has two constant sums"
    elif problem.kink is not None:
        reason = "the objective of this problem has kinks"
    elif problem.linear.any():
        reason = "the linear term of this problem is not 0"
    elif problem.lower.any() or not (problem.upper >= problem.total[0]).all() or problem.total[0] <= 0:
        reason = "the box of this problem is not that of a convex hull"
    if reason is not None:
        raise ValueError(
            f"solver={solver!r} solves minimum norm problems only, and {reason}; 'smo', 'block' and 'auto' can solve "
            "it."
        )


def as_tasks(
    problems: Sequence[DualProblem], ridges: Sequence[Vector | None], start_gradient: Vector | None
) -> list[_core.Task]:
    """Hand the problems of a chain to the core; the gradient is that of the first one at the start."""
    gradients = [start_gradient, *[None] * (len(problems) - 1)]
    return [
        as_task(problem, start_gradient=gradient, ridge=ridge)
        for problem, ridge, gradient in zip(problems, ridges, gradients, strict=False)
    ]


def as_solutions(solved: Sequence[_core.Solved]) -> list[Solution]:
    """Take solutions over from the core."""
    found = []
    for one in solved:
        end = one.outcome
        outcome = Outcome(
            reason=end.reason,
            kkt_violation=end.kkt_violation,
            duality_gap=end.duality_gap,
            objective=end.objective,
            iterations=end.iterations,
            kernel_evaluations=end.kernel_evaluations,
            seconds=end.seconds,
            precision=end.precision,
            kernel_operations=end.kernel_operations,
        )
        alpha, gradient = np.asarray(one.alpha), np.asarray(one.gradient)
        found.append(Solution(alpha, gradient, end.intercept, outcome, end.second_intercept))
    return found


def finite(solution: Solution) -> None:
    """Refuse a solution whose numbers went beyond what a float64 holds."""
    if solution.outcome.reason == "overflow":
        refuse_overflow()


def refuse_overflow() -> NoReturn:
    """Say that numbers went beyond what a float64 holds."""
    raise ValueError(
        "Kernel values or coefficients became too large to compute with; scale X (for example with StandardScaler) or "
        "the kernel matrix, or lower C or the sample weights."
    )


def solve(
    problem: DualProblem,
    rows: RowSource,
    *,
    stop: StopRule | None = None,
    options: SolverOptions | None = None,
    start: Vector | None = None,
    start_gradient: Vector | None = None,
) -> Solution:
    """Solve one dual problem.

    Parameters
    ----------
    problem : DualProblem
        Linear term and box of n variables, and kinks if there are any.
    rows : RowSource
        Kernel rows of the n samples, from :func:`widemargin.kernels.rows.row_source`.
    stop : StopRule, optional
    options : SolverOptions, optional
    start : ndarray of shape (n,), optional
        Any point; it is moved into the box, and onto the constant sum where the gradient says that it costs least.
        Without it a solve starts from 0, or from the feasible point nearest to it.
    start_gradient : ndarray of shape (n,), optional
        y - K start, if known: saves its computation. Kinks are no part of it.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import row_source
    >>> from widemargin.machines.dual import DualProblem, solve
    >>> y = np.array([1.0, -1.0])
    >>> rows = row_source(np.array([[1.0], [-1.0]]), kernel="linear")
    >>> solve(DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y)), rows).alpha
    array([ 0.5, -0.5])
    """
    if rows.size != len(problem.linear):
        raise ValueError(
            f"The row source has {rows.size} rows where the problem has {len(problem.linear)} variables; it must have "
            "one for each."
        )
    everything = Subproblem(np.arange(len(problem.linear), dtype=np.int32), problem, start, start_gradient)
    return solve_all([everything], rows, stop=stop or StopRule(), options=options or SolverOptions())[0]


def project(alpha: Vector, problem: DualProblem, total: float | None = None) -> Vector:
    """Nearest point to `alpha` in the box whose sum is `total` (the problem's own one if not given), in linear time.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.machines.dual import DualProblem, project
    >>> box = DualProblem(np.zeros(2), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    >>> project(np.array([2.0, -0.5]), box)
    array([ 1., -1.])
    """
    if problem.group is not None:
        raise ValueError("project handles one constant sum; the problem has two groups of variables.")
    point = np.ascontiguousarray(alpha, dtype=np.float64)
    wanted = problem.total[0] if total is None else float(total)
    return np.asarray(_core.project(point, problem.lower, problem.upper, wanted))

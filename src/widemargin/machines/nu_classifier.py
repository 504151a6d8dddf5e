"""The nu-classifier and its pairs of classes.

For a pair of classes with labels y_n = +1 and -1 and weights v_n:

minimise ||w||^2 / 2 - nu sum(v) rho + sum_n v_n max(0, rho - y_n (<w, phi(x_n)> + b))

whose dual is eq. 4.1 of [Glasmachers2008] with linear term 0, |a_n| <= v_n, and a constant sum for each class:
nu sum(v) / 2 for the first one and its negative for the second [Chang2011, section 2.2]. The prices of the two sums are
b - rho and b + rho. Divided by rho, the machine is the C-classifier of C_n = v_n / rho, and that is how it is kept.

Problems of this kind scale: v / s has the solution a / s, and rho / s. They are solved at the scale at which rho is 1,
so that the tolerance means what it means for every other classifier: a violation in units of the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import RowSource
from widemargin.machines.chain import Chain, ChainKernel, Link, ended_early
from widemargin.machines.classifier import (
    ClassPairs,
    Pair,
    PairSamples,
    PairSolution,
    box,
    in_turns,
    share_class_rows,
    starting_points,
    typical,
)
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Subproblem, solve_all
from widemargin.machines.nu_property import with_borders
from widemargin.machines.one_class import times

Vector = NDArray[np.float64]

#: A rho below this share of what the weights and the kernel's diagonal admit is 0 but for rounding.
SMALLEST_RHO = 1e-10

#: A rho below this share of the same, times the tolerance, is not looked for any longer: there is none to speak of.
NEGLIGIBLE_RHO = 1e-3

#: Gradients are exact to about this share of the same.
ROUNDING = 1e-14

#: Times that the scale of a problem is corrected.
MOST_STAGES = 30


def constant_sum(signs: Vector, weights: Vector, nu: float) -> tuple[float, float]:
    """Return the constant sum of each class of a pair, and the largest one that its samples admit.

    Examples
    --------
    >>> constant_sum(np.array([1.0, -1.0, -1.0, -1.0]), np.ones(4), 0.25)
    (0.5, 1.0)
    """
    first, second = float(weights[signs > 0].sum()), float(weights[signs < 0].sum())
    return nu * (0.5 * (first + second)), min(first, second)


def tightest_pair(labels: NDArray[np.intp], n_classes: int, weights: Vector) -> tuple[Pair, float] | None:
    """Return the pair of classes that admits the smallest nu only, and that nu; None if no two classes have weight.

    It is twice the share of the lighter class.

    Examples
    --------
    >>> tightest_pair(np.array([0, 0, 0, 1, 2, 2]), 3, np.ones(6))
    ((0, 1), 0.5)
    """
    of_class = np.bincount(labels, weights=weights, minlength=n_classes)
    present = np.flatnonzero(of_class > 0)
    if len(present) < 2:
        return None
    # The lightest class and the heaviest one.
    lightest = int(present[np.argmin(of_class[present])])
    others = present[present != lightest]
    heaviest = int(others[np.argmax(of_class[others])])
    limit = of_class[lightest] / (0.5 * (of_class[lightest] + of_class[heaviest]))
    return (min(lightest, heaviest), max(lightest, heaviest)), float(limit)


@dataclass
class _Search:
    """One pair of classes on its way to the scale at which rho is 1; all numbers are in units of `power`."""

    samples: PairSamples
    bounds: Vector
    total: float
    start: Vector
    largest_rho: float
    tolerance: float
    power: float = 1.0
    found: Solution | None = None
    scale: float = 1.0
    settled: bool = False
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def smallest_rho(self) -> float:
        """What cannot be told from none."""
        return SMALLEST_RHO * self.largest_rho

    @property
    def negligible_rho(self) -> float:
        """What counts as none where it is not known better."""
        return self.largest_rho * max(SMALLEST_RHO, min(1.0, NEGLIGIBLE_RHO * self.tolerance))

    @property
    def smallest_scale(self) -> float:
        """Scale below which gradients are not exact enough for the tolerance."""
        return self.largest_rho * max(SMALLEST_RHO, min(1.0, ROUNDING / self.tolerance))

    @property
    def last(self) -> Solution:
        """The last solution, with borders that leave no more than its share of the weight inside the margin."""
        assert self.found is not None
        return self.found

    @property
    def rho(self) -> float:
        """The margin, from the prices of the two sums."""
        return 0.5 * (self.last.second_intercept - self.last.intercept)

    def problem(self, scale: float) -> DualProblem:
        """Build the dual problem at some scale."""
        bounded = box(self.samples.signs, self.bounds / scale)
        total, group = self.total / scale, (self.samples.signs < 0).astype(np.uint8)
        return DualProblem(np.zeros(len(self.bounds)), bounded.lower, bounded.upper, (total, -total), group)

    def subproblem(self) -> Subproblem:
        """Build the dual problem at the present scale, to start from the last solution."""
        problem, ids = self.problem(self.scale), self.samples.ids
        if self.found is None:
            return Subproblem(ids, problem, self.start / self.scale)
        return Subproblem(ids, problem, self.found.alpha / self.scale, self.found.gradient / self.scale)

    def take(self, solution: Solution) -> None:
        """Keep a solution."""
        rounding = ROUNDING * self.largest_rho
        self.found = with_borders(self.problem(1.0), times(solution, self.scale), rounding)
        self.outcomes.append(self.found.outcome)

    def settle(self) -> None:
        """Settle for the last solution if its own rho says so, or if there is none; else go on at another scale."""
        reason, violation = self.last.outcome.reason, self.last.outcome.kkt_violation
        known = self.rho > self.smallest_rho and violation <= self.tolerance * self.rho
        # The largest rho that the violation leaves room for: a rho that it hides is not known to be none.
        none = self.rho + violation <= self.negligible_rho
        self.settled = known or none or reason != "converged"
        if not self.settled and self.scale <= self.smallest_scale:
            self.settled = True
            self.found = replace(self.last, outcome=replace(self.last.outcome, reason="stalled"))
        # Where the violation hides rho, a smaller one has to tell whether there is any.
        hidden = max(violation / 8.0, self.negligible_rho / (4.0 * self.tolerance))
        self.rescale(self.rho if self.rho > violation else hidden)

    def settle_early(self) -> None:
        """Settle for the starting point if it was solved (small problems are); else guess the scale from it."""
        last = self.last
        solved = self.rho > self.smallest_rho and last.outcome.kkt_violation <= self.tolerance * self.rho
        self.settled = solved or last.outcome.reason != "converged"
        # a'Ka would be 2 rho total if no sample had slack.
        self.rescale(-float(last.alpha @ last.gradient) / (2.0 * self.total))

    def rescale(self, rho: float) -> None:
        """Choose the scale for an expected rho: a power of two, so that nothing is rounded, that makes it 1 to 2."""
        # The logarithm of the largest number is rounded up.
        self.scale = 2.0 ** min(
            math.floor(math.log2(min(max(rho, self.smallest_scale), np.finfo(np.float64).max))), 1023
        )

    def machine(self) -> PairSolution:
        """Divide by rho: variables, intercept and certificate of the C-classifier with C_n = v_n / rho."""
        known = self.last.outcome.kkt_violation <= self.tolerance * self.rho
        found = self.rho > (self.smallest_rho if known else self.negligible_rho)
        rho, last = self.rho if found else self.largest_rho, self.last
        outcome = replace(
            last.outcome.with_work(self.outcomes),
            reason=last.outcome.reason if self.settled else "stalled",
            kkt_violation=last.outcome.kkt_violation / rho,
            duality_gap=last.outcome.duality_gap / rho / rho,
            # sum |a_n| is the same for all feasible points
            objective=2.0 * self.total / rho + last.outcome.objective / rho / rho,
        )
        intercept = 0.5 * (last.intercept + last.second_intercept) / rho
        signs, ids, pair = self.samples.signs, self.samples.ids, self.samples.pair
        solution = Solution(last.alpha / rho, signs + last.gradient / rho, intercept, outcome)
        return PairSolution(pair, ids, solution, hard_margin_found=found)


def filled(signs: Vector, weights: Vector, total: float) -> Vector:
    """Return a feasible point with few variables off zero: the heaviest samples of each class, filled up.

    Examples
    --------
    >>> filled(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4), 1.5).tolist()
    [1.0, 0.5, -1.0, -0.5]
    """
    start = np.zeros(len(signs))
    for sign in (1.0, -1.0):
        mine = np.flatnonzero(signs == sign)
        mine = mine[np.argsort(-weights[mine], kind="stable")]
        before = np.concatenate([[0.0], np.cumsum(weights[mine])[:-1]])
        start[mine] = sign * np.clip(total - before, 0.0, weights[mine])
    return start


def restored(alpha: Vector, signs: Vector, bounds: Vector, total: float) -> Vector:
    """Bring a point, in units of the weights, to the constant sums while most variables stay where they are.

    Those inside their bounds give way first, then those at a bound; a projection would move all zeros.

    Examples
    --------
    >>> restored(np.array([1.0, 0.5, 0.0, -1.5]), np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4), 1.75).tolist()
    [1.0, 0.75, 0.0, -1.0]
    """
    sizes = np.clip(signs * alpha, 0.0, bounds)
    for sign in (1.0, -1.0):
        mine = np.flatnonzero(signs == sign)
        missing = total - float(sizes[mine].sum())
        room = bounds[mine] - sizes[mine] if missing > 0.0 else sizes[mine]
        free = (sizes[mine] > 0.0) & (sizes[mine] < bounds[mine])
        order = np.argsort(~free, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
        sizes[mine[order]] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room[order])
    return signs * np.clip(sizes, 0.0, bounds)


def starting_points_in_weights(machines: list[PairSolution], weights: Vector, nu: float) -> dict[Pair, Vector]:
    """Spread solutions over all samples, multiplied by their rho, to start the next fit from."""
    starts = starting_points(machines, len(weights))
    for machine in machines:
        total = float(np.abs(machine.solution.alpha).sum())
        if total > 0.0:
            starts[machine.pair] *= nu * float(weights[machine.ids].sum()) / total
    return starts


def solve_nu_pairs(
    rows: RowSource,
    labels: NDArray[np.intp],
    n_classes: int,
    nu: float,
    weights: Vector,
    *,
    stop: StopRule,
    options: SolverOptions,
    starts: Mapping[Pair, Vector] | None = None,
) -> list[PairSolution]:
    """Train every pair of classes that both have samples with a positive weight.

    Parameters
    ----------
    rows, labels, n_classes
        As in :func:`widemargin.machines.classifier.solve_pairs`.
    nu : float
        Feasible for every pair; see :func:`tightest_pair`.
    weights : ndarray
        Weight of every sample: 0 leaves it out, 2 is the same as having it twice.
    stop : StopRule
        Its tolerance is in units of the margin, its budgets hold for all stages together.
    options : SolverOptions
        See :mod:`widemargin.machines.dual`.
    starts : mapping from pair to ndarray, optional
        Signed starting points over all samples, in units of the weights: see :func:`starting_points_in_weights`.

    Returns
    -------
    list of PairSolution
        As many as time suffices to begin with, scaled to margin 1, certificates too: those of the C-classifier with
        C_n = v_n / rho. Where the hulls of two classes, reduced to weights of at most v_n, meet or nearly so, rho is 0;
        such a machine is divided by the largest rho that weights and kernel admit, and its `hard_margin_found` is
        unset.
    """
    pairs = ClassPairs(labels, n_classes, weights)
    if len(pairs) > 1:
        rows, options = share_class_rows(rows, labels, options)
    diagonal, machines = rows.diagonal(), list[PairSolution]()

    def solve(subproblems: list[Subproblem], left: StopRule) -> list[Solution]:
        return solve_all(subproblems, rows, stop=left, options=options)

    for some in in_turns(pairs, stop):
        searches = []
        for pair in some:
            last = None if starts is None or pair.pair not in starts else starts[pair.pair][pair.ids]
            unit = typical(diagonal[pair.ids])
            searches.append(_search(pair, weights[pair.ids], nu, unit, stop.tolerance, last))
        machines += _settled(searches, solve, stop)
    return machines


def solve_nu_chain(
    kernel: ChainKernel, samples: PairSamples, weights: Vector, fractions: Sequence[float], *, stop: StopRule
) -> Iterator[PairSolution]:
    """Train one pair of classes for several nu, each from the last solution.

    Parameters
    ----------
    kernel : ChainKernel
    samples : PairSamples
        Some samples of the kernel, or all; those of a sign 0 are held out.
    weights : ndarray
        Theirs.
    fractions : sequence of float
        Feasible values of nu.
    stop : StopRule
        See :func:`solve_nu_pairs`; the deadline is for all of them together.

    Yields
    ------
    PairSolution
        See :func:`solve_nu_pairs`; fewer where time ran out.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> kernel = ChainKernel(row_source(np.array([[0.0], [1.0], [3.0], [4.0]]), kernel="linear"))
    >>> samples = PairSamples((0, 1), np.arange(4, dtype=np.int32), np.array([1.0, 1.0, -1.0, -1.0]))
    >>> found = solve_nu_chain(kernel, samples, np.ones(4), [0.2, 0.4], stop=StopRule())
    >>> [one.solution.alpha.round(3).tolist() for one in found]
    [[0.0, 0.5, -0.5, 0.0], [0.0, 0.5, -0.5, 0.0]]
    """
    unit = typical(kernel.diagonal()[samples.ids[weights > 0]])
    whole = np.array_equal(samples.ids, np.arange(kernel.rows.size))
    part: ChainKernel | None = None
    last: Vector | None = None
    for nu in fractions:
        if part is None:
            part = kernel if whole else kernel.part(samples.ids)
        search = _search(samples, weights, nu, unit, stop.tolerance, last)
        (found,) = _settled([search], partial(_solve_on, part), stop)
        last = search.last.alpha * search.power
        if not kernel.keeps:
            part = None
        yield found
        if ended_early(found.solution):
            break


def _solve_on(kernel: ChainKernel, subproblems: list[Subproblem], stop: StopRule) -> list[Solution]:
    """Solve problems over all samples of a kernel."""
    return [next(kernel.solve(Chain((Link(one.problem),), start=one.start), stop)).solution for one in subproblems]


def _search(
    samples: PairSamples, weights: Vector, nu: float, unit: float, tolerance: float, last: Vector | None
) -> _Search:
    """Begin with a pair of classes, at the last solution if there is one; `unit` is a typical kernel value."""
    total = min(constant_sum(samples.signs, weights, nu))
    if total == 0.0:
        raise ValueError(f"nu={nu:g} times the weights of a class is 0 in float64; raise nu, or the weights.")
    # No variable exceeds the sum; twice the sum is no bound then, and a tighter one for the gap.
    bounds = np.minimum(weights, 2.0 * total)
    # The machine divided by rho is the same for weights of any unit: that of the sum keeps clear of tiny numbers.
    power = 2.0 ** math.floor(math.log2(total))
    bounds, total = bounds / power, total / power
    start = filled(samples.signs, bounds, total)
    if last is not None:
        start = restored(last / power, samples.signs, bounds, total)
    largest_rho = max(total * unit, 1e200 * np.finfo(np.float64).tiny)
    return _Search(samples, bounds, total, start, largest_rho, tolerance, power)


def _settled(
    searches: list[_Search], solve: Callable[[list[Subproblem], StopRule], list[Solution]], stop: StopRule
) -> list[PairSolution]:
    """Solve at one scale after the other until each pair has found its own."""

    def advance(some: list[_Search], tolerance: float) -> None:
        spent = max((sum(one.iterations for one in search.outcomes) for search in some), default=0)
        left = replace(stop.after(spent), tolerance=tolerance)
        for search, solution in zip(some, solve([search.subproblem() for search in some], left), strict=True):
            search.take(solution)

    # The gradient at the starting point says what scale to expect.
    advance(searches, np.inf)
    for search in searches:
        search.settle_early()
    for _ in range(MOST_STAGES):
        unsettled = [search for search in searches if not search.settled]
        if not unsettled:
            break
        advance(unsettled, stop.tolerance)
        for search in unsettled:
            search.settle()
    return [search.machine() for search in searches]

"""Chains of dual problems: each starts from the solution of the one before.

A chain is a line of a grid: one kernel, one fold of the samples, C (or nu) growing. Held-out samples are variables
whose box is [0, 0]; their decision values are at hand at the end, f(x_n) = y_n - G_n + b, so nothing is predicted.

On a kernel matrix the whole chain is one call into the core (`cpp/core/chain/matrix_chain.hpp`), or one call a link,
for those who want to know of each as soon as it is solved; the result is the same, bit for bit. Where the matrix does
not fit into memory, the chain is walked over cached kernel rows (`cpp/core/chain/row_chain.hpp`). Both start their
links by the same rules (`cpp/core/chain/starts.hpp`). Machines that know better starts than a scaled solution give
them themselves.

A link for which the digits of the matrix do not suffice is solved once more, on exact rows, by the solver of single
problems. They may not suffice for the tolerance, where coefficients are large; or not to tell samples apart, where
kernel values lie so close to each other that float32 leaves nothing of their differences (a Gaussian so wide that all
its values are next to 1, a polynomial whose constant is far larger than the products): there all that is computed from
the matrix is noise, however small it is beside the tolerance, and a score asks for its sign.

Solvers call BLAS: whoever solves chains keeps it to one thread (:func:`widemargin.runtime.single_threaded_blas`), once
for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain as concatenated
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource, derived_rows, row_source
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Vector,
    as_solutions,
    as_task,
    as_tasks,
    finite,
    limits_of,
    settings_of,
    two_class_problems,
)

Ids = NDArray[np.int32]

#: What stands for the number of a sample whose kernel values are all 0.
RESEMBLES_NOTHING = -1

#: How solves end that end a whole chain.
EARLY_ENDS = ("time budget", "interrupted")

#: How links end that the digits of a kernel matrix do not suffice for.
NEED_EXACT_ROWS = ("stalled", "unbounded", "overflow")

#: Relative size of what rounding may take from a kernel value in float32.
FLOAT32_ROUNDING = 1e-7

#: Rounding of a kernel matrix may move decision values by this share of the tolerance; the core leaves room for it.
ROUNDING_WITHIN = 0.25

#: It may always move them by this much, if that is no more than so many tolerances: those of classifiers, of which the
#: sign counts, and those of regression. Whoever asks for more digits than float32 has would wait for float64.
MOST_ROUNDING, TOLERANCES, TOLERANCES_OF_NUMBERS = 1e-4, 100.0, 10.0

#: Rounding of a kernel matrix may take so much of the distance between the quartiles of what is computed from it.
MOST_BLUR = 1e-3

#: Of so many chains side by side, one may be blurred by chance: values of a few samples may be about 0 by right.
MANY_CHAINS = 100

#: Chains side by side of so few variables are solved from nothing (cpp/core/chain/side_by_side.hpp).
HARDLY_ANY_VARIABLES = 64

#: Bytes that chains side by side may keep of a kernel from link to link: what one solver may take for itself.
KEPT_BYTES = 2**28


@dataclass(frozen=True, slots=True)
class Link:
    """A problem of a chain; `ridge` is what the square loss adds to the diagonal of its kernel."""

    problem: DualProblem
    ridge: Vector | None = None


@dataclass(frozen=True)
class Chain:
    """Problems over the same samples, `ids` of the kernel (all of them if not given), and where to start.

    With `any_sum` the variables need not sum to anything, as in machines without an intercept. `start_gradient` is
    y - K start in the first problem, if that is known; it saves its computation.
    """

    links: tuple[Link, ...]
    ids: Ids | None = None
    start: Vector | None = None
    any_sum: bool = False
    start_gradient: Vector | None = None


@dataclass(frozen=True, slots=True)
class LinkSolution:
    """The solution of a link; `repeated` if it is that of the link before, which is known without solving.

    `hard_margin_found` is unset where the margin that was asked for does not exist. `rounding` is how far decision
    values may be from those of the kernel, where the solution is that of a matrix of it in float32; `blur` is how much
    this is of what tells samples apart.
    """

    solution: Solution
    repeated: bool = False
    hard_margin_found: bool = True
    rounding: float = 0.0
    blur: float = 0.0


def solve_chain(kernel: NDArray[np.float32], chain: Chain, *, stop: StopRule) -> list[LinkSolution]:
    """Solve a chain on a kernel matrix, in the calling thread, without the interpreter's lock.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Symmetric, float32.
    chain : Chain
    stop : StopRule
        For each link; the deadline is for all of them together.

    Returns
    -------
    list of LinkSolution
        One for each link; fewer where a budget or the signal ended the chain, the last one then cut short.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> links = tuple(Link(DualProblem(y, np.minimum(0, c * y), np.maximum(0, c * y))) for c in (0.1, 10.0, 100.0))
    >>> found = solve_chain(np.eye(2, dtype=np.float32), Chain(links), stop=StopRule())
    >>> [one.solution.alpha.round(6).tolist() for one in found], [one.repeated for one in found]
    ([[0.1, -0.1], [1.0, -1.0], [1.0, -1.0]], [False, False, True])
    """
    return _solutions(_held(kernel, chain, stop).advance(len(chain.links)), chain)


def walk_chain(
    kernel: NDArray[np.float32],
    chain: Chain,
    *,
    stop: StopRule,
    keeps: bool = True,
) -> Iterator[LinkSolution]:
    """Solve a chain as :func:`solve_chain` does, but each link only when it is asked for.

    With ``keeps=False`` nothing that was gathered of the kernel stays between two links; it takes longer then.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> links = tuple(Link(DualProblem(y, np.minimum(0, c * y), np.maximum(0, c * y))) for c in (0.1, 10.0))
    >>> walk = walk_chain(np.eye(2, dtype=np.float32), Chain(links), stop=StopRule())
    >>> next(walk).solution.alpha.tolist(), next(walk).solution.alpha.round(6).tolist()
    ([0.1, -0.1], [1.0, -1.0])
    """
    held = _held(kernel, chain, stop)
    while found := held.advance(1):
        if not keeps:
            held.rest()
        yield from _solutions(found, chain)


def _held(kernel: NDArray[np.float32], chain: Chain, stop: StopRule) -> _core.Chain:
    ids = chain.ids
    if chain.any_sum:
        ids = np.append(np.arange(len(kernel)) if ids is None else ids, RESEMBLES_NOTHING)
        chain = _with_spare(chain)
    return _core.Chain(kernel, _as_ids(ids), *_links_and_start(chain), **limits_of(stop), signal=stop.signal.core)


def _as_ids(ids: NDArray[Any] | None) -> Ids | None:
    return None if ids is None else np.ascontiguousarray(ids, dtype=np.int32)


def _links_and_start(chain: Chain) -> tuple[list[_core.Task], Vector | None]:
    links = as_tasks([link.problem for link in chain.links], [link.ridge for link in chain.links], chain.start_gradient)
    return links, None if chain.start is None else np.ascontiguousarray(chain.start, dtype=np.float64)


def _solutions(solved: list[_core.SolvedLink], chain: Chain) -> list[LinkSolution]:
    found = [
        LinkSolution(solution, one.repeated, rounding=one.rounding, blur=one.blur)
        for solution, one in zip(as_solutions(solved), solved, strict=True)
    ]
    return [_without_spare(one) for one in found] if chain.any_sum else found


def walk_chain_on_rows(
    rows: RowSource,
    chain: Chain,
    *,
    stop: StopRule,
    options: SolverOptions,
) -> Iterator[LinkSolution]:
    """Solve a chain over kernel rows that are computed as needed, each link when it is asked for; for large kernels.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> y = np.array([1.0, -1.0])
    >>> links = tuple(Link(DualProblem(y, np.minimum(0, c * y), np.maximum(0, c * y))) for c in (0.1, 10.0))
    >>> rows = row_source(np.eye(2), kernel="linear")
    >>> found = walk_chain_on_rows(rows, Chain(links), stop=StopRule(), options=SolverOptions())
    >>> [one.solution.alpha.round(6).tolist() for one in found]
    [[0.1, -0.1], [1.0, -1.0]]
    """
    n = rows.size if chain.ids is None else len(chain.ids)
    if chain.any_sum:
        ids = np.arange(n, dtype=np.int32) if chain.ids is None else chain.ids
        rows = derived_rows(rows, base=np.append(ids, 0), scale=np.append(np.ones(n), 0.0))
    own = _with_spare(chain) if chain.any_sum else chain
    links, start = _links_and_start(own)
    settings = {**settings_of(options, n), **limits_of(stop)}
    held = _core.RowChain(rows, _as_ids(own.ids), links, start, signal=stop.signal.core, **settings)
    while found := held.advance(1):
        (one,) = _solutions(found, chain)
        finite(one.solution)
        yield one


def _with_spare(chain: Chain) -> Chain:
    """Add a variable that takes the sum off the others: without bounds, and of a sample that resembles nothing."""
    links = []
    for link in chain.links:
        problem = link.problem
        wider = DualProblem(
            np.append(problem.linear, 0.0),
            np.append(problem.lower, -np.inf),
            np.append(problem.upper, np.inf),
            kink=None if problem.kink is None else np.append(problem.kink, 0.0),
        )
        links.append(Link(wider, None if link.ridge is None else np.append(link.ridge, 0.0)))
    start = None if chain.start is None else np.append(chain.start, -chain.start.sum())
    gradient = None if chain.start_gradient is None else np.append(chain.start_gradient, 0.0)
    return Chain(tuple(links), start=start, start_gradient=gradient)


def _without_spare(one: LinkSolution) -> LinkSolution:
    """Leave that variable out again; its gradient, the price of the sum, is 0."""
    own = one.solution
    return replace(one, solution=replace(own, alpha=own.alpha[:-1], gradient=own.gradient[:-1], intercept=0.0))


@dataclass(frozen=True)
class ChainKernel:
    """One kernel over all samples of a search.

    Parameters
    ----------
    rows : RowSource
        Its rows, exact, computed when they are needed.
    matrix : ndarray of shape (n, n), optional
        The same in float32, if it fits into memory.
    options : SolverOptions
        For solving on rows.
    one_by_one : bool, default=False
        Solve a link of a chain when it is asked for, rather than all of them when the first one is.
    kept_bytes : int
        What chains side by side may keep of the matrix, from link to link.
    keeps : bool, default=True
        Whether they do.
    exact_rows : callable, optional
        Returns the rows for links that need exact ones, where they are at hand otherwise than by computing each anew
        for every chain.

    Examples
    --------
    >>> kernel = ChainKernel(row_source(np.eye(2), kernel="linear"))
    >>> y = np.array([1.0, -1.0])
    >>> (found,) = kernel.solve(Chain((Link(DualProblem(y, np.minimum(0, y), np.maximum(0, y))),)), StopRule())
    >>> found.solution.alpha.tolist()
    [1.0, -1.0]
    """

    rows: RowSource
    matrix: NDArray[np.float32] | None = None
    options: SolverOptions = field(default_factory=SolverOptions)
    one_by_one: bool = False
    kept_bytes: int = KEPT_BYTES
    keeps: bool = True
    exact_rows: Callable[[], RowSource] | None = None

    @property
    def given_rows(self) -> RowSource:
        """Rows as they are at hand: those of the matrix if there is one."""
        return self.rows if self.matrix is None else row_source(self.matrix, kernel="precomputed")

    def diagonal(self) -> Vector:
        """Return k(x, x) for all samples, of the matrix if there is one."""
        return self.rows.diagonal() if self.matrix is None else np.diagonal(self.matrix).astype(np.float64)

    def side_by_side(self, sizes: Sequence[int]) -> ChainKernel:
        """Prepare for chains of so many samples each to be under way together.

        Where they would keep too much of the kernel from link to link, they let go of it and gather it again.

        Examples
        --------
        >>> kernel = ChainKernel(row_source(np.eye(3), kernel="linear"), kept_bytes=40)
        >>> kernel.side_by_side([2, 2]).keeps, kernel.side_by_side([2, 2, 2]).keeps
        (True, False)
        """
        needed = 4 * sum(size**2 for size in sizes)
        return replace(self, keeps=len(sizes) == 1 or needed <= self.kept_bytes)

    @property
    def exact(self) -> ChainKernel:
        """The same kernel in float64, computed as needed."""
        rows = self.rows if self.exact_rows is None else self.exact_rows()
        return replace(self, rows=rows, matrix=None, exact_rows=None, options=replace(self.options, dtype="float64"))

    def solve(self, chain: Chain, stop: StopRule) -> Iterator[LinkSolution]:
        """Solve a chain as :func:`solve_chain` does, all at once or one by one."""
        if not chain.links:
            return iter(())
        if self.matrix is None:
            return self._on_rows(chain, stop)
        first = self._first_for_rows(chain)
        if first == len(chain.links):
            return self._on_matrix(chain, stop)
        found: Iterator[LinkSolution] = iter(())
        if first > 0:
            found = self._on_matrix(replace(chain, links=chain.links[:first]), stop)
            chain = replace(chain, links=chain.links[first:], start=None, start_gradient=None)
        return concatenated(found, self.exact.solve(chain, stop))

    def can_solve_together(self, chains: SideBySide) -> bool:
        """Tell whether the matrix, if there is one, has the digits that all links need, as far as is known before."""
        if self.matrix is None:
            return False
        return chains.least_ridge == np.inf or chains.least_ridge >= self._lost_in_rounding()

    def solve_together(
        self, chains: SideBySide, start: Vector | None, stop: StopRule, rules: Sequence[str] = ()
    ) -> Iterator[LinkSolution]:
        """Solve chains side by side, all links at once or one by one; ends before a link that needs exact rows.

        With `rules`, the names of ways to count what pairs say of the classes (:func:`estimators.prediction.tallied`),
        solutions have these numbers instead of decision values.
        """
        assert self.matrix is not None
        sizes = np.diff(chains.begins)
        keeps = 4 * int(sizes @ sizes) <= self.kept_bytes
        limits = limits_of(stop)
        counted = chains.names if rules else None
        assert counted is not None or not rules
        held = _core.Lanes(
            self.matrix,
            chains.problems,
            chains.asked,
            start,
            counted,
            chains.n_classes,
            list(rules),
            keeps,
            **limits,
            signal=stop.signal.core,
        )
        while found := held.advance(1 if self.one_by_one else chains.n_links):
            for solved in found:
                one = _joint(chains, solved, rules)
                if not self._suffices(one, stop, TOLERANCES):
                    return
                yield one

    def _lost_in_rounding(self) -> float:
        """Return the ridge that float32 values of the kernel do not tell from rounding."""
        return FLOAT32_ROUNDING * float(self.diagonal().max(initial=0.0))

    def _first_for_rows(self, chain: Chain) -> int:
        """Find the first link whose ridge is lost in the rounding of float32; those of a chain become ever smaller.

        A matrix may have negative eigenvalues of that size, and then nothing bounds the coefficients.
        """
        if self.matrix is None or all(link.ridge is None for link in chain.links):
            return 0 if self.matrix is None else len(chain.links)
        lost = self._lost_in_rounding()
        # Variables without a ridge are held out.
        told = [
            link.ridge is None or float(np.min(link.ridge, where=link.ridge > 0, initial=np.inf)) >= lost
            for link in chain.links
        ]
        return told.index(False) if False in told else len(told)

    def _on_rows(self, chain: Chain, stop: StopRule) -> Iterator[LinkSolution]:
        """Solve links on rows; in float64 from the first one on that float32 has too few digits for."""
        in_float64 = self.options.dtype == "float64"
        size: Vector | None = None
        for at, one in enumerate(walk_chain_on_rows(self.rows, chain, stop=stop, options=self.options)):
            if not in_float64 and not ended_early(one.solution):
                if size is None:
                    size = self.rows.diagonal()
                    size = size if chain.ids is None else size[chain.ids]
                if _blur_of_rows(chain.links[at], one.solution, size) > MOST_BLUR:
                    yield from self._from_here(replace(chain, links=chain.links[at:]), one, stop)
                    return
            yield one

    def _on_matrix(self, chain: Chain, stop: StopRule) -> Iterator[LinkSolution]:
        """Solve links on the matrix, and on exact rows those that its digits do not suffice for."""
        assert self.matrix is not None
        if self.one_by_one:
            return self._exact(chain, walk_chain(self.matrix, chain, stop=stop, keeps=self.keeps), stop)
        found = solve_chain(self.matrix, chain, stop=stop)
        tolerances = TOLERANCES if chain.links[0].problem.kink is None else TOLERANCES_OF_NUMBERS
        if all([self._suffices(one, stop, tolerances) for one in found]):
            return iter(found)
        return self._exact(chain, found, stop)

    def _exact(self, chain: Chain, found: Iterable[LinkSolution], stop: StopRule) -> Iterator[LinkSolution]:
        tolerances = TOLERANCES if chain.links[0].problem.kink is None else TOLERANCES_OF_NUMBERS
        for at, (link, one) in enumerate(zip(chain.links, found, strict=False)):
            if one.blur > MOST_BLUR and not ended_early(one.solution):  # so are the others: it is the kernel's fault
                yield from self._from_here(replace(chain, links=chain.links[at:]), one, stop)
                return
            if self._suffices(one, stop, tolerances):
                yield one
            else:
                yield next(self._from_here(replace(chain, links=(link,)), one, stop))

    @staticmethod
    def _suffices(one: LinkSolution, stop: StopRule, tolerances: float) -> bool:
        """Tell whether the digits of the matrix do: for the tolerance, and to tell samples apart."""
        if ended_early(one.solution):
            return True
        most = max(ROUNDING_WITHIN * stop.tolerance, min(MOST_ROUNDING, tolerances * stop.tolerance))
        known = one.solution.outcome.reason not in NEED_EXACT_ROWS
        return known and one.rounding <= most and one.blur <= MOST_BLUR

    def _from_here(self, chain: Chain, one: LinkSolution, stop: StopRule) -> Iterator[LinkSolution]:
        """Solve links on exact rows, from where the matrix has led if that is anywhere; the work on both counts."""
        near = one.solution.outcome.reason == "converged" and one.rounding < 1.0
        begun = replace(chain, start=one.solution.alpha if near else None, start_gradient=None)
        spent = replace(one.solution.outcome, kernel_evaluations=0)
        for number, again in enumerate(self.exact.solve(begun, stop)):
            if number > 0:
                yield again
                continue
            outcome = again.solution.outcome
            both = outcome.with_work([spent, outcome])
            yield replace(again, solution=replace(again.solution, outcome=both), repeated=one.repeated)

    def part(self, ids: Ids) -> ChainKernel:
        """Take some of the samples, in any order and as often as wanted."""
        matrix = None if self.matrix is None else np.ascontiguousarray(self.matrix[np.ix_(ids, ids)])
        exact = None if self.exact_rows is None else (lambda: derived_rows(self.exact.rows, base=ids))
        return replace(self, rows=derived_rows(self.rows, base=ids), matrix=matrix, exact_rows=exact)

    def walk(
        self, links: Sequence[Link], start: Callable[[Link, LinkSolution | None], Vector | None], stop: StopRule
    ) -> Iterator[LinkSolution]:
        """Solve links one by one, each from where `start` says, given the link and the last one's solution."""
        last: LinkSolution | None = None
        for before, link in zip((None, *links), links, strict=False):
            if before is not None and last is not None and same_solution(before, link, last.solution):
                yield _repeated(last.solution)
                continue
            last = next(self.solve(Chain((link,), start=start(link, last)), stop))
            yield last
            if ended_early(last.solution):
                break


@dataclass(frozen=True)
class SideBySide:
    """Chains with equally many links over some samples of a kernel each: those of all pairs of classes.

    Variables of all chains, of the samples `ids`, stand one after the other, those of chain c from ``begins[c]`` on.
    `asked` are the samples whose decision values will be asked for. Without an intercept (`any_sum`), every chain has a
    variable more, its last one. `names` has the numbers of the two classes of each chain, among `n_classes`, where they
    are pairs.
    """

    ids: Ids
    begins: NDArray[np.int64]
    asked: Ids
    n_links: int
    any_sum: bool
    problems: _core.LaneProblems
    least_ridge: float
    names: NDArray[np.int32] | None = None
    n_classes: int = 0

    @property
    def start_from_nothing(self) -> bool:
        """Whether all chains are so small that they are solved sooner than a start is made."""
        return int(np.diff(self.begins).max(initial=0)) <= HARDLY_ANY_VARIABLES

    @classmethod
    def of(
        cls,
        samples: tuple[Ids, NDArray[np.intp], Vector],
        bounds: Sequence[Vector],
        ridges: Sequence[Vector] | None,
        asked: NDArray[Any],
        any_sum: bool,
        names: NDArray[Any] | None = None,
        n_classes: int = 0,
    ) -> SideBySide:
        """Build the problems of two-class machines.

        Parameters
        ----------
        samples : tuple of ndarray
            The samples of all chains, one chain after the other, how many each has, and their labels, 1 and -1: see
            :func:`widemargin.machines.classifier.side_by_side`.
        bounds, ridges : sequence of ndarray of shape (n,)
            For each link, the largest coefficients of all samples and, with the square loss, what it adds to the
            diagonal of the kernel.
        asked : ndarray of int
        any_sum : bool
        names : ndarray of shape (n_chains, 2), optional
        n_classes : int, default=0
        """
        ids, sizes, labels = samples
        ridge = None if ridges is None else np.array([own[ids] for own in ridges])
        spare = RESEMBLES_NOTHING if any_sum else None
        prices = np.array([own[ids] for own in bounds])
        problems, begins, ids = two_class_problems(ids, sizes, labels, prices, ridge, spare)
        least = np.inf if ridge is None else float(np.min(ridge, where=ridge > 0, initial=np.inf))
        pairs = None if names is None else np.ascontiguousarray(names, dtype=np.int32)
        return cls(ids, begins, asked.astype(np.int32), len(bounds), any_sum, problems, least, pairs, n_classes)


@dataclass(frozen=True, slots=True)
class JointSolution(Solution):
    """Solutions of a link of chains side by side: coefficients of all variables; the outcome is that of all together.

    `intercepts` has a number for each chain, `values` a row of decision values of the samples asked for; or, where they
    were only counted, `said` has what they say of the classes of these samples, by rule.
    """

    chains: SideBySide = field(kw_only=True)
    intercepts: Vector = field(kw_only=True)
    values: NDArray[np.float64] | None = field(kw_only=True)
    said: Mapping[str, NDArray[np.float64]] = field(kw_only=True)

    def each(self) -> Iterator[Solution]:
        """Give the solution of each chain, over its own samples."""
        begins, ends = self.chains.begins[:-1].tolist(), (self.chains.begins[1:] - self.chains.any_sum).tolist()
        for begin, end, intercept in zip(begins, ends, self.intercepts.tolist(), strict=True):
            yield Solution(self.alpha[begin:end], np.zeros(end - begin), intercept, self.outcome)


def _joint(chains: SideBySide, solved: _core.SolvedLanes, rules: Sequence[str]) -> LinkSolution:
    outcome = Outcome(
        reason=solved.reason,
        kkt_violation=float(solved.kkt_violations.max()),
        duality_gap=float(solved.duality_gaps.sum()),
        objective=float(solved.objectives.sum()),
        precision="float32",
        iterations=solved.iterations,
        seconds=solved.seconds,
    )
    intercepts = np.zeros(len(solved.intercepts)) if chains.any_sum else solved.intercepts
    solution = JointSolution(
        solved.alpha,
        np.empty(0),
        0.0,
        outcome,
        chains=chains,
        intercepts=intercepts,
        values=None if rules else solved.values,
        said=dict(zip(rules, np.split(solved.values, len(rules)), strict=True)) if rules else {},
    )
    return LinkSolution(solution, solved.repeated, rounding=float(solved.roundings.max()), blur=_joint_blur(solved))


def _joint_blur(solved: _core.SolvedLanes) -> float:
    """Return the largest blur of chains but for one in a hundred: by chance, a few of very many look blurred."""
    blurs = solved.blurs
    most = len(blurs) - 1 - len(blurs) // MANY_CHAINS
    return float(np.partition(blurs, most)[most])


def solve_clearly(
    kernel: NDArray[np.float32], chain: Chain, exact: Callable[[], RowSource] | None, *, stop: StopRule
) -> Solution:
    """Solve a chain of one link on a kernel matrix; on `exact` rows where the matrix does not tell samples apart.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> chain = Chain((Link(DualProblem(y, np.minimum(0, y), np.maximum(0, y))),))
    >>> solve_clearly(np.eye(2, dtype=np.float32), chain, None, stop=StopRule()).alpha.tolist()
    [1.0, -1.0]
    """
    (found,) = solve_chain(kernel, chain, stop=stop)
    if exact is None or found.blur <= MOST_BLUR or ended_early(found.solution):
        return found.solution
    return next(ChainKernel(exact()).exact.solve(chain, stop)).solution


def _blur_of_rows(link: Link, solution: Solution, diagonal: Vector) -> float:
    """Return what the core calls the blur of a link on a matrix, for one on rows in float32."""
    rounding = 0.5 * float(np.finfo(np.float32).eps) * float(np.linalg.norm(diagonal * solution.alpha))
    sums = link.problem.linear - solution.gradient
    if link.ridge is not None:
        sums = sums - link.ridge * solution.alpha
    low, high = np.quantile(sums, [0.25, 0.75])
    return rounding / (high - low) if high > low else np.inf if rounding > 0.0 else 0.0


def ended_early(solution: Solution) -> bool:
    """Tell whether a solve had to end for reasons that end a whole chain."""
    return solution.outcome.reason in EARLY_ENDS


def _repeated(last: Solution) -> LinkSolution:
    idle = replace(last.outcome, iterations=0, kernel_evaluations=0, seconds=0.0)
    return LinkSolution(replace(last, outcome=idle), repeated=True)


def same_solution(before: Link, link: Link, last: Solution) -> bool:
    """Tell whether a problem provably has the solution of the one before.

    That is so where its bounds are looser only at variables that do not touch them.

    Examples
    --------
    >>> y, one = np.array([1.0, -1.0]), np.ones(2)
    >>> tight, loose = (Link(DualProblem(y, np.minimum(0, c * y), np.maximum(0, c * y))) for c in (2.0, 9.0))
    >>> from widemargin.kernels.rows import row_source
    >>> from widemargin.machines.dual import solve
    >>> same_solution(tight, loose, solve(tight.problem, row_source(np.eye(2), kernel="linear")))
    True
    """
    if last.outcome.reason != "converged":
        return False
    tight, loose = (as_task(one.problem, ridge=one.ridge) for one in (before, link))
    return _core.same_solution(tight, loose, np.ascontiguousarray(last.alpha))

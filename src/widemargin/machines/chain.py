"""Chains of dual problems: each starts from the solution of the one before.

A chain is a line of a grid: one kernel, one split of the examples, C (or nu) growing. Held-out examples are variables
whose box is [0, 0]; their decision values are at hand at the end, f(x_n) = y_n - G_n + b, so nothing is predicted.

The whole chain is one call into the core: on a kernel matrix (`cpp/core/grid/chain.hpp`) or, where that does not fit
into memory, over cached kernel rows (`cpp/core/grid/row_chain.hpp`). Both start their links by the same rules
(`cpp/core/grid/starts.hpp`). Machines that know better starts than a scaled solution walk their chains link by link.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin._runtime import single_threaded_blas
from widemargin.kernels import RowSource, derived_rows, row_source
from widemargin.machines.dual import (
    DualProblem,
    Solution,
    SolverOptions,
    StopRule,
    Vector,
    as_solution,
    as_task,
    limits_of,
    settings_of,
)

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Link:
    """A problem of a chain; `ridge` is what the square loss adds to the diagonal of its kernel."""

    problem: DualProblem
    ridge: Vector | None = None


@dataclass(frozen=True)
class Chain:
    """Problems over the same examples, `ids` of the kernel (all of them if not given), and where to start.

    With `any_sum` the variables need not sum to anything, as in machines without an intercept.
    """

    links: tuple[Link, ...]
    ids: Ids | None = None
    start: Vector | None = None
    any_sum: bool = False


@dataclass(frozen=True)
class LinkSolution:
    """The solution of a link; `repeated` if it is that of the link before, which is known without solving."""

    solution: Solution
    repeated: bool = False


def solve_chain(
    kernel: NDArray[np.float32], chain: Chain, *, stop: StopRule, signal: _core.StopSignal | None = None
) -> list[LinkSolution]:
    """Solve a chain on a kernel matrix, in the calling thread, without the interpreter's lock.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Symmetric, float32.
    chain : Chain
    stop : StopRule
        For each link; `max_seconds` for all of them together.
    signal : StopSignal, optional
        Another thread may request the end through it.

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
    if chain.any_sum:
        ids = np.arange(len(kernel)) if chain.ids is None else chain.ids
        padded = np.zeros((len(ids) + 1, len(ids) + 1), dtype=np.float32)
        padded[:-1, :-1] = kernel if chain.ids is None else kernel[np.ix_(ids, ids)]
        return _without_spare(solve_chain(padded, _with_spare(chain), stop=stop, signal=signal))
    with single_threaded_blas():
        return _solve_on_matrix(kernel, chain, stop, signal)


def _solve_on_matrix(
    kernel: NDArray[np.float32], chain: Chain, stop: StopRule, signal: _core.StopSignal | None
) -> list[LinkSolution]:
    """Hand a chain with a constant sum to the core; BLAS must be kept to one thread."""
    (solved,) = _core.solve_chains(kernel, [_as_chain_task(chain)], **limits_of(stop), n_threads=1, signal=signal)
    return [LinkSolution(as_solution(one), one.repeated) for one in solved]


def solve_chain_on_rows(
    rows: RowSource,
    chain: Chain,
    *,
    stop: StopRule,
    options: SolverOptions,
    signal: _core.StopSignal | None = None,
) -> list[LinkSolution]:
    """Solve a chain over kernel rows that are computed as needed; for kernels that do not fit into memory.

    Examples
    --------
    >>> from widemargin.kernels import row_source
    >>> y = np.array([1.0, -1.0])
    >>> links = tuple(Link(DualProblem(y, np.minimum(0, c * y), np.maximum(0, c * y))) for c in (0.1, 10.0))
    >>> rows = row_source(np.eye(2), kernel="linear")
    >>> found = solve_chain_on_rows(rows, Chain(links), stop=StopRule(), options=SolverOptions())
    >>> [one.solution.alpha.round(6).tolist() for one in found]
    [[0.1, -0.1], [1.0, -1.0]]
    """
    n = rows.size if chain.ids is None else len(chain.ids)
    if chain.any_sum:
        ids = np.arange(n, dtype=np.int32) if chain.ids is None else chain.ids
        padded = derived_rows(rows, base=np.append(ids, 0), scale=np.append(np.ones(n), 0.0))
        spare = _with_spare(chain)
        return _without_spare(solve_chain_on_rows(padded, spare, stop=stop, options=options, signal=signal))
    with single_threaded_blas():
        solved = _core.solve_chain_on_rows(
            rows, _as_chain_task(chain), **settings_of(options, n), **limits_of(stop), signal=signal
        )
    return [LinkSolution(as_solution(one), one.repeated) for one in solved]


def _as_chain_task(chain: Chain) -> _core.ChainTask:
    return _core.ChainTask(
        None if chain.ids is None else np.ascontiguousarray(chain.ids, dtype=np.int32),
        [as_task(link.problem, ridge=link.ridge) for link in chain.links],
        None if chain.start is None else np.ascontiguousarray(chain.start, dtype=np.float64),
    )


def _with_spare(chain: Chain) -> Chain:
    """Add a variable that takes the sum off the others: without bounds, and of an example that resembles nothing."""
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
    return Chain(tuple(links), start=start)


def _without_spare(found: list[LinkSolution]) -> list[LinkSolution]:
    """Leave that variable out again; its gradient, the price of the sum, is 0."""
    return [
        replace(one, solution=replace(one.solution, alpha=own.alpha[:-1], gradient=own.gradient[:-1], intercept=0.0))
        for one, own in ((one, one.solution) for one in found)
    ]


@dataclass(frozen=True)
class ChainKernel:
    """One kernel over all examples of a search.

    Parameters
    ----------
    rows : RowSource
        Its rows, exact, computed when they are needed.
    matrix : ndarray of shape (n, n), optional
        The same in float32, if it fits into memory.
    options : SolverOptions
        For solving on rows.
    signal : StopSignal, optional
        Another thread may request the end through it.

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
    signal: _core.StopSignal | None = None

    @property
    def given_rows(self) -> RowSource:
        """Rows as they are at hand: those of the matrix if there is one."""
        return self.rows if self.matrix is None else row_source(self.matrix, kernel="precomputed")

    def diagonal(self) -> Vector:
        """Return k(x, x) for all examples, of the matrix if there is one."""
        return self.rows.diagonal() if self.matrix is None else np.diagonal(self.matrix).astype(np.float64)

    def solve(self, chain: Chain, stop: StopRule) -> list[LinkSolution]:
        """Solve a chain as :func:`solve_chain` does."""
        if self.matrix is not None:
            return solve_chain(self.matrix, chain, stop=stop, signal=self.signal)
        return solve_chain_on_rows(self.rows, chain, stop=stop, options=self.options, signal=self.signal)

    def part(self, ids: Ids) -> ChainKernel:
        """Take some of the examples, in any order and as often as wanted."""
        matrix = None if self.matrix is None else np.ascontiguousarray(self.matrix[np.ix_(ids, ids)])
        return replace(self, rows=derived_rows(self.rows, base=ids), matrix=matrix)

    def walk(
        self, links: Sequence[Link], start: Callable[[Link, LinkSolution | None], Vector | None], stop: StopRule
    ) -> list[LinkSolution]:
        """Solve links one by one, each from where `start` says, given the link and the last one's solution."""
        deadline = None if stop.max_seconds is None else time.perf_counter() + stop.max_seconds
        found: list[LinkSolution] = []
        with single_threaded_blas():  # once for all links: they may be tiny
            for before, link in zip((None, *links), links, strict=False):
                last = found[-1] if found else None
                if before is not None and last is not None and same_solution(before, link, last.solution):
                    found.append(_repeated(last.solution))
                    continue
                left = stop if deadline is None else replace(stop, max_seconds=max(0.0, deadline - time.perf_counter()))
                chain = Chain((link,), start=start(link, last))
                if self.matrix is None:
                    found += self.solve(chain, left)
                else:
                    found += _solve_on_matrix(self.matrix, chain, left, self.signal)
                if ended_early(found[-1].solution):
                    break
        return found


def ended_early(solution: Solution) -> bool:
    """Tell whether a solve had to end for reasons that end a whole chain."""
    return solution.outcome.reason in ("time budget", "interrupted")


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
    >>> from widemargin.kernels import row_source
    >>> from widemargin.machines.dual import solve
    >>> same_solution(tight, loose, solve(tight.problem, row_source(np.eye(2), kernel="linear")))
    True
    """
    if last.outcome.reason != "converged":
        return False
    tight, loose = (as_task(one.problem, ridge=one.ridge) for one in (before, link))
    return _core.same_solution(tight, loose, np.ascontiguousarray(last.alpha))

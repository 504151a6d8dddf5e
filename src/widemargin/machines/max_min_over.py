"""The one-class machine with squared slack, by counting.

minimise ||w||^2 / 2 + sum_n C_n xi_n^2 / 2 subject to <w, phi(x_n)> >= 1 - xi_n   [Timm2009, eq. 1]

Its dual is to maximise sum(a) - a'K*a / 2 over a >= 0 with K* = K + diag(1 / C_n). OneClassMaxMinOver raises the count
of the sample with the smallest score s = K*a by 2, lowers that of the supporting one with the largest score by 1, and
scales at the end [Timm2009, Algorithms 1 and 2]. Counts and kernel rows are good starts for neighbouring parameters,
which is what a :class:`CountingState` carries over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from widemargin import _core
from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution, ended_early, walk_chain_on_rows
from widemargin.machines.dual import (
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Vector,
    cache_bytes,
    limits_of,
)

#: Steps between two exact recomputations of the scores, and looks at the gap: t_re of [Timm2009].
RECOMPUTE_EVERY = 1000


@dataclass
class CountingState:
    """What the next run may start from: kernel rows (of width `gamma`) and counts, not scaled."""

    store: _core.KernelStore
    gamma: float
    counts: Vector

    @classmethod
    def fresh(cls, rows: RowSource, gamma: float, cache_bytes: int) -> CountingState:
        """Start with nothing known."""
        return cls(_core.KernelStore(rows, cache_bytes), gamma, np.zeros(rows.size))

    def move_to(self, rows: RowSource, gamma: float, n_threads: int = 1) -> None:
        """Take the rows of a Gaussian kernel to another width: k becomes k^(gamma / self.gamma) [Timm2009, eq. 6].

        Examples
        --------
        >>> import numpy as np
        >>> from widemargin.kernels.rows import row_source
        >>> X = np.array([[0.0], [1.0], [3.0]])
        >>> state = CountingState.fresh(row_source(X, gamma=0.5), 0.5, 1 << 20)
        >>> state.store.row(0).round(4)
        array([1.    , 0.6065, 0.0111])
        >>> state.move_to(row_source(X, gamma=0.25), 0.25)
        >>> state.store.row(0).round(4)
        array([1.    , 0.7788, 0.1054])
        """
        self.store.transform(rows, gamma / self.gamma, n_threads)
        self.gamma = gamma


@dataclass(frozen=True)
class CountedMachine:
    """Coefficients, counts divided by the smallest score `rho`, so that this is 1 then, and how they were reached.

    A run that had to end while some sample still scored 0 or less has no such scale: `rho` is 1 then, coefficients are
    the counts themselves. `gap` is the feasibility gap, (primal - dual) / (primal + 1), infinite for these; `gaps` are
    those seen on the way. In `outcome` the violation is the largest distance of a supporting sample's score from 1, or
    of any that is below, the duality gap that of the machine.
    """

    coefficients: Vector
    rho: float
    gap: float
    gaps: Vector
    outcome: Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedSolution(Solution):
    """A solution whose coefficients are counts divided by `rho`."""

    rho: float

    @property
    def counts(self) -> Vector:
        """What another machine may start from: the counts, whole numbers, tell how finely coefficients are known."""
        return np.rint(self.rho * self.alpha)


def count_to_gap(
    state: CountingState,
    bounds: Vector,
    *,
    stop: StopRule,
    recompute_every: int = RECOMPUTE_EVERY,
    n_threads: int = 1,
) -> CountedMachine:
    """Run OneClassMaxMinOver until the feasibility gap is small enough; `state` keeps the counts for the next run.

    Parameters
    ----------
    state : CountingState
        Kernel rows and counts to start from; changed in place.
    bounds : ndarray
        C of every sample, positive and finite.
    stop : StopRule
        Its tolerance is the feasibility gap to reach. Where somebody asks for the end through it, what was reached
        until then is not computed.
    recompute_every : int
        Steps between two exact recomputations of the scores.
    n_threads : int
        Threads for kernel rows.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import row_source
    >>> X = np.array([[0.0], [0.1], [2.0]])
    >>> state = CountingState.fresh(row_source(X, gamma=1.0), 1.0, 1 << 20)
    >>> machine = count_to_gap(state, np.full(3, 10.0), stop=StopRule(1e-6))
    >>> bool(machine.gap <= 1e-6)
    True
    """
    began, evaluated = time.perf_counter(), state.store.evaluations
    ridge = 1.0 / np.ascontiguousarray(bounds, dtype=np.float64)
    limits = limits_of(stop)
    result = _core.max_min_over(
        state.store,
        ridge,
        np.ascontiguousarray(state.counts, dtype=np.float64),
        limits.pop("tolerance"),
        recompute_every,
        **limits,
        n_threads=n_threads,
        signal=stop.signal.core,
    )
    state.counts = np.asarray(result.alpha)
    rho = result.rho if result.rho > 0 else 1.0
    coefficients, scores = state.counts / rho, np.asarray(result.s) / rho
    # dual = e'a - a'K*a / 2, primal = a'Ka / 2 + sum C xi^2 / 2, with s = K*a
    slack = np.maximum(0.0, 1.0 - scores + ridge * coefficients)
    dual = float(coefficients.sum() - coefficients @ scores / 2)
    primal = float((coefficients @ scores - coefficients @ (ridge * coefficients)) / 2 + (slack @ (slack / ridge)) / 2)
    violation = float(np.max(scores[coefficients > 0] - 1.0, initial=max(0.0, 1.0 - float(scores.min()))))
    outcome = Outcome(
        reason=result.reason,
        kkt_violation=violation if result.known else np.inf,
        duality_gap=primal - dual if result.known else np.inf,
        objective=dual if result.known else np.nan,
        iterations=result.iterations,
        kernel_evaluations=state.store.evaluations - evaluated,
        seconds=time.perf_counter() - began,
        precision="float32",
    )
    return CountedMachine(coefficients, rho, result.gap, np.asarray(result.gaps), outcome)


def count_chain(
    kernel: ChainKernel, prices: Sequence[Vector], *, start: Vector | None = None, stop: StopRule
) -> Iterator[LinkSolution]:
    """Run OneClassMaxMinOver for one price after the other, each from the counts of the last [Timm2009, section 2].

    Kernel rows stay from one run to the next: C changes nothing but the diagonal of K*, eq. 6 with one width.

    Parameters
    ----------
    kernel : ChainKernel
        Of all samples.
    prices : sequence of ndarray
        C of every sample for each machine; the same ones are 0, which holds them out.
    start : ndarray, optional
        Counts of every sample for the first machine to start from; those of samples that are held out do not count.
    stop : StopRule
        Its tolerance is the feasibility gap; the deadline is for all machines together.

    Yields
    ------
    LinkSolution
        Each a :class:`CountedSolution`: coefficients scaled to margin 1, and the gradient 1 - Ka of all samples, in
        which the slack has no part. Fewer where time ran out.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import row_source
    >>> kernel = ChainKernel(row_source(np.array([[0.0], [0.1], [2.0]]), gamma=1.0))
    >>> found = count_chain(kernel, [np.full(3, 10.0), np.full(3, 20.0)], stop=StopRule(1e-4))
    >>> [one.solution.outcome.reason for one in found]
    ['converged', 'converged']
    """
    ids, n = np.flatnonzero(prices[0] > 0).astype(np.int32), len(prices[0])
    rows = kernel.given_rows
    cache = kernel.options.cache_bytes
    store = cache_bytes("auto", len(ids), "float32") if cache is None else cache
    state = CountingState.fresh(derived_rows(rows, base=ids), 1.0, store)
    if start is not None:
        state.counts = start[ids]
    for bounds in prices:
        counted = count_to_gap(state, bounds[ids], stop=stop)
        alpha = np.zeros(n)
        alpha[ids] = counted.coefficients
        outcome = counted.outcome if kernel.matrix is None else replace(counted.outcome, kernel_evaluations=0)
        solution = CountedSolution(alpha, np.zeros(n), 0.0, outcome, rho=counted.rho)
        if not ended_early(solution):  # or nobody asks for its scores
            solution = _with_gradient(solution, rows, stop)
        yield LinkSolution(solution)
        if ended_early(solution):
            break


def _with_gradient(solution: CountedSolution, rows: RowSource, stop: StopRule) -> CountedSolution:
    """Return a solution with the gradient 1 - Ka of all samples; interrupted, if that was."""
    alpha, n = solution.alpha, len(solution.alpha)
    problem = DualProblem(np.ones(n), np.zeros(n), np.where(alpha > 0, np.inf, 0.0), (float(alpha.sum()), 0.0))
    # No step is taken: what is asked for is the gradient.
    (there,) = walk_chain_on_rows(
        rows,
        Chain((Link(problem),), start=alpha),
        stop=StopRule(max_iterations=0, signal=stop.signal),
        options=SolverOptions("smo"),
    )
    reason = there.solution.outcome.reason if ended_early(there.solution) else solution.outcome.reason
    return replace(solution, gradient=there.solution.gradient, outcome=replace(solution.outcome, reason=reason))

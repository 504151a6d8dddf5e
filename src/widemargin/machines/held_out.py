"""Decision values of samples by machines that were not trained on them, for every sample in turn.

The samples are split into folds, and each two-class problem is solved once without each of them: the variables of the
fold that is held out have the box [0, 0], so that their decision values, f(x_n) = y_n - G_n + b, fall out of the
gradient (see :mod:`widemargin.machines.chain`).

These machines are close to the one trained on all samples, which is known. They start from its solution and its
gradient. Samples beyond the margin by more than 1, y_n f(x_n) > 2, are left aside at first, and more of them if many
would be left; m^2 kernel values of the others are shared by all folds. Decision values of those left aside follow from
the support vectors, and tell which of them were left aside wrongly: these take part from there on, the worst first. In
the end no machine violates the optimality conditions of the whole problem by more than its tolerance.

Kernel values: m^2 and (n - m) n_SV, mostly once; memory for m^2 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.machines.chain import Chain, ChainKernel, Link
from widemargin.machines.classifier import (
    ClassPairs,
    PairSamples,
    PairSolution,
    PairTable,
    box,
    ridge_of,
    solve_without,
    typical,
)
from widemargin.machines.dual import COLUMNS, Solution, SolverOptions, StopRule, Vector, taking_part, values_of
from widemargin.machines.hard_margins import solve_to_the_hard_end
from widemargin.runtime import Stop, StopRequest, single_threaded_blas

Folds = NDArray[np.intp]
Places = NDArray[np.intp]
Task = TypeVar("Task")
Result = TypeVar("Result")

#: Samples whose margin exceeds 1 by more are left aside at first.
FAR = 1.0

#: So many times the support vectors, and some more, take part at first.
MOST_NEAR, SOME = 4, 256

#: Seconds between two looks whether somebody pressed Ctrl-C.
MOMENT = 0.05

#: Problems of so few variables are solved to rounding, on rows: that costs next to nothing.
FINISHED_EXACTLY = 128


@dataclass(frozen=True)
class HeldOutValues:
    """Decision values of the samples of a problem, each by a machine trained without its fold.

    Parameters
    ----------
    values : ndarray of shape (n,)
        NaN for examples of a fold without which there is but one class, and for those that time did not suffice for.
    reasons : tuple of str
        How the machines ended.
    """

    values: Vector
    reasons: tuple[str, ...]


def held_out_of_small_pairs(
    rows: RowSource,
    labels: NDArray[np.intp],
    pairs: ClassPairs,
    bounds: Vector,
    folds: Folds,
    *,
    stop: StopRule,
    options: SolverOptions,
    squared: bool,
    fit_intercept: bool,
) -> tuple[Vector, list[str]]:
    """Train small pairs of classes without each fold, all of them together: there may be very many.

    Returns
    -------
    values : ndarray
        As :class:`HeldOutValues` has them, those of one pair after the other.
    reasons : list of str
        How the machines ended.
    """
    ids, sizes, _ = pairs.side_by_side(pairs.names)
    values, reasons = np.full(len(ids), np.nan), np.zeros(0, dtype=np.intp)
    ends = np.cumsum(sizes)
    k = int(labels.max()) + 1
    place = np.zeros((k, k), dtype=np.intp)  # of the first sample of a pair
    first, second = pairs.names.numbers.T
    place[first, second] = ends - sizes
    how: Any = {"stop": stop, "options": options, "squared": squared, "fit_intercept": fit_intercept}
    for fold, solved in solve_without(rows, labels, pairs, bounds, folds, **how):
        own = np.diff(solved.begins)
        signs = np.where(labels[solved.ids] == np.repeat(PairTable.of(solved.names).numbers[:, 0], own), 1.0, -1.0)
        intercepts = np.repeat(solved.outcomes[:, COLUMNS["intercept"]], own)
        first, second = PairTable.of(solved.names).numbers.T
        at = np.repeat(place[first, second] - solved.begins[:-1], own) + np.arange(len(solved.ids))
        out = folds[solved.ids] == fold
        values[at[out]] = (signs - solved.gradient + intercepts)[out]
        reasons = np.append(reasons, solved.outcomes[:, COLUMNS["reason"]].astype(np.intp))
    found = [_core.REASONS[number] for number in reasons.tolist()]
    return values, [*found, *(["time budget"] if stop.late else [])]


def held_out_values(
    rows: RowSource,
    problems: Sequence[PairSamples],
    machines: Sequence[PairSolution],
    bounds: Vector,
    folds: Folds,
    *,
    stop: StopRule,
    options: SolverOptions,
    squared: bool = False,
    fit_intercept: bool = True,
) -> list[HeldOutValues]:
    """Train all problems without each fold in turn.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of all samples.
    problems : sequence of PairSamples
    machines : sequence of PairSolution
        Their solutions on all samples.
    bounds : ndarray of shape (n,)
        C of every sample; inf asks for a hard margin.
    folds : ndarray of shape (n,)
        The fold of every sample.
    stop : StopRule
        For each machine; the deadline is for all of them together.
    options : SolverOptions
        Kernel matrices that do not fit into its cache are not made; threads work on several folds at a time.
    squared, fit_intercept
        As in :func:`widemargin.machines.classifier.solve_pairs`.

    Returns
    -------
    list of HeldOutValues
        For each problem, in the order of its samples.

    Examples
    --------
    >>> from widemargin.kernels.rows import row_source
    >>> from widemargin.machines.classifier import ClassPairs, solve_pairs
    >>> labels, bounds = np.array([0, 1, 0, 1]), np.full(4, 10.0)
    >>> rows = row_source(np.array([[-2.0], [1.0], [-1.0], [2.0]]), kernel="linear")
    >>> how = {"stop": StopRule(), "options": SolverOptions()}
    >>> machines, problems = solve_pairs(rows, labels, 2, bounds, **how), ClassPairs(labels, 2, bounds)
    >>> (found,) = held_out_values(rows, problems, machines, bounds, np.array([0, 1, 1, 0]), **how)
    >>> found.values.round(6).tolist()  # those of class 0 come first
    [2.0, 0.5, -0.5, -2.0]
    """
    diagonal = rows.diagonal() if np.isinf(bounds).any() else np.ones(rows.size)
    found = []
    with single_threaded_blas():
        for one, machine in zip(problems, machines, strict=True):
            if stop.late:
                found.append(HeldOutValues(np.full(len(one.ids), np.nan), ("time budget",)))
                continue
            unit = 1.0 / typical(diagonal[one.ids])
            own = _Problem(rows, one, bounds[one.ids], folds[one.ids], squared, fit_intercept, unit, options)
            found.append(own.solve(machine.solution, stop))
    return found


@dataclass(frozen=True)
class _Point:
    """Where a machine starts: variables of the samples that take part, and y - K a there."""

    alpha: Vector
    gradient: Vector


@dataclass(frozen=True)
class _Problem:
    """A two-class problem; samples are counted as it counts them."""

    rows: RowSource
    samples: PairSamples
    bounds: Vector
    folds: Folds
    squared: bool
    fit_intercept: bool
    unit: float
    options: SolverOptions

    def solve(self, whole: Solution, stop: StopRule) -> HeldOutValues:
        """Train machines without each fold, from the machine trained on all samples."""
        signs = self.samples.signs
        values, reasons = np.full(len(signs), np.nan), dict[int, str]()
        near = self._near(whole)
        part, rest = np.flatnonzero(near), np.flatnonzero(~near)
        _require_finite([_Point(whole.alpha, whole.gradient)])
        pending = {fold: _Point(whole.alpha[part], whole.gradient[part]) for fold in self._able_folds()}
        while pending:
            _require_finite(pending.values())
            try:
                found = self._trained(part, rest, pending, stop)
            except _core.StoppedError:
                return HeldOutValues(values, (*reasons.values(), "time budget"))
            short, wrong = np.zeros(len(rest)), []
            for fold, (one, sums) in found.items():
                reasons[fold] = one.outcome.reason
                held, far = self.folds[part] == fold, self.folds[rest] == fold
                values[part[held]] = values_of(one, 0.0, at=held)
                values[rest[far]] = (sums + one.intercept)[far]
                own = np.where(far, 0.0, 1.0 - stop.tolerance - signs[rest] * (sums + one.intercept))
                if (own > 0).any() and one.outcome.reason == "converged":
                    short = np.maximum(short, own)
                    wrong.append(fold)
            join = _worst(short, len(part))
            pending = {fold: self._joined(fold, part, rest[join], *found[fold], join) for fold in wrong}
            part, rest = np.append(part, rest[join]), rest[~join]
        return HeldOutValues(values, tuple(reasons.values()))

    def _near(self, whole: Solution) -> NDArray[np.bool_]:
        """Tell the samples that take part from those that are left aside: not many more than support vectors."""
        signs, used = self.samples.signs, whole.alpha != 0
        beyond = np.where(used, -np.inf, signs * values_of(whole, signs) - 1.0)
        most = MOST_NEAR * int(np.count_nonzero(used)) + SOME
        limit = FAR if most >= len(beyond) else min(FAR, float(np.partition(beyond, most)[most]))
        return np.asarray((beyond < limit) | used)

    def _trained(
        self, part: Places, rest: Places, pending: dict[int, _Point], stop: StopRule
    ) -> dict[int, tuple[Solution, Vector]]:
        """Train machines without some folds; return them with their values, intercept aside, on what took no part."""
        stop = replace(stop, signal=StopRequest())  # a fold that fails ends the others, and nothing else
        kernel = self._kernel(part, stop)

        def train(fold: int) -> Solution:
            return self._without(fold, part, kernel, pending[fold], stop)

        threads = 1 if kernel.matrix is None else self.options.n_threads
        solutions = _in_threads(train, list(pending), threads, stop)
        sums = self._sums(solutions, part, rest, stop)
        return dict(zip(pending, zip(solutions, sums, strict=True), strict=True))

    @property
    def _small(self) -> bool:
        """Whether solvers finish such a problem exactly, by rows, so that weights are the same as repetitions."""
        return len(self.samples.ids) <= FINISHED_EXACTLY

    def _able_folds(self) -> list[int]:
        """List the folds without which there are still two classes."""
        signs = self.samples.signs
        return [int(fold) for fold in np.unique(self.folds) if len(np.unique(signs[self.folds != fold])) == 2]

    def _kernel(self, part: Places, stop: StopRule) -> ChainKernel:
        """Return the kernel of the samples that take part: as a matrix, if it pays and that fits into the cache."""
        ids = self.samples.ids[part]
        rows, matrix = derived_rows(self.rows, base=ids), None
        if not self._small and (self.options.cache_bytes is None or 4 * len(ids) ** 2 <= self.options.cache_bytes):
            matrix = np.asarray(_core.kernel_among(self.rows, ids, self.options.n_threads, **stop.limits()))
        return ChainKernel(rows, matrix, self.options)

    def _without(self, fold: int, part: Places, kernel: ChainKernel, start: _Point, stop: StopRule) -> Solution:
        """Train a machine without a fold."""
        signs, all_bounds = self.samples.signs[part], self.bounds[part]
        bounds = np.where(self.folds[part] == fold, 0.0, all_bounds)
        labels = taking_part(signs, bounds)
        links: tuple[Link, ...] = ()
        if not np.isinf(bounds).any():
            links = (Link(box(labels, bounds)),)
            if self.squared:  # those held out keep their ridge, which the gradient at the start contains
                links = (Link(box(labels, np.where(bounds > 0, np.inf, 0.0)), ridge_of(all_bounds)),)
        known = start.gradient - (signs - labels)
        chain = Chain(links, start=start.alpha, any_sum=not self.fit_intercept, start_gradient=known)
        found = solve_to_the_hard_end(
            kernel, chain, [bounds], lambda raised: Link(box(labels, raised)), self.unit, stop
        )
        return next(iter(found)).solution

    def _joined(
        self, fold: int, part: Places, more: Places, one: Solution, sums: Vector, join: NDArray[np.bool_]
    ) -> _Point:
        """Return a solution as a start for a problem that some more samples take part in."""
        signs = self.samples.signs
        known = one.gradient + np.where(self.folds[part] == fold, signs[part], 0.0)
        return _Point(np.append(one.alpha, np.zeros(len(more))), np.append(known, signs[more] - sums[join]))

    def _sums(self, solutions: Sequence[Solution], part: Places, rest: Places, stop: StopRule) -> Vector:
        """Decision values, intercepts aside, of the samples that took no part: a row for each machine."""
        alpha = np.array([one.alpha for one in solutions])
        used = np.flatnonzero(alpha.any(axis=0))
        ids, coefficients = self.samples.ids, np.ascontiguousarray(alpha[:, used])
        threads = self.options.n_threads
        return np.asarray(
            _core.combined_rows(self.rows, ids[part[used]], coefficients, ids[rest], threads, **stop.limits())
        )


def _require_finite(points: Iterable[_Point]) -> None:
    """Refuse to go on from machines that a kernel with negative eigenvalues has driven out of the range of float64."""
    for point in points:
        if not np.isfinite([point.alpha.sum(), np.abs(point.alpha).max(initial=0.0), point.gradient.sum()]).all():
            raise ValueError(
                "Values of held-out samples are unknown: the coefficients of a model are not finite, which happens if "
                "a kernel that is not positive semidefinite meets a squared loss; take another kernel, or loss='hinge'."
            )


def _worst(short: Vector, most: int) -> NDArray[np.bool_]:
    """Choose the samples that are short of the margin, or so many of those that are shortest of it."""
    limit = np.partition(short, -most)[-most] if 0 < most < len(short) else 0.0
    return np.asarray((short > 0) & (short >= limit))


def _in_threads(call: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int, stop: Stop) -> list[Result]:
    """Do tasks in some threads; let all of them end if one fails, or if somebody presses Ctrl-C."""
    if n_threads == 1 or len(tasks) < 2:
        return [call(task) for task in tasks]
    with ThreadPoolExecutor(min(n_threads, len(tasks))) as pool:
        futures: list[Future[Result]] = []
        try:
            futures += [pool.submit(call, task) for task in tasks]
            left = set(futures)
            while left:
                # A signal that another thread took is heard between two waits, not within one.
                done, left = wait(left, timeout=MOMENT)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            stop.request()
            raise

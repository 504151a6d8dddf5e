"""The soft-margin classifiers and their pairs of classes.

For a pair of classes with labels y_n = +1 (first) and -1 (second):

minimise ||w||^2 / 2 + sum_n C_n loss(y_n (<w, phi(x_n)> + b)),   loss(m) = max(0, 1 - m) or max(0, 1 - m)^2

whose dual is eq. 4.1 of [Glasmachers2008] with linear term y. The hinge loss bounds the variables: L_n = min(0, y_n
C_n), U_n = max(0, y_n C_n). The squared one leaves them unbounded but for their sign and adds D_n = 1 / (2 C_n) to the
diagonal of the kernel [Glasmachers2008, section 2.2]; its slack is D_n |a_n|. Without b there is no constant sum: one
more variable, which has nothing in common with any other and no bounds, takes it up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource, derived_rows, row_source
from widemargin.machines.dual import (
    COLUMNS,
    OVERFLOW,
    DualProblem,
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    cache_bytes,
    limits_of,
    outcome_of,
    refuse_overflow,
    row_of,
    settings_of,
    two_class_problems,
)
from widemargin.machines.hard_margins import HARD_MARGIN_LADDER, solve_hard
from widemargin.runtime import Stop, single_threaded_blas

Vector = NDArray[np.float64]

Pair = tuple[int, int]

T = TypeVar("T")

#: The second class of a "pair" whose first class is separated from all others.
OTHERS = -1

#: Problems that are made and solved between two looks at the clock, if there is a deadline.
PROBLEMS_AT_ONCE = 256

#: Variables of a problem whose kernel values the core keeps in float64 (cpp/core/solve/small_problem.hpp).
SMALL_PROBLEM = 512

#: What the square loss adds to the diagonal stays below this; a sample that would exceed it counts for nothing.
LARGEST_RIDGE = 1e30


class PairTable(Sequence[Pair]):
    """Pairs of classes as a table of two columns: there may be too many to make objects of.

    Examples
    --------
    >>> pairs = PairTable(np.array([[0, 1], [0, 2], [1, 2]]))
    >>> pairs[1], list(pairs[1:])
    ((0, 2), [(0, 2), (1, 2)])
    """

    def __init__(self, numbers: NDArray[np.intp]) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> PairTable:
        """Write pairs into a table, if they are in none."""
        return pairs if isinstance(pairs, PairTable) else cls(np.array(pairs, dtype=np.intp).reshape(-1, 2))

    @classmethod
    def among(cls, classes: NDArray[np.intp]) -> PairTable:
        """Return all pairs of some classes, those of the first class first."""
        first, second = np.triu_indices(len(classes), 1)
        return cls(np.stack([classes[first], classes[second]], axis=1))

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Pair: ...
    @overload
    def __getitem__(self, at: slice) -> PairTable: ...
    def __getitem__(self, at: int | slice) -> Pair | PairTable:
        if isinstance(at, slice):
            return PairTable(self.numbers[at])
        first, second = self.numbers[at].tolist()
        return first, second

    def __iter__(self) -> Iterator[Pair]:
        return iter([(first, second) for first, second in self.numbers.tolist()])


@dataclass(frozen=True)
class PairSolution:
    """The machine that separates class ``pair[0]`` (+1) from class ``pair[1]``, or from all `OTHERS` (-1).

    `solution` holds one variable for each sample of the pair. `hard_margin_found` is unset where a hard margin was
    asked for, but the model kept is a soft one.
    """

    pair: Pair
    ids: NDArray[np.int32]
    solution: Solution
    hard_margin_found: bool = True

    @property
    def outcome(self) -> Outcome:
        """How the solve ended."""
        return self.solution.outcome


@dataclass(frozen=True)
class SolvedPairs(Sequence[PairSolution]):
    """Solutions of many pairs, whose variables stand one after the other: there may be too many to make objects of.

    Each is made when it is asked for. `outcomes` is a table (:data:`widemargin.machines.dual.COLUMNS`).
    """

    names: Sequence[Pair]
    ids: NDArray[np.int32]
    begins: NDArray[np.int64]
    alpha: Vector
    gradient: Vector
    outcomes: NDArray[np.float64]

    @classmethod
    def of(cls, solutions: Sequence[PairSolution]) -> SolvedPairs:
        """Put solutions side by side; those that are so already stay as they are."""
        if isinstance(solutions, SolvedPairs):
            return solutions
        own = [one.solution for one in solutions]
        return cls(
            [one.pair for one in solutions],
            np.concatenate([np.empty(0, np.int32), *(one.ids for one in solutions)]),
            np.cumsum([0, *(len(one.ids) for one in solutions)]),
            np.concatenate([np.empty(0), *(one.alpha for one in own)]),
            np.concatenate([np.empty(0), *(one.gradient for one in own)]),
            np.array([row_of(one.outcome, one.intercept) for one in own]).reshape(len(own), len(COLUMNS)),
        )

    @classmethod
    def joined(cls, parts: Sequence[SolvedPairs]) -> SolvedPairs:
        """Put the solutions of several calls together."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(len(part.ids) for part in parts)])
        return cls(
            [name for part in parts for name in part.names],
            np.concatenate([part.ids for part in parts]),
            np.concatenate([[0], *(part.begins[1:] + end for part, end in zip(parts, ends, strict=False))]),
            np.concatenate([part.alpha for part in parts]),
            np.concatenate([part.gradient for part in parts]),
            np.concatenate([part.outcomes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> PairSolution: ...
    @overload
    def __getitem__(self, at: slice) -> list[PairSolution]: ...
    def __getitem__(self, at: int | slice) -> PairSolution | list[PairSolution]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        own, row = slice(*self.begins[[at, at + 1]] if at >= 0 else self.begins[[at - 1, at]]), self.outcomes[at]
        solution = Solution(self.alpha[own], self.gradient[own], float(row[COLUMNS["intercept"]]), outcome_of(row))
        return PairSolution(self.names[at], self.ids[own], solution)


@dataclass(frozen=True)
class PairSamples:
    """The samples of two classes, or of one and all `OTHERS`, with labels +1 and -1."""

    pair: Pair
    ids: NDArray[np.int32]
    signs: Vector


def box(signs: Vector, bounds: Vector) -> DualProblem:
    """Build the dual problem of one pair: labels +1/-1 and a bound C_n for every sample."""
    ends = signs * bounds
    return DualProblem(signs, np.minimum(0.0, ends), np.maximum(0.0, ends))


def ridge_of(bounds: Vector) -> Vector:
    """Return what the square loss C_n xi_n^2 adds to the diagonal of the kernel: 1 / (2 C_n), and 0 for a hard margin.

    Examples
    --------
    >>> ridge_of(np.array([1.0, np.inf, 0.0])).tolist()
    [0.5, 0.0, 1e+30]
    """
    with np.errstate(divide="ignore", over="ignore"):
        return np.minimum(0.5 / bounds, LARGEST_RIDGE)


class ClassPairs(Sequence[PairSamples]):
    """The pairs of classes that both have samples of positive weight, those of the first class first.

    Each is made when it is asked for: there may be very many.

    Examples
    --------
    >>> pairs = ClassPairs(np.array([0, 2, 0, 1]), 3, np.array([1.0, 1.0, 1.0, 0.0]))
    >>> list(pairs.names), pairs[0].ids.tolist(), pairs[0].signs.tolist()
    ([(0, 2)], [0, 2, 1], [1.0, 1.0, -1.0])
    """

    def __init__(self, labels: NDArray[np.intp], n_classes: int, weights: Vector) -> None:
        used = np.flatnonzero(weights > 0).astype(np.int32)
        own = labels[used]
        sizes = np.bincount(own, minlength=n_classes)
        # Short numbers are sorted in linear time.
        order = used[np.argsort(own.astype(np.uint16) if n_classes <= 2**16 else own, kind="stable")]
        self._order, self._sizes = order, sizes
        self._known: dict[Pair, PairSamples] = {}
        self.names = PairTable.among(np.flatnonzero(sizes))
        self.n_samples, self.largest = len(order), int(np.sort(sizes)[-2:].sum())

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> PairSamples: ...
    @overload
    def __getitem__(self, at: slice) -> list[PairSamples]: ...
    def __getitem__(self, at: int | slice) -> PairSamples | list[PairSamples]:
        if isinstance(at, slice):
            return list(map(self.__getitem__, range(len(self.names))[at]))
        pair = self.names[at]
        if pair not in self._known:
            ids, _, signs = self.side_by_side([pair])
            self._known[pair] = PairSamples(pair, ids, signs)
        return self._known[pair]

    def side_by_side(self, names: Sequence[Pair]) -> tuple[NDArray[np.int32], NDArray[np.intp], Vector]:
        """Return the samples of several pairs, one pair after the other, how many each has, and their labels."""
        classes = PairTable.of(names).numbers.ravel()
        sizes = self._sizes[classes]
        before = np.cumsum(sizes) - sizes  # of the samples of each class, where they begin in the result
        starts = np.cumsum(self._sizes) - self._sizes
        places = np.repeat(starts[classes] - before, sizes) + np.arange(sizes.sum())
        signs = np.repeat(np.tile([1.0, -1.0], len(names)), sizes)
        return self._order[places], sizes.reshape(-1, 2).sum(axis=1), signs


def classes_present(labels: NDArray[np.intp], weights: Vector) -> list[int]:
    """List the classes that have samples of positive weight.

    Examples
    --------
    >>> classes_present(np.array([2, 0, 1, 2]), np.array([1.0, 3.0, 0.0, 0.0]))
    [0, 2]
    """
    present: list[int] = np.flatnonzero(np.bincount(labels[weights > 0])).tolist()
    return present


def in_turns(problems: Sequence[T], stop: Stop) -> Iterator[Sequence[T]]:
    """Give out problems, some at a time, until time is up: whoever solves them need not make those that come too late.

    The first ones are given out in any case; without a deadline these are all.

    Examples
    --------
    >>> pairs = ClassPairs(np.arange(40), 40, np.ones(40))
    >>> [len(some) for some in in_turns(pairs, Stop())], [len(some) for some in in_turns(pairs, Stop(deadline=0.0))]
    ([780], [256])
    """
    if stop.deadline is None:
        yield problems[:]
        return
    for begin in range(0, len(problems), PROBLEMS_AT_ONCE):
        if begin > 0 and stop.late:
            break
        yield problems[begin : begin + PROBLEMS_AT_ONCE]


def share_class_rows(
    rows: RowSource, labels: NDArray[np.intp], options: SolverOptions
) -> tuple[RowSource, SolverOptions]:
    """Let several pairs share the kernel values of their classes: half of the cache holds these for all of them."""
    share = (options.cache_bytes or cache_bytes("auto", len(labels), options.dtype)) // 2
    shared = _core.class_shared_source(rows, labels.astype(np.int32), share)
    return shared, replace(options, cache_bytes=share)


def _whole_matrix(
    rows: RowSource, pairs: ClassPairs, options: SolverOptions, stop: StopRule
) -> NDArray[np.float64] | None:
    """Compute all kernel values where every pair is small: the solver of these asks for nearly all of them, in float64.

    None where they would not fit into the cache, time does not suffice, or samples without weight need none of them.
    """
    allowed = options.cache_bytes or cache_bytes("auto", rows.size, "float64")
    small = options.solver == "auto" and pairs.largest <= SMALL_PROBLEM and pairs.n_samples == rows.size
    if not small or not rows.of_samples or 8 * rows.size**2 > allowed:
        return None
    try:
        with single_threaded_blas():
            return np.asarray(_core.kernel_matrix_float64(rows, None, options.n_threads, **stop.limits()))
    except _core.StoppedError:
        return None  # as the solver will say itself


def _rows_for_pairs(
    rows: RowSource, labels: NDArray[np.intp], pairs: ClassPairs, options: SolverOptions, stop: StopRule
) -> tuple[RowSource, SolverOptions, int]:
    """Let pairs share kernel values: all of them at once, or those of a class; return how many were computed, too."""
    matrix = _whole_matrix(rows, pairs, options, stop)
    if matrix is not None:
        return row_source(matrix, kernel="precomputed"), options, matrix.size
    return (*share_class_rows(rows, labels, options), 0)


def _with_ridge_and_spare_variable(rows: RowSource, ridge: Vector | None, fit_intercept: bool) -> RowSource:
    """Derive the kernel of machines with a square loss or without intercept.

    Both the ridge of the square loss and the spare variable of a machine without intercept are the same for every pair,
    so that one derived kernel serves them all. The spare variable's sample comes last and resembles nothing.
    """
    if fit_intercept:
        return derived_rows(rows, ridge=ridge)
    base, scale = np.append(np.arange(rows.size), 0), np.append(np.ones(rows.size), 0.0)
    return derived_rows(rows, base=base, scale=scale, ridge=None if ridge is None else np.append(ridge, 0.0))


@dataclass(frozen=True)
class _Formulation:
    """How the pairs of one fit become dual problems over one row source.

    The rows are those of :func:`_with_ridge_and_spare_variable` where there is one or the other.
    """

    rows: RowSource
    n_samples: int
    squared: bool
    fit_intercept: bool
    options: SolverOptions

    def solve(
        self,
        names: Sequence[Pair],
        samples: tuple[NDArray[np.int32], NDArray[np.intp], Vector],
        bounds: Vector,
        start: Vector | None,
        stop: StopRule,
    ) -> SolvedPairs:
        """Solve the problems of some pairs, whose samples, bounds and starts are given one pair after the other."""
        ids, sizes, signs = samples
        prices = (np.where(bounds > 0, np.inf, 0.0) if self.squared else bounds)[np.newaxis]
        spare = None if self.fit_intercept else self.n_samples
        problems, begins, _ = two_class_problems(ids, sizes, signs, prices, spare=spare)
        if start is not None and spare is not None:
            ends = np.cumsum(sizes)
            start = np.insert(start, ends, -np.add.reduceat(start, ends - sizes))
        settings = settings_of(self.options, int(np.diff(begins).max(initial=0)))
        with single_threaded_blas():
            solved = _core.solve_together(self.rows, problems, start, **settings, **limits_of(stop))
        alpha, gradient, outcomes = np.asarray(solved.alpha), np.asarray(solved.gradient), np.asarray(solved.outcomes)
        if spare is not None:
            alpha, gradient = np.delete(alpha, begins[1:] - 1), np.delete(gradient, begins[1:] - 1)
            begins, outcomes[:, COLUMNS["intercept"]] = np.append(0, np.cumsum(sizes)), 0.0
        if (outcomes[:, COLUMNS["reason"]] == OVERFLOW).any():
            refuse_overflow()
        return SolvedPairs(names, ids, begins, alpha, gradient, outcomes)


def solve_pairs(
    rows: RowSource,
    labels: NDArray[np.intp],
    n_classes: int,
    bounds: Vector,
    *,
    stop: StopRule,
    options: SolverOptions,
    starts: Mapping[Pair, Vector] | None = None,
    squared: bool = False,
    fit_intercept: bool = True,
    problems: Sequence[PairSamples] | None = None,
) -> Sequence[PairSolution]:
    """Train every pair of classes that both have samples with a positive bound, or as many as time suffices for.

    Those that it did not suffice to begin with are not among the machines; they are the last ones.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of all samples.
    labels : ndarray of int
        Class numbers 0 .. n_classes - 1.
    n_classes : int
        Number of classes.
    bounds : ndarray
        C of every sample; 0 leaves the sample out, inf asks for a hard margin (which is the same for both losses).
    stop, options
        See :mod:`widemargin.machines.dual`.
    starts : mapping from pair to ndarray, optional
        Signed starting points over all samples.
    squared : bool, default=False
        Square the slack.
    fit_intercept : bool, default=True
        Whether decision functions have a constant; without it their intercept is 0.
    problems : sequence of PairSamples, optional
        Those of :class:`ClassPairs`, if they are known, or other problems.
    """
    hard = bool(np.isinf(bounds).any())
    pairs = ClassPairs(labels, n_classes, bounds) if problems is None else problems
    computed = 0
    if not hard and isinstance(pairs, ClassPairs) and len(pairs) > 1:
        rows, options, computed = _rows_for_pairs(rows, labels, pairs, options, stop)
    squared, kernel = squared and not hard, rows
    if squared or not fit_intercept:
        kernel = _with_ridge_and_spare_variable(rows, ridge_of(bounds) if squared else None, fit_intercept)
    formulation = _Formulation(kernel, len(bounds), squared, fit_intercept, options)
    if hard:
        return _solve_hard(pairs, bounds, formulation, rows.diagonal(), starts or {}, stop)
    parts: list[SolvedPairs] = []
    for some in in_turns(range(len(pairs)), stop) if len(pairs) else ():
        names, samples = side_by_side(pairs, some)
        parts.append(formulation.solve(names, samples, bounds[samples[0]], _starts_of(names, samples, starts), stop))
    found = SolvedPairs.joined(parts) if parts else SolvedPairs.of([])
    if computed == 0:
        return found
    outcomes = found.outcomes.copy()
    outcomes[0, COLUMNS["kernel_evaluations"]] += computed  # the first pair pays for it
    return replace(found, outcomes=outcomes)


def solve_without(
    rows: RowSource,
    labels: NDArray[np.intp],
    pairs: ClassPairs,
    bounds: Vector,
    folds: NDArray[np.intp],
    *,
    stop: StopRule,
    options: SolverOptions,
    squared: bool,
    fit_intercept: bool,
) -> Iterator[tuple[int, SolvedPairs]]:
    """Train the pairs without each fold in turn, as :func:`solve_pairs` does; bounds are finite.

    Samples held out stay variables, whose box is [0, 0]: the gradient tells their values. Pairs that a fold takes no
    sample of, or all samples of a class, are left out; so are folds that time did not suffice to begin with.

    Yields
    ------
    fold, solutions
    """
    rows, options, _ = _rows_for_pairs(rows, labels, pairs, options, stop)
    kernel = rows
    if squared or not fit_intercept:
        kernel = _with_ridge_and_spare_variable(rows, ridge_of(bounds) if squared else None, fit_intercept)
    formulation = _Formulation(kernel, len(bounds), squared, fit_intercept, options)
    numbers = pairs.names.numbers
    used = bounds > 0
    sizes = np.bincount(labels[used], minlength=int(numbers.max()) + 1)
    for fold in np.unique(folds[used]).tolist():
        out = np.bincount(labels[used & (folds == fold)], minlength=len(sizes))
        of_pairs, left = out[numbers], (sizes - out)[numbers]
        able = numbers[(of_pairs > 0).any(axis=1) & (left > 0).all(axis=1)]
        prices = np.where(folds == fold, 0.0, bounds)
        for some in in_turns(range(len(able)), stop) if len(able) else ():
            names = PairTable(able[some[0] : some[-1] + 1])
            samples = pairs.side_by_side(names)
            yield fold, formulation.solve(names, samples, prices[samples[0]], None, stop)
        if stop.late:
            return


def side_by_side(
    pairs: Sequence[PairSamples], which: Sequence[int]
) -> tuple[Sequence[Pair], tuple[NDArray[np.int32], NDArray[np.intp], Vector]]:
    """Return the names of some pairs and their samples, how many each has, and their labels."""
    if isinstance(pairs, ClassPairs):
        names = pairs.names[which[0] : which[-1] + 1]
        return names, pairs.side_by_side(names)
    own = [pairs[at] for at in which]
    sizes = np.array([len(p.ids) for p in own])
    return [p.pair for p in own], (np.concatenate([p.ids for p in own]), sizes, np.concatenate([p.signs for p in own]))


def _starts_of(
    names: Sequence[Pair],
    samples: tuple[NDArray[np.int32], NDArray[np.intp], Vector],
    starts: Mapping[Pair, Vector] | None,
) -> Vector | None:
    """Return starting points of some pairs, 0 where there is none."""
    if starts is None:
        return None
    ids, sizes, _ = samples
    own = np.split(ids, np.cumsum(sizes)[:-1])
    return np.concatenate(
        [starts[name][part] if name in starts else np.zeros(len(part)) for name, part in zip(names, own, strict=True)]
    )


def typical(diagonal: Vector) -> float:
    """Return the mean of a kernel's diagonal: what its values are measured by."""
    return max(float(np.mean(diagonal)), np.finfo(np.float64).tiny)


def _solve_hard(
    pairs: Sequence[PairSamples],
    bounds: Vector,
    formulation: _Formulation,
    diagonal: Vector,
    starts: Mapping[Pair, Vector],
    stop: StopRule,
) -> list[PairSolution]:
    machines: list[PairSolution] = []
    for p in pairs:
        if machines and stop.late:
            break

        def attempt(raised: Vector, start: Vector | None, left: StopRule, p: PairSamples = p) -> Solution:
            samples = p.ids, np.array([len(p.ids)]), p.signs
            return formulation.solve([p.pair], samples, raised, start, left)[0].solution

        prices = np.array(HARD_MARGIN_LADDER) / typical(diagonal[p.ids])
        begin = starts[p.pair][p.ids] if p.pair in starts else None
        solution, found = solve_hard(attempt, bounds[p.ids], prices.tolist(), begin, stop)
        machines.append(PairSolution(p.pair, p.ids, solution, hard_margin_found=found))
    return machines


def starting_points(machines: Sequence[PairSolution], n_samples: int) -> dict[Pair, Vector]:
    """Solutions spread over all samples, to start the next fit from."""
    starts: dict[Pair, Vector] = {}
    for machine in machines:
        whole = np.zeros(n_samples)
        whole[machine.ids] = machine.solution.alpha
        starts[machine.pair] = whole
    return starts


def rescaled(starts: Mapping[Pair, Vector], old: Vector, new: Vector) -> dict[Pair, Vector]:
    """Scale starting points to other bounds: variables at a bound stay there, zeros stay zero.

    Where one of the bounds is infinite or the old one is zero, there is no ratio to scale by and the value stays.
    """
    ratio = np.ones(len(old))
    with np.errstate(over="ignore"):
        np.divide(new, old, out=ratio, where=np.isfinite(old) & (old > 0))
    ratio[np.isinf(ratio)] = 1.0
    return {pair: start * ratio for pair, start in starts.items()}

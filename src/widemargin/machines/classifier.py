"""The soft-margin classifiers and their pairs of classes.

For a pair of classes with labels y_n = +1 (first) and -1 (second):

minimise ||w||^2 / 2 + sum_n C_n loss(y_n (<w, phi(x_n)> + b)),   loss(m) = max(0, 1 - m) or max(0, 1 - m)^2

whose dual is eq. 4.1 of [Glasmachers2008] with linear term y. The hinge loss bounds the variables: L_n = min(0, y_n
C_n), U_n = max(0, y_n C_n). The squared one leaves them unbounded but for their sign and adds D_n = 1 / (2 C_n) to the
diagonal of the kernel [Glasmachers2008, section 2.2]; its slack is D_n |a_n|. Without b there is no constant sum: one
more variable, which has nothing in common with any other and no bounds, takes it up.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource, derived_rows
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Subproblem, solve_all
from widemargin.machines.hard_margins import HARD_MARGIN_LADDER, solve_hard
from widemargin.runtime import Stop, cache_bytes

Vector = NDArray[np.float64]

Pair = tuple[int, int]

#: The second class of a "pair" whose first class is separated from all others.
OTHERS = -1

#: Problems that are made and solved between two looks at the clock, if there is a deadline.
PROBLEMS_AT_ONCE = 256

#: What the square loss adds to the diagonal stays below this; an example that would exceed it counts for nothing.
LARGEST_RIDGE = 1e30


@dataclass(frozen=True)
class PairSolution:
    """The machine that separates class ``pair[0]`` (+1) from class ``pair[1]``, or from all `OTHERS` (-1).

    `solution` holds one variable for each example of the pair. `hard_margin_found` is unset where a hard margin was
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
class PairExamples:
    """The examples of two classes, or of one and all `OTHERS`, with labels +1 and -1."""

    pair: Pair
    ids: NDArray[np.int32]
    signs: Vector


@dataclass(frozen=True)
class Votes:
    """Support vectors sorted by class, a column of coefficients for each, and the constants of the functions.

    In scikit-learn's layout for pairs a support vector has k - 1 coefficients; k, if each class stands against all.
    """

    support: NDArray[np.int32]
    n_support: NDArray[np.int32]
    dual_coef: Vector
    intercept: Vector


def box(signs: Vector, bounds: Vector) -> DualProblem:
    """Build the dual problem of one pair: labels +1/-1 and a bound C_n for every example."""
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


class PairNames(Sequence[Pair]):
    """All pairs of some classes, those of the first one first, without a list of them.

    Examples
    --------
    >>> names = PairNames([0, 2, 3])
    >>> len(names), names[-1], names[:2], list(names)
    (3, (2, 3), [(0, 2), (0, 3)], [(0, 2), (0, 3), (2, 3)])
    """

    def __init__(self, classes: Sequence[int]) -> None:
        self.classes = classes

    def __len__(self) -> int:
        return len(self.classes) * (len(self.classes) - 1) // 2

    def __iter__(self) -> Iterator[Pair]:
        return itertools.combinations(self.classes, 2)

    @overload
    def __getitem__(self, at: int) -> Pair: ...
    @overload
    def __getitem__(self, at: slice) -> list[Pair]: ...
    def __getitem__(self, at: int | slice) -> Pair | list[Pair]:
        if isinstance(at, slice):
            chosen = range(len(self))[at]
            return list(itertools.islice(self, chosen.start, chosen.stop, chosen.step))
        number = range(len(self))[at]
        for row, first in enumerate(self.classes):
            following = len(self.classes) - 1 - row
            if number < following:
                return first, self.classes[row + 1 + number]
            number -= following
        raise AssertionError


class ClassPairs(Sequence[PairExamples]):
    """The pairs of classes that both have examples, those of the first class first; each is made when it is asked for.

    Parameters
    ----------
    members : sequence of ndarray
        The examples of each class.

    Examples
    --------
    >>> pairs = ClassPairs([np.array([0, 2]), np.array([], dtype=int), np.array([1])])
    >>> list(pairs.names), pairs[0].ids.tolist(), pairs[0].signs.tolist()
    ([(0, 2)], [0, 2, 1], [1.0, 1.0, -1.0])
    """

    def __init__(self, members: Sequence[NDArray[np.int32]]) -> None:
        self._members = members
        self._known: dict[Pair, PairExamples] = {}
        self.names = PairNames([c for c, own in enumerate(members) if len(own)])

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[PairExamples]:
        return map(self._made, self.names)

    @overload
    def __getitem__(self, at: int) -> PairExamples: ...
    @overload
    def __getitem__(self, at: slice) -> list[PairExamples]: ...
    def __getitem__(self, at: int | slice) -> PairExamples | list[PairExamples]:
        return [self._made(pair) for pair in self.names[at]] if isinstance(at, slice) else self._made(self.names[at])

    def _made(self, pair: Pair) -> PairExamples:
        if pair not in self._known:
            first, second = (self._members[c] for c in pair)
            signs = np.ones(len(first) + len(second))
            signs[len(first) :] = -1.0
            self._known[pair] = PairExamples(pair, np.concatenate([first, second]), signs)
        return self._known[pair]


def _by_class(labels: NDArray[np.intp], n_classes: int) -> NDArray[np.intp]:
    """Order examples by class; short numbers are sorted in linear time."""
    return np.argsort(labels.astype(np.uint16) if n_classes <= 2**16 else labels, kind="stable")


def classes_present(labels: NDArray[np.intp], weights: Vector) -> list[int]:
    """List the classes that have examples of positive weight.

    Examples
    --------
    >>> classes_present(np.array([2, 0, 1, 2]), np.array([1.0, 3.0, 0.0, 0.0]))
    [0, 2]
    """
    present: list[int] = np.flatnonzero(np.bincount(labels[weights > 0])).tolist()
    return present


def pairs_of_classes(labels: NDArray[np.intp], n_classes: int, weights: Vector) -> ClassPairs:
    """List the pairs of classes that both have examples of positive weight, those of the first class first."""
    used = np.flatnonzero(weights > 0).astype(np.int32)
    order = used[_by_class(labels[used], n_classes)]
    ends = np.cumsum(np.bincount(labels[used], minlength=n_classes))
    return ClassPairs(np.split(order, ends[:-1]))


def in_turns(problems: Sequence[PairExamples], stop: Stop) -> Iterator[Sequence[PairExamples]]:
    """Give out problems, some at a time, until time is up: whoever solves them need not make those that come too late.

    The first ones are given out in any case; without a deadline these are all.

    Examples
    --------
    >>> pairs = ClassPairs([np.array([c]) for c in range(40)])
    >>> [len(some) for some in in_turns(pairs, Stop())], [len(some) for some in in_turns(pairs, Stop(deadline=0.0))]
    ([780], [256])
    """
    at_once = len(problems) if stop.deadline is None else PROBLEMS_AT_ONCE
    for begin in range(0, len(problems), max(1, at_once)):
        if begin > 0 and stop.late:
            break
        yield problems[begin : begin + at_once]


def share_class_rows(
    rows: RowSource, labels: NDArray[np.intp], n_pairs: int, options: SolverOptions
) -> tuple[RowSource, SolverOptions]:
    """Let several pairs share the kernel values of their classes: half of the cache holds these for all of them."""
    if n_pairs < 2:
        return rows, options
    share = (options.cache_bytes or cache_bytes("auto", len(labels), options.dtype)) // 2
    shared = _core.class_shared_source(rows, labels.astype(np.int32), share)
    return shared, replace(options, cache_bytes=share)


@dataclass(frozen=True)
class _Formulation:
    """How the pairs of one fit become dual problems over one row source.

    Both the ridge of the square loss and the spare variable of a machine without intercept are the same for every pair,
    so that one derived kernel serves them all.
    """

    n_examples: int
    squared: bool
    fit_intercept: bool

    def rows(self, source: RowSource, bounds: Vector) -> RowSource:
        """Derive the kernel of the machine; the spare variable's example comes last and resembles nothing."""
        ridge = ridge_of(bounds) if self.squared else None
        if self.fit_intercept:
            return source if ridge is None else derived_rows(source, ridge=ridge)
        return derived_rows(
            source,
            base=np.append(np.arange(self.n_examples), 0),
            scale=np.append(np.ones(self.n_examples), 0.0),
            ridge=None if ridge is None else np.append(ridge, 0.0),
        )

    def subproblem(self, examples: PairExamples, bounds: Vector, start: Vector | None) -> Subproblem:
        """Build the problem of one pair; `bounds` and `start` are those of its own examples."""
        problem = box(examples.signs, np.full(len(bounds), np.inf) if self.squared else bounds)
        if self.fit_intercept:
            return Subproblem(examples.ids, problem, start)
        problem = DualProblem(
            np.append(problem.linear, 0.0), np.append(problem.lower, -np.inf), np.append(problem.upper, np.inf)
        )
        ids = np.append(examples.ids, np.int32(self.n_examples))
        return Subproblem(ids, problem, None if start is None else np.append(start, -start.sum()))

    def of_examples(self, solution: Solution) -> Solution:
        """Leave the spare variable out of a solution."""
        if self.fit_intercept:
            return solution
        return replace(solution, alpha=solution.alpha[:-1], gradient=solution.gradient[:-1], intercept=0.0)


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
    problems: Sequence[PairExamples] | None = None,
) -> list[PairSolution]:
    """Train every pair of classes that both have examples with a positive bound, or as many as time suffices for.

    Those that it did not suffice to begin with are not among the machines; they are the last ones.

    Parameters
    ----------
    rows : RowSource
        Kernel rows of all examples.
    labels : ndarray of int
        Class numbers 0 .. n_classes - 1.
    n_classes : int
        Number of classes.
    bounds : ndarray
        C of every example; 0 leaves the example out, inf asks for a hard margin (which is the same for both losses).
    stop, options
        See :mod:`widemargin.machines.dual`.
    starts : mapping from pair to ndarray, optional
        Signed starting points over all examples.
    squared : bool, default=False
        Square the slack.
    fit_intercept : bool, default=True
        Whether decision functions have a constant; without it their intercept is 0.
    problems : sequence of PairExamples, optional
        Those of :func:`pairs_of_classes`, if they are known, or other problems.
    """
    hard = bool(np.isinf(bounds).any())
    formulation = _Formulation(len(labels), squared and not hard, fit_intercept)
    pairs = pairs_of_classes(labels, n_classes, bounds) if problems is None else problems
    if isinstance(pairs, ClassPairs) and not hard:
        rows, options = share_class_rows(rows, labels, len(pairs), options)
    source, machines = formulation.rows(rows, bounds), list[PairSolution]()
    diagonal = rows.diagonal() if hard else None
    for some in in_turns(pairs, stop):
        own_starts = [None if starts is None or p.pair not in starts else starts[p.pair][p.ids] for p in some]
        if diagonal is not None:
            for p, start in zip(some, own_starts, strict=True):
                if machines and stop.late:
                    break
                own = bounds[p.ids]
                machines.append(_solve_hard(p, own, formulation, diagonal, source, start, stop, options))
            continue
        subproblems = [formulation.subproblem(p, bounds[p.ids], s) for p, s in zip(some, own_starts, strict=True)]
        solutions = solve_all(subproblems, source, stop=stop, options=options)
        machines += [
            PairSolution(p.pair, p.ids, formulation.of_examples(one)) for p, one in zip(some, solutions, strict=True)
        ]
    return machines


def typical(diagonal: Vector) -> float:
    """Return the mean of a kernel's diagonal: what its values are measured by."""
    return max(float(np.mean(diagonal)), np.finfo(np.float64).tiny)


def _solve_hard(
    examples: PairExamples,
    bounds: Vector,
    formulation: _Formulation,
    diagonal: Vector,
    rows: RowSource,
    start: Vector | None,
    stop: StopRule,
    options: SolverOptions,
) -> PairSolution:
    def attempt(raised: Vector, start: Vector | None, left: StopRule) -> Solution:
        problem = formulation.subproblem(examples, raised, start)
        return formulation.of_examples(solve_all([problem], rows, stop=left, options=options)[0])

    prices = np.array(HARD_MARGIN_LADDER) / typical(diagonal[examples.ids])
    solution, found = solve_hard(attempt, bounds, prices.tolist(), start, stop)
    return PairSolution(examples.pair, examples.ids, solution, hard_margin_found=found)


def gather_votes(
    machines: list[PairSolution], labels: NDArray[np.intp], n_classes: int, present: Collection[int]
) -> Votes:
    """Collect the pairs' coefficients; a pair in which one class is not `present` always votes for the other.

    Those of the pairs that have no machine, since time did not suffice to begin with them, are 0.
    """
    begins = np.cumsum([0, *range(n_classes - 1, 0, -1)]).tolist()  # of the pairs of each class with later ones
    coefficients = np.zeros((n_classes - 1, len(labels)))
    intercept = np.zeros(begins[-1])
    for machine in machines:
        first, second = machine.pair
        intercept[begins[first] + second - first - 1] = machine.solution.intercept
        ours = labels[machine.ids] == first
        coefficients[second - 1, machine.ids[ours]] = machine.solution.alpha[ours]
        coefficients[first, machine.ids[~ours]] = machine.solution.alpha[~ours]
    if len(present) < n_classes:
        for number, (first, second) in enumerate(itertools.combinations(range(n_classes), 2)):
            if (first in present) != (second in present):
                intercept[number] = 1.0 if first in present else -1.0
    return sorted_by_class(coefficients, intercept, labels, n_classes)


def sorted_by_class(coefficients: Vector, intercept: Vector, labels: NDArray[np.intp], n_classes: int) -> Votes:
    """Keep the columns of examples that have coefficients, those of the first class first."""
    used = np.flatnonzero(coefficients.any(axis=0))
    support = used[_by_class(labels[used], n_classes)].astype(np.int32)
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return Votes(support, n_support, np.ascontiguousarray(coefficients[:, support]), intercept)


def starting_points(machines: list[PairSolution], n_examples: int) -> dict[Pair, Vector]:
    """Solutions spread over all examples, to start the next fit from."""
    starts: dict[Pair, Vector] = {}
    for machine in machines:
        whole = np.zeros(n_examples)
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

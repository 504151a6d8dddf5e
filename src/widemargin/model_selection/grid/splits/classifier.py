"""Classifiers of one split: a chain for each pair of classes, or for each class against all others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.multi_class import OneVersusRest, in_scikit_learns_sign
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.out_of_fold import function_name
from widemargin.estimators.svc import SVC
from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution
from widemargin.machines.classifier import (
    OTHERS,
    ClassPairs,
    Pair,
    PairExamples,
    PairSolution,
    box,
    classes_present,
    typical,
)
from widemargin.machines.dual import Solution, StopRule, Vector, values_of
from widemargin.machines.hard_margins import solve_to_the_hard_end
from widemargin.machines.nu_classifier import solve_nu_chain
from widemargin.machines.one_against_all import ABSENT, classes_against_all
from widemargin.model_selection.grid.paths.starts import Start
from widemargin.model_selection.grid.splits.base import (
    KnownValues,
    Rows,
    SplitMachines,
    StartableMachines,
    ridge,
)
from widemargin.runtime import Stop

#: Chains of problems that a split keeps for the next kernel, and numbers that the bounds of one may consist of.
KEPT_CHAINS, KEPT_NUMBERS = 4, 2**17


@dataclass(frozen=True)
class Scheme:
    """The two-class problems of a split, and the decision functions of its machines.

    Parameters
    ----------
    problems : sequence of PairExamples
    columns : list of int
        The function of each problem.
    constants : dict
        Values of functions that there is no problem for, since a class is absent.
    n_functions : int
    """

    problems: Sequence[PairExamples]
    columns: list[int]
    constants: dict[int, float]
    n_functions: int

    @classmethod
    def of_pairs(cls, problems: ClassPairs, n_classes: int) -> Scheme:
        """Let pairs decide; a class that is absent loses against any that is there."""
        columns = {pair: column for column, pair in enumerate(combinations(range(n_classes), 2))}
        present = {c for pair in problems.names for c in pair}
        won = {at: 1.0 if a in present else -1.0 for (a, b), at in columns.items() if (a in present) != (b in present)}
        return cls(problems, [columns[pair] for pair in problems.names], won, len(columns))

    @classmethod
    def against_all(cls, problems: list[PairExamples], n_classes: int) -> Scheme:
        """Let each class stand against all others; one that is absent never wins."""
        columns = [one.pair[0] for one in problems]
        return cls(problems, columns, {c: ABSENT for c in range(n_classes) if c not in columns}, n_classes)


class PairwiseSplit(SplitMachines):
    """What classifiers share: the pairs of classes, and what scorers get."""

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        super().__init__(y, train, test, weights, asked)
        self.classes, labels = np.unique(y[train], return_inverse=True)
        self.labels = np.zeros(len(y), dtype=np.intp)
        self.labels[train] = labels
        if len(np.unique(self.labels[self.weights > 0])) < 2:
            raise ValueError(
                "The training part of a fold must hold at least two classes; all its samples with positive weights are "
                "of the same class."
            )
        self.pairs = ClassPairs(self.labels, len(self.classes), self.weights)
        self._all = np.arange(len(y), dtype=np.int32)
        self._used = np.flatnonzero(self.weights > 0)
        self._pairwise = Scheme.of_pairs(self.pairs, len(self.classes))
        self._weighted: dict[str, Vector] = {}
        self._of_pairs: dict[Pair, tuple[NDArray[np.int32], Vector]] = {}
        self._sides: tuple[Vector, NDArray[np.int8]] | None = None
        if len(self.classes) == 2 and len(self.pairs) == 1:
            _, signs = self._examples(self.pairs[0])
            others = 2 * ~np.isin(y[test], self.classes)  # classes that the training part does not know
            self._sides = signs[test], ((y[test] == self.classes[1]) + others).astype(np.int8)

    def require_trainable(self, machine: KernelClassifier) -> None:
        """Let the machine check its prices against the classes of the split."""
        self._bounds(machine)

    def _knowing(self, machine: KernelClassifier) -> KernelClassifier:
        """Return the machine with the classes of this split; other splits may know others."""
        return machine._knowing(classes_=self.classes)

    def scheme(self, machine: KernelClassifier) -> Scheme:
        """Return the problems of a machine and what its functions are."""
        return self._pairwise

    def _examples(self, pair: PairExamples) -> tuple[NDArray[np.int32], Vector]:
        """Examples of a pair's problems: its own, then those that it only has to say something about; their labels."""
        if pair.pair not in self._of_pairs:
            signs = np.zeros(len(self.labels))
            signs[pair.ids] = pair.signs
            ids = self._all
            if len(self.classes) > 2 and pair.pair[1] != OTHERS:
                ids = np.concatenate([pair.ids, np.setdiff1d(self.asked, pair.ids)]).astype(np.int32)
            self._of_pairs[pair.pair] = ids, signs[ids]
        return self._of_pairs[pair.pair]

    def _bounds(self, machine: KernelClassifier) -> Vector:
        """Largest coefficients, by the weights of the training examples times those of their classes."""
        key, own = repr(machine.class_weight), self._knowing(machine)
        if key not in self._weighted:
            labels, weights = self.labels[self._used], self.weights[self._used]
            weighted = np.zeros(len(self.labels))
            with np.errstate(over="ignore"):  # as in a fit
                weighted[self._used] = weights * own._class_factors(labels, weights)[labels]
            self._weighted[key] = weighted  # whole: other threads read it
        return own._bounds(self.labels, self._weighted[key])

    def _bounds_of_pair(self, pair: PairExamples, prices: Vector) -> Vector:
        """Largest coefficients of a pair's examples: 0 where it only has to say something."""
        ids, signs = self._examples(pair)
        # With all examples in one problem, those that do not count have no other price.
        return prices if ids is self._all else np.where(signs != 0, prices[ids], 0.0)

    def _side_by_side(self, kernel: ChainKernel, problems: Sequence[PairExamples]) -> ChainKernel:
        """Prepare a kernel for the chains of all problems."""
        return kernel.side_by_side([len(self._examples(pair)[0]) for pair in problems])

    def _warn_of_missing_margins(self, machine: KernelClassifier, links: Sequence[LinkSolution]) -> None:
        """Warn as the machine does where a pair of classes has no margin of the kind that was asked for."""
        found = zip(self.scheme(machine).problems, links, strict=True)
        pairs = [PairSolution(pair.pair, pair.ids, one.solution, one.hard_margin_found) for pair, one in found]
        self._knowing(machine)._warn_of_missing_margins(pairs)

    def values(self, machine: Any, solutions: Sequence[Solution], rows: Rows) -> NDArray[np.float64]:
        """Decision values of the pairs, in the sign of the fitted attributes."""
        return in_scikit_learns_sign(self._pair_values(machine, solutions, rows), len(self.classes))

    def _pair_values(self, machine: Any, solutions: Sequence[Solution], rows: Rows) -> NDArray[np.float64]:
        """Decision values of the pairs, positive for the first class of a pair."""
        scheme = self.scheme(machine)
        values = np.zeros((len(rows), scheme.n_functions))
        for column, pair, solution in zip(scheme.columns, scheme.problems, solutions, strict=True):
            ids, signs = self._examples(pair)
            at = rows if ids is self._all else _places(ids, len(self.labels))[rows]
            plain = getattr(machine, "loss", "hinge") == "hinge"
            slack = None if plain else ridge(self._bounds_of_pair(pair, self._bounds(machine)))[at]
            values[:, column] = values_of(solution, signs[at], slack, at)
        for column, value in scheme.constants.items():
            values[:, column] = value
        return values

    def named_values(self, machine: Any, solutions: Sequence[Solution]) -> Iterator[tuple[Hashable, Vector]]:
        """Decision values of the test rows, by the names of the classes that a function tells apart.

        They are positive for the first of two classes, or the only one of those against all. Two classes that are left
        of more stand against all others of the split.
        """
        scheme, values = self.scheme(machine), self._pair_values(machine, solutions, self.test)
        for column, problem in zip(scheme.columns, scheme.problems, strict=True):
            yield self._names(problem), values[:, column]
        if len(self.classes) == 2:
            first, second = self.classes.tolist()
            yield (first,), values[:, 0]
            yield (second,), -values[:, 0]

    def correct(self, machine: Any, solutions: Sequence[Solution]) -> int | None:
        """Count the test rows on the side of their class, where there is but one function and no slack in it."""
        own_way = type(machine) not in (SVC, NuSVC)  # a subclass may predict as it likes
        if self._sides is None or own_way or getattr(machine, "loss", "hinge") != "hinge":
            return None
        (solution,) = solutions
        signs, sides = self._sides
        on_second = values_of(solution, signs, at=self.test) < 0
        return int(np.count_nonzero(on_second == sides))

    def _names(self, pair: PairExamples) -> Hashable:
        return function_name(self.classes, pair.pair)

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a classifier that knows the classes of the training part."""
        return machine._knowing(known, classes_=self.classes)

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a classifier with scikit-learn's attributes."""
        rows = self.rows
        found = clone(machine)
        X, _ = found._check_samples(X, self.y[rows])
        found.classes_ = self.classes
        labels, weights = self.labels[rows], self.weights[rows]
        found.class_weight_ = found._class_factors(labels, weights)
        machines = []
        for pair, solution in zip(self.scheme(machine).problems, solutions, strict=True):
            whole = np.zeros(len(self.labels))
            whole[self._examples(pair)[0]] = solution.alpha
            own = replace(solution, alpha=whole[pair.ids], gradient=np.zeros(len(pair.ids)))
            machines.append(PairSolution(pair.pair, np.searchsorted(rows, pair.ids).astype(np.int32), own))
        found._keep_solutions(X, labels, kernel, machines, classes_present(labels, weights))
        return found


@dataclass(frozen=True)
class PairProblems:
    """The largest coefficients of a chain of machines for the examples of one pair, and the soft ones' problems."""

    bounds: list[Vector]
    links: tuple[Link, ...]


class ClassifierSplit(PairwiseSplit, StartableMachines):
    """Classifiers with a C: chains along it, hard margins at their end."""

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        super().__init__(y, train, test, weights, asked)
        self._problems: dict[Hashable, list[PairProblems]] = {}
        self._against_all: Scheme | None = None

    def scheme(self, machine: KernelClassifier) -> Scheme:
        """Return the pairs of classes, or each class against all."""
        if not isinstance(self._knowing(machine)._scheme(), OneVersusRest):
            return self._pairwise
        if self._against_all is None:
            problems = classes_against_all(self.labels, len(self.classes), self.weights)
            self._against_all = Scheme.against_all(problems, len(self.classes))
        return self._against_all

    @classmethod
    def own_matrices(cls, machine: SVC) -> int:
        """Without an intercept there is one variable more, and so another matrix."""
        return int(not machine.fit_intercept)

    def suits_all(self, machines: Sequence[SVC]) -> bool:
        """Accept all prices of the hinge."""
        return all(machine.loss == "hinge" for machine in machines)

    def solve_from(
        self, machines: Sequence[SVC], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the chains of all two-class problems from a given start."""
        pairs, problems = self.scheme(machines[0]).problems, self._problems_of(machines, stop)
        if len(problems) < len(pairs):
            return iter(())
        hard = any(len(own.links) < len(machines) for own in problems)
        diagonal = kernel.diagonal() if hard else None
        kernel = self._side_by_side(kernel, pairs)

        def chain_of(pair: PairExamples, own: PairProblems) -> Iterator[LinkSolution]:
            if stop.late:
                return iter(())  # what others have is of no use without it
            ids, signs = self._examples(pair)
            given = None if start is None else start.coefficients(self._names(pair))
            chain = Chain(
                own.links,
                None if ids is self._all else ids,
                None if given is None else given[ids],
                any_sum=not machines[0].fit_intercept,
            )
            return solve_to_the_hard_end(
                kernel,
                chain,
                own.bounds,
                partial(_hinge_link, signs),
                1.0 if diagonal is None else 1.0 / typical(diagonal[pair.ids]),
                stop,
            )

        found = map(list, zip(*map(chain_of, pairs, problems), strict=False))
        return found if not hard else self._telling(machines, found)

    def _telling(self, machines: Sequence[SVC], found: Iterator[list[LinkSolution]]) -> Iterator[list[LinkSolution]]:
        """Warn of margins that the last machine was to have and has not."""
        for machine, links in zip(machines, found, strict=False):
            if machine is machines[-1]:
                self._warn_of_missing_margins(machine, links)
            yield links

    def _problems_of(self, machines: Sequence[SVC], stop: Stop) -> list[PairProblems]:
        """Return the problems of each pair; small ones are kept, as those of other kernels are the same.

        Where there are many, time may not suffice for all of them.
        """
        key = tuple((machine.C, machine.loss, machine.multi_class, repr(machine.class_weight)) for machine in machines)
        known = self._problems.get(key)
        if known is not None:
            return known
        bounds = [self._bounds(machine) for machine in machines]
        soft = [machine for machine, prices in zip(machines, bounds, strict=True) if np.isfinite(prices).all()]
        problems: list[PairProblems] = []
        for pair in self.scheme(machines[0]).problems:
            if problems and stop.late:
                return problems
            own, (_, signs) = [self._bounds_of_pair(pair, prices) for prices in bounds], self._examples(pair)
            links = tuple(_link(machine, signs, prices) for machine, prices in zip(soft, own, strict=False))
            problems.append(PairProblems(own, links))
        if len(self._problems) < KEPT_CHAINS and sum(len(b) for one in problems for b in one.bounds) <= KEPT_NUMBERS:
            self._problems[key] = problems
        return problems

    def start_of(self, machine: SVC, solutions: Sequence[Solution]) -> Start:
        """Return the coefficients of each pair, by the names of its classes: splits may know different ones."""
        functions = {}
        for pair, solution in zip(self.scheme(machine).problems, solutions, strict=True):
            whole = np.zeros(len(self.labels))
            whole[self._examples(pair)[0]] = solution.alpha
            functions[self._names(pair)] = whole
        return Start.of(functions)


class NuClassifierSplit(PairwiseSplit):
    """Classifiers with a nu: chains along it."""

    @classmethod
    def chained(cls, machine: NuSVC) -> tuple[str, ...]:
        """Chains go along nu."""
        return ("nu",)

    def solve(
        self, machines: Sequence[NuSVC], X: Any, kernel: ChainKernel, stop: StopRule
    ) -> Iterator[list[LinkSolution]]:
        """Solve the chains of all pairs."""
        weights, fractions = self._bounds(machines[0]), [float(machine.nu) for machine in machines]
        kernel = self._side_by_side(kernel, self.pairs)

        def chain_of(pair: PairExamples) -> Iterator[LinkSolution]:
            if stop.late:
                return  # what others have is of no use without it
            ids, signs = self._examples(pair)
            examples, own = PairExamples(pair.pair, ids, signs), self._bounds_of_pair(pair, weights)
            for one in solve_nu_chain(kernel, examples, own, fractions, stop=stop):
                yield LinkSolution(one.solution, hard_margin_found=one.hard_margin_found)

        for machine, *links in zip(machines, *map(chain_of, self.pairs), strict=False):
            self._warn_of_missing_margins(machine, links)
            yield links


def _places(ids: NDArray[np.int32], n: int) -> Rows:
    """Return at which place of `ids` each of n examples is."""
    places = np.full(n, n, dtype=np.intp)
    places[ids] = np.arange(len(ids))
    return places


def _hinge_link(signs: Vector, bounds: Vector) -> Link:
    return Link(box(signs, bounds))


def _link(machine: SVC, signs: Vector, bounds: Vector) -> Link:
    if machine.loss == "hinge":
        return _hinge_link(signs, bounds)
    return Link(box(signs, np.where(bounds > 0, np.inf, 0.0)), ridge(bounds))

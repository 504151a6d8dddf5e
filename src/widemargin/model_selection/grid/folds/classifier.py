"""Classifiers of one fold: a chain for each pair of classes, or for each class against all others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin import _core
from widemargin.estimators.calibration import FROM_SEARCH
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.multi_class import counted, in_scikit_learns_sign, numbers_of_pairs
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.out_of_fold import function_name
from widemargin.estimators.prediction import BLOCK_VALUES, tallied
from widemargin.estimators.svc import SVC
from widemargin.kernels.rows import KernelParameters, row_source
from widemargin.machines.chain import Chain, ChainKernel, Ids, JointSolution, Link, LinkSolution, SideBySide
from widemargin.machines.classifier import (
    ClassPairs,
    PairSamples,
    PairSolution,
    PairTable,
    SolvedPairs,
    box,
    side_by_side,
    solve_pairs,
    typical,
)
from widemargin.machines.dual import COLUMNS, Solution, StopRule, Vector, cache_bytes, joint_outcome, values_of_each
from widemargin.machines.hard_margins import solve_to_the_hard_end
from widemargin.machines.nu_classifier import solve_nu_chain
from widemargin.machines.one_against_all import ABSENT, classes_against_all
from widemargin.model_selection.grid.folds.base import FoldModels, Indices, KnownValues, Start, ridge
from widemargin.runtime import Stop

#: Chains of problems that a fold keeps for the next kernel, and numbers that the bounds of one may consist of: of one
#: pair after the other, and of all pairs side by side, whose samples are no one else's.
KEPT_CHAINS, KEPT_NUMBERS, KEPT_SIDE_BY_SIDE = 4, 2**17, 2**20


@dataclass(frozen=True)
class FoldPair:
    """Two classes of a fold, or one and all others: a decision function.

    `own` are the samples that it is trained on. `name` tells the function from others by its classes, which folds may
    number otherwise. `others` are samples that the function only has to say something about, among `n` in all; None
    stands for all samples.
    """

    own: PairSamples
    name: Hashable
    others: Indices | None
    n: int

    @cached_property
    def ids(self) -> Ids | None:
        """The samples of a problem that says something about the others, too; None stands for all."""
        if self.others is None:
            return None
        return np.concatenate([self.own.ids, np.setdiff1d(self.others, self.own.ids)]).astype(np.int32)

    @cached_property
    def signs(self) -> Vector:
        """The labels of these, 0 where there is none."""
        signs = np.zeros(self.n)
        signs[self.own.ids] = self.own.signs
        return signs if self.ids is None else signs[self.ids]


class FoldPairs(Sequence[FoldPair]):
    """The decision functions of a fold, each made when it is asked for: there may be very many."""

    def __init__(self, problems: Sequence[PairSamples], classes: NDArray[Any], others: Indices | None, n: int) -> None:
        self.problems, self._classes, self._others, self._n = problems, classes, others, n
        self._known: dict[int, FoldPair] = {}

    def __len__(self) -> int:
        return len(self.problems)

    @overload
    def __getitem__(self, at: int) -> FoldPair: ...
    @overload
    def __getitem__(self, at: slice) -> list[FoldPair]: ...
    def __getitem__(self, at: int | slice) -> FoldPair | list[FoldPair]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if at not in self._known:
            own = self.problems[at]
            self._known[at] = FoldPair(own, function_name(self._classes, own.pair), self._others, self._n)
        return self._known[at]


@dataclass(frozen=True)
class Scheme:
    """The two-class problems of a fold, and the column of each among the decision functions.

    Functions in the columns `absent` have the constant values `won`: there is no problem for them, since a class is
    absent.
    """

    pairs: FoldPairs
    columns: Indices
    absent: Indices
    won: Vector
    n_functions: int


@dataclass(frozen=True)
class PairProblems:
    """The largest coefficients of a chain of models for the samples of one pair, and the soft ones' problems."""

    bounds: list[Vector]
    links: tuple[Link, ...]


class PairwiseFold(FoldModels):
    """What classifiers share: the pairs of classes, and what scorers get."""

    def __init__(self, y: Any, train: Indices, test: Indices, weights: Vector, asked: Indices) -> None:
        super().__init__(y, train, test, weights, asked)
        self.classes, labels = np.unique(y[train], return_inverse=True)
        self.labels = np.zeros(len(y), dtype=np.intp)
        self.labels[train] = labels
        self._used = np.flatnonzero(self.weights > 0)
        if len(np.unique(self.labels[self._used])) < 2:
            raise ValueError(
                "The training part of a fold must hold at least two classes; all its samples with positive weights are "
                "of the same class."
            )
        self._weighted: dict[str, Vector] = {}
        self._schemes: dict[bool, Scheme] = {}

    @classmethod
    def order(cls, y: Any, folds: Sequence[tuple[Indices, Indices]]) -> Indices | None:
        """Sort samples of more than two classes by class, and those of a class by the fold that tests them.

        The training samples of a class are then two stretches at most.
        """
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) <= 2:
            return None
        tested_by = np.zeros(len(y), dtype=np.intp)
        for number, (_, test) in enumerate(folds):
            tested_by[test] = number
        return np.lexsort((tested_by, labels))

    def require_trainable(self, model: KernelClassifier) -> None:
        """Let the model check its prices against the classes of the fold."""
        self._bounds(model)

    def scheme(self, model: KernelClassifier) -> Scheme:
        """Return the pairs of classes of a model, or each class against all others."""
        one_against_all = len(self.classes) > 2 and getattr(model, "multi_class", "ovo") == "ovr"
        if one_against_all not in self._schemes:
            self._schemes[one_against_all] = self._against_all() if one_against_all else self._pairwise()
        return self._schemes[one_against_all]

    def _pairwise(self) -> Scheme:
        """Let pairs decide; a class that is absent loses against any that is there."""
        k = len(self.classes)
        problems = ClassPairs(self.labels, k, self.weights)
        pairs = FoldPairs(problems, self.classes, self.asked if k > 2 else None, len(self.labels))
        there = np.zeros(k, dtype=bool)
        there[problems.names.numbers] = True
        first, second = np.triu_indices(k, 1)
        absent = np.flatnonzero(there[first] != there[second])
        a, b = problems.names.numbers.T
        columns = numbers_of_pairs(a, b, k)
        return Scheme(pairs, columns, absent, np.where(there[first[absent]], 1.0, -1.0), len(first))

    def _against_all(self) -> Scheme:
        """Let each class stand against all others; one that is absent never wins."""
        problems = classes_against_all(self.labels, len(self.classes), self.weights)
        columns = np.array([one.pair[0] for one in problems])
        absent = np.setdiff1d(np.arange(len(self.classes)), columns)
        pairs = FoldPairs(problems, self.classes, None, len(self.labels))
        return Scheme(pairs, columns, absent, np.full(len(absent), ABSENT), len(self.classes))

    def _bounds(self, model: KernelClassifier) -> Vector:
        """Return the largest coefficients, by the weights of the training samples times those of their classes."""
        return self._knowing(model)._bounds(self.labels, self._weights_of(model))

    def _knowing(self, model: KernelClassifier) -> KernelClassifier:
        """Return the model with the classes of this fold; other folds may know others."""
        return model._knowing(classes_=self.classes)

    def _weights_of(self, model: KernelClassifier) -> Vector:
        key = repr(model.class_weight)
        if key not in self._weighted:
            labels, weights = self.labels[self._used], self.weights[self._used]
            weighted = np.zeros(len(self.labels))
            with np.errstate(over="ignore"):  # as in a fit
                weighted[self._used] = weights * self._knowing(model)._class_factors(labels, weights)[labels]
            self._weighted[key] = weighted  # whole: other threads read it
        return self._weighted[key]

    def _side_by_side(self, kernel: ChainKernel, pairs: Sequence[FoldPair]) -> ChainKernel:
        """Prepare a kernel for the chains of all pairs."""
        return kernel if len(pairs) == 1 else kernel.side_by_side([len(pair.signs) for pair in pairs])

    def _warn_of_missing_margins(self, model: KernelClassifier, links: Sequence[LinkSolution]) -> None:
        """Warn as the model does where a pair of classes has no margin of the kind that was asked for."""
        found = zip(self.scheme(model).pairs, links, strict=True)
        solved = [PairSolution(p.own.pair, p.own.ids, one.solution, one.hard_margin_found) for p, one in found]
        self._knowing(model)._warn_of_missing_margins(solved)

    def values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Decision values of the pairs, in the sign of the fitted attributes."""
        return in_scikit_learns_sign(self._pair_values(models, found, samples), len(self.classes))

    def _pair_values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Decision values of the pairs, positive for the first class of a pair."""
        scheme = self.scheme(models[0])
        values = np.zeros((scheme.n_functions, len(found), len(samples)))
        joint = {number: own[0] for number, own in enumerate(found) if isinstance(own[0], JointSolution)}
        places = np.searchsorted(self.asked, samples) if joint else samples
        for number, one in joint.items():
            assert one.values is not None
            values[scheme.columns, number] = one.values[:, places]
        # Pairs are solved one after the other where the digits of the matrix run out.
        others = [number for number in range(len(found)) if number not in joint]
        if others:
            squared = getattr(models[0], "loss", "hinge") != "hinge"
            prices = [self._bounds(models[number]) for number in others] if squared else None
            for at_pair, (column, pair) in enumerate(zip(scheme.columns, scheme.pairs, strict=True)):
                at = samples if pair.ids is None else _places(pair.ids, len(self.labels))[samples]
                slack = None if prices is None else [ridge(_bounds_of_pair(pair, own))[at] for own in prices]
                solutions = [found[number][at_pair] for number in others]
                values[column, others] = values_of_each(solutions, pair.signs[at], slack, at)
        values[scheme.absent] = scheme.won[:, np.newaxis, np.newaxis]
        return values.reshape(scheme.n_functions, -1).T

    def named_values(self, model: Any, solutions: Sequence[Solution]) -> Iterator[tuple[Hashable, Vector]]:
        """Decision values of the test part, by the names of the classes that a function tells apart.

        They are positive for the first of two classes, or the only one of those against all. Two classes that are left
        of more stand against all others of the fold.
        """
        scheme, values = self.scheme(model), self._pair_values([model], [solutions], self.test)
        for column, pair in zip(scheme.columns, scheme.pairs, strict=True):
            yield pair.name, values[:, column]
        if len(self.classes) == 2:
            first, second = self.classes.tolist()
            yield (first,), values[:, 0]
            yield (second,), -values[:, 0]

    def tallied(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices, rule: str
    ) -> NDArray[np.float64]:
        """Return what the pairs say of samples; of what was counted while it was computed, the values are not there."""
        said = np.empty((len(found), len(samples), len(self.classes)))
        places, others = np.searchsorted(self.asked, samples), []
        for number, (one, *_) in enumerate(found):
            if isinstance(one, JointSolution) and rule in one.said:
                said[number] = one.said[rule][places]
            else:
                others.append(number)
        if others:
            values = self._pair_values([models[number] for number in others], [found[n] for n in others], samples)
            said[others] = tallied(values, len(self.classes), rule).reshape(len(others), *said.shape[1:])
        return said.reshape(-1, len(self.classes))

    def numbers(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Return what predictions are made from, model by model: what pairs of classes say, else decision values."""
        model = self._knowing(models[0])
        if not model._votes:
            return self.values(models, found, samples)
        return self.tallied(models, found, samples, counted(model._rule(), model.break_ties))

    def predicted(self, model: Any, numbers: NDArray[np.float64]) -> Indices:
        """Return the numbers of the classes that models like this one predict by :meth:`numbers`."""
        model = self._knowing(model)
        return np.asarray(np.argmax(numbers, axis=1)) if model._votes else model._winners(numbers)

    def numbers_of(self, samples: Indices) -> Indices:
        """Return the numbers of the classes of some samples; -1 for classes that the training part does not know."""
        labels = self.y[samples]
        places = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        return np.where(self.classes[places] == labels, places, -1)

    def twin(self, model: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a classifier that knows the classes of the training part."""
        return model._knowing(known, classes_=self.classes)

    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a classifier with scikit-learn's attributes."""
        samples = self.samples
        found = clone(model)
        X, _ = found._check_samples(X, self.y[samples])
        found.classes_ = self.classes
        labels, weights = self.labels[samples], self.weights[samples]
        found.class_weight_ = found._class_factors(labels, weights)
        solved = [
            PairSolution(pair.own.pair, np.searchsorted(samples, pair.own.ids).astype(np.int32), own)
            for pair, own in zip(self.scheme(model).pairs, self._own(model, solutions), strict=True)
        ]
        found._keep_solutions(X, labels, weights, kernel, found._scheme(), solved)
        return found

    def start_of(self, model: Any, solutions: Sequence[Solution]) -> Start:
        """Return the coefficients of each pair, by the names of its classes: folds may know different ones."""
        if isinstance(solutions[0], JointSolution) and solutions[0].chains.start_from_nothing:
            return Start(len(self.labels), {})
        functions = {}
        for pair, own in zip(self.scheme(model).pairs, self._own(model, solutions), strict=True):
            used = np.flatnonzero(own.alpha)
            functions[pair.name] = (pair.own.ids[used].astype(np.intp), own.alpha[used])
        return Start(len(self.labels), functions)

    def _own(self, model: Any, solutions: Sequence[Solution]) -> Iterator[Solution]:
        """Give the solution of each pair, over the samples that it is trained on."""
        if isinstance(solutions[0], JointSolution):
            yield from solutions[0].each()
            return
        for pair, solution in zip(self.scheme(model).pairs, solutions, strict=True):
            whole = np.zeros(len(self.labels))
            whole[slice(None) if pair.ids is None else pair.ids] = solution.alpha
            yield replace(solution, alpha=whole[pair.own.ids], gradient=np.zeros(len(pair.own.ids)))


class ClassifierFold(PairwiseFold):
    """Classifiers with a C: chains along it, hard margins at their end."""

    free = ("C",)

    def __init__(self, y: Any, train: Indices, test: Indices, weights: Vector, asked: Indices) -> None:
        super().__init__(y, train, test, weights, asked)
        self._problems: dict[Hashable, list[PairProblems]] = {}
        self._chains: dict[Hashable, SideBySide] = {}

    @classmethod
    def own_matrices(cls, model: SVC) -> int:
        """Without an intercept there is one variable more, and so another matrix."""
        return int(not model.fit_intercept)

    @classmethod
    def suit_any_fold(cls, models: Sequence[SVC]) -> bool:
        """Accept all prices of the hinge."""
        return all([model.loss == "hinge" for model in models])

    def solve(
        self, models: Sequence[SVC], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the chains of all two-class problems: together, as far as the digits of the matrix suffice."""
        chains = self._together(models, kernel, stop)
        if chains is None:
            yield from self._one_after_the_other(models, kernel, stop, start)
            return
        solved = 0
        given, rules = self._joint_start(chains, models[0], start), self._rules(models[0])
        for one in kernel.solve_together(chains, given, stop, rules):
            solved += 1
            yield [one]
        if solved == len(models) or stop.reason is not None:
            return
        models = models[solved:]
        if chains.start_from_nothing and 8 * kernel.rows.size**2 <= cache_bytes("auto", kernel.rows.size, "float64"):
            yield from self._together_exactly(models, chains, kernel, stop, rules)
        else:
            yield from self._one_after_the_other(models, kernel, stop, None)

    def _together_exactly(
        self, models: Sequence[SVC], chains: SideBySide, kernel: ChainKernel, stop: StopRule, rules: Sequence[str]
    ) -> Iterator[list[LinkSolution]]:
        """Solve small two-class problems on all kernel values in float64: there may be too many to take one by one."""
        n_threads, problems = kernel.options.n_threads, self.scheme(models[0]).pairs.problems
        try:
            K = np.asarray(_core.kernel_matrix_float64(kernel.rows, None, n_threads, **stop.limits()))
        except _core.StoppedError:
            return
        rows, own = row_source(K, kernel="precomputed"), np.ones(len(chains.ids), dtype=bool)
        if chains.any_sum:
            own[chains.begins[1:] - 1] = False
        for model in models:
            found = solve_pairs(
                rows,
                self.labels,
                len(self.classes),
                self._bounds(model),
                stop=stop,
                options=replace(kernel.options, dtype="float64"),
                squared=model.loss != "hinge",
                fit_intercept=bool(model.fit_intercept),
                problems=problems,
            )
            if len(found) < len(problems):
                return
            solved = SolvedPairs.of(found)
            terms = sp.csr_matrix((solved.alpha, solved.ids, solved.begins), shape=(len(found), len(K)))
            intercepts = solved.outcomes[:, COLUMNS["intercept"]]
            said: dict[str, list[NDArray[np.float64]]] = {rule: [] for rule in rules}
            values = None if rules else terms @ K[:, chains.asked] + intercepts[:, np.newaxis]
            for some in (
                np.array_split(chains.asked, 1 + len(found) * len(chains.asked) // BLOCK_VALUES) if rules else ()
            ):
                if stop.late:
                    return
                part = self._all_pairs(model, terms @ K[:, some] + intercepts[:, np.newaxis])
                for rule in rules:
                    said[rule].append(tallied(part.T, len(self.classes), rule))
            alpha = np.zeros(len(chains.ids))
            alpha[own] = solved.alpha
            outcome = joint_outcome(solved.outcomes)
            joint = JointSolution(
                alpha,
                np.empty(0),
                0.0,
                outcome,
                chains=chains,
                intercepts=intercepts,
                values=values,
                said={rule: np.concatenate(parts) for rule, parts in said.items()},
            )
            yield [LinkSolution(joint)]

    def _all_pairs(self, model: SVC, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put the values of pairs, a row for each, among those of pairs that a class is absent from."""
        scheme = self.scheme(model)
        whole = np.zeros((scheme.n_functions, values.shape[1]))
        whole[scheme.columns] = values
        whole[scheme.absent] = scheme.won[:, np.newaxis]
        return whole

    def _together(self, models: Sequence[SVC], kernel: ChainKernel, stop: StopRule) -> SideBySide | None:
        """Return the chains of more than two classes side by side, if they can be solved so; small ones are kept."""
        if len(self.classes) == 2 or kernel.matrix is None:
            return None
        first = models[0]
        key = first.loss, first.multi_class, first.fit_intercept, repr(first.class_weight), *[m.C for m in models]
        chains = self._chains.get(key)
        if chains is None:
            prices = [self._bounds(model) for model in models]
            if not np.isfinite(prices).all():
                return None  # hard margins have ways of their own
            problems, plain = self.scheme(first).pairs.problems, first.loss == "hinge"
            names, samples = side_by_side(problems, range(len(problems)))
            chains = SideBySide.of(
                samples,
                prices if plain else [np.where(own > 0, np.inf, 0.0) for own in prices],
                None if plain else [ridge(own) for own in prices],
                self.asked,
                not first.fit_intercept,
                PairTable.of(names).numbers if first.multi_class == "ovo" else None,
                len(self.classes),
            )
            if len(self._chains) < KEPT_CHAINS and len(models) * len(chains.ids) <= KEPT_SIDE_BY_SIDE:
                self._chains[key] = chains
        return chains if kernel.can_solve_together(chains) else None

    def _rules(self, model: SVC) -> tuple[str, ...]:
        """Return how the values of pairs are to be counted; not at all where somebody will ask for the values."""
        asks_for_values = model.decision_function_shape == "ovo" or model.calibration == FROM_SEARCH
        if model.multi_class != "ovo" or asks_for_values:
            return ()
        return tuple({model._rule(), counted(model._rule(), model.break_ties)})

    def _joint_start(self, chains: SideBySide, model: SVC, start: Start | None) -> Vector | None:
        if start is None or chains.start_from_nothing:
            return None
        parts = []
        for pair in self.scheme(model).pairs:
            given = start.coefficients(pair.name)
            own = np.zeros(len(pair.own.ids)) if given is None else given[pair.own.ids]
            parts.append(np.append(own, -own.sum()) if chains.any_sum else own)
        return np.concatenate(parts)

    def _one_after_the_other(
        self, models: Sequence[SVC], kernel: ChainKernel, stop: StopRule, start: Start | None
    ) -> Iterator[list[LinkSolution]]:
        pairs, problems = self.scheme(models[0]).pairs, self._problems_of(models, stop)
        n_soft = len(problems[0].links)
        diagonal = kernel.diagonal() if n_soft < len(models) else None
        kernel = self._side_by_side(kernel, pairs)
        chains: list[Iterator[LinkSolution]] = []
        for pair, own in zip(pairs, problems, strict=True):
            if stop.deadline is not None:
                stop.check()  # what some have is of no use without the others
            given = None if start is None else start.coefficients(pair.name)
            if given is not None and pair.ids is not None:
                given = given[pair.ids]
            chain = Chain(own.links, pair.ids, given, any_sum=not models[0].fit_intercept)
            if diagonal is None:
                chains.append(kernel.solve(chain, stop))
            else:
                unit = 1.0 / typical(diagonal[pair.own.ids])
                hinge = partial(_hinge_link, pair.signs)
                chains.append(solve_to_the_hard_end(kernel, chain, own.bounds, hinge, unit, stop))
        found = map(list, zip(*chains, strict=False))
        return found if diagonal is None else self._telling(models, found)

    def _telling(self, models: Sequence[SVC], found: Iterator[list[LinkSolution]]) -> Iterator[list[LinkSolution]]:
        """Warn of margins that the last model was to have and has not."""
        for model, links in zip(models, found, strict=False):
            if model is models[-1]:
                self._warn_of_missing_margins(model, links)
            yield links

    def _bounds(self, model: KernelClassifier) -> Vector:
        return model._bounds(self.labels, self._weights_of(model))

    def _problems_of(self, models: Sequence[SVC], stop: Stop) -> list[PairProblems]:
        """Return the problems of each pair; small ones are kept, as those of other kernels are the same.

        Where there are many, time may not suffice for all of them: the `stop` then raises.
        """
        first = models[0]
        key = first.loss, first.multi_class, repr(first.class_weight), *[model.C for model in models]
        known = self._problems.get(key)
        if known is not None:
            return known
        bounds = [self._bounds(model) for model in models]
        soft = [model for model, prices in zip(models, bounds, strict=True) if np.isfinite(prices).all()]
        problems: list[PairProblems] = []
        for pair in self.scheme(first).pairs:
            if problems:
                stop.check()
            own = [_bounds_of_pair(pair, prices) for prices in bounds]
            links = tuple([_link(model, pair.signs, prices) for model, prices in zip(soft, own, strict=False)])
            problems.append(PairProblems(own, links))
        if len(self._problems) < KEPT_CHAINS and sum(len(b) for one in problems for b in one.bounds) <= KEPT_NUMBERS:
            self._problems[key] = problems
        return problems


class NuClassifierFold(PairwiseFold):
    """Classifiers with a nu: chains along it."""

    startable = False

    @classmethod
    def chained(cls, model: NuSVC) -> tuple[str, ...]:
        """Chains go along nu."""
        return ("nu",)

    def solve(
        self, models: Sequence[NuSVC], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the chains of all pairs."""
        weights, fractions = self._bounds(models[0]), [float(model.nu) for model in models]
        pairs = self.scheme(models[0]).pairs
        kernel = self._side_by_side(kernel, pairs)

        def chain_of(pair: FoldPair) -> Iterator[LinkSolution]:
            if stop.late:
                return  # what others have is of no use without it
            ids = np.arange(len(self.labels), dtype=np.int32) if pair.ids is None else pair.ids
            samples, own = PairSamples(pair.own.pair, ids, pair.signs), _bounds_of_pair(pair, weights)
            for one in solve_nu_chain(kernel, samples, own, fractions, stop=stop):
                yield LinkSolution(one.solution, hard_margin_found=one.hard_margin_found)

        for model, *links in zip(models, *map(chain_of, pairs), strict=False):
            self._warn_of_missing_margins(model, links)
            yield links


def _bounds_of_pair(pair: FoldPair, prices: Vector) -> Vector:
    """Return the largest coefficients of a pair's samples: 0 where it only has to say something."""
    # With all samples in one problem, those that do not count have no other price.
    return prices if pair.ids is None else np.where(pair.signs != 0, prices[pair.ids], 0.0)


def _places(ids: Ids, n: int) -> Indices:
    """Return at which place of `ids` each of n samples is."""
    places = np.full(n, n, dtype=np.intp)
    places[ids] = np.arange(len(ids))
    return places


def _hinge_link(signs: Vector, bounds: Vector) -> Link:
    return Link(box(signs, bounds))


def _link(model: SVC, signs: Vector, bounds: Vector) -> Link:
    if model.loss == "hinge":
        return _hinge_link(signs, bounds)
    return Link(box(signs, np.where(bounds > 0, np.inf, 0.0)), ridge(bounds))

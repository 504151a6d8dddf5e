"""Machines of one split of the data, trained as chains on a kernel that all splits share.

The examples of a split are those of the whole data set: held-out ones are variables whose box is [0, 0], so that the
solution of a chain's link tells the decision values of every example. What scorers get is a *twin*: the machine with
the parameters of a candidate, which knows its decision values on the split's own rows and on nothing else.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.estimators.novelty import BORDER
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.pairwise import PairwiseClassifier
from widemargin.estimators.regression import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import priced
from widemargin.kernels import KernelParameters
from widemargin.machines.chain import Chain, Link
from widemargin.machines.classifier import PairSolution, box, pairs_of_classes, ridge_of
from widemargin.machines.dual import DualProblem, Solution, Vector

Rows = NDArray[np.intp]

#: Methods that decide what a machine learns.
TRAINING = ("fit", "_solve", "_bounds", "_class_factors", "_check_training_data", "_train", "_read", "_checked_kernel")


class SplitMachines(ABC):
    """All candidates of one family on one split.

    Parameters
    ----------
    y : ndarray of shape (n,) or None
        Targets of all examples.
    train, test : ndarray of int
        Rows to train on, with repetitions if they are to count more than once, and rows to predict.
    weights : ndarray of shape (n,)
        Weights of all examples.
    asked : ndarray of int
        Rows whose decision values will be asked for.
    """

    #: The parameter that grows along a chain.
    chained: ClassVar[str] = "C"

    #: The largest value on the kernel's diagonal.
    largest: float = 1.0

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        self.y, self.train, self.test, self.asked = y, train, test, np.unique(asked)
        self.weights = weights * np.bincount(train, minlength=len(weights))

    @abstractmethod
    def chains(self, machines: Sequence[Any]) -> list[Chain]:
        """Build one chain for each decision function; the links are the candidates `machines`, in this order."""

    @abstractmethod
    def values(self, machine: Any, solutions: Sequence[Solution]) -> NDArray[np.float64]:
        """Decision values of all examples, (n, functions), from one link's solution of every chain."""

    @abstractmethod
    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return `machine` as if it had been fitted on the split, for scorers that only predict the split's rows."""

    @abstractmethod
    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return `machine` fitted on the split, all its attributes set; `X` are the training rows, each once."""

    @property
    def rows(self) -> Rows:
        """The training rows, each once."""
        return np.unique(self.train)


class KnownValues:
    """Decision values of the rows of a split, by the very object that holds the rows."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._values = values
        self._rows: list[tuple[Any, Rows]] = []

    def know(self, X: Any, rows: Rows) -> None:
        """Let `X` stand for some rows."""
        self._rows.append((X, rows))

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Decision values of the rows that `X` stands for."""
        for known, rows in self._rows:
            if known is X:
                return self._values[rows]
        raise ValueError(
            "A scorer asked a machine of the search about other rows than those of its split; pass a scorer that "
            "predicts the rows it is given."
        )


class ClassifierSplit(SplitMachines):
    """Classifiers: one chain for each pair of classes."""

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        super().__init__(y, train, test, weights, asked)
        self.classes, labels = np.unique(y[train], return_inverse=True)
        self.labels = np.zeros(len(y), dtype=np.intp)
        self.labels[train] = labels
        if len(np.unique(self.labels[self.weights > 0])) < 2:
            raise ValueError(
                "The training part of a split must hold two classes at least; all its rows with positive weights are "
                "of the same class."
            )
        self.pairs = pairs_of_classes(self.labels, len(self.classes), self.weights)
        self._all = np.arange(len(y), dtype=np.int32)
        self._used = np.flatnonzero(self.weights > 0)
        self._weighted: dict[str, Vector] = {}

    def _ids(self, number: int) -> NDArray[np.int32]:
        """Examples of a pair's problems: its own, then those that it only has to say something about."""
        if len(self.classes) == 2:
            return self._all
        own = self.pairs[number].ids
        return np.concatenate([own, np.setdiff1d(self.asked, own)]).astype(np.int32)

    def chains(self, machines: Sequence[PairwiseClassifier]) -> list[Chain]:
        """Build the chains of all pairs."""
        bounds = [self._bounds(machine) for machine in machines]
        built = []
        for number, pair in enumerate(self.pairs):
            ids = self._ids(number)
            signs = np.zeros(len(self.labels))
            signs[pair.ids] = pair.signs
            links = tuple(
                self._link(machine, signs[ids], prices[ids] * (signs[ids] != 0))
                for machine, prices in zip(machines, bounds, strict=True)
            )
            built.append(Chain(links, None if ids is self._all else ids))
        return built

    def _bounds(self, machine: PairwiseClassifier) -> Vector:
        prices = np.zeros(len(self.labels))
        prices[self._used] = machine._bounds(self.labels[self._used], self._class_weighted(machine))
        return prices

    def _class_weighted(self, machine: PairwiseClassifier) -> Vector:
        """Weights of the training examples times those of their classes."""
        key = repr(machine.class_weight)
        if key not in self._weighted:
            own = copy.copy(machine)  # other splits may know other classes
            own.classes_ = self.classes
            labels, weights = self.labels[self._used], self.weights[self._used]
            self._weighted[key] = weights * own._class_factors(labels, weights)[labels]
        return self._weighted[key]

    def _link(self, machine: PairwiseClassifier, signs: Vector, bounds: Vector) -> Link:
        assert isinstance(machine, SVC)
        if machine.loss == "hinge":
            return Link(box(signs, bounds))
        return Link(box(signs, np.where(bounds > 0, np.inf, 0.0)), _ridge(bounds))

    def values(self, machine: Any, solutions: Sequence[Solution]) -> NDArray[np.float64]:
        """Decision values of the pairs, positive for the first class; 0 where nobody asks."""
        k = len(self.classes)
        numbers = {pair: column for column, pair in enumerate((a, b) for a in range(k) for b in range(a + 1, k))}
        values = np.zeros((len(self.labels), len(numbers)))
        for number, (pair, solution) in enumerate(zip(self.pairs, solutions, strict=True)):
            ids = self._ids(number)
            signs = np.zeros(len(self.labels))
            signs[pair.ids] = pair.signs
            own = signs[ids] - solution.gradient + solution.intercept
            if machine.loss != "hinge":  # the slack is no part of the function
                own -= _ridge(self._bounds(machine)[ids] * (signs[ids] != 0)) * solution.alpha
            values[ids, numbers[pair.pair]] = own
        present = {c for pair in self.pairs for c in pair.pair}
        for (first, second), column in numbers.items():
            if (first in present) != (second in present):  # nobody to lose against
                values[:, column] = 1.0 if first in present else -1.0
        return values

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a classifier with scikit-learn's attributes."""
        rows = self.rows
        found = clone(machine)
        X, _ = found._check_examples_and_labels(X, self.y[rows])
        found.classes_ = self.classes
        labels, weights = self.labels[rows], self.weights[rows]
        found.class_weight_ = found._class_factors(labels, weights)
        machines = []
        for number, (pair, solution) in enumerate(zip(self.pairs, solutions, strict=True)):
            whole = np.zeros(len(self.labels))
            whole[self._ids(number)] = solution.alpha
            own = replace(solution, alpha=whole[pair.ids], gradient=np.zeros(len(pair.ids)))
            machines.append(PairSolution(pair.pair, np.searchsorted(rows, pair.ids).astype(np.int32), own))
        found._keep_pairs(X, labels, kernel, machines)
        return found

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a classifier that knows the classes of the training part."""
        twin = copy.copy(machine)
        # The attributes of binary machines point the other way.
        sign = -1.0 if len(self.classes) == 2 else 1.0
        twin.__dict__.update(classes_=self.classes, _function_values=lambda X: sign * known(X))
        return twin


class RegressorSplit(SplitMachines):
    """Regression with a tube: one chain."""

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        super().__init__(np.asarray(y, dtype=np.float64), train, test, weights, asked)

    def chains(self, machines: Sequence[SVR]) -> list[Chain]:
        """Build the one chain."""
        links = []
        for machine in machines:
            bounds = priced(self.weights, machine.C)
            squared = machine.loss != "epsilon_insensitive"
            limit = np.where(bounds > 0, np.inf, 0.0) if squared else bounds
            kink = np.full(len(bounds), float(machine.epsilon))
            links.append(Link(DualProblem(self.y, -limit, limit, kink=kink), _ridge(bounds) if squared else None))
        return [Chain(tuple(links))]

    def values(self, machine: Any, solutions: Sequence[Solution]) -> NDArray[np.float64]:
        """Values of the function."""
        (solution,) = solutions
        values = self.y - solution.gradient + solution.intercept
        if machine.loss != "epsilon_insensitive":  # the slack is no part of the function
            values -= _ridge(priced(self.weights, machine.C)) * solution.alpha
        return np.asarray(values)[:, np.newaxis]

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a regressor."""
        twin = copy.copy(machine)
        twin.__dict__["_function_values"] = known
        return twin

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a regressor with scikit-learn's attributes."""
        (solution,) = solutions
        found = clone(machine)
        X, _ = found._check_examples_and_numbers(X, self.y[self.rows])
        found._keep_function(
            X,
            kernel,
            coefficients=solution.alpha[self.rows],
            intercept=solution.intercept,
            outcome=solution.outcome,
        )
        return found


class OneClassSplit(SplitMachines):
    """One-class machines with a nu: one chain, along nu."""

    chained = "nu"

    def chains(self, machines: Sequence[OneClassSVM]) -> list[Chain]:
        """Build the one chain."""
        nothing, used = np.zeros(len(self.weights)), float(self.weights.sum())
        links = tuple(
            Link(DualProblem(nothing, nothing, self.weights, (float(machine.nu) * used, 0.0))) for machine in machines
        )
        return [Chain(links)]

    def values(self, machine: Any, solutions: Sequence[Solution]) -> NDArray[np.float64]:
        """Values of the function, which is 0 a rounding error outside of the border."""
        (solution,) = solutions
        return np.asarray(-solution.gradient - self._offset(machine, solution))[:, np.newaxis]

    def _offset(self, machine: Any, solution: Solution) -> float:
        return -solution.intercept - BORDER * float(machine.nu) * float(self.weights.sum()) * self.largest

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a one-class machine."""
        twin = copy.copy(machine)
        twin.__dict__.update(_function_values=known, offset_=self._offset(machine, solutions[0]))
        return twin

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a one-class machine with scikit-learn's attributes."""
        (solution,) = solutions
        found = clone(machine)
        offset = self._offset(machine, solution)
        found._keep_function(
            found._check_examples(X),
            kernel,
            coefficients=solution.alpha[self.rows],
            intercept=-offset,
            outcome=solution.outcome,
        )
        found.offset_ = offset
        return found


def _ridge(bounds: Vector) -> Vector:
    """Return what the square loss adds to the diagonal: nothing for examples that are not trained on."""
    return ridge_of(np.where(bounds > 0, bounds, np.inf))


def family_of(machine: Any) -> type[SplitMachines] | None:
    """Return what trains a machine's candidates together, if anything does; a subclass may train in its own way."""
    for kind, family in ((SVC, ClassifierSplit), (SVR, RegressorSplit), (OneClassSVM, OneClassSplit)):
        if isinstance(machine, kind):
            own = [name for name in TRAINING if getattr(type(machine), name, None) is not getattr(kind, name, None)]
            return None if own else family
    return None

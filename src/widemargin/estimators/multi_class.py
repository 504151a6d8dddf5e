"""Schemes for several classes: a problem for each pair of them or for each class against all, and how these decide.

Fuzzy memberships with the minimum operator [Abe2005, chapter 3], as in the experiments of [Abe2007, section 4], resolve
the regions where no class, or more than one, beats all others. Against all, let D_1 >= D_2 >= ... be the decision
values in order. The class of D_1 has the membership min(1, D_1, -D_2), any other one min(1, D_i, -D_1), which is not
above 0 and not above the former: D_1 >= D_i and -D_2 >= -D_1. Both are equal only where D_1 = D_2, and there the
largest decision value decides. So the rule predicts what the largest decision value predicts; its memberships also tell
how far from the other classes a sample is. Of pairs it predicts what the votes predict wherever a class wins all of
its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.prediction import Expansion, Matrix, tallied
from widemargin.machines.classifier import (
    OTHERS,
    ClassPairs,
    Pair,
    PairSamples,
    PairTable,
    SolvedPairs,
    classes_present,
)
from widemargin.machines.coupling import coupled, shared
from widemargin.machines.dual import COLUMNS, Vector
from widemargin.machines.one_against_all import ABSENT, classes_against_all

SCHEMES = ("ovo", "ovr")
DECISIONS = ("auto", "votes", "argmax", "fuzzy-minimum")


def counted(rule: str, break_ties: bool) -> str:
    """Return what decides among the pairs: confidences settle votes only if ties are to be broken."""
    return "votes-alone" if rule == "votes" and not break_ties else rule


def numbers_of_pairs(first: NDArray[np.intp], second: NDArray[np.intp], n_classes: int) -> NDArray[np.intp]:
    """Return the places of pairs of classes in the order (0, 1), (0, 2), ..., (k - 2, k - 1).

    Examples
    --------
    >>> numbers_of_pairs(np.array([0, 1]), np.array([2, 2]), 3).tolist()
    [1, 2]
    """
    return np.asarray(first * (2 * n_classes - first - 1) // 2 + second - first - 1)


def in_scikit_learns_sign(numbers: Matrix, n_classes: int) -> Matrix:
    """Turn decision values, coefficients or constants into scikit-learn's sign, or back.

    Everywhere else the first class of a pair is positive. scikit-learn's models for two classes point the other way.

    Examples
    --------
    >>> in_scikit_learns_sign(np.array([1.0, 0.0]), 2).tolist(), in_scikit_learns_sign(np.array([1.0]), 3).tolist()
    ([-1.0, 0.0], [1.0])
    """
    return 0.0 - numbers if n_classes == 2 else numbers


def _sorted_by_class(coefficients: Matrix, intercept: Matrix, labels: NDArray[np.intp], n_classes: int) -> Expansion:
    """Keep the columns of samples that have coefficients, those of the first class first; in scikit-learn's sign."""
    used = np.flatnonzero(coefficients.any(axis=0))
    support = used[np.argsort(labels[used], kind="stable")].astype(np.int32)
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    return Expansion(
        support,
        n_support,
        in_scikit_learns_sign(np.ascontiguousarray(coefficients[:, support]), n_classes),
        in_scikit_learns_sign(intercept, n_classes) + 0.0,  # no -0.0
    )


def memberships_against_all(values: Matrix) -> Matrix:
    """Fuzzy memberships of the classes, the least of those on all hyperplanes [Abe2005, chapter 3].

    On its own hyperplane, m_ii = min(1, D_i); on that of another class, m_ij = min(1, -D_j); so that
    m_i = min(1, D_i, -max_{j != i} D_j).

    Parameters
    ----------
    values : ndarray of shape (n, n_classes)
        Decision values of the classes against all others.

    Examples
    --------
    >>> memberships_against_all(np.array([[2.0, -3.0, -0.5], [0.5, 0.25, -1.0]])).tolist()
    [[0.5, -3.0, -2.0], [-0.25, -0.5, -1.0]]
    """
    second, first = np.partition(values, -2, axis=1)[:, -2:].T
    rivals = np.where(values == first[:, np.newaxis], second[:, np.newaxis], first[:, np.newaxis])
    return np.asarray(np.minimum(np.minimum(1.0, values), -rivals))


@dataclass(frozen=True)
class OneVersusOne:
    """A problem for each pair of classes; of two classes there is but one."""

    n_classes: int
    name = "ovo"

    def problems(self, labels: NDArray[np.intp], weights: Vector) -> Sequence[PairSamples]:
        """Return the problems of the pairs that both have samples of positive weight."""
        return ClassPairs(labels, self.n_classes, weights)

    def names(self, present: list[int]) -> list[Pair]:
        """List what these classes make problems of; where time runs out, the last ones have no solution."""
        return list(combinations(present, 2))

    @property
    def n_functions(self) -> int:
        """The number of decision functions."""
        return self.n_classes * (self.n_classes - 1) // 2

    def places(self, names: Sequence[Pair]) -> NDArray[np.intp]:
        """Return the numbers of the decision functions of some problems."""
        first, second = PairTable.of(names).numbers.T
        return numbers_of_pairs(first, second, self.n_classes)

    def expansion(self, solved: SolvedPairs, labels: NDArray[np.intp], weights: Vector) -> Expansion:
        """Collect coefficients and constants in scikit-learn's layout, k - 1 coefficients for each support vector.

        A pair in which one class has no samples of positive weight always votes for the other. Numbers of pairs without
        a solution, since time did not suffice to begin with them, are 0.
        """
        n_classes = self.n_classes
        coefficients = np.zeros((n_classes - 1, len(labels)))
        intercept = np.zeros(n_classes * (n_classes - 1) // 2)
        first, second = PairTable.of(solved.names).numbers.T
        intercept[numbers_of_pairs(first, second, n_classes)] = solved.outcomes[:, COLUMNS["intercept"]]
        sizes = np.diff(solved.begins)
        ours = labels[solved.ids] == np.repeat(first, sizes)
        coefficients[np.where(ours, np.repeat(second - 1, sizes), np.repeat(first, sizes)), solved.ids] = solved.alpha
        if len(first) < len(intercept):
            here = np.isin(np.arange(n_classes), classes_present(labels, weights))
            a, b = np.triu_indices(n_classes, 1)
            intercept[here[a] & ~here[b]], intercept[here[b] & ~here[a]] = 1.0, -1.0
        return _sorted_by_class(coefficients, intercept, labels, n_classes)

    def confidences(self, values: Matrix, rule: str) -> Matrix:
        """Return a number a class, the larger the likelier: votes with confidences, or memberships.

        With "fuzzy-minimum", m_ij = min(1, D_ij) on the hyperplane between classes i and j, where D_ji = -D_ij; m_i is
        the least m_ij [Abe2005, chapter 3].
        """
        return tallied(values, self.n_classes, rule)

    def winners(self, values: Matrix, rule: str, break_ties: bool) -> NDArray[np.intp]:
        """Return the classes that are predicted for decision values of more than two classes."""
        return np.asarray(np.argmax(tallied(values, self.n_classes, counted(rule, break_ties)), axis=1))

    def probabilities(self, of_two: Matrix) -> Matrix:
        """Couple the probabilities that each pair gives its first class."""
        return coupled(of_two, self.n_classes)


@dataclass(frozen=True)
class OneVersusRest:
    """A problem for each of more than two classes against all others."""

    n_classes: int
    name = "ovr"

    def problems(self, labels: NDArray[np.intp], weights: Vector) -> Sequence[PairSamples]:
        """Return the problems of the classes that have samples of positive weight."""
        return classes_against_all(labels, self.n_classes, weights)

    def names(self, present: list[int]) -> list[Pair]:
        """List what these classes make problems of; where time runs out, the last ones have no solution."""
        return [(c, OTHERS) for c in present]

    @property
    def n_functions(self) -> int:
        """The number of decision functions."""
        return self.n_classes

    def places(self, names: Sequence[Pair]) -> NDArray[np.intp]:
        """Return the numbers of the decision functions of some problems."""
        return PairTable.of(names).numbers[:, 0]

    def expansion(self, solved: SolvedPairs, labels: NDArray[np.intp], weights: Vector) -> Expansion:
        """Collect coefficients and constants, a row for each class; one without samples of positive weight never wins.

        Numbers of classes without a solution, since time did not suffice to begin with them, are 0.
        """
        coefficients = np.zeros((self.n_classes, len(labels)))
        intercept = np.full(self.n_classes, ABSENT)
        intercept[classes_present(labels, weights)] = 0.0
        classes = PairTable.of(solved.names).numbers[:, 0]
        coefficients[np.repeat(classes, np.diff(solved.begins)), solved.ids] = solved.alpha
        intercept[classes] = solved.outcomes[:, COLUMNS["intercept"]]
        return _sorted_by_class(coefficients, intercept, labels, self.n_classes)

    def confidences(self, values: Matrix, rule: str) -> Matrix:
        """Return a number a class, the larger the likelier: its decision value, or its membership."""
        return values if rule == "argmax" else memberships_against_all(values)

    def winners(self, values: Matrix, rule: str, break_ties: bool) -> NDArray[np.intp]:
        """Return the classes that are predicted; memberships are largest where values are, as the module says."""
        return np.asarray(np.argmax(values, axis=1))

    def probabilities(self, of_two: Matrix) -> Matrix:
        """Scale the probabilities of the classes to sum 1."""
        return shared(of_two)


Scheme = OneVersusOne | OneVersusRest

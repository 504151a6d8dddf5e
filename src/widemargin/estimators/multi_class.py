"""Schemes for more than two classes: a machine for each pair of them or for each against all, and how these decide.

Fuzzy memberships with the minimum operator [Abe2005, chapter 3], as in the experiments of [Abe2007, section 4], resolve
the regions where no class, or more than one, beats all others. Against all, let D_1 >= D_2 >= ... be the decision
values in order. The class of D_1 has the membership min(1, D_1, -D_2), any other one min(1, D_i, -D_1), which is not
above 0 and not above the former: D_1 >= D_i and -D_2 >= -D_1. Both are equal only where D_1 = D_2, and there the
largest decision value decides. So the rule predicts what the largest decision value predicts; its memberships also tell
how far from the other classes an example is. Of pairs it predicts what the votes predict wherever a class wins all of
its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.pairwise import PairwiseClassifier
from widemargin.estimators.prediction import Layout, Matrix
from widemargin.estimators.validation import require_choice
from widemargin.machines.classifier import OTHERS, Pair, PairExamples, PairSolution, Votes
from widemargin.machines.dual import Vector
from widemargin.machines.one_against_all import classes_against_all, gather_against_all

SCHEMES = ("ovo", "ovr")
DECISIONS = ("auto", "votes", "argmax", "fuzzy-minimum")


def against_all_layout(n_classes: int) -> Layout:
    """Lay out one decision function a class, with a row of coefficients for the support vectors of all classes.

    Examples
    --------
    >>> against_all_layout(3).functions[1]
    ((1, 0), (1, 1), (1, 2))
    """
    rows = range(n_classes)
    return Layout(n_classes, n_classes, tuple(tuple((row, group) for group in rows) for row in rows))


def memberships_of_pairs(values: Matrix, n_classes: int) -> Matrix:
    """Fuzzy memberships of the classes, the least of those on the hyperplanes of their pairs [Abe2005, chapter 3].

    On the hyperplane between classes i and j, m_ij = min(1, D_ij) with D_ji = -D_ij; m_i is the least m_ij.

    Parameters
    ----------
    values : ndarray of shape (n, pairs)
        Decision values of the pairs, positive for the first class.
    n_classes : int

    Examples
    --------
    >>> memberships_of_pairs(np.array([[2.0, 0.5, -0.2]]), 3).tolist()
    [[0.5, -2.0, -0.5]]
    """
    memberships = np.ones((len(values), n_classes))
    for column, (a, b) in enumerate(combinations(range(n_classes), 2)):
        np.minimum(memberships[:, a], values[:, column], out=memberships[:, a])
        np.minimum(memberships[:, b], -values[:, column], out=memberships[:, b])
    return memberships


def memberships_against_all(values: Matrix) -> Matrix:
    """Fuzzy memberships of the classes, the least of those on all hyperplanes [Abe2005, chapter 3].

    On the hyperplane of its own machine, m_ii = min(1, D_i); on that of another class, m_ij = min(1, -D_j); so that
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


class MultiClassClassifier(PairwiseClassifier):
    """A classifier that also trains each class against all others, and decides as it is told."""

    multi_class: str
    decision: str
    _fitted_scheme: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("multi_class", self.multi_class, SCHEMES)
        self._rule()
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "decision_function_shape='ovo' asks for a value for each pair of classes, and multi_class='ovr' trains "
                "none of these; pass 'ovr', or multi_class='ovo'."
            )

    def _rule(self) -> str:
        """Return the rule that decides, now: like the shape of decision values, it may be set after a fit."""
        require_choice("decision", self.decision, DECISIONS)
        pairs = self.multi_class == "ovo"
        rule = ("votes" if pairs else "argmax") if self.decision == "auto" else self.decision
        if rule == "votes" and not pairs:
            raise ValueError(
                "decision='votes' counts the votes of pairs of classes, and multi_class='ovr' trains none of these; "
                "pass 'auto', 'argmax' or 'fuzzy-minimum'."
            )
        if rule == "argmax" and pairs:
            raise ValueError(
                "decision='argmax' compares the decision values of classes, and multi_class='ovo' has those of pairs "
                "only; pass 'auto', 'votes' or 'fuzzy-minimum', or multi_class='ovr'."
            )
        if rule != "votes" and not self.break_ties:
            raise ValueError(
                f"break_ties=False is about votes, and multi_class={self.multi_class!r} with decision="
                f"{self.decision!r} counts none; pass True."
            )
        return rule

    def _trains_against_all(self) -> bool:
        """Whether there is a machine for each class; two classes are a pair in either scheme."""
        return self.multi_class == "ovr" and len(self.classes_) > 2

    def _problems(self, labels: NDArray[np.intp], weights: Vector) -> list[PairExamples] | None:
        """Two-class problems to solve, if they are not all pairs."""
        return classes_against_all(labels, len(self.classes_), weights) if self._trains_against_all() else None

    def _pairs_to_train(self, present: list[int]) -> Sequence[Pair]:
        return [(c, OTHERS) for c in present] if self._trains_against_all() else super()._pairs_to_train(present)

    def _gathered(self, machines: list[PairSolution], labels: NDArray[np.intp], present: list[int]) -> Votes:
        self._fitted_scheme = self.multi_class
        if self._trains_against_all():
            return gather_against_all(machines, labels, len(self.classes_), present)
        return super()._gathered(machines, labels, present)

    def _layout(self) -> Layout:
        return against_all_layout(len(self.classes_)) if self._trains_against_all() else super()._layout()

    def _require_consistent_attributes(self) -> None:
        if self.multi_class != self._fitted_scheme:
            raise ValueError(
                f"multi_class was set to {self.multi_class!r} after the fit, which was with {self._fitted_scheme!r}; "
                "fit again, or set it back."
            )
        super()._require_consistent_attributes()

    def _decisions(self, values: Matrix) -> Matrix:
        rule = self._rule()
        if len(self.classes_) == 2 or rule == "votes" or self.decision_function_shape == "ovo":
            return super()._decisions(values)
        return values if rule == "argmax" else self._memberships(values)

    def _winners(self, values: Matrix) -> NDArray[np.intp]:
        rule = self._rule()
        if len(self.classes_) == 2 or rule == "votes":
            return super()._winners(values)
        # Against all, memberships are largest where values are; see the module's docstring.
        return np.asarray(np.argmax(values if self.multi_class == "ovr" else self._memberships(values), axis=1))

    def _memberships(self, values: Matrix) -> Matrix:
        if self.multi_class == "ovr":
            return memberships_against_all(values)
        return memberships_of_pairs(values, len(self.classes_))

    def decision_function(self, X: Any) -> Matrix:
        """Signed distances, in units of the margin, for the rows of `X`; for more than two classes, what decides.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray
            Shape (n_samples,) for two classes, positive for ``classes_[1]``. For more, (n_samples, n_classes): votes
            with confidences, or the classes' own decision values with ``multi_class="ovr"``, or fuzzy memberships,
            at most 1, with ``decision="fuzzy-minimum"``. With ``decision_function_shape="ovo"``, the values of all
            pairs, (n_samples, n_classes * (n_classes - 1) / 2).
        """
        return super().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels for the rows of `X`, by the rule that `decision` names.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return super().predict(X)

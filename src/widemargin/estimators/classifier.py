"""What the classifiers share: checks of labels and class weights, warm starts, what is kept, prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base import KernelModel
from widemargin.estimators.multi_class import OneVersusOne, OneVersusRest, Scheme, counted
from widemargin.estimators.prediction import LAYOUTS, Layout, Matrix, shared_layout
from widemargin.estimators.report import FitReport, plain
from widemargin.estimators.validation import (
    Accepts,
    check_weights,
    require_choice,
    require_class_weight,
    require_flag,
)
from widemargin.kernels.rows import KernelParameters, take
from widemargin.kernels.spread import moderate
from widemargin.machines.classifier import Pair, PairSolution, SolvedPairs, classes_present, rescaled
from widemargin.machines.dual import COLUMNS, Vector
from widemargin.runtime import Stop

#: So many training samples at most are predicted to see whether a model that was left early is better than chance.
MOST_PREDICTED = 500


@dataclass(kw_only=True, repr=False, eq=False)
class KernelClassifier(ClassifierMixin, KernelModel):  # type: ignore[misc]
    """A kernel model whose decision functions tell classes apart."""

    class_weight: dict[Any, float] | str | None = None
    decision_function_shape: str = "ovr"
    break_ties: bool = True
    random_state: Any = None
    warm_start: bool = False
    classes_: NDArray[Any] = field(init=False)
    class_weight_: Vector = field(init=False)
    n_iter_: NDArray[np.int64] = field(init=False)
    _fitted_scheme: str = field(init=False)

    #: Whether every decision function has coefficients for all vectors, as those of compressed models have.
    _shares_vectors: bool = field(init=False, default=False)

    #: Whether classes are told apart in pairs or each from all others; a parameter where there is a choice.
    multi_class = "ovo"

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **KernelModel._accepts,
        "warm_start": require_flag,
        "decision_function_shape": partial(require_choice, choices=("ovr", "ovo")),
        "break_ties": require_flag,
        "class_weight": require_class_weight,
    }

    def decision_function(self, X: Any) -> Matrix:
        """Signed distances, in units of the margin, of the samples `X`; for more than two classes, what decides.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray
            Shape (n_samples,) for two classes, positive for ``classes_[1]``. For more, (n_samples, n_classes): votes
            with confidences, or what `multi_class` and `decision` of :class:`~widemargin.SVC` ask for: the classes' own
            decision values, or fuzzy memberships, which are at most 1. With ``decision_function_shape="ovo"``, the
            values of all pairs, (n_samples, n_classes * (n_classes - 1) / 2).
        """
        self._require_fit()
        if len(self.classes_) == 2:
            return self._function_values(X).ravel()
        rule = self._rule()
        if self.decision_function_shape == "ovo":
            return self._function_values(X)
        return self._tallied(X, rule) if self._votes else self._scheme().confidences(self._function_values(X), rule)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the samples `X`: by the most votes of the pairs, or the rule that `decision` names.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_fit()
        return np.asarray(self.classes_[self._predicted(X)])

    def _predicted(self, X: Any) -> NDArray[np.intp]:
        """Numbers of the classes that are predicted for samples."""
        if not self._votes:
            return self._winners(self._function_values(X))
        return np.asarray(np.argmax(self._tallied(X, self._counted), axis=1))

    @property
    def _votes(self) -> bool:
        """Whether pairs of more than two classes decide."""
        return len(self.classes_) > 2 and self.multi_class == "ovo"

    @property
    def _counted(self) -> str:
        """What is counted of the pairs to predict."""
        return counted(self._rule(), self.break_ties)

    def _tallied(self, X: Any, rule: str) -> Matrix:
        """Return what the pairs of classes say of the samples `X`: a number for each class."""
        if self._known_values is not None:
            return self._known_values.tallied(X, rule)
        X = self._check_to_predict(X)
        return self._functions().tallied(X, rule)

    def _remark(self, X: Any, labels: NDArray[np.intp], weights: Vector) -> str:
        """Say so if time ran out for a model that predicts no more training samples than the majority class does.

        Some samples tell, as many as a tenth of `max_time` suffices for; the two shares are compared within two
        standard errors.
        """
        if not any(one.reason == "time budget" for one in self.fit_report_):
            return ""
        drawn = np.random.default_rng(0).permutation(np.flatnonzero(weights > 0))[:MOST_PREDICTED]
        stop, functions, predicted = Stop().within(0.1 * float(self.max_time or 0.0)), self._functions(), list[Any]()
        for part in np.split(drawn, [2**k for k in range(4, 9)]):
            if len(part) and not (predicted and stop.late):
                predicted.append(self._winners(functions.values(take(X, part))))
        found = np.concatenate(predicted)
        some = drawn[: len(found)]
        share = weights[some] / weights[some].sum()
        right = float(share @ (found == labels[some]))
        majority = float(np.bincount(labels[some], weights=share).max())
        if right - majority > 2.0 * float(np.sqrt(majority * (1.0 - majority) * (share @ share))):
            return ""
        return (
            f" The model is near chance: it predicts {right:.1%} of the training samples, and the majority class alone "
            f"would predict {majority:.1%}; it is of no use yet."
        )

    def _winners(self, values: Matrix) -> NDArray[np.intp]:
        """Numbers of the classes that are predicted."""
        if len(self.classes_) == 2:
            return (values.ravel() > 0).astype(np.intp)
        return self._scheme().winners(values, self._rule(), self.break_ties)

    def _scheme(self) -> Scheme:
        """Return which problems the classes make; two classes are a pair in either scheme."""
        n_classes = len(self.classes_)
        return OneVersusRest(n_classes) if self.multi_class == "ovr" and n_classes > 2 else OneVersusOne(n_classes)

    def _rule(self) -> str:
        """Return the rule that decides among more than two classes, now: it may be set after a fit."""
        return "votes"

    def _layout(self) -> Layout:
        scheme = self._scheme()
        if scheme.name != self._fitted_scheme:
            raise ValueError(
                f"multi_class was set to {scheme.name!r} after the fit, which was with {self._fitted_scheme!r}; fit "
                "again, or set it back."
            )
        if self._shares_vectors:
            return shared_layout(scheme.n_classes, scheme.n_functions)
        return LAYOUTS[scheme.name](scheme.n_classes)

    @abstractmethod
    def _bounds(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        """Largest coefficient of every sample, from its weight and that of its class; refuse what cannot be met."""

    @abstractmethod
    def _warn_of_missing_margins(self, solutions: Sequence[PairSolution]) -> None:
        """Warn if a pair of classes has no margin of the kind that was asked for."""

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.intp], Vector]:
        """Check samples, class labels and weights, set ``classes_``; return samples, class numbers and weights."""
        X, y = self._check_samples(X, y)
        whole = y.dtype.kind in "biu"
        if not whole:
            check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if whole and 2 * len(self.classes_) >= len(y):
            check_classification_targets(y)  # of whole numbers it says something only where they are mostly different
        require_two_classes(self.classes_, len(y))
        weights = check_weights(sample_weight, len(labels))
        if sample_weight is not None and len(classes_present(labels, weights)) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class; sample_weight must leave "
                "two at least."
            )
        return X, labels, weights

    def _class_factors(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        """Return what the class weights multiply the weights of each class by."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if self.class_weight == "balanced":
            weights = moderate(weights)
            per_class = np.bincount(labels, weights=weights, minlength=len(self.classes_))
            present = per_class > 0
            factors = np.ones(len(self.classes_))
            factors[present] = weights.sum() / (present.sum() * per_class[present])
            return factors
        try:
            given = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[labels])
        except OverflowError:
            raise ValueError(
                "class_weight holds a number that float64 cannot hold; only finite numbers are accepted."
            ) from None
        factors = np.asarray(given, dtype=np.float64)
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise ValueError(f"class_weight must hold finite numbers of at least 0; got {self.class_weight!r}.")
        return factors

    def _starts(self, bounds: Vector, follow: bool = True) -> dict[Pair, Vector] | None:
        """Where to start: the last solution if it had as many samples and the same classes; it may follow bounds."""
        if not hasattr(self, "_last"):
            return None
        classes, old, starts = self._last
        if len(old) != len(bounds) or classes != self.classes_.tolist():
            return None
        return rescaled(starts, old, bounds) if follow else dict(starts)

    def _keep_solutions(
        self,
        X: Any,
        labels: NDArray[np.intp],
        weights: Vector,
        kernel: KernelParameters,
        scheme: Scheme,
        solutions: Sequence[PairSolution],
        not_begun: Sequence[Pair] = (),
    ) -> None:
        """Set the fitted attributes from the solved problems of the classes that have samples of positive weight.

        Those that were `not_begun`, since time ran out, have no coefficients.
        """
        self._fitted_scheme = scheme.name
        solved = SolvedPairs.of(solutions)
        report = FitReport.of(solved, self.classes_, not_begun)
        self._keep_functions(X, kernel, scheme.expansion(solved, labels, weights), report)
        iterations = solved.outcomes[:, COLUMNS["iterations"]]
        self.n_iter_ = np.append(iterations, np.zeros(len(not_begun))).astype(np.int64)


def require_two_classes(classes: NDArray[Any], n: int) -> None:
    """Refuse targets of a single class.

    Examples
    --------
    >>> require_two_classes(np.array(["yes"]), 3)
    Traceback (most recent call last):
    ...
    ValueError: y must hold at least two classes; got 1 class, 'yes', in all 3 samples.
    """
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got 1 class, {plain(classes[0])!r}, in all {n} samples.")

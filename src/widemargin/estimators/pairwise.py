"""What the classifiers share: a machine for each pair of classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base import KernelMachine
from widemargin.estimators.prediction import PairwisePrediction
from widemargin.estimators.report import FitReport, plain
from widemargin.estimators.validation import check_weights, require_choice, require_flag
from widemargin.kernels import KernelParameters
from widemargin.kernels.rows import count
from widemargin.machines.classifier import Pair, PairSolution, gather_votes, rescaled
from widemargin.machines.dual import Vector


class PairwiseClassifier(PairwisePrediction, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine for each pair of classes: the checks of labels and class weights, and what is kept."""

    class_weight: dict[Any, float] | str | None
    class_weight_: Vector
    n_iter_: NDArray[np.int64]
    warm_start: bool

    #: Solvers that a classifier cannot use, each with what it is for.
    _refused_solvers: ClassVar[dict[str, str]] = {
        "maxminover": "trains one-class machines with squared slack only",
    }

    def _check_parameters(self) -> None:
        if isinstance(self.solver, str) and self.solver in self._refused_solvers:
            *first, last = map(repr, self._solvers)
            raise ValueError(
                f"solver={self.solver!r} {self._refused_solvers[self.solver]}, and {type(self).__name__} is none; "
                f"{', '.join(first)} and {last} can train it."
            )
        super()._check_parameters()
        require_flag("warm_start", self.warm_start)
        require_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        require_flag("break_ties", self.break_ties)
        if isinstance(self.class_weight, str):
            require_choice("class_weight", self.class_weight, ("balanced",))

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.intp], Vector]:
        """Check examples, class labels and weights, set ``classes_``; return examples, class numbers and weights."""
        X, y = self._check_examples_and_labels(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes; got 1 class, {plain(self.classes_[0])!r}, in all {len(y)} rows."
            )
        weights = check_weights(sample_weight, count(X))
        if len(np.unique(labels[weights > 0])) < 2:
            raise ValueError("Invalid input - all samples with positive weights belong to the same class; two needed.")
        return X, labels, weights

    def _class_factors(self, labels: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.class_weight == "balanced":
            per_class = np.bincount(labels, weights=weights, minlength=len(self.classes_))
            present = per_class > 0
            factors = np.ones(len(self.classes_))
            factors[present] = weights.sum() / (present.sum() * per_class[present])
            return factors
        given = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[labels])
        factors = np.asarray(given, dtype=np.float64)
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise ValueError(f"class_weight must hold finite numbers of at least 0; got {self.class_weight!r}.")
        return factors

    def _starts(self, scale: Vector, follow: bool = True) -> dict[Pair, Vector] | None:
        """Where to start: the last solution if it had as many rows and the same classes; it may follow the bounds."""
        if not self.warm_start or not hasattr(self, "_last"):
            return None
        classes, old, starts = self._last
        if len(old) != len(scale) or classes != self.classes_.tolist():
            return None
        return rescaled(starts, old, scale) if follow else dict(starts)

    def _keep_start(self, scale: Vector, starts: dict[Pair, Vector]) -> None:
        """Note where this fit ended, with its bounds or weights, for a warm start."""
        if self.warm_start:
            self._last = (self.classes_.tolist(), scale, starts)

    def _keep_pairs(
        self, X: Any, labels: NDArray[np.intp], kernel: KernelParameters, machines: list[PairSolution]
    ) -> None:
        """Set the fitted attributes from the solved pairs."""
        n_classes = len(self.classes_)
        votes = gather_votes(machines, labels, n_classes)
        # One sign convention inside: the first class of a pair is positive. scikit-learn's binary machines point the
        # other way.
        sign = -1.0 if n_classes == 2 else 1.0
        self._keep_functions(
            X,
            kernel,
            support=votes.support,
            n_support=votes.n_support,
            dual_coef=sign * votes.dual_coef,
            intercept=sign * votes.intercept + 0.0,  # no -0.0
            report=FitReport.of(machines, self.classes_),
        )
        self.n_iter_ = np.array([entry.iterations for entry in self.fit_report_], dtype=np.int64)

"""What the classifiers share: a machine for each pair of classes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base import KernelMachine
from widemargin.estimators.prediction import PairwisePrediction
from widemargin.estimators.report import FitReport, plain
from widemargin.estimators.validation import check_weights, require_choice, require_flag
from widemargin.kernels import KernelParameters, RowSource
from widemargin.kernels.rows import count
from widemargin.kernels.spread import moderate
from widemargin.machines.classifier import (
    Pair,
    PairNames,
    PairSolution,
    Votes,
    classes_present,
    gather_votes,
    rescaled,
)
from widemargin.machines.dual import SolverOptions, StopRule, Vector


@dataclass(frozen=True)
class Trained:
    """What a fit has come to: checked examples with their kernel rows, classes and weights; bounds, and machines."""

    X: Any
    rows: RowSource
    labels: NDArray[np.intp]
    weights: Vector
    bounds: Vector
    machines: list[PairSolution]
    options: SolverOptions
    began: float

    def elapsed(self) -> float:
        """Return the seconds since the fit began."""
        return time.perf_counter() - self.began


class PairwiseClassifier(PairwisePrediction, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A kernel machine for each pair of classes: the checks of labels and class weights, and what is kept."""

    class_weight: dict[Any, float] | str | None
    class_weight_: Vector
    n_iter_: NDArray[np.int64]
    warm_start: bool

    #: Parameters of scikit-learn's class of this name that there are none of here, and what to do instead.
    _elsewhere: ClassVar[Mapping[str, str]] = {}

    def __new__(cls, *positional: Any, **parameters: Any) -> Self:
        """Say, of parameters that scikit-learn's class has and this one has not, what to do instead."""
        for name in cls._elsewhere.keys() & parameters:
            raise TypeError(cls._elsewhere[name])
        new: Self = super().__new__(cls)
        return new

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, and of its kernel.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        SVC or NuSVC
            The estimator itself.
        """
        for name in self._elsewhere.keys() & params:
            raise ValueError(self._elsewhere[name])
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The examples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the row out, weight 2 the same as repeating it.

        Returns
        -------
        SVC or NuSVC
            The estimator itself.
        """
        began = time.perf_counter()
        self._check_parameters()
        self._warn_of_unused_gamma()
        self._require_out_of_fold()
        X, labels, weights = self._check_training_data(X, y, sample_weight)
        n = count(X)
        self.class_weight_ = self._class_factors(labels, weights)
        with np.errstate(over="ignore"):  # what there is no number for asks for a hard margin, or is refused
            bounds = self._bounds(labels, weights * self.class_weight_[labels])
        kernel = self._checked_kernel(X, weights)
        rows, options = self._row_source(X, kernel), self._solver_options(n)
        stop = self._stop_rule(n, time.perf_counter() - began)
        machines = self._solve(rows, labels, bounds, stop=stop, options=options)
        if self.warm_start:
            self._last = (self.classes_.tolist(), bounds, self._starting_points(machines, bounds))
        self._keep_pairs(X, labels, kernel, machines, classes_present(labels, bounds))
        self._calibrate(Trained(X, rows, labels, weights, bounds, machines, options, began))
        self._tell()
        self._warn_of_missing_margins(machines)
        return self

    def _require_out_of_fold(self) -> None:
        """Refuse to fit if what probabilities are to be made from is missing."""

    def _calibrate(self, trained: Trained) -> None:
        """Prepare for probabilities, if there are to be any."""

    @abstractmethod
    def _bounds(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        """Largest coefficient of every example, from its weight and that of its class; refuse what cannot be met."""

    @abstractmethod
    def _solve(
        self, rows: RowSource, labels: NDArray[np.intp], bounds: Vector, *, stop: StopRule, options: SolverOptions
    ) -> list[PairSolution]:
        """Train a machine for each pair of classes."""

    @abstractmethod
    def _starting_points(self, machines: list[PairSolution], bounds: Vector) -> dict[Pair, Vector]:
        """Where a warm start could begin, for each pair, one coefficient an example."""

    @abstractmethod
    def _warn_of_missing_margins(self, machines: list[PairSolution]) -> None:
        """Warn if a pair of classes has no margin of the kind that was asked for."""

    def _check_parameters(self) -> None:
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
        if len(classes_present(labels, weights)) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class; sample_weight must leave "
                "two at least."
            )
        return X, labels, weights

    def _class_factors(self, labels: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
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
        """Where to start: the last solution if it had as many rows and the same classes; it may follow the bounds."""
        if not self.warm_start or not hasattr(self, "_last"):
            return None
        classes, old, starts = self._last
        if len(old) != len(bounds) or classes != self.classes_.tolist():
            return None
        return rescaled(starts, old, bounds) if follow else dict(starts)

    def _pairs_to_train(self, present: list[int]) -> Sequence[Pair]:
        """List what these classes need machines for; where time runs out, the last ones have none."""
        return PairNames(present)

    def _gathered(self, machines: list[PairSolution], labels: NDArray[np.intp], present: list[int]) -> Votes:
        """Collect what the solved problems have to say."""
        return gather_votes(machines, labels, len(self.classes_), present)

    def _keep_pairs(
        self,
        X: Any,
        labels: NDArray[np.intp],
        kernel: KernelParameters,
        machines: list[PairSolution],
        present: list[int],
    ) -> None:
        """Set the fitted attributes from the solved pairs of the classes that have examples."""
        n_classes = len(self.classes_)
        votes = self._gathered(machines, labels, present)
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
            report=FitReport.of(machines, self.classes_, self._pairs_to_train(present)[len(machines) :]),
        )
        self.n_iter_ = np.zeros(len(self.fit_report_), dtype=np.int64)
        self.n_iter_[: len(machines)] = [entry.iterations for entry in self.fit_report_.begun]

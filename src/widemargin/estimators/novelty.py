"""What the one-class estimators share: the solvers they take, folds held out to set the threshold, prediction."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from widemargin.estimators.base import KernelModel
from widemargin.estimators.out_of_fold import Indices, folds_by_key, row_keys
from widemargin.estimators.report import FitReport, ProblemReport
from widemargin.estimators.validation import (
    Accepts,
    check_weights,
    require_fraction,
    total_weight,
    warn_if_gamma_is_unused,
)
from widemargin.kernels.rows import KernelParameters, RowSource, count, take
from widemargin.machines.dual import DualProblem, Outcome, Solution, StopRule, Vector
from widemargin.machines.one_class import ConstantSumMachine, rejecting_threshold, train_without
from widemargin.runtime.callbacks import fit_task, is_awaited
from widemargin.solvers import ALL_SAMPLES, MINIMUM_NORM

#: Default of nu, at which it has to stay where something else is given in its place.
DEFAULT_NU = 0.5

#: Support vectors on the border have a decision value of 0 but for rounding. Thresholds lie this much lower, as shares
#: of the largest score that the coefficients could give, so that these samples are accepted wherever they are computed.
BORDER = 1e-9

#: Where scores are predicted with other digits than those that the threshold was set with, so many support vectors on
#: the border tell by how much they differ, and thresholds lie so many times as much lower.
COMPARED, CAUTION = 1000, 4.0


def parts_to_hold_out(X: Any, *, pairwise: bool) -> list[NDArray[np.bool_]]:
    """Deal samples into the folds that `target_rejection` holds out; refuse if there is one.

    Where samples are vectors, their content alone decides: not their order, not whether one is repeated or weighted.
    Rows of a kernel matrix, and objects, are dealt by their number, through a fixed permutation.

    Examples
    --------
    >>> sorted(part.tolist() for part in parts_to_hold_out(np.array([[1.0], [2.0], [1.0]]), pairwise=False))
    [[False, True, False], [True, False, True]]
    """
    n = count(X)
    vectors = not pairwise and (sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2))
    keys = row_keys(X) if vectors else np.random.default_rng(0).permutation(n)
    dealt = folds_by_key(keys, np.zeros(n, dtype=np.intp), np.ones(n))
    parts = [dealt == number for number in np.unique(dealt)]
    if len(parts) < 2:
        raise ValueError(
            "target_rejection holds samples out and needs at least two different ones of positive weight; all such "
            f"samples of X are equal (n_samples={len(dealt)})."
        )
    return parts


def rounding(free: Indices, scores: Vector, predicted: Callable[[Indices], Vector]) -> float:
    """Return by how much predicted scores of samples on the border may differ from those that the threshold knows.

    Parameters
    ----------
    free : ndarray of int
        The support vectors on the border.
    scores : ndarray of shape (n_samples,)
        Scores of all samples, with the digits that the threshold was set with.
    predicted : callable
        Scores of some samples, with those of predictions.

    Examples
    --------
    >>> scores = np.array([0.5, 0.25, 1.0])
    >>> rounding(np.array([0, 1]), scores, lambda rows: scores[rows] * (1.0 + 2.0**-20)) == 4.0 * 2.0**-21
    True
    """
    if len(free) == 0:
        return 0.0
    chosen = free[np.unique(np.linspace(0, len(free) - 1, COMPARED).astype(np.intp))]
    return CAUTION * float(np.abs(predicted(chosen) - scores[chosen]).max())


def sides(decision: Vector) -> NDArray[np.intp]:
    """Tell decision values of at least 0 (+1) from others (-1)."""
    return np.where(decision >= 0, 1, -1).astype(np.intp)


@dataclass(kw_only=True, repr=False, eq=False)
class NoveltyModel(OutlierMixin, KernelModel):  # type: ignore[misc]
    """A model that tells samples like those it was trained on from others."""

    nu: float = DEFAULT_NU
    target_rejection: float | None = None
    n_iter_: int = field(init=False)

    _accepts: ClassVar[Mapping[str, Accepts]] = {**KernelModel._accepts, "nu": require_fraction}

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.target_rejection is not None:
            require_fraction("target_rejection", self.target_rejection, below_one=True)
            self._require_default_nu("target_rejection", self.target_rejection)

    def _missing(self) -> dict[str, str]:
        missing = super()._missing()
        # Where a bound can hold a variable back, which is no minimum norm problem, the solve itself says so.
        del missing[MINIMUM_NORM]
        if self.target_rejection is not None:
            missing[ALL_SAMPLES] = "target_rejection=None"
        return missing

    def _require_default_nu(self, name: str, value: float | str) -> None:
        if self.nu != DEFAULT_NU:
            raise ValueError(
                f"{name}={value!r} takes the place of nu, which must then be left at its default {DEFAULT_NU}; got "
                f"nu={self.nu!r}."
            )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The samples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the sample out, weight 2 the same as repeating it.

        Returns
        -------
        OneClassSVM or SVDD
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y, sample_weight):
                return self.fit(X, y, sample_weight)
        began = time.perf_counter()
        self._check_parameters()
        warn_if_gamma_is_unused(self.kernel, self.gamma)
        X, _ = self._check_samples(X)
        weights = check_weights(sample_weight, count(X))
        self._require_feasible(weights, total_weight(weights))
        kernel = self._checked_kernel(X, weights, rows_next=True)
        self._train(X, weights, kernel, began)
        self._tell()
        return self

    @abstractmethod
    def _require_feasible(self, weights: Vector, total: float) -> None:
        """Raise a ValueError if the parameters mean nothing for samples of these weights, which sum to `total`."""

    @abstractmethod
    def _train(self, X: Any, weights: Vector, kernel: KernelParameters, began: float) -> None:
        """Train on checked samples, in a fit that began at that time, and set the fitted attributes."""

    @abstractmethod
    def score_samples(self, X: Any) -> Vector:
        """Scores of the samples `X`, which `offset_` separates."""

    @abstractmethod
    def decision_function(self, X: Any) -> Vector:
        """Scores of the samples `X` above the threshold."""

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Tell accepted from rejected samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 where the decision value is at least 0, -1 elsewhere.
        """
        return sides(self.decision_function(X))

    def _held_out_threshold(
        self,
        X: Any,
        weights: Vector,
        machine: ConstantSumMachine,
        solution: Solution,
        rows: RowSource,
        read: Callable[[DualProblem, Solution], tuple[Vector, Outcome]],
        stop: StopRule,
    ) -> tuple[float, list[ProblemReport]]:
        """Threshold that rejects `target_rejection` of the samples, each scored by a model trained without it.

        `read` gives the scores of the samples in ``machine.ids`` and the outcome, in the machine's own units.
        """
        assert self.target_rejection is not None
        folds = parts_to_hold_out(take(X, machine.ids), pairwise=self.kernel == "precomputed")
        options = self._solver_options(len(weights))
        scores, reports = np.empty(len(machine.ids)), []
        trained = train_without(machine, solution, folds, rows, stop=stop, options=options)
        for held_out, (problem, one) in zip(folds, trained, strict=True):
            values, outcome = read(problem, one)
            scores[held_out] = values[held_out]
            reports.append(ProblemReport.of(None, outcome, int(np.count_nonzero(one.alpha))))
        return rejecting_threshold(scores, weights[machine.ids], self.target_rejection), reports

    @property
    def _predicts_in_single(self) -> bool:
        """Whether scores are predicted with fewer digits than the threshold was set with."""
        return self._kernel_parameters.of_samples and not self._predict_in_double

    def _add_to_report(self, held_out: list[ProblemReport]) -> None:
        """Append what the models trained without a fold say of themselves."""
        self.fit_report_ = FitReport([*self.fit_report_, *held_out])
        self.fit_status_ = int(not self.fit_report_.converged)

"""Probabilities of classifiers: a sigmoid for each decision function, fitted to examples held out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from widemargin.estimators.multi_class import MultiClassClassifier
from widemargin.estimators.out_of_fold import OutOfFold, content_folds, function_name
from widemargin.estimators.pairwise import Trained
from widemargin.estimators.prediction import Matrix
from widemargin.estimators.validation import require_choice
from widemargin.machines.classifier import OTHERS, PairExamples, pairs_of_classes
from widemargin.machines.coupling import coupled, favoured, shared
from widemargin.machines.dual import Vector
from widemargin.machines.held_out import held_out_values
from widemargin.machines.sigmoid import LARGEST_SLOPE, Sigmoid, fit_platt, fit_slope, slope_for_no_error

CALIBRATIONS = (None, "folds", "from-search")
METHODS = ("slope", "platt")

#: Exponents of sigmoids stay within this: beyond, the larger of two probabilities would be rounded to 1.
LARGEST_EXPONENT = 36.0

#: The numbers next to 1/2, for predictions that a probability of 1/2 would contradict.
BELOW_HALF, ABOVE_HALF = 0.5 - 2.0**-53, 0.5 + 2.0**-53


def fitted_sigmoid(kind: str, values: Vector, signs: Vector, weights: Vector) -> Sigmoid:
    """Fit a sigmoid to the examples whose value is known; others are NaN, or infinite.

    The slope alone is the likeliest one, but no steeper than the number of examples justifies, see
    :func:`widemargin.machines.sigmoid.slope_for_no_error`: values that tell all labels would otherwise make it
    infinite.

    Examples
    --------
    >>> f = np.array([-2.0, -1.0, 1.0, 2.0, np.nan])
    >>> round(fitted_sigmoid("slope", f, np.sign(f), np.ones(5)).slope, 3)
    1.145
    """
    known = np.isfinite(values)
    values, signs, weights = values[known], signs[known], weights[known]
    if kind == "platt":
        return fit_platt(values, signs, weights)
    return fit_slope(values, signs, weights, largest=slope_for_no_error(values, weights))


def _calibrates(machine: Any) -> bool:
    if machine.calibration is None:
        raise AttributeError(
            "calibration=None asks for no probabilities; pass calibration='folds', or 'from-search' in a search, and "
            "fit again."
        )
    return True


class CalibratedClassifier(MultiClassClassifier):
    """A classifier that may have probabilities."""

    calibration: str | None
    calibration_method: str
    sigmoids_: Matrix

    @available_if(_calibrates)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes for the rows of `X`; that of the class that is predicted is the largest.

        With a slope and no offset, two classes need no correction for that; with an offset, probabilities on the wrong
        side of 1/2 are moved to 1/2. Of more classes, the nearest probabilities are taken that agree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        values = self._pair_values(X)
        winners = self._winners(values)
        slopes, offsets = self._sigmoids(values.shape[1]).T
        if len(self.classes_) == 2:
            exponent = np.clip(-slopes * values + offsets, -LARGEST_EXPONENT, LARGEST_EXPONENT).ravel()
            both = np.stack([expit(-exponent), expit(exponent)], axis=1)
            both[(winners == 1) & (both[:, 1] <= 0.5)] = BELOW_HALF, ABOVE_HALF
            both[(winners == 0) & (both[:, 1] > 0.5)] = 0.5
            return both
        of_two = expit(slopes * values + offsets)
        against_all = self._trains_against_all()
        return favoured(shared(of_two) if against_all else coupled(of_two, len(self.classes_)), winners)

    @available_if(_calibrates)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithms of the probabilities of the classes for the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(np.log(self.predict_proba(X)))

    def _sigmoids(self, functions: int) -> Matrix:
        found = getattr(self, "sigmoids_", None)
        if found is None:
            raise ValueError(
                f"This machine has no probabilities yet: calibration={self.calibration!r} was set after the fit, or a "
                "search that is under way trained it; fit again, or use the best_estimator_ of the search."
            )
        if found.shape != (functions, 2):
            raise ValueError(
                f"sigmoids_ was altered since the fit: its shape is {found.shape} where {(functions, 2)} belongs."
            )
        return np.asarray(found)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("calibration", self.calibration, CALIBRATIONS)
        require_choice("calibration_method", self.calibration_method, METHODS)
        if self.calibration is None and self.calibration_method != METHODS[0]:
            raise ValueError(
                f"calibration_method={self.calibration_method!r} requires calibration='folds' or "
                "calibration='from-search'; got None."
            )

    def _take_out_of_fold(self, values: OutOfFold) -> None:
        """Take the decision values that a search has of the rows of the next fit."""
        self._out_of_fold = values

    def _require_out_of_fold(self) -> None:
        self.__dict__.pop("sigmoids_", None)
        if self.calibration == "from-search" and not hasattr(self, "_out_of_fold"):
            raise ValueError(
                "calibration='from-search' takes decision values of rows held out from the splits of a search, and a "
                "fit alone has none; fit a GridSearchCV of this machine, or pass calibration='folds'."
            )

    def _calibrate(self, trained: Trained) -> None:
        given = self.__dict__.pop("_out_of_fold", None)
        if self.calibration is None:
            return
        problems: Sequence[PairExamples] | None = self._problems(trained.labels, trained.bounds)
        if problems is None:
            problems = pairs_of_classes(trained.labels, len(self.classes_), trained.bounds)
        problems = problems[: len(trained.machines)]  # where time ran out, there are no others
        if self.calibration == "folds":
            values = self._values_of_folds(trained, problems)
        else:
            values = [given.values(function_name(self.classes_, one.pair))[one.ids] for one in problems]
        self.sigmoids_ = np.tile([LARGEST_SLOPE, 0.0], (len(self.intercept_), 1))  # where a class has no examples
        function_of = {pair: number for number, pair in enumerate(self._pairs())}
        for one, own in zip(problems, values, strict=True):
            found = fitted_sigmoid(self.calibration_method, own, one.signs, trained.weights[one.ids])
            # scikit-learn's binary machines point the other way.
            offset = -found.offset if len(self.classes_) == 2 else found.offset
            function = one.pair[0] if one.pair[1] == OTHERS else function_of[one.pair]
            self.sigmoids_[function] = found.slope, offset + 0.0

    def _values_of_folds(self, trained: Trained, problems: Sequence[PairExamples]) -> list[Vector]:
        """Train machines without each of the folds in turn."""
        by_content = self.kernel != "precomputed" and not self._takes_objects
        folds = content_folds(trained.X if by_content else None, trained.labels, trained.bounds)
        found = held_out_values(
            trained.rows,
            problems,
            trained.machines,
            trained.bounds,
            folds,
            stop=self._stop_rule(len(folds), trained.elapsed()),
            options=replace(trained.options, solver="auto", selection="auto"),
            squared=self.loss == "squared_hinge",
            fit_intercept=bool(self.fit_intercept),
        )
        early = [reason for one in found for reason in one.reasons if reason != "converged"]
        if early:
            warnings.warn(
                f"{len(early)} of {sum(len(one.reasons) for one in found)} machines whose decision values on rows held "
                f"out calibrate the probabilities ended before the tolerance was met ({early[0]}).",
                ConvergenceWarning,
                stacklevel=4,
            )
        return [one.values for one in found]

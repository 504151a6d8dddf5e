"""Probabilities of classifiers: a sigmoid for each decision function, fitted to held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MethodType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.multi_class import Scheme, in_scikit_learns_sign
from widemargin.estimators.out_of_fold import OutOfFold, content_folds, function_name
from widemargin.estimators.prediction import Matrix
from widemargin.estimators.validation import Accepts, check_weights, require_choice, require_flag
from widemargin.kernels.rows import RowSource
from widemargin.machines.classifier import ClassPairs, PairSamples, PairSolution, side_by_side
from widemargin.machines.coupling import favoured
from widemargin.machines.dual import SolverOptions, StopRule, Vector
from widemargin.machines.held_out import (
    FINISHED_EXACTLY,
    HeldOutValues,
    held_out_of_small_pairs,
    held_out_values,
)
from widemargin.machines.sigmoid import (
    LARGEST_SLOPE,
    Sigmoid,
    fit_platt,
    fit_slope,
    fit_slopes,
    slope_for_no_error,
    slopes_for_no_error,
)

#: The way to probabilities that holds out folds in every fit, and the one that takes decision values of the search.
FOLDS, FROM_SEARCH = "folds", "from-search"

CALIBRATIONS = (None, FOLDS, FROM_SEARCH)
METHODS = ("slope", "platt")

#: Parameters of a model that makes no probabilities.
WITHOUT_PROBABILITIES: dict[str, Any] = {"probability": False, "calibration": None, "calibration_method": METHODS[0]}

#: Numbers of problems whose sigmoids are fitted at once.
TABLE_ENTRIES = 2**20

#: Exponents of sigmoids stay within this: beyond, the larger of two probabilities would be rounded to 1.
LARGEST_EXPONENT = 36.0

#: The numbers next to 1/2, for predictions that a probability of 1/2 would contradict.
BELOW_HALF, ABOVE_HALF = 0.5 - 2.0**-53, 0.5 + 2.0**-53


def fitted_sigmoid(kind: str, values: Vector, signs: Vector, weights: Vector) -> Sigmoid:
    """Fit a sigmoid to the samples whose value is known; others are NaN, or infinite.

    The slope alone is the likeliest one, but no steeper than the number of samples justifies, see
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


def fitted_sigmoids(
    method: str, scheme: Scheme, problems: Sequence[PairSamples], values: Vector, weights: Vector
) -> Matrix:
    """Fit a sigmoid to the values that each problem's function has on its samples, held out.

    Parameters
    ----------
    method : {"slope", "platt"}
    scheme : Scheme
    problems : sequence of PairSamples
    values : ndarray
        In the order of the samples, those of one problem after the other.
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_functions, 2)
        Slopes and offsets; the steepest slope for functions that have no problem, since a class has no samples.
    """
    sigmoids = np.tile([LARGEST_SLOPE, 0.0], (scheme.n_functions, 1))
    if len(problems):
        names, (ids, sizes, signs) = side_by_side(problems, range(len(problems)))
        known = np.isfinite(values)
        values, counts = np.where(known, values, 0.0), np.where(known, weights[ids], 0.0)
        sigmoids[scheme.places(names)] = np.concatenate(
            [
                np.stack([_slopes(own, signs_of, w), np.zeros(len(own))], axis=1)
                if method == "slope"
                else np.array([_platt(*row) for row in zip(own, signs_of, w, strict=True)])
                for own, signs_of, w in _side_by_side(sizes, values, signs, counts)
            ]
        )
    sigmoids[:, 1] = in_scikit_learns_sign(sigmoids[:, 1], scheme.n_classes) + 0.0
    return sigmoids


def _side_by_side(sizes: NDArray[np.intp], *numbers: Vector) -> Iterator[list[Matrix]]:
    """Lay numbers of one problem after the other out as rows of tables, filled up with 0, some problems at a time."""
    ends = np.cumsum(sizes)
    at = 0
    while at < len(sizes):
        widest = np.maximum.accumulate(sizes[at:])
        some = max(1, int(np.count_nonzero(widest * np.arange(1, len(widest) + 1) <= TABLE_ENTRIES)))
        rows = np.repeat(np.arange(some), sizes[at : at + some])
        begin, end = int(ends[at] - sizes[at]), int(ends[at + some - 1])
        columns = np.arange(begin, end) - np.repeat(ends[at : at + some] - sizes[at : at + some], sizes[at : at + some])
        tables = []
        for own in numbers:
            table = np.zeros((some, int(widest[some - 1])))
            table[rows, columns] = own[begin:end]
            tables.append(table)
        yield tables
        at += some


def _slopes(values: Matrix, signs: Matrix, weights: Matrix) -> Vector:
    return fit_slopes(values, signs, weights, slopes_for_no_error(values, weights))


def _platt(values: Vector, signs: Vector, weights: Vector) -> tuple[float, float]:
    found = fitted_sigmoid("platt", values[weights > 0], signs[weights > 0], weights[weights > 0])
    return found.slope, found.offset


def values_of_folds(
    X: Any,
    rows: RowSource,
    labels: NDArray[np.intp],
    bounds: Vector,
    problems: Sequence[PairSamples],
    solutions: Sequence[PairSolution],
    *,
    stop: StopRule,
    options: SolverOptions,
    squared: bool,
    fit_intercept: bool,
) -> Vector:
    """Train all problems without each of five folds in turn; return the decision values of what was held out.

    They are in the order of the samples, those of one problem after the other. Samples `X` belong to a fold by what
    they hold; None for those that are no vectors. Everything else is as in
    :func:`widemargin.machines.held_out.held_out_values`.
    """
    folds = content_folds(X, labels, bounds)
    how: Any = {
        "stop": stop,
        "options": replace(options, solver="auto", selection="auto"),
        "squared": squared,
        "fit_intercept": fit_intercept,
    }
    soft = np.isfinite(bounds).all()
    if soft and isinstance(problems, ClassPairs) and len(problems) > 1 and problems.largest <= FINISHED_EXACTLY:
        values, reasons = held_out_of_small_pairs(rows, labels, problems, bounds, folds, **how)
    else:
        found = held_out_values(rows, problems, solutions, bounds, folds, **how)
        values, reasons = joined(found)
    warn_of_early_folds(reasons, stacklevel=4)
    return values


def joined(found: Sequence[HeldOutValues]) -> tuple[Vector, list[str]]:
    """Return the values of all problems, one after the other, and how all their machines ended."""
    values = np.concatenate([np.empty(0), *(one.values for one in found)])
    return values, [reason for one in found for reason in one.reasons]


def warn_of_early_folds(reasons: Sequence[str], *, stacklevel: int) -> None:
    """Warn in one sentence of models without a fold that ended before their tolerance was met."""
    early = [reason for reason in reasons if reason != "converged"]
    if early:
        warnings.warn(
            f"{len(early)} of {len(reasons)} models whose decision values on held-out samples calibrate the "
            f"probabilities ended before the tolerance was met ({early[0]}).",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def class_probabilities(scheme: Scheme, values: Matrix, sigmoids: Matrix, winners: NDArray[np.intp]) -> Matrix:
    """Turn decision values into probabilities of the classes, the largest that of the class that is predicted.

    With a slope and no offset, two classes need no correction for that; with an offset, probabilities on the wrong side
    of 1/2 are moved to 1/2. Of more classes, the nearest probabilities are taken that agree.
    """
    slopes, offsets = sigmoids.T
    if scheme.n_classes > 2:
        return favoured(scheme.probabilities(expit(slopes * values + offsets)), winners)
    exponent = np.clip(slopes * values + offsets, -LARGEST_EXPONENT, LARGEST_EXPONENT).ravel()
    both = np.stack([expit(-exponent), expit(exponent)], axis=1)
    both[(winners == 1) & (both[:, 1] <= 0.5)] = BELOW_HALF, ABOVE_HALF
    both[(winners == 0) & (both[:, 1] > 0.5)] = 0.5
    return both


def asked_for(probability: Any, calibration: Any) -> Any:
    """Return the way to probabilities that two parameters ask for; ``probability=True`` alone asks for folds.

    Examples
    --------
    >>> asked_for(True, None), asked_for(True, "from-search"), asked_for(False, None)
    ('folds', 'from-search', None)
    """
    return FOLDS if calibration is None and probability else calibration


class WhereAsked:
    """Decorate a method that models have if they were asked for probabilities; others say how to ask."""

    def __init__(self, method: Callable[..., Matrix]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type | None = None) -> Callable[..., Matrix]:
        if model is None:
            return self.method
        if asked_for(model.probability, model.calibration) is None:
            name = type(model).__name__
            raise AttributeError(
                f"This {name!r} has no attribute {self.method.__name__!r} with probability=False and calibration=None: "
                f"pass {name}(probability=True) and fit again{model._or_in_a_search}."
            )
        return MethodType(self.method, model)


@dataclass(kw_only=True, repr=False, eq=False)
class CalibratedClassifier(KernelClassifier):
    """A classifier of pairs, or of classes against all others, that may make probabilities of its decision values."""

    probability: bool = False
    calibration: str | None = None
    calibration_method: str = METHODS[0]

    sigmoids_: Matrix = field(init=False)

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **KernelClassifier._accepts,
        "probability": require_flag,
        "calibration": partial(require_choice, choices=CALIBRATIONS),
        "calibration_method": partial(require_choice, choices=METHODS),
    }

    #: The other way to probabilities, if there is one.
    _or_in_a_search: ClassVar[str] = ", or calibration='from-search' in a search"

    @WhereAsked
    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes for the samples `X`; that of the class that is predicted is the largest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        self._require_fit()
        scheme = self._scheme()
        sigmoids = self._sigmoids(scheme.n_functions)
        if self._known_values is not None:
            values = self._known_values(X)
            return class_probabilities(scheme, values, sigmoids, self._winners(values))
        X, functions = self._check_to_predict(X), self._functions()
        # Votes that are counted while values are computed may tell a tie from what values tell later.
        counts = self._votes and functions.counts_in_core
        winners = np.argmax(functions.tallied(X, self._counted), axis=1) if counts else None
        blocks = []
        for begin, values in functions.values_in_blocks(X):
            won = self._winners(values) if winners is None else winners[begin : begin + len(values)]
            blocks.append(class_probabilities(scheme, values, sigmoids, won))
        return np.vstack(blocks)

    @WhereAsked
    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithms of the probabilities of the classes for the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def probA_(self) -> Matrix:  # noqa: N802
        """Minus the slopes in `sigmoids_`, as LIBSVM has them; empty without probabilities."""
        check_is_fitted(self)
        return -self.sigmoids_[:, 0] if hasattr(self, "sigmoids_") else np.empty(0)

    @property
    def probB_(self) -> Matrix:  # noqa: N802
        """Offsets in `sigmoids_`, in LIBSVM's sign; empty without probabilities."""
        check_is_fitted(self)
        if not hasattr(self, "sigmoids_"):
            return np.empty(0)
        return -in_scikit_learns_sign(self.sigmoids_[:, 1], len(self.classes_)) + 0.0

    def _check_combination(self) -> None:
        super()._check_combination()
        if asked_for(self.probability, self.calibration) is None and self.calibration_method != METHODS[0]:
            raise ValueError(
                f"calibration_method={self.calibration_method!r} requires probabilities; pass probability=True"
                f"{self._or_in_a_search}."
            )

    def _forget_calibration(self) -> bool:
        """Forget the last calibration; tell whether to calibrate this fit, and refuse what only a search can do."""
        self.__dict__.pop("sigmoids_", None)
        asked = asked_for(self.probability, self.calibration)
        if asked == FROM_SEARCH:
            raise ValueError(
                "calibration='from-search' needs the held-out decision values of a search, which a single fit does not "
                "have; fit a GridSearchCV of this estimator, or pass calibration='folds'."
            )
        return asked is not None

    def _calibrate(self, held_out: OutOfFold, y: Any, sample_weight: Any) -> None:
        """Calibrate a fitted model with the held-out decision values of a search; the rest is what it was fitted on."""
        labels = np.unique(column_or_1d(y), return_inverse=True)[1]
        weights, scheme = check_weights(sample_weight, len(labels)), self._scheme()
        with np.errstate(over="ignore"):
            bounds = self._bounds(labels, weights * self.class_weight_[labels])
        problems = scheme.problems(labels, bounds)[: self.fit_report_.n_begun]
        values = [held_out.values(function_name(self.classes_, one.pair))[one.ids] for one in problems]
        joint = np.concatenate([np.empty(0), *values])
        self.sigmoids_ = fitted_sigmoids(self.calibration_method, scheme, problems, joint, weights)

    def _sigmoids(self, functions: int) -> Matrix:
        found = getattr(self, "sigmoids_", None)
        if found is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: calibration="
                f"{asked_for(self.probability, self.calibration)!r} was set after the fit, or a search that is under "
                "way trained the model; fit again, or use the best_estimator_ of the search."
            )
        if found.shape != (functions, 2):
            raise ValueError(
                f"sigmoids_ was altered since the fit: its shape is {found.shape} where {(functions, 2)} belongs."
            )
        return np.asarray(found)

"""Probabilities of classifiers: a sigmoid for each decision function, fitted to held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.multi_class import Scheme, in_scikit_learns_sign
from widemargin.estimators.out_of_fold import content_folds
from widemargin.estimators.prediction import Matrix
from widemargin.kernels.rows import RowSource
from widemargin.machines.classifier import PairSamples, PairSolution
from widemargin.machines.coupling import favoured
from widemargin.machines.dual import SolverOptions, StopRule, Vector
from widemargin.machines.held_out import held_out_values
from widemargin.machines.sigmoid import LARGEST_SLOPE, Sigmoid, fit_platt, fit_slope, slope_for_no_error

#: The way to probabilities that takes decision values of the search.
FROM_SEARCH = "from-search"

CALIBRATIONS = (None, "folds", FROM_SEARCH)
METHODS = ("slope", "platt")

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
    method: str, scheme: Scheme, problems: Sequence[PairSamples], values: Sequence[Vector], weights: Vector
) -> Matrix:
    """Fit a sigmoid to the values that each problem's function has on its samples, held out.

    Parameters
    ----------
    method : {"slope", "platt"}
    scheme : Scheme
    problems : sequence of PairSamples
    values : sequence of ndarray
        For each problem, in the order of its samples.
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_functions, 2)
        Slopes and offsets; the steepest slope for functions that have no problem, since a class has no samples.
    """
    functions = scheme.functions()
    sigmoids = np.tile([LARGEST_SLOPE, 0.0], (len(functions), 1))
    for one, own in zip(problems, values, strict=True):
        found = fitted_sigmoid(method, own, one.signs, weights[one.ids])
        sigmoids[functions[one.pair]] = found.slope, found.offset
    sigmoids[:, 1] = in_scikit_learns_sign(sigmoids[:, 1], scheme.n_classes) + 0.0
    return sigmoids


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
) -> list[Vector]:
    """Train all problems without each of five folds in turn; return the decision values of what was held out.

    Samples `X` belong to a fold by what they hold; None for those that are no vectors. Everything else is as in
    :func:`widemargin.machines.held_out.held_out_values`.
    """
    folds = content_folds(X, labels, bounds)
    found = held_out_values(
        rows,
        problems,
        solutions,
        bounds,
        folds,
        stop=stop,
        options=replace(options, solver="auto", selection="auto"),
        squared=squared,
        fit_intercept=fit_intercept,
    )
    early = [reason for one in found for reason in one.reasons if reason != "converged"]
    if early:
        warnings.warn(
            f"{len(early)} of {sum(len(one.reasons) for one in found)} models whose decision values on held-out "
            f"samples calibrate the probabilities ended before the tolerance was met ({early[0]}).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return [one.values for one in found]


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

"""Probabilities of classifiers: a sigmoid for each decision function, fitted to held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
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
from widemargin.machines.classifier import ClassPairs, PairSamples, PairSolution, side_by_side
from widemargin.machines.coupling import favoured
from widemargin.machines.dual import SolverOptions, StopRule, Vector
from widemargin.machines.held_out import FINISHED_EXACTLY, held_out_of_small_pairs, held_out_values
from widemargin.machines.sigmoid import (
    LARGEST_SLOPE,
    Sigmoid,
    fit_platt,
    fit_slope,
    fit_slopes,
    slope_for_no_error,
    slopes_for_no_error,
)

#: The way to probabilities that takes decision values of the search.
FROM_SEARCH = "from-search"

CALIBRATIONS = (None, "folds", FROM_SEARCH)
METHODS = ("slope", "platt")

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
        values = np.concatenate([np.empty(0), *(one.values for one in found)])
        reasons = [reason for one in found for reason in one.reasons]
    early = [reason for reason in reasons if reason != "converged"]
    if early:
        warnings.warn(
            f"{len(early)} of {len(reasons)} models whose decision values on held-out "
            f"samples calibrate the probabilities ended before the tolerance was met ({early[0]}).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return values


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

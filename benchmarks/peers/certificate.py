"""What a model with a Gaussian or a linear kernel is worth, recomputed in float64 from its support vectors alone.

The dual problem of one pair of classes [Glasmachers2008, eq. 4.1], with signed variables and labels y = +1, -1:

    maximise  f(a) = y'a - a'Ka / 2   subject to  sum(a) = 0,  min(0, y C) <= a <= max(0, y C),

with gradient G = y - K a. The KKT violation is max{G_n : a_n < U_n} - min{G_n : a_n > L_n}, and because
a'Ka = a'(y - G) the objective is a'(y + G) / 2: one pass over K(rows, support vectors) gives both. A model with
more than two classes is a set of such problems, one per pair; its objective is their sum, its violation the largest.
A hard margin has C = inf; squared slack has it too, and 1 / (2 C) on the diagonal of K.

Regression maximises y'a - eps sum|a| - a'Ka / 2 over sum(a) = 0, -C <= a <= C: with G = y - K a its slope is G - eps
for a variable above 0 and G + eps for one below; for one at 0 it is the former upwards and the latter downwards. The
one-class model and, with a kernel of constant k(x, x), the smallest enclosing ball maximise -a'Ka / 2 over
sum(a) = 1, 0 <= a <= 1 / (nu n).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Machine:
    """The dual variables of a fitted model in the layout that LIBSVM and scikit-learn share.

    ``support`` holds row numbers, in any order; ``classes`` the labels of a classifier in the library's order. ``coef``
    has one row if there are no classes, else one per class but one: a support vector of class ``c`` keeps its variable
    of the problem against class ``k`` in row ``k`` (``k < c``) or ``k - 1`` (``k > c``).
    """

    support: npt.NDArray[np.intp]
    coef: npt.NDArray[np.floating[Any]]
    classes: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Certificate:
    """Dual objective, KKT violation, how far ``sum(a)`` is off, and number of support vectors.

    Of several pairs of classes: the sum of the objectives, the largest of the rest.
    """

    objective: float
    violation: float
    imbalance: float
    n_support: int


def certify(
    machine: Machine,
    X: FloatArray,
    y: npt.NDArray[Any],
    *,
    C: float,
    gamma: float,
    kernel: str = "rbf",
    ridge: float = 0.0,
) -> Certificate:
    """Judge a classifier on its training data; ``ridge`` is what stands on the diagonal besides the kernel.

    A precomputed kernel is the Gaussian of X. Centring X leaves the Gaussian as it is, and adds the same number to all
    entries of a linear kernel's gradient, which makes no difference where sum(a) = 0. A variable counts as at its bound
    when it is as near to it as the rounding of the coefficients' own type allows.
    """
    centred = X - X.mean(axis=0)
    rounding, width = _rounding(machine, C), None if kernel == "linear" else gamma
    pairs = [_certify_pair(centred, width, C, ridge, rounding, *problem) for problem in pair_problems(machine, y)]
    return Certificate(
        objective=sum(pair.objective for pair in pairs),
        violation=max(pair.violation for pair in pairs),
        imbalance=max(pair.imbalance for pair in pairs),
        n_support=len(machine.support),
    )


def pair_problems(
    machine: Machine, y: npt.NDArray[Any]
) -> Iterator[tuple[npt.NDArray[np.intp], FloatArray, FloatArray]]:
    """Yield rows, labels (+1, -1) and signed variables of the problem of every pair of classes."""
    if machine.classes is None:
        raise ValueError("The model has no classes; expected a classifier.")
    order = np.argsort(machine.classes)
    codes = order[np.searchsorted(machine.classes[order], y)]
    everywhere = np.zeros((len(machine.coef), len(y)))
    everywhere[:, machine.support] = machine.coef
    members = [np.flatnonzero(codes == code) for code in range(len(machine.classes))]
    for first, second in combinations(range(len(machine.classes)), 2):
        own, other = members[first], members[second]
        rows, labels = np.concatenate([own, other]), np.repeat([1.0, -1.0], [len(own), len(other)])
        alpha = np.concatenate([everywhere[second - 1, own], everywhere[first, other]])
        if labels @ alpha < 0:  # which of the two classes counts as +1 is the library's choice
            labels = -labels
        if np.any(labels * alpha < 0):
            raise ValueError(
                f"The dual coefficients of classes {machine.classes[first]} and {machine.classes[second]}"
                " have mixed signs within a class; expected one sign per class."
            )
        yield rows, labels, alpha


def kernel_product(X: FloatArray, support: npt.NDArray[np.intp], alpha: FloatArray, gamma: float | None) -> FloatArray:
    """Return K(X, X[support]) alpha for a Gaussian kernel, by blocks of rows; for a linear one if it has no width."""
    vectors = X[support]
    if gamma is None:
        linear: FloatArray = X @ (alpha @ vectors)
        return linear
    vector_norms = np.einsum("ij,ij->i", vectors, vectors)
    product = np.zeros(len(X))
    step = max(1, BLOCK_BYTES // (8 * max(1, len(support))))
    for start in range(0, len(X), step):
        block = X[start : start + step]
        distances = block @ vectors.T
        distances *= -2.0
        distances += np.einsum("ij,ij->i", block, block)[:, None]
        distances += vector_norms
        np.maximum(distances, 0.0, out=distances)
        distances *= -gamma
        product[start : start + step] = np.exp(distances, out=distances) @ alpha
    return product


def _certify_pair(
    centred: FloatArray,
    gamma: float | None,
    C: float,
    ridge: float,
    rounding: float,
    rows: npt.NDArray[np.intp],
    labels: FloatArray,
    alpha: FloatArray,
) -> Certificate:
    support = np.flatnonzero(alpha)
    gradient = labels - kernel_product(centred[rows], support, alpha[support], gamma) - ridge * alpha
    upper, lower = np.maximum(0.0, labels * C), np.minimum(0.0, labels * C)
    return Certificate(
        objective=float(alpha @ (labels + gradient)) / 2,
        violation=_violation(gradient, alpha, lower, upper, rounding),
        imbalance=abs(float(alpha.sum())),
        n_support=len(support),
    )


def certify_regression(
    machine: Machine, X: FloatArray, y: npt.NDArray[Any], *, C: float, epsilon: float, gamma: float
) -> Certificate:
    """Judge a regression model on its training data."""
    targets, alpha = np.asarray(y, dtype=np.float64), _everywhere(machine, len(X))
    gradient, rounding = targets - _product(machine, X, alpha, gamma), _rounding(machine, C)
    upwards = gradient + np.where(alpha < -rounding, epsilon, -epsilon)
    downwards = gradient + np.where(alpha > rounding, -epsilon, epsilon)
    return Certificate(
        objective=float(alpha @ (targets + gradient)) / 2 - epsilon * float(np.abs(alpha).sum()),
        violation=_largest_difference(upwards[alpha < C - rounding], downwards[alpha > rounding - C]),
        imbalance=abs(float(alpha.sum())),
        n_support=len(machine.support),
    )


def certify_one_class(machine: Machine, X: FloatArray, *, nu: float, gamma: float, is_ball: bool) -> Certificate:
    """Judge a one-class model, or an enclosing ball, on its training data.

    Objectives are those of coefficients that sum to 1, so that both can be compared. The violation is in the units of
    the estimator's own tolerance: decision values of coefficients that sum to nu n for the one-class model; for the
    ball squared distances, divided by the mean squared distance of (at most 500 of) the rows from their mean.
    """
    total = 1.0 if is_ball else nu * len(X)
    alpha = _everywhere(machine, len(X)) / total
    gradient = -_product(machine, X, alpha, gamma)
    bound = 1 / (nu * len(X))
    lower, upper = np.zeros(len(X)), np.full(len(X), bound)
    return Certificate(
        objective=float(alpha @ gradient) / 2,
        violation=_violation(gradient, alpha, lower, upper, _rounding(machine, bound))
        * (2 / spread(X, gamma) if is_ball else total),
        imbalance=abs(float(alpha.sum()) - 1),
        n_support=len(machine.support),
    )


def spread(X: FloatArray, gamma: float, n_rows: int = 500) -> float:
    """Return the mean squared distance in the kernel's space of evenly chosen rows from their mean."""
    sample = X[np.unique(np.linspace(0, len(X) - 1, n_rows).astype(np.intp))]
    share = np.full(len(sample), 1 / len(sample))
    return 1 - float(share @ kernel_product(sample, np.arange(len(sample)), share, gamma))


def _everywhere(machine: Machine, n: int) -> FloatArray:
    alpha = np.zeros(n)
    alpha[machine.support] = machine.coef[0]
    return alpha


def _product(machine: Machine, X: FloatArray, alpha: FloatArray, gamma: float) -> FloatArray:
    return kernel_product(X - X.mean(axis=0), machine.support, alpha[machine.support], gamma)


def _rounding(machine: Machine, bound: float) -> float:
    return 4 * float(np.finfo(machine.coef.dtype).eps) * bound if np.isfinite(bound) else 0.0


def _violation(gradient: FloatArray, alpha: FloatArray, lower: FloatArray, upper: FloatArray, rounding: float) -> float:
    return _largest_difference(gradient[alpha < upper - rounding], gradient[alpha > lower + rounding])


def _largest_difference(upwards: FloatArray, downwards: FloatArray) -> float:
    """Return by how much the steepest way up exceeds the flattest way down, of the variables that may go there."""
    return max(0.0, float(upwards.max(initial=-np.inf) - downwards.min(initial=np.inf)))


def kernel_error(
    matrix: npt.NDArray[np.floating[Any]], X: FloatArray, gamma: float, n_rows: int = 64, seed: int = 0
) -> float:
    """Return the largest error of a Gaussian kernel matrix over a few whole rows drawn at random."""
    rows = np.random.default_rng(seed).choice(len(X), size=min(n_rows, len(X)), replace=False)
    differences = (float(np.max(np.abs(matrix[row] - _kernel_row(X, row, gamma)))) for row in rows)
    return max(differences)


def _kernel_row(X: FloatArray, row: np.intp, gamma: float) -> FloatArray:
    differences = X - X[row]
    squares: FloatArray = np.einsum("ij,ij->i", differences, differences)
    return np.exp(-gamma * squares)

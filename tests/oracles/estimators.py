"""Read the dual solutions back out of a fitted classifier, this package's or scikit-learn's, and certify them.

Both keep one-versus-one models in scikit-learn's layout: `dual_coef_` has a row less than there are classes, and a
support vector of class k finds its coefficient against class m in row m (m < k) or m - 1 (m > k). With two classes a
positive coefficient belongs to the second class; with more, to the first of the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin.testing.checks import Certificate, certificate
from widemargin.testing.oracles import as_matrix, kernel_matrix, resolve_gamma
from widemargin.testing.problems import Case
from widemargin.testing.protocols import Matrix, Vector


@dataclass(frozen=True, eq=False)
class PairSolution:
    """One binary problem of a fitted classifier.

    Attributes
    ----------
    classes : (int, int)
        Positions of the two classes in `classes_`.
    rows : ndarray of int
        The training samples of the two classes.
    case : Case
        Their dual problem, in float64.
    alpha : ndarray
        The fitted signed dual variables.
    intercept : float
        The fitted offset.
    certificate : Certificate
        What the fitted variables are worth, recomputed.
    """

    classes: tuple[int, int]
    rows: NDArray[np.intp]
    case: Case
    alpha: Vector
    intercept: float
    certificate: Certificate


def gram_of(model: Any, X: object, sample_weight: ArrayLike | None = None) -> Matrix:
    """Return the float64 kernel matrix of the training samples under the model's parameters."""
    if model.kernel == "precomputed":
        return as_matrix(X)
    if callable(model.kernel):
        return np.asarray(model.kernel(X, X), dtype=np.float64)
    gamma = resolve_gamma(model.gamma, X, sample_weight)
    return kernel_matrix(as_matrix(X), kernel=model.kernel, gamma=gamma, coef0=model.coef0, degree=model.degree)


def pair_solutions(
    model: Any, X: object, y: ArrayLike, *, sample_weight: ArrayLike | None = None, gram: Matrix | None = None
) -> list[PairSolution]:
    """Return the binary problems of a fitted classifier with their fitted variables, pairs in lexicographic order.

    Parameters
    ----------
    model : fitted classifier
        With scikit-learn's attributes of a support vector classifier.
    X, y, sample_weight
        What it was fitted on.
    gram : ndarray, optional
        The float64 kernel matrix of X, where it is at hand already.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    >>> pair_solutions(model, [[0.0], [1.0]], [0, 1])[0].alpha.tolist()
    [-1.0, 1.0]
    """
    K = gram_of(model, X, sample_weight) if gram is None else gram
    codes = np.searchsorted(model.classes_, np.asarray(y))
    weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    boxes = model.C * weights * np.asarray(model.class_weight_)[codes]
    coefficients = as_matrix(model.dual_coef_)
    n_classes = len(model.classes_)
    positive_is_first = n_classes > 2
    owners = np.repeat(np.arange(n_classes), model.n_support_)
    solutions = []
    for (i, j), offset in zip(combinations(range(n_classes), 2), np.ravel(model.intercept_), strict=True):
        whole = np.zeros(len(codes))
        for owner, row in ((i, j - 1), (j, i)):
            mine = owners == owner
            whole[model.support_[mine]] = coefficients[row, mine]
        rows = np.flatnonzero((codes == i) | (codes == j))
        signs = np.where(codes[rows] == (i if positive_is_first else j), 1.0, -1.0)
        edges = signs * boxes[rows]
        case = Case(
            name=f"class {i} against class {j}",
            linear=signs,
            lower=np.minimum(0.0, edges),
            upper=np.maximum(0.0, edges),
            gram=K[np.ix_(rows, rows)],
            points=np.empty((rows.size, 0)),
            kernel=str(model.kernel),
            gamma=float("nan"),
        )
        found = certificate(case, case.gram, whole[rows])
        solutions.append(PairSolution((i, j), rows, case, whole[rows], float(offset), found))
    return solutions

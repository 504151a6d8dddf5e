"""Kernel parameters guessed from the examples alone, without a machine and without a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from widemargin._runtime import single_threaded_blas
from widemargin.kernels.base import as_examples

Vector = NDArray[np.float64]

#: Up to so many examples all distances are looked at: 4.5 million pairs at most, 36 MB and as much for their shares.
EXACT_ROWS = 3000


def jaakkola_gamma(X: Any, y: Any = None, weights: Vector | None = None) -> float:
    r"""Guess the coefficient of a Gaussian kernel, :math:`\gamma = 1 / (2 m^2)`, m being the median distance.

    The distances are those between examples of different classes [Jaakkola1999] as [Glasmachers2008, section 12.1]
    reads the heuristic, or between all examples if there are no classes. With at most 3,000 examples all pairs are
    looked at, n^2 d operations. Of more examples each class keeps at most its even share of 3,000, drawn by a
    generator that starts the same way each time, and pairs count as often as those they stand for.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The examples.
    y : array of shape (n,), optional
        Their classes. None, or one class only, means that all pairs of examples count: what regression wants.
    weights : array of shape (n,), optional
        How often each example counts; a pair counts as often as the product says. Examples of weight 0 are left out.

    Returns
    -------
    float
        If more than half of the pairs are pairs of equal examples, the median is that of the others. If all examples
        are equal no number is better than another, and it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import jaakkola_gamma
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> jaakkola_gamma(X, [0, 0, 1, 1]) == 1 / (2 * 2.5**2)
    True
    >>> jaakkola_gamma(X) == 1 / (2 * 2.0**2)
    True
    """
    X = as_examples(X)
    n = X.shape[0]
    labels = np.zeros(n, dtype=np.intp) if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
    counts = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    for name, array in (("y", labels), ("weights", counts)):
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape} where X has {n} rows; one number each is needed.")
    classes = [ids for ids in (np.flatnonzero((labels == c) & (counts > 0)) for c in np.unique(labels)) if len(ids)]
    if not classes:
        raise ValueError("no example has a weight above 0; at least one is needed.")
    distances, shares = _between(X, *_drawn(classes, counts))
    apart = distances > 0
    if not apart.any():
        return 1.0
    median = _median(distances, shares) or _median(distances[apart], shares[apart])
    return float(0.5 / np.square(median))


def _drawn(classes: list[NDArray[np.intp]], counts: Vector) -> tuple[list[NDArray[np.intp]], list[Vector]]:
    """Examples to look at, by class, and how often each counts."""
    total = sum(len(ids) for ids in classes)
    share = total if total <= EXACT_ROWS else max(1, EXACT_ROWS // len(classes))
    generator = np.random.default_rng(0)
    kept = [ids if len(ids) <= share else np.sort(generator.choice(ids, share, replace=False)) for ids in classes]
    return kept, [
        counts[some] * (counts[ids].sum() / counts[some].sum()) for some, ids in zip(kept, classes, strict=True)
    ]


def _between(X: Any, classes: list[NDArray[np.intp]], counts: list[Vector]) -> tuple[Vector, Vector]:
    """Distances between examples of different classes (between all examples, if there is but one), and their shares."""
    ids = np.concatenate(classes)
    rows = X[ids]
    if not sp.issparse(rows):
        rows = rows - rows.mean(axis=0)
    number, share = np.repeat(np.arange(len(classes)), [len(one) for one in classes]), np.concatenate(counts)
    distances, shares = [np.empty(0)], [np.empty(0)]
    # Equal rows are as far apart as the root of what is lost when their squares cancel.
    rounding = 1e-7 * np.sqrt(row_norms(rows, squared=True).max())
    with single_threaded_blas():
        for begin in range(0, len(ids), 256):
            block = slice(begin, min(begin + 256, len(ids)))
            found = euclidean_distances(rows[block], rows)
            found[found < rounding] = 0.0
            if len(classes) == 1:
                apart = np.arange(len(ids)) > np.arange(len(ids))[block, np.newaxis]
            else:
                apart = number > number[block, np.newaxis]
            distances.append(found[apart])
            shares.append(np.multiply.outer(share[block], share)[apart])
    return np.concatenate(distances), np.concatenate(shares)


def _median(values: Vector, shares: Vector) -> float:
    """Return what half of the values, by their shares, do not exceed."""
    if np.all(shares == shares[0]):
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order])
    half = 0.5 * reached[-1]
    first = int(np.searchsorted(reached, half * (1 - 1e-12)))
    second = min(int(np.searchsorted(reached, half * (1 + 1e-12), side="right")), len(values) - 1)
    return float(0.5 * (values[order[first]] + values[order[second]]))

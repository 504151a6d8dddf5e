"""Kernel parameters guessed from the samples alone, without training and without a search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from widemargin.kernels.base import Vector, as_samples
from widemargin.kernels.spread import moderate
from widemargin.runtime import single_threaded_blas

#: Up to so many samples all pairs are looked at, and as many pairs of more samples.
EXACT_ROWS = 3000

#: Samples that are looked at in any case.
LEAST_ROWS = 100

#: Distances in memory at once.
BLOCK_ENTRIES = 2**20


def jaakkola_gamma(X: Any, y: Any = None, weights: Vector | None = None) -> float:
    r"""Guess the coefficient of a Gaussian kernel, :math:`\gamma = 1 / (2 m^2)`, m being a median distance.

    It is the median over all samples of the distance to the nearest one of another class [Jaakkola1999]. Equal
    samples of different classes do not count as near. [Glasmachers2008, section 12.1] has the same in mind, since it
    finds that wrong labels make the median too small (section 12.4.1), which they do to nearest distances only. Without
    classes it is the median distance of all pairs.

    With at most 3,000 samples all pairs are looked at, n^2 d operations. Of more samples some are drawn, by a
    generator that starts the same way each time, and compared with all: 9 million pairs, or 100 n.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The samples.
    y : array of shape (n,), optional
        Their classes. None, or one class only, means that all pairs of samples count: what regression wants.
    weights : array of shape (n,), optional
        How often each sample counts. Samples of weight 0 are left out.

    Returns
    -------
    float
        If all samples are equal no number is better than another, and it is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.heuristics import jaakkola_gamma
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> jaakkola_gamma(X, [0, 0, 1, 1]) == 1 / (2 * 1.5**2)
    True
    >>> jaakkola_gamma(X) == 1 / (2 * 2.0**2)
    True
    """
    X = as_samples(X)
    n = X.shape[0]
    labels = np.zeros(n, dtype=np.intp) if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
    counts = np.ones(n) if weights is None else moderate(np.asarray(weights, dtype=np.float64))
    for name, array in (("y", labels), ("weights", counts)):
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape}, but X has {n} samples; one number per sample is needed.")
    classes = [np.flatnonzero((labels == c) & (counts > 0)) for c in np.unique(labels[counts > 0])]
    if not classes:
        raise ValueError("no sample has a weight above 0; at least one is needed.")
    distances, shares = _to_nearest(X, classes, counts) if len(classes) > 1 else _between(X, classes[0], counts)
    apart = distances > 0
    if not apart.any():
        return 1.0
    median = _median(distances, shares) or _median(distances[apart], shares[apart])
    return float(0.5 / np.square(median))


def distances_of_pairs(X: Any) -> Vector:
    """Return the distances of all pairs of samples, n (n - 1) / 2 numbers; those of equal samples are 0.

    Examples
    --------
    >>> distances_of_pairs(np.array([[0.0], [3.0], [3.0]])).tolist()
    [3.0, 3.0, 0.0]
    """
    X = as_samples(X)
    everything = np.arange(X.shape[0])
    return np.concatenate([np.empty(0), *(found for _, _, found in _pairs(X, everything))])


def _to_nearest(X: Any, classes: list[NDArray[np.intp]], counts: Vector) -> tuple[Vector, Vector]:
    """Distances to the nearest other sample of another class, of samples that have one, and how often each counts."""
    everything = np.concatenate(classes)
    number = np.repeat(np.arange(len(classes)), list(map(len, classes)))
    rows = max(LEAST_ROWS, EXACT_ROWS**2 // len(everything))
    looked_at, shares = _drawn(classes, counts, len(everything) if len(everything) <= EXACT_ROWS else rows)
    own = np.repeat(np.arange(len(classes)), list(map(len, looked_at)))
    nearest = np.empty(len(own))
    for block, found in _blocks(X, np.concatenate(looked_at), everything):
        found[(found == 0.0) | (own[block, np.newaxis] == number)] = np.inf
        nearest[block] = found.min(axis=1)
    known = np.isfinite(nearest)
    return nearest[known], np.concatenate(shares)[known]


def _between(X: Any, ids: NDArray[np.intp], counts: Vector) -> tuple[Vector, Vector]:
    """Distances between all samples, or those drawn, and how often each counts."""
    (some,), (share,) = _drawn([ids], counts, min(len(ids), EXACT_ROWS))
    distances, shares = [np.empty(0)], [np.empty(0)]
    for block, pairs, found in _pairs(X, some):
        distances.append(found)
        shares.append(np.multiply.outer(share[block], share)[pairs])
    return np.concatenate(distances), np.concatenate(shares)


def _pairs(X: Any, ids: NDArray[np.intp]) -> Iterator[tuple[slice, NDArray[np.bool_], Vector]]:
    """Distances of each pair of samples, in blocks, with these samples and a mask of the partners of each."""
    places = np.arange(len(ids))
    for block, found in _blocks(X, ids, ids):
        later = places > places[block, np.newaxis]
        yield block, later, found[later]


def _drawn(classes: list[NDArray[np.intp]], counts: Vector, rows: int) -> tuple[list[NDArray[np.intp]], list[Vector]]:
    """Draw so many samples, each class at most its even share unless all are wanted, and say how often each counts."""
    if rows >= sum(map(len, classes)):
        return classes, [counts[ids] for ids in classes]
    share = max(1, rows // len(classes))
    generator = np.random.default_rng(0)
    kept = [ids if len(ids) <= share else np.sort(generator.choice(ids, share, replace=False)) for ids in classes]
    return kept, [
        counts[some] * (counts[ids].sum() / counts[some].sum()) for some, ids in zip(kept, classes, strict=True)
    ]


def _blocks(X: Any, ids: NDArray[np.intp], others: NDArray[np.intp]) -> Iterator[tuple[slice, Vector]]:
    """Distances of some samples from others, in blocks; those of equal samples are 0."""
    left, right = X[ids], X[others]
    if not sp.issparse(X):
        middle = right.mean(axis=0)
        left, right = left - middle, right - middle
    # Equal rows are as far apart as the root of what is lost when their squares cancel.
    rounding = 1e-7 * np.sqrt(row_norms(right, squared=True).max())
    step = max(1, BLOCK_ENTRIES // len(others))
    with single_threaded_blas():
        for begin in range(0, len(ids), step):
            block = slice(begin, min(begin + step, len(ids)))
            found = euclidean_distances(left[block], right)
            found[found < rounding] = 0.0
            yield block, found


def _median(values: Vector, shares: Vector) -> float:
    """Return the weighted median."""
    if np.all(shares == shares[0]):
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(shares[order])
    half = 0.5 * reached[-1]
    first = int(np.searchsorted(reached, half * (1 - 1e-12)))
    second = min(int(np.searchsorted(reached, half * (1 + 1e-12), side="right")), len(values) - 1)
    return float(0.5 * (values[order[first]] + values[order[second]]))

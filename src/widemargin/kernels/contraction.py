"""<W, dK/dtheta> for all pairs of examples, block by block: neither K nor W nor any dK is ever there as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.base import Kernel
from widemargin.kernels.rows import count, take
from widemargin.runtime import single_threaded_blas

Matrix = NDArray[np.float64]

#: Kernel values in a block: what fits, three times over, into the cache that a core has to itself.
BLOCK_ENTRIES = 2**17

#: Told the rows, the columns and the kernel values of a block, gives one weight matrix or several.
Weigh = Callable[[slice, slice, Matrix], Sequence[Matrix]]


def contract(kernel: Kernel, weigh: Weigh, X: Any, Y: Any = None, *, poll: Callable[[], None] | None = None) -> Matrix:
    """Sum W_ij dK_ij / dtheta over all i and j, for every weight matrix W and every free parameter.

    Parameters
    ----------
    kernel : Kernel
    weigh : callable
        Called as ``weigh(rows, columns, K)`` for each block; returns the same blocks of the weight matrices, as many
        each time. Without `Y` the weights have to be symmetric: blocks below the diagonal are not asked for.
    X, Y : n and m examples
        `Y` is `X` if not given.
    poll : callable, optional
        Called before each block; may raise to end the computation.

    Returns
    -------
    ndarray of shape (number of weight matrices, n_dims)

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> everything = lambda rows, columns, K: [np.ones_like(K)]
    >>> step = 1e-6
    >>> totals = [Gaussian(gamma=g)(X).sum() for g in (np.exp(-step), np.exp(step))]
    >>> bool(np.isclose(contract(Gaussian(gamma=1.0), everything, X)[0, 0], (totals[1] - totals[0]) / (2 * step)))
    True
    """
    X = kernel.examples(X)
    other = X if Y is None else kernel.examples(Y)
    total: Matrix | None = None
    with single_threaded_blas():
        for rows, columns in _blocks(count(X), None if Y is None else count(Y)):
            if poll is not None:
                poll()
            mirrored = Y is None and rows != columns
            left = _part(X, rows)
            right = left if Y is None and not mirrored else _part(other, columns)
            K = kernel.values(left, right)
            found = np.array([kernel.pull_back(W, left, right, K) for W in weigh(rows, columns, K)])
            if mirrored:
                found *= 2.0
            total = found if total is None else total + found
    if total is None:
        raise ValueError("X has no rows; there must be at least one.")
    return total


def _part(X: Any, rows: slice) -> Any:
    return X[rows] if hasattr(X, "shape") else take(X, np.arange(rows.start, rows.stop))


def _blocks(n: int, m: int | None) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover all pairs, or, if `m` is None, the diagonal and what is right of it."""
    edge = int(np.sqrt(BLOCK_ENTRIES))
    for top in range(0, n, edge):
        rows = slice(top, min(top + edge, n))
        for begin in range(top if m is None else 0, n if m is None else m, edge):
            columns = slice(begin, min(begin + edge, n if m is None else m))
            yield rows, columns

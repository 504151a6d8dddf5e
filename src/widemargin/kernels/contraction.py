"""Kernel values and <W, dK/dtheta> over all pairs of samples, block by block: K, W and dK are never there whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from widemargin.kernels.base import Kernel, Matrix, Vector
from widemargin.kernels.rows import SampleStore, count, take

#: Kernel values in a block: what fits, three times over, into the cache that a core has to itself.
BLOCK_ENTRIES = 2**17


class Block(NamedTuple):
    """Some rows and columns of a kernel matrix, the samples they belong to, and how often the block is in the matrix.

    That is twice for blocks beside the diagonal, whose mirror images are left out.
    """

    rows: slice
    columns: slice
    left: Any
    right: Any
    K: Matrix
    times: float


class KernelBlocks:
    """All blocks of a kernel matrix, in order; one that is the whole matrix is kept, others are computed every time.

    Parameters
    ----------
    kernel : Kernel
    X, Y : n and m samples
        As :meth:`Kernel.samples` gives them. Without `Y` it is `X`, and blocks below the diagonal are left out.
    poll : callable, optional
        Called before each block; may raise to end the computation.

    Attributes
    ----------
    computed : int
        Kernel values that were computed.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> blocks = KernelBlocks(Gaussian(gamma=1.0), X)
    >>> slope = sum(blocks.pull_back(np.ones_like(block.K), block) for block in blocks)
    >>> step = 1e-6
    >>> totals = [Gaussian(gamma=g)(X).sum() for g in (np.exp(-step), np.exp(step))]
    >>> bool(np.isclose(slope[0], (totals[1] - totals[0]) / (2 * step))), blocks.computed
    (True, 9)
    """

    def __init__(self, kernel: Kernel, X: Any, Y: Any = None, *, poll: Callable[[], None] | None = None) -> None:
        self._kernel, self._poll = kernel, poll
        self._X, self._Y = X, Y
        self._whole: Block | None = None
        self.computed = 0

    def __iter__(self) -> Iterator[Block]:
        if self._whole is not None:
            yield self._whole
            return
        X, Y = self._X, self._X if self._Y is None else self._Y
        n, edge = count(X), int(np.sqrt(BLOCK_ENTRIES))
        m = n if self._Y is None else count(Y)
        if n == 0:
            raise ValueError("X has no samples; at least one is needed.")
        for top in range(0, n, edge):
            rows = slice(top, min(top + edge, n))
            left = X if n <= edge else _part(X, rows)
            for begin in range(top if self._Y is None else 0, m, edge):
                if self._poll is not None:
                    self._poll()
                columns = slice(begin, min(begin + edge, m))
                mirrored = self._Y is None and rows != columns
                right = left if self._Y is None and not mirrored else Y if m <= edge else _part(Y, columns)
                block = Block(rows, columns, left, right, self._kernel.values(left, right), 2.0 if mirrored else 1.0)
                self.computed += block.K.size
                if block.K.shape == (n, m):
                    self._whole = block
                yield block

    def pull_back(self, W: Matrix, block: Block) -> Vector:
        """<W, dK/dtheta> of a block, as often as it is in the matrix; W has to be symmetric where it is there twice."""
        return block.times * self._kernel.pull_back(W, block.left, block.right, block.K)


def _part(X: Any, rows: slice) -> Any:
    sliced = sp.issparse(X) or isinstance(X, np.ndarray | SampleStore)
    return X[rows] if sliced else take(X, np.arange(rows.start, rows.stop))

"""Oracle for reduced sets: greedy selection by the definition, a least squares problem for each candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def squared_error(columns: Matrix, targets: Matrix, *, constant: bool) -> float:
    """Sum of squares that a least squares fit of all targets by the same columns leaves.

    Examples
    --------
    >>> squared_error(np.empty((0, 2)), np.array([[1.0], [3.0]]), constant=True)
    2.0
    """
    design = np.vstack([np.ones((int(constant), len(targets))), columns]).T
    if design.shape[1] == 0:
        return float(np.square(targets).sum())
    found = np.linalg.lstsq(design, targets, rcond=None)[0]
    return float(np.square(targets - design @ found).sum())


def greedy_selection(columns: ArrayLike, targets: ArrayLike, m: int, *, constant: bool) -> list[int]:
    """Choose m rows of `columns` one by one, each time the one that leaves the least error after a fit of all.

    Examples
    --------
    >>> greedy_selection([[1.0, 0.0], [2.0, 1.0]], [[2.0], [1.0]], 1, constant=False)
    [1]
    """
    K, F = np.asarray(columns, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    chosen: list[int] = []
    for _ in range(m):
        others = [j for j in range(len(K)) if j not in chosen]
        chosen.append(min(others, key=lambda j: squared_error(K[[*chosen, j]], F, constant=constant)))
    return chosen

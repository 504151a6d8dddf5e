"""Kernel polarization [Glasmachers2008, section 9.1.6], after Baram: how well kernel values agree with labels.

P = <T, K> with T_ij = y_i y_j for two classes. For more of them T is the Gram matrix of the corners of a simplex, 1 for
the same class and -1 / (c - 1) for different ones, which is the same for c = 2. Then dP/dtheta = <T, dK/dtheta>.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.kernels import Kernel, contract
from widemargin.objectives.base import BoundObjective, Effort, Evaluated, Matrix, Objective, Task, Vector


def target_vectors(task: Task) -> Matrix:
    """Return one row an example whose dot products are the ideal kernel values T.

    Examples
    --------
    >>> two = target_vectors(Task(np.zeros((3, 1)), np.array([0, 1, 1]), 2, np.ones(3)))
    >>> (two @ two.T).round(12).tolist()
    [[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    if task.n_classes == 0:
        return np.asarray(task.y - np.average(task.y, weights=task.weights))[:, np.newaxis]
    if task.n_classes == 2:
        return np.where(task.y == 1, 1.0, -1.0)[:, np.newaxis]
    c = task.n_classes
    corners = (np.eye(c) - 1.0 / c) * np.sqrt(c / (c - 1.0))
    return np.asarray(corners[task.y])


class Polarization(Objective):
    r"""Kernel polarization, :math:`P = \sum_{ij} w_i w_j y_i y_j k(x_i, x_j)` [Glasmachers2008, section 9.1.6].

    It grows where examples of one class resemble each other more than those of others. For kernels with k(x, x) = 1
    only: it grows with the size of kernel values as well. No machine is trained, so that C is not chosen. A value
    costs one kernel matrix, n^2 d operations, and a gradient about as much again; memory does not grow with n.
    """

    name = "polarization"
    needs_machine = False
    chooses_c = False
    greater_is_better = True

    def bind(self, task: Task) -> BoundObjective:
        """Prepare the labels."""
        return _Bound(task, target_vectors(task) * task.weights[:, np.newaxis])


class _Bound(BoundObjective):
    def __init__(self, task: Task, targets: Matrix) -> None:
        self._task, self._targets = task, targets

    def evaluate(
        self,
        kernel: Kernel,
        C: float,
        *,
        gradient: bool = True,
        generator: np.random.Generator | None = None,
        state: Any = None,
        part: int | None = None,
    ) -> Evaluated:
        """Sum over all pairs of examples, block by block."""
        value = 0.0
        T = self._targets

        def weigh(rows: slice, columns: slice, K: Matrix) -> list[Matrix]:
            nonlocal value
            W = T[rows] @ T[columns].T
            value += (1.0 if rows == columns else 2.0) * float(np.vdot(W, K))
            return [W] if gradient else []

        found: Vector = contract(kernel, weigh, self._task.X, poll=self._task.poll)
        effort = Effort(kernel_evaluations=self._task.n_examples**2)
        return Evaluated(value, found[0] if gradient else None, effort=effort)

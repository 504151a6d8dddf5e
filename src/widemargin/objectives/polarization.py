"""Kernel polarization [Glasmachers2008, section 9.1.6], after Baram: how well kernel values agree with labels.

P = <T, K> with T_ij = y_i y_j for two classes. For more of them T is the Gram matrix of the corners of a simplex, 1 for
the same class and -1 / (c - 1) for different ones, which is the same for c = 2. Then dP/dtheta = <T, dK/dtheta>.

Centred, samples are seen from their mean in feature space: K becomes H K H' with H = I - 1 p', p the shares of the
samples. H is its own adjoint for <M, N> = sum_ij w_i w_j M_ij N_ij, so that <T, H K H'> = <H T H', K>: it is enough to
centre the targets.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.kernels.contraction import KernelBlocks
from widemargin.objectives.base import BoundObjective, Evaluated, How, Matrix, Objective, Task
from widemargin.runtime import Work, single_threaded_blas


def target_vectors(task: Task, *, centred: bool = False) -> Matrix:
    """Return one row for each sample whose dot products are the ideal kernel values T.

    Parameters
    ----------
    task : Task
    centred : bool, default=False
        Whether the rows, each as often as its weight says, have mean 0; targets of regression always have.

    Examples
    --------
    >>> two = target_vectors(Task(np.zeros((3, 1)), np.array([0, 1, 1]), 2, np.ones(3)))
    >>> (two @ two.T).round(12).tolist()
    [[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    if task.n_classes == 0:
        targets, centred = np.asarray(task.y, dtype=np.float64)[:, np.newaxis], True
    elif task.n_classes == 2:
        targets = np.where(task.y == 1, 1.0, -1.0)[:, np.newaxis]
    else:
        c = task.n_classes
        targets = ((np.eye(c) - 1.0 / c) * np.sqrt(c / (c - 1.0)))[task.y]
    return targets - np.average(targets, axis=0, weights=task.weights) if centred else targets


def one_target_only(name: str, task: Task) -> str | None:
    """Say, in a sentence, that an objective cannot do with samples whose targets are all the same; None if not so."""
    found = np.unique(task.y[task.weights > 0])
    if len(found) > 1:
        return None
    kind = "class" if task.n_classes else "target"
    return f"objective={name!r} needs samples of at least two {kind} values; all of them have {found.tolist()}."


class OfTargets(Objective):
    """How well kernel values agree with the labels: no model is trained."""

    trains_models = False
    chooses_c = False
    greater_is_better = True

    def __init__(self, centred: bool = False) -> None:
        self.centred = centred

    def why_not(self, task: Task, C: float) -> str | None:
        """Refuse samples that all have the same target."""
        return one_target_only(self.name, task)


class Polarization(OfTargets):
    r"""Kernel polarization, :math:`P = \sum_{ij} w_i w_j y_i y_j k(x_i, x_j)` [Glasmachers2008, section 9.1.6].

    It grows where samples of one class resemble each other more than those of others. For kernels with k(x, x) = 1
    only: it grows with the size of kernel values as well. No model is trained, so that C is not chosen. A value
    costs one kernel matrix, n^2 d operations, and a gradient about as much again; memory does not grow with n.

    Parameters
    ----------
    centred : bool, default=False
        Whether samples are seen from their mean in feature space, so that a constant added to the kernel changes
        nothing, and a class with more samples than others counts for no more than these.
    """

    name = "polarization"

    def bind(self, task: Task) -> BoundObjective:
        """Prepare the labels."""
        targets = target_vectors(task, centred=self.centred)
        return TargetSum(task, targets * task.weights[:, np.newaxis])


class TargetSum(BoundObjective):
    """The sum of all kernel values, each times the dot product of the two samples' `targets`."""

    def __init__(self, task: Task, targets: Matrix) -> None:
        super().__init__(task)
        self._targets = targets

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Sum over all pairs of samples, block by block."""
        T, value, slope = self._targets, 0.0, np.zeros(kernel.n_dims)
        blocks = KernelBlocks(kernel, self.task.X, poll=self.task.stop.check)
        with single_threaded_blas():
            for block in blocks:
                W = T[block.rows] @ T[block.columns].T
                value += block.times * float(np.vdot(W, block.K))
                if gradient:
                    slope += blocks.pull_back(W, block)
        return Evaluated(value, slope if gradient else None, work=Work(kernel_evaluations=blocks.computed))

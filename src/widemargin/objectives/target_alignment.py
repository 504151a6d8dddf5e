"""Kernel target alignment: the angle between kernel values and labels [Glasmachers2008, sections 9.1.6 and 9.3.3].

With sample weights w, matrices are compared by <M, N> = sum_ij w_i w_j M_ij N_ij, as if a sample were there as often
as its weight says. Then A = <T, K> / (|T| |K|), T being the Gram matrix of the targets, and by quotient and chain rule

    dA/dtheta = <T, dK> / (|T| |K|) - A <K, dK> / |K|^2.

Centred [Cortes2012], K is replaced by Kc = H K H' with H = I - 1 p', p = w / sum(w), and T likewise: all samples are
seen from their mean in feature space. Row means r = K p and s = p'r say all that is needed about H:

    Kc_ij = K_ij - r_i - r_j + s,        |Kc|^2 = |K|^2 - (sum w)^2 (2 sum_i p_i r_i^2 - s^2).

H is a projection that is orthogonal for <., .>, so that <Tc, Kc> = <Tc, K> and d|Kc|^2 = 2 <Kc, dKc> = 2 <Kc, dK>: the
derivative does not have to go through the centring, it is the formula above with Tc and Kc for T and K.

|Kc|^2 is a small difference of large numbers where the kernel is wide. A constant that is taken off all kernel values
changes nothing but that; the mean of the first block is such a constant.

All sums are known after one walk over the blocks of K. A second one then needs a single weight matrix for the gradient,
and pulling it back is the expensive part of kernels with many parameters.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.kernels.contraction import KernelBlocks
from widemargin.objectives.base import BoundObjective, Evaluated, How, Matrix, Task, Vector
from widemargin.objectives.polarization import OfTargets, target_vectors
from widemargin.runtime import Work, single_threaded_blas


class TargetAlignment(OfTargets):
    r"""Kernel target alignment, :math:`A = \langle T, K\rangle / (\|T\| \|K\|)`, with :math:`T = y y'` for two classes.

    It is the cosine of the angle between the kernel matrix and the one that labels would make, at most 1, whatever the
    scale of the kernel [Glasmachers2008, sections 9.1.6 and 9.3.3]. For more than two classes T is the Gram matrix of
    the corners of a simplex; for regression that of the targets minus their mean. Samples count as often as their
    weights say. No model is trained, so that C is not chosen.

    A value costs one kernel matrix, n^2 d operations, a gradient two (one up to 362 samples) and
    :math:`\langle W, dK/d\theta\rangle` for one W; memory grows with n, not with its square.

    Parameters
    ----------
    centred : bool, default=False
        Whether samples are seen from their mean in feature space [Cortes2012]: classes of unequal size, and kernels
        whose values all lie near a constant, are then judged by what differs. 0 where the kernel is constant.
    """

    name = "target-alignment"

    def bind(self, task: Task) -> BoundObjective:
        """Prepare the labels."""
        return _Bound(task, target_vectors(task, centred=self.centred), self.centred)


class _Bound(BoundObjective):
    def __init__(self, task: Task, targets: Matrix, centred: bool) -> None:
        super().__init__(task)
        self._centred = centred
        self._weights = np.asarray(task.weights, dtype=np.float64)
        self._shares = self._weights / self._weights.sum()
        self._targets = targets * self._weights[:, np.newaxis]
        #: |T|, through the small Gram matrix: |S S'| = |S' S|.
        self._size = float(np.linalg.norm(targets.T @ self._targets))

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Walk over all pairs of samples, block by block: for the sums, and for the gradient if it is wanted."""
        blocks = KernelBlocks(kernel, self.task.X, poll=self.task.stop.check)
        slope = None
        with single_threaded_blas():
            agreement, squares, means = self._sums(blocks)
            if squares <= 0.0:
                value, slope = 0.0, np.zeros(kernel.n_dims) if gradient else None
            else:
                value = agreement / (self._size * np.sqrt(squares))
                if gradient:
                    slope = self._slope(blocks, 1.0 / (self._size * np.sqrt(squares)), value / squares, means)
        return Evaluated(value, slope, work=Work(kernel_evaluations=blocks.computed))

    def _sums(self, blocks: KernelBlocks) -> tuple[float, float, Vector]:
        """<T, K>, |K|^2, and means of the rows of K if they are to be taken off."""
        T, w, share = self._targets, self._weights, self._shares
        agreement = squares = constant = 0.0
        means = np.zeros(len(w))
        for rows, columns, _, _, K, times in blocks:
            if self._centred:
                constant = constant if rows.start or columns.start else float(K.mean())
                K = K - constant
                means[rows] += K @ share[columns]
                if rows != columns:
                    means[columns] += share[rows] @ K
            agreement += times * float(np.vdot(T[rows], K @ T[columns]))
            squares += times * float(w[rows] @ (np.square(K) @ w[columns]))
        if self._centred:
            mean = float(share @ means)
            squares -= w.sum() ** 2 * (2.0 * float(share @ np.square(means)) - mean**2)
            # Half of what is added back for each of the two rows that meet in an entry: r_i + r_j - s.
            means += constant - 0.5 * (mean + constant)
        return agreement, squares, means

    def _slope(self, blocks: KernelBlocks, alpha: float, beta: float, means: Vector) -> Vector:
        """Contract W_ij = w_i w_j (alpha T_ij - beta Kc_ij), of which all but K_ij itself is of low rank."""
        w = self._weights
        towards = w * means
        left = np.column_stack((alpha * self._targets, beta * towards, beta * w))
        right = np.column_stack((self._targets, w, towards))
        total: Vector | float = 0.0
        for block in blocks:
            W = left[block.rows] @ right[block.columns].T
            scaled = block.K * w[block.columns]
            scaled *= beta * w[block.rows, np.newaxis]
            W -= scaled
            total = total + blocks.pull_back(W, block)
        return np.asarray(total)

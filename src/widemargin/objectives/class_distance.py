"""Distance between class centres in feature space [Abe2007, eq. 7], with derivatives up to the third.

For two sides with samples of weights w, and W_1, W_2 the weights of the sides,

    d^2 = |c_1 - c_2|^2 = S_11 / W_1^2 - 2 S_12 / (W_1 W_2) + S_22 / W_2^2,    S_ab = sum_{i in a, j in b} w_i w_j K_ij.

More than two classes make several such problems, one class against all others or each pair of classes
[Abe2007, section 3.2.3]. Each of them is u'Su with a number u_a for each class; their average is <M, S>, M being the
average of all uu'. So one matrix S of sums, class by class, answers for all problems at once. For any kernel this is
also sum_ij t_i't_j K_ij with one vector t_i for each sample, M = R R' and t_i = w_i R_{y_i}: polarization with other
targets, and with the same derivative.

A kernel with K = exp(-p D) and D without parameters has dK/dp = -D K, and so has S:

    d^k S_ab / dp^k = (-1)^k sum w_i w_j D_ij^k K_ij.

These are what a second-order line search asks for [Abe2007, eq. 9]. D is the same for all p, so that it is computed
once where memory admits; each p then costs one exponential and seven multiplications a pair.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.objectives.base import BoundObjective, Evaluated, How, Matrix, Objective, Task, Vector
from widemargin.objectives.distance_tiles import DistanceTiles, scaled_distances
from widemargin.objectives.polarization import TargetSum, one_target_only
from widemargin.runtime import Work, single_threaded_blas

PROBLEMS = ("one-against-all", "pairs")


class ClassDistance(Objective):
    r"""The squared distance between class centres in feature space, :math:`d^2 = \|c_1 - c_2\|^2` [Abe2007, eq. 7].

    Where classes lie far apart, so will they from the boundary between them. No model is trained, so that C is not
    chosen. Samples count as often as their weights say. For kernels with k(x, x) = 1 only: it grows with the size of
    kernel values as well.

    Kernels of one scale, :math:`k = \exp(-p D)` with D free of parameters (`Gaussian`, `Mahalanobis`), have the first
    three derivatives with respect to p itself in :attr:`Evaluated.higher`, for ``strategy="newton"``. Distances are
    kept for them, 4 n^2 bytes, up to 512 MiB and a quarter of the free memory, and a value with all derivatives then
    costs less than one kernel matrix. Otherwise a value costs one kernel matrix, n^2 d operations, and a gradient about
    as much again, in memory that does not grow with the square of n.

    Parameters
    ----------
    problems : {"one-against-all", "pairs"}, default="one-against-all"
        How more than two classes make problems of two sides. Each can be evaluated by itself; without `part` their
        average is.
    """

    name = "class-distance"
    trains_models = False
    chooses_c = False
    greater_is_better = True

    def __init__(self, problems: str = "one-against-all") -> None:
        self.problems = problems

    def why_not(self, task: Task, C: float) -> str | None:
        """Refuse what has no classes, or only one."""
        if task.n_classes == 0:
            return f"objective={self.name!r} needs classes; the target is numeric."
        return one_target_only(self.name, task)

    def bind(self, task: Task) -> BoundObjective:
        """Prepare the problems."""
        if self.problems not in PROBLEMS:
            raise ValueError(f"problems is {self.problems!r}; it must be 'one-against-all' or 'pairs'.")
        return _Bound(task, _sides(task, self.problems))


def _sides(task: Task, problems: str) -> Matrix:
    """One row a problem, one column a class: what a class's samples are multiplied by in the difference of centres."""
    totals = np.bincount(task.y, task.weights, minlength=task.n_classes)
    present = np.flatnonzero(totals)
    if problems == "pairs" or len(present) == 2:
        found = np.zeros((len(task.pairs), len(totals)))
        for row, (a, b) in zip(found, task.pairs, strict=True):
            row[a], row[b] = 1.0 / totals[a], -1.0 / totals[b]
        return found
    found = np.where(totals > 0, -1.0 / (totals.sum() - totals[present])[:, np.newaxis], 0.0)
    found[np.arange(len(present)), present] = 1.0 / totals[present]
    return found


class _Bound(BoundObjective):
    def __init__(self, task: Task, sides: Matrix) -> None:
        super().__init__(task)
        self._sides = sides
        self.n_parts = len(sides)
        self._tiles = DistanceTiles(task)

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Sum kernel values class by class, or block by block where the kernel is more than a scale of distances."""
        part = how.get("part")
        sides = self._sides if part is None else self._sides[[part]]
        scale = scaled_distances(kernel, self.task.X)
        if scale is None:
            bound = TargetSum(self.task, self._targets(sides))
            return bound.evaluate(kernel, C, gradient=gradient)
        with single_threaded_blas():
            sums, evaluations = self._tiles.sums(scale, 4 if gradient else 1, np.flatnonzero(np.any(sides, axis=0)))
        found = np.einsum("pa,kab,pb->k", sides, sums, sides) / len(sides)
        work = Work(kernel_evaluations=evaluations)
        if not gradient:
            return Evaluated(float(found[0]), work=work)
        higher = -found[1], found[2], -found[3]
        return Evaluated(
            float(found[0]),
            np.array([higher[0] * scale.p]),
            higher=tuple(float(one) for one in higher),
            work=work,
        )

    def _targets(self, sides: Matrix) -> Matrix:
        """Return the vectors whose dot products weigh kernel values, one row for each sample."""
        if len(sides) == 1:
            roots: Matrix = sides.T
        else:
            values, vectors = np.linalg.eigh(sides.T @ sides / len(sides))
            kept = values > 1e-13 * values[-1]
            roots = vectors[:, kept] * np.sqrt(values[kept])
        weights: Vector = self.task.weights
        return np.asarray(roots[self.task.y] * weights[:, np.newaxis])

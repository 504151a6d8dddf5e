"""The number of support vectors [Glasmachers2008, section 9.1.3]."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.objectives.base import BoundObjective, Evaluated, How, Objective, Task
from widemargin.objectives.machines import TaskKernel, notes_of, train_pairs, train_tube, work_of
from widemargin.runtime import Work


class SupportVectors(Objective):
    """Number of support vectors: an upper bound of the leave-one-out errors, and what a prediction costs.

    No sample but a support vector can be a leave-one-out error [Glasmachers2008, section 9.1.3]. The bound is loose
    and prefers models without regularisation. For several pairs of classes support vectors are counted once for each
    pair. A value costs a kernel matrix, n^2 d operations, and a model. Smaller is better.
    """

    name = "support-vectors"
    differentiable = False

    def bind(self, task: Task) -> BoundObjective:
        """Nothing to prepare."""
        return _Bound(task)


class _Bound(BoundObjective):
    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train on all samples and count."""
        values, state = TaskKernel(kernel, self.task), how.get("state")
        if self.task.n_classes == 0:
            start = None if state is None else state[0]
            tube = train_tube(values, self.task, C, self.task.weights > 0, start)
            work = Work(trained=1, iterations=tube.outcome.iterations, kernel_evaluations=values.computed)
            count = float(np.count_nonzero(tube.alpha))
            return Evaluated(count, work=work, state=[tube.alpha], notes=notes_of(values))
        machines = train_pairs(values, self.task, C, starts=state)
        return Evaluated(
            float(sum(len(one.support) for one in machines)),
            work=work_of(machines, values),
            state=[one.alpha for one in machines],
            notes=notes_of(values),
        )

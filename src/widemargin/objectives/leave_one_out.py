"""The leave-one-out error [Glasmachers2008, section 9.1.2]."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.machines.derivatives import LeftOut, Machine, Sensitivity, leave_one_out
from widemargin.objectives.base import BoundObjective, Evaluated, How, Objective, Task
from widemargin.objectives.machines import TaskKernel, notes_of, pair_problem, train_one, work_of
from widemargin.runtime import Work


def left_out(values: TaskKernel, task: Task, sensitivity: Sensitivity, *, keep: bool = False) -> LeftOut:
    """Leave each support vector of a model out; what cannot be found along its path is trained."""
    task.stop.check()
    return leave_one_out(
        values.exact_for(sensitivity),
        values.single,
        sensitivity,
        lambda problem, start: train_one(values, task, problem, start),
        keep=keep,
        n_threads=task.n_threads,
        stop=task.stop,
    )


def machine_of(values: TaskKernel, task: Task, pair: tuple[int, int], C: float, start: Any) -> Machine:
    """Train the model of a pair of classes on all samples."""
    return train_one(values, task, pair_problem(task, pair, values.price(C)), start)


class LeaveOneOut(Objective):
    """Share of samples that a model trained on all others gets wrong.

    Only support vectors can be errors, and the model without one of them is found from the whole one in some steps,
    exactly: along the path on which its coefficient goes to 0. For more than two classes the mean over pairs of
    classes, each by its own samples. A value costs a kernel matrix, n^2 d operations, a model with its u free
    variables factorised, u^3 / 3, and n_SV paths of a few set changes, n u each. Smaller is better.
    """

    name = "leave-one-out"
    differentiable = False

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        if task.n_classes == 0:
            return f"objective={self.name!r} counts wrong classes; for regression use 'cross-validation'."
        return None

    def bind(self, task: Task) -> BoundObjective:
        """Nothing to prepare."""
        return _Bound(task)


class _Bound(BoundObjective):
    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train on all samples, then leave support vectors out."""
        task = self.task
        values, state = TaskKernel(kernel, task), how.get("state")
        K = values.double
        wrong = weight = 0.0
        work, begun, dependent, rounded = Work(), [], 0, 0
        for number, pair in enumerate(task.pairs):
            machine = machine_of(values, task, pair, C, None if state is None else state[number])
            sensitivity = Sensitivity(K, machine, values.single)
            found = left_out(values, task, sensitivity)
            rows = np.flatnonzero(machine.problem.bounds > 0)
            errors = machine.problem.signs[rows] * found.values[rows] <= 0
            wrong += float(task.weights[rows] @ errors)
            weight += float(task.weights[rows].sum())
            steps = machine.outcome.iterations + found.iterations
            work += Work(trained=1 + found.trained, iterations=steps, factorizations=1)
            begun.append(machine.alpha)
            dependent += sensitivity.dependent
            rounded += sensitivity.rounded
        work += work_of([], values)
        return Evaluated(wrong / weight, work=work, state=begun, notes=notes_of(values, dependent, rounded))

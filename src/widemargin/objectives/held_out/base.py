"""Objectives that look at samples which models were not trained on: what they have in common.

A model is trained for each fold (and each pair of classes), and judged by its values f_n at the samples that were
held out, with margins m_n = y_n f_n:

* "zero-one": the share of wrong predictions;
* "smooth": the same through a sigmoid, mean of 1 - p_n with p_n = 1 / (1 + exp(-s m_n)), which has a derivative
  [Keerthi2007]. The slope s is the likeliest one for these very values [Glasmachers2008, section 9.2.2], so that it
  moves with them: from l(s) = sum w_n log p_n, l'(s) = 0, follows ds/dm_n = -(dl'/dm_n) / l''.
* "likelihood": l(s) itself; since it is stationary in s its derivative with respect to m_n is w_n s (1 - p_n)
  [Glasmachers2008, section 9.3.5].
* "squared": the mean squared error, for regression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Unpack

import numpy as np
from scipy.special import expit

from widemargin.kernels import Kernel
from widemargin.machines.derivatives import Machine, Sensitivity
from widemargin.machines.sigmoid import LARGEST_SLOPE, fit_slope
from widemargin.objectives.base import BoundObjective, Evaluated, How, Ids, Matrix, Objective, Task, Vector
from widemargin.objectives.machines import (
    TaskKernel,
    notes_of,
    predicted_classes,
    train_pairs,
    train_tube,
    work_of,
)
from widemargin.runtime import Work

#: Slopes from here on are at their bound, but for rounding.
AT_BOUND = (1.0 - 1e-9) * LARGEST_SLOPE


@dataclass(frozen=True)
class Judged:
    """A loss over held-out samples, and its derivative with respect to the model's values there."""

    value: float
    of_values: Vector


def log_likelihood(values: Vector, signs: Vector, weights: Vector) -> Judged:
    """Log-likelihood of labels under the likeliest slope [Glasmachers2008, sections 9.2.2 and 9.3.5].

    Examples
    --------
    >>> found = log_likelihood(np.array([-2.0, -1.0, 0.5, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0]), np.ones(4))
    >>> round(found.value, 4)
    -2.5873
    """
    sigmoid = fit_slope(values, signs, weights)
    doubt = expit(-sigmoid.slope * signs * values)
    return Judged(sigmoid.log_likelihood, weights * sigmoid.slope * signs * doubt)


def smooth_errors(values: Vector, signs: Vector, weights: Vector) -> Judged:
    """Sum of the probabilities of being wrong, under the likeliest slope.

    Examples
    --------
    >>> found = smooth_errors(np.array([-2.0, -1.0, 0.5, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0]), np.ones(4))
    >>> round(found.value, 4)
    1.8287
    """
    slope = fit_slope(values, signs, weights).slope
    margins = signs * values
    p = expit(slope * margins)
    spread = weights * p * (1.0 - p)
    of_margins = -slope * spread
    curvature = float(spread @ np.square(margins))
    if 0.0 < slope < AT_BOUND and curvature > 0.0:
        moves = (weights * (1.0 - p) - slope * margins * spread) / curvature
        of_margins = of_margins - float(spread @ margins) * moves
    return Judged(float(weights @ (1.0 - p)), signs * of_margins)


class HeldOutObjective(BoundObjective):
    """The mean loss (or the summed log-likelihood) over folds.

    Parameters
    ----------
    task : Task
    loss : str
        "zero-one", "smooth", "likelihood" or "squared"; a subclass that judges in another way has names of its own.
    splits : sequence of (train, test), optional
        Rows; without them a subclass draws them for each evaluation.
    """

    def __init__(self, task: Task, loss: str, splits: Sequence[tuple[Ids, Ids]] = ()) -> None:
        super().__init__(task)
        self.loss, self._splits = loss, splits

    def splits(self, generator: np.random.Generator | None) -> Sequence[tuple[Ids, Ids]]:
        """Return the folds of an evaluation."""
        return self._splits

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train a model for each fold and judge it by the samples that were held out."""
        splits, state = self.splits(how.get("generator")), how.get("state")
        values = TaskKernel(kernel, self.task)
        starts = state if state is not None else [None] * len(splits)
        gradient = gradient and self.loss in ("smooth", "likelihood")
        found = [
            self._evaluate_fold(values, C, split, start, gradient) for split, start in zip(splits, starts, strict=True)
        ]
        measures = self.measures_of(found)
        weight = sum(one.weight for one in found)
        scale = 1.0 if self.loss == "likelihood" else 1.0 / max(weight, np.finfo(np.float64).tiny)
        dependent, rounded = sum(one.dependent for one in found), sum(one.rounded for one in found)
        work = work_of([], values)
        for one in found:
            work += one.work
        return Evaluated(
            scale * sum(one.value for one in found),
            scale * sum(one.of_theta for one in found) if gradient else None,
            scale * sum(one.c_slope for one in found) if gradient else None,
            work=work,
            state=[one.starts for one in found],
            notes=notes_of(values, dependent, rounded),
            measures=measures,
        )

    def measures_of(self, folds: Sequence[OfFold]) -> dict[str, float]:
        """Return what a search is to keep of the folds; nothing here."""
        return {}

    def judged(self, split: tuple[Ids, Ids], values: Matrix) -> tuple[float, float]:
        """Sum losses and weights of a fold, from what its models say of the samples held out, a column each."""
        task, test = self.task, split[1]
        weights = task.weights[test]
        if self.loss == "squared":
            losses = np.square(values[:, 0] - task.y[test])
        else:
            losses = predicted_classes(task, values) != task.y[test]
        return float(weights @ losses), float(weights.sum())

    def _evaluate_fold(
        self, values: TaskKernel, C: float, split: tuple[Ids, Ids], starts: Any, gradient: bool
    ) -> OfFold:
        task, (train_rows, test) = self.task, split
        training = np.zeros(task.n_samples, dtype=bool)
        training[train_rows] = True
        if task.n_classes == 0:
            tube = train_tube(values, task, C, training, None if starts is None else starts[0])
            work = Work(trained=1, iterations=tube.outcome.iterations)
            return OfFold(*self.judged(split, tube.values[test, np.newaxis]), [tube.alpha], work)
        machines = train_pairs(values, task, C, training, starts)
        begun = [one.alpha for one in machines]
        work = Work(trained=len(machines), iterations=sum(one.outcome.iterations for one in machines))
        if self.loss not in ("smooth", "likelihood"):
            columns = np.column_stack([one.values[test] for one in machines])
            return OfFold(*self.judged(split, columns), begun, work)
        return self._judged_smoothly(values, machines, test, begun, work, gradient)

    def _judged_smoothly(
        self,
        values: TaskKernel,
        machines: list[Machine],
        test: Ids,
        begun: list[Vector],
        work: Work,
        gradient: bool,
    ) -> OfFold:
        """Sum a smooth loss over pairs of classes, each judged by the held-out samples of its classes."""
        task = self.task
        judge = log_likelihood if self.loss == "likelihood" else smooth_errors
        total = OfFold(0.0, 0.0, begun, work)
        for pair, machine in zip(task.pairs, machines, strict=True):
            rows = test[(task.y[test] == pair[0]) | (task.y[test] == pair[1])]
            weights = task.weights[rows]
            if not gradient:
                one = judge(machine.values[rows], machine.problem.signs[rows], weights)
                total = total + OfFold(one.value, float(weights.sum()), [], Work())
                continue
            sensitivity = Sensitivity(values.among, machine, values.single, rows=rows)
            exact = sensitivity.machine
            one = judge(exact.values[rows], exact.problem.signs[rows], weights)
            of_values = np.zeros(task.n_samples)
            of_values[rows] = one.of_values
            adjoint = sensitivity.adjoint(of_values)
            total = total + OfFold(
                one.value,
                float(weights.sum()),
                [],
                Work(factorizations=1),
                values.contracted(adjoint, sensitivity.kernel),
                adjoint.c_slope,
                sensitivity.dependent,
                int(sensitivity.rounded),
            )
        return total


@dataclass(frozen=True)
class OfFold:
    """What one fold adds: the sum of its losses, their weight, and what it took to find out."""

    value: float
    weight: float
    starts: list[Vector]
    work: Work
    of_theta: Any = 0.0
    c_slope: float = 0.0
    dependent: int = 0
    rounded: int = 0

    def __add__(self, other: OfFold) -> OfFold:
        return OfFold(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def loss_of(task: Task, loss: str | None) -> str:
    """Return the loss that is meant: unless told otherwise, wrong predictions, and squared errors for regression."""
    return loss or ("squared" if task.n_classes == 0 else "zero-one")


class WithLoss(Objective):
    """The mean of a loss over folds that are drawn once."""

    holds_groups_out = True

    def __init__(self, loss: str | None, random_state: int) -> None:
        self.loss = loss
        self.random_state = random_state
        self.differentiable = loss == "smooth"

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        accepted = ("squared",) if task.n_classes == 0 else ("zero-one", "smooth")
        if self.loss is None or self.loss in accepted:
            return None
        kind = "regression" if task.n_classes == 0 else "classifiers"
        return (
            f"objective={self.name!r} has no loss={self.loss!r} for {kind}; it must be None or "
            f"{' or '.join(map(repr, accepted))}."
        )

    def bind(self, task: Task) -> HeldOutObjective:
        """Draw the folds."""
        return HeldOutObjective(task, loss_of(task, self.loss), self.splits(task))

    @abstractmethod
    def splits(self, task: Task) -> list[tuple[Ids, Ids]]:
        """Return the samples that models are trained on, and those held out, of each fold."""

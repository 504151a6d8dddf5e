"""What objectives with models share: kernel values at a point, and the models of a task trained on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from widemargin.kernels import Kernel
from widemargin.kernels.rows import RowSource, kernel_matrix, row_source, take
from widemargin.machines.chain import Chain, Link, solve_clearly
from widemargin.machines.classifier import ridge_of
from widemargin.machines.derivatives import Adjoint, Evaluate, KernelPart, Machine, PairProblem, Sensitivity, train
from widemargin.machines.dual import DualProblem, Outcome, StopRule, taking_part, values_of
from widemargin.machines.regression import tube
from widemargin.objectives.base import Ids, Matrix, Task, Vector
from widemargin.runtime import StoppedError, Work, single_threaded_blas

Single = NDArray[np.float32]
Mask = NDArray[np.bool_]

#: Up to so many samples all kernel values in float64 cost less than finding out which of them are needed.
FEW = 512

#: What stands for a hard margin: coefficients of separable classes stay below this, in units of 1 / mean k(x, x).
HARD = 1e6


class TaskKernel:
    """Kernel values among all samples of a task, each precision computed when it is asked for first.

    Parameters
    ----------
    kernel : Kernel
    task : Task

    Attributes
    ----------
    computed : int
        Kernel values that were computed.
    unfinished : int
        Models on these values that were left before their tolerance was met.
    """

    def __init__(self, kernel: Kernel, task: Task) -> None:
        self.kernel, self._task = kernel, task
        self.computed = 0
        self.unfinished = 0

    @cached_property
    def double(self) -> Matrix:
        """Values in float64."""
        self._task.stop.check()
        self.computed += self._task.n_samples**2
        return self.kernel.values(self._task.X, self._task.X)

    @cached_property
    def single(self) -> Single:
        """Values in float32, which is what models are trained with."""
        core = self.kernel.core_kernel
        if "double" in self.__dict__ or core is None or self._task.n_samples <= FEW:
            return np.ascontiguousarray(self.double, dtype=np.float32)
        self._task.stop.check()
        self.computed += self._task.n_samples**2
        mapped = self.kernel.mapped(self._task.X)
        return kernel_matrix(
            mapped,
            kernel=str(core.kernel),
            gamma=core.gamma,
            coef0=core.coef0,
            degree=core.degree,
            n_jobs=self._task.n_threads,
        )

    def exact_rows(self) -> RowSource:
        """Return all values in float64, as rows."""
        return row_source(self.double, kernel="precomputed")

    @property
    def among(self) -> Matrix | Evaluate:
        """What a model is differentiated with: all values if there are few, or a function that gives some."""
        return self.double if self._task.n_samples <= FEW else self.block

    def exact_for(self, sensitivity: Sensitivity) -> Matrix:
        """All values in float64 that a model is exact for: those of float32 where it was solved for with these."""
        return self.single.astype(np.float64) if sensitivity.rounded else self.double

    def price(self, C: float) -> float:
        """Return C, or what stands for an infinite one: classes that can be separated need no larger coefficients."""
        if np.isfinite(C):
            return C
        diagonal = self.kernel.diagonal(self._task.X)
        return HARD / max(float(np.mean(diagonal)), float(np.finfo(np.float64).tiny))

    def block(self, rows: Ids, columns: Ids) -> Matrix:
        """Values in float64 between some samples and others."""
        if "double" in self.__dict__:
            return self.double[np.ix_(rows, columns)]
        self._task.stop.check()
        self.computed += len(rows) * len(columns)
        return self.kernel.values(take(self._task.X, rows), take(self._task.X, columns))

    def pull_back(self, W: Matrix, rows: Ids, columns: Ids, K: Matrix) -> Vector:
        """<W, dK/dtheta> over some rows and columns, whose kernel values are `K`."""
        X = self._task.X
        return self.kernel.pull_back(W, take(X, rows), take(X, columns), K)

    def contracted(self, adjoint: Adjoint, part: KernelPart) -> Vector:
        """Return the derivative of what an adjoint belongs to, with kernel values that are at hand."""
        W, rows, columns = adjoint.weights
        return self.pull_back(W, rows, columns, part.block(rows, columns))


@dataclass(frozen=True)
class RegressionMachine:
    """A trained tube: coefficients, intercept, values at all samples, and how training ended."""

    alpha: Vector
    intercept: float
    values: Vector
    outcome: Outcome


def pair_problem(task: Task, pair: tuple[int, int], C: float, train_rows: Mask | None = None) -> PairProblem:
    """State the problem of two classes over all samples: those of others, and those left out, are held out.

    The second class of the pair is the positive one.

    Examples
    --------
    >>> task = Task(np.zeros((3, 1)), np.array([0, 1, 2]), 3, np.array([1.0, 2.0, 1.0]))
    >>> problem = pair_problem(task, (0, 1), 10.0)
    >>> problem.signs.tolist(), problem.bounds.tolist()
    ([-1.0, 1.0, 1.0], [10.0, 20.0, 0.0])
    """
    first, second = pair
    taking_part = (task.y == first) | (task.y == second)
    if train_rows is not None:
        taking_part &= train_rows
    signs = np.where(task.y == first, -1.0, 1.0)
    return PairProblem(signs, np.where(taking_part, C * task.weights, 0.0), task.squared, task.fit_intercept)


def train_pairs(
    kernel: TaskKernel, task: Task, C: float, train_rows: Mask | None = None, starts: list[Vector] | None = None
) -> list[Machine]:
    """Train a model for each pair of classes, each from where the last one of its pair ended if that is known."""
    found = []
    for number, pair in enumerate(task.pairs):
        problem = pair_problem(task, pair, kernel.price(C), train_rows)
        found.append(train_one(kernel, task, problem, None if starts is None else starts[number]))
    return found


def train_one(kernel: TaskKernel, task: Task, problem: PairProblem, start: Vector | None = None) -> Machine:
    """Train one model of a task; raise StoppedError if there was no time to finish it."""
    task.stop.check()
    machine = train(kernel.single, problem, stop=stop_rule(task), start=start, exact=kernel.exact_rows)
    note_end(kernel, task, machine.outcome)
    return machine


def stop_rule(task: Task, unit: float = 1.0) -> StopRule:
    """Say when training may end: tolerance, in some unit, and what is left of the budgets."""
    own, limit = task.stop, task.max_iterations
    return StopRule(unit * task.tolerance, max_iterations=limit, deadline=own.deadline, signal=own.signal)


def train_tube(
    kernel: TaskKernel, task: Task, C: float, train_rows: Mask, start: Vector | None = None
) -> RegressionMachine:
    """Train a model for regression; other samples are held out, with the box [0, 0]."""
    task.stop.check()
    bounds = np.where(train_rows, kernel.price(C) * task.weights, 0.0)
    limits = np.where(bounds > 0, np.inf, 0.0) if task.squared else bounds
    targets = taking_part(np.asarray(task.y, dtype=np.float64), bounds)
    problem: DualProblem = tube(targets, task.epsilon, limits)
    ridge = ridge_of(bounds) if task.squared else None
    chain = Chain((Link(problem, ridge),), start=start, any_sum=not task.fit_intercept)
    with single_threaded_blas():
        found = solve_clearly(kernel.single, chain, kernel.exact_rows, stop=stop_rule(task))
    note_end(kernel, task, found.outcome)
    return RegressionMachine(found.alpha, found.intercept, values_of(found, targets, ridge), found.outcome)


def note_end(kernel: TaskKernel, task: Task, outcome: Outcome) -> None:
    """Count a model that was left early; raise StoppedError if that was for lack of time."""
    kernel.unfinished += outcome.reason != "converged"
    if outcome.reason in ("time budget", "interrupted"):
        task.stop.check()
        raise StoppedError(f"Training ended early ({outcome.reason}).")


def predicted_classes(task: Task, values: Matrix) -> NDArray[np.intp]:
    """Return the classes that pairs vote for, ties broken by confidence; one column of `values` a pair.

    Examples
    --------
    >>> task = Task(np.zeros((3, 1)), np.array([0, 1, 2]), 3, np.ones(3))
    >>> predicted_classes(task, np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0]])).tolist()
    [1, 2]
    """
    present = np.unique(task.y[task.weights > 0])
    if len(present) == 2:
        return np.asarray(present[(values[:, 0] > 0).astype(np.intp)])
    votes = _ovr_decision_function(values > 0, values, len(present))
    return np.asarray(present[votes.argmax(axis=1)])


def work_of(machines: list[Any], kernel: TaskKernel) -> Work:
    """Add up what was done."""
    steps = sum(one.outcome.iterations for one in machines)
    return Work(trained=len(machines), iterations=steps, kernel_evaluations=kernel.computed)


def notes_of(kernel: TaskKernel, dependent: int = 0, rounded: int = 0) -> tuple[str, ...]:
    """Say what a reader should know: models left early, free variables that depend on others, rounded values."""
    notes = []
    if kernel.unfinished:
        notes.append("models ended before they met their tolerance")
    if dependent:
        notes.append("free variables depend on others and were held while the model was differentiated")
    if rounded:
        notes.append("the kernel matrix is nearly singular for this C: models are exact for its float32 values only")
    return tuple(notes)

r"""The radius-margin quotient [Glasmachers2008, sections 9.1.4 and 9.3.2].

R^2 / rho^2, with R the radius of the smallest ball around all samples in feature space and rho the margin of a model
without margin errors: a hard margin, or the square loss, which is a hard margin for the kernel K + D, D = 1 / (2 C_n).

1 / rho^2 = ||w||^2 = max_a 2 y'a - a'(K + D)a and R^2 = max_b b'diag(K + D) - b'(K + D)b, so that both are known to
second order from approximate solutions, and, by the envelope theorem,

d||w||^2 = -a' dK a    and    dR^2 = b'diag(dK) - b' dK b.

(Section 9.3.2 prints the first without its sign; the proof of Theorem 9.3 has it.) C enters through D: dD/dlog C = -D.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.kernels.rows import take
from widemargin.machines.chain import Chain, Link, solve_clearly
from widemargin.machines.derivatives import Machine, PairProblem
from widemargin.machines.dual import DualProblem
from widemargin.objectives.base import BoundObjective, Evaluated, How, Matrix, Objective, Task, Vector
from widemargin.objectives.machines import TaskKernel, note_end, notes_of, pair_problem, stop_rule, train_one
from widemargin.runtime import Work, single_threaded_blas

NOT_HARD = "there is no hard margin within reach: coefficients grow beyond what float32 kernel values can tell apart"


class RadiusMargin(Objective):
    r"""The quotient :math:`R^2 / \rho^2` of radius and margin, a bound of the leave-one-out error of hard margins.

    For ``loss="squared_hinge"``, and for hard margins (``C=inf``), which have no C to choose. With the radial Gaussian
    kernel its size is best kept (``GeneralGaussian(fixed="size")``): narrow kernels have large margins
    [Glasmachers2008, section 10.2]. For several pairs of classes quotients add up. Smaller is better.

    Where classes cannot be separated, or by coefficients beyond 1e6 / mean k(x, x) only, the value is that of a model
    whose coefficients end there, which is a lower bound of the quotient and continues it; the evaluation says so.

    A value costs a kernel matrix, n^2 d operations, a model and a ball; a gradient another pass over the kernel
    values of support vectors, and no more.
    """

    name = "radius-margin"

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        if task.n_classes == 0:
            return f"objective={self.name!r} is about the margin between classes; regression has none."
        if not task.squared and np.isfinite(C):
            return (
                f"objective={self.name!r} needs a model without margin errors, and loss='hinge' with C={C:g} has "
                "them; pass loss='squared_hinge' or C=inf."
            )
        return None

    def bind(self, task: Task) -> BoundObjective:
        """Nothing to prepare."""
        return _Bound(task)


@dataclass(frozen=True)
class _Quotient:
    value: float
    margin: Machine
    ball: Vector
    squared_norm: float
    squared_radius: float
    steps: int


class _Bound(BoundObjective):
    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train model and ball for each pair of classes."""
        task, state = self.task, how.get("state")
        values = TaskKernel(kernel, task)
        total, of_theta, c_slope, steps, begun, hard = 0.0, np.zeros(kernel.n_dims), 0.0, 0, [], True
        for number, pair in enumerate(task.pairs):
            problem = self._problem(pair, C, values)
            one = self._quotient(values, problem, None if state is None else state[number])
            total += one.value
            steps += one.steps
            hard &= problem.squared or not len(one.margin.bounded)
            begun.append((one.margin.alpha, one.ball))
            if gradient:
                theta, slope = self._derivative(values, problem, one)
                of_theta, c_slope = of_theta + theta, c_slope + slope
        work = Work(trained=2 * len(begun), iterations=steps, kernel_evaluations=values.computed)
        slope_known = gradient and np.isfinite(C)
        return Evaluated(
            total,
            of_theta if gradient else None,
            c_slope if slope_known else None,
            work=work,
            state=begun,
            notes=notes_of(values) + (() if hard else (NOT_HARD,)),
        )

    def _problem(self, pair: tuple[int, int], C: float, values: TaskKernel) -> PairProblem:
        problem = pair_problem(self.task, pair, values.price(C))
        return problem if np.isfinite(C) else replace(problem, squared=False)

    def _quotient(self, values: TaskKernel, problem: PairProblem, start: Any) -> _Quotient:
        """Solve both problems; their values follow from float64 kernel values, whatever is left to solve."""
        task = self.task
        ridge = _ridge(problem)
        K = values.double
        machine = train_one(values, task, problem, None if start is None else start[0])
        a = machine.alpha
        norm = 2.0 * float(problem.signs @ a) - _form(K, ridge, a)
        diagonal = np.diagonal(K) + ridge
        taking_part = problem.bounds > 0
        box = DualProblem(0.5 * diagonal, np.zeros(len(a)), taking_part.astype(np.float64), total=(1.0, 0.0))
        chain = Chain((Link(box, ridge if problem.squared else None),), start=None if start is None else start[1])
        task.stop.check()
        stop = stop_rule(task, float(diagonal[taking_part].mean()))
        with single_threaded_blas():
            ball = solve_clearly(values.single, chain, values.exact_rows, stop=stop)
        note_end(values, task, ball.outcome)
        b = ball.alpha
        radius = float(diagonal @ b) - _form(K, ridge, b)
        steps = machine.outcome.iterations + ball.outcome.iterations
        return _Quotient(radius * norm, machine, b, norm, radius, steps)

    def _derivative(self, values: TaskKernel, problem: PairProblem, one: _Quotient) -> tuple[Vector, float]:
        a, b = one.margin.alpha, one.ball
        rows = np.flatnonzero((a != 0) | (b != 0))
        W = -one.squared_radius * np.outer(a[rows], a[rows]) - one.squared_norm * np.outer(b[rows], b[rows])
        of_theta = values.pull_back(W, rows, rows, values.double[np.ix_(rows, rows)])
        of_theta += one.squared_norm * values.kernel.pull_back_diagonal(b[rows], take(self.task.X, rows))
        ridge = _ridge(problem)
        of_ridge = -one.squared_radius * np.square(a) + one.squared_norm * (b - np.square(b))
        return of_theta, -float(ridge @ of_ridge)


def _ridge(problem: PairProblem) -> Vector:
    ridge = problem.ridge
    return np.zeros(len(problem.signs)) if ridge is None else np.where(problem.bounds > 0, ridge, 0.0)


def _form(K: Matrix, ridge: Vector, a: Vector) -> float:
    """Return a'(K + D)a."""
    rows = np.flatnonzero(a)
    some = a[rows]
    return float(some @ (K[np.ix_(rows, rows)] @ some) + ridge[rows] @ np.square(some))

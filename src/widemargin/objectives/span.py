r"""The span bound [Vapnik2000; Glasmachers2008, sections 9.1.5 and 9.3.4].

What a model says of a sample that it was not trained on, without training it: if the sets of free and bounded
variables stay as they are when support vector n is left out,

f(x_n) - f^n(x_n) = a_n S_n^2,

with the span S_n, the distance of its feature vector from the affine hull of the other free ones. With G the upper left
block of H^-1, S_n^2 = 1 / G_nn - D_n for a free n and S_n^2 = k(x_n, x_n) - v'H^-1 v, v = [K_un; 1], for a bounded n.
(The thesis prints a_n^2 S_n^2; eliminating a_n from the bordered system gives the first power.)

A leave-one-out error is y_n f^n(x_n) < 0. The thesis's continuous count of them is

S = sum_n s_n,    s_n = 1 - f^n(x_n) / f(x_n) where y_n f^n(x_n) > 0, and 1 otherwise,

0 for samples that are no support vectors. Leaving x_n out does not raise its margin, y_n f^n(x_n) <= y_n f(x_n), so
that s_n is never below 0, and where rounding would bring it there it counts as 0. f^n is either that of a model
trained without n, as the thesis has it: every leave-one-out error then counts 1, and S is a bound. Or it is predicted
as above, and S is an estimate, which lies below the errors where sets do change (in about one of 50 random problems).

Derivatives. With m_n = y_n f(x_n) and l_n = y_n f^n(x_n), ds_n = -dl_n / m_n + l_n dm_n / m_n^2. Predicted values have
dl_n = dm_n - S_n^2 d|a_n| - |a_n| dS_n^2 with

d(1 / G_nn) = g_n' (dK_uu + dD) g_n / G_nn^2,  g_n = G e_n;    dS_n^2 = (e_n - x_n)' dK (e_n - x_n),  H [x_n; .] = v,

for free and bounded n, so that all of them together are one weight matrix for the kernel. Retrained models each have
an adjoint of their own (:mod:`widemargin.machines.derivatives`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.machines.derivatives import Sensitivity
from widemargin.objectives.base import BoundObjective, Evaluated, How, Matrix, Objective, Task, Vector
from widemargin.objectives.leave_one_out import left_out, machine_of
from widemargin.objectives.machines import TaskKernel, notes_of, work_of
from widemargin.runtime import Work, single_threaded_blas

SETS = ("retrained", "unchanged")

#: Stands for the span of a free support vector that is the only one.
OUT_OF_REACH = 1e100


class SpanBound(Objective):
    r"""A continuous bound of the leave-one-out errors, :math:`S = \sum_n 1 - \max(0, f^{\hat n}(x_n) / f(x_n))`.

    :math:`f^{\hat n}` is the model without sample n, retrained [Glasmachers2008, section 9.1.5]: S is at least the
    number of leave-one-out errors, and at most that of support vectors. With ``sets="unchanged"`` it is predicted from
    the span of the support vectors, as if none of them met a bound or left it when n is left out [Vapnik2000]: an
    estimate, in half the time, which may lie below the number of errors. For several pairs of classes the sums add up.
    Smaller is better.

    A value costs a kernel matrix, n^2 d operations, a model, and n_SV paths of a few set changes, n u each with u
    free support vectors; a gradient n_SV factorisations more. With unchanged sets it costs the inverse of a matrix,
    u^3, and u^2 g more with g bounded support vectors; a gradient about the same again.

    Parameters
    ----------
    sets : {"retrained", "unchanged"}, default="retrained"
    """

    name = "span"

    def __init__(self, sets: str = "retrained") -> None:
        if sets not in SETS:
            raise ValueError(f"sets must be one of {', '.join(map(repr, SETS))}; got {sets!r}.")
        self.sets = sets

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        if task.n_classes == 0:
            return f"objective={self.name!r} bounds wrong classes; for regression use 'cross-validation'."
        return None

    def bind(self, task: Task) -> BoundObjective:
        """Nothing to prepare."""
        return _Bound(task, self.sets == "retrained")


@dataclass(frozen=True)
class Spans:
    """Squared spans of the support vectors, and what they are made of.

    Parameters
    ----------
    squared : ndarray of shape (n,)
        0 for samples that are no support vectors.
    inverse : ndarray of shape (u, u)
        G, for the free variables that were solved for.
    directions : ndarray of shape (u, g)
        x_n of the bounded ones.
    """

    squared: Vector
    inverse: Matrix
    directions: Matrix


def spans(sensitivity: Sensitivity, diagonal: Vector) -> Spans:
    """Spans of a model's support vectors, given k(x, x) of all samples; 0 for free ones that depend on others."""
    kept, bounded = sensitivity.kept, sensitivity.bounded
    problem = sensitivity.machine.problem
    squared = np.zeros(len(problem.signs))
    inverse = sensitivity.system.inverse()
    ridge = 0.0 if problem.ridge is None else problem.ridge[kept]
    if len(kept):
        heights = np.diagonal(inverse)
        # The only free variable cannot be left out unless others become free: nothing can be said of its value.
        squared[kept] = np.where(heights > 0, 1.0 / np.where(heights > 0, heights, 1.0) - ridge, OUT_OF_REACH)
    among = sensitivity.kernel.block(sensitivity.free, bounded)
    directions, last = sensitivity.system.solve(among, np.ones(len(bounded)))
    if len(bounded):
        last = last if problem.fit_intercept else np.zeros(len(bounded))
        squared[bounded] = diagonal[bounded] - np.einsum("un,un->n", among, directions) - last
    return Spans(np.maximum(squared, 0.0), inverse, directions[sensitivity.system.kept])


class _Bound(BoundObjective):
    def __init__(self, task: Task, retrained: bool) -> None:
        super().__init__(task)
        self._retrained = retrained

    # Products of some rows have other last bits on several threads of BLAS, whose number another evaluation may change.
    @single_threaded_blas()
    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train on all samples, then predict or train models without each support vector."""
        task = self.task
        values, state = TaskKernel(kernel, task), how.get("state")
        total, of_theta, c_slope = 0.0, np.zeros(kernel.n_dims), 0.0
        work, begun, dependent, rounded = Work(), [], 0, 0
        add = _add_retrained if self._retrained else _add_predicted
        evaluate = values.double if self._retrained else values.among
        for number, pair in enumerate(task.pairs):
            machine = machine_of(values, task, pair, C, None if state is None else state[number])
            rows = None if self._retrained else machine.support
            sensitivity = Sensitivity(evaluate, machine, values.single, rows=rows)
            one = add(values, task, sensitivity, gradient)
            total, of_theta, c_slope = total + one.value, of_theta + one.of_theta, c_slope + one.c_slope
            work += Work(trained=1, iterations=machine.outcome.iterations, factorizations=1) + one.work
            begun.append(machine.alpha)
            dependent += sensitivity.dependent
            rounded += sensitivity.rounded
        work += work_of([], values)
        return Evaluated(
            total,
            of_theta if gradient else None,
            c_slope if gradient else None,
            work=work,
            state=begun,
            notes=notes_of(values, dependent, rounded),
        )


@dataclass(frozen=True)
class _OfPair:
    value: float
    of_theta: Vector | float
    c_slope: float
    work: Work


def _counts(task: Task, margins: Vector, left: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the terms s_n, and their derivatives with respect to m_n and l_n."""
    inside = (left > 0) & (left < margins)
    safe = np.where(inside, margins, 1.0)
    terms = np.where(inside, 1.0 - left / safe, (left <= 0) | (margins <= 0))
    weights = task.weights
    return (
        weights * terms,
        weights * np.where(inside, left / safe**2, 0.0),
        weights * np.where(inside, -1.0 / safe, 0.0),
    )


def _add_predicted(values: TaskKernel, task: Task, sensitivity: Sensitivity, gradient: bool) -> _OfPair:
    machine, kept, bounded = sensitivity.machine, sensitivity.kept, sensitivity.bounded
    problem, support = machine.problem, machine.support
    found = spans(sensitivity, values.kernel.diagonal(task.X))
    sizes, margins = np.abs(machine.alpha), problem.signs * machine.values
    terms, of_margins, of_left = _counts(task, margins, margins - sizes * found.squared)
    value = float(terms[support].sum())
    if not gradient:
        return _OfPair(value, 0.0, 0.0, Work())
    chosen = np.zeros(len(sizes))
    chosen[support] = 1.0
    of_margins, of_left = chosen * of_margins, chosen * of_left
    adjoint = sensitivity.adjoint(
        problem.signs * (of_margins + of_left), -np.sign(machine.alpha) * found.squared * of_left
    )
    of_spans = -sizes * of_left
    # The derivative of all spans together: E diag(c) E', columns of E being g_n / G_nn and e_n - x_n; and the adjoint.
    heights = np.where(np.diagonal(found.inverse) > 0, np.diagonal(found.inverse), 1.0)
    sides = np.hstack([found.inverse / heights, -found.directions])
    c = of_spans[np.concatenate([kept, bounded])]
    u, at_kept, at_bounded = len(kept), np.searchsorted(support, kept), np.searchsorted(support, bounded)
    W = np.outer(adjoint.left[support], adjoint.right[support])
    among = (sides * c) @ sides.T
    W[np.ix_(at_kept, at_kept)] += among
    # Twice the lower left part, instead of its mirror image as well: derivatives of a kernel matrix are symmetric.
    W[np.ix_(at_kept, at_bounded)] += 2.0 * sides[:, u:] * c[u:]
    W[at_bounded, at_bounded] += c[u:]
    of_theta = values.pull_back(W, support, support, sensitivity.kernel.block(support, support))
    c_slope = adjoint.c_slope
    if problem.ridge is not None:
        # dD/dlog C = -D, both in 1 / G_nn and where D_n is taken off it.
        ridge = problem.ridge[kept]
        c_slope -= float(np.diagonal(among) @ ridge - c[:u] @ ridge)
    return _OfPair(value, of_theta, c_slope, Work())


def _add_retrained(values: TaskKernel, task: Task, sensitivity: Sensitivity, gradient: bool) -> _OfPair:
    machine = sensitivity.machine
    problem, support = machine.problem, machine.support
    found = left_out(values, task, sensitivity, keep=gradient)
    margins, left = problem.signs * machine.values, problem.signs * found.values
    terms, of_margins, of_left = _counts(task, margins, left)
    value = float(terms[support].sum())
    trained = {"trained": found.trained, "iterations": found.iterations}
    if not gradient:
        return _OfPair(value, 0.0, 0.0, Work(**trained))
    chosen = np.zeros(len(margins))
    chosen[support] = (problem.signs * of_margins)[support]
    adjoint = sensitivity.adjoint(chosen)
    W = np.outer(adjoint.left, adjoint.right)
    c_slope, K = adjoint.c_slope, values.exact_for(sensitivity)
    factorizations = 0
    for p, without in zip(found.samples, found.machines, strict=True):
        if of_left[p] == 0.0:
            continue
        task.stop.check()
        of_values = np.zeros(len(margins))
        of_values[p] = problem.signs[p] * of_left[p]
        one = Sensitivity(K, without, values.single, exact=True).adjoint(of_values)
        factorizations += 1
        rows = np.flatnonzero(one.left)
        W[rows] += np.outer(one.left[rows], one.right)
        c_slope += one.c_slope
    rows, columns = np.flatnonzero(W.any(axis=1)), np.flatnonzero(W.any(axis=0))
    some = np.ix_(rows, columns)
    work = Work(**trained, factorizations=factorizations)
    return _OfPair(value, values.pull_back(W[some], rows, columns, K[some]), c_slope, work)

"""Leave-one-out machines: the value of each sample under the machine trained without it.

Samples that are no support vectors change nothing when they are left out [Glasmachers2008, section 9.1.2]. For each of
the others the core follows the path along which its coefficient goes to 0 (`cpp/core/sensitivity/leave_one_out.hpp`),
exactly, with some set changes instead of a solve. Paths that meet a degenerate set are given up, and these machines
are trained, from where the whole one ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.base import Matrix, Vector
from widemargin.machines.derivatives.sensitivity import Machine, PairProblem, Sensitivity, Single
from widemargin.runtime import Stop


@dataclass(frozen=True)
class LeftOut:
    """Machines that lack one sample each.

    `samples` are the support vectors that were left out; `values` has for every sample of the problem the value of the
    machine without it; `machines` are the machines without each of `samples`, if they were to be kept; `trained` of
    them had to be trained, in so many `iterations`.
    """

    samples: NDArray[np.intp]
    values: Vector
    machines: list[Machine]
    trained: int
    iterations: int


def leave_one_out(
    K: Matrix,
    trained_on: Single,
    sensitivity: Sensitivity,
    train: Callable[[PairProblem, Vector], Machine],
    *,
    keep: bool = False,
    n_threads: int = 1,
    stop: Stop | None = None,
) -> LeftOut:
    """Leave every support vector out of a machine, one at a time.

    `K` holds the float64 kernel values that the machine of `sensitivity`, trained on all samples, is exact for;
    `trained_on` those in float32 that machines are trained with. Where a path cannot be followed, ``train(problem,
    start)`` trains a machine. With `keep` the machines themselves are kept: n numbers each.
    """
    machine, problem = sensitivity.machine, sensitivity.machine.problem
    samples = machine.support
    ridge = np.zeros(len(machine.alpha)) if problem.ridge is None else np.where(problem.bounds > 0, problem.ridge, 0.0)
    limits = np.where(problem.bounds > 0, np.inf, 0.0) if problem.squared else problem.bounds
    found = _core.leave_one_out(
        np.ascontiguousarray(K),
        problem.signs,
        limits,
        ridge,
        machine.alpha,
        machine.values + ridge * machine.alpha - problem.signs,
        machine.intercept,
        problem.fit_intercept,
        sensitivity.kept.astype(np.int32),
        np.ascontiguousarray(sensitivity.system.whole_inverse()),
        samples.astype(np.int32),
        keep,
        n_threads,
        **(stop or Stop()).limits(),
    )
    values = machine.values.copy()
    values[samples] = found.values
    machines: list[Machine] = []
    trained = iterations = 0
    alphas = found.alphas.reshape(-1, len(values))
    for number, p in enumerate(samples):
        if found.found[number]:
            if keep:
                alpha, b = alphas[number], float(found.intercepts[number])
                machines.append(_without(K, problem, int(p), alpha, b, machine))
            continue
        begun = np.where(np.arange(len(values)) == p, 0.0, machine.alpha)
        one = Sensitivity(K, train(problem.held_out(np.array([p])), begun), trained_on).machine
        values[p] = one.values[p]
        trained, iterations = trained + 1, iterations + one.outcome.iterations
        if keep:
            machines.append(one)
    return LeftOut(samples, values, machines, trained, iterations)


def _without(K: Matrix, problem: PairProblem, p: int, alpha: Vector, intercept: float, whole: Machine) -> Machine:
    support = np.flatnonzero(alpha)
    values = K[:, support] @ alpha[support] + intercept
    return Machine(problem.held_out(np.array([p])), alpha, intercept, values, whole.outcome)

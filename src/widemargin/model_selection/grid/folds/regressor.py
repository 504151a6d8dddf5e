"""Regression on one fold: one chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.estimators.regression import SVR, KernelRegressor, NuSVR, warn_of_missing_tube
from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution
from widemargin.machines.dual import Solution, StopRule, Vector, taking_part, values_of
from widemargin.machines.hard_margins import solve_to_the_hard_end
from widemargin.machines.regression import hard_unit, nu_function, solve_nu_tube_chain, tube
from widemargin.model_selection.grid.folds.base import FUNCTION, FoldModels, Indices, KnownValues, ridge
from widemargin.model_selection.grid.paths.starts import Start


class FunctionFold(FoldModels):
    """What both kinds of regression share: targets that are numbers, and what scorers get."""

    def __init__(self, y: Any, train: Indices, test: Indices, weights: Vector, asked: Indices) -> None:
        super().__init__(np.asarray(y, dtype=np.float64), train, test, weights, asked)

    def require_trainable(self, machine: KernelRegressor) -> None:
        """Let the model check its prices against the weights of the fold."""
        machine._bounds(self.weights)

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a regressor."""
        return machine._knowing(known)

    @cached_property
    def targets(self) -> Vector:
        """Targets of the samples to train on; 0 for others."""
        return taking_part(self.y, self.weights)

    def _kept(self, machine: Any, X: Any, kernel: KernelParameters, solution: Solution, intercept: float) -> Any:
        found = clone(machine)
        X, _ = found._check_samples(X, self.y[self.samples])
        found._keep_function(
            X, kernel, coefficients=solution.alpha[self.samples], intercept=intercept, outcome=solution.outcome
        )
        return found


class RegressorFold(FunctionFold):
    """Regression with a tube of given width, along C."""

    free = ("C",)

    def solve(
        self, machines: Sequence[SVR], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the one chain."""
        bounds = [machine._bounds(self.weights) for machine in machines]
        soft = [machine for machine, prices in zip(machines, bounds, strict=True) if np.isfinite(prices).all()]
        links = tuple(self._link(machine, prices) for machine, prices in zip(soft, bounds, strict=False))
        hardest, unit = machines[-1], 1.0
        if len(soft) < len(machines):
            used = self.weights > 0
            unit = hard_unit(self.y[used], float(hardest.epsilon), kernel.diagonal()[used])
        chain = Chain(links, start=None if start is None else start.coefficients(FUNCTION))
        tight = partial(_tube_link, self.targets, float(hardest.epsilon))
        found = solve_to_the_hard_end(kernel, chain, bounds, tight, unit, stop)
        for machine, one in zip(machines, found, strict=False):
            if machine is hardest and not one.hard_margin_found:
                warn_of_missing_tube(float(hardest.epsilon))
            yield [one]

    def _link(self, machine: SVR, bounds: Vector) -> Link:
        if machine.loss == "epsilon_insensitive":
            return _tube_link(self.targets, float(machine.epsilon), bounds)
        limit = np.where(bounds > 0, np.inf, 0.0)
        return Link(tube(self.targets, float(machine.epsilon), limit), ridge(bounds))

    def values(self, machine: Any, solutions: Sequence[Solution], samples: Indices) -> NDArray[np.float64]:
        """Values of the function."""
        (solution,) = solutions
        slack = None if machine.loss == "epsilon_insensitive" else ridge(machine._bounds(self.weights))[samples]
        return values_of(solution, self.targets[samples], slack, samples)[:, np.newaxis]

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a regressor with scikit-learn's attributes."""
        (solution,) = solutions
        return self._kept(machine, X, kernel, solution, solution.intercept)


class NuRegressorFold(FunctionFold):
    """Regression whose tube has a width that nu decides, along C or nu."""

    startable = False

    @classmethod
    def chained(cls, machine: NuSVR) -> tuple[str, ...]:
        """Chains go along C or, where all models have the same, along nu."""
        return ("C", "nu")

    @classmethod
    def own_matrices(cls, machine: NuSVR) -> int:
        """Every sample to train on has two variables."""
        return 4

    def solve(
        self, machines: Sequence[NuSVR], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the one chain."""
        bounds = [machine._bounds(self.weights) for machine in machines]
        fractions = [float(machine.nu) for machine in machines]
        for one in solve_nu_tube_chain(kernel, self.targets, bounds, fractions, stop=stop):
            yield [one]

    def values(self, machine: Any, solutions: Sequence[Solution], samples: Indices) -> NDArray[np.float64]:
        """Values of the function."""
        (solution,) = solutions
        own = replace(solution, intercept=nu_function(solution)[0])
        return values_of(own, self.targets[samples], at=samples)[:, np.newaxis]

    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a regressor that knows the width of its tube."""
        twin = super().twin(machine, known, solutions)
        twin.epsilon_ = nu_function(solutions[0])[1]
        return twin

    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a regressor with scikit-learn's attributes."""
        (solution,) = solutions
        intercept, epsilon = nu_function(solution)
        found = self._kept(machine, X, kernel, solution, intercept)
        found.epsilon_ = epsilon
        return found


def _tube_link(targets: Vector, epsilon: float, bounds: Vector) -> Link:
    return Link(tube(targets, epsilon, bounds))

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
from widemargin.machines.dual import Solution, StopRule, Vector, taking_part, values_of_each
from widemargin.machines.hard_margins import solve_to_the_hard_end
from widemargin.machines.regression import hard_unit, nu_function, solve_nu_tube_chain, tube
from widemargin.model_selection.grid.folds.base import FUNCTION, FoldModels, Indices, KnownValues, Start, ridge


class FunctionFold(FoldModels):
    """What both kinds of regression share: targets that are numbers, and what scorers get."""

    def __init__(self, y: Any, train: Indices, test: Indices, weights: Vector, asked: Indices) -> None:
        super().__init__(np.asarray(y, dtype=np.float64), train, test, weights, asked)

    def require_trainable(self, model: KernelRegressor) -> None:
        """Let the model check its prices against the weights of the fold."""
        model._bounds(self.weights)

    def twin(self, model: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a regressor."""
        return model._knowing(known)

    @cached_property
    def targets(self) -> Vector:
        """Targets of the samples to train on; 0 for others."""
        return taking_part(self.y, self.weights)

    def _kept(self, model: Any, X: Any, kernel: KernelParameters, solution: Solution, intercept: float) -> Any:
        found = clone(model)
        X, _ = found._check_samples(X, self.y[self.samples])
        found._keep_function(
            X, kernel, coefficients=solution.alpha[self.samples], intercept=intercept, outcome=solution.outcome
        )
        return found


class RegressorFold(FunctionFold):
    """Regression with a tube of given width, along C."""

    free = ("C",)

    def solve(
        self, models: Sequence[SVR], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the one chain."""
        bounds = [model._bounds(self.weights) for model in models]
        soft = [model for model, prices in zip(models, bounds, strict=True) if np.isfinite(prices).all()]
        links = tuple(self._link(model, prices) for model, prices in zip(soft, bounds, strict=False))
        hardest, unit = models[-1], 1.0
        if len(soft) < len(models):
            used = self.weights > 0
            unit = hard_unit(self.y[used], float(hardest.epsilon), kernel.diagonal()[used])
        chain = Chain(links, start=None if start is None else start.coefficients(FUNCTION))
        tight = partial(_tube_link, self.targets, float(hardest.epsilon))
        found = solve_to_the_hard_end(kernel, chain, bounds, tight, unit, stop)
        for model, one in zip(models, found, strict=False):
            if model is hardest and not one.hard_margin_found:
                warn_of_missing_tube(float(hardest.epsilon))
            yield [one]

    def _link(self, model: SVR, bounds: Vector) -> Link:
        if model.loss == "epsilon_insensitive":
            return _tube_link(self.targets, float(model.epsilon), bounds)
        limit = np.where(bounds > 0, np.inf, 0.0)
        return Link(tube(self.targets, float(model.epsilon), limit), ridge(bounds))

    def values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Values of the functions."""
        slack = None
        if models[0].loss != "epsilon_insensitive":
            slack = [ridge(model._bounds(self.weights))[samples] for model in models]
        return values_of_each([one for (one,) in found], self.targets[samples], slack, samples).reshape(-1, 1)

    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a regressor with scikit-learn's attributes."""
        (solution,) = solutions
        return self._kept(model, X, kernel, solution, solution.intercept)


class NuRegressorFold(FunctionFold):
    """Regression whose tube has a width that nu decides, along C or nu."""

    startable = False

    @classmethod
    def chained(cls, model: NuSVR) -> tuple[str, ...]:
        """Chains go along C or, where all models have the same, along nu."""
        return ("C", "nu")

    @classmethod
    def own_matrices(cls, model: NuSVR) -> int:
        """Every sample to train on has two variables."""
        return 4

    def solve(
        self, models: Sequence[NuSVR], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the one chain."""
        bounds = [model._bounds(self.weights) for model in models]
        fractions = [float(model.nu) for model in models]
        for one in solve_nu_tube_chain(kernel, self.targets, bounds, fractions, stop=stop):
            yield [one]

    def values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Values of the functions."""
        own = [replace(one, intercept=nu_function(one)[0]) for (one,) in found]
        return values_of_each(own, self.targets[samples], None, samples).reshape(-1, 1)

    def twin(self, model: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a regressor that knows the width of its tube."""
        twin = super().twin(model, known, solutions)
        twin.epsilon_ = nu_function(solutions[0])[1]
        return twin

    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a regressor with scikit-learn's attributes."""
        (solution,) = solutions
        intercept, epsilon = nu_function(solution)
        found = self._kept(model, X, kernel, solution, intercept)
        found.epsilon_ = epsilon
        return found


def _tube_link(targets: Vector, epsilon: float, bounds: Vector) -> Link:
    return Link(tube(targets, epsilon, bounds))

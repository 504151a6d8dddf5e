"""Balls of one fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.estimators.novelty import BORDER
from widemargin.estimators.svdd import SVDD, THIN_BALL, centred
from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import ChainKernel, LinkSolution
from widemargin.machines.dual import Solution, StopRule, Vector
from widemargin.machines.enclosing_ball import Ball, ball_chain, ball_unit
from widemargin.machines.one_class import scores_of
from widemargin.model_selection.grid.folds.novelty import NoveltyFold

#: Kernel values in float32 err by this share of the largest one.
FLOAT32_ERROR = 1e-7


class BallFold(NoveltyFold):
    """Balls: along nu, or along C if that is given."""

    @classmethod
    def chained(cls, model: SVDD) -> tuple[str, ...]:
        """Chains go along the parameter that says how much may stay outside."""
        if model.C is not None:
            return ("C",)
        return ("nu" if model.target_rejection is None else "target_rejection",)

    @classmethod
    def kernel_samples(cls, kernel: KernelParameters, X: Any, weights: Vector) -> Any:
        """Centre the samples of a linear kernel: balls go along, and a common offset costs no digits."""
        return centred(X, weights) if kernel.is_linear else X

    def _threshold(self, intercept: float) -> dict[str, Any]:
        return {"offset_": -intercept}

    def _chain(
        self,
        models: Sequence[SVDD],
        kernel: ChainKernel,
        weights: Vector,
        start: Vector | None,
        stop: StopRule,
    ) -> Iterator[LinkSolution]:
        diagonal = kernel.diagonal()
        balls = [model._machine(weights, diagonal) for model in models]
        unit = ball_unit(balls[0], kernel.given_rows, diagonal, kernel.options)
        largest = float(np.abs(diagonal[balls[0].ids]).max())
        thin = unit < THIN_BALL * largest or unit * stop.tolerance < FLOAT32_ERROR * largest
        if thin and kernel.matrix is not None:
            yield from self._chain(models, kernel.exact, weights, start, stop)
            return
        begin = None if start is None else np.where(weights > 0, start, 0.0)
        for model, (ball, distances, one) in zip(
            models, ball_chain(kernel, balls, diagonal, unit, start=begin, stop=stop), strict=False
        ):
            border = BORDER * largest if model.target_rejection is None else 0.0
            solution = Solution(one.solution.alpha, distances, ball.squared_radius + border, ball.outcome)
            yield replace(one, solution=solution)

    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a ball with all its attributes."""
        (solution,) = solutions
        found = clone(model)
        X, _ = found._check_samples(X)
        weights, alpha = self.weights[self.samples], solution.alpha[self.samples]
        rows = kernel.rows_of(self.kernel_samples(kernel, X, weights))
        diagonal = rows.diagonal()
        own = found._machine(weights, diagonal)
        found.spread_ = ball_unit(own, rows, diagonal, found._solver_options(len(weights)))
        largest = float(np.abs(diagonal[own.ids]).max())
        squared_radius = solution.intercept - (BORDER * largest if model.target_rejection is None else 0.0)
        distances = -scores_of(solution, at=self.samples)
        # The mean of |phi - c|^2 over the centre's own coefficients is that of k(x, x) less |c|^2.
        norm = float(alpha @ (diagonal - distances))
        ball = Ball(alpha[own.ids], norm, squared_radius, distances[own.ids], solution.outcome)
        # Distances of the chain come from another kernel than predictions: one in float32.
        found._keep_ball(X, kernel, own, ball, squared_radius, diagonal, measured=True)
        return found

"""One-class models of one fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.estimators.novelty import BORDER
from widemargin.estimators.one_class import OneClassSVM
from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution
from widemargin.machines.classifier import ridge_of
from widemargin.machines.dual import DualProblem, Solution, StopRule, Vector
from widemargin.machines.max_min_over import CountedSolution, count_chain
from widemargin.machines.nu_property import with_borders
from widemargin.machines.one_class import nu_scale, scores_of, solve_sums, times
from widemargin.model_selection.grid.folds.base import FUNCTION, Start, Way
from widemargin.model_selection.grid.folds.novelty import NoveltyFold
from widemargin.solvers import MaxMinOver, as_solver


class OneClassFold(NoveltyFold):
    """One-class models: along nu, or along C if slack is squared."""

    solvers = ("maxminover", MaxMinOver())

    @classmethod
    def chained(cls, model: OneClassSVM) -> tuple[str, ...]:
        """Chains go along the parameter that says how much may be rejected."""
        if model.loss == "squared_hinge":
            return ("C", "target_rejection")
        return ("nu" if model.target_rejection is None else "target_rejection",)

    @classmethod
    def own_matrices(cls, model: OneClassSVM) -> int:
        """Models with squared slack copy the kernel: to add a variable, or to count with it."""
        return int(model.loss == "squared_hinge")

    @classmethod
    def way(cls, model: OneClassSVM) -> Way:
        """Go down where models are counted: counts fine enough for a large C are so for a small one.

        Other models with squared slack start from nothing: at a small C almost all samples are support vectors, and to
        sum them up takes as long as the steps that a start saves.
        """
        if isinstance(as_solver(model.solver), MaxMinOver):
            return "down"
        return "cold" if model.loss == "squared_hinge" else super().way(model)

    def _chain(
        self,
        models: Sequence[OneClassSVM],
        kernel: ChainKernel,
        weights: Vector,
        start: Vector | None,
        stop: StopRule,
    ) -> Iterator[LinkSolution]:
        if models[0].loss == "squared_hinge":
            yield from self._squared_chain(models, kernel, weights, start, stop)
            return
        nothing, diagonal = np.zeros(len(weights)), np.abs(kernel.diagonal()[weights > 0])
        typical, largest = float(diagonal.mean()), float(diagonal.max())
        totals = [self._unit(one, weights) for one in models]
        scales = [nu_scale(total, typical) for total in totals]
        problems = []
        for total, scale in zip(totals, scales, strict=True):
            # No variable exceeds the sum: twice the sum is no bound.
            upper = np.minimum(weights / scale, 2.0 * total / scale)
            problems.append(DualProblem(nothing, nothing, upper, (total / scale, 0.0)))
        begin = None if start is None else start / scales[0]
        for problem, scale, one in zip(problems, scales, solve_sums(kernel, problems, begin, stop), strict=False):
            solution = with_borders(problem, one.solution, BORDER * problem.total[0] * largest)
            yield replace(one, solution=times(solution, scale))

    def _squared_chain(
        self,
        models: Sequence[OneClassSVM],
        kernel: ChainKernel,
        weights: Vector,
        start: Vector | None,
        stop: StopRule,
    ) -> Iterator[LinkSolution]:
        # What is yielded is no longer the gradient of what was solved but minus the scores, as of every chain here.
        prices = [model._prices(weights) for model in models]
        if isinstance(as_solver(models[0].solver), MaxMinOver):
            for one in count_chain(kernel, prices, start=start, stop=stop):
                yield _with(one, gradient=one.solution.gradient - 1.0, intercept=-1.0)
            return
        # [Timm2009, eq. 3]: no constant sum, and what the slack adds to the diagonal.
        used = weights > 0
        problem = DualProblem(np.ones(len(weights)), np.zeros(len(weights)), np.where(used, np.inf, 0.0))
        ridges = [np.where(used, ridge_of(0.5 * own), 0.0) for own in prices]
        begin = None if start is None else np.where(used, start, 0.0)
        chain = Chain(tuple(Link(problem, own) for own in ridges), start=begin, any_sum=True)
        for own, one in zip(ridges, kernel.solve(chain, stop), strict=False):
            yield _with(one, gradient=one.solution.gradient + own * one.solution.alpha - 1.0, intercept=-1.0)

    def start_of(self, model: Any, solutions: Sequence[Solution]) -> Start:
        """Return coefficients, or counts, which also tell how finely they are known."""
        (solution,) = solutions
        if isinstance(solution, CountedSolution):
            return Start.of({FUNCTION: solution.counts})
        return super().start_of(model, solutions)

    def _unit(self, model: OneClassSVM, weights: Vector) -> float:
        if model.loss == "squared_hinge":
            return 1.0
        share = model.nu if model.target_rejection is None else model.target_rejection
        return float(share) * float(weights.sum())

    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return a one-class model with scikit-learn's attributes."""
        (solution,) = solutions
        found = clone(model)
        X, _ = found._check_samples(X)
        found._keep_function(
            X,
            kernel,
            coefficients=solution.alpha[self.samples],
            intercept=solution.intercept,
            outcome=solution.outcome,
        )
        if model.loss == "hinge" and model.target_rejection is None:
            # Scores of the chain come from another kernel than predictions: one in float32.
            own, scores = self.weights[self.samples], scores_of(solution, at=self.samples)
            found._accept_border(X, own, kernel.rows_of(X).diagonal(), scores, measured=True)
        return found


def _with(one: LinkSolution, **changes: Any) -> LinkSolution:
    return replace(one, solution=replace(one.solution, **changes))

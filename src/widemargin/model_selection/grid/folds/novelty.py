"""One-class models and balls of one fold: one chain, and one more for each part held out by `target_rejection`.

Solutions leave :meth:`NoveltyFold.solve` in one form, whatever was solved: the gradient is minus the scores of all
samples, the intercept minus the threshold, so that their difference is the decision value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.novelty import NoveltyModel, parts_to_hold_out
from widemargin.estimators.validation import check_weights, total_weight
from widemargin.kernels.rows import take
from widemargin.machines.chain import ChainKernel, LinkSolution
from widemargin.machines.dual import Solution, StopRule, Vector, values_of_each
from widemargin.machines.one_class import rejecting_threshold, scores_of
from widemargin.model_selection.grid.folds.base import FUNCTION, FoldModels, Indices, KnownValues, Start, Way


class NoveltyFold(FoldModels):
    """What models of one class share."""

    @classmethod
    def way(cls, model: NoveltyModel) -> Way:
        """Start from nothing where samples are held out: most of the work is theirs, and a start is not theirs."""
        return "up" if model.target_rejection is None else "cold"

    def require_trainable(self, model: NoveltyModel) -> None:
        """Let the model check the weights of the fold."""
        model._require_feasible(self.weights, self._total_weight)

    @cached_property
    def _total_weight(self) -> float:
        return total_weight(check_weights(self.weights, len(self.weights)))

    def solve(
        self, models: Sequence[NoveltyModel], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Solve the one chain; set the thresholds by samples held out if asked to."""
        begin = None if start is None else start.coefficients(FUNCTION)
        if models[0].target_rejection is None:
            for one in self._chain(models, kernel, self.weights, begin, stop):
                yield [one]
            return
        own = self.train[np.sort(np.unique(self.train, return_index=True)[1])]
        own = own[self.weights[own] > 0]
        folds = parts_to_hold_out(take(X, own), pairwise=models[0].kernel == "precomputed")
        others = [self._without(own[held_out]) for held_out in folds]
        kernel = kernel.side_by_side([len(self.weights)] * (1 + len(folds)))
        whole = self._chain(models, kernel, self.weights, begin, stop)
        first = next(whole)

        def trained_on(weights: Vector) -> Iterator[LinkSolution]:
            # Scores are compared per unit of the sum of coefficients, and so is what a violation means.
            share = self._unit(models[0], weights) / self._unit(models[0], self.weights)
            left = replace(stop, tolerance=share * stop.tolerance)
            yield from self._chain(models, kernel, weights, first.solution.alpha, left)

        for model, *found in zip(models, chain([first], whole), *map(trained_on, others), strict=False):
            scores = np.zeros(len(own))
            for held_out, weights, one in zip(folds, others, found[1:], strict=True):
                scores[held_out] = scores_of(one.solution, at=own[held_out]) / self._unit(model, weights)
            yield [self._rejecting(model, scores, self.weights[own], found)]

    def _without(self, samples: Indices) -> Vector:
        """Return the weights if some samples are held out."""
        weights = self.weights.copy()
        weights[samples] = 0.0
        return weights

    def _rejecting(
        self, model: NoveltyModel, scores: Vector, weights: Vector, found: Sequence[LinkSolution]
    ) -> LinkSolution:
        """Set the threshold of a model by the scores of samples held out; the work of all models counts."""
        assert model.target_rejection is not None
        threshold = rejecting_threshold(scores, weights, model.target_rejection)
        outcomes = [one.solution.outcome for one in found]
        reason = next((outcome.reason for outcome in outcomes if outcome.reason != "converged"), "converged")
        solution = replace(
            found[0].solution,
            intercept=-threshold * self._unit(model, self.weights),
            outcome=replace(outcomes[0], reason=reason).with_work(outcomes),
        )
        return LinkSolution(solution, all(one.repeated for one in found))

    @abstractmethod
    def _chain(
        self,
        models: Sequence[Any],
        kernel: ChainKernel,
        weights: Vector,
        start: Vector | None,
        stop: StopRule,
    ) -> Iterator[LinkSolution]:
        """Solve the chain for some weights; the first model may start from the coefficients of another one."""

    def _unit(self, model: Any, weights: Vector) -> float:
        """Return the sum of the coefficients that scores are proportional to."""
        return 1.0

    def values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Scores above the threshold."""
        return values_of_each([one for (one,) in found], 0.0, None, samples).reshape(-1, 1)

    def twin(self, model: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return a model that knows its threshold and the number of its support vectors."""
        (solution,) = solutions
        n_support = np.array([np.count_nonzero(solution.alpha[self.train])], dtype=np.int32)
        threshold = self._threshold(solution.intercept)
        return model._knowing(known, n_support_=n_support, shape_fit_=(len(self.train),), **threshold)

    def _threshold(self, intercept: float) -> dict[str, Any]:
        """Return the attribute of a model that says where it accepts samples."""
        return {"intercept_": np.array([intercept])}

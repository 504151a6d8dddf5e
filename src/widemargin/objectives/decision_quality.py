"""Decision function quality: how often a model is right, less what its predictions cost [Lebrun2006, section 2]."""

from __future__ import annotations

import math
import numbers
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import Kernel, MaskedGaussian
from widemargin.kernels.rows import is_matrix
from widemargin.objectives.base import BoundObjective, Evaluated, How, Ids, Objective, Task, Vector
from widemargin.objectives.held_out.groups import split_groups
from widemargin.objectives.held_out.hold_out import require_split
from widemargin.objectives.machines import TaskKernel, notes_of, predicted_classes, train_pairs, work_of


def balanced_rate(right: NDArray[np.bool_], labels: NDArray[np.intp]) -> float:
    """Return the recognition rate, each class counting the same: the mean over classes of the share that is right.

    Classes without samples do not count.

    Examples
    --------
    >>> balanced_rate(np.array([True, True, True, False]), np.array([0, 0, 1, 1]))
    0.75
    """
    sizes = np.bincount(labels)
    return float(np.mean((np.bincount(labels, weights=right) / np.maximum(sizes, 1))[sizes > 0]))


def kappas(costs: Any, n_features: int) -> Vector:
    """Return what each feature costs, relative to the mean: kappa_i = n T_i / sum T, 1 each if nothing is known.

    Examples
    --------
    >>> kappas([1.0, 3.0], 2).tolist(), kappas(None, 2).tolist()
    ([0.5, 1.5], [1.0, 1.0])
    """
    if costs is None:
        return np.ones(n_features)
    try:
        given = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"feature_costs must hold a number for each feature; got {costs!r}.") from None
    if given.shape != (n_features,):
        raise ValueError(
            f"feature_costs must hold a number for each of the {n_features} features; its shape is {given.shape}."
        )
    wrong = np.flatnonzero(~((given > 0.0) & np.isfinite(given)))
    if len(wrong):
        raise ValueError(
            f"feature_costs[{wrong[0]}] is {given[wrong[0]]:g}; the cost of every feature must be positive and finite."
        )
    return np.asarray(given / (given / n_features).sum())


def quality(rate: float, n_support: int, sv_penalty: float, cost: float = 1.0, feature_penalty: float = 0.0) -> float:
    """Return R_R - c1 log2(n_SV) - c2 log2(cost(beta)) [Lebrun2006, section 2].

    A model without support vectors is a constant; it counts as one with a single support vector.

    Examples
    --------
    >>> quality(0.794, 2, 0.01)
    0.784
    """
    return rate - sv_penalty * math.log2(max(n_support, 1)) - feature_penalty * math.log2(cost)


def stratified_split(
    labels: NDArray[np.intp], share: float, generator: np.random.Generator, *, keep: int = 1
) -> tuple[Ids, Ids]:
    """Set a share of every class aside, at least one sample of a class that is large enough, and never the last few.

    Examples
    --------
    >>> kept, aside = stratified_split(np.array([0, 0, 0, 0, 0, 0, 1, 1]), 1 / 3, np.random.default_rng(0))
    >>> len(aside), np.bincount(np.array([0, 0, 0, 0, 0, 0, 1, 1])[aside]).tolist()
    (3, [2, 1])
    """
    aside = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels):
        own = generator.permutation(np.flatnonzero(labels == label))
        count = min(max(round(share * len(own)), 1), max(len(own) - keep, 0))
        aside[own[:count]] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


class DecisionQuality(Objective):
    r"""Decision function quality: the recognition rate on held-out samples, less the logarithm of a prediction's cost.

    :math:`q = R_R - c_1 \log_2 n_{SV} - c_2 \log_2 \sum_k \beta_k \kappa_k` [Lebrun2006, section 2], where
    :math:`R_R` is the balanced recognition rate on a share of the samples that is set aside, the same share of every
    class: twice as many support vectors have to be right for :math:`c_1` more of the samples. The last term is there
    for kernels that select features (:class:`widemargin.kernels.MaskedGaussian`) only. A value costs a kernel matrix,
    n^2 d operations, and a model for each pair of classes; support vectors that pairs have in common count once.
    Larger is better.

    Parameters
    ----------
    sv_penalty : float, default=0.01
        :math:`c_1`, at least 0.
    feature_penalty : float, default=0.01
        :math:`c_2`, at least 0.
    feature_costs : sequence of floats, default=None
        What it costs to obtain each feature (seconds, say); only ratios matter. None is the same for all.
    share : float, default=1/3
        Share of the samples that is set aside.
    random_state : int, default=0
        Seed of the split.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC, ModelSearch
    >>> from widemargin.objectives import DecisionQuality
    >>> X, y = load_iris(return_X_y=True)
    >>> search = ModelSearch(SVC(gamma=0.25), objective=DecisionQuality(), strategy="tabu", random_state=0).fit(X, y)
    >>> usual = SVC(gamma=0.25).fit(X, y)
    >>> [int(model.n_support_.sum()) for model in (search.best_estimator_, usual)]
    [23, 45]
    >>> search.score(X, y) >= usual.score(X, y)
    True
    """

    name = "decision-quality"
    differentiable = False
    greater_is_better = True
    holds_groups_out = True

    def __init__(
        self,
        sv_penalty: float = 0.01,
        feature_penalty: float = 0.01,
        feature_costs: Any = None,
        share: float = 1 / 3,
        random_state: int = 0,
    ) -> None:
        for name, penalty in (("sv_penalty", sv_penalty), ("feature_penalty", feature_penalty)):
            if not (isinstance(penalty, numbers.Real) and 0.0 <= penalty < math.inf):
                raise ValueError(f"{name} must be a finite number of at least 0; got {penalty!r}.")
        require_split(share)
        self.sv_penalty = sv_penalty
        self.feature_penalty = feature_penalty
        self.feature_costs = feature_costs
        self.share = share
        self.random_state = random_state

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        if task.n_classes == 0:
            return f"objective={self.name!r} counts right classes, and regression has none."
        if len(task.pairs) == 0:
            return f"objective={self.name!r} needs samples of two classes; there are some of one only."
        if self.feature_costs is not None and not is_matrix(task.X):
            return "feature_costs must be None for samples without features; X is no matrix of numbers."
        alone = np.flatnonzero(np.bincount(task.y[task.weights > 0]) == 1)
        if len(alone):
            return f"objective={self.name!r} sets samples of every class aside; class number {alone[0]} has only 1."
        return None

    def bind(self, task: Task) -> BoundObjective:
        """Draw the split."""
        return _HeldOut(task, self)

    def measured(
        self, rate: float, n_support: int, features: Vector | None, costs: Vector
    ) -> tuple[float, dict[str, float]]:
        """Return the quality, and what it is made of; `features` is None where none are selected."""
        measures = {"recognition_rate": rate, "support_vectors": float(n_support)}
        if features is None:
            return quality(rate, n_support, self.sv_penalty), measures
        cost = float(costs @ features)
        value = quality(rate, n_support, self.sv_penalty, cost, self.feature_penalty)
        return value, measures | {"feature_cost": cost}


class _HeldOut(BoundObjective):
    """Quality of models of any kernel, trained on samples as they are."""

    def __init__(self, task: Task, objective: DecisionQuality) -> None:
        super().__init__(task)
        rows = np.flatnonzero(task.weights > 0)
        generator = np.random.default_rng(objective.random_state)
        if task.groups is None:
            kept, aside = stratified_split(task.y[rows], objective.share, generator)
        else:
            kept, aside = split_groups(task.groups[rows], task.y[rows], objective.share, generator)
        self._objective, self._aside = objective, rows[aside]
        # Costs that do not fit are refused even if no kernel is to select features.
        self._costs = None if objective.feature_costs is None else kappas(objective.feature_costs, task.X.shape[1])
        self._training = np.zeros(task.n_samples, dtype=np.bool_)
        self._training[rows[kept]] = True

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train on what was not set aside, judge by the rest, count support vectors."""
        task, aside = self.task, self._aside
        values = TaskKernel(kernel, task)
        machines = train_pairs(values, task, C, self._training, how.get("state"))
        columns = np.column_stack([one.values[aside] for one in machines])
        rate = balanced_rate(predicted_classes(task, columns) == task.y[aside], task.y[aside])
        n_support = int(np.count_nonzero(np.any([one.alpha != 0.0 for one in machines], axis=0)))
        features = kernel.linear_map if isinstance(kernel, MaskedGaussian) else None
        costs = np.ones(task.X.shape[1] if features is not None else 0) if self._costs is None else self._costs
        value, measures = self._objective.measured(rate, n_support, features, costs)
        return Evaluated(
            value,
            work=work_of(machines, values),
            state=[one.alpha for one in machines],
            notes=notes_of(values),
            measures=measures,
        )

"""The bootstrap error [Glasmachers2008, section 9.1.7]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from widemargin.objectives.base import BoundObjective, Ids, Objective, Task
from widemargin.objectives.held_out.base import HeldOutObjective, loss_of
from widemargin.objectives.held_out.hold_out import random_split, require_split


class RandomSplits(HeldOutObjective):
    """Losses over folds that are drawn anew for each evaluation."""

    def __init__(self, task: Task, loss: str, share: float, draws: int) -> None:
        super().__init__(task, loss)
        self._share, self._draws = share, draws

    def splits(self, generator: np.random.Generator | None) -> Sequence[tuple[Ids, Ids]]:
        """Draw the folds of an evaluation."""
        if generator is None:
            raise ValueError("This objective draws random folds; pass a generator.")
        return [random_split(self.task, self._share, generator) for _ in range(self._draws)]


class OnRandomSplits(Objective):
    """An objective over folds that are drawn anew for each evaluation."""

    deterministic = False
    holds_groups_out = True

    def __init__(self, share: float = 0.2, draws: int = 1) -> None:
        require_split(share, draws)
        self.share = share
        self.draws = draws


class Bootstrap(OnRandomSplits):
    """Error on random hold-out sets, drawn anew for each evaluation.

    Its mean over all folds prefers no fold over another, as cross-validation does; a single value is as random as a
    hold-out error. For strategies that cope with random values. A value costs a kernel matrix, n^2 d operations, and
    `draws` models. Smaller is better.

    Parameters
    ----------
    share : float, default=0.2
        Share of the samples that is held out.
    draws : int, default=1
        Splits an evaluation.
    """

    name = "bootstrap"
    differentiable = False

    def bind(self, task: Task) -> BoundObjective:
        """Nothing is prepared: folds are drawn for each evaluation."""
        return RandomSplits(task, loss_of(task, None), self.share, self.draws)

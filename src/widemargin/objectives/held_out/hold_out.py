"""One hold-out set [Glasmachers2008, section 9.1.1]."""

from __future__ import annotations

import numpy as np

from widemargin.objectives.base import Ids, Task
from widemargin.objectives.held_out.base import WithLoss
from widemargin.objectives.held_out.groups import PATIENCE, split_groups
from widemargin.runtime.checks import is_number, is_whole


def require_split(share: float, draws: int = 1) -> None:
    """Refuse shares that leave nothing to train on or nothing to judge by, and numbers of draws that are none.

    Examples
    --------
    >>> require_split(1.0)
    Traceback (most recent call last):
    ...
    ValueError: share must be a number between 0 and 1; got 1.0.
    """
    if not (is_number(share) and 0.0 < share < 1.0):
        raise ValueError(f"share must be a number between 0 and 1; got {share!r}.")
    if not is_whole(draws, 1):
        raise ValueError(f"draws must be a whole number of at least 1; got {draws!r}.")


def random_split(task: Task, share: float, generator: np.random.Generator) -> tuple[Ids, Ids]:
    """Draw a training set of floor((1 - share) n) samples: any with all classes in it, each as likely as others.

    If the task has groups, whole groups are drawn (:func:`widemargin.objectives.held_out.groups.split_groups`).

    Examples
    --------
    >>> task = Task(np.zeros((10, 1)), np.arange(10) % 2, 2, np.ones(10))
    >>> train, test = random_split(task, 0.2, np.random.default_rng(0))
    >>> len(train), len(test)
    (8, 2)
    """
    rows = np.flatnonzero(task.weights > 0)
    if task.groups is not None:
        labels = task.y[rows] if task.n_classes else np.zeros(len(rows), dtype=np.intp)
        train, test = split_groups(task.groups[rows], labels, share, generator)
        return rows[train], rows[test]
    size = int((1.0 - share) * len(rows) + 1e-9)
    present = np.flatnonzero(np.bincount(task.y[rows], minlength=task.n_classes)) if task.n_classes else np.empty(0)
    order = generator.permutation(rows)
    for _ in range(PATIENCE):
        if task.n_classes == 0 or np.bincount(task.y[order[:size]], minlength=task.n_classes)[present].all():
            break
        order = generator.permutation(rows)
    else:
        first = [generator.choice(rows[task.y[rows] == one]) for one in present]
        order = np.concatenate([first, order[~np.isin(order, first)]])
    return np.sort(order[:size]), np.sort(order[size:])


class HoldOut(WithLoss):
    """Loss on a part of the samples that was set aside, once and for all.

    The cheapest look at samples that a model was not trained on, and the least reliable one: a kernel matrix, n^2 d
    operations, and one model. Smaller is better.

    Parameters
    ----------
    share : float, default=0.2
        Share of the samples that is held out.
    loss : {"zero-one", "smooth", "squared"}, default=None
        As for :class:`CrossValidation`.
    random_state : int, default=0
        Seed of the fold.
    """

    name = "hold-out"

    def __init__(self, share: float = 0.2, loss: str | None = None, random_state: int = 0) -> None:
        require_split(share)
        self.share = share
        super().__init__(loss, random_state)

    def splits(self, task: Task) -> list[tuple[Ids, Ids]]:
        """Return the samples that the model is trained on, and those held out."""
        return [random_split(task, self.share, np.random.default_rng(self.random_state))]

"""Cross-validation [Glasmachers2008, section 9.1.1]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from widemargin.objectives.base import Ids, Task
from widemargin.objectives.held_out.base import WithLoss
from widemargin.objectives.held_out.groups import folds_of, group_folds, require_classes, require_whole_groups


class CrossValidation(WithLoss):
    r"""Mean loss over the folds of the samples, each judged by a model that was trained on the others.

    With ``loss="zero-one"`` the error rate, which is no differentiable function; with ``loss="smooth"`` the mean of
    :math:`1 - \sigma(s\,y_n f(x_n))` under the likeliest slope s, which is one [Keerthi2007]. Its gradient comes from
    the derivative of the models [Glasmachers2008, section 9.3.1]. Smaller is better.

    A value costs a kernel matrix, n^2 d operations, and k models on (k - 1) / k of the samples; a gradient one
    factorisation of each model's free variables and another pass over the kernel matrix.

    Parameters
    ----------
    folds : int or splitter, default=5
        Number of folds, drawn once with the shares of the classes kept; or a splitter of scikit-learn. Where samples
        have groups, folds are made of whole groups, and a splitter must be one of groups (``GroupKFold``).
    loss : {"zero-one", "smooth", "squared"}, default=None
        None is "zero-one" for classifiers and "squared" for regression.
    random_state : int, default=0
        Seed of the folds.
    """

    name = "cross-validation"

    def __init__(self, folds: Any = 5, loss: str | None = None, random_state: int = 0) -> None:
        self.folds = folds
        super().__init__(loss, random_state)

    def splits(self, task: Task) -> list[tuple[Ids, Ids]]:
        """Return the samples that models are trained on, and those held out, of each fold."""
        if task.groups is not None:
            return self._splits_of_groups(task, task.groups)
        kind = KFold if task.n_classes == 0 else StratifiedKFold
        whole = isinstance(self.folds, (int, np.integer))
        splitter = kind(self.folds, shuffle=True, random_state=self.random_state) if whole else check_cv(self.folds)
        rows = np.flatnonzero(task.weights > 0)
        folds = splitter.split(np.zeros((len(rows), 1)), task.y[rows])
        return [(rows[train], rows[test]) for train, test in folds]

    def _splits_of_groups(self, task: Task, groups: Ids) -> list[tuple[Ids, Ids]]:
        """Return folds of whole groups; a splitter that tears one apart is refused."""
        rows = np.flatnonzero(task.weights > 0)
        whole = isinstance(self.folds, (int, np.integer))
        name = f"folds={self.folds!r}"
        if whole:
            splitter = group_folds(int(self.folds), groups[rows], name, bool(task.n_classes), self.random_state)
        else:
            splitter = check_cv(self.folds)
        found = folds_of(splitter, np.zeros((len(rows), 1)), task.y[rows], groups[rows])
        require_whole_groups(found, groups[rows], name)
        if task.n_classes:
            require_classes(found, task.y[rows], name)
        return [(rows[train], rows[test]) for train, test in found]

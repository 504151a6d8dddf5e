"""Scores of candidates on folds, in the words of scikit-learn's results."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.model_selection.grid.results import ranks


@dataclass(frozen=True)
class FoldScores:
    """What a search has found over its folds.

    Parameters
    ----------
    params : list of dict
        Of each candidate.
    scores : ndarray of shape (n_candidates, n_folds)
    chosen : int
        Which candidate was chosen.
    values : ndarray of shape (n_candidates,), optional
        What the search has compared, greater being better, if that is not the mean score.
    """

    params: Sequence[dict[str, Any]]
    scores: NDArray[np.float64]
    chosen: int
    values: NDArray[np.float64] | None = None

    def as_results(self) -> dict[str, Any]:
        """Return parameters, scores, their means, deviations and ranks; times are in the trace.

        Examples
        --------
        >>> results = FoldScores([{"C": 1.0}, {"C": 2.0}], np.array([[0.5, 0.7], [0.9, 0.7]]), 1).as_results()
        >>> results["param_C"].tolist(), results["mean_test_score"].tolist(), results["rank_test_score"].tolist()
        ([1.0, 2.0], [0.6, 0.8], [2, 1])
        """
        results: dict[str, Any] = {}
        for name in self.params[0]:
            values = np.empty(len(self.params), dtype=object)
            values[:] = [one[name] for one in self.params]
            if all(isinstance(value, numbers.Real) for value in values):
                values = np.array(values.tolist())
            results[f"param_{name}"] = np.ma.MaskedArray(values, mask=np.zeros(len(values), dtype=np.bool_))
        results["params"] = list(self.params)
        for fold, scores in enumerate(self.scores.T):
            results[f"split{fold}_test_score"] = scores.copy()
        means = self.scores.mean(axis=1)
        return results | {
            "mean_test_score": means,
            "std_test_score": self.scores.std(axis=1),
            "rank_test_score": ranks(means if self.values is None else self.values),
        }

"""What the machines of a search are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer
from sklearn.model_selection._validation import _score

from widemargin.estimators.one_class_scores import OneClassScore


@dataclass(frozen=True)
class Scoring:
    """Scores machines as scikit-learn does.

    Parameters
    ----------
    scorers : callable
        What scikit-learn made of ``scoring``.
    params : mapping
        What scorers get beside the machine and the rows, for all rows of the data.
    error_score : number or "raise"
    is_accuracy : bool
        Whether the score is the share of correct predictions, which needs no scorer.
    """

    scorers: Any
    params: Mapping[str, Any]
    error_score: Any
    is_accuracy: bool

    def only_predicts(self) -> bool:
        """Tell whether a machine is asked for nothing but predictions of the rows that it is scored on."""
        inner = getattr(self.scorers, "_scorers", {"score": self.scorers})
        return all(isinstance(one, (_BaseScorer, _PassthroughScorer, OneClassScore)) for one in inner.values())

    def __call__(self, machine: Any, rows: Any, targets: Any, params: Mapping[str, Any]) -> Any:
        """Score a machine on rows; `params` are those of the rows."""
        if self.is_accuracy and not params:
            return int(np.count_nonzero(machine.predict(rows) == targets)) / len(targets)
        return _score(machine, rows, targets, self.scorers, params, self.error_score)

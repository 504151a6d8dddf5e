"""Choosing a model: :class:`GridSearchCV`, :class:`ModelSearch`, and :func:`select`, which needs no grid.

Imports from ``estimators`` and everything below them; ``persistence``, ``inspection`` and ``cli`` build on it.
"""

from widemargin.model_selection.grid import (
    ColdWork,
    GridSearchCV,
    PlainSearchWarning,
    UnfinishedSearchWarning,
    WorkReport,
    measure_cold,
)
from widemargin.model_selection.one_class_scores import LeaveOneOutScore, RejectionScore
from widemargin.model_selection.search import EvaluationReport, ModelSearch
from widemargin.model_selection.selection import Selection, select

__all__ = [
    "ColdWork",
    "EvaluationReport",
    "GridSearchCV",
    "LeaveOneOutScore",
    "ModelSearch",
    "PlainSearchWarning",
    "RejectionScore",
    "Selection",
    "UnfinishedSearchWarning",
    "WorkReport",
    "measure_cold",
    "select",
]

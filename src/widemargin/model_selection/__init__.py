"""Choosing a model: :class:`GridSearchCV`, :class:`ModelSearch`, :class:`CompactSVC`; :func:`select` needs no grid.

Imports from ``estimators`` and everything below them; ``persistence``, ``inspection`` and ``cli`` build on it.
"""

from widemargin.model_selection.compact import CompactSVC
from widemargin.model_selection.grid import (
    GridSearchCV,
    PlainSearchWarning,
    UnfinishedSearchWarning,
    measure_cold,
)
from widemargin.model_selection.one_class_scores import LeaveOneOutScore, RegionScore, RejectionScore
from widemargin.model_selection.search import ModelSearch
from widemargin.model_selection.selection import Selection, select
from widemargin.study.report import SearchReport

__all__ = [
    "CompactSVC",
    "GridSearchCV",
    "LeaveOneOutScore",
    "ModelSearch",
    "PlainSearchWarning",
    "RegionScore",
    "RejectionScore",
    "SearchReport",
    "Selection",
    "UnfinishedSearchWarning",
    "measure_cold",
    "select",
]

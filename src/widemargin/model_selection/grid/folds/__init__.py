"""Models of one fold of the data, trained as chains on a kernel that all folds share: one file per family of models.

Imports from ``estimators`` and what lies below them, and nothing of the grid search, which builds on it.
"""

from widemargin.model_selection.grid.folds.ball import BallFold
from widemargin.model_selection.grid.folds.base import FoldModels, Indices, KnownValues, Start, Way
from widemargin.model_selection.grid.folds.classifier import ClassifierFold, NuClassifierFold
from widemargin.model_selection.grid.folds.one_class import OneClassFold
from widemargin.model_selection.grid.folds.regressor import NuRegressorFold, RegressorFold

__all__ = [
    "BallFold",
    "ClassifierFold",
    "FoldModels",
    "Indices",
    "KnownValues",
    "NuClassifierFold",
    "NuRegressorFold",
    "OneClassFold",
    "RegressorFold",
    "Start",
    "Way",
]

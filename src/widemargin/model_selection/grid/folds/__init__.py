"""Models of one fold of the data, trained as chains on a kernel that all folds share.

The samples of a fold are those of the whole data set: held-out ones are variables whose box is [0, 0], so that the
solution of a chain's link tells the decision values of every sample. What scorers get is a *twin*: the model with the
parameters of a candidate, which knows its decision values on the fold's own samples and on nothing else.
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

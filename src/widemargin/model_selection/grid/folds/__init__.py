"""Models of one fold of the data, trained as chains on a kernel that all folds share.

The samples of a fold are those of the whole data set: held-out ones are variables whose box is [0, 0], so that the
solution of a chain's link tells the decision values of every sample. What scorers get is a *twin*: the model with the
parameters of a candidate, which knows its decision values on the fold's own samples and on nothing else.
"""

from __future__ import annotations

from typing import Any

from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.model_selection.grid.folds.ball import BallFold
from widemargin.model_selection.grid.folds.base import FoldModels, Indices, KnownValues, Start, Way
from widemargin.model_selection.grid.folds.classifier import ClassifierFold, NuClassifierFold
from widemargin.model_selection.grid.folds.one_class import OneClassFold
from widemargin.model_selection.grid.folds.regressor import NuRegressorFold, RegressorFold

__all__ = ["FAMILIES", "FoldModels", "Indices", "KnownValues", "Start", "Way", "family_of"]

#: What trains the candidates of each kind of model together.
FAMILIES: dict[type[Any], type[FoldModels]] = {
    SVC: ClassifierFold,
    NuSVC: NuClassifierFold,
    SVR: RegressorFold,
    NuSVR: NuRegressorFold,
    OneClassSVM: OneClassFold,
    SVDD: BallFold,
}


def family_of(model: Any) -> type[FoldModels] | None:
    """Return what trains a model's candidates together, if anything does; a subclass may have a ``fit`` of its own."""
    for kind, family in FAMILIES.items():
        if isinstance(model, kind):
            return family if type(model).fit is kind.fit else None
    return None

"""Machines of one split of the data, trained as chains on a kernel that all splits share.

The examples of a split are those of the whole data set: held-out ones are variables whose box is [0, 0], so that the
solution of a chain's link tells the decision values of every example. What scorers get is a *twin*: the machine with
the parameters of a candidate, which knows its decision values on the split's own rows and on nothing else.
"""

from __future__ import annotations

from typing import Any

from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.model_selection.grid.splits.ball import BallSplit
from widemargin.model_selection.grid.splits.base import KnownValues, Rows, SplitMachines, StartableMachines, Way
from widemargin.model_selection.grid.splits.classifier import ClassifierSplit, NuClassifierSplit
from widemargin.model_selection.grid.splits.one_class import OneClassSplit
from widemargin.model_selection.grid.splits.regressor import NuRegressorSplit, RegressorSplit

__all__ = ["FAMILIES", "KnownValues", "Rows", "SplitMachines", "StartableMachines", "Way", "family_of"]

#: What trains the candidates of each kind of machine together.
FAMILIES: dict[type[Any], type[SplitMachines]] = {
    SVC: ClassifierSplit,
    NuSVC: NuClassifierSplit,
    SVR: RegressorSplit,
    NuSVR: NuRegressorSplit,
    OneClassSVM: OneClassSplit,
    SVDD: BallSplit,
}


def family_of(machine: Any) -> type[SplitMachines] | None:
    """Return what trains a model's candidates together, if anything does; a subclass may have a ``fit`` of its own."""
    for kind, family in FAMILIES.items():
        if isinstance(machine, kind):
            return family if type(machine).fit is kind.fit else None
    return None

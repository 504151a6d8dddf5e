"""Objectives, one file each: what makes parameters of a model good ones, and how that changes with them.

Imports ``machines`` and what lies below; kernels stay behind their values and derivatives.
"""

from widemargin.objectives.base import BoundObjective, Evaluated, Objective, Task
from widemargin.objectives.class_distance import ClassDistance
from widemargin.objectives.decision_quality import DecisionQuality
from widemargin.objectives.held_out.bootstrap import Bootstrap
from widemargin.objectives.held_out.cross_validation import CrossValidation
from widemargin.objectives.held_out.hold_out import HoldOut
from widemargin.objectives.held_out.likelihood import JaakkolaPrior, Likelihood, Posterior
from widemargin.objectives.leave_one_out import LeaveOneOut
from widemargin.objectives.polarization import Polarization
from widemargin.objectives.radius_margin import RadiusMargin
from widemargin.objectives.span import SpanBound
from widemargin.objectives.support_vectors import SupportVectors
from widemargin.objectives.target_alignment import TargetAlignment

#: All objectives of the package by their names.
OBJECTIVES: dict[str, type[Objective]] = {
    objective.name: objective
    for objective in (
        Bootstrap,
        ClassDistance,
        CrossValidation,
        DecisionQuality,
        HoldOut,
        LeaveOneOut,
        Likelihood,
        Polarization,
        Posterior,
        RadiusMargin,
        SpanBound,
        SupportVectors,
        TargetAlignment,
    )
}

__all__ = [
    "OBJECTIVES",
    "Bootstrap",
    "BoundObjective",
    "ClassDistance",
    "CrossValidation",
    "DecisionQuality",
    "Evaluated",
    "HoldOut",
    "JaakkolaPrior",
    "LeaveOneOut",
    "Likelihood",
    "Objective",
    "Polarization",
    "Posterior",
    "RadiusMargin",
    "SpanBound",
    "SupportVectors",
    "TargetAlignment",
    "Task",
]

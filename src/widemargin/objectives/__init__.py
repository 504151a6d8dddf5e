"""Objectives: what makes parameters of a machine good ones, and how that changes with them."""

from widemargin.objectives.base import BoundObjective, Effort, Evaluated, Objective, Task
from widemargin.objectives.class_distance import ClassDistance
from widemargin.objectives.polarization import Polarization
from widemargin.objectives.target_alignment import TargetAlignment

__all__ = [
    "BoundObjective",
    "ClassDistance",
    "Effort",
    "Evaluated",
    "Objective",
    "Polarization",
    "TargetAlignment",
    "Task",
]

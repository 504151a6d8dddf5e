"""Objectives: what makes parameters of a machine good ones, and how that changes with them."""

from widemargin.objectives.base import BoundObjective, Effort, Evaluated, Objective, Task
from widemargin.objectives.polarization import Polarization

__all__ = ["BoundObjective", "Effort", "Evaluated", "Objective", "Polarization", "Task"]

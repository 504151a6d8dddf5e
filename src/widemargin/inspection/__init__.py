"""Reports: what a table or picture shows as plain data, and thin renderers of it.

Imports estimators and what they consist of, nothing of searches; the renderers of
:mod:`widemargin.inspection.pictures` need matplotlib and are imported by name where they are used.
"""

from widemargin.inspection.info import DecisionSurface, DecisionValues, decision_surface
from widemargin.inspection.sequences import (
    Contributions,
    OligomerTable,
    OligomerWeights,
    Substitutions,
    oligomer_weights,
)
from widemargin.inspection.tables import aligned

__all__ = [
    "Contributions",
    "DecisionSurface",
    "DecisionValues",
    "OligomerTable",
    "OligomerWeights",
    "Substitutions",
    "aligned",
    "decision_surface",
    "oligomer_weights",
]

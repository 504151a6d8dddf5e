"""Reports: what a table or picture shows as plain data, and thin renderers of it.

Imports nothing of the package; the renderers of :mod:`widemargin.inspection.pictures` need matplotlib and are imported
by name where they are used.
"""

from widemargin.inspection.info import DecisionSurface, DecisionValues, decision_surface
from widemargin.inspection.tables import aligned

__all__ = ["DecisionSurface", "DecisionValues", "aligned", "decision_surface"]

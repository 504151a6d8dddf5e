"""Solvers as objects: which steps train a model, and in which precision. Names are shorthand for objects with defaults.

``SVC(solver="smo")`` is ``SVC(solver=SMO())``; an object has options: ``SVC(solver=SMO(planning_ahead=0))``. Imports
from ``machines`` only.
"""

from widemargin.solvers.base import Solver
from widemargin.solvers.choice import as_solver
from widemargin.solvers.decomposition import SMO, Auto, Block
from widemargin.solvers.geometric import MDM, MaxMinOver

__all__ = ["MDM", "SMO", "Auto", "Block", "MaxMinOver", "Solver", "as_solver"]

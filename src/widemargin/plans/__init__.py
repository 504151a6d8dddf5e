"""Paths through a grid: in which order candidates are trained and from where each starts, by what starts cost.

Sees numbers only, and imports nothing but ``kernels`` and ``runtime``.
"""

from widemargin.plans.graph import CostMatrix, GridGraph, Step, measure_costs, operations, seconds
from widemargin.plans.learning import LearningPlan
from widemargin.plans.plan import (
    Chain,
    Plan,
    best_tree,
    best_tree_for_root,
    best_trees,
    heuristic_plan,
    minimum_arborescence,
)

__all__ = [
    "Chain",
    "CostMatrix",
    "GridGraph",
    "LearningPlan",
    "Plan",
    "Step",
    "best_tree",
    "best_tree_for_root",
    "best_trees",
    "heuristic_plan",
    "measure_costs",
    "minimum_arborescence",
    "operations",
    "seconds",
]

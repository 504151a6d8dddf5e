"""Search: which candidates are tried in which order, and from where each starts. It sees numbers only."""

from widemargin.search.graph import CostMatrix, GridGraph, Step, Work, measure_costs, operations, seconds
from widemargin.search.learning import LearningPlan
from widemargin.search.plan import (
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
    "Work",
    "best_tree",
    "best_tree_for_root",
    "best_trees",
    "heuristic_plan",
    "measure_costs",
    "minimum_arborescence",
    "operations",
    "seconds",
]

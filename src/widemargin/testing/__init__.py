"""Oracles, certificates and contracts: what a part of widemargin is judged by, shipped so that new parts can use it."""

from widemargin.testing.checks import (
    Certificate,
    certificate,
    check_feasible,
    check_report,
    check_solution,
    duality_gap,
    intercept,
    kkt_violation,
    objective,
)
from widemargin.testing.contracts import kernel_contract, solver_contract
from widemargin.testing.kernels import kernel_object_contract, naive_values
from widemargin.testing.multi_class import fuzzy_one_against_all, fuzzy_one_versus_one
from widemargin.testing.objectives import ObjectiveContract
from widemargin.testing.oracles import (
    kernel_matrix,
    mirror,
    predict_one_versus_one,
    project,
    solve_exactly,
    unmirror,
    vote_one_versus_one,
)
from widemargin.testing.probabilities import couple_slowly, favour_slowly, platt_likelihood, slope_likelihood
from widemargin.testing.problems import (
    Case,
    chess_board_case,
    classification_case,
    kinked_cases,
    many_class_points,
    regression_case,
    small_cases,
)
from widemargin.testing.strategies import StrategyContract
from widemargin.testing.tasks import (
    adaptable_kernels,
    points_with_a_closest_pair,
    small_regression_task,
    small_tasks,
)

__all__ = [
    "Case",
    "Certificate",
    "ObjectiveContract",
    "StrategyContract",
    "adaptable_kernels",
    "certificate",
    "check_feasible",
    "check_report",
    "check_solution",
    "chess_board_case",
    "classification_case",
    "couple_slowly",
    "duality_gap",
    "favour_slowly",
    "fuzzy_one_against_all",
    "fuzzy_one_versus_one",
    "intercept",
    "kernel_contract",
    "kernel_matrix",
    "kernel_object_contract",
    "kinked_cases",
    "kkt_violation",
    "many_class_points",
    "mirror",
    "naive_values",
    "objective",
    "points_with_a_closest_pair",
    "platt_likelihood",
    "predict_one_versus_one",
    "project",
    "regression_case",
    "slope_likelihood",
    "small_cases",
    "small_regression_task",
    "small_tasks",
    "solve_exactly",
    "solver_contract",
    "unmirror",
    "vote_one_versus_one",
]

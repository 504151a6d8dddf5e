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
from widemargin.testing.oracles import (
    kernel_matrix,
    predict_one_versus_one,
    project,
    solve_exactly,
    vote_one_versus_one,
)
from widemargin.testing.problems import Case, chess_board_case, classification_case, many_class_points, small_cases

__all__ = [
    "Case",
    "Certificate",
    "certificate",
    "check_feasible",
    "check_report",
    "check_solution",
    "chess_board_case",
    "classification_case",
    "duality_gap",
    "intercept",
    "kernel_contract",
    "kernel_matrix",
    "kkt_violation",
    "many_class_points",
    "objective",
    "predict_one_versus_one",
    "project",
    "small_cases",
    "solve_exactly",
    "solver_contract",
    "vote_one_versus_one",
]

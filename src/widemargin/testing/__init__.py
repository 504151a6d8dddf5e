"""Contracts that a new kernel, solver, objective, strategy or estimator is held to, for use outside the package too.

==========================================  ============================================================================
:func:`kernel_contract`                     a kernel of the core: values, structure, offsets, dense and sparse
:func:`kernel_object_contract`              a kernel object: values, parameters, derivatives, copies
:func:`solver_contract`                     a solver of dual problems: certificates, starts, budgets
:class:`ObjectiveContract`                  an objective: its gradient by differences, threads, weights, stopping
:class:`StrategyContract`                   a search strategy: replay, bounds, budgets, common sources of chance
==========================================  ============================================================================

Beside them is what they need: certificates (`checks`), exact solutions and kernels in NumPy (`oracles`), cases to solve
(`problems`, `tasks`). Everything here may import the whole package, and nothing in the package imports it at run time.
Naive twins that only the tests of widemargin itself use are in `tests/oracles`.
"""

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
from widemargin.testing.kernels import kernel_object_contract
from widemargin.testing.objectives import ObjectiveContract
from widemargin.testing.oracles import (
    kernel_matrix,
    mirror,
    project,
    solve_exactly,
    unmirror,
)
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
    "duality_gap",
    "intercept",
    "kernel_contract",
    "kernel_matrix",
    "kernel_object_contract",
    "kinked_cases",
    "kkt_violation",
    "many_class_points",
    "mirror",
    "objective",
    "project",
    "regression_case",
    "small_cases",
    "small_regression_task",
    "small_tasks",
    "solve_exactly",
    "solver_contract",
    "unmirror",
]

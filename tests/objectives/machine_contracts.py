"""The contract of objectives that train machines."""

from __future__ import annotations

from widemargin.objectives import Objective, Task
from widemargin.testing import ObjectiveContract, small_regression_task, small_tasks

LOSSES = ["hinge", "squared_hinge"]
MACHINE = {"state_error": 2e-4, "value_error": 2e-4}


def tasks(loss: str, **settings) -> list[Task]:
    return small_tasks(loss=loss, tolerance=1e-7, **settings)


def machine_contract(objective: Objective, loss: str, *, refuses_regression: bool = True) -> ObjectiveContract:
    refused = [(small_regression_task(), 1.0)] if refuses_regression else []
    return ObjectiveContract(objective, tasks(loss), refuses=refused, n_points=9, **MACHINE)


def check_counts(contract: ObjectiveContract) -> None:
    """Check all clauses but that of starts: one example more or less is no rounding, and is compared elsewhere."""
    for clause in contract.clauses():
        if clause != contract.does_not_depend_on_its_start:
            clause()

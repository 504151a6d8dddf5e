"""Cross-validation: the smooth loss has its derivatives, errors are counted."""

from __future__ import annotations

import pytest
from machine_contracts import LOSSES, check_counts, machine_contract

from widemargin.objectives import (
    CrossValidation,
)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    machine_contract(CrossValidation(loss="smooth"), loss).check()


@pytest.mark.parametrize("loss", LOSSES)
def test_errors_keep_the_contract(loss):
    check_counts(machine_contract(CrossValidation(), loss, refuses_regression=False))

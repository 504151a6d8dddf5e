"""The number of support vectors."""

from __future__ import annotations

import pytest
from machine_contracts import LOSSES, check_counts, machine_contract

from widemargin.objectives import (
    SupportVectors,
)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    check_counts(machine_contract(SupportVectors(), loss, refuses_regression=False))

"""A hold-out set: the smooth loss has its derivatives, errors are counted, shares are shares."""

from __future__ import annotations

import numpy as np
import pytest
from machine_contracts import LOSSES, check_counts, machine_contract

from widemargin.objectives import (
    Bootstrap,
    HoldOut,
    Likelihood,
    Posterior,
)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    machine_contract(HoldOut(loss="smooth", share=0.4), loss).check()


@pytest.mark.parametrize("loss", LOSSES)
def test_errors_keep_the_contract(loss):
    check_counts(machine_contract(HoldOut(), loss, refuses_regression=False))


@pytest.mark.parametrize("kind", [HoldOut, Bootstrap, Likelihood, Posterior])
@pytest.mark.parametrize("share", [0.0, 1.0, 2.0, -0.5, np.nan, "half"])
def test_shares_that_leave_nothing_are_refused(kind, share):
    with pytest.raises(ValueError, match=r"share must be a number between 0 and 1; got"):
        kind(share=share)

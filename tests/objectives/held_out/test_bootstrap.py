"""The bootstrap error."""

from __future__ import annotations

import pytest
from machine_contracts import LOSSES, check_counts, machine_contract

from widemargin.objectives import (
    Bootstrap,
    Likelihood,
    Posterior,
)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    check_counts(machine_contract(Bootstrap(), loss, refuses_regression=False))


@pytest.mark.parametrize("kind", [Bootstrap, Likelihood, Posterior])
@pytest.mark.parametrize("draws", [0, -1, 1.5])
def test_draws_that_are_none_are_refused(kind, draws):
    with pytest.raises(ValueError, match=r"draws must be a whole number of at least 1; got"):
        kind(draws=draws)

"""The likelihood of random hold-out sets."""

from __future__ import annotations

import pytest
from machine_contracts import LOSSES, MACHINE, machine_contract

from widemargin.kernels import Gaussian, GeneralGaussian, Polynomial, normalized
from widemargin.objectives import (
    Likelihood,
    SpanBound,
)
from widemargin.testing import ObjectiveContract, small_tasks


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", [Likelihood(share=0.4), Likelihood(draws=3)], ids=["share", "draws"])
def test_keeps_the_contract(objective, loss):
    machine_contract(objective, loss).check()


@pytest.mark.parametrize("kernel", [GeneralGaussian(), 0.5 * Gaussian(1.0) + normalized(Polynomial(2, gamma=0.5))])
def test_gradients_of_other_kernels(kernel):
    task = small_tasks(tolerance=1e-7)[0]
    for objective in (Likelihood(share=0.4), SpanBound("unchanged")):
        ObjectiveContract(objective, [task], [kernel], n_points=6, **MACHINE).has_the_slope_of_its_values()

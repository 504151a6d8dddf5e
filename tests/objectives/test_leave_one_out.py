"""The leave-one-out error against the loop that it stands for."""

from __future__ import annotations

import pytest
from machine_contracts import LOSSES, check_counts, machine_contract, tasks

from oracles.objectives import naive_continuous_span, naive_leave_one_out
from widemargin.kernels import Gaussian
from widemargin.objectives import (
    LeaveOneOut,
    SpanBound,
)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    check_counts(machine_contract(LeaveOneOut(), loss))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_leave_one_out_is_the_naive_loop(loss, number, C):
    task = tasks(loss)[number]
    kernel = Gaussian(0.4)
    assert LeaveOneOut().bind(task).evaluate(kernel, C).value == pytest.approx(naive_leave_one_out(task, kernel, C))
    found = SpanBound().bind(task).evaluate(kernel, C).value
    assert found == pytest.approx(naive_continuous_span(task, kernel, C), rel=1e-4)

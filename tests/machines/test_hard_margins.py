"""Chains that end in hard margins."""

from __future__ import annotations

import numpy as np

from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import Chain, ChainKernel, Link
from widemargin.machines.classifier import box
from widemargin.machines.dual import StopRule
from widemargin.machines.hard_margins import solve_to_the_hard_end


def test_the_hard_end_of_a_chain() -> None:
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    kernel = ChainKernel(row_source(X, kernel="linear"), kernel_matrix(X, kernel="linear"))

    def link(bounds: np.ndarray) -> Link:
        return Link(box(y, bounds))

    bounds = [np.full(4, C) for C in (0.1, 1.0, np.inf, np.inf)]
    soft = Chain(tuple(link(own) for own in bounds[:2]))
    found = list(solve_to_the_hard_end(kernel, soft, bounds, link, 1.0, StopRule(1e-6)))
    assert all(one.hard_margin_found for one in found)
    assert [one.repeated for one in found] == [False, False, True, True]
    np.testing.assert_allclose(found[-1].solution.alpha, [0.0, 0.5, -0.5, 0.0], atol=1e-6)

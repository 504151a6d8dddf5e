"""The radius-margin quotient: values, derivatives, a theorem."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_contracts import MACHINE, tasks

from oracles.objectives import naive_radius_margin, points_with_a_closest_pair
from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian
from widemargin.objectives import (
    RadiusMargin,
    Task,
)
from widemargin.testing import ObjectiveContract, small_regression_task


def test_keeps_the_contract():
    ObjectiveContract(
        RadiusMargin(),
        tasks("squared_hinge"),
        oracle=lambda task, kernel, C, generator: naive_radius_margin(task, kernel, C),
        refuses=[(tasks("hinge")[0], 1.0), (small_regression_task(), 1.0)],
        n_points=9,
        **(MACHINE | {"value_error": 1e-6}),
    ).check()


def test_hard_margins_out_of_reach_are_told():
    X, y = chess_board(100, random_state=0)
    bound = RadiusMargin().bind(Task(X, np.where(y > 0, 1, 0), 2, np.ones(100)))
    narrow, wide = (bound.evaluate(Gaussian(gamma), np.inf) for gamma in (5.0, 0.05))
    assert narrow.notes == ()
    assert "no hard margin" in wide.notes[0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), unlike=st.booleans())
def test_theorem_9_3(seed, unlike):
    """[Glasmachers2008, Theorem 9.3]: narrow kernels follow the labels of the closest pair."""
    X, (p, q), squared = points_with_a_closest_pair(8, 3, seed=seed, closer=0.7)
    generator = np.random.default_rng(seed)
    y = np.repeat([0, 1], 4)
    while (y[p] != y[q]) != unlike:
        y = generator.permutation(y)
    task = Task(X, y, 2, np.ones(8), tolerance=1e-9)
    for exponent in (12.0, 20.0):
        found = RadiusMargin().bind(task).evaluate(Gaussian(exponent / squared), np.inf)
        assert found.c_slope is None
        assert (found.gradient[0] < 0) == unlike

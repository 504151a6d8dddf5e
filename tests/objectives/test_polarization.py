"""Polarization, and what it does in the limit of narrow kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.objectives import points_with_a_closest_pair, polarization
from widemargin.kernels import Gaussian
from widemargin.objectives import Polarization, Task
from widemargin.testing import (
    ObjectiveContract,
    adaptable_kernels,
    small_regression_task,
    small_tasks,
)


@pytest.mark.parametrize("centred", [False, True])
def test_keeps_the_contract(centred):
    one_class = Task(np.zeros((3, 1)), np.array([1, 1, 0]), 2, np.array([1.0, 1.0, 0.0]))
    ObjectiveContract(
        Polarization(centred),
        [*small_tasks(), small_regression_task()],
        adaptable_kernels(),
        oracle=lambda task, kernel, C, generator: polarization(task, kernel, seen_from_mean=centred),
        refuses=[(one_class, 1.0)],
        n_points=8,
    ).check()


@given(st.integers(0, 2**32 - 1), st.integers(4, 12), st.integers(1, 5), st.data())
def test_narrow_kernels_follow_the_labels_of_the_closest_pair(seed, n, d, data):
    """[Glasmachers2008, Theorem 9.4]: at large gamma dP/dgamma > 0 exactly if the closest pair has two labels."""
    X, (p, q), squared = points_with_a_closest_pair(n, d, seed=seed, closer=0.5)
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    # Fewer than n^2 / 2 other pairs, each at twice the squared distance or more, together weigh exp(-1) of the closest.
    gamma = (2.0 * np.log(n) + 1.0) / squared
    found = Polarization().bind(Task(X, y, 2, np.ones(n))).evaluate(Gaussian(gamma), 1.0)
    assert np.sign(found.gradient[0]) == (1.0 if y[p] != y[q] else -1.0)

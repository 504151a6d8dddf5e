"""Kernels scaled to k(x, x) = 1."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.kernels import Linear, Normalized, Polynomial


def test_an_example_without_length_has_no_angle():
    points = np.array([[0.0, 0.0], [1.0, 2.0]])
    kernel = Normalized(Linear())
    assert kernel(points).tolist() == [[0.0, 0.0], [0.0, pytest.approx(1.0)]]
    assert kernel.diagonal(points).tolist() == [0.0, 1.0]
    scaled = Normalized(2.0 * Polynomial(gamma=1.0, coef0=0.0))
    assert np.isfinite(scaled.pull_back(np.ones((2, 2)), points, points, scaled(points))).all()

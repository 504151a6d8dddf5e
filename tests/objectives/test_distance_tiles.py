"""Sums over distances, kept in tiles and shared among threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from oracles.objectives import class_distances
from widemargin.kernels import Gaussian, Mahalanobis
from widemargin.objectives import ClassDistance, distance_tiles
from widemargin.testing import adaptable_kernels, small_tasks


def test_only_scales_of_distances_have_higher_derivatives():
    task = small_tasks()[2]
    have = [
        bool(ClassDistance().bind(task).evaluate(kernel.fitted(task.X, gamma=0.3), 1.0).higher)
        for kernel in adaptable_kernels()
    ]
    assert have == [isinstance(kernel, Gaussian | Mahalanobis) for kernel in adaptable_kernels()]


def test_distances_are_kept_only_for_the_same_map():
    class Stretched(Gaussian):
        """A Gaussian of examples that are multiplied by a number first."""

        def __init__(self, gamma=None, gamma_bounds=(1e-8, 1e8), factor=1.0):
            super().__init__(gamma, gamma_bounds)
            self.factor = factor

        def mapped(self, X):
            return X * self.factor

    task = small_tasks()[0]
    bound = ClassDistance().bind(task)
    for factor in (1.0, 2.0, 1.0):
        found = bound.evaluate(Stretched(0.3, factor=factor), 1.0).value
        assert found == pytest.approx(class_distances(task, Gaussian(0.3 * factor**2)(task.X))[0], rel=1e-10)


def test_what_is_not_kept_is_computed_again(monkeypatch):
    task, kernel = small_tasks()[2], Gaussian(0.3)
    kept = ClassDistance().bind(task).evaluate(kernel, 1.0)
    monkeypatch.setattr(distance_tiles, "MOST_KEPT", 0)
    bound = ClassDistance().bind(task)
    for _ in range(2):
        found = bound.evaluate(kernel, 1.0)
        assert (found.value, found.higher) == (kept.value, kept.higher)


@pytest.mark.parametrize("most_kept", [0, 2**20])
def test_threads_share_tiles(most_kept, monkeypatch):
    monkeypatch.setattr(distance_tiles, "EDGE", 7)
    monkeypatch.setattr(distance_tiles, "MOST_KEPT", most_kept)
    task = small_tasks(n=120)[2]
    kernels = [Gaussian(gamma) for gamma in np.geomspace(0.01, 10.0, 16)]
    alone = [ClassDistance().bind(task).evaluate(kernel, 1.0).higher for kernel in kernels]
    bound = ClassDistance().bind(task)
    with ThreadPoolExecutor(4) as threads:
        assert [found.higher for found in threads.map(lambda kernel: bound.evaluate(kernel, 1.0), kernels)] == alone

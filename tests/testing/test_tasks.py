"""Small tasks are the same on every call, and of the kinds that objectives are for."""

from __future__ import annotations

import numpy as np

from widemargin.testing import adaptable_kernels, small_regression_task, small_tasks


def test_tasks_repeat_themselves():
    for first, second in zip(small_tasks(seed=3), small_tasks(seed=3), strict=True):
        assert np.array_equal(first.X, second.X)
        assert np.array_equal(first.y, second.y)
        assert np.array_equal(first.weights, second.weights)
    assert not np.array_equal(small_tasks(seed=3)[0].X, small_tasks(seed=4)[0].X)


def test_tasks_are_of_every_kind():
    tasks = [*small_tasks(n=12, d=2), small_regression_task(n=12, d=2)]
    assert [task.n_classes for task in tasks] == [2, 2, 3, 0]
    assert [len(set(task.weights)) > 1 for task in tasks] == [False, True, False, True]
    assert all(task.X.shape == (12, 2) for task in tasks)


def test_every_kernel_has_something_to_adapt():
    X = small_tasks()[0].X
    assert all(kernel.fitted(X).n_dims > 0 for kernel in adaptable_kernels())

"""Streams that come sorted by class are told from those that are mixed."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.machines.online.arrival_order import ArrivalOrder


def after(labels: np.ndarray, n_classes: int, batch: int = 7) -> ArrivalOrder:
    order = ArrivalOrder(n_classes)
    for begin in range(0, len(labels), batch):
        order.came(labels[begin : begin + batch].astype(np.int32))
    return order


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_sorted_classes_are_recognised(n_classes: int, batch: int) -> None:
    labels = np.repeat(np.arange(n_classes), 60)
    order = after(labels, n_classes, batch)
    assert (order.seen, order.changes) == (60 * n_classes, n_classes - 1)
    assert order.changes_expected == pytest.approx(60 * n_classes - 60)
    assert order.is_sorted
    assert after(labels[::-1], n_classes, batch).is_sorted


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.99, 0.01], [0.6, 0.3, 0.1], [0.97, 0.01, 0.01, 0.01]])
def test_random_order_is_not_called_sorted(shares: list[float]) -> None:
    for seed in range(50):
        labels = np.random.default_rng(seed).choice(len(shares), 3000, p=shares)
        order = ArrivalOrder(len(shares))
        for begin in range(0, 3000, 50):
            order.came(labels[begin : begin + 50].astype(np.int32))
            assert not order.is_sorted


def test_few_samples_and_one_class_say_nothing() -> None:
    assert not after(np.repeat([0, 1], 15), 2).is_sorted
    assert not after(np.zeros(5000), 2).is_sorted
    assert not ArrivalOrder(3).is_sorted

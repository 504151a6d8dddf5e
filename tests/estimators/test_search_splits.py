"""What the threads of a search share of a split."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from widemargin import SVC
from widemargin.estimators.splits.classifier import ClassifierSplit


@pytest.fixture
def split() -> ClassifierSplit:
    y = np.array([0, 1] * 10)
    return ClassifierSplit(y, np.arange(16), np.arange(16, 20), np.ones(20), np.arange(16, 20))


def test_a_thread_sees_no_weights_that_another_has_not_finished(split, monkeypatch):
    machine = SVC(C=2.0, class_weight="balanced")
    at_work, seen = threading.Event(), threading.Event()
    factors = SVC._class_factors

    def slow_for_the_first(self, labels, weights):
        if not at_work.is_set():
            at_work.set()
            assert seen.wait(60)
        return factors(self, labels, weights)

    monkeypatch.setattr(SVC, "_class_factors", slow_for_the_first)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(split._bounds, machine)
        try:
            assert at_work.wait(60)
            second = split._bounds(machine)
        finally:
            seen.set()
        expected = np.repeat([2.0, 0.0], [16, 4])
        np.testing.assert_array_equal(second, expected)
        np.testing.assert_array_equal(first.result(), expected)


def test_problems_of_another_kernel_are_not_built_again(split):
    Cs = (1.0, 2.0, np.inf)
    first = split._problems_of([SVC(C=C, gamma=1.0) for C in Cs])
    assert split._problems_of([SVC(C=C, gamma=5.0) for C in Cs]) is first
    (pair,) = first
    assert [link.problem.upper.max() for link in pair.links] == [1.0, 2.0]
    assert [bounds.max() for bounds in pair.bounds] == [1.0, 2.0, np.inf]


@pytest.mark.parametrize("other", [{"C": 3.0}, {"loss": "squared_hinge"}, {"class_weight": {0: 2.0}}], ids=str)
def test_problems_of_other_machines_are_built(split, other):
    ((first,),) = (one.links for one in split._problems_of([SVC()]))
    ((own,),) = (one.links for one in split._problems_of([SVC(**other)]))
    assert not np.array_equal(own.problem.upper, first.problem.upper)


def test_large_problems_are_not_kept():
    y = np.tile([0, 1], 60_000)
    rows = np.arange(len(y))
    split = ClassifierSplit(y, rows, rows[:2], np.ones(len(y)), rows[:2])
    machines = [SVC(C=1.0), SVC(C=2.0)]
    assert split._problems_of(machines) is not split._problems_of(machines)

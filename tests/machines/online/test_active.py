"""Active passes: which samples they take, in which order, and when they end."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from widemargin import _core
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.online.active import FIRST_OF_EACH, ActivePass
from widemargin.machines.online.stream import OnlineRules
from widemargin.runtime import Stop


def problem(classes: int, n: int = 90) -> tuple[Any, Any]:
    random = np.random.default_rng(classes)
    labels = random.integers(0, classes, n).astype(np.int32)
    return random.normal(size=(n, 2)) + labels[:, np.newaxis], labels


class Draws:
    """Random numbers that are written down."""

    def __init__(self) -> None:
        self.random, self.drawn = np.random.RandomState(0), []

    def randint(self, n: int, size: int) -> Any:
        self.drawn.append(self.random.randint(n, size=size))
        return self.drawn[-1]


@pytest.mark.parametrize("classes", [2, 3])
def test_every_turn_takes_the_candidate_that_is_nearest_to_the_boundary(classes: int) -> None:
    X, labels = problem(classes)
    rows, rules, draws = row_source(X, gamma=0.5), OnlineRules().of_core(), Draws()
    bounds, core, taken = np.full(len(X), 3.0), _core.OnlineMachine(classes, True), []
    order, K = np.arange(len(X), dtype=np.int32), kernel_matrix(X, gamma=0.5, dtype="float64")
    least: list[tuple[int, float]] = []

    class Watched:
        """The machine; before each turn, what a plain computation chooses is written down."""

        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def learn_nearest(self, source: Any, ids: Any, samples: Any, *others: Any) -> int:
            values = K[np.ix_(samples, ids)] @ core.alpha().T + core.certificates()[:, 3]
            ordered = np.sort(values, axis=1)
            gaps = np.abs(values[:, 0]) if classes == 2 else ordered[:, -1] - ordered[:, -2]
            which = core.learn_nearest(source, ids, samples, *others)
            least.append((which, float(gaps[which] - gaps.min())))
            return which

    ActivePass(order, 40, draws, Stop(), taken).run(Watched(), rows, core.samples(), 0, labels, bounds, rules)
    assert len(taken) == len(set(taken)) == 40
    assert np.bincount(labels[taken[: classes * FIRST_OF_EACH]]).tolist() == [FIRST_OF_EACH] * classes
    assert len(least) == 40 - classes * FIRST_OF_EACH
    assert max(short for _, short in least) < 1e-6
    assert len({which for which, _ in least}) > 5
    assert core.seen == 40


def test_a_pass_takes_every_sample_once_and_ends_where_time_does() -> None:
    X, labels = problem(2)
    rows, rules, bounds = row_source(X, gamma=0.5), OnlineRules().of_core(), np.full(len(X), 3.0)
    order = np.arange(5, len(X), dtype=np.int32)
    core, taken = _core.OnlineMachine(2, True), []
    ActivePass(order, len(order), np.random.RandomState(0), Stop(), taken).run(
        core, rows, core.samples(), 0, labels, bounds, rules
    )
    assert sorted(taken) == order.tolist()
    # The same samples again, most of which are kept.
    again: list[int] = []
    ActivePass(order, len(order), np.random.RandomState(1), Stop(), again).run(
        core, rows, core.samples(), 0, labels, bounds, rules
    )
    assert sorted(again) == order.tolist()
    late: list[int] = []
    stop = Stop(deadline=time.perf_counter() - 1.0)
    core = _core.OnlineMachine(2, True)
    ActivePass(order, len(order), np.random.RandomState(1), stop, late).run(
        core, rows, core.samples(), 0, labels, bounds, rules
    )
    assert len(late) == 2 * FIRST_OF_EACH


def test_the_core_refuses_candidates_that_are_none() -> None:
    X, labels = problem(2)
    rows, rules, core = row_source(X, gamma=0.5), OnlineRules().of_core(), _core.OnlineMachine(2, True)
    for some in ([], [1, 1]):
        ids = np.array(some, dtype=np.int32)
        with pytest.raises(ValueError, match="each of them once"):
            core.learn_nearest(rows, core.samples(), ids, labels[ids], np.ones(len(ids)), rules)

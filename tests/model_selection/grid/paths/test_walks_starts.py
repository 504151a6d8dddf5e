"""Walks through the chains of a search: who trains what, from where, and how often."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

from widemargin.machines.chain import LinkSolution
from widemargin.machines.dual import Outcome, Solution
from widemargin.model_selection.grid.folds import Start, Way
from widemargin.model_selection.grid.paths.walks import (
    Backbone,
    LearningBackbone,
    PlannedWalk,
    Stretch,
    Walk,
    by_width,
    plan_across,
)
from widemargin.plans import Chain

PARAMETERS = [{"C": C, "gamma": g} for g in (0.1, 1.0, 10.0) for C in (1.0, 2.0)]
LINES = [(0, 1), (2, 3), (4, 5)]
UP: list[Way] = ["up"] * 3

#: The first line is entered in its middle; others branch off at its ends and from each other.
CHAINS = [Chain((1, 2, 3), None, None), Chain((0,), 1, None), Chain((4, 5), 3, None), Chain((6,), 2, None)]


def along_a_line(before: int, after: int) -> bool:
    return before < 4 and after < 4


class Trainer:
    """Trains nothing, but remembers what it was asked; a start tells the machine that it is of."""

    def __init__(self, steps: Any = None, failing: frozenset[int] = frozenset()) -> None:
        self.calls: list[tuple[int, tuple[int, ...], tuple[int, int] | None, int | None]] = []
        self._steps, self._failing = steps, failing

    def __call__(
        self, split: int, candidates: tuple[int, ...], start: Start | None, joint: int | None
    ) -> Stretch | None:
        self.calls.append((split, candidates, None if start is None else place_of(start), joint))
        if self._failing.intersection(candidates):
            return None
        steps = 1 if self._steps is None else self._steps[candidates[-1]][start is not None]
        outcome = Outcome("converged", 0.0, 0.0, 0.0, "float32", iterations=steps)
        links = [[LinkSolution(Solution(np.array([float(one)]), np.zeros(1), 0.0, outcome))] for one in candidates]
        return Stretch(links, Start.of({"place": np.array([split + 1.0, candidates[-1] + 1.0])}))


def place_of(start: Start) -> tuple[int, int]:
    split, candidate = start.coefficients("place")
    return int(split) - 1, int(candidate) - 1


def begun(walk: Walk, split: int, candidates: tuple[int, ...], train: Trainer) -> tuple[Any, ...]:
    """What begin() says: the candidates that are known, those its links are of, and where the others start."""
    found = walk.begin(split, candidates, train)
    assert found.joint == (found.candidates[-1] if found.candidates else walk._joints.get(candidates[0]))
    linked = tuple(int(link.solution.alpha[0]) for stretch in found.stretches for (link,) in stretch.links)
    assert linked == found.candidates
    return found.candidates, None if found.start is None else place_of(found.start)


def test_a_plan_is_walked_on_every_split_by_itself() -> None:
    walk, train = PlannedWalk(CHAINS, along_a_line), Trainer()
    assert walk.chains == [(1, 2, 3), (0,), (4, 5), (6,)]
    for split in (0, 1):
        assert begun(walk, split, (1, 2, 3), train) == ((1, 2, 3), (split, 3))
        assert begun(walk, split, (0,), train) == ((), (split, 1))
        assert begun(walk, split, (4, 5), train) == ((), (split, 3))
        assert begun(walk, split, (6,), train) == ((), (split, 2))
    # Up to each machine that others start from, from the last of these, which is not trained again.
    assert train.calls == [
        call
        for split in (0, 1)
        for call in [
            (split, (1,), None, None),
            (split, (2,), (split, 1), 1),
            (split, (3,), (split, 2), 2),
        ]
    ]


def test_whoever_comes_first_trains_what_it_needs_and_nobody_trains_it_again() -> None:
    walk, train = PlannedWalk(CHAINS, along_a_line), Trainer()
    assert begun(walk, 2, (6,), train) == ((), (2, 2))
    assert [candidates for _, candidates, _, _ in train.calls] == [(1,), (2,)]
    assert begun(walk, 2, (1, 2, 3), train) == ((1, 2, 3), (2, 3))
    assert [candidates for _, candidates, _, _ in train.calls] == [(1,), (2,), (3,)]
    # But for a chain that comes a second time: starts are known, links are not.
    assert begun(walk, 2, (1, 2, 3), train) == ((1, 2, 3), (2, 3))
    assert train.calls[3:] == [(2, (1,), None, None), (2, (2,), (2, 1), 1), (2, (3,), (2, 2), 2)]


def test_stretches_reach_to_the_next_machine_that_is_wanted() -> None:
    chains = [Chain((0, 1, 2, 3, 4), None, None), Chain((5,), 1, None), Chain((6,), 3, None)]
    walk, train = PlannedWalk(chains, along_a_line), Trainer()
    assert begun(walk, 0, (0, 1, 2, 3, 4), train) == ((0, 1, 2, 3), (0, 3))
    assert train.calls == [(0, (0, 1), None, None), (0, (2, 3), (0, 1), 1)]


def test_a_line_that_is_entered_in_the_middle_goes_on_both_ways() -> None:
    chains = [Chain((1, 2, 3), None, None), Chain((0,), 1, None), Chain((4,), 0, None), Chain((5,), 3, None)]
    walk, train = PlannedWalk(chains, along_a_line), Trainer()
    assert walk.begin(0, (5,), train).joint is None
    assert begun(walk, 0, (0,), train) == ((0,), (0, 0))
    assert train.calls == [(0, (1,), None, None), (0, (2, 3), (0, 1), 1), (0, (0,), (0, 1), 1)]


def test_what_cannot_be_trained_is_no_start() -> None:
    walk, train = PlannedWalk(CHAINS, along_a_line), Trainer(failing=frozenset({2}))
    assert begun(walk, 0, (6,), train) == ((), None)
    assert begun(walk, 0, (4, 5), train) == ((), None)
    assert begun(walk, 0, (1, 2, 3), train) == ((1,), (0, 1))
    assert begun(walk, 0, (0,), train) == ((), (0, 1))
    # It may be another time, when there is more of it.
    assert begun(walk, 0, (6,), Trainer()) == ((), (0, 2))


def test_threads_that_need_the_same_machines_train_them_once() -> None:
    chains = [Chain((0, 1), None, None), *(Chain((2 * k, 2 * k + 1), 2 * k - 1, None) for k in range(1, 6))]
    walk, train = PlannedWalk(chains, along_a_line), Trainer()
    threads = [
        threading.Thread(target=walk.begin, args=(split, chain.nodes, train))
        for chain in reversed(chains)
        for split in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    counts = Counter((split, one) for split, candidates, _, _ in train.calls for one in candidates)
    assert counts == {(split, one): 1 for split in (0, 1) for one in range(10)}


def walked(walk: Walk, steps: Any) -> list[tuple[int, bool]]:
    """Ask for all chains, the widest kernel first; return what was trained, and whether from a start."""
    train = Trainer(steps)
    for line in LINES:
        assert begun(walk, 1, line, train) == ((), (0, line[0]))
        assert begun(walk, 0, line, train) == ((line[0],), (0, line[0]))
    assert all((split, joint) == (0, None) for split, _, _, joint in train.calls)
    return [(candidates[0], start is not None) for _, candidates, start, _ in train.calls]


def test_the_backbone_goes_from_width_to_width_and_from_the_first_split_to_others() -> None:
    assert walked(Backbone(PARAMETERS, LINES, UP), {line[0]: (100, 1000) for line in LINES}) == [
        (4, False),
        (2, True),
        (0, True),
    ]


def test_chains_come_in_the_order_of_the_backbone() -> None:
    assert Backbone(PARAMETERS, LINES, UP).chains == LINES[::-1]


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("name", ["gamma", "svc__gamma", "kernel__delta"])
def test_lines_that_differ_in_their_width_need_no_graph(way: Way, name: str) -> None:
    scaler = object()
    for widths in ([], [1.0], [0.1, 1, np.float64(10.0)], [2.0, 8.0, 0.5, 1.0]):
        parameters = [{"C": 1.0, name: width, "scaler": scaler, "degree": 2} for width in widths]
        ways = [way] * len(widths)
        order, plan = by_width(parameters, ways), plan_across(parameters, ways)
        assert order is not None
        assert tuple(order) == plan.order
        assert [plan.parents[number] for number in order] == [None, *order][: len(widths)]


@pytest.mark.parametrize(
    "parameters",
    [
        [{"gamma": 0.1, "degree": 2}, {"gamma": 1.0, "degree": 3}],
        [{"gamma": 0.1}, {"gamma": 1.0, "degree": 3}],
        [{"gamma": 0.1}, {"gamma": "scale"}],
        [{"gamma": 0.1, "kernel__gamma": 1.0}, {"gamma": 0.1, "kernel__gamma": 2.0}],
        [{"degree": 2}, {"degree": 3}],
    ],
)
def test_lines_that_differ_otherwise_are_planned(parameters: list[dict[str, Any]]) -> None:
    assert by_width(parameters, ["up", "up"]) is None


def test_lines_of_several_ways_or_from_nothing_are_planned() -> None:
    parameters = [{"gamma": 0.1}, {"gamma": 1.0}]
    assert by_width(parameters, ["up", "down"]) is None
    assert by_width(parameters, ["cold", "cold"]) is None


def test_lines_that_go_down_start_from_the_largest_value_of_the_next_wider_kernel() -> None:
    walk, train = Backbone(PARAMETERS, LINES, ["down"] * 3), Trainer()
    assert walk.chains == [(1, 0), (3, 2), (5, 4)]
    assert begun(walk, 1, (5, 4), train) == ((), (0, 5))
    assert train.calls == [(0, (1,), None, None), (0, (3,), (0, 1), None), (0, (5,), (0, 3), None)]
    assert begun(walk, 0, (5, 4), train) == ((5,), (0, 5))


def test_lines_of_several_ways_do_not_meet() -> None:
    solvers = {"a": "up", "b": "down", "c": "cold"}
    parameters = [{"C": C, "gamma": g, "solver": s} for s in solvers for g in (0.1, 1.0) for C in (1.0, 2.0)]
    lines = [(number, number + 1) for number in range(0, 12, 2)]
    ways: list[Way] = ["up", "up", "down", "down", "cold", "cold"]
    walk, train = Backbone(parameters, lines, ways), Trainer()
    for split in (1, 0):
        for chain in walk.chains:
            walk.begin(split, chain, train)
    assert sorted(train.calls) == [
        (0, (0,), (0, 2), None),
        (0, (2,), None, None),
        (0, (5,), None, None),
        (0, (7,), (0, 5), None),
    ]
    for split in (0, 1):
        assert [begun(walk, split, line, train) for line in ((8, 9), (10, 11))] == [((), None)] * 2
    learning, train = LearningBackbone(parameters, lines, ways), Trainer()
    assert begun(learning, 1, (8, 9), train) == ((), (0, 8))
    assert train.calls == [(0, (10,), None, None), (0, (8,), (0, 10), None)]


def test_experience_says_where_starting_from_nothing_is_cheaper() -> None:
    for steps, starts in (((100, 1000), False), ((100, 10), True)):
        walk = LearningBackbone(PARAMETERS, LINES, UP)
        assert walked(walk, {line[0]: steps for line in LINES}) == [(4, False), (2, True), (0, starts)]


def test_only_the_way_to_a_width_counts_as_experience() -> None:
    parameters = [{"gamma": g, "degree": d} for d in (2, 3) for g in (0.1, 1.0, 10.0)]
    lines = [(number,) for number in range(6)]
    steps = {number: (100, 1000) for number in range(6)}
    ways = []
    for order in (lines, lines[::-1], lines[3:] + lines[:3]):
        train, walk = Trainer(steps), LearningBackbone(parameters, lines, ["up"] * 6)
        for line in order:
            walk.begin(0, line, train)
        ways.append(sorted((candidates, start) for _, candidates, start, _ in train.calls))
    assert ways[0] == ways[1] == ways[2]


@pytest.mark.parametrize("kind", [Backbone, LearningBackbone])
def test_a_machine_that_ended_early_is_no_start(kind: type[Backbone]) -> None:
    walk = kind(PARAMETERS, LINES, UP)
    assert begun(walk, 0, LINES[1], Trainer(failing=frozenset(range(6)))) == ((), None)
    assert begun(walk, 0, LINES[0], Trainer()) == ((0,), (0, 0))

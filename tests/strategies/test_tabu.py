"""Tabu search: the walk of Table 1, step by step, and what the paper leaves open."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tabu import TabuWalk
from widemargin.strategies import Ask, Lattice, Space, TabuSearch, Told
from widemargin.strategies.tabu import LARGE, Move, TabuRun
from widemargin.testing.strategies import StrategyContract, minimise

NONE = [math.nan, math.inf, -math.inf]


def lattice(ranges: Any, switches: Any = None) -> Lattice:
    low, high = np.array(ranges, dtype=np.float64).T
    off = np.zeros(len(low), dtype=np.bool_) if switches is None else np.array(switches)
    return Lattice(np.zeros(len(low)), low, high, steps=np.ones(len(low)), switches=off)


def begun(ranges: Any, switches: Any = None, seed: int = 0, **options: Any) -> TabuRun:
    run = TabuSearch(**options).begin(lattice(ranges, switches), seed=seed)
    assert isinstance(run, TabuRun)
    return run


def walked(run: TabuRun) -> list[Any]:
    """Return the walk; of one variable as numbers."""
    found = [tuple(one.tolist()) for one in run.solutions]
    return [one[0] for one in found] if run.space.n_dims == 1 else found


def answered(run: TabuRun, value: Any, times: int = 1) -> list[list[Any]]:
    """Answer some asks; return what they asked for, of one variable as numbers."""
    asked = []
    for _ in range(times):
        points = [tuple(ask.point.astype(int).tolist()) for ask in run.ask()]
        if not points:
            break
        run.tell([Told(float(value(*point))) for point in points])
        asked.append([point[0] if len(point) == 1 else point for point in points])
    return asked


@pytest.mark.parametrize("step", [0.0625, 0.1])
def test_contract(step: float) -> None:
    # The nearest point of the lattice to the minimum at 0.7, from a start at 2 and -2.
    StrategyContract(TabuSearch(step=step), precision=0.5 * step + 1e-9).check()


def test_contract_with_usual_steps() -> None:
    StrategyContract(TabuSearch(), precision=0.5 * math.log(2.0) / 2.0 + 1e-9).check()


def test_defaults_are_those_of_the_paper() -> None:
    usual = TabuSearch()
    assert (usual.promising, usual.patience, usual.failures) == (0.99, 5, 5)
    assert begun([(-3, 4), (0, 1), (2, 2 + 5)][:2])._memory == 7 + 1
    assert begun([(-3, 4), (0, 1)], memory=3)._memory == 3


# Values of one variable from -3 to 3; smaller is better, and 0 is the minimum.
VALLEY = {-3: 9.0, -2: 4.0, -1: 1.0, 0: 0.0, 1: 2.0, 2: 5.0, 3: 3.0}


def test_a_walk_by_hand() -> None:
    run = begun([(-3, 3)], patience=1, failures=1)
    value = VALLEY.__getitem__
    assert answered(run, value) == [[0]]
    assert (walked(run), run.phase) == ([0], "intensification")
    # Both neighbours are worse; the better of them is taken.
    assert answered(run, value) == [[-1, 1]]
    assert (walked(run), run.n_without_improvement) == ([0, -1], 1)
    # 0 is tabu, since the variable had it; its other neighbour is taken, and that is the second without improvement.
    assert run.is_tabu(Move(0, 0))
    assert not run.is_tabu(Move(0, -2))
    assert answered(run, value) == [[-2]]
    assert (walked(run), run.phase, run.n_failures) == ([0, -1, -2], "diversification", 1)
    # delta = 2. Down is out of range, and 0 is tabu, but there is no other variable. From there, -2 is tabu and 2 is
    # not; but more than 1 * 1 jumps are made, and the best of them, 0, takes the place of the last one.
    assert answered(run, value) == [[2]]
    assert (walked(run), run.phase, run.n_jumps) == ([0, -1, -2, 0, 0], "intensification", 2)
    # -1 is tabu, 1 is not; 2 was looked at, but is not part of the walk, and so is not tabu: the second failure.
    assert answered(run, value) == []
    assert walked(run) == [0, -1, -2, 0, 0, 1, 2]
    assert (run.best.tolist(), run.reason) == ([0.0], "2 intensifications in a row found nothing better")


def test_the_tabu_rule_forgets() -> None:
    """With a memory of two solutions, the current one and the one before, a value may come back after two moves."""
    run = begun([(-9, 9), (-9, 9)], memory=2, patience=9)
    slope = {(0, 0): 0.0, (1, 0): 1.0, (1, 1): 2.0, (2, 1): 3.0}
    answered(run, lambda *at: slope.get(at, 50.0 + abs(at[0]) + abs(at[1])), 4)
    assert walked(run) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    assert [run.is_tabu(Move(0, value)) for value in (0, 1, 3)] == [False, True, False]
    assert not run.is_tabu(Move(1, 0))
    long = begun([(-9, 9), (-9, 9)], memory=4, patience=9)
    answered(long, lambda *at: slope.get(at, 50.0 + abs(at[0]) + abs(at[1])), 4)
    assert [long.is_tabu(Move(0, value)) for value in (0, 1, 3)] == [True, True, False]
    assert long.is_tabu(Move(1, 0))


def test_aspiration_takes_what_is_tabu_and_begins_again() -> None:
    """A value that the walk was at before, with another variable changed meanwhile, is better than all: it is taken."""
    value = {(0, 0): 5.0, (1, 0): 6.0, (1, 1): 7.0, (1, 2): 8.0, (0, 2): 1.0}
    run = begun([(-4, 4), (-4, 4)], patience=4)
    answered(run, lambda *at: value.get(at, 50.0), 4)
    assert (walked(run), run.n_without_improvement) == ([(0, 0), (1, 0), (1, 1), (1, 2)], 3)
    assert run.is_tabu(Move(0, 0))
    run.n_failures = 2
    answered(run, lambda *at: value.get(at, 50.0))
    assert walked(run)[-1] == (0, 2)
    assert (run.phase, run.n_failures, run.n_without_improvement) == ("intensification", 0, 0)


def test_aspiration_ends_a_diversification() -> None:
    # Two apart there is something better than the start, out of reach of basic moves through a ridge on both sides.
    value = {0: 1.0, 1: 3.0, -1: 2.0, -2: 4.0, -3: 5.0, -4: 6.0, -5: -1.0, -6: 0.0, -7: 0.0}
    run = begun([(-9, 9)], patience=1)
    answered(run, lambda at: value.get(at, 50.0), 3)
    assert (walked(run), run.phase, run.n_failures) == ([0, -1, -2], "diversification", 1)
    assert answered(run, lambda at: value.get(at, 50.0)) == [[-4]]
    assert walked(run) == [0, -1, -2, -4]
    assert answered(run, lambda at: value.get(at, 50.0)) == [[-6]]
    assert walked(run) == [0, -1, -2, -4, -6]
    assert (run.phase, run.n_failures, run.n_without_improvement) == ("intensification", 0, 0)
    # And again, by a basic move.
    answered(run, lambda at: value.get(at, 50.0))
    assert (walked(run)[-1], run.n_failures, run.best.tolist()) == (-5, 0, [-5.0])


def test_an_improvement_that_is_no_record_resets_patience_but_not_failures() -> None:
    value = {0: 0.0, 1: 4.0, -1: 3.0, -2: 5.0, -4: 9.0, -6: 9.5, -5: 8.0, -3: 6.0, -7: 7.0, -8: 9.0}
    run = begun([(-9, 9)], patience=1)
    answered(run, lambda at: value.get(at, 50.0), 3)
    assert (walked(run), run.n_failures) == ([0, -1, -2], 1)
    answered(run, lambda at: value.get(at, 50.0), 2)
    # Of the jumps to -4 and -6 the first was better; from there -3 improves on it.
    assert (walked(run), run.phase) == ([0, -1, -2, -4, -4], "intensification")
    answered(run, lambda at: value.get(at, 50.0))
    assert (walked(run)[-1], run.n_without_improvement, run.n_failures) == (-3, 0, 1)


@pytest.mark.parametrize("n_failures", [1, 2, 3])
def test_jumps_grow_with_failures(n_failures: int) -> None:
    """Nothing is better than the start: jumps are failures + 1 long, of a variable that is no switch."""
    run, jumps, ends = begun([(-500, 500)] * 3, [False, True, False], patience=2), 0, set()
    rng = np.random.default_rng(0)
    run.tell([Told(-1.0) for _ in run.ask()])
    while asks := run.ask():
        if run.phase == "diversification" and run.n_failures == n_failures:
            moves = np.array([ask.point for ask in asks]) - run.current
            assert not moves[:, 1].any()
            assert np.abs(moves).sum(axis=1).tolist() == [n_failures + 1.0] * len(moves)
            jumps += 1
        run.tell([Told(float(rng.uniform())) for _ in asks])
        if run.phase == "intensification" and run.n_failures == n_failures:
            ends.add(run.n_jumps)
    assert jumps > 0
    assert ends == {2 * n_failures + 1}
    assert run.reason == "6 intensifications in a row found nothing better"


def test_jumps_end_at_the_border() -> None:
    run = begun([(-1, 3)])
    answered(run, lambda at: float(at * at), 1)
    assert [run._two_moves(0, size) for size in (1, 2, 3, 9)] == [
        [Move(0, -1), Move(0, 1)],
        [Move(0, 2)],
        [Move(0, 3)],
        [Move(0, 3)],
    ]


def test_switches_are_left_alone_where_it_is_not_promising() -> None:
    """Features are looked at from solutions nearly as good as the best, others only from elsewhere."""
    ranges, switches = [(0, 1), (-9, 9), (-1, 0)], [True, False, True]
    steep = begun(ranges, switches)
    asked = answered(steep, lambda *at: abs(at[1]) - 1.0 + 5 * at[0] - 5 * at[2], 3)
    # The start is the best known: all moves. From (0, -1, 0), of quality 0 where 1 is known, one variable's alone.
    assert asked == [[(0, 0, 0)], [(1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1)], [(0, -2, 0)]]
    flat = begun(ranges, switches)
    # Within a percent all moves are looked at; 0 (the start), 1 and -1 of the second variable are known by then.
    asked = answered(flat, lambda *at: 0.001 * (abs(at[1]) + 2 * at[0] - 2 * at[2]) - 1.0, 3)
    assert asked[2] == [(1, -1, 0), (0, -2, 0), (0, -1, -1)]
    strict = begun(ranges, switches, promising=1.0)
    asked = answered(strict, lambda *at: 0.001 * (abs(at[1]) + 2 * at[0] - 2 * at[2]) - 1.0, 3)
    assert asked[2] == [(0, -2, 0)]


@pytest.mark.parametrize(
    ("best", "own", "promising"),
    [(2.0, 2.02, True), (2.0, 2.03, False), (-2.0, -1.98, True), (-2.0, -1.97, False), (0.0, 1e-9, False)],
)
def test_quality_may_be_negative(best: float, own: float, promising: bool) -> None:
    """A value of 2 is a quality of -2; one that is a percent worse is still promising, one that is more is not."""
    run = begun([(0, 1), (-1, 1)], [True, False])
    answered(run, lambda switch, at: (own if at else best) + 10 * switch, 2)
    assert walked(run) == [(0, 0), (0, -1)]
    assert {move.variable for move in run._next_moves()} == ({0, 1} if promising else {1})


def test_jumps_of_switches_where_there_is_nothing_else() -> None:
    run = begun([(0, 1)] * 4, [True] * 4)
    exchanges = minimise(run, lambda ask: Told(float(abs(ask.point.sum() - 3.0))))
    assert run.best.sum() == 3.0
    assert run.reason == "6 intensifications in a row found nothing better"
    assert sum(len(asks) for asks, _ in exchanges) <= 16


def test_a_space_of_one_point() -> None:
    run = begun([(0, 0), (0, 0)])
    assert answered(run, lambda *at: 1.0, 9) == [[(0, 0)]]
    assert (run.best.tolist(), walked(run)) == ([0.0, 0.0], [(0, 0)])
    assert run.reason == "6 intensifications in a row found nothing better"


def test_no_failure_is_allowed() -> None:
    run = begun([(-1, 1)], patience=0, failures=0)
    answered(run, lambda at: float(at * at), 9)
    assert (walked(run), run.reason) == ([0, -1], "an intensification found nothing better")


@pytest.mark.parametrize("nothing", NONE)
def test_points_without_a_value_are_walked_around(nothing: float) -> None:
    walls = {(1, 0), (0, 1), (0, -1), (2, 0), (2, 1)}
    run = begun([(-3, 3), (-3, 3)])
    minimise(run, lambda ask: Told(nothing if tuple(ask.point) in walls else float(np.sum((ask.point - 2.0) ** 2))))
    assert run.best.tolist() == [2.0, 2.0]
    assert not walls & set(walked(run))


@pytest.mark.parametrize("nothing", NONE)
def test_a_start_without_a_value(nothing: float) -> None:
    run = begun([(-3, 3)])
    answered(run, lambda at: nothing if at == 0 else float((at - 3) ** 2), 2)
    assert (walked(run), run.phase) == ([0, 1], "intensification")
    nowhere = begun([(-3, 3)] * 2)
    minimise(nowhere, lambda ask: Told(nothing))
    assert (walked(nowhere), nowhere.best.tolist()) == ([(0, 0)], [0.0, 0.0])
    assert nowhere.reason == "6 intensifications in a row found nothing better"


def test_budgets() -> None:
    def spent(own: int | None, given: int | None) -> tuple[int, Any, Any]:
        run = TabuSearch(evaluations=own).begin(lattice([(-50, 50)] * 2), seed=0, max_evaluations=given)
        taken = sum(len(asks) for asks, _ in minimise(run, lambda ask: Told(float(np.sum((ask.point - 40.0) ** 2)))))
        return taken, run.expected_evaluations, run.reason

    assert spent(None, 5) == (5, 5, "the 5 evaluations allowed are spent")
    assert spent(7, 30) == (7, 7, "the 7 evaluations allowed are spent")
    assert spent(30, 7)[:2] == (7, 7)
    taken, expected, reason = spent(None, None)
    assert taken > 200
    assert (expected, reason) == (None, "6 intensifications in a row found nothing better")


def test_asks_say_where_they_come_from() -> None:
    run = begun([(-3, 3)] * 2)
    first = run.ask()
    assert [ask.origin for ask in first] == [None]
    minimise(run, lambda ask: Told(float(np.sum((ask.point - 1.0) ** 2))))
    again = begun([(-3, 3)] * 2)
    while asks := again.ask():
        for ask in asks if again.solutions else []:
            assert ask.origin is not None
            assert ask.origin.tolist() == again.current.tolist()
            assert np.count_nonzero(ask.point != ask.origin) == 1
        again.tell([Told(float(np.sum((ask.point - 1.0) ** 2))) for ask in asks])


def two_valleys(x: int, y: int) -> float:
    """Return a value that has a minimum for either value of x; that of x = 1 is lower, and its surroundings are not."""
    return float((y - 6) ** 2) if x == 0 else float(10 * abs(y + 6)) - 5.0


def scanned(**options: Any) -> TabuRun:
    """Begin among two groups of first points, one for each value of the switch x."""
    groups = [np.array([[x, y] for y in (-4, 0, 4)]) for x in (0, 1)]
    space = Lattice(
        np.zeros(2),
        np.array([0.0, -9.0]),
        np.array([1.0, 9.0]),
        steps=np.ones(2),
        switches=np.array([True, False]),
        first=groups,
    )
    run = TabuSearch(**options).begin(space, seed=0)
    assert isinstance(run, TabuRun)
    return run


def test_a_walk_begins_at_the_best_of_the_first_points() -> None:
    run = scanned()
    groups = [[(0, 0)], [(0, -4), (0, 4)], [(1, -4), (1, 0), (1, 4)]]
    assert answered(run, two_valleys, 3) == groups
    assert walked(run) == [(0, 4)]
    only = scanned(scan=False)
    assert answered(only, two_valleys) == [[(0, 0)]]
    assert walked(only) == [(0, 0)]
    # A smaller budget ends the same walk sooner, so that it can go on with a larger one.
    for budget, best in ((1, 0.0), (2, 0.0), (3, 4.0), (5, 4.0), (6, 4.0)):
        short = scanned(evaluations=budget)
        assert list(chain(*answered(short, two_valleys, 9))) == list(chain(*groups))[:budget]
        assert short.best.tolist() == [0.0, best]


def test_further_walks_begin_at_the_best_points_of_other_groups() -> None:
    # So impatient that no walk gets to the other group by itself.
    options: dict[str, Any] = {"patience": 0, "failures": 0, "promising": 1.0}
    alone, both = scanned(**options), scanned(walks=2, **options)
    answered(alone, two_valleys, 100)
    assert (alone.best.tolist(), alone.reason) == ([0.0, 6.0], "an intensification found nothing better")
    starts = []
    while asks := both.ask():
        both.tell([Told(two_valleys(*ask.point.astype(int).tolist())) for ask in asks])
        if len(both.solutions) == 1:
            starts.append(walked(both)[0])
    assert starts == [(0, 4), (1, -4)]
    assert both.best.tolist() == [1.0, -6.0]
    # What the first walk found is not asked for again, and is no measure for the second.
    assert both.n_failures == 1


def test_no_more_walks_than_groups() -> None:
    many, both = scanned(walks=9), scanned(walks=2)
    assert answered(many, two_valleys, 1000) == answered(both, two_valleys, 1000)


def test_jumps_by_themselves() -> None:
    run = begun([(-30, 30)], patience=3, jumps=1, failures=2)
    lengths, last = [], run.phase
    while asks := run.ask():
        run.tell([Told(abs(float(ask.point[0]))) for ask in asks])
        if last == "diversification" and run.phase == "intensification":
            lengths.append(run.n_jumps)
        last = run.phase
    # More than `jumps` times the failures in a row, whatever the patience.
    assert lengths == [2, 3]


def dear_to_the_right(share: float, height: int = 9, **options: Any) -> TabuRun:
    """Begin at 0 of two variables, where a step to the right makes evaluations four times as long."""
    space = Lattice(
        np.zeros(2),
        np.array([0.0, -4.0]),
        np.array([float(height), 4.0]),
        steps=np.ones(2),
        work=lambda point: 4.0 ** float(point[0]),
    )
    run = TabuSearch(large_share=share, **options).begin(space, seed=0)
    assert isinstance(run, TabuRun)
    return run


def works(run: TabuRun, value: Any) -> tuple[float, float, float]:
    """Return the work of a whole run, that of the largest part that was large when it was asked for, and the best's."""
    spent: dict[tuple[float, ...], float] = {}
    values: dict[tuple[float, ...], float] = {}
    worst = 0.0
    while asks := run.ask():
        for ask in asks:
            spent[tuple(ask.point.tolist())] = 4.0 ** float(ask.point[0])
        best = 4.0 ** float(run.best[0]) if values else 1.0
        large = sum(one for one in spent.values() if one > LARGE * best)
        worst = max(worst, large / sum(spent.values()))
        values |= {tuple(ask.point.tolist()): float(value(*ask.point)) for ask in asks}
        run.tell([Told(values[tuple(ask.point.tolist())]) for ask in asks])
    return sum(spent.values()), worst, 4.0 ** float(run.best[0])


def best_at_the_left(x: float, y: float) -> float:
    """Return a value that is lowest at (0, 1), and falls again further to the right."""
    return abs(y - 1.0) + (x if x < 3 else 3.5 - 0.1 * x)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
def test_large_points_take_their_share_at_most(share: float) -> None:
    limited, part, _ = works(dear_to_the_right(share), best_at_the_left)
    free, most, _ = works(dear_to_the_right(1.0), best_at_the_left)
    # What is smaller than the current solution is always open, but nothing large was entered without its share.
    assert part <= share
    assert most > 0.9
    assert limited < 0.01 * free


def test_a_share_of_everything_is_no_limit() -> None:
    for share in (0.25, 1.0):
        run, plain = begun([(0, 9), (-4, 4)]), dear_to_the_right(share)
        if share < 1.0:
            plain._spending._lattice = run._lattice  # which says nothing about work
        value = best_at_the_left
        assert answered(run, value, 1000) == answered(plain, value, 1000)


def test_a_limited_search_climbs_to_where_the_best_is() -> None:
    """Each step to the right is better: no point is large, since the best one moves along."""
    total, _, best = works(dear_to_the_right(0.0), lambda x, y: abs(y) - x)
    assert best == 4.0**9
    assert total > best


def test_switches_are_left_out_first() -> None:
    """At a large solution all switches together are too much, other moves are not."""
    n = 40
    space = Lattice(
        np.zeros(n + 2),
        np.zeros(n + 2),
        np.array([1.0] * n + [9.0, 9.0]),
        steps=np.ones(n + 2),
        switches=np.arange(n + 2) < n,
        work=lambda point: 1.0 if point[n] < 5 else 16.0,
    )
    run = TabuSearch(large_share=0.25, promising=0.0).begin(space, seed=0)
    assert isinstance(run, TabuRun)
    run.tell([Told(-1.0) for _ in run.ask()])
    for _ in range(4):
        run._spending.add(np.zeros(n + 2, dtype=np.intp))
    run._go(np.array([0] * n + [5, 0]))
    run._values[run._key] = -0.5
    # 16 of 5 + 16 is too much for a single one; one step back is always open.
    assert run._next_moves() == [Move(n, 4)]
    for _ in range(200):
        run._spending.add(np.zeros(n + 2, dtype=np.intp))
    assert [move.variable for move in run._next_moves()] == [n, n, n + 1]
    for _ in range(2000):
        run._spending.add(np.zeros(n + 2, dtype=np.intp))
    assert len(run._next_moves()) == n + 3


def test_small_improvements_do_not_excuse_failures() -> None:
    """A slope of a tenth of a percent for each step: taken to its end, but failures are counted all the way."""
    value = {0: -1.0, -1: -0.9, -2: -0.8, 2: -1.0001, 1: -0.9, -4: -0.5}

    def run(least: float) -> TabuRun:
        own = begun([(-9, 9)], patience=1, min_improvement=least, memory=2)
        answered(own, lambda at: value.get(at, 0.0), 1)
        own.n_failures, own.phase = 1, "diversification"
        answered(own, lambda at: value.get(at, 0.0), 1)
        return own

    assert (walked(run(0.0))[-1], run(0.0).n_failures) == (2, 0)
    assert (walked(run(1e-3))[-1], run(1e-3).n_failures) == (2, 1)
    # Several small ones together are one.
    patient = begun([(0, 90)], min_improvement=1e-3)
    failures = []
    while asks := patient.ask():
        patient.n_failures = max(patient.n_failures, 1)
        patient.tell([Told(-1.0 - 2e-4 * float(ask.point[0])) for ask in asks])
        failures.append(patient.n_failures)
        if len(failures) == 20:
            break
    assert failures[2:13] == [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0]


def test_steps_of_spaces_without_any() -> None:
    space = Space(np.array([math.log(3.0)]), np.array([math.log(1e-2)]), np.array([math.log(1e2)]))
    exchanges = minimise(TabuSearch().begin(space, seed=0), lambda ask: Told(float((ask.point[0] - 1.0) ** 2)))
    points = np.array([ask.point[0] for asks, _ in exchanges for ask in asks])
    powers = (points - math.log(3.0)) / (math.log(2.0) / 2.0)
    np.testing.assert_allclose(powers, powers.round(), atol=1e-9)
    both = np.array([True, False])
    space = Space(np.array([3.0, 0.0]), np.array([1.0, -1.0]), np.array([6.0, 1.0]), whole=both)
    exchanges = minimise(TabuSearch(step=0.25).begin(space, seed=0), lambda ask: Told(float(np.sum(ask.point**2))))
    points = np.array([ask.point for asks, _ in exchanges for ask in asks])
    assert set(points[:, 0]) <= {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    assert {1.0, 2.0, 3.0, 4.0} <= set(points[:, 0])
    assert set(points[:, 1]) <= set(np.arange(-4, 5) / 4)
    with pytest.raises(ValueError, match=r"strategy='tabu' needs bounds; parameter 0 reaches from -inf to 1\."):
        TabuSearch().begin(Space(np.zeros(1), np.array([-np.inf]), np.ones(1)), seed=0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"promising": -0.1},
        {"promising": 1.1},
        {"patience": -1},
        {"failures": -1},
        {"jumps": -1},
        {"walks": 0},
        {"large_share": -0.1},
        {"large_share": 1.1},
        {"min_improvement": -1e-3},
        {"min_improvement": math.inf},
        {"memory": 0},
        {"evaluations": 0},
    ]
    + [{"step": step} for step in (0.0, -1.0, math.inf, math.nan, "1")]
    + [{name: 2.0} for name in ("patience", "failures", "jumps", "memory", "walks", "evaluations")]
    + [{name: True} for name in ("promising", "patience", "walks", "large_share", "min_improvement", "step")]
    + [{name: None} for name in ("promising", "patience", "failures", "walks", "min_improvement", "step")]
    + [{"memory": "2"}, {"scan": 1}, {"scan": None}, {"promising": math.nan}],
)
def test_what_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"{name}=.* of 'tabu' must be .*\.$"):
        TabuSearch(**wrong)


class Landscape:
    """A quality for each vector of whole numbers: a hill, with some noise of few digits, and holes."""

    def __init__(self, seed: int, n: int, slope: float, noise: int, holes: float) -> None:
        self.seed, self.slope, self.noise, self.holes = seed, slope, noise, holes
        self.top = np.random.default_rng(seed).integers(-3, 4, n)

    def __call__(self, theta: tuple[int, ...]) -> float | None:
        rng = np.random.default_rng([self.seed, *(number + 1000 for number in theta)])
        if rng.uniform() < self.holes:
            return None
        return -self.slope * float(np.abs(self.top - theta).sum()) + 0.25 * float(
            rng.integers(-self.noise, self.noise + 1)
        )


@given(
    ranges=st.lists(st.tuples(st.integers(-4, 0), st.integers(0, 4)), min_size=1, max_size=4),
    bits=st.integers(0, 15),
    slope=st.sampled_from([0.0, 0.1, 1.0]),
    noise=st.integers(0, 4),
    holes=st.sampled_from([0.0, 0.2]),
    n_max=st.integers(0, 4),
    failures=st.integers(0, 3),
    promising=st.sampled_from([0.0, 0.8, 0.99, 1.0]),
    memory=st.one_of(st.none(), st.integers(1, 12)),
    seed=st.integers(0, 1000),
)
def test_the_walk_of_the_paper(
    ranges: list[tuple[int, int]],
    bits: int,
    slope: float,
    noise: int,
    holes: float,
    n_max: int,
    failures: int,
    promising: float,
    memory: int | None,
    seed: int,
) -> None:
    """The same solutions in the same order, and the same evaluations, each once, as the oracle's."""
    switches = [bool(bits >> i & 1) for i in range(len(ranges))]
    q = Landscape(seed, len(ranges), slope, noise, holes)
    meant = TabuWalk(q, ranges, switches, n_max=n_max, failures_max=failures, promising=promising, t=memory, seed=seed)
    meant.run()
    options = {"patience": n_max, "failures": failures, "promising": promising, "memory": memory}
    run = begun(ranges, switches, seed, **options)

    def told(ask: Ask) -> Told:
        found = q(tuple(ask.point.astype(int).tolist()))
        return Told(math.nan if found is None else -found)

    exchanges = minimise(run, told)
    assert [tuple(one.tolist()) for one in run.solutions] == meant.walk
    asked = [tuple(ask.point.astype(int).tolist()) for asks, _ in exchanges for ask in asks]
    assert asked == meant.evaluated
    assert len(set(asked)) == len(asked)
    assert run.n_failures == meant.n_failure == failures + 1

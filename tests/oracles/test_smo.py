"""The rules of sequential minimal optimisation against brute force over all pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from oracles import smo
from oracles.reference import ReferenceSolver
from widemargin.testing import Case, chess_board_case, objective, project, small_cases
from widemargin.testing.oracles import LEAST_CURVATURE, move_pair

CASES = list(small_cases())[:6]


def _somewhere(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random feasible point with some variables at each bound, and its gradient."""
    width = case.upper - case.lower
    alpha = project(
        case.lower + width * np.random.default_rng(seed).uniform(-0.5, 1.5, width.size), case.lower, case.upper
    )
    return alpha, case.linear - case.gram @ alpha


def _rise(case: Case, alpha: np.ndarray, pair: tuple[int, int], size: float) -> float:
    moved = alpha.copy()
    moved[pair[0]] += size
    moved[pair[1]] -= size
    before, after = (case.linear @ a - 0.5 * a @ case.gram @ a for a in (alpha, moved))
    return float(after - before)


def _pairs(case: Case, alpha: np.ndarray) -> list[tuple[int, int]]:
    up, down = alpha < case.upper, alpha > case.lower
    return [(i, j) for i, j in permutations(range(alpha.size), 2) if up[i] and down[j]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gains_are_rises_of_the_objective(case: Case) -> None:
    alpha, gradient = _somewhere(case, 1)
    rng = np.random.default_rng(2)
    scale = max(1.0, abs(objective(case, alpha, gradient)))
    for pair in (tuple(rng.choice(alpha.size, 2, replace=False).tolist()) for _ in range(20)):
        size = float(rng.normal())
        assert smo.gain_of_step(case.gram, gradient, pair, size) == pytest.approx(
            _rise(case, alpha, pair, size), abs=1e-10 * scale
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_newton_step_is_the_best_feasible_step(case: Case) -> None:
    alpha, gradient = _somewhere(case, 3)
    for pair in _pairs(case, alpha)[::37]:
        smallest, largest = smo.step_bounds(case, alpha, pair)
        step = smo.step_newton(case, case.gram, alpha, gradient, pair)
        assert smallest <= step.size <= largest
        sizes = np.linspace(smallest, largest, 101)
        best = max(smo.gain_of_step(case.gram, gradient, pair, float(size)) for size in sizes)
        assert smo.clipped_gain(case, case.gram, alpha, gradient, pair) >= best - 1e-12 * max(1.0, abs(best))
        assert smo.newton_gain(case.gram, gradient, pair) >= best - 1e-12 * max(1.0, abs(best))
        assert step.free == (step.size == step.newton)


def test_newton_step_without_curvature() -> None:
    # Copies of one point: the line between them is flat, or rises far beyond any box, the steeper the better.
    K, gradient = np.ones((3, 3)), np.array([1.0, -1.0, -2.0])
    assert smo.newton_size(K, gradient, (0, 1)) == 2.0 / LEAST_CURVATURE
    assert smo.newton_size(K, gradient, (1, 0)) == -2.0 / LEAST_CURVATURE
    assert smo.newton_gain(K, gradient, (0, 2)) > smo.newton_gain(K, gradient, (0, 1)) > 1e12
    assert smo.newton_size(K, np.zeros(2), (0, 1)) == 0.0
    assert smo.newton_gain(K, np.zeros(2), (0, 1)) == 0.0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_most_violating_pair_has_the_steepest_slope(case: Case) -> None:
    alpha, gradient = _somewhere(case, 4)
    pair = smo.select_most_violating_pair(case, alpha, gradient)
    assert pair in _pairs(case, alpha)
    assert smo.slope_along(gradient, pair) == max(smo.slope_along(gradient, other) for other in _pairs(case, alpha))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_second_order_pair_has_the_largest_newton_gain(case: Case) -> None:
    alpha, gradient = _somewhere(case, 5)
    pair = smo.select_second_order(case, case.gram, alpha, gradient)
    steepest = smo.select_most_violating_pair(case, alpha, gradient)
    assert pair is not None
    assert steepest is not None
    assert pair[0] == steepest[0]
    rivals = [p for p in _pairs(case, alpha) if p[0] == pair[0] and smo.slope_along(gradient, p) > 0.0]
    best = max(smo.newton_gain(case.gram, gradient, rival) for rival in rivals)
    assert smo.newton_gain(case.gram, gradient, pair) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_maximum_gain_pair_gains_most_among_related_pairs(case: Case) -> None:
    alpha, gradient = _somewhere(case, 6)
    free = np.flatnonzero((alpha > case.lower) & (alpha < case.upper))
    previous = (int(free[0]), int(free[-1]))
    pair = smo.select_maximum_gain(case, case.gram, alpha, gradient, previous)
    assert pair is not None
    related = [p for p in _pairs(case, alpha) if set(p) & set(previous)]
    gains = [smo.clipped_gain(case, case.gram, alpha, gradient, other) for other in related]
    assert smo.clipped_gain(case, case.gram, alpha, gradient, pair) == pytest.approx(max(gains), rel=1e-12)


def test_maximum_gain_falls_back_at_the_start_and_in_corners() -> None:
    case = CASES[2]
    alpha, gradient = _somewhere(case, 7)
    fallback = smo.select_second_order(case, case.gram, alpha, gradient)
    bounded = np.flatnonzero((alpha == case.lower) | (alpha == case.upper))
    corner = (int(bounded[0]), int(bounded[-1]))
    assert smo.select_maximum_gain(case, case.gram, alpha, gradient, None) == fallback
    assert smo.select_maximum_gain(case, case.gram, alpha, gradient, corner) == fallback


@pytest.mark.parametrize("case", CASES, ids=str)
def test_planned_step_is_best_before_a_newton_step(case: Case) -> None:
    alpha, gradient = _somewhere(case, 8)
    rng = np.random.default_rng(9)
    planned = 0
    for _ in range(30):
        i, j, m, n = (int(v) for v in rng.choice(alpha.size, 4, replace=False))
        size = smo.planning_ahead_size(case.gram, gradient, (i, j), (m, n))
        if size is None or smo.curvature_between(case.gram, (i, j), (i, j)) <= LEAST_CURVATURE:
            continue  # there is no best step along a line between copies
        planned += 1
        best = smo.two_step_gain(case.gram, gradient, (i, j), (m, n), size)
        newton = smo.newton_size(case.gram, gradient, (i, j))
        for other in (0.0, newton, 0.9 * size, 1.1 * size, size + 0.1, size - 0.1):
            assert best >= smo.two_step_gain(case.gram, gradient, (i, j), (m, n), other) - 1e-9 * max(1.0, abs(best))
        # The double step taken literally, not by its formula.
        later = gradient - size * (case.gram[i] - case.gram[j])
        second = smo.newton_gain(case.gram, later, (m, n))
        assert best == pytest.approx(smo.gain_of_step(case.gram, gradient, (i, j), size) + second, rel=1e-7, abs=1e-9)
    assert planned >= 10


def test_planning_needs_a_free_standard_step_before_it() -> None:
    case = chess_board_case(60, 1e3)
    alpha = ReferenceSolver()(case, case.gram, tolerance=0.5).alpha
    gradient = case.linear - case.gram @ alpha
    pair = smo.select_second_order(case, case.gram, alpha, gradient)
    assert pair is not None
    others = list(permutations(np.flatnonzero((alpha > case.lower) & (alpha < case.upper)).tolist(), 2))
    candidates = [p for p in others if set(p) != set(pair)]
    newton = smo.step_newton(case, case.gram, alpha, gradient, pair)

    def step(previous: smo.Step | None) -> smo.Step:
        return smo.step_planning_ahead(case, case.gram, alpha, gradient, pair, previous=previous, candidates=candidates)

    assert step(None) == newton
    assert step(smo.Step(1.0, 1.0, free=False)) == newton
    assert step(smo.Step(1.0, 1.0, free=True, planned=True)) == newton
    assert step(smo.Step(1.0, 1.0, free=True)).planned


@pytest.mark.parametrize("working_sets", [1, 3])
def test_a_planned_step_and_the_next_one_gain_together(working_sets: int) -> None:
    case = chess_board_case(100, 1e3)
    alpha, gradient = np.zeros(100), case.linear
    step, recent, before_planning, planned = None, [], 0.0, 0
    for _ in range(2000):
        pair = smo.select_after_planning(case, case.gram, alpha, gradient, previous=step, candidates=recent[1:])
        if pair is None or smo.slope_along(gradient, pair) < 1e-6:
            break
        reached = objective(case, alpha, gradient)
        was_planned = step is not None and step.planned
        candidates = [other for other in recent[:working_sets] if set(other) != set(pair)]
        step = smo.step_planning_ahead(case, case.gram, alpha, gradient, pair, previous=step, candidates=candidates)
        alpha = move_pair(case, alpha, pair, step.size)
        gradient = case.linear - case.gram @ alpha
        recent = [pair, *recent][: working_sets + 1]
        if was_planned:
            planned += 1
            assert objective(case, alpha, gradient) >= before_planning - 1e-9 * abs(before_planning)
        before_planning = reached
    assert planned >= 20


def test_planning_ahead_saves_iterations_on_the_chess_board() -> None:
    case = chess_board_case(80, 1e4)
    plain, planning = (
        ReferenceSolver("second-order", n)(case, case.gram, tolerance=1e-3).outcome.iterations for n in (0, 1)
    )
    assert planning < plain

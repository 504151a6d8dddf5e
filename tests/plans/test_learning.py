import numpy as np
import pytest

from widemargin.plans import CostMatrix, GridGraph, LearningPlan, heuristic_plan


def grid(n_gammas, n_Cs):
    return GridGraph.from_candidates([{"gamma": 2.0**g, "C": 10.0**C} for g in range(n_gammas) for C in range(n_Cs)])


def learn_along(plan, costs, order):
    solved, total = set(), 0.0
    for node in order:
        start = plan.next_start(node, solved)
        assert start is None or start in solved
        plan.learn((start, node), costs.of(start, node))
        total += costs.of(start, node)
        solved.add(node)
    return total


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_learning_plan_beats_cold_starts_and_comes_near_the_best_choice(seed):
    graph = grid(8, 8)
    hard = np.array([1.3 ** sum(place) for place in graph.coordinates])
    factor = {("C", 1): 0.1, ("C", -1): 1.5, ("gamma", 1): 0.4, ("gamma", -1): 0.3}
    costs = CostMatrix(graph, 100 * hard, {(i, j): 100 * hard[j] * factor[graph.step(i, j)] for i, j in graph.edges()})
    prior = heuristic_plan(graph)
    order = prior.order if seed is None else np.random.default_rng(seed).permutation(64).tolist()
    total = learn_along(LearningPlan(prior), costs, order)
    assert total == learn_along(LearningPlan(prior), costs, order)
    solved, best = set(), 0.0
    for node in order:
        best += min(costs.of(start, node) for start in (None, *(solved & set(graph.neighbours(node)))))
        solved.add(node)
    assert total < 0.75 * costs.total_cold
    assert total < 1.25 * best


def test_a_learning_plan_tries_everything_once_and_keeps_what_pays():
    graph = grid(2, 3)
    plan = LearningPlan(heuristic_plan(graph))
    assert plan.next_start(0, set()) is None
    plan.learn((None, 0), 10.0)
    assert plan.next_start(1, {0}) == 0
    plan.learn((0, 1), 50.0)
    assert plan.next_start(2, {0, 1}) is None  # along C costs more than from nothing
    assert plan.next_start(3, {0}) == 0
    plan.learn((0, 3), 2.0)
    assert plan.next_start(4, {0, 1, 3}) == 1
    assert plan.predict((0, 1)) == 50
    plan.learn((0, 1), 10.0)
    assert plan.predict((0, 1)) == 30


def test_a_learning_plan_prefers_the_prior_where_it_knows_nothing():
    graph = grid(2, 2)
    assert LearningPlan(heuristic_plan(graph)).next_start(3, {1, 2}) == 2
    assert LearningPlan(heuristic_plan(graph, along="gamma", across="C")).next_start(3, {1, 2}) == 1


def test_a_learning_plan_takes_the_nearest_position_it_has_seen():
    graph = GridGraph.from_candidates([{"C": C} for C in range(6)] + [{"kernel": "linear"}])
    plan = LearningPlan(heuristic_plan(graph))
    plan.learn((0, 1), 1.0)
    plan.learn((4, 5), 9.0)
    assert [plan.predict((node - 1, node)) for node in range(1, 6)] == [1, 1, 1, 9, 9]
    # Other orientations double from 1 to 2, and so do these.
    plan.learn((2, 1), 10.0)
    plan.learn((3, 2), 20.0)
    assert [plan.predict((node - 1, node)) for node in range(1, 6)] == pytest.approx([1, 2, 2, 9, 9])
    plan.learn((None, 6), 3.0)
    assert plan.predict((None, 6)) == 3
    assert plan.next_start(6, {0, 1}) is None

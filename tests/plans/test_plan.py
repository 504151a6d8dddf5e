import copy
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.plans import (
    CostMatrix,
    GridGraph,
    Plan,
    Step,
    best_tree,
    best_tree_for_root,
    best_trees,
    heuristic_plan,
    measure_costs,
    minimum_arborescence,
)
from widemargin.runtime import Work
from widemargin.study import fingerprint


def grid(n_gammas, n_Cs):
    return GridGraph.from_candidates([{"gamma": 2.0**g, "C": 10.0**C} for g in range(n_gammas) for C in range(n_Cs)])


def random_costs(graph, seed):
    random = np.random.default_rng(seed)
    cold = random.integers(5, 30, len(graph)).astype(float)
    return CostMatrix(graph, cold, {edge: float(random.integers(1, 12)) for edge in graph.edges()})


def is_forest(parents):
    for node in range(len(parents)):
        steps = 0
        while node is not None:
            node, steps = parents[node], steps + 1
            if steps > len(parents):
                return False
    return True


def all_plans(graph):
    """Every spanning forest whose edges are those of the graph."""
    for parents in product(*[(None, *graph.neighbours(node)) for node in range(len(graph))]):
        if is_forest(parents):
            yield Plan(graph, parents)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_arborescences_are_the_cheapest_of_all(shape, seed):
    graph = grid(*shape)
    costs = random_costs(graph, seed)
    plans = list(all_plans(graph))
    assert minimum_arborescence(costs).cost(costs) == min(plan.cost(costs) for plan in plans)
    for root, tree in enumerate(best_trees(costs)):
        assert tree.roots == (root,)
        assert tree.cost(costs) == min(plan.cost(costs) for plan in plans if plan.roots == (root,))
    assert len(best_tree(costs).roots) == 1
    assert best_tree(costs).cost(costs) == min(tree.cost(costs) for tree in best_trees(costs))


def test_a_root_decides_about_its_own_part_only():
    graph = GridGraph.from_candidates([{"C": C, "kernel": kernel} for kernel in ("linear", "rbf") for C in (1, 2, 3)])
    costs = random_costs(graph, 0)
    tree = best_tree_for_root(costs, 1)
    assert tree.parents[:3] == (1, None, 1)
    assert tree.cost(costs) >= minimum_arborescence(costs).cost(costs)
    with pytest.raises(ValueError, match="a number from 0 to 5, got 6"):
        best_tree_for_root(costs, 6)


def test_plans_are_checked():
    graph = grid(1, 3)
    with pytest.raises(ValueError, match="nodes 0 and 2 are not neighbours"):
        Plan(graph, (None, 0, 0))
    with pytest.raises(ValueError, match="in a circle, but 2 nodes"):
        Plan(graph, (1, 0, None))
    with pytest.raises(ValueError, match="3 entries, one per node; got 2"):
        Plan(graph, (None, 0))


def test_plans_travel_without_what_was_computed_from_them():
    plan = heuristic_plan(grid(3, 4))
    fresh = len(pickle.dumps(plan))
    assert plan.order
    assert plan.graph.neighbours(0)
    assert len(pickle.dumps(plan)) == fresh
    assert fingerprint(plan) == fingerprint(heuristic_plan(grid(3, 4)))
    assert pickle.loads(pickle.dumps(plan)) == plan == copy.deepcopy(plan)
    assert fingerprint(plan) != fingerprint(Plan(plan.graph, (None, *plan.parents[1:-1], None)))


def test_the_heuristic_on_a_grid():
    graph = grid(3, 4)
    plan = heuristic_plan(graph)
    assert plan.parents == (None, 0, 1, 2, 0, 4, 5, 6, 4, 8, 9, 10)
    assert [chain.nodes for chain in plan.chains()] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)]
    assert [len(wave) for wave in plan.waves()] == [1, 1, 1]
    assert plan.chains()[1].start == 0
    assert plan.chains()[1].step == Step("C", 1)
    assert plan.order == tuple(range(12))
    assert plan.orientations() == {
        Step("gamma", 1): 2 / 11,
        Step("gamma", -1): 0,
        Step("C", 1): 9 / 11,
        Step("C", -1): 0,
    }
    assert heuristic_plan(graph, backbone="largest", root="largest").parents == (
        1,
        2,
        3,
        7,
        5,
        6,
        7,
        11,
        9,
        10,
        11,
        None,
    )


def test_chains_along_one_axis_only():
    plan = heuristic_plan(grid(3, 2))
    assert sorted(chain.nodes for chain in plan.chains("gamma")) == [(0, 2, 4), (1,), (3,), (5,)]
    assert [chain.start for chain in plan.chains("gamma")] == [None, 0, 2, 4]


def test_the_backbone_lies_where_costs_say():
    graph = grid(4, 5)
    edges = {(i, j): 10.0 if graph.step(i, j).axis == "C" else 50.0 for i, j in graph.edges()}
    for node in range(len(graph)):
        for near in graph.neighbours(node):
            if graph.step(near, node).axis == "gamma" and graph.position(node, "C") == 2:
                edges[near, node] = 1.0
    cold = np.full(20, 100.0)
    cold[12] = 70.0  # the third gamma, the third C
    costs = CostMatrix(graph, cold, edges)
    plan = heuristic_plan(graph, costs=costs)
    assert plan.roots == (12,)
    assert plan.parents[17] == 12
    assert plan.parents[7] == 12
    assert plan.cost(costs) == 70 + 3 * 1 + 16 * 10
    assert plan.cost(costs) == minimum_arborescence(costs).cost(costs)
    assert heuristic_plan(graph, backbone="largest", costs=costs).roots == (4,)
    assert heuristic_plan(graph, backbone="smallest", root="largest", costs=costs).roots == (15,)
    # From the backbone in both directions.
    assert {(12, 11, 10), (13, 14)} <= {chain.nodes for chain in plan.chains()}


def test_missing_candidates_and_axes():
    line = GridGraph.from_candidates([{"C": C} for C in (1, 2, 3)])
    assert heuristic_plan(line).parents == (None, 0, 1)
    widths = GridGraph.from_candidates([{"gamma": g, "kernel": "rbf"} for g in (1, 2, 3)])
    assert heuristic_plan(widths, root="largest").parents == (1, 2, None)
    # The second width has no smallest C: it is entered at its next one.
    gap = GridGraph.from_candidates([{"C": C, "gamma": g} for g in (1, 2) for C in (1, 2, 3) if (C, g) != (1, 2)])
    assert heuristic_plan(gap).parents == (None, 0, 1, 1, 3)
    apart = GridGraph.from_candidates([{"kernel": "linear"}, {"kernel": "rbf", "C": 1}, {"kernel": "rbf", "C": 2}])
    assert heuristic_plan(apart).parents == (None, None, 1)


def test_other_axes_are_joined_at_the_root():
    candidates = [{"degree": d, "gamma": g, "C": C} for d in (2, 3) for g in (1, 2) for C in (1, 2)]
    plan = heuristic_plan(GridGraph.from_candidates(candidates))
    assert plan.parents == (None, 0, 0, 2, 0, 4, 4, 6)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"along": "gamma"}, "two axes, got 'gamma' for both"),
        ({"backbone": "middle"}, "backbone must be 'smallest', 'largest' or None, got 'middle'"),
        ({"root": 3}, "root must be 'smallest', 'largest' or None, got 3"),
        ({"costs": random_costs(grid(1, 2), 0)}, "measured on another one"),
    ],
)
def test_the_heuristic_refuses_what_makes_no_sense(wrong, words):
    with pytest.raises(ValueError, match=words):
        heuristic_plan(grid(2, 2), **wrong)


numbers = st.integers(0, 3)
candidate = st.fixed_dictionaries(
    {"kernel": st.sampled_from(["rbf", "poly"])}, optional={"C": numbers, "gamma": numbers, "degree": numbers}
)


@given(
    st.lists(candidate, max_size=25),
    st.sampled_from([None, "smallest", "largest"]),
    st.sampled_from([None, "smallest", "largest"]),
    st.booleans(),
)
def test_heuristic_plans_span_every_part_and_split_into_chains(candidates, backbone, root, with_costs):
    graph = GridGraph.from_candidates(candidates)
    costs = random_costs(graph, 1) if with_costs else None
    plan = heuristic_plan(graph, backbone=backbone, root=root, costs=costs)
    assert is_forest(plan.parents)
    assert len(plan.roots) == len(graph.components())
    check_chains(plan)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 1000))
def test_arborescences_split_into_chains(n_gammas, n_Cs, seed):
    costs = random_costs(grid(n_gammas, n_Cs), seed)
    plan = minimum_arborescence(costs, along="C")
    check_chains(plan)
    assert plan.cost(costs) <= heuristic_plan(costs.graph, costs=costs).cost(costs)
    assert sum(plan.orientations().values()) == pytest.approx(1 if len(plan.roots) < len(costs.graph) else 0)


def check_chains(plan):
    assert sorted(node for chain in plan.chains() for node in chain.nodes) == list(range(len(plan.graph)))
    done = set()
    for wave in plan.waves():
        for chain in wave:
            assert chain.start == plan.parents[chain.nodes[0]]
            assert chain.start is None or chain.start in done
            for before, after in zip(chain.nodes, chain.nodes[1:], strict=False):
                assert plan.parents[after] == before
                assert plan.graph.step(before, after) == chain.step
        done |= {node for chain in wave for node in chain.nodes}
    place = {node: number for number, node in enumerate(plan.order)}
    assert all(parent is None or place[parent] < place[node] for node, parent in enumerate(plan.parents))


def moving_solver(graph):
    """Solve by walking from the start (or from far away) to the node's place: C is near, gamma is far."""
    scale = np.array([{"gamma": 20.0, "C": 3.0}[axis] for axis in graph.axes])

    def solve(node, start):
        place = scale * np.array(graph.coordinates[node])
        way = place + 100 if start is None else place - start
        return place, Work(scans=int(np.abs(way).sum()))

    return solve


def test_walking_a_plan_costs_what_its_edges_say_if_starts_do_not_matter():
    graph = grid(3, 4)
    solve = moving_solver(graph)
    costs = measure_costs(graph, solve)
    plan = heuristic_plan(graph)
    walked = plan.walk(solve)
    assert walked.sum() == plan.cost(costs) == minimum_arborescence(costs).cost(costs)
    assert walked.tolist() == [costs.of(parent, node) for node, parent in enumerate(plan.parents)]


def test_walking_hands_on_what_was_solved():
    graph = grid(2, 3)
    plan = heuristic_plan(graph)
    seen = {}

    def solve(node, start):
        seen[node] = start
        return (*(start or ()), node), Work(kernel_evaluations=1)

    assert plan.walk(solve).sum() == 6
    assert seen == {0: None, 1: (0,), 2: (0, 1), 3: (0,), 4: (0, 3), 5: (0, 3, 4)}

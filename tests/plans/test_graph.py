import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.plans import CostMatrix, GridGraph, Step, measure_costs, operations, seconds
from widemargin.runtime import Work


def grid(gammas, Cs, **fixed):
    return [{"gamma": gamma, "C": C, **fixed} for gamma in gammas for C in Cs]


def test_coordinates_follow_ascending_values_whatever_the_order_of_the_candidates():
    graph = GridGraph.from_candidates([{"C": 100.0, "gamma": 1}, {"C": 1, "gamma": np.float32(0.5)}])
    assert graph.axes == ("C", "gamma")
    assert graph.values == ((1, 100.0), (0.5, 1))
    assert graph.coordinates == ((1, 1), (0, 0))
    assert graph.neighbours(0) == ()
    assert len(graph.components()) == 2


def test_neighbours_differ_by_one_step_in_one_axis():
    graph = GridGraph.from_candidates(grid([0.1, 1, 10], [1, 2, 4]))
    for i in range(9):
        steps = [np.abs(np.subtract(graph.coordinates[i], graph.coordinates[j])) for j in range(9)]
        assert graph.neighbours(i) == tuple(j for j in range(9) if steps[j].sum() == 1)
    assert len(graph.edges()) == 24
    assert graph.step(4, 3) == Step("C", -1)
    assert graph.step(4, 7) == Step("gamma", 1)
    with pytest.raises(ValueError, match="nodes 0 and 8 are not neighbours"):
        graph.step(0, 8)


def test_a_missing_candidate_is_stepped_over():
    graph = GridGraph.from_candidates([{"C": 1, "nu": 1}, {"C": 2, "nu": 2}, {"C": 3, "nu": 1}])
    assert graph.edges() == [(0, 2), (2, 0)]
    assert graph.components() == [(0, 2), (1,)]


def test_what_is_no_number_keeps_candidates_apart():
    weights = {0: 1.0, 1: 2.0}
    candidates = [
        *grid([0.1, 1], [1, 2], kernel="rbf"),
        {"kernel": "linear", "C": 1},
        {"kernel": "linear", "C": 2},
        *grid(["scale"], [1, 2], kernel="rbf"),
        *grid([0.1], [1, 2], kernel="rbf", class_weight=weights),
        *grid([0.1], [1], kernel="rbf", shrinking=True),
    ]
    graph = GridGraph.from_candidates(candidates)
    assert graph.axes == ("gamma", "C")
    assert graph.components() == [(0, 1, 2, 3), (4, 5), (6, 7), (8, 9), (10,)]
    assert graph.position(4, "gamma") is None
    assert graph.position(6, "gamma") is None
    assert graph.position(5, "C") == 1
    assert graph.position(5, "degree") is None


def test_axes_can_be_named():
    candidates = [{"C": C, "degree": degree} for C in (1, 2) for degree in (2, 3)]
    assert GridGraph.from_candidates(candidates, axes=["C"]).components() == [(0, 2), (1, 3)]
    assert GridGraph.from_candidates(candidates).components() == [(0, 1, 2, 3)]
    with pytest.raises(ValueError, match="'gamma', for which no candidate has a number"):
        GridGraph.from_candidates(candidates, axes=["C", "gamma"])
    with pytest.raises(ValueError, match="every parameter once"):
        GridGraph.from_candidates(candidates, axes=["C", "C"])


def test_a_candidate_that_is_given_twice_is_its_own_neighbour():
    graph = GridGraph.from_candidates(grid([1, 2], [1, 1, 2]))
    assert 1 in graph.neighbours(0)
    assert graph.components() == [tuple(range(6))]


def test_no_candidates_and_no_axes():
    assert GridGraph.from_candidates([]).components() == []
    assert GridGraph.from_candidates([{"kernel": "linear"}, {"kernel": "rbf"}]).components() == [(0,), (1,)]


@given(st.lists(st.fixed_dictionaries({"C": st.integers(0, 3), "gamma": st.integers(0, 3), "nu": st.integers(0, 1)})))
def test_lines_partition_and_edges_go_both_ways(candidates):
    graph = GridGraph.from_candidates(candidates)
    for axis in graph.axes:
        assert sorted(node for line in graph.lines(axis) for node in line) == list(range(len(graph)))
    for start, end in graph.edges():
        assert graph.step(end, start) == Step(graph.step(start, end).axis, -graph.step(start, end).direction)


@pytest.fixture
def measured():
    """A solver that moves from 0, or from its start, and remembers what it was asked."""
    graph = GridGraph.from_candidates(grid([0, 100], [1, 3]))
    asked = []

    def solve(node, start):
        target = candidates[node]
        asked.append((node, start))
        return target, Work(kernel_evaluations=10, scans=abs(target - (start or 0)), seconds=0.5)

    candidates = [1, 3, 101, 103]
    return graph, solve, asked


def test_every_edge_starts_from_a_neighbour_solved_from_nothing(measured):
    graph, solve, asked = measured
    costs = measure_costs(graph, solve)
    assert asked[:4] == [(node, None) for node in range(4)]
    assert sorted(asked[4:]) == sorted((end, [1, 3, 101, 103][start]) for start, end in graph.edges())
    assert costs.cold.tolist() == [11, 13, 111, 113]
    assert costs.total_cold == 248
    assert costs.of(0, 1) == 12
    assert costs.of(2, 0) == 110
    assert costs.of(None, 3) == 113
    assert measure_costs(graph, solve, seconds).cold.tolist() == [0.5] * 4
    assert operations(Work(kernel_evaluations=2, scans=3, seconds=100.0)) == 5


def test_nodes_are_solved_in_a_given_order(measured):
    graph, solve, asked = measured
    costs = measure_costs(graph, solve)
    asked.clear()
    again = measure_costs(graph, solve, order=[2, 0, 3, 1])
    assert [node for node, _ in asked] == [2, 0, 3, 1, 2, 2, 0, 0, 3, 3, 1, 1]
    assert (again.cold.tolist(), again.edges) == (costs.cold.tolist(), costs.edges)
    with pytest.raises(ValueError, match=r"each of 4 nodes once, got \[0, 1, 2\]"):
        measure_costs(graph, solve, order=[0, 1, 2])


def test_costs_survive_a_file(measured, tmp_path):
    graph, solve, _ = measured
    costs = measure_costs(graph, solve)
    costs.save(tmp_path / "costs.json")
    again = CostMatrix.load(tmp_path / "costs.json")
    assert again.graph == graph
    assert again.edges == costs.edges
    assert again.cold.tolist() == costs.cold.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["costs.json"]


def test_graphs_with_gaps_survive_a_file(tmp_path):
    graph = GridGraph.from_candidates([{"C": 1, "gamma": "scale"}, {"C": np.inf, "gamma": 0.5}])
    CostMatrix(graph, np.ones(2), {}).save(tmp_path / "costs.json")
    assert CostMatrix.load(tmp_path / "costs.json").graph == graph


@pytest.mark.parametrize("content", [{"format": "else"}, [1, 2]])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="is not 'widemargin search costs 1'"):
        CostMatrix.load(tmp_path / "x.json")


def test_costs_must_fit_the_graph():
    with pytest.raises(ValueError, match="each of 2 nodes, got 3"):
        CostMatrix(GridGraph.from_candidates([{"C": 1}, {"C": 2}]), np.ones(3), {})
